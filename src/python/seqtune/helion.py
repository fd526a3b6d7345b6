"""A heuristic backend for Helion's ahead-of-time tuning: ``seqtune.helion.register()``, then ``PerformanceTarget(backend="seqtune")``.

Helion has measured some configs for some shapes and wants a function that chooses among them for all shapes. This backend writes a decision tree
into that function: no package is needed where it runs. It differs from Helion's own tree in what it minimises, the time that is lost and
not the number of misses, and in what it looks at, products and ratios of sizes too. With ``register(program="seqtune")`` a model is trained
of the measurements first, and the tree learns what the model says of shapes that nobody measured.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from seqtune.errors import FailedError, InputError, UnavailableError

__all__ = ["Leaf", "Split", "fit", "register", "source_of"]

#: How much slower a config may be, as a logarithm, before hardly anything of its worth is left.
TEMPERATURE = 0.05

#: Questions on the way through a tree at most, and measured shapes of an answer at least.
DEPTH, LEAST = 8, 2

#: Shapes that the model is asked of, for each that was measured.
INVENTED = 20


@dataclass(frozen=True)
class Leaf:
    """The end of a tree: a config's place in the list."""

    config: int


@dataclass(frozen=True)
class Split:
    """A question: whether an expression over a shape's sizes is at most a number."""

    expression: str
    threshold: float
    low: "Split | Leaf"
    high: "Split | Leaf"


#: A shape's values by name.
Shape = Mapping[str, float]


def expressions(names: Sequence[str]) -> dict[str, Callable[[Shape], float]]:
    """What a tree may ask of: each value, the product and the ratio of two, and the product of all."""

    def value(name: str) -> Callable[[Shape], float]:
        return lambda shape: shape[name]

    def product(*names: str) -> Callable[[Shape], float]:
        return lambda shape: math.prod(shape[name] for name in names)

    def ratio(a: str, b: str) -> Callable[[Shape], float]:
        return lambda shape: shape[a] / max(shape[b], 1)

    found = {f"{{{name}}}": value(name) for name in names}
    for a, b in itertools.combinations(names, 2):
        found[f"{{{a}}} * {{{b}}}"] = product(a, b)
        found[f"{{{a}}} / max({{{b}}}, 1)"] = ratio(a, b)
    if len(names) > 2:
        found[" * ".join(f"{{{name}}}" for name in names)] = product(*names)
    return found


def losses(times: Sequence[float]) -> list[float]:
    """What choosing each config loses, 0 to 1, of its times; all the same where none works.

    >>> [round(loss, 2) for loss in losses([1.0, 1.05, 2.0, math.inf])]
    [0.0, 0.62, 1.0, 1.0]
    """
    best = min(times)
    if not math.isfinite(best):
        return [1.0] * len(times)
    return [1 - math.exp(-math.log(time / best) / TEMPERATURE) if math.isfinite(time) else 1.0 for time in times]


def fit(names: Sequence[str], rows: Sequence[tuple[Shape, Sequence[float]]], least: int = LEAST) -> Split | Leaf:
    """The tree that loses least: rows are shapes with the loss of each config.

    >>> fit(["m"], [({"m": 1}, [0, 1]), ({"m": 2}, [0, 1]), ({"m": 8}, [1, 0]), ({"m": 9}, [1, 0])])
    Split(expression='{m}', threshold=4.0, low=Leaf(config=0), high=Leaf(config=1))
    """
    asked = {text: [ask(shape) for shape, _ in rows] for text, ask in expressions(names).items()}
    return _grow(asked, [list(loss) for _, loss in rows], list(range(len(rows))), DEPTH, least)


