"""Restrictions of Kernel Tuner as expressions of ``kernel.toml``: translated exactly, or not at all.

Python takes whatever is not 0 for true, and gives one of the two sides of ``and`` and ``or``; a constraint of ``kernel.toml`` is kept where
it is exactly 1. So every part of an expression is known to be a truth (0 or 1), a whole number or any number, and is written for the place
where it stands. What was translated is held against Python's own answers over configs before it is believed.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seqtune.errors import InputError

#: Configs that a translation is held against: all of a space that has no more, else as many at random.
SAMPLES = 2_000

#: Values of a parameter: numbers, or names.
Values = Mapping[str, Sequence[Any]]


class Untranslatable(Exception):
    """What the expression language cannot say."""


@dataclass(frozen=True)
class Text:
    """A part of an expression: its text, how tightly it binds, and what it can be.

    Levels: or 1, and 2, not 3, comparison 4, sum 5, product 6, sign 7, value 8. Kinds: ``truth``, ``whole`` and ``number``.
    """

    text: str
    level: int
    kind: str

    def within(self, level: int) -> str:
        """In parentheses where what is around binds tighter."""
        return f"({self.text})" if self.level < level else self.text

    @property
    def is_whole(self) -> bool:
        return self.kind != "number"


_COMPARISONS: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.LtE: "<=", ast.GtE: ">=", ast.Lt: "<", ast.Gt: ">"}
_SUMS: dict[type, str] = {ast.Add: "+", ast.Sub: "-"}
_TRUTHS: dict[type, str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "!="}


def check_text(text: str, names: Iterable[str]) -> None:
    """Refuses a restriction that is no expression of Python's, or that names what is no parameter."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"restriction `{text[:100]}` is no expression of Python ({getattr(error, 'msg', error)})") from None
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    known = {*names, *dir(builtins), *bound, *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known:
            raise InputError(f"restriction `{text[:100]}` names `{node.id}`, which is no parameter (there are {', '.join(names)})")


def translated(text: str, names: Values | Iterable[str]) -> str:
    """A restriction of Kernel Tuner as an expression of ``kernel.toml``; ``names`` are the parameters, or their values by name.

    >>> translated("32 <= block_size_x*block_size_y < 1024 and tile in (1, 2)", ["block_size_x", "block_size_y", "tile"])
    '32 <= block_size_x * block_size_y and block_size_x * block_size_y < 1024 and (tile == 1 or tile == 2)'
    >>> translated("block_size_x % 64", ["block_size_x"]), translated("not tile or tile", ["tile"])
    ('block_size_x % 64 != 0', 'not tile or tile != 0')
    >>> translated("layout == 'row' or tile / 2 % 2", {"layout": ["row", "col"], "tile": [1, 2]})
    'layout.row or tile / 2 - floor(tile / 2 / 2) * 2 != 0'
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Untranslatable("no expression") from None
    if isinstance(tree, ast.Lambda):
        return of_lambda(tree, names)
    return _Translator(names).whole(tree)


def of_lambda(node: ast.Lambda, names: Values | Iterable[str], known: Mapping[str, Any] | None = None) -> str:
    """The same of a lambda: of one argument that is a dict of the config, or of parameters by their names. ``known`` are the values of other names."""
    arguments = [argument.arg for argument in node.args.args]
    if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.posonlyargs or node.args.defaults or not arguments:
        raise Untranslatable("its arguments are not one config, or parameters by their names")
    names = names if isinstance(names, Mapping) else dict.fromkeys(names, ())
    by_name = all(argument in names for argument in arguments)
    if not by_name and len(arguments) > 1:
        raise Untranslatable("its arguments are not one config, or parameters by their names")
    reached = {name: names[name] for name in arguments} if by_name else {}
    return _Translator(reached, None if by_name else arguments[0], names, known).whole(node.body)


class _Translator:
    """Writes Python's expressions as those of ``kernel.toml``."""

    def __init__(
        self,
        names: Values | Iterable[str],
        config: str | None = None,
        within: Values | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        #: what names stand for, what entries of ``config`` do, and what is known of other names
        self.names: dict[str, Sequence[Any]] = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, ())
        self.config, self.within, self.known = config, dict(within or {}), dict(known or {})

    def whole(self, tree: ast.expr) -> str:
        try:
            return self.truth(tree).text
        except RecursionError:
            raise Untranslatable("it is too deep") from None

    def truth(self, node: ast.expr) -> Text:
        """What is 1 where Python takes the node for true, else 0."""
        match node:
            case ast.BoolOp(op=op, values=values):
                word, level = ("or", 1) if isinstance(op, ast.Or) else ("and", 2)
                parts = [self.truth(value) for value in values]
                # three of a kind need no parentheses, others do
                return Text(f" {word} ".join(part.within(level) for part in parts), level, "truth")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                # the language's `not` takes whatever is not 0 for true, as Python does
                return Text(f"not {self.either(operand).within(3)}", 3, "truth")
        value = self.number(node)
        return value if value.kind == "truth" else Text(f"{value.within(5)} != 0", 4, "truth")

    def either(self, node: ast.expr) -> Text:
        """What is 0 where Python takes the node for false, and else is not."""
        return self.truth(node) if isinstance(node, (ast.BoolOp, ast.UnaryOp)) else self.number(node)

    def number(self, node: ast.expr) -> Text:
        """What has the value that the node has in Python, where true is 1."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return self._side(op, values)
            case ast.UnaryOp(op=ast.Not()):
                return self.truth(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self.number(operand)
                return Text(f"-{value.within(7)}", 7, "whole" if value.is_whole else "number")
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(left, op, right)
            case ast.Compare(left=left, ops=ops, comparators=right):
                return self._comparison([left, *right], ops)
            case ast.IfExp(test=test, body=body, orelse=other):
                one, two = self.number(body), self.number(other)
                kind = one.kind if one.kind == two.kind else "whole" if one.is_whole and two.is_whole else "number"
                return Text(f"if({self.truth(test).text}, {one.text}, {two.text})", 8, kind)
            case ast.Constant(value=bool() | int() | float()):
                return self._constant(node.value)
            case ast.Call():
                return self._call(node)
            case ast.Name(id=name) if name in self.known and name not in self.names:
                return self._constant(self.known[name])
        return self._parameter(node)

    def _parameter(self, node: ast.expr) -> Text:
        """A parameter whose values are whole numbers."""
        found = self._values(node)
        if found is None:
            raise Untranslatable(f"`{ast.unparse(node)}` has no equal in expressions")
        if any(isinstance(value, str) for value in found[1]):
            raise Untranslatable(f"`{found[0]}` has names for values: compare it with one of them")
        is_truth = bool(found[1]) and set(found[1]) <= {0, 1}
        return Text(found[0], 8, "truth" if is_truth else "whole")

    def _constant(self, value: Any) -> Text:
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            raise Untranslatable(f"`{value}` has no equal in expressions")
        if abs(value) > 1 << 53:
            raise Untranslatable(f"`{value}` is beyond whole numbers of 53 bits")
        text = repr(abs(value) if not isinstance(value, bool) else int(value)).replace("e+", "e")
        # -0.0 and negative values of outer names
        sign, level = ("-", 7) if value < 0 else ("", 8)
        kind = "truth" if isinstance(value, bool) else "whole" if value == int(value) else "number"
        return Text(sign + text, level, kind)

    def _values(self, node: ast.expr) -> tuple[str, Sequence[Any]] | None:
        """The parameter that a node names, with its values."""
        match node:
            case ast.Name(id=name) if name in self.names:
                return name, self.names[name]
            case ast.Subscript(value=ast.Name(id=config), slice=ast.Constant(value=str(name))) if config == self.config and name in self.within:
                return name, self.within[name]
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=config), attr="get"), args=[ast.Constant(value=str(name))], keywords=[]
            ) if config == self.config and name in self.within:
                return name, self.within[name]
        return None

    def _side(self, op: ast.boolop, values: list[ast.expr]) -> Text:
        """`and` and `or` where their value counts: one of the sides."""
        parts = [self.number(value) for value in values]
        if all(part.kind == "truth" for part in parts):
            word, level = ("or", 1) if isinstance(op, ast.Or) else ("and", 2)
            return Text(f" {word} ".join(part.within(level) for part in parts), level, "truth")
        found = parts.pop()
        while parts:
            first = parts.pop()
            sides = (first.text, found.text) if isinstance(op, ast.Or) else (found.text, first.text)
            found = Text(f"if({first.text}, {sides[0]}, {sides[1]})", 8, "whole" if first.is_whole and found.is_whole else "number")
        return found

    def _operation(self, left: ast.expr, op: ast.operator, right: ast.expr) -> Text:
        if isinstance(op, ast.Pow):
            match right:
                case ast.Constant(value=int(power)) if 1 <= power <= 8 and not isinstance(power, bool):
                    base = self.number(left)
                    return Text(" * ".join([base.within(7)] * power), 6 if power > 1 else base.level, "whole" if base.is_whole else "number")
            raise Untranslatable("a power is translated where it is 1 to 8")
        one, two = self.number(left), self.number(right)
        whole = "whole" if one.is_whole and two.is_whole else "number"
        if type(op) in _TRUTHS and one.kind == two.kind == "truth":
            level = {"and": 2, "or": 1, "!=": 4}[_TRUTHS[type(op)]]
            inner = 5 if level == 4 else level
            return Text(f"{one.within(inner)} {_TRUTHS[type(op)]} {two.within(inner)}", level, "truth")
        if type(op) in _SUMS:
            return Text(f"{one.within(5)} {_SUMS[type(op)]} {two.within(6)}", 5, whole)
        if isinstance(op, ast.Mult):
            return Text(f"{one.within(6)} * {two.within(7)}", 6, whole)
        if isinstance(op, ast.Div):
            return Text(f"{one.within(6)} / {two.within(7)}", 6, "number")
        if isinstance(op, (ast.FloorDiv, ast.Mod)):
            return self._rounded(one, op, two, whole)
        raise Untranslatable(f"`{type(op).__name__}` has no equal in expressions")

    def _rounded(self, one: Text, op: ast.operator, two: Text, whole: str) -> Text:
        """A whole quotient or a remainder: the language cuts fractions of its operands off, Python does not."""
        sign = "//" if isinstance(op, ast.FloorDiv) else "%"
        if whole == "whole":
            return Text(f"{one.within(6)} {sign} {two.within(7)}", 6, "whole")
        quotient = f"floor({one.within(6)} / {two.within(7)})"
        if sign == "//":
            return Text(quotient, 8, "whole")
        return Text(f"{one.within(5)} - {quotient} * {two.within(7)}", 5, "number")

    def _call(self, node: ast.Call) -> Text:
        match node:
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _, *_] as given, keywords=[]):
                parts = [self.number(part) for part in given]
                text = parts[0].text
                for part in parts[1:]:
                    text = f"{name}({text}, {part.text})"
                return Text(text, 8, "whole" if all(part.is_whole for part in parts) else "number")
            case ast.Call(func=ast.Name(id="abs"), args=[value], keywords=[]):
                inner = self.number(value)
                return Text(f"abs({inner.text})", 8, "whole" if inner.is_whole else "number")
            case ast.Call(func=ast.Name(id="bool"), args=[value], keywords=[]):
                return self.truth(value)
        return self._parameter(node)

    def _comparison(self, sides: list[ast.expr], ops: list[ast.cmpop]) -> Text:
        """A comparison; a chain is its parts, joined by `and`."""
        parts = [self._pair(left, op, right) for left, op, right in zip(sides, ops, sides[1:])]
        return parts[0] if len(parts) == 1 else Text(" and ".join(part.within(2) for part in parts), 2, "truth")

    def _pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Text:
        if isinstance(op, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not right.elts:
                raise Untranslatable("`in` is translated where a list of values follows")
            word, level = ("or", 1) if isinstance(op, ast.In) else ("and", 2)
            each = ast.Eq() if isinstance(op, ast.In) else ast.NotEq()
            # `in` asks for equality: a name is none of the numbers
            parts = [self._pair(left, each, value) for value in right.elts]
            return parts[0] if len(parts) == 1 else Text(f" {word} ".join(part.within(level) for part in parts), level, "truth")
        for name, label in ((left, right), (right, left)):
            if isinstance(label, ast.Constant) and isinstance(label.value, str):
                return self._label(name, op, label.value)
        if type(op) not in _COMPARISONS:
            raise Untranslatable(f"`{type(op).__name__}` has no equal in expressions")
        one, two = self.number(left), self.number(right)
        return Text(f"{one.within(5)} {_COMPARISONS[type(op)]} {two.within(5)}", 4, "truth")

    def _label(self, node: ast.expr, op: ast.cmpop, label: str) -> Text:
        found = self._values(node)
        if found is None or not isinstance(op, (ast.Eq, ast.NotEq)):
            raise Untranslatable(f"'{label}' can only be asked for as a value of a parameter")
        name, values = found
        if label not in values:
            raise Untranslatable(f"'{label}' is none of the values of {name}")
        if not is_name(label):
            raise Untranslatable(f"'{label}' cannot be asked for in expressions; name the value with letters, digits, `_` and `.`")
        return Text(f"{name}.{label}", 8, "truth") if isinstance(op, ast.Eq) else Text(f"not {name}.{label}", 3, "truth")


def is_name(label: str) -> bool:
    """Whether an expression can ask for a label."""
    return bool(label) and label.isascii() and all(c.isalnum() or c in "_." for c in label)


def lambdas_of(function: Any) -> list[ast.Lambda]:
    """The lambdas that a function may be, by where it stands in its source; one, where Python tells columns."""
    if not isinstance(function, types.FunctionType) or function.__name__ != "<lambda>":
        raise Untranslatable("a function that is no lambda")
    try:
        lines, first = inspect.findsource(function)
    except (OSError, TypeError):
        raise Untranslatable("its source is not there to be read") from None
    whole = "".join(lines)
    try:
        tree: ast.AST = ast.parse(whole)
        first = 0
    except (SyntaxError, ValueError, RecursionError):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (SyntaxError, OSError, ValueError, RecursionError):
            raise Untranslatable("its source cannot be read alone; write it on lines of its own") from None
    at = function.__code__.co_firstlineno - first
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and node.lineno == at]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    found = [node for node in found if tuple(argument.arg for argument in node.args.args) == names]
    return _by_columns(function, found, first) or found


def _by_columns(function: Any, found: list[ast.Lambda], first: int) -> list[ast.Lambda]:
    """Those lambdas whose body is where the function's code is; from Python 3.11 on code knows its columns."""
    positions = getattr(function.__code__, "co_positions", lambda: iter(()))()
    spots = {(line - first, column) for line, _, column, end in positions if line and column is not None and end}
    spots = {spot for spot in spots if spot != (0, 0)}

    def has(node: ast.Lambda) -> bool:
        start, end = (node.body.lineno, node.body.col_offset), (node.body.end_lineno or 0, node.body.end_col_offset or 0)
        return all(start <= spot < end for spot in spots)

    inside = [node for node in found if spots and has(node)]
    # of one within another the inner one
    return [node for node in inside if not any(other is not node and other in ast.walk(node) for other in inside)]


def outer_values(function: Any) -> dict[str, Any]:
    """Numbers that a function takes from around it, as they are now."""
    try:
        around = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return {}
    both = {**around.globals, **around.nonlocals}
    return {name: value for name, value in both.items() if isinstance(value, (bool, int, float)) and type(value) in (bool, int, float)}
