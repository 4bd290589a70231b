"""A role resolved against its frame: a key, a number, 0 or 1, a weight; and the errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs
from polars.exceptions import ColumnNotFoundError, PanicException, PolarsError

from polarsfair._engine.frames import as_lazy
from polarsfair._engine.slices import MARK, PART, SLICE, hidden

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoFrame


BAD_WEIGHT = hidden("bad weight")
"""Counts the rows whose weight is not a number of at least 0."""


def shown(name: str) -> str:
    """Return the caller's name of a slice or part of a group, for messages."""
    return name.removeprefix(SLICE).removeprefix(PART).removeprefix(MARK)


def columns_of(into: object, role: str = "by") -> list[pl.Expr]:
    """Return names and expressions, one or many, as a list of expressions."""
    if into is None:
        return []
    parts = list(into) if isinstance(into, Sequence) and not isinstance(into, str) else [into]
    return [as_column(part, role) for part in parts]


def as_column(into: object, role: str) -> pl.Expr:
    """Return a column name or expression as an expression."""
    if isinstance(into, str):
        return exactly(into)
    if isinstance(into, pl.Expr):
        _check_single(into, role)
        return into
    got = f"got {type(into).__name__}: {_instead(into, role)}"
    msg = f"`{role}` takes a column name or a `pl.Expr`, {got}"
    raise TypeError(msg)


def exactly(name: str) -> pl.Expr:
    """Return the column of this name: a name is never a pattern, as ``"^x$"`` is to `pl.col`."""
    return cs.by_name(name).as_expr() if _is_pattern(name) else pl.col(name)


def field_of(struct: pl.Expr, fields: Sequence[str], name: str) -> pl.Expr:
    """Return the field of this name: to `struct.field`, too, a name may be a pattern."""
    if _is_pattern(name):
        numbered = {field: hidden("field", number) for number, field in enumerate(fields)}
        renamed = struct.struct.rename_fields(list(numbered.values()))
        return renamed.struct.field(numbered[name]).alias(name)
    return struct.struct.field(name)


def _is_pattern(name: str) -> bool:
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def _instead(into: object, role: str) -> str:
    """Return what to type instead of values; anything else is shown as it is."""
    if isinstance(into, (Sequence, pl.Series)) or hasattr(into, "__array__"):
        return (
            "add the values to the frame as a column first,"
            f' `frame.with_columns(pl.Series("{role}", ...))`; a comparison is written'
            f' `{role}=pl.col("...") > 0.5`'
        )
    return repr(into)


def _check_single(expression: pl.Expr, role: str) -> None:
    if expression.meta.has_multiple_outputs():
        try:
            expression.meta.output_name()
        except PolarsError:
            msg = f"`{role}` is {expression}, which selects several columns: list them by name"
            raise TypeError(msg) from None


def check_columns(frame: pl.LazyFrame, wanted: Mapping[str, Iterable[pl.Expr]]) -> None:
    """Raise for the first expression that reads a column which `frame` does not have.

    `wanted` maps the keyword that the caller typed to the expressions given for it.
    """
    have = frame.collect_schema().names()
    for keyword, expressions in wanted.items():
        for expression in expressions:
            names = expression.meta.root_names()
            if not names and expression.meta.has_multiple_outputs():
                names = _selected(frame, expression, keyword)
            for name in names:
                if name not in have:
                    raise ColumnNotFoundError(_not_found(keyword, name, have))


def _selected(frame: pl.LazyFrame, expression: pl.Expr, keyword: str) -> list[str]:
    """List the columns that a selector or pattern selects, of which there must be one."""
    try:
        names = frame.select(expression.meta.undo_aliases()).collect_schema().names()
    except ColumnNotFoundError:
        return [expression.meta.output_name()]
    if not names:
        have = frame.collect_schema().names()
        msg = f"`{keyword}` is {expression}, which matches no column: the columns are {have}"
        raise ColumnNotFoundError(msg)
    return names


def check_anywhere(frames: Iterable[IntoFrame], wanted: Mapping[str, object]) -> None:
    """Raise for a role that reads a column which none of the frames has, used or not."""
    columns = {n: d for frame in frames for n, d in as_lazy(frame).collect_schema().items()}
    all_of_them = pl.LazyFrame(schema=columns)
    for role, into in wanted.items():
        parts = list(into.values()) if isinstance(into, Mapping) else into
        listed = parts if isinstance(parts, Sequence) and not isinstance(parts, str) else [parts]
        named = [part if isinstance(part, pl.Expr) else as_column(part, role) for part in listed]
        check_columns(all_of_them, {role: named})


