"""Frames at the door: what is accepted, how columns are found, how faults are said.

Everything inside works on lazy frames. This module turns whatever the caller holds into one,
resolves column names and expressions against its schema, and hands back the kind of frame given.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import polars as pl
from polars.exceptions import ColumnNotFoundError, InvalidOperationError, PolarsError

if TYPE_CHECKING:
    from collections.abc import Iterable


class ArrowStream(Protocol):
    """Anything that exports its rows through the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""
        ...


EagerFrame: TypeAlias = pl.DataFrame | ArrowStream
IntoFrame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream
IntoColumn: TypeAlias = str | pl.Expr
IntoSlices: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]
IntoGroup: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr] | Mapping[Any, str | pl.Expr]

FAULT = "polarsfair: "
"""Begins every message that rows can raise, so that it is found again in Polars' error."""


def is_lazy(*frames: object) -> bool:
    """Say whether any of `frames` is lazy, and the result therefore too."""
    return any(isinstance(frame, pl.LazyFrame) for frame in frames)


def as_lazy(frame: IntoFrame) -> pl.LazyFrame:
    """Give `frame` as a lazy frame, whatever it was."""
    if isinstance(frame, pl.LazyFrame):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.lazy()
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        return pl.DataFrame(frame).lazy()
    read = (
        f", a file with `pl.scan_parquet({str(frame)!r})`" if isinstance(frame, (str, Path)) else ""
    )
    msg = (
        f"expected a Polars frame or one with the Arrow C stream interface (pandas, pyarrow,"
        f" DuckDB), got {type(frame).__name__}: wrap the data in `pl.DataFrame(...)`{read}"
    )
    raise TypeError(msg)


SMALL = 100_000
"""Rows up to which the in-memory engine answers sooner than the streaming one."""


def collect(frame: pl.LazyFrame, *sources: object, flat: bool = False) -> pl.DataFrame:
    """Collect what eager `sources` gave; a fault of the rows is a `ValueError` in our words.

    With `flat`, on the streaming engine however few the rows are.
    """
    rows = sum(source.height if isinstance(source, pl.DataFrame) else SMALL for source in sources)
    try:
        engine: Literal["in-memory", "streaming", "auto"] = (
            "streaming" if flat else "in-memory" if rows < SMALL else "auto"
        )
        return frame.collect(engine=engine)
    except InvalidOperationError as error:
        message = fault_message(error)
        if message is None:
            raise
        raise ValueError(message) from None


def fault_message(error: BaseException) -> str | None:
    """Give our words out of an error that `fault` has caused, None for any other error."""
    found = re.search(rf'\["{FAULT}(.*?)"(?:, "{FAULT}|, …|\]\s*(?:\n|$))', str(error), re.DOTALL)
    return found.group(1).replace('\\"', '"') if found else None


def fault(bad: pl.Expr, message: str | pl.Expr) -> pl.Expr:
    """Stop the query with `message` where `bad`; null elsewhere.

    A failing cast is the one way to raise inside a lazy graph that needs no Python callback, so
    that the graph stays serialisable. To be used on the small table only.
    """
    text = pl.lit(FAULT + message) if isinstance(message, str) else pl.lit(FAULT) + message
    return pl.when(bad.fill_null(value=True)).then(text).cast(pl.Int64)


def columns_of(into: object, role: str = "by") -> list[pl.Expr]:
    """Give names and expressions, one or many, as a list of expressions."""
    if into is None:
        return []
    parts = list(into) if isinstance(into, Sequence) and not isinstance(into, str) else [into]
    return [as_column(part, role) for part in parts]


def as_column(into: object, role: str) -> pl.Expr:
    """Give a column name or expression as an expression."""
    if isinstance(into, str):
        return pl.col(into)
    if isinstance(into, pl.Expr):
        _check_single(into, role)
        return into
    got = f"got {type(into).__name__}: {_told(into, role)}"
    msg = f"`{role}` takes a column name or a `pl.Expr`, {got}"
    raise TypeError(msg)


def _told(into: object, role: str) -> str:
    """Say what to do with values that were given for a column, and show anything else."""
    if isinstance(into, (Sequence, pl.Series)) or hasattr(into, "__array__"):
        return (
            f'values belong into the frame, `frame.with_columns(pl.Series("{role}", ...))`,'
            f' and a comparison is written `{role}=pl.col("...") > 0.5`'
        )
    return repr(into)


def _check_single(expression: pl.Expr, role: str) -> None:
    if expression.meta.has_multiple_outputs():
        try:
            expression.meta.output_name()
        except PolarsError:
            msg = f"`{role}` is given {expression}, which is several columns: name them one by one"
            raise TypeError(msg) from None


def check_columns(frame: pl.LazyFrame, wanted: Mapping[str, Iterable[pl.Expr]]) -> None:
    """Raise for the first expression that reads a column which `frame` does not have.

    `wanted` maps the keyword that the caller typed to the expressions given for it.
    """
    have = frame.collect_schema().names()
    for keyword, expressions in wanted.items():
        for expression in expressions:
            for name in expression.meta.root_names():
                if name not in have:
                    raise ColumnNotFoundError(_not_found(keyword, name, have))


def check_anywhere(frames: Iterable[IntoFrame], wanted: Mapping[str, object]) -> None:
    """Raise for a role that reads a column which none of the frames has."""
    names = [name for frame in frames for name in as_lazy(frame).collect_schema().names()]
    all_of_them = pl.LazyFrame(schema=dict.fromkeys(names, pl.Null))
    check_columns(all_of_them, {role: columns_of(into, role) for role, into in wanted.items()})


def _not_found(keyword: str, name: str, have: list[str]) -> str:
    close = difflib.get_close_matches(name, have, n=1)
    hint = f"did you mean `{keyword}={close[0]!r}`?" if close else f"the columns are {have}"
    return f"`{keyword}` names the column {name!r}, which the frame does not have: {hint}"


def schema_of(frame: pl.LazyFrame, expressions: Mapping[str, pl.Expr]) -> pl.Schema:
    """Give the dtypes that named expressions have over `frame`."""
    try:
        return frame.select(**expressions).collect_schema()
    except PolarsError as error:
        names = [name.lstrip("|") for name in expressions]
        msg = f"the columns {names} cannot be computed from the frame: {error}"
        raise type(error)(msg) from None


def without_nan(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Count NaN as null: Polars alone would keep two groups."""
    return column.fill_nan(None) if dtype.is_float() else column
