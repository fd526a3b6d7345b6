"""A ``kernel.toml`` of what Kernel Tuner is told: ``tune_params``, restrictions, problem sizes. It has no source: Kernel Tuner runs the kernel."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace as replaced
from typing import Any

from seqtune._seqtune import Device, Kernel, Space
from seqtune.errors import DeviceNotFoundError, Error, FileError, InputError, said
from seqtune.kernel_tuner.answers import answer_of, is_kept_by_none, samples
from seqtune.kernel_tuner.caches import read
from seqtune.kernel_tuner.restrictions import SAMPLES, Untranslatable, check_text, lambdas_of, of_lambda, outer_values, translated

#: Names that Kernel Tuner takes for the sizes of a thread block where nothing else is said.
BLOCK = ("block_size_x", "block_size_y", "block_size_z")

#: Names of sizes, by how many there are.
SIZES = {1: ("n",), 2: ("size_x", "size_y"), 3: ("size_x", "size_y", "size_z")}

#: The device of caches that tell an empty name, as those of C kernels do.
UNNAMED = "unnamed-device"

#: Combinations that are tried to find a default config that is legal.
TRIES = 100_000


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
    #: Caches that hold no config yet.
    empty: list[str] = field(default_factory=list)


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
    values = {str(parameter): _united(parameter, [], some) for parameter, some in tune_params.items()}
    fields = _fields(values, problem_size)
    found, unread = _constraints(values, fields, restrictions, tune_params)
    constraints = [(expression, "a restriction of the kernel") for expression, _ in found]
    block = _block(values)
    if block:
        constraints.append((" * ".join(block) + " <= max_group_items", "the device limits a thread block"))
    text = _toml(name, values, constraints, fields, _default(values, [answer for _, answer in found]))
    place = os.path.join(folder, "kernel.toml")
    kernel = Kernel.from_files({"kernel.toml": text}, place)
    try:
        os.makedirs(folder, exist_ok=True)
        _write(place, text, "[[parameter]]", replace)
        named = _device(folder, device, max_threads, replace)
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise FileError(f"{place}: {error.strerror}; name another folder") from None
    return Described(folder, kernel, [expression for expression, _ in constraints], unread, named)


def _write(place: str, text: str, mark: str, replace: bool) -> None:
    """Writes a file of ours, where none is there, where it says the same, or where it may be replaced: never what has not the ``mark``."""
    if os.path.lexists(place):
        try:
            with open(place, encoding="utf-8") as file:
                found = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"{place} is there and cannot be read ({said(error)}); name another folder") from None
        if found == text:
            return
        if not replace:
            pairs = itertools.zip_longest(found.splitlines(), text.splitlines(), fillvalue="")
            at, (old, new) = next(((at, pair) for at, pair in enumerate(pairs, 1) if pair[0] != pair[1]), (0, ("", "")))
            raise InputError(
                f"{place} is there already and says otherwise: line {at} is `{old[:100]}`, and would be `{new[:100]}`; "
                "name another folder, or pass replace=True (--replace)"
            )
        if mark not in found:
            raise InputError(f"{place} is there and no file that describe wrote; name another folder")
    with open(place, "w", encoding="utf-8") as file:
        file.write(text)


def describe_caches(
    folder: str | os.PathLike[str],
    caches: Iterable[str | os.PathLike[str]],
    restrictions: Any = None,
    max_threads: int = 1024,
    replace: bool = False,
    problem_size: Any = None,
) -> Described:
    """As :func:`describe`, with names, values, sizes and device as cache files of one kernel and device tell them. ``problem_size`` is for
    caches that do not tell it."""
    paths = sorted(os.fspath(path) for path in caches)
    if not paths:
        raise InputError("no cache file is named")
    first: dict[str, Any] = {}
    values: dict[str, list[Any]] = {}
    sizes: Any = problem_size
    empty: list[str] = []
    for path in paths:
        header = read(path)
        first = first or header
        if header["tune_params_keys"] != first["tune_params_keys"] or header["kernel_name"] != first["kernel_name"]:
            raise InputError(f"{path} is of another kernel or of other parameters than {paths[0]}")
        if header["device_name"] != first["device_name"]:
            raise InputError(
                f"{path} is of {header['device_name']}, {paths[0]} of {first['device_name']}: describe the caches of one device; the kernel "
                "serves those of the other as well, imported by themselves"
            )
        own = _told(path, header, problem_size)
        if sizes is not None and len(own) != len(_sizes(sizes)):
            raise InputError(f"{path} tells {len(own)} sizes of its problem, another file {len(_sizes(sizes))}: describe one kernel at a time")
        sizes = own
        for name in first["tune_params_keys"]:
            try:
                values[name] = _united(name, values.get(name, []), header["tune_params"][name])
            except InputError as error:
                raise InputError(f"{path}: {error}") from None
        for entry in header["cache"].values():
            _widen(values, entry)
        if not header["cache"]:
            empty.append(path)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", first["kernel_name"]).strip("_.-") or None
    done = describe(folder, values, restrictions, sizes, name, first["device_name"] or UNNAMED, max_threads, replace)
    return replaced(done, empty=empty)


def _widen(values: dict[str, list[Any]], entry: Mapping[str, Any]) -> None:
    """Adds what a config has and the header of its cache lacks: caches outlive the lists that they were begun with."""
    for name in values:
        if name in entry and entry[name] not in values[name]:
            try:
                values[name] = _united(name, values[name], [entry[name]])
            except InputError:
                # not a value that a kernel can have: the import leaves that entry out, and counts it
                pass


def _told(path: str, header: Mapping[str, Any], given: Any) -> list[Any]:
    """The sizes that a cache tells, or those that are given where it tells none."""
    told = header.get("problem_size")
    if given is not None and _count(told) not in (None, _count(given)):
        raise InputError(f"{path} tells the problem_size {told!r}, which has another number of sizes than --problem-size (problem_size=): leave that out")
    try:
        return _sizes(header["problem_size"] if given is None else given)
    except KeyError:
        raise InputError(f"{path} tells no problem_size: say with --problem-size (problem_size=) one that was tuned, such as 4096 or 512,512") from None
    except InputError as error:
        raise InputError(f"{path}: {error}; say with --problem-size (problem_size=) one that was tuned, such as 4096 or 512,512") from None


def _sizes(problem_size: Any) -> list[Any]:
    """The sizes of a problem as numbers; Kernel Tuner writes some of them as texts."""
    sizes = list(problem_size) if isinstance(problem_size, (tuple, list)) else [problem_size]
    numbers = [int(one) if isinstance(one, str) and one.strip().isdecimal() else one for one in sizes]
    wrong = [one for one in numbers if isinstance(one, bool) or not hasattr(one, "__index__") and not (isinstance(one, float) and one.is_integer())]
    if wrong or not numbers:
        raise InputError(f"problem_size is {problem_size!r} and tells no sizes as whole numbers")
    return numbers


def _united(name: str, values: list[Any], more: Sequence[Any]) -> list[Any]:
    """The values of several places, each once: numbers by size, so that all ways to describe a kernel give one space; names in order of appearance."""
    united = list(values)
    united += [value for value in _values(name, more) if value not in values]
    if any(isinstance(value, str) for value in united):
        return _values(name, united)
    return sorted(united)


def _count(problem_size: Any) -> int | None:
    """How many sizes these are; ``None`` of what tells none."""
    try:
        return None if problem_size is None else len(_sizes(problem_size))
    except InputError:
        return None


def _values(name: str, values: Sequence[Any]) -> list[Any]:
    """Values of a parameter as kernel.toml has them: whole numbers, true as 1, or all of them names."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if not plain:
        raise InputError(f"tune_params[{name!r}] has no values")
    texts = [value for value in plain if isinstance(value, str)]
    if texts:
        other = [value for value in plain if not isinstance(value, str)]
        if other:
            raise InputError(f"tune_params[{name!r}] has {texts[0]!r} and {other[0]!r}: values are all whole numbers or all names; number them")
        wrong = [value for value in plain if not re.fullmatch(r"[A-Za-z0-9_.+-]{1,64}", value)]
        if wrong:
            raise InputError(f"tune_params[{name!r}] has {wrong[0]!r}: a name of a value has letters, digits and _ . - +, at most 64; rename or number it")
    else:
        fits = [isinstance(value, int) or (isinstance(value, float) and value.is_integer()) for value in plain]
        if not all(fits):
            value = plain[fits.index(False)]
            raise InputError(f"tune_params[{name!r}] has {value!r}: values of a kernel.toml are whole numbers, or names; number them")
        plain = [int(value) for value in plain]
    twice = [value for at, value in enumerate(plain) if value in plain[:at]]
    if twice:
        raise InputError(f"tune_params[{name!r}] has {twice[0]!r} twice, as true and 1 are the same; number them")
    return plain


