"""Triton kernels that take their predicted configs: ``@seqtune.triton.autotune(model, key=["M", "N", "K"])``.

Where the model is sure of its first choice, nothing is measured; where it is not, the first few are, by Triton's own autotuner. The
module imports Triton when it is used, not before. What a config takes of a GPU is judged without one: :mod:`seqtune.triton_resources`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from seqtune.errors import InputError, UnavailableError, shown
from seqtune.predictor import settles
from seqtune.triton_resources import Judgement, judge, legal

__all__ = ["Judgement", "autotune", "configs", "judge", "legal", "to_config"]

#: Launch options of a config, by the names that parameters of this meaning have.
LAUNCH = {
    "num_warps": "num_warps",
    "numwarps": "num_warps",
    "num_stages": "num_stages",
    "numstages": "num_stages",
    "num_ctas": "num_ctas",
    "numctas": "num_ctas",
    "maxnreg": "maxnreg",
}

#: Options of compilers that Triton takes among a config's arguments.
OF_COMPILERS = {"waves_per_eu", "matrix_instr_nonkdim", "kpack"}

#: Labels of a field ``dtype`` that stand for a tensor's data type.
SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


#: Labels that stand for what Python has no text for; the import of Triton's files reads them so.
OF_LABELS = {"None": None, "True": True, "False": False}


def _triton() -> Any:
    try:
        return import_module("triton")
    except ImportError as error:
        raise UnavailableError(f"Triton is not installed here ({error}): pip install triton") from error


def to_config(config: Mapping[str, int]) -> Any:
    """A predicted config as a ``triton.Config``: launch options by their names, a ``maxnreg`` of 0 is no limit, a label ``None`` is ``None``."""
    triton = _triton()
    launch = {LAUNCH[name]: value for name, value in config.items() if name in LAUNCH}
    if launch.get("maxnreg") == 0:
        del launch["maxnreg"]
    return triton.Config({name: constant(value) for name, value in config.items() if name not in LAUNCH}, **launch)


def constant(value: Any) -> Any:
    """A constant of a kernel, of a parameter's value.

    >>> [constant(value) for value in (128, "evict_first", "None", "True")]
    [128, 'evict_first', None, True]
    """
    return OF_LABELS.get(value, value) if isinstance(value, str) else value


def configs(
    model: Any, problems: Iterable[Any], top: int = 1, *, kernel: Any = None, device: Any = None, width: int = 20
) -> list[Any]:
    """The first configs of all problems, each once: a fixed list for ``triton.autotune(configs=…)``, as kernels under ``torch.compile``
    need it.
    """
    predictor = _predictor(model, kernel, device)
    chosen: dict[tuple[tuple[str, int], ...], None] = {}
    for problem in problems:
        for prediction in predictor.predict(problem, top=top, width=max(width, top)):
            chosen[tuple(dict(prediction.config).items())] = None
    if not chosen:
        raise InputError("no problem is given, so there is no config")
    return [to_config(dict(config)) for config in chosen]


def autotune(
    model: Any,
    key: list[str],
    problem: Callable[[Mapping[str, Any]], Any] | None = None,
    top: int = 3,
    *,
    kernel: Any = None,
    device: Any = None,
    width: int = 20,
    objective: str = "time",
    within_time: float | None = None,
    allowed: Callable[[Any, Mapping[str, Any]], bool] | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Decorates a ``triton.jit`` function as ``triton.autotune`` does, with configs that a model predicts.

    ``model`` is the path of one, a :class:`seqtune.Model`, or a :class:`seqtune.Predictor`. ``key`` are the arguments whose change asks
    for another config, as Triton has it. ``problem`` makes a problem of the arguments by name; by default every field of the kernel is
    the argument of its name, and a field ``dtype`` the data type of the first tensor. The model is asked once for each key. A first choice
    that it is sure of is taken unmeasured, else the first ``top`` are measured. ``objective`` and ``within_time`` are those of
    :meth:`seqtune.Predictor.predict`; a quantity other than time is not measured by Triton, so that the first choice is taken. ``allowed`` says of a ``triton.Config`` and the arguments
    whether it may be tried, see :func:`seqtune.triton_resources.checker`. Other options are those of ``triton.autotune``, but
    for ``configs`` and ``prune_configs_by``.
    """
    for name in ("configs", "prune_configs_by"):
        if name in options:
            raise InputError(f"{name} is what seqtune.triton.autotune decides; use triton.autotune for configs of your own")
    if isinstance(key, str):
        raise InputError(f"key={shown(key)} is a text: write a list of arguments' names, such as key=['M', 'N']")
    if top < 1:
        raise InputError(f"top is {top}, and at least one config is needed")
    predictor = _predictor(model, kernel, device)

    def decorate(fn: Any) -> Any:
        search = Search(top, width, objective, within_time)
        return _tuner_class()(fn, predictor, key, problem, search, allowed, options)

    return decorate


