"""``seqtune.sweep``: measuring configs with a function of one's own, into a journal that the command line trains from."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from seqtune._seqtune import Device, Journal, Kernel, Space
from seqtune.errors import Error, InputError, read_as, said, shown
from seqtune.predictor import kernel_of
from seqtune.problems import Problem, Problems, columns_of, is_single, rows_of

if TYPE_CHECKING:
    import pandas

#: Samples of a config at most.
SAMPLES = 100_000

#: Failures at the very beginning after which it is the function that is wrong and not the configs.
HOPELESS = 20


class Invalid(Exception):
    """A config that does not work: to be returned or raised by ``measure``.

    ``kind`` is one of ``compile``, ``runtime``, ``timeout`` and ``correctness``.

    >>> Invalid("too many registers", kind="compile").kind
    'compile'
    """

    KINDS = ("compile", "runtime", "timeout", "correctness")

    def __init__(self, why: str = "", kind: str = "runtime") -> None:
        if kind not in self.KINDS:
            raise InputError(f"kind={shown(kind)} is not one of {', '.join(self.KINDS)}")
        super().__init__(why)
        self.why = why
        self.kind = kind


#: What ``measure`` returns: seconds, samples of seconds, ``None`` or :class:`Invalid` where the config does not work.
Measured: TypeAlias = "float | Sequence[float] | Invalid | None"

#: Problem and config of a failure, its reason, and what ``measure`` raised.
Failure: TypeAlias = "tuple[dict[str, Any], dict[str, int], Invalid, Exception | None]"


class Sweep:
    """What a sweep found: counts, and the records of its journal."""

    def __init__(self, journal: str, records: list[tuple[str, str, float | None]], counts: tuple[int, int, int]) -> None:
        #: Path of the journal.
        self.journal = journal
        #: Problem, config, and median microseconds or ``None`` where it failed: all that the journal holds.
        self.records = records
        #: Configs measured now, failed now, and found in the journal.
        self.measured, self.failed, self.found = counts

    def best(self, problem: str | Mapping[str, Any] | None = None) -> tuple[str, str, float]:
        """The fastest record, of a problem as records write it, of those with the fields of a dict, or of all."""

        def asked(text: str) -> bool:
            if problem is None or isinstance(problem, str):
                return problem in (None, text)
            fields = dict(field.split("=", 1) for field in text.split(","))
            return all(fields.get(name) == str(value) for name, value in problem.items())

        valid = [(us, p, c) for p, c, us in self.records if us is not None and asked(p)]
        if not valid:
            raise InputError("no config works" if problem is None else f"no config of {shown(problem)} works")
        us, name, config = min(valid)
        return name, config, us

    def to_frame(self) -> "pandas.DataFrame":
        """The records as a frame: columns ``problem``, ``config`` and ``time_us``."""
        import pandas

        return pandas.DataFrame(self.records, columns=["problem", "config", "time_us"])

    def __repr__(self) -> str:
        return (
            f"<Sweep {self.journal}: {len(self.records)} records, {self.measured} measured now, "
            f"{self.failed} failed now, {self.found} found>"
        )


def sweep(
    kernel: Kernel | str | os.PathLike[str],
    measure: Callable[[dict[str, Any], dict[str, Any]], Any],
    problems: Problems,
    *,
    device: Device | str = "host",
    journal: str | os.PathLike[str],
    sample: int | None = 100,
    seed: int = 1,
    progress: bool = True,
) -> Sweep:
    """Measures legal configs of each problem and writes a journal, which ``seqtune train`` and ``seqtune export dataset`` read.

    ``measure(problem, config)`` gets two dicts and returns seconds, several samples of seconds, or ``None`` where the config does not work; a
    config for which it raises is booked as failed, and the sweep goes on. ``device`` is what runs it: ``"host"`` are the processors of this machine. ``sample`` is the number of configs per problem, the default config
    among them; ``None`` is all. A journal that is there already is gone on with: what it holds, failures too, is not measured again. Ctrl-C ends the sweep and
    loses nothing.

    >>> import seqtune, tempfile
    >>> def measure(problem, config):
    ...     return 1e-6 * problem["M"] / config["MWG"]
    >>> folder = tempfile.TemporaryDirectory()
    >>> seqtune.sweep("gemm", measure, ["M=64,N=64,K=64"], device="H200", journal=folder.name + "/s.jsonl", sample=3).measured
    3
    """
    if not callable(measure):
        raise InputError(f"measure is {shown(measure)}: it is a function of a problem and a config")
    if not _is_whole(seed) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed={shown(seed)} is not a whole number from 0 to 2^64 - 1")
    if sample is not None and (not _is_whole(sample) or not 1 <= sample <= 1_000_000):
        raise InputError(f"sample={shown(sample)} is neither a whole number from 1 to 1,000,000 nor None")
    kernel = kernel_of(kernel)
    device = device if isinstance(device, Device) else Device(device)
    given = [kernel.problem(problem) for problem in listed(kernel, problems)]
    if not given:
        raise InputError("no problem is given, so that nothing is measured")
    plan = [(problem, configs_of(kernel, problem, device, sample, seed)) for problem in given]
    path = read_as(os.fspath, journal, "is no path of a journal")
    tool = "a function of Python, by seqtune.sweep"
    book = Journal(path, kernel, device, (seed, tool, f"seqtune.sweep({kernel.name}, sample={sample}, seed={seed})"))
    counts = {"measured": 0, "failed": 0, "found": 0}
    held: list[Failure] = []
    try:
        with progress_of(sum(len(configs) for _, configs in plan), progress) as advance:
            for problem, configs in plan:
                for config in configs:
                    _one(book, measure, (problem, config), counts, held)
                    advance()
        if counts["measured"] == counts["found"] == 0 and any(cause for *_, cause in held):
            _give_up(held, f"all {len(held)}")
        for failure in held:  # none works, as measure says itself: that is a result too
            _book(book, failure)
        return Sweep(path, book.records(), (counts["measured"], counts["failed"], counts["found"]))
    finally:
        book.close()


def _is_whole(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _one(
    book: Journal,
    measure: Callable[[dict[str, Any], dict[str, Any]], Any],
    pair: tuple[dict[str, Any], dict[str, int]],
    counts: dict[str, int],
    held: list[Failure],
) -> None:
    """Measures one config, unless the journal has it. Failures before the first success are held back, with what was raised."""
    problem, config = pair
    if book.has(problem, config):
        counts["found"] += 1
        return
    cause: Exception | None = None
    try:
        outcome: Any = measure(dict(problem), dict(config))
    except Invalid as invalid:
        outcome = invalid
    except Error:  # of a call of this package that is wrong, not of the config
        raise
    except Exception as error:
        cause = error
        outcome = Invalid(said(error))
    if outcome is None:
        outcome = Invalid("measure returned None")
        cause = ValueError("a `return` may be missing; return seqtune.Invalid(...) where no config is to work")
    if isinstance(outcome, Invalid):
        counts["failed"] += 1
        if counts["measured"] == counts["found"] == 0:
            held.append((problem, config, outcome, cause))
            if cause is not None and len(held) >= HOPELESS:
                _give_up(held, f"the first {HOPELESS}")
            return
        _book(book, (problem, config, outcome, cause))
        return
    while held:
        _book(book, held.pop(0))
    book.append_times(problem, config, seconds_of(outcome))
    counts["measured"] += 1


def _give_up(held: list[Failure], which: str) -> NoReturn:
    """Ends a sweep whose function is wrong, and not its configs."""
    *_, last, _ = held[-1]
    cause = next(cause for *_, cause in reversed(held) if cause is not None)
    hint = f" ({cause})" if last.why == "measure returned None" else ""
    raise InputError(f"measure failed for {which} configs, the last time with {last.why}{hint}; no record was written") from cause


def _book(book: Journal, failure: Failure) -> None:
    problem, config, invalid, _ = failure
    book.invalid(problem, config, (invalid.kind, invalid.why))


def seconds_of(outcome: Any) -> list[float]:
    """What ``measure`` returned, as samples of seconds."""
    try:
        if isinstance(outcome, (str, bytes, bool)):  # characters are no samples, and True is no second
            raise TypeError("a text or a truth value")
        several = hasattr(outcome, "__len__")
        if several and len(outcome) > SAMPLES:
            raise InputError(f"measure returned {len(outcome)} samples; {SAMPLES} are the most of a config")
        # what says that it has a few and gives more is cut as well
        return [float(x) for x in islice(outcome, SAMPLES)] if several else [float(outcome)]
    except Error:
        raise
    except Exception as error:
        raise InputError(f"measure returned {shown(outcome)}: it returns seconds, a list of them, or None") from error


def listed(kernel: Kernel, problems: Problems) -> Iterable[Problem]:
    """Problems one by one, in whatever form they are given."""
    if is_single(problems):
        return [problems]
    columns = columns_of(kernel, problems)
    if columns is not None:
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    return rows_of(problems)


def configs_of(
    kernel: Kernel, problem: Problem, device: Device, sample: int | None, seed: int
) -> list[dict[str, int]]:
    """The configs of a problem that a sweep measures: the default one, where it is legal, then drawn ones."""
    space = Space(kernel, problem, device)
    count = space.count()
    if sample is None and count is None:
        raise InputError(f"the legal configs of {shown(problem)} cannot be counted; give sample=")
    # its own seed: a problem's configs do not depend on the problems before it
    digest = hashlib.sha256(f"{seed} {sorted(space.problem.items())}".encode()).digest()
    own = int.from_bytes(digest[:8], "little")
    wanted = int(min(1_000_000, count or 0)) if sample is None else sample
    if wanted < 1 or count == 0:
        raise InputError(
            f"no config is legal for {shown(problem)} on {device.name}" if count == 0 else f"sample={shown(sample)} is below 1"
        )
    configs = space.sample(wanted, own)
    random.Random(own).shuffle(configs)
    default = kernel.default
    if default in space:
        configs = [default] + [config for config in configs if config != default]
    return configs[:wanted]


@contextmanager
def progress_of(total: int, shown: bool, unit: str = "config") -> Iterator[Callable[[], None]]:
    """A bar in terminals and notebooks where tqdm is installed, else a line now and then on a terminal."""
    if not shown:
        yield lambda: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None:  # what is raised below is no consequence of that
        yield _lines(total, unit)
        return
    with tqdm(total=total, unit=unit, dynamic_ncols=True) as bar:
        yield lambda: None if bar.update(1) else None


def _lines(total: int, unit: str) -> Callable[[], None]:
    state = {"done": 0, "next": time.monotonic() + 1.0}

    def advance() -> None:
        state["done"] += 1
        last = state["done"] == total
        if sys.stderr.isatty() and (last or time.monotonic() >= state["next"]):
            state["next"] = time.monotonic() + 1.0
            sys.stderr.write(f"\r{int(state['done'])} of {total} {unit}s" + ("\n" if last else ""))
            sys.stderr.flush()

    return advance


__all__ = ["Error", "Invalid", "Sweep", "configs_of", "sweep"]