def _block(values: Mapping[str, Sequence[Any]]) -> list[str]:
    return [name for name in BLOCK if name in values and not any(isinstance(value, str) for value in values[name])]


def _fields(tune_params: Mapping[str, Sequence[Any]], problem_size: Any) -> list[str]:
    if problem_size is None or callable(problem_size):
        raise InputError("give problem_size as numbers: one of those that are tuned")
    count = len(_sizes(problem_size))
    names = SIZES.get(count, tuple(f"size_{at}" for at in range(count)))
    return [f"problem_{name}" if name in tune_params else name for name in names]


#: An expression, and what Python says of a config.
Found = tuple[str, Callable[[dict[str, Any]], "bool | None"]]


def _constraints(
    values: Mapping[str, Sequence[Any]], fields: list[str], restrictions: Any, given_values: Mapping[str, Sequence[Any]]
) -> tuple[list[Found], list[str]]:
    """What was translated and agrees with Python, and what stays unread."""
    given = restrictions if isinstance(restrictions, (list, tuple)) else [] if restrictions is None else [restrictions]
    found: list[Found] = []
    unread: list[str] = []
    for restriction in given:
        if isinstance(restriction, str):
            check_text(restriction, values)
        elif not callable(restriction):
            raise InputError(f"restriction {restriction!r:.100} is neither an expression nor a function")
        if is_kept_by_none(restriction, given_values):
            raise InputError(f"restriction `{_named(restriction)}` is true for no combination of tune_params, so that nothing would be left")
        try:
            found.append(_constraint(restriction, values, fields))
        except Untranslatable as error:
            unread.append(f"{_named(restriction)} ({error})")
    return found, unread


