"""A strategy for ``tune_kernel``: predicted configs are measured first, then one of its own strategies goes on."""

from __future__ import annotations

import numbers
import operator
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from seqtune._seqtune import Device, Kernel, Model, Prediction
from seqtune.errors import DeviceNotFoundError, InputError, UnseenDeviceWarning
from seqtune.predictor import Predictor, settles

#: A strategy of Kernel Tuner by name, an object with ``tune``, one of its ``OptAlg``, or a function of the arguments of ``tune``.
Then: TypeAlias = "str | Callable[..., Any] | Any | None"

#: Search spaces of at most so many configs are ranked whole; of larger ones those that the beam finds are kept.
WHOLE = 1_000

#: Predictions that are asked for at most, where Kernel Tuner's own restrictions refuse many.
MOST = 1_000


class Strategy:
    """Measures the ``top`` predicted configs, then lets the strategy ``then`` go on from the best of them.

    ``model``, ``kernel`` and ``device`` are those of :class:`seqtune.Predictor`; where none is given, the device is the one that Kernel
    Tuner tells, of those that the model learned or that are described; another is refused where the model learned several, and else answered as the one that it learned. ``problem`` is a problem of the kernel, or a function that makes one of ``problem_size``; without it the
    sizes of ``problem_size`` are the kernel's size fields, in their order. Every config is checked against Kernel Tuner's restrictions before it
    is measured. With ``only_unsure`` nothing goes on where the model is sure. ``objective`` and ``within_time`` are those of
    :meth:`seqtune.Predictor.predict`: which configs are predicted. Kernel Tuner compares what it measures by its own ``objective``.

    After ``tune`` the object holds ``predictions``: what was predicted and is in the search space, best first.
    """

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        kernel: Kernel | str | os.PathLike[str] | None = None,
        device: Device | str | None = None,
        problem: str | Mapping[str, Any] | Callable[[Any], Any] | None = None,
        top: int = 10,
        then: Then = "genetic_algorithm",
        only_unsure: bool = False,
        objective: str = "time",
        within_time: float | None = None,
    ) -> None:
        try:
            top = operator.index(top)
        except TypeError:
            raise InputError(f"top={top!r} is no whole number") from None
        if top < 1:
            raise InputError(f"top={top} is below 1")
        _check_then(then)
        if not (problem is None or isinstance(problem, (str, Mapping)) or callable(problem)):
            raise InputError(f"problem={problem!r:.100} is neither text such as 'M=64,N=32', nor a dict of fields, nor a function of problem_size")
        if not isinstance(model, Model):
            named = kernel.name if isinstance(kernel, Kernel) else None if kernel is None else Kernel(kernel).name
            model = Model(model, kernel=named)
        # a wrong model, kernel or device is told before anything is compiled; the device that is tuned on is not known yet
        self._predictor = Predictor(model, kernel, model.devices[0] if device is None and model.devices else device)
        self._device = device
        self.problem = problem
        self.top = top
        self.then = then
        self.only_unsure = only_unsure
        self.objective = objective
        self.within_time = within_time
        self.predictions: list[Prediction] = []

    def tune(self, searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
        """What ``tune_kernel`` calls: returns the results of all configs that were measured."""
        from kernel_tuner.strategies.common import CostFunc
        from kernel_tuner.util import StopCriterionReached, get_best_config

        predictor = self._on(runner)
        self.predictions = self._ranked(predictor, searchspace, self._problem(predictor, runner))
        if not self.predictions:
            warnings.warn("no config of tune_params is one of the kernel's, so that nothing was predicted", stacklevel=3)
        cost = CostFunc(searchspace, tuning_options, runner, scaling=False, snap=False)
        try:
            configs = [_tuple(searchspace, prediction) for prediction in self.predictions]
            if configs:
                cost.eval_all(configs)
        except StopCriterionReached:
            return list(cost.results)
        first: list[dict[str, Any]] = [result for result in cost.results if result]
        sure = bool(self.predictions) and settles(predictor, self.predictions)
        if self.then is None or (self.only_unsure and sure):
            return first
        valid = [result for result in first if "__error__" not in result]
        best = None
        if valid and len(tuning_options.objective) == 1:
            better = tuning_options.objective_higher_is_better[0]
            found = get_best_config(valid, tuning_options.objective[0], better)
            best = [found[name] for name in searchspace.tune_params]
        # another strategy would spend some of such a budget on configs that were measured
        if self.then == "brute_force" or _pays_for_all(searchspace, tuning_options):
            return _merged(searchspace, first, _rest(first, searchspace, runner, tuning_options))
        return _merged(searchspace, first, _go_on(self.then, best, searchspace, runner, tuning_options))

    def _on(self, runner: Any) -> Predictor:
        """The predictor for the device that is tuned on, where none was named."""
        if self._device is not None:
            return self._predictor
        name = str(getattr(runner.get_device_info(), "name", ""))
        model = self._predictor.model
        try:
            # one that the model learned, or one that is described, of which Predictor warns
            return Predictor(model, self._predictor.kernel, model.device(name))
        except DeviceNotFoundError:
            if len(model.devices) > 1:
                known = ", ".join(repr(device.name) for device in model.devices)
                raise DeviceNotFoundError(
                    f"Kernel Tuner tunes on {name or 'a device without a name'}, and the model learned {known}: name one with device="
                ) from None
        warnings.warn(
            f"the model never saw {name or 'this device'}; it predicts as for {self._predictor.device.name}",
            UnseenDeviceWarning,
            stacklevel=4,
        )
        return self._predictor

    def _problem(self, predictor: Predictor, runner: Any) -> str | dict[str, Any]:
        size = runner.kernel_options.problem_size
        problem = self.problem(size) if callable(self.problem) else self.problem
        if problem is not None:
            return problem if isinstance(problem, str) else dict(problem)
        return problem_of_size(predictor.kernel, size)

    def _ranked(self, predictor: Predictor, searchspace: Any, problem: str | dict[str, Any]) -> list[Prediction]:
        """The best predictions that Kernel Tuner's search space has."""
        _check_names(predictor.kernel, searchspace)
        if searchspace.size <= WHOLE and self.within_time is None:
            configs = _configs(predictor.kernel, searchspace)
            return predictor.predict_among(problem, configs, top=self.top, objective=self.objective) if configs else []
        asked, found = max(4 * self.top, 20), []
        while True:
            answer = predictor.predict(
                problem, top=asked, width=asked, objective=self.objective, within_time=self.within_time
            )
            found = [p for p in answer if searchspace.is_param_config_valid(_tuple(searchspace, p))]
            if len(found) >= self.top or len(answer) < asked or asked >= MOST:
                return found[: self.top]
            asked = min(4 * asked, MOST)


def problem_of_size(kernel: Kernel, size: Any) -> dict[str, Any]:
    """The problem of which ``problem_size`` tells the sizes.

    >>> problem_of_size(Kernel("gemm"), (64, 32, 16))
    {'M': 64, 'N': 32, 'K': 16}
    """
    sizes = [size] if not isinstance(size, (tuple, list)) else list(size)
    if not all(isinstance(one, numbers.Integral) for one in sizes):
        raise InputError(f"problem_size is {size!r} and tells no sizes; say problem=")
    fields = [name for name, field in kernel.fields.items() if field["kind"] == "size"]
    if len(fields) != len(sizes):
        raise InputError(
            f"problem_size has {len(sizes)} sizes and kernel {kernel.name} {len(fields)} ({', '.join(fields)}); say problem="
        )
    return {name: int(value) for name, value in zip(fields, sizes)}


def _check_names(kernel: Kernel, searchspace: Any) -> None:
    missing = [name for name in kernel.parameters if name not in searchspace.tune_params]
    if missing:
        raise InputError(f"kernel {kernel.name} has parameters that tune_params lacks: {', '.join(missing)}")
    more = [name for name, values in searchspace.tune_params.items() if name not in kernel.parameters and len(values) > 1]
    if more:
        raise InputError(f"tune_params has parameters that kernel {kernel.name} lacks: {', '.join(more)}")


def _tuple(searchspace: Any, prediction: Prediction) -> tuple[Any, ...]:
    """A config in the order of ``tune_params``, of its own values; what is not the kernel's has one value."""
    config = prediction.config
    return tuple(_own(values, config.get(name, values[0])) for name, values in searchspace.tune_params.items())


def _own(values: Sequence[Any], value: Any) -> Any:
    """The value of ``tune_params`` that a kernel's value stands for: ``True`` for 1, so that it is written into the source as the user does."""
    return next((own for own in values if own == value or str(own) == str(value)), value)


def _configs(kernel: Kernel, searchspace: Any) -> list[dict[str, int]]:
    """The search space as configs of the kernel; those with values that it does not have are left out."""
    names = list(searchspace.tune_params)
    # by the kernel's own: Kernel Tuner's may be 2.0 or True, which are equal to 2 and 1
    places = [(name, names.index(name), {value: value for value in values}) for name, values in kernel.parameters.items()]
    served = (config for config in searchspace.list if all(config[at] in values for _, at, values in places))
    return [{name: values[config[at]] for name, at, values in places} for config in served]


def _check_then(then: Then) -> None:
    """Refuses a name that is none of Kernel Tuner's strategies, where Kernel Tuner is here to be asked."""
    if not isinstance(then, str):
        return
    try:
        from kernel_tuner.interface import strategy_map
    except ImportError:
        return
    if then not in strategy_map:
        raise InputError(f"then={then!r} is not one of {', '.join(strategy_map)}")


def _go_on(then: Then, best: list[Any] | None, searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
    """Runs another strategy, from the best config so far where it takes a starting point. Gives what it measured, also where it ends in an
    error, of which it warns."""
    from kernel_tuner.interface import strategy_map
    from kernel_tuner.strategies.wrapper import OptAlg, OptAlgWrapper
    from kernel_tuner.util import StopCriterionReached

    chosen: Any = then
    if isinstance(then, str):
        chosen = strategy_map[then]
    elif isinstance(then, OptAlg):
        chosen = OptAlgWrapper(then)
    tune: Callable[..., Any] = chosen.tune if hasattr(chosen, "tune") else chosen
    options, named = tuning_options.strategy_options, tuning_options.get("strategy")
    if isinstance(then, str):
        tuning_options["strategy"] = then  # one module serves several names
    starts = best is not None and "x0" not in options
    if starts:
        options["x0"] = best
    measured: list[dict[str, Any]] = []
    run = runner.run

    def recorded(*arguments: Any, **named: Any) -> Any:
        results = run(*arguments, **named)
        measured.extend(result for result in results if result)
        return results

    runner.run = recorded
    try:
        try:
            return list(tune(searchspace, runner, tuning_options))
        except ValueError as error:
            # raised before anything was measured
            if not starts or "x0" not in str(error):
                raise
            del options["x0"]
            return list(tune(searchspace, runner, tuning_options))
    except StopCriterionReached:
        return measured
    except Exception as error:
        warnings.warn(f"then={then!r} ended in {type(error).__name__}: {error!s:.200}; what was measured before is kept", stacklevel=4)
        return measured
    finally:
        runner.run = run
        tuning_options["strategy"] = named
        if starts:
            options.pop("x0", None)


def _pays_for_all(searchspace: Any, tuning_options: Any) -> bool:
    """Whether the budget that is named is one for the whole space."""
    most = tuning_options.strategy_options.get("max_fevals")
    return most is not None and most >= searchspace.size


def _rest(results: list[dict[str, Any]], searchspace: Any, runner: Any, tuning_options: Any) -> list[dict[str, Any]]:
    """Measures what was not measured yet, in the order of the space, within the budget."""
    from kernel_tuner.strategies.common import CostFunc
    from kernel_tuner.util import StopCriterionReached

    done = {_config_of(searchspace, result) for result in results}
    cost = CostFunc(searchspace, tuning_options, runner, scaling=False, snap=False)
    try:
        cost.eval_all([config for config in searchspace.list if tuple(config) not in done])
    except StopCriterionReached:
        pass
    return list(cost.results)


def _config_of(searchspace: Any, result: dict[str, Any]) -> tuple[Any, ...]:
    """The config that a result is of, in the order of ``tune_params``."""
    return tuple(result.get(name) for name in searchspace.tune_params)


def _merged(searchspace: Any, first: list[dict[str, Any]], then: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both lists of results, each config once: some strategies repeat what they measured."""
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for result in first + [result for result in then if result]:
        merged.setdefault(_config_of(searchspace, result), result)
    return list(merged.values())
