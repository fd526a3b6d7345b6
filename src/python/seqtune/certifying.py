"""``seqtune.certify``: predicted configs that are faster than a default with 95 % confidence, by a function of one's own that measures."""

from __future__ import annotations

import datetime
import json
import math
import os
import statistics
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seqtune._seqtune import Space, __version__
from seqtune.errors import Error, InputError, read_as, shown
from seqtune.predictor import Predictor
from seqtune.problems import Problems
from seqtune.sweeping import Invalid, listed, progress_of, seconds_of

#: Repetitions of a pair, and Student's t of 95 %, two-sided, with one degree of freedom less.
REPETITIONS, T_OF_95 = 8, 2.3646


class Certificate:
    """Rows that are never slower than the default, with the evidence."""

    def __init__(self, path: str, rows: list[dict[str, Any]]) -> None:
        #: Path of the file, which ``seqtune export table --certified`` reads.
        self.path = path
        #: For each problem: ``problem``, ``config`` to use, ``certified``, ``predicted``, ``default``, ``n``, ``difference`` and ``interval``.
        self.rows = rows

    @property
    def certified(self) -> int:
        """Rows whose predicted config is faster than the default with 95 % confidence."""
        return sum(row["certified"] for row in self.rows)

    def __repr__(self) -> str:
        return f"<Certificate {self.path}: {self.certified} of {len(self.rows)} rows certified>"


def certify(
    predictor: Predictor,
    measure: Callable[[dict[str, Any], dict[str, Any]], Any],
    problems: Problems,
    *,
    path: str | os.PathLike[str],
    against: str | Mapping[str, int] | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Certificate:
    """Measures the first predicted config of each problem against a default, and writes which of them is faster.

    ``measure(problem, config)`` is that of :func:`seqtune.sweep`. The two configs take turns, eight times each, the first one changing. A row is
    certified where the interval of 95 % of the paired difference, by Student's t, lies below 0; all others have the default. ``against`` is the
    default, else that of the kernel. What fails once is not certified. The file at ``path`` is that of ``seqtune validate --certify``.

    >>> import seqtune, tempfile
    >>> def measure(problem, config):
    ...     return 1e-6 / config["MWG"]
    >>> predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
    >>> folder = tempfile.TemporaryDirectory()
    >>> seqtune.certify(predictor, measure, ["M=512,N=512,K=512"], path=folder.name + "/rows.json").rows[0]["n"]
    8
    """
    if not callable(measure):
        raise InputError(f"measure is {shown(measure)}: it is a function of a problem and a config")
    kernel = predictor.kernel
    place = Path(read_as(os.fspath, path, "is no path of a file"))
    _claim(place, overwrite)
    rival = kernel.default if against is None else kernel.config(against)
    given = [kernel.problem(problem) for problem in listed(kernel, problems)]
    if not given:
        raise InputError("no problem is given, so that nothing is measured")
    rows = []
    with progress_of(len(given) * 2 * REPETITIONS, progress, "measurement") as advance:
        for problem in given:
            [first] = predictor.predict(problem, top=1)[:1] or [None]
            if rival not in Space(kernel, problem, predictor.device):
                raise InputError(f"the default is not legal for {shown(problem)}; name another with against=")
            if first is None:
                raise InputError(f"no config is legal for {shown(problem)}")
            rows.append(_row(measure, problem, dict(first.config), rival, advance))
    whole = {
        "certified_by": f"seqtune {__version__}",
        "kernel": kernel.name,
        "device": predictor.device.name,
        "model": predictor.model.digest,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "rows": rows,
    }
    _write(place, json.dumps(whole, indent=2) + "\n")
    return Certificate(str(place), rows)


def _row(
    measure: Callable[[dict[str, Any], dict[str, Any]], Any],
    problem: dict[str, Any],
    predicted: dict[str, int],
    default: dict[str, int],
    advance: Callable[[], None],
) -> dict[str, Any]:
    """Measures a pair of configs, unless they are one."""
    logs = []
    for turn in range(REPETITIONS if predicted != default else 0):
        # the first of a pair may find a cooler device: both are first equally often
        order = (predicted, default) if turn % 2 == 0 else (default, predicted)
        earlier, later = (_time(measure, problem, config) for config in order)
        advance()
        advance()
        if earlier is None or later is None:
            break
        ratio = earlier / later if turn % 2 == 0 else later / earlier
        logs.append(math.log(ratio))
    known = difference(logs)
    certified = known is not None and known[1][1] < 0
    return {
        "problem": _text(problem),
        "config": _text(predicted if certified else default),
        "certified": certified,
        "predicted": _text(predicted),
        "default": _text(default),
        "n": len(logs),
        "difference": None if known is None else known[0],
        "interval": None if known is None else known[1],
    }


def difference(logs: list[float]) -> tuple[float, list[float]] | None:
    """The mean of ratios' logarithms and its interval of 95 %, as shares; ``None`` where a repetition is missing.

    >>> mean, (low, high) = difference([-0.1, -0.2] * 4)
    >>> round(mean, 3), round(low, 3), round(high, 3)
    (-0.139, -0.177, -0.1)
    """
    if len(logs) < REPETITIONS:
        return None
    mean, half = statistics.fmean(logs), T_OF_95 * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.expm1(mean), [math.expm1(mean - half), math.expm1(mean + half)]


def _time(
    measure: Callable[[dict[str, Any], dict[str, Any]], Any], problem: dict[str, Any], config: dict[str, int]
) -> float | None:
    """Median seconds of a config; ``None`` where it does not work."""
    try:
        outcome = measure(dict(problem), dict(config))
    except Error:  # of a call of this package that is wrong, not of the config
        raise
    except Exception:
        return None
    if outcome is None or isinstance(outcome, Invalid):
        return None
    time = statistics.median(seconds_of(outcome))
    if not 0 < time < math.inf:
        raise InputError(f"measure returned {shown(outcome)}: seconds are above 0")
    return time


def _text(values: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in values.items())


def _claim(place: Path, overwrite: bool) -> None:
    """Refuses a path whose file would be lost, before the work."""
    if not place.parent.is_dir():
        raise InputError(f"{shown(str(place))}: its folder does not exist")
    if not place.exists():
        return
    if not overwrite:
        raise InputError(f"{shown(str(place))} exists; name another file, or say overwrite=True")
    if not place.is_file() or not place.read_bytes()[:40].startswith(b'{\n  "certified_by": "seqtune '):
        raise InputError(f"{shown(str(place))} is there and no file of certified rows; name another file")


def _write(place: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise


__all__ = ["Certificate", "certify", "difference"]