def _named(restriction: Any) -> str:
    """A restriction as its user finds it again: its text, or where its function stands."""
    if isinstance(restriction, str):
        return restriction
    name, code = getattr(restriction, "__name__", type(restriction).__name__), getattr(restriction, "__code__", None)
    return f"{name} in {os.path.basename(code.co_filename)}, line {code.co_firstlineno}" if code else name


def _constraint(restriction: Any, values: Mapping[str, Sequence[Any]], fields: list[str]) -> Found:
    """The expression of a restriction, which has the same answer as Python for every config that is tried."""
    if isinstance(restriction, str):
        wanted = [translated(restriction, values)]
    else:
        lambdas = lambdas_of(restriction)
        wanted, why = [], Untranslatable("its source is not there to be read")
        for one in lambdas:
            try:
                wanted.append(of_lambda(one, values, outer_values(restriction)))
            except Untranslatable as error:
                why = error
        if not wanted:
            raise why
    answer = answer_of(restriction, values)
    tried = samples(values)
    said = [answer(config) for config in tried]
    agreeing = [text for text in dict.fromkeys(wanted) if _agrees(text, values, fields, tried, said)]
    if not agreeing:
        raise Untranslatable("Python says otherwise than the expression that it was written as")
    if len(agreeing) > 1 and len(tried) == SAMPLES:
        raise Untranslatable("its line has several functions that agree wherever they were tried; write it on a line of its own")
    return agreeing[0], answer


def _agrees(
    expression: str, values: Mapping[str, Sequence[Any]], fields: list[str], tried: list[dict[str, Any]], said: list[bool | None]
) -> bool:
    """Whether an expression keeps the configs that Python keeps; those that Python cannot judge say nothing."""
    try:
        text = _toml("tried", values, [(expression, "tried")], fields, tried[0])
        space = Space(Kernel.from_toml(text), {name: 1 << 20 for name in fields}, Device.from_limits("any"))
        judged = [(config, kept) for config, kept in zip(tried, said) if kept is not None]
        return bool(judged) and all(space.is_legal(config) == kept for config, kept in judged)
    except Error:
        return False