def _not_found(keyword: str, name: str, have: list[str]) -> str:
    import difflib

    have = [one for one in have if not one.startswith(MARK)]
    close = difflib.get_close_matches(name, have, n=1)
    hint = f"did you mean `{keyword}={close[0]!r}`?" if close else f"the columns are {have}"
    return f"`{keyword}` names the column {name!r}, which the frame does not have: {hint}"


def schema_of(frame: pl.LazyFrame, expressions: Mapping[str, pl.Expr]) -> pl.Schema:
    """Return the dtypes that named expressions have over `frame`; raise for one that has none."""
    for name, expression in expressions.items():
        if not expression.meta.is_column():
            _check_length(frame, name, expression)
    try:
        return frame.select(**expressions).collect_schema()
    except PolarsError as error:
        names = [shown(name) for name in expressions]
        msg = f"the columns {names} cannot be computed from the frame: {error}"
        raise type(error)(msg) from None


_PYTHON = ("python_udf", ".fold(", ".reduce(", "cum_fold(", "cum_reduce(")
"""How Polars writes the call of a Python function."""

_TRIED = 13
"""Rows with values, and rows without, over which an expression is tried before any data is read."""


def _check_length(frame: pl.LazyFrame, name: str, expression: pl.Expr) -> None:
    """Raise if an expression returns neither a value per row nor a single one, as `head(2)` does.

    It is tried on a few made-up rows. Whatever fails on them is left to the query itself, and so
    is what calls a Python function, which may do more than compute.
    """
    if any(word in str(expression) for word in _PYTHON):
        return
    schema = frame.collect_schema()
    read = {root: schema[root] for root in expression.meta.root_names() if root in schema}
    try:
        tried = pl.DataFrame({root: _made_up(dtype) for root, dtype in read.items()})
        height = tried.select(expression).height if read else 1
    except (PolarsError, PanicException):
        return
    if height not in (1, 2 * _TRIED):
        role = shown(name)
        msg = (
            f"`{role}` is {expression}, which does not return a value for every row: filter the"
            " frame first, `frame.filter(...)`, and pass an expression of its columns"
        )
        raise TypeError(msg)


def _made_up(dtype: pl.DataType) -> pl.Series:
    """Return distinct values of a dtype, if they can be made, and as many nulls."""
    numbers = pl.Series(range(_TRIED), dtype=pl.Int64)
    if isinstance(dtype, pl.List):
        values = pl.Series([[None, None]] * _TRIED, dtype=dtype)
    elif dtype.is_nested() or dtype in (pl.Object, pl.Null, pl.Enum):
        values = pl.Series([None] * _TRIED, dtype=dtype)
    else:
        text = numbers.cast(pl.String) if is_text(dtype) or dtype == pl.Binary else numbers
        values = text.cast(dtype, strict=False)
    return values.extend_constant(None, _TRIED)