@dataclasses.dataclass(frozen=True)
class Search:
    """What a model is asked for."""

    top: int
    width: int = 20
    objective: str = "time"
    within_time: float | None = None

    @property
    def is_of_time(self) -> bool:
        """Whether configs are compared by their time."""
        return self.objective == "time" and self.within_time is None

    def ask(self, predictor: Any, problem: Any, top: int) -> Any:
        """The first ``top`` configs of a problem. A predictor that is not of seqtune is asked for no quantity that it need not know."""
        if self.is_of_time:
            return predictor.predict(problem, top=top, width=max(self.width, top))
        return predictor.predict(
            problem, top=top, width=max(self.width, top), objective=self.objective, within_time=self.within_time
        )


def _predictor(model: Any, kernel: Any, device: Any) -> Any:
    if hasattr(model, "predict"):
        return model
    from seqtune import Predictor

    return Predictor(model, kernel, device)


def problem_of(fields: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """The problem that arguments stand for: each field the argument of its name, ``dtype`` the data type of the first tensor.

    >>> problem_of({"M": {}, "batch": {"default": "1"}}, {"a": None, "M": 64})
    {'M': 64}
    """
    problem: dict[str, Any] = {}
    for name, field in fields.items():
        if name in args:
            problem[name] = args[name]
        elif name == "dtype":
            tensors = (str(arg.dtype) for arg in args.values() if hasattr(arg, "dtype"))
            dtype = next(tensors, "").removeprefix("torch.")
            labels = field.get("labels", [])
            found = [label for label in (dtype, SHORT.get(dtype)) if label in labels]
            if dtype and not found:
                raise InputError(f"field `dtype` has no label for {dtype} (it has {', '.join(labels)}); say problem=")
            problem.update({name: label for label in found[:1]})
    return problem


def check_names(predictor: Any, fn: Any, key: list[str]) -> None:
    """Refuses a kernel whose parameters the function does not take, and a key that names no argument."""
    args = list(fn.arg_names)
    unknown = [name for name in key if name not in args]
    if unknown:
        raise InputError(f"key names `{unknown[0]}`, which is no argument of {fn.__name__} ({', '.join(args)})")
    parameters = getattr(getattr(predictor, "kernel", None), "parameters", {})
    missing = [name for name in parameters if name not in LAUNCH and name not in OF_COMPILERS and name not in args]
    if missing:
        raise InputError(
            f"{fn.__name__} has no argument `{missing[0]}`, a parameter of kernel {predictor.kernel.name}; "
            "parameters are called as the function's constants, or num_warps, num_stages, num_ctas, maxnreg"
        )


_classes: list[Any] = []


def _tuner_class() -> Any:
    """Triton's autotuner, with the configs of a predictor; made when Triton is there."""
    if _classes:
        return _classes[0]
    triton = _triton()
    base: Any = import_module("triton.runtime.autotuner").Autotuner

    class Tuner(base):
        """Asks the model for each new key. ``asked`` and ``measured`` count its answers, and the configs that were timed."""

        cache_results: bool

        def __init__(
            self,
            fn: Any,
            predictor: Any,
            key: list[str],
            problem: Callable[[Mapping[str, Any]], Any] | None,
            search: Search,
            allowed: Callable[[Any, Mapping[str, Any]], bool] | None,
            options: dict[str, Any],
        ) -> None:
            inner = fn
            while not hasattr(inner, "arg_names"):
                inner = inner.fn
            check_names(predictor, inner, key)
            self.predictor, self._problem, self._search, self._allowed = predictor, problem, search, allowed
            self.asked = self.measured = 0
            self._few: list[Any] = []
            # Triton prunes where there are two configs or more; what is pruned away is never looked at
            both = [triton.Config({}), triton.Config({})]
            usual = {"reset_to_zero": None, "restore_value": None}
            by = {"early_config_prune": self._ask}
            super().__init__(fn, inner.arg_names, both, list(key), **{**usual, **options}, prune_configs_by=by)
            self._keeps: bool = self.cache_results

        def _ask(self, _configs: list[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
            args = {**named_args, **kwargs}
            fields = getattr(getattr(self.predictor, "kernel", None), "fields", {})
            problem = self._problem(args) if self._problem else problem_of(fields, args)
            top = self._search.top
            # of those that may not be tried there are others behind
            more = top if self._allowed is None else max(4 * top, 32)
            predictions = self._search.ask(self.predictor, problem, more)
            self.asked += 1
            # what Triton times tells nothing of energy
            sure = not self._search.is_of_time or settles(self.predictor, predictions)
            chosen: list[Any] = []
            for prediction in predictions:
                config = to_config(prediction.config)
                if self._allowed is None or self._allowed(config, args):
                    chosen.append(config)
                if len(chosen) == (1 if sure else top):
                    break
            if not chosen:
                raise InputError(f"none of the first {more} configs of {problem} may be tried: see allowed=")
            return chosen

        def prune_configs(self, kwargs: dict[str, Any]) -> list[Any]:
            self._few = super().prune_configs(kwargs)
            # a config that nobody timed has no time to keep
            self.cache_results = self._keeps and len(self._few) > 1
            return self._few

        def _bench(self, *args: Any, config: Any, **meta: Any) -> Any:
            # before 3.8 Triton measures the only config as well
            if len(self._few) == 1:
                return [0.0, 0.0, 0.0]
            self.measured += 1
            return super()._bench(*args, config=config, **meta)

    _classes.append(Tuner)
    return Tuner
