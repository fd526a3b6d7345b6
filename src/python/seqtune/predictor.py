"""``seqtune.Predictor``: the best legal configs of problems."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from seqtune._seqtune import Device, Engine, Kernel, Model, Prediction
from seqtune.errors import InputError, UnseenDeviceWarning, read_as
from seqtune.problems import Problem, Problems, columns_of, is_single, plain, rows_of

if TYPE_CHECKING:
    import pandas


def kernel_of(kernel: Kernel | str | os.PathLike[str] | None, model: Model | None = None) -> Kernel:
    """A kernel by name or folder, or the one that a model was made for."""
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is not None:
        return Kernel(kernel)
    names = model.kernels if model else []
    if len(names) != 1:
        raise InputError(f"the model is for several kernels; name one of {', '.join(names)}")
    return Kernel(names[0])


def device_of(device: Device | str | None, model: Model) -> Device:
    """A device by name, or the one that a model was trained on; of several the one that is live here."""
    return device if isinstance(device, Device) else model.device(device)


def settles(predictor: Any, predictions: list[Prediction]) -> bool:
    """Whether the first prediction may stand unmeasured: it is not unsure, and nine tenths of the first choices on problems held out lost a tenth of
    the best speed at most, where that was recorded.
    """
    shown = predictor.shown() if isinstance(predictor, Predictor) else None
    return not predictions[0].unsure and (shown is None or shown.get("p10", 1.0) >= 0.9)


class Predictor:
    """A model, ready to predict for one kernel on one device.

    ``model`` is a :class:`seqtune.Model` or the path of one; ``kernel`` is needed where the model does not tell it, or where the kernel
    is a folder of your own; ``device`` is a :class:`seqtune.Device` or a name, of one that the model was trained on or that is described.
    Without it a model of one device answers for that; of several the one that is live on this machine is taken, and where none is,
    ``DeviceNotFoundError`` lists them.

    >>> import seqtune
    >>> predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
    >>> [best] = predictor.predict("M=64,N=64,K=64", top=1)
    >>> list(best.config)[:3]
    ['MWG', 'NWG', 'MDIM']
    """

    kernel: Kernel
    model: Model
    device: Device

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        kernel: Kernel | str | os.PathLike[str] | None = None,
        device: Device | str | None = None,
    ) -> None:
        if not isinstance(model, Model):
            name = kernel.name if isinstance(kernel, Kernel) else None if kernel is None else Kernel(kernel).name
            model = Model(model, kernel=name)
        self.model = model
        self.kernel = kernel_of(kernel, model)
        self.device = device_of(device, model)
        self._engine = Engine(model, self.kernel, self.device)
        if self.device_note is not None:
            warnings.warn(self.device_note, UnseenDeviceWarning, stacklevel=2)

    @property
    def device_learned(self) -> bool:
        """Whether the model learned from data of the device. Of one that it never saw no time is told."""
        return self._engine.saw

    @property
    def device_note(self) -> str | None:
        """Of a device that the model never saw a sentence that says so, which it learned from, and what that costs; else ``None``."""
        return self._engine.note

    @overload
    def predict(
        self,
        problems: Problem,
        top: int = 5,
        width: int = 20,
        objective: str = "time",
        threads: int = 1,
        within_time: float | None = None,
    ) -> list[Prediction]: ...

    @overload
    def predict(
        self,
        problems: Problems,
        top: int = 5,
        width: int = 20,
        objective: str = "time",
        threads: int = 1,
        within_time: float | None = None,
    ) -> list[Any]: ...

    def predict(
        self,
        problems: Problems,
        top: int = 5,
        width: int = 20,
        objective: str = "time",
        threads: int = 1,
        within_time: float | None = None,
    ) -> list[Any]:
        """The ``top`` legal configs of each problem, best first.

        One problem (``"M=1,N=2"`` or a dict) is answered with a list of predictions. Many are answered with a list of such lists: a
        list of texts and dicts, a dict of columns, a structured NumPy array, a two-dimensional one with columns in the order of the
        kernel's fields, or a pandas frame. ``width`` is that of the beam, at least 20 where re-ranker and trees share its likelihood out,
        ``objective`` one of ``time``, ``energy`` and ``edp``.
        ``within_time=0.02`` asks for the fewest joules among configs that are predicted to take at most 2 % longer than the fastest.
        Problems of one call are spread over ``threads``; the interpreter is free meanwhile.

        >>> import seqtune
        >>> predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
        >>> [len(answer) for answer in predictor.predict({"M": [64, 128], "N": 64, "K": 64}, top=2)]
        [2, 2]
        """
        ask = (top, width, objective, threads, within_time)
        if is_single(problems):
            return self._engine.predict([plain(problems)], ask)[0]
        columns = columns_of(self.kernel, problems)
        if columns is not None:
            return self._engine.predict_columns(columns, ask)
        return self._engine.predict(rows_of(problems), ask)

    def cover(self, problem: Problem, share: float = 0.9, objective: str = "time") -> list[Prediction]:
        """As few configs as hold the best one with the probability ``share``, best first: how many are worth measuring.

        Models of tuned configs and of whole sweeps answer, on devices that they never saw too. A model that learned from a sample of a larger space,
        as that of ``gemm``, raises ``InputError``: the best of all configs is unknown to it. Where 10,000 configs do not hold it, these are given,
        and their probabilities add up to less.

        >>> import seqtune
        >>> seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc").cover("M=64,N=64,K=64")
        Traceback (most recent call last):
        ...
        seqtune.errors.InputError: gemm: the model learned from a sample of its space, ...
        """
        single = plain(problem)
        return self._engine.cover(single, share, (1, 20, objective, 1, None))

    def shown(self, objective: str = "time") -> dict[str, Any] | None:
        """What first choices were worth on problems that nothing was learned from, on this device: `problems`, and of sweeps `mean` and `p10`, shares
        of the best measured speed, of tuned configs `first` and `five`, shares of the problems whose tuned config stands so far ahead. ``None``
        where that was not recorded. Answers less sure than nine tenths of those were are marked ``unsure``.

        >>> import seqtune
        >>> shown = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc").shown()
        >>> shown["of"], 0.5 < shown["p10"] < shown["mean"] < 1
        ('best', True)
        """
        found = self._engine.shown_json(objective)
        return None if found is None else dict(json.loads(found))

    def part(self, problem: Problem) -> str:
        """What a problem of this shape was to the training: ``train``, ``validation`` or ``test``, from which nothing was learned.

        >>> import seqtune
        >>> seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc").part("M=64,N=64,K=64") in ("train", "validation", "test")
        True
        """
        return self._engine.part(plain(problem))

    def predict_among(
        self, problem: Problem, configs: Iterable[Mapping[str, int]], top: int = 5, objective: str = "time"
    ) -> list[Prediction]:
        """The ``top`` configs of those given, best first; illegal ones are left out. Probabilities are those among all legal configs.

        >>> import seqtune
        >>> predictor = seqtune.Predictor(seqtune.shipped("gemm-cpu"), device="epyc")
        >>> drawn = seqtune.Space("gemm", "M=64,N=64,K=64", predictor.device).sample(10)
        >>> all(p.config in drawn for p in predictor.predict_among("M=64,N=64,K=64", drawn, top=3))
        True
        """
        given = [read_as(dict, config, "is no config") for config in configs]
        single = plain(problem)
        width = min(max(top, len(given), 1), 10_000)
        return self._engine.predict_among(single, given, (top, width, objective, 1, None))

    def predict_frame(
        self,
        frame: "pandas.DataFrame",
        top: int = 1,
        width: int = 20,
        objective: str = "time",
        threads: int = 1,
    ) -> "pandas.DataFrame":
        """The same as a frame: a row for each prediction, with the index of its problem, its ``rank`` from 1, what is predicted of it, and a column
        for each parameter.
        """
        import pandas

        answers = self.predict(frame, top, width, objective, threads)
        rows = [(at, rank, p) for at, answer in zip(frame.index, answers) for rank, p in enumerate(answer, 1)]
        columns: dict[str, list[Any]] = {
            "rank": [rank for _, rank, _ in rows],
            "probability": [p.probability for _, _, p in rows],
            "unsure": [p.unsure for _, _, p in rows],
            "time_us": [float("nan") if p.time_us is None else p.time_us for _, _, p in rows],
            "joules": [float("nan") if p.joules is None else p.joules for _, _, p in rows],
            "time_basis": [p.time_basis for _, _, p in rows],
            "device": [p.device for _, _, p in rows],
            "device_learned": [p.device_learned for _, _, p in rows],
        }
        configs = [p.config for _, _, p in rows]
        columns.update({name: [config[name] for config in configs] for name in self.kernel.parameters})
        return pandas.DataFrame(columns, index=pandas.Index([at for at, _, _ in rows], name=frame.index.name))

    def __repr__(self) -> str:
        return f"Predictor({self.model!r}, {self.kernel!r}, {self.device!r})"

    def __getstate__(self) -> tuple[Model, Kernel, Device]:
        return (self.model, self.kernel, self.device)

    def __setstate__(self, state: tuple[Model, Kernel, Device]) -> None:
        self.model, self.kernel, self.device = state
        self._engine = Engine(self.model, self.kernel, self.device)
