"""Faults: errors that only rows can cause, raised inside the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

from polarsfair._engine.columns import Column, binary_message
from polarsfair._engine.frames import FAULT

if TYPE_CHECKING:
    from collections.abc import Sequence


def fault(bad: pl.Expr, message: str | pl.Expr) -> pl.Expr:
    """Stop the query with `message` where `bad`; null elsewhere.

    A failing cast is the one way to raise inside a lazy graph that needs no Python callback, so
    that the graph stays serialisable. To be used on the small table only.
    """
    text = pl.lit(FAULT + message) if isinstance(message, str) else pl.lit(FAULT) + message
    return pl.when(bad.fill_null(value=True)).then(text).cast(pl.Int64)


def binary_fault(column: Column) -> pl.Expr:
    """Stop where a 0/1 column holds something else."""
    value = pl.col(column.role)
    # A number beyond 64 bits is null after this cast, which `fault` takes for bad as well.
    bad = value.is_not_null() & ~value.cast(pl.Int64, strict=False).is_in([0, 1])
    return fault(bad, binary_message(column))


def weight_fault(column: Column) -> pl.Expr:
    """Stop where a weight is no number of at least 0, or its squares pass 64 bits."""
    write = f"give `weight={column.text}.cast(pl.Float64)`"
    faults = [large_squares_fault(write)] if column.dtype.is_integer() else []
    return pl.coalesce(bad_weight_fault(column), *faults)


def large_squares_fault(write: str) -> pl.Expr:
    """Stop where sums of whole squares, made in 128 bits, pass 64; `write` says what to type."""
    beyond = pl.col("w2").cast(pl.Float64) > float(2**63 - 2**10)
    large = "the squares of the integer weights add up to more than 64 bits hold"
    return fault(beyond, f"{large}: {write}")


def bad_weight_fault(column: Column) -> pl.Expr:
    """Stop where a weight is no number of at least 0."""
    message = (
        "`weight` holds a value that is not a number of at least 0 (negative, null, NaN or"
        f" infinite): leave those rows out or fill them, `weight={column.text}.fill_null(0)`"
    )
    return fault(pl.col("bad") > 0, message)


def stopping(table: pl.LazyFrame, faults: Sequence[pl.Expr], sums: Sequence[str]) -> pl.LazyFrame:
    """Tie faults to every sum, so that no projection can prune them; whole sums become Int64."""
    if not faults:
        return table
    stop = pl.coalesce(*faults)
    whole = cs.by_name(*sums) & cs.integer()
    return table.with_columns(
        pl.coalesce(stop, pl.col(name)).alias(name) for name in sums
    ).with_columns(whole.cast(pl.Int64))