def without_nan(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Count NaN as null: Polars alone would keep two groups."""
    return column.fill_nan(None) if dtype.is_float() else column


def is_number(dtype: pl.DataType) -> bool:
    """Return whether a column can be read as numbers: numeric, Boolean, or null throughout."""
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def is_text(dtype: Any) -> bool:
    """Return whether a dtype holds text, however it is stored.

    Polars does not find a Categorical of named categories equal to `pl.Categorical`.
    """
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum))


_NARROW = {pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32}
"""Whole numbers that 64 bits hold."""


def is_whole(dtype: Any) -> bool:
    """Return whether a dtype holds whole numbers only."""
    return dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0)


def common_dtype(roles: tuple[str, str], one: Any, other: Any) -> pl.DataType:
    """Return the dtype in which equal values of two columns are equal; raise if none can be."""
    if pl.Null in (one, other) or one == other:
        known: pl.DataType = other if one == pl.Null else one
        return known
    if is_text(one) and is_text(other):
        return pl.String()
    if is_whole(one) and is_whole(other):
        return pl.Int64() if {one, other} <= _NARROW else pl.Int128()
    if one.is_numeric() and other.is_numeric():
        return pl.Float64()
    msg = (
        f"`{roles[0]}` is {one} and `{roles[1]}` is {other}, so the two columns can never match:"
        f' cast one of them, such as `{roles[1]}=pl.col("...").cast(pl.String)`'
    )
    raise TypeError(msg)


@dataclass(frozen=True)
class Column:
    """One role of the caller, resolved against the frame."""

    role: str
    expression: pl.Expr
    dtype: pl.DataType

    @property
    def text(self) -> str:
        """How the caller may have written it; a longer expression is not repeated."""
        meta = self.expression.meta
        return f'pl.col("{meta.output_name()}")' if meta.is_column() else "(...)"


def resolve_columns(
    rows: pl.LazyFrame,
    by: Mapping[str, pl.Expr],
    parts: Mapping[str, pl.Expr],
    roles: Mapping[str, IntoColumn],
) -> dict[str, Column]:
    """Resolve slices, parts of the group and roles against the frame, by their column names."""
    wanted = {role: as_column(into, role) for role, into in roles.items()}
    check_columns(rows, {"by": by.values(), **{role: [c] for role, c in wanted.items()}})
    named = {**by, **parts, **wanted}
    schema = schema_of(rows, named)
    return {name: Column(shown(name), one, schema[name]) for name, one in named.items()}


def key_of(column: Column) -> pl.Expr:
    """Return a column as a key of the `group_by`: plain, and without NaN."""
    listed = isinstance(column.dtype, pl.List) and not column.dtype.inner.is_nested()
    if (
        column.dtype.is_nested() and not (listed and column.role == "pred")
    ) or column.dtype == pl.Object:
        msg = (
            f"`{column.role}` is {column.dtype}, which cannot be grouped by: use a column of"
            " strings, numbers, Booleans or dates"
        )
        raise TypeError(msg)
    if isinstance(column.dtype, pl.List) and column.dtype.inner.is_float():
        return column.expression.list.eval(pl.element().fill_nan(None))
    return without_nan(column.expression, column.dtype)


def number_of(column: Column) -> pl.Expr:
    """Return a column of numbers as Float64, in which NaN is unknown."""
    check_number(column)
    return without_nan(column.expression, column.dtype).cast(pl.Float64)


def check_number(column: Column) -> None:
    """Raise if a column cannot be read as numbers."""
    if not is_number(column.dtype):
        msg = (
            f"`{column.role}` is {column.dtype}, not a number: cast it,"
            f" `{column.role}={column.text}.cast(pl.Float64)`"
        )
        raise TypeError(msg)


def opened_feature(name: str, column: pl.Expr, dtype: pl.DataType) -> dict[str, pl.Expr]:
    """Return a feature by its name, or the members of an array by hidden names.

    A row without an array lacks all of its members.
    """
    if isinstance(dtype, pl.List):
        msg = (
            f"the feature {name!r} is {dtype}, whose lists may differ in length: make it an array,"
            f' `features=pl.col("{name}").list.to_array(<width>)`'
        )
        raise TypeError(msg)
    if not isinstance(dtype, pl.Array):
        return {name: column}
    if dtype.inner.is_nested():
        msg = (
            f"the feature {name!r} is {dtype}, whose members are not numbers: reshape it,"
            f' `features=pl.col("{name}").reshape((-1, <width>))`'
        )
        raise TypeError(msg)
    return {hidden(name, i): column.arr.get(i) for i in range(dtype.size)}


def feature_shown(name: str) -> str:
    """Return how a message names a feature, or a member of an array."""
    if not name.startswith(MARK):
        return repr(name)
    array, _, number = name.removeprefix(MARK).rpartition(" ")
    return f"{array!r} (at {number})"


def binary_of(column: Column) -> pl.Expr:
    """Return a 0/1 column as a cheap key: Booleans and integers as they are, floats mapped."""
    dtype, expression = column.dtype, column.expression
    if dtype in (pl.Boolean, pl.Null):
        return expression.cast(pl.Boolean)
    if dtype.is_integer():
        return expression
    if not dtype.is_numeric():
        raise TypeError(_not_binary(column))
    number = expression.cast(pl.Float64).fill_nan(None)
    # A plain cast to Boolean would turn 2 and 0.5 into True.
    code = pl.when(number == 0).then(0).when(number == 1).then(1).when(number.is_not_null()).then(2)
    return code.cast(pl.Int8)


def _not_binary(column: Column) -> str:
    name = column.expression.meta.output_name()
    write = (
        f'pl.col("{name}") == "yes"' if is_text(column.dtype) else f'pl.col("{name}").is_not_null()'
    )
    return (
        f"`{column.role}` is {column.dtype}, which cannot be read as 0 or 1: write what counts as"
        f" positive as an expression, such as `{column.role}={write}`"
    )


def weight_columns(column: Column) -> dict[str, pl.Expr]:
    """Return the weight, its square and whether it is bad. Integers stay integers."""
    check_number(column)
    whole = column.dtype.is_integer() or column.dtype == pl.Boolean
    # An integer beyond 64 bits becomes null, which is bad as well.
    weight = column.expression.cast(pl.Int64 if whole else pl.Float64, strict=False)
    good = (weight >= 0) if whole else (weight >= 0) & weight.is_finite()
    # The square of a weight that is cut here passes 64 bits, for which `weight_faults` raises; sums
    # of such squares stay within 128 bits, whose wrapping could hide it.
    cut = weight.clip(upper_bound=2**32).cast(pl.Int128) if whole else weight
    bad = (~good).fill_null(value=True).cast(pl.Int64)
    return {"w": weight, "w2": cut * cut, BAD_WEIGHT: bad}