def _grow(
    asked: Mapping[str, Sequence[float]], loss: list[list[float]], rows: list[int], depth: int, least: int
) -> Split | Leaf:
    totals = [sum(loss[row][config] for row in rows) for config in range(len(loss[rows[0]]))]
    leaf = Leaf(totals.index(min(totals)))
    if depth == 0 or len(rows) < 2 * least:
        return leaf
    # a question has to be worth something: of two that are not, the leaf stays
    best: tuple[float, str, float] = (min(totals) - 1e-6 * len(rows), "", 0.0)
    for text, values in asked.items():
        order = sorted(rows, key=values.__getitem__)
        low, high = [0.0] * len(totals), list(totals)
        for at, row in enumerate(order[:-1]):
            for config, cost in enumerate(loss[row]):
                low[config] += cost
                high[config] -= cost
            here, there = values[row], values[order[at + 1]]
            if here == there or not least <= at + 1 <= len(order) - least:
                continue
            if (cost := min(low) + min(high)) < best[0]:
                # between two sizes the geometric middle
                middle = math.sqrt(here * there) if here > 0 else (here + there) / 2
                best = (cost, text, middle)
    _, text, threshold = best
    if not text:
        return leaf
    parts = [[row for row in rows if (asked[text][row] <= threshold) == is_low] for is_low in (True, False)]
    if min(map(len, parts)) < 1:
        return leaf
    lower, higher = (_grow(asked, loss, part, depth - 1, least) for part in parts)
    if isinstance(lower, Leaf) and lower == higher:
        return lower
    return Split(text, threshold, lower, higher)


def chosen(tree: Split | Leaf, shape: Shape) -> int:
    """The config of a shape."""
    while isinstance(tree, Split):
        value = eval(tree.expression.format(**{name: repr(value) for name, value in shape.items()}), {"max": max})
        tree = tree.low if value <= tree.threshold else tree.high
    return tree.config


def source_of(tree: Split | Leaf, variable: Callable[[str], str], indent: str = "    ") -> str:
    """The tree as Python's statements; ``variable`` names the variable of a feature."""
    if isinstance(tree, Leaf):
        return f"{indent}return {tree.config}"

    class Names(dict[str, str]):
        def __missing__(self, name: str) -> str:
            return variable(name)

    condition = tree.expression.format_map(Names())
    low, high = (source_of(part, variable, indent + "    ") for part in (tree.low, tree.high))
    return f"{indent}if {condition} <= {tree.threshold!r}:\n{low}\n{indent}else:\n{high}"


def used(tree: Split | Leaf, names: Sequence[str]) -> list[str]:
    """The features that a tree asks of."""
    if isinstance(tree, Leaf):
        return []
    below = {*used(tree.low, names), *used(tree.high, names)}
    return [name for name in names if f"{{{name}}}" in tree.expression or name in below]


def register(name: str = "seqtune", program: str | None = None, epochs: int = 40) -> None:
    """Registers the backend with Helion.

    ``program`` is the command line of seqtune, with ``seqtune-train`` beside it: then a model is trained of each kernel's measurements, for so
    many ``epochs``, and tells the tree of shapes between those that were measured.
    """
    if not name:
        raise InputError("the backend has no name")
    generator: Any = import_module("helion.autotuner.heuristic_generator")
    generator.register_backend(name, _backend(generator, name, program, epochs))


def _backend(generator: Any, backend: str, program: str | None, epochs: int) -> Any:
    class SeqtuneBackend(generator.HeuristicBackend):
        """A tree that loses little time, in generated code."""

        name = backend

        def generate_heuristic(
            self, kernel_name: str, data: Any, selected_configs: list[Any], feature_names: list[str]
        ) -> Any:
            columns = data.selected_config_indices
            times = [[float(row[column]) for column in columns] for row in data.timings]
            shapes = [{name: features.get(name, 0) for name in feature_names} for features in data.shape_features]
            measured = [(s, t) for s, t in zip(shapes, times) if math.isfinite(min(t))]
            if not measured:
                raise InputError(f"{kernel_name}: no config works for any shape")
            rows: list[tuple[Shape, Sequence[float]]] = [(shape, losses(time)) for shape, time in measured]
            if program is not None and feature_names and len(columns) > 1:
                rows += invented_rows(program, kernel_name, feature_names, measured, epochs)
            tree = fit(feature_names, rows)
            hits = sum(chosen(tree, shape) == time.index(min(time)) for shape, time in measured)
            code = _code(generator, backend, kernel_name, tree, feature_names, selected_configs)
            return generator.HeuristicBackendResult(code, hits / len(measured), used(tree, feature_names))

    return SeqtuneBackend


