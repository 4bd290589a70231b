"""Steps per slice, in which there may be no slices at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence


def group_sum(rows: pl.LazyFrame, keys: Sequence[str], values: Sequence[str]) -> pl.LazyFrame:
    """Sum `values` per `keys`; without keys, one line."""
    sums = [pl.col(value).sum() for value in values]
    return rows.group_by(list(keys)).agg(sums) if keys else rows.select(sums)


def inner_names(slices: Sequence[str]) -> dict[str, str]:
    """Give slices names that no column of a view has, such as its counts ``tp`` or ``size``."""
    return {name: f"|by {name}" for name in slices}


def joined(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    on: Sequence[str],
    how: Literal["inner", "left"] = "inner",
) -> pl.LazyFrame:
    """Join on keys of which null is one; without keys, everything beside everything."""
    if not on:
        return left.join(right, how="cross")
    return left.join(right, on=list(on), how=how, nulls_equal=True)


def kept_alive(table: pl.LazyFrame, lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Give the slices in which there is nothing to compare a line of their own."""
    return joined(table.select(*keys).unique(), lines, keys, how="left") if keys else lines


def running(value: pl.Expr, keys: Sequence[str], by: str, *, descending: bool = False) -> pl.Expr:
    """Compute what depends on the order of lines, per key, in the order of `by`."""
    return value.over(list(keys) or None, order_by=by, descending=descending, nulls_last=True)
