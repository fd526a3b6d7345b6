"""``seqtune.Chooser``: a config for each call, by predictions and by the times that are reported."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from seqtune._seqtune import Choices, Device, Kernel, Model, Pick
from seqtune.predictor import device_of, kernel_of
from seqtune.problems import Problem, plain


class ConfigStanding(NamedTuple):
    """What is known of one config: believed microseconds (median) with the standard deviation as a share, believed joules (without meaning
    where none were reported), the observations that count, and whether it was reported as failed."""

    config: dict[str, int]
    time_us: float
    spread: float
    joules: float
    observations: float
    failed: bool


class Standing(NamedTuple):
    """What is known of a problem: its configs in the order of the predictions, which of them it settled on, the calls since times
    changed last, and the bound of the expected regret in calls."""

    configs: list[ConfigStanding]
    settled: int | None
    calls: int
    regret_bound: float


class Chooser:
    """Chooses a config for each call, learns from the times that are reported, and settles.

    ``model``, ``kernel`` and ``device`` are those of :class:`seqtune.Predictor`. ``top`` configs of each problem are considered. ``memory``
    names a file that choices are remembered in, shared by any number of processes; what was remembered under another ``driver`` is
    forgotten. ``setup_us`` is what the first use of a config costs this process, such as its compilation. A choice is settled where
    trying the others is expected to gain less than ``tolerance`` of a call. Any number of threads may share one.

    >>> import seqtune
    >>> chooser = seqtune.Chooser(seqtune.shipped("gemm-cpu"), device="epyc", top=3)
    >>> for call in range(60):
    ...     pick = chooser.pick("M=300,N=200,K=100")
    ...     chooser.report(pick, time_us=100 + pick.config["MWG"] + call % 2)
    >>> pick.settled, pick.config == chooser.settled("M=300,N=200,K=100")
    (True, True)
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        kernel: Kernel | str | os.PathLike[str] | None = None,
        device: Device | str | None = None,
        *,
        top: int = 5,
        memory: str | os.PathLike[str] | None = None,
        driver: str = "",
        setup_us: float = 0.0,
        tolerance: float = 0.01,
    ) -> None:
        if not isinstance(model, Model):
            name = kernel.name if isinstance(kernel, Kernel) else None if kernel is None else Kernel(kernel).name
            model = Model(model, kernel=name)
        self.kernel = kernel_of(kernel, model)
        self.device = device_of(device, model)
        self._choices = Choices(model, self.kernel, self.device, top, memory, driver, setup_us, tolerance)
        self._warn()

    def _warn(self) -> None:
        for warning in self._choices.warnings():
            warnings.warn(warning, RuntimeWarning, stacklevel=3)

    def pick(self, problem: Problem) -> Pick:
        """The config for a call: ``pick.config``, and ``pick.settled``. The first call of a problem asks the model."""
        return self._choices.pick(plain(problem))

    def report(self, pick: Pick, time_us: float, joules: float | None = None) -> None:
        """Learns what the call of a pick took: microseconds, and joules where they are known."""
        self._choices.report(pick, time_us, joules)

    def failed(self, pick: Pick) -> None:
        """Books a config as failed for its problem: it is not chosen again."""
        self._choices.report_failure(pick)

    def set_goal(
        self,
        objective: str = "time",
        *,
        time_us: float | None = None,
        power_w: float | None = None,
        joules: float | None = None,
        within_time: float | None = None,
    ) -> None:
        """Changes what is minimised (``time``, ``energy``, ``edp``) and what a call may take at most; the next pick follows.

        ``within_time=0.02`` with ``energy`` asks for the fewest joules within 2 % of the time of the fastest config.
        """
        self._choices.set_goal(objective, (time_us, power_w, joules, within_time))

    def settled(self, problem: Problem) -> dict[str, int] | None:
        """The config that a problem has settled on, if it has."""
        return self._choices.settled_config(plain(problem))

    def standing(self, problem: Problem) -> Standing | None:
        """What is known of a problem; ``None`` before its first call.

        >>> import seqtune
        >>> chooser = seqtune.Chooser(seqtune.shipped("gemm-cpu"), device="epyc", top=3)
        >>> pick = chooser.pick("M=64,N=64,K=64")
        >>> len(chooser.standing("M=64,N=64,K=64").configs)
        3
        """
        found = self._choices.standing(plain(problem))
        if found is None:
            return None
        settled, calls, bound, configs = found
        return Standing([ConfigStanding(*known) for known in configs], settled, calls, bound)

    def save(self) -> None:
        """Writes what was learned to the file; also done at times, and when the chooser goes."""
        self._choices.save()
        self._warn()

    def __enter__(self) -> "Chooser":
        return self

    def __exit__(self, *_: object) -> None:
        self.save()
