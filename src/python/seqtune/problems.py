"""Problems as users have them, made plain: texts and dicts, NumPy arrays, pandas frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from seqtune._seqtune import Kernel
from seqtune.errors import InputError, read_as, shown

#: One problem: ``"M=1,N=2"`` or ``{"M": 1, "N": 2}``.
Problem: TypeAlias = str | Mapping[str, Any]

#: Rows of a dict of columns at most: a range may claim more than memory holds.
ROWS = 10_000_000

#: One problem or many: see :meth:`seqtune.Predictor.predict`.
Problems: TypeAlias = Any


def is_single(problems: Problems) -> bool:
    """Whether it is one problem and not a list of them.

    >>> is_single("M=1"), is_single({"M": 1}), is_single({"M": [1, 2]}), is_single(["M=1"])
    (True, True, False, False)
    """
    if isinstance(problems, str):
        return True
    return isinstance(problems, Mapping) and not any(_is_column(value) for value in problems.values())


def plain(problem: Problem) -> str | dict[str, Any]:
    """One problem as a text or a dict.

    >>> plain({"M": 1}), plain("M=1")
    ({'M': 1}, 'M=1')
    """
    if isinstance(problem, str):
        return problem
    if not hasattr(problem, "keys") and not hasattr(problem, "__iter__"):
        raise TypeError(f"a problem is a text such as 'n=700' or a dict, not {type(problem).__name__}")
    return read_as(dict, problem, "is neither a text nor a dict")


def _is_column(value: Any) -> bool:
    # an array or a tensor of no dimension is a number, and has a length that raises
    return not isinstance(value, (str, bytes)) and hasattr(value, "__len__") and getattr(value, "ndim", 1) != 0


def _as_list(column: Any) -> list[Any]:
    if isinstance(column, Mapping):
        raise InputError(f"{shown(column)} is a dict, where a field has a value or a list of them")
    return list(column.tolist() if hasattr(column, "tolist") else column)


def columns_of(kernel: Kernel, problems: Problems) -> dict[str, list[Any]] | None:
    """Lists by field, of a frame, a dict of arrays, a structured or a two-dimensional array; ``None`` of anything else.

    >>> columns_of(Kernel("gemm"), {"M": [64, 128], "N": 32, "K": (1, 2)})
    {'M': [64, 128], 'N': [32, 32], 'K': [1, 2]}
    """
    return read_as(lambda given: _columns_of(kernel, given), problems, "cannot be read as problems")


def _columns_of(kernel: Kernel, problems: Problems) -> dict[str, list[Any]] | None:
    if hasattr(problems, "columns") and hasattr(problems, "loc"):  # a frame
        return {str(name): _as_list(problems[name]) for name in problems.columns}
    if isinstance(problems, Mapping):
        rows = max((len(value) for value in problems.values() if _is_column(value)), default=1)
        if rows > ROWS:
            raise InputError(f"a column has {rows} rows; {ROWS} problems are the most of a call")
        spread = {name: value if _is_column(value) else [value] * rows for name, value in problems.items()}
        return {name: _as_list(value) for name, value in spread.items()}
    dtype = getattr(problems, "dtype", None)
    if dtype is None:
        return None
    if dtype.names:  # a structured array, also of a single row
        return {name: _as_list(problems[name].reshape(-1)) for name in dtype.names}
    if problems.ndim == 2:
        fields = list(kernel.fields)
        if problems.shape[1] > len(fields):
            raise InputError(
                f"the array has {problems.shape[1]} columns, and kernel {kernel.name} {len(fields)} fields: "
                + ", ".join(fields)
            )
        return {name: _as_list(problems[:, at]) for at, name in enumerate(fields[: problems.shape[1]])}
    if dtype.kind in "OUS" and problems.ndim == 1:  # texts in an array
        return None
    raise InputError("an array of problems has a row for each problem and a column for each field, or named fields")


def rows_of(problems: Iterable[Any]) -> list[Any]:
    """A list of texts and dicts, of anything that can be walked through.

    >>> rows_of(line for line in ["M=1", {"M": 2}])
    ['M=1', {'M': 2}]
    """
    return read_as(_rows_of, problems, "cannot be read as problems")


def _rows_of(problems: Iterable[Any]) -> list[Any]:
    rows = problems.tolist() if hasattr(problems, "tolist") else problems
    return [row if isinstance(row, (str, dict)) else dict(row) if isinstance(row, Mapping) else row for row in rows]
