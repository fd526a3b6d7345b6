"""What Python itself says of restrictions: what a translation is held against."""

from __future__ import annotations

import ast
import itertools
import math
import random
from collections.abc import Callable
from typing import Any

from seqtune.kernel_tuner.restrictions import SAMPLES, Values


def combinations(values: Values) -> int:
    """How many configs the values make."""
    return math.prod(len(some) for some in values.values())


def samples(values: Values) -> list[dict[str, Any]]:
    """Configs that a translation is held against."""
    if combinations(values) <= SAMPLES:
        return [dict(zip(values, config)) for config in itertools.product(*values.values())]
    chance = random.Random(1)
    return [{name: chance.choice(some) for name, some in values.items()} for _ in range(SAMPLES)]


def answer_of(restriction: Any, values: Values) -> Callable[[dict[str, Any]], bool | None]:
    """What Python says of a config: a function, ``None`` where it raises, as a division by 0 does.

    A text is run only after it was translated: it has nothing but names of parameters, numbers, and min, max, abs and bool.
    """
    if isinstance(restriction, str):
        code = compile(restriction.strip(), "restriction", "eval")
        if isinstance(ast.parse(restriction.strip(), mode="eval").body, ast.Lambda):
            return answer_of(eval(code, dict(_BUILTINS)), values)

        def ask(config: dict[str, Any]) -> Any:
            return eval(code, dict(_BUILTINS), config)

    else:
        names = list(restriction.__code__.co_varnames[: restriction.__code__.co_argcount])
        by_name = names if all(name in values for name in names) else []

        def ask(config: dict[str, Any]) -> Any:
            return restriction(*[config[name] for name in by_name]) if by_name else restriction(dict(config))

    def answer(config: dict[str, Any]) -> bool | None:
        try:
            return bool(ask(config))
        except Exception:  # a user's function may raise anything
            return None

    return answer


def is_kept_by_none(restriction: Any, values: Values) -> bool:
    """Whether Python finds a restriction true for no combination of values, or raises for each; false where that is not known.

    Functions are asked, and texts that only compare and calculate.
    """
    if isinstance(restriction, str):
        plain = (ast.Expression, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.Name, ast.Constant, ast.BinOp, ast.expr_context, ast.boolop, ast.unaryop)
        sums = (ast.cmpop, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
        is_known = all(isinstance(node, (*plain, *sums)) for node in ast.walk(ast.parse(restriction.strip(), mode="eval")))
    else:
        is_known = hasattr(restriction, "__code__")
    if not is_known or not 0 < combinations(values) <= SAMPLES:
        return False
    answer = answer_of(restriction, values)
    return not any(answer(config) for config in samples(values))


_BUILTINS = {"__builtins__": {"min": min, "max": max, "abs": abs, "bool": bool}}
