"""Replaying a cache file in Kernel Tuner's simulation mode, also one of a sample from a large space."""

from __future__ import annotations

import os
from typing import Any

from seqtune.kernel_tuner.caches import read


def replay(cache: str | os.PathLike[str], **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """As ``kernel_tuner.interface.tune_cache``, which would try every combination of the parameters to find those that the cache holds.

    Here the cached configs alone are walked to: of a sample of 100 configs out of a space of millions that takes milliseconds. ``options`` are
    those of ``tune_kernel``: ``strategy``, ``strategy_options``, ``objective``, ``seed``.
    """
    from constraint import FunctionConstraint
    from constraint.domain import Variable
    from kernel_tuner.interface import tune_cache

    path = os.fspath(cache)
    content = read(path)
    names = content["tune_params_keys"]
    valid = [tuple(entry[name] for name in names) for entry in content["cache"].values() if "__error__" not in entry]
    parts: dict[tuple[int, ...], set[tuple[Any, ...]]] = {}

    def is_part(*values: Any) -> bool:
        """Whether some cached config has these values; those that the solver has not chosen yet are a `Variable`."""
        known = tuple(at for at, value in enumerate(values) if not isinstance(value, Variable))
        if known not in parts:
            parts[known] = {tuple(config[at] for at in known) for config in valid}
        return tuple(values[at] for at in known) in parts[known]

    restrictions = [FunctionConstraint(is_part, assigned=False), *options.pop("restrictions", [])]
    results, environment = tune_cache(path, restrictions=restrictions, **options)
    return results, environment