def _code(generator: Any, backend: str, kernel: str, tree: Split | Leaf, names: list[str], configs: list[Any]) -> str:
    extract = generator.generate_feature_extraction_code(used(tree, names))
    return f'''"""
Heuristic of kernel {kernel}, written by seqtune
Backend: {backend}

- key_{kernel}(*args): place of the config, which serves as key of the cache
- autotune_{kernel}(*args): the config
"""

import torch


def key_{kernel}(*args) -> int:
    """Place of the config for these arguments."""
{extract}
{source_of(tree, generator.feature_to_var_name)}


def autotune_{kernel}(*args) -> dict:
    """The config for these arguments."""
    _C = [
{generator.generate_configs_code(configs)}
    ]
    return _C[key_{kernel}(*args)]
'''


def toml_of(names: Sequence[str], shapes: Sequence[Shape], configs: int) -> str:
    """A ``kernel.toml`` whose fields are a kernel's features, and whose only parameter is the place of a config."""
    fields = []
    for name in names:
        whole = all(float(shape[name]).is_integer() and shape[name] >= 0 for shape in shapes)
        kind = 'kind = "size", min = 0, max = 1000000000000, shape = true' if whole else 'kind = "real"'
        fields.append(f'    {{ name = {json.dumps(name)}, {kind}, meaning = "a feature of the shape" }},\n')
    values = list(range(configs))
    return (
        f'name = "helion"\nmeaning = "configs of a Helion kernel"\nfield = [\n{"".join(fields)}]\n'
        f'parameter = [{{ name = "config", values = {values}, default = 0, meaning = "place of the config" }}]\n'
        'work = { flops = "1", bytes = "1" }\n'
    )


def between(names: Sequence[str], shapes: Sequence[Shape], count: int) -> list[dict[str, float]]:
    """Shapes that nobody measured: each value lies between those of two measured shapes, which differ in nothing that is small."""
    draw, found = random.Random(1), []
    for _ in range(count):
        a, b = draw.choice(shapes), draw.choice(shapes)
        shape = {}
        for name in names:
            low, high = sorted((a[name], b[name]))
            # types and numbers of dimensions are no sizes
            small = high < 16 or low <= 0 or not float(low).is_integer()
            value = draw.choice((low, high)) if small else round(math.exp(draw.uniform(math.log(low), math.log(high))))
            # sizes are mostly multiples of powers of two
            step = draw.choice((1, 8, 64))
            shape[name] = value if small or value < 2 * step else value // step * step
        found.append(shape)
    return found


def invented_rows(
    program: str, kernel: str, names: Sequence[str], measured: Sequence[tuple[Shape, Sequence[float]]], epochs: int
) -> list[tuple[Shape, Sequence[float]]]:
    """Shapes between the measured ones, with what a model of these says of each config."""
    from seqtune import Predictor

    shapes, configs = [shape for shape, _ in measured], len(measured[0][1])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "kernel").mkdir()
        (place / "kernel/kernel.toml").write_text(toml_of(names, shapes, configs))
        (place / "device.toml").write_text('[[device]]\nname = "measured"\nlimits = {}\n')
        files = []
        for at, (shape, times) in enumerate(measured):
            tried = [[{"kwargs": {"config": config}}, [time]] for config, time in enumerate(times)]
            files.append(place / f"{at}.autotune.json")
            files[-1].write_text(json.dumps({"key": [shape[name] for name in names], "configs_timings": tried}))
        common = ["--kernel", place / "kernel"]
        data = place / "data.sqt"
        _run([program, "import", "triton", *files, *common, "--device", place / "device.toml", "-o", data], kernel)
        quick = ["--epochs", epochs, "--members", 1, "--pseudo-labels", 0, "--test", 0]
        _run([program, "train", data, *common, "-o", place / "model", *quick], kernel)
        predictor = Predictor(str(place / "model"), str(place / "kernel"))
        rows: list[tuple[Shape, Sequence[float]]] = []
        wanted = between(names, shapes, INVENTED * len(shapes))
        for shape, predictions in zip(wanted, predictor.predict(wanted, top=configs, width=configs)):
            loss = [1.0] * configs
            for prediction in predictions:
                loss[prediction.config["config"]] = 1 - prediction.probability
            rows.append((shape, loss))
    return rows


def _run(words: list[Any], kernel: str) -> None:
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    except OSError as e:
        raise UnavailableError(f"{words[0]}: {e.strerror}; name the command line of seqtune with program=") from e
    if done.returncode:
        raise FailedError(f"{kernel}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else words[1]}")
