"""A ``kernel.toml`` of what Kernel Tuner is told: ``tune_params``, restrictions, problem sizes. It has no source: Kernel Tuner runs the kernel."""

from __future__ import annotations

import ast
import glob
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seqtune._seqtune import Device, Kernel
from seqtune.errors import DeviceNotFoundError, InputError
from seqtune.kernel_tuner.caches import read

#: Names that Kernel Tuner takes for the sizes of a thread block where nothing else is said.
BLOCK = ("block_size_x", "block_size_y", "block_size_z")

#: Names of sizes, by how many there are.
SIZES = {1: ("n",), 2: ("size_x", "size_y"), 3: ("size_x", "size_y", "size_z")}

#: Combinations that are tried to find a default config that is legal.
TRIES = 100_000


class Untranslatable(Exception):
    """What the expression language cannot say."""


@dataclass
class Described:
    """What :func:`describe` wrote."""

    #: Folder with ``kernel.toml`` and, where the device is none of the described ones, ``device.toml``.
    folder: str
    #: The kernel, as the file says.
    kernel: Kernel
    #: Restrictions as expressions.
    constraints: list[str] = field(default_factory=list)
    #: Restrictions that the expression language cannot say: Kernel Tuner alone checks them.
    unread: list[str] = field(default_factory=list)
    #: What ``--device`` has to name.
    device: str | None = None


def describe(
    folder: str | os.PathLike[str],
    tune_params: Mapping[str, Sequence[Any]],
    restrictions: Any = None,
    problem_size: Any = None,
    name: str | None = None,
    device: str | None = None,
    max_threads: int = 1024,
    replace: bool = False,
) -> Described:
    """Writes ``folder/kernel.toml``, a kernel without source, for ``seqtune import kernel-tuner`` and ``seqtune train``.

    ``tune_params`` and ``restrictions`` are what ``tune_kernel`` is given, ``problem_size`` is any of the sizes: it tells how many there are. Strings
    and lambdas become constraints where the expression language can say them; what is left stays a check of Kernel Tuner alone.
    ``device`` is the name that Kernel Tuner tells; one that is not described gets a ``device.toml``. A ``kernel.toml`` that is there and
    says otherwise is replaced only if ``replace``: data and models know the space that they were made for.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> done = describe(folder.name + "/add", {"block_size_x": [32, 64, 128], "tile": [1, 2]}, ["block_size_x * tile <= 128"], 1000)
    >>> done.kernel.constraints[0][0], done.kernel.default
    ('block_size_x * tile <= 128', {'block_size_x': 32, 'tile': 1})
    """
    folder = os.fspath(folder)
    name = name or os.path.basename(os.path.abspath(folder)).replace(" ", "_")
    _check_values(tune_params)
    constraints, unread = _constraints(tune_params, restrictions)
    fields = _fields(tune_params, problem_size)
    text = _toml(name, tune_params, constraints, fields)
    place = os.path.join(folder, "kernel.toml")
    kernel = Kernel.from_files({"kernel.toml": text}, place)
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(place) and not replace:
        with open(place) as file:
            if file.read() != text:
                raise InputError(
                    f"{place} is there already and describes another space; name another folder, or pass replace=True (--replace)"
                )
    with open(place, "w") as file:
        file.write(text)
    named = _device(folder, device, max_threads)
    return Described(folder, kernel, [expression for expression, _ in constraints], unread, named)


def describe_caches(
    folder: str | os.PathLike[str],
    caches: Iterable[str | os.PathLike[str]],
    restrictions: Any = None,
    max_threads: int = 1024,
    replace: bool = False,
) -> Described:
    """As :func:`describe`, with names, values, sizes and device as cache files of one kernel tell them."""
    paths = sorted(os.fspath(path) for path in caches)
    headers = [read(path) for path in paths]
    if not headers:
        raise InputError("no cache file is named")
    first = headers[0]
    values: dict[str, list[Any]] = {name: [] for name in first["tune_params_keys"]}
    for path, header in zip(paths, headers):
        if header["tune_params_keys"] != first["tune_params_keys"] or header["kernel_name"] != first["kernel_name"]:
            raise InputError(f"{path} is of another kernel or of other parameters than {paths[0]}")
        for name, some in header["tune_params"].items():
            values[name] = sorted({*values[name], *some})
    return describe(
        folder, values, restrictions, first["problem_size"], first["kernel_name"], first["device_name"], max_threads, replace
    )


def _check_values(tune_params: Mapping[str, Sequence[Any]]) -> None:
    for name, values in tune_params.items():
        wrong = [value for value in values if isinstance(value, bool) or int(value) != value] if _numbers(values) else values
        if len(wrong):
            raise InputError(f"tune_params[{name!r}] has {wrong[0]!r}: values of a kernel.toml are whole numbers; number them")


