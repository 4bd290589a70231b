"""The reference of a comparison: what it may be, which lines belong to it, whether it exists.

Whether the reference is one of the groups is checked on the whole table, once for all metrics. If a
view leaves its lines out, such as those without a label, the value is null and not an error.

"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import TEXT, field_of
from polarsfair._engine.faults import Fault, raised

if TYPE_CHECKING:
    from polarsfair._engine.metric import Metric

GROUP = "group"


class Everyone(enum.Enum):
    """References that are not one group: all groups, or all others; rows of known group only."""

    OVERALL = "overall"
    REST = "rest"

    def __repr__(self) -> str:
        return f"pf.{self.name}"


OVERALL = Everyone.OVERALL


REST = Everyone.REST


def raise_unless_found(table: pl.LazyFrame, ref: Any) -> pl.LazyFrame:
    """Raise if a table has groups, but none of them is the reference."""
    dtype = table.collect_schema().get(GROUP)
    if dtype is None or ref is None or isinstance(ref, Everyone):
        return table
    # Counted, because for a column of no rows after a cross join Polars returns that `any` is true.
    absent = ~is_group(dtype, ref).any() & (pl.col(GROUP).count() > 0)
    unknown = raised([Fault(absent, _unknown_reference(dtype, ref))])
    # Tied to the group, which every comparison reads, so that no projection can prune it.
    return table.with_columns(pl.when(unknown.is_null()).then(GROUP).alias(GROUP))


def mark_reference(lines: pl.LazyFrame, ref: Any, mark: str) -> pl.LazyFrame:
    """Add the column `mark`, true in the lines of the reference."""
    is_ref = is_group(lines.collect_schema()[GROUP], ref).fill_null(value=False)
    return lines.with_columns(is_ref.alias(mark))


def _unknown_reference(dtype: pl.DataType, ref: Any) -> pl.Expr:
    shown = _shown(pl.col(GROUP).drop_nulls(), dtype)
    groups = shown.unique().sort().head(20).implode().list.join(", ")
    return pl.lit(f"`ref={ref!r}` is not among the groups, which are: ") + groups.first()


def _shown(column: pl.Expr, dtype: Any) -> pl.Expr:
    """Return the values of a group column as text, whatever their dtype."""
    if isinstance(dtype, pl.Struct):
        parts = {f.name: field_of(column, list(dtype.to_schema()), f.name) for f in dtype.fields}
        named = [pl.lit(f"{f.name!r}: ") + _shown(parts[f.name], f.dtype) for f in dtype.fields]
        return pl.lit("{") + pl.concat_str(named, separator=", ") + pl.lit("}")
    if dtype == pl.Duration:
        return column.dt.to_string()
    return column.bin.encode("hex") if dtype == pl.Binary else column.cast(pl.String)


def is_group(dtype: pl.DataType, ref: Any) -> pl.Expr:
    """Return whether a line's group is the reference."""
    if isinstance(dtype, pl.Struct):
        schema = dtype.to_schema()
        parts = {name: field_of(pl.col(GROUP), list(schema), name) for name in schema}
        return pl.all_horizontal(equals(parts[n], schema[n], ref[n]) for n in schema)
    return equals(pl.col(GROUP), dtype, ref)


def equals(column: pl.Expr, dtype: Any, value: Any) -> pl.Expr:
    """Return whether a column of any plain dtype holds the value."""
    if dtype in TEXT:
        # An Enum cannot be compared with a word that is not one of its categories.
        return column.cast(pl.String) == pl.lit(value)
    zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    # Polars compares datetimes only within one time zone.
    return column == (pl.lit(value).dt.convert_time_zone(zone) if zone else pl.lit(value))


def check_counted(metric: Metric, schema: pl.Schema) -> None:
    """Raise if the metric's table does not hold the group."""
    if GROUP not in schema or GROUP not in metric.tally.cells:
        msg = (
            f"`{metric.name}` cannot be split by group, because a `{metric.tally.name}` table does"
            ' not hold the group: slice the rows instead, `by="<column>"`'
        )
        raise ValueError(msg)


def check_ref(metric: Metric, schema: pl.Schema) -> None:
    """Raise if the metric's reference cannot be a value of the group column."""
    if metric.bases:
        check_counted(metric, schema)
    ref = metric.options.get("ref")
    if ref is not None and not isinstance(ref, Everyone) and GROUP in schema:
        check_reference(ref, schema[GROUP])


def check_reference(ref: Any, dtype: Any) -> None:
    """Raise if `ref` cannot be a value of a group column of this dtype."""
    if isinstance(dtype, pl.Struct):
        fields = {f.name: f.dtype for f in dtype.fields}
        if not isinstance(ref, Mapping) or set(ref) != set(fields):
            example = ", ".join(f'"{name}": ...' for name in fields)
            msg = f"`ref` of an intersection is a mapping, `ref={{{example}}}`; got {ref!r}"
            raise TypeError(msg)
        for name, part in fields.items():
            check_reference(ref[name], part)
        return
    if not comparable(ref, dtype):
        msg = (
            f"`ref={ref!r}` is {type(ref).__name__}, but the group column is {dtype}:"
            " pass one of the values of that column"
        )
        raise TypeError(msg)


def comparable(ref: Any, dtype: Any) -> bool:
    """Return whether a Python value can be a value of a column of this dtype."""
    if dtype == pl.Null:
        return True
    if isinstance(ref, Mapping):
        return False
    given = pl.Series([ref]).dtype
    if dtype in TEXT:
        return given == pl.String
    if dtype.is_numeric():
        return given.is_numeric()
    if isinstance(given, pl.Datetime) and isinstance(dtype, pl.Datetime):
        return (given.time_zone is None) == (dtype.time_zone is None)
    return bool(given.base_type() == dtype.base_type())