def _default(values: Mapping[str, Sequence[Any]], answers: list[Callable[[dict[str, Any]], bool | None]]) -> dict[str, Any]:
    """The first combination that keeps the restrictions."""
    for some in itertools.islice(itertools.product(*values.values()), TRIES):
        config = dict(zip(values, some))
        if all(answer(config) for answer in answers):
            return config
    return {name: some[0] for name, some in values.items()}


def _toml(
    name: str, values: Mapping[str, Sequence[Any]], constraints: list[tuple[str, str]], fields: list[str], default: Mapping[str, Any]
) -> str:
    text = [f"name = {_quoted(name)}", 'meaning = "a kernel that Kernel Tuner runs"']
    for one in fields:
        text += ["", "[[field]]", f'name = {_quoted(one)}', 'kind = "size"', "min = 1", "max = 1073741824", "shape = true"]
        text += ['meaning = "size of the problem"']
    for parameter, some in values.items():
        kind = "labels" if any(isinstance(value, str) for value in some) else "values"
        text += ["", "[[parameter]]", f"name = {_quoted(parameter)}", f"{kind} = [{', '.join(map(_written, some))}]"]
        text += [f"default = {_written(default[parameter])}", 'meaning = "a tunable parameter"']
    for expression, reason in constraints:
        text += ["", "[[constraint]]", f"expr = {_quoted(expression)}", f"reason = {_quoted(reason)}"]
    block = _block(values)
    if block:
        threads = " * ".join(block)
        text += ["", "[[feature]]", 'name = "threads"', f'expr = "log2({threads})"']
    amount = " * ".join(fields)
    text += ["", "# write what the kernel does, where GFLOP/s are wanted", "[work]", f'flops = "{amount}"', f'bytes = "{amount}"']
    return "\n".join(text) + "\n"


def _quoted(text: str) -> str:
    """A text in TOML: what is not to be seen is an escape of its own, which JSON writes in two halves."""
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(text, ensure_ascii=False))


def _written(value: Any) -> str:
    """A value in TOML: a label, or a number."""
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _device(folder: str, name: str | None, max_threads: int, replace: bool) -> str | None:
    if name is None:
        return None
    short = name.removeprefix("NVIDIA ")
    try:
        Device(short)
        return short
    except DeviceNotFoundError:
        path = os.path.join(folder, "device.toml")
        _write(path, f"[[device]]\nname = {_quoted(name)}\n[device.limits]\nmax_group_items = {max_threads}\n", "[[device]]", replace)
        return path


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def main(words: list[str], tell: Callable[[str], None] = print) -> int:
    """``python -m seqtune.kernel_tuner describe CACHE... -o FOLDER [--restriction EXPR]...``"""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m seqtune.kernel_tuner", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("describe", help="writes kernel.toml and device.toml of cache files")
    verb.add_argument("caches", nargs="+", help="cache files of one kernel, for several problem sizes")
    verb.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder of the kernel")
    verb.add_argument("--restriction", action="append", default=[], metavar="EXPR", help="as tune_kernel is given; several times")
    verb.add_argument(
        "--problem-size", metavar="SIZES", help="sizes of a problem that was tuned, such as 4096 or 512,512, where the caches tell none"
    )
    verb.add_argument("--max-threads", type=int, default=1024, metavar="N", help="threads of a block on the device [1024]")
    verb.add_argument("--replace", action="store_true", help="replaces a kernel.toml that describes another space")
    asked = parser.parse_args(words)
    caches = [path for word in asked.caches for path in (sorted(glob.glob(word)) or [word])]
    sizes = asked.problem_size.split(",") if asked.problem_size else None
    done = describe_caches(asked.output, caches, asked.restriction, asked.max_threads, asked.replace, sizes)
    tell(f"{done.folder}/kernel.toml: {_counted(len(done.kernel.parameters), 'parameter')}, {_counted(len(done.constraints), 'constraint')}")
    for restriction in done.unread:
        tell(f"not a constraint, checked by Kernel Tuner alone: {restriction}")
    if done.device:
        tell(f"device: {done.device}")
    for path in done.empty:
        tell(f"{path} holds no config yet: nothing can be imported from it")
    return 0