def _numbers(values: Sequence[Any]) -> bool:
    return all(hasattr(value, "__int__") and not isinstance(value, str) for value in values)


def _fields(tune_params: Mapping[str, Sequence[Any]], problem_size: Any) -> list[str]:
    if problem_size is None or callable(problem_size):
        raise InputError("give problem_size as numbers: one of those that are tuned")
    count = len(problem_size) if isinstance(problem_size, (tuple, list)) else 1
    names = SIZES.get(count, tuple(f"size_{at}" for at in range(count)))
    return [f"problem_{name}" if name in tune_params else name for name in names]


def _constraints(tune_params: Mapping[str, Sequence[Any]], restrictions: Any) -> tuple[list[tuple[str, str]], list[str]]:
    """Expressions with their reasons, and what stays unread."""
    given = restrictions if isinstance(restrictions, (list, tuple)) else [] if restrictions is None else [restrictions]
    found: list[tuple[str, str]] = []
    unread: list[str] = []
    for restriction in given:
        for text in _texts(restriction):
            try:
                found.append((translated(text, tune_params), "a restriction of the kernel"))
            except Untranslatable as error:
                unread.append(f"{text} ({error})")
    block = [name for name in BLOCK if name in tune_params]
    if block:
        found.append((" * ".join(block) + " <= max_group_items", "the device limits a thread block"))
    return found, unread


def _texts(restriction: Any) -> list[str]:
    """A restriction as Python's expressions; a function that is no lambda as its name, which is none."""
    if isinstance(restriction, str):
        return [restriction]
    if callable(restriction):
        try:
            from kernel_tuner.util import get_all_lambda_asts, unparse_constraint_lambda

            return [unparse_constraint_lambda(one) for one in get_all_lambda_asts(restriction)]
        except Exception:  # no source to read, or Kernel Tuner is not installed
            return [f"<{getattr(restriction, '__name__', type(restriction).__name__)}>"]
    return [f"<{type(restriction).__name__}>"]


_COMPARISONS: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">"}
_OPERATORS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}


