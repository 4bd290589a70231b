"""For the time of the move only: old spellings of what rows, faults and slices say now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from polarsfair._engine import columns as new_columns
from polarsfair._engine import faults as new_faults
from polarsfair._engine import groups as new_groups
from polarsfair._engine.columns import (
    BAD_WEIGHT,
    Column,
    as_column,
    check_columns,
    schema_of,
)
from polarsfair._engine.columns import (
    binary_of as binary_key,
)
from polarsfair._engine.columns import (
    key_of as row_key,
)
from polarsfair._engine.slices import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoGroup

__all__ = ["binary_key", "row_key"]


def fault(bad: pl.Expr, message: str | pl.Expr) -> pl.Expr:
    """Use Fault(bad, message) with checked or raise_faults."""
    return new_faults.Fault(bad, message).raised()


def stopping(table: pl.LazyFrame, faults: Sequence[pl.Expr], sums: Sequence[str]) -> pl.LazyFrame:
    """Use raise_faults."""
    if not faults:
        return table
    stop = pl.coalesce(*faults)
    whole = cs.by_name(*sums) & cs.integer()
    return table.with_columns(
        pl.coalesce(stop, pl.col(name)).alias(name) for name in sums
    ).with_columns(whole.cast(pl.Int64))


def binary_fault(column: Column) -> pl.Expr:
    """Use faults.binary_fault."""
    return new_faults.binary_fault(column).raised()


def weight_fault(column: Column) -> pl.Expr:
    """Use Rows.faults."""
    faults = [one.raised() for one in new_faults.weight_faults(column)]
    return _renamed(pl.coalesce(*faults))


def bad_weight_fault(column: Column) -> pl.Expr:
    """Use Rows.faults(squares=False)."""
    return _renamed(new_faults.bad_weight_fault(column).raised())


def _renamed(expression: pl.Expr) -> pl.Expr:
    return expression


def weight_columns(column: Column) -> dict[str, pl.Expr]:
    """Use Rows.of(weight=...); the column that counts bad weights is now BAD_WEIGHT."""
    return new_columns.weight_columns(column)


BAD = BAD_WEIGHT


def resolve_columns(
    rows: pl.LazyFrame, by: Sequence[pl.Expr], roles: Mapping[str, IntoColumn | None]
) -> dict[str, Column]:
    """Use Rows.of."""
    wanted = {role: as_column(into, role) for role, into in roles.items() if into is not None}
    check_columns(rows, {"by": by, **{role: [column] for role, column in wanted.items()}})
    named = {column.meta.output_name(): column for column in by} | wanted
    schema = schema_of(rows, named)
    return {name: Column(shown(name), column, schema[name]) for name, column in named.items()}


def group_parts(rows: pl.LazyFrame, group: IntoGroup | None) -> dict[str, pl.Expr]:
    """Use Rows.of(group=...), or groups.group_parts, whose names are hidden already."""
    return {name[1:]: part for name, part in new_groups.group_parts(rows, group).items()}


def gather_group(table: pl.LazyFrame, parts: Sequence[str]) -> pl.LazyFrame:
    """Use Rows.table, or groups.with_group."""
    return new_groups.with_group(table, parts)