def translated(text: str, names: Iterable[str]) -> str:
    """A restriction of Kernel Tuner as an expression of ``kernel.toml``.

    >>> translated("32 <= block_size_x*block_size_y < 1024 and tile in (1, 2)", ["block_size_x", "block_size_y", "tile"])
    '32 <= block_size_x * block_size_y and block_size_x * block_size_y < 1024 and (tile == 1 or tile == 2)'
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise Untranslatable("no expression") from None
    return _written(tree, set(names), 0)


def _written(node: ast.AST, names: set[str], outer: int) -> str:
    """The text of a node, in parentheses where what is around binds tighter."""
    text, level = _with_level(node, names)
    return f"({text})" if level < outer else text


def _with_level(node: ast.AST, names: set[str]) -> tuple[str, int]:
    """The text of a node, and how tightly it binds: or 1, and 2, not 3, comparison 4, sum 5, product 6, sign 7, value 8."""
    match node:
        case ast.BoolOp(op=op, values=values):
            word, level = ("or", 1) if isinstance(op, ast.Or) else ("and", 2)
            return f" {word} ".join(_written(value, names, level) for value in values), level
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"not {_written(operand, names, 3)}", 3
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{_written(operand, names, 7)}", 7
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if 1 <= power <= 8:
            return " * ".join([_written(left, names, 7)] * power), 6
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            level = 5 if isinstance(op, (ast.Add, ast.Sub)) else 6
            return f"{_written(left, names, level)} {_OPERATORS[type(op)]} {_written(right, names, level + 1)}", level
        case ast.Compare(left=left, ops=ops, comparators=right):
            return _comparison([left, *right], ops, names)
        case ast.Constant(value=bool(value)):
            return str(int(value)), 8
        case ast.Constant(value=int(value) | float(value)):
            return repr(value).replace("e+", "e"), 8
        case ast.Name(id=name) if name in names:
            return name, 8
        # p["block_size_x"], as lambdas and older scripts write it
        case ast.Subscript(slice=ast.Constant(value=str(name))) if name in names:
            return name, 8
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as given, keywords=[]):
            parts = [_written(part, names, 0) for part in given]
            while len(parts) > 1:
                parts[:2] = [f"{name}({parts[0]}, {parts[1]})"]
            return parts[0], 8
    raise Untranslatable(f"`{ast.unparse(node)}` has no equal in expressions")


def _comparison(sides: list[ast.expr], ops: list[ast.cmpop], names: set[str]) -> tuple[str, int]:
    """A comparison and how tightly it binds; a chain is its parts, joined by `and`."""
    parts: list[tuple[str, int]] = []
    for left, op, right in zip(sides, ops, sides[1:]):
        if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (ast.Tuple, ast.List, ast.Set)) and right.elts:
            word, sign, level = ("or", "==", 1) if isinstance(op, ast.In) else ("and", "!=", 2)
            each = [f"{_written(left, names, 5)} {sign} {_written(value, names, 5)}" for value in right.elts]
            parts.append((f" {word} ".join(each), level if len(each) > 1 else 4))
        elif type(op) in _COMPARISONS:
            parts.append((f"{_written(left, names, 5)} {_COMPARISONS[type(op)]} {_written(right, names, 5)}", 4))
        else:
            raise Untranslatable("a comparison that expressions do not have")
    if len(parts) == 1:
        return parts[0]
    return " and ".join(f"({text})" if level < 2 else text for text, level in parts), 2


def _default(tune_params: Mapping[str, Sequence[Any]], constraints: list[tuple[str, str]]) -> dict[str, int]:
    """The first combination that keeps the constraints that Python can check here."""
    codes = [compile(expression, "restriction", "eval") for expression, _ in constraints if "max_group_items" not in expression]
    for values in itertools.islice(itertools.product(*tune_params.values()), TRIES):
        config = {name: int(value) for name, value in zip(tune_params, values)}
        try:
            if all(eval(code, {"__builtins__": {}, "min": min, "max": max}, dict(config)) for code in codes):
                return config
        except ZeroDivisionError:
            continue
    return {name: int(values[0]) for name, values in tune_params.items()}


def _toml(
    name: str, tune_params: Mapping[str, Sequence[Any]], constraints: list[tuple[str, str]], fields: list[str]
) -> str:
    default = _default(tune_params, constraints)
    text = [f"name = {json.dumps(name)}", 'meaning = "a kernel that Kernel Tuner runs"']
    for one in fields:
        text += ["", "[[field]]", f'name = "{one}"', 'kind = "size"', "min = 1", "max = 1073741824", "shape = true"]
        text += ['meaning = "size of the problem"']
    for parameter, values in tune_params.items():
        numbers = ", ".join(str(int(value)) for value in values)
        text += ["", "[[parameter]]", f"name = {json.dumps(parameter)}", f"values = [{numbers}]"]
        text += [f"default = {default[parameter]}", 'meaning = "a tunable parameter"']
    for expression, reason in constraints:
        text += ["", "[[constraint]]", f"expr = {json.dumps(expression)}", f"reason = {json.dumps(reason)}"]
    block = [one for one in BLOCK if one in tune_params]
    if block:
        threads = " * ".join(block)
        text += ["", "[[feature]]", 'name = "threads"', f'expr = "log2({threads})"']
    amount = " * ".join(fields)
    text += ["", "# write what the kernel does, where GFLOP/s are wanted", "[work]", f'flops = "{amount}"', f'bytes = "{amount}"']
    return "\n".join(text) + "\n"


def _device(folder: str, name: str | None, max_threads: int) -> str | None:
    if name is None:
        return None
    short = name.removeprefix("NVIDIA ")
    try:
        Device(short)
        return short
    except DeviceNotFoundError:
        path = os.path.join(folder, "device.toml")
        with open(path, "w") as file:
            file.write(f"[[device]]\nname = {json.dumps(name)}\n[device.limits]\nmax_group_items = {max_threads}\n")
        return path


def main(words: list[str], tell: Callable[[str], None] = print) -> int:
    """``python -m seqtune.kernel_tuner describe CACHE... -o FOLDER [--restriction EXPR]...``"""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m seqtune.kernel_tuner", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("describe", help="writes kernel.toml and device.toml of cache files")
    verb.add_argument("caches", nargs="+", help="cache files of one kernel, for several problem sizes")
    verb.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder of the kernel")
    verb.add_argument("--restriction", action="append", default=[], metavar="EXPR", help="as tune_kernel is given; several times")
    verb.add_argument("--max-threads", type=int, default=1024, metavar="N", help="threads of a block on the device [1024]")
    verb.add_argument("--replace", action="store_true", help="replaces a kernel.toml that describes another space")
    asked = parser.parse_args(words)
    caches = [path for word in asked.caches for path in (sorted(glob.glob(word)) or [word])]
    done = describe_caches(asked.output, caches, asked.restriction, asked.max_threads, asked.replace)
    tell(f"{done.folder}/kernel.toml: {len(done.kernel.parameters)} parameters, {len(done.constraints)} constraints")
    for restriction in done.unread:
        tell(f"not a constraint, checked by Kernel Tuner alone: {restriction}")
    if done.device:
        tell(f"device: {done.device}")
    return 0
