"""Faults: errors that only rows can cause, raised inside the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import polars.selectors as cs

from polarsfair._engine.columns import BAD_WEIGHT, Column, common_dtype
from polarsfair._engine.frames import FAULT, FaultError
from polarsfair._engine.slices import aggregated, hidden, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Fault:
    """An error with `message` if `bad` is true, or null, in any line of the small table."""

    def __init__(self, bad: pl.Expr, message: str | pl.Expr) -> None:
        self.bad, self.message = bad, message

    def text(self) -> pl.Expr:
        """Return the message in the lines that are bad, null in the others."""
        message = self.message
        words = pl.lit(message) if isinstance(message, str) else message
        return pl.when(self.bad.fill_null(value=True)).then(words)


def raised(faults: Sequence[Fault]) -> pl.Expr:
    """Return an expression that raises the first fault, and is null if there is none.

    A Python function raises it, because no expression of Polars puts our words first. To be used
    on the small table only: it is called once, with the messages of the lines.
    """
    found = pl.coalesce(fault.text() for fault in faults)
    return found.map_batches(_stop, return_dtype=pl.Int64, is_elementwise=True)


def _stop(messages: pl.Series) -> pl.Series:
    if messages.null_count() < len(messages):
        raise FaultError(messages.drop_nulls()[0])
    return messages.cast(pl.Int64)


def counted(column: str, message: str) -> Fault:
    """Return the fault of rows that were counted in `column`."""
    return Fault(pl.col(column) > 0, message)


def checked(value: str | pl.Expr, *faults: Fault) -> pl.Expr:
    """Return `value`, or raise one of the faults: what reads it cannot miss them."""
    return pl.coalesce(raised(faults), value)


def checked_rows(value: pl.Expr, faults: Sequence[Fault]) -> pl.Expr:
    """Return `value`, or raise a fault of any row: one column for all faults, as rows are many."""
    if not faults:
        return value
    found = pl.coalesce(fault.text() for fault in faults)
    # A failing cast needs no Python function, which would be called for every batch of rows.
    return pl.when((pl.lit(FAULT) + found).cast(pl.Int64).is_null()).then(value)


def same_dtype(
    cells: Mapping[str, pl.Expr], dtypes: Mapping[str, Any]
) -> tuple[dict[str, pl.Expr], list[Fault]]:
    """Cast two cells, or the members of their lists, so that equal values are equal.

    Raise if no dtype does that. The faults are of numbers that have more digits than the floats
    with which they are compared.
    """
    inner = {role: d.inner if isinstance(d, pl.List) else d for role, d in dtypes.items()}
    if len(set(inner.values())) < 2:
        return dict(cells), []
    first, second = inner
    common = common_dtype((first, second), inner[first], inner[second])
    cast = {
        role: cell.cast(pl.List(common) if isinstance(dtypes[role], pl.List) else common)
        for role, cell in cells.items()
    }
    if common != pl.Float64:
        return cast, []
    return cast, [_beyond_floats(r, inner[r], x) for r in cells if (x := _exact_up_to(inner[r]))]


def _beyond_floats(role: str, dtype: Any, limit: float) -> Fault:
    beyond = (pl.col(role).abs() > limit).fill_null(value=False)
    return Fault(
        beyond,
        f"`{role}` is {dtype} and holds a number with more digits than a float has, so it cannot be"
        " compared with fractions: cast both columns to whole numbers or to text",
    )


def _exact_up_to(dtype: Any) -> float | None:
    """Return the number up to which floats tell all values apart; None if they always do."""
    if isinstance(dtype, pl.Decimal):
        return (2.0**53 - 1) / 10.0**dtype.scale
    return 2.0**53 - 1 if dtype in _LONG else None


_LONG = (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
"""Whole numbers of more digits than floats have."""


def raise_faults(table: pl.LazyFrame, faults: Sequence[Fault], sums: Sequence[str]) -> pl.LazyFrame:
    """Tie faults to every sum, so that no projection can prune them; whole sums become Int64."""
    if not faults:
        return table
    whole, fault = cs.by_name(*sums) & cs.integer(), hidden("fault")
    tied = [pl.coalesce(fault, pl.col(name)).alias(name) for name in sums]
    found = table.with_columns(raised(faults).alias(fault))
    return found.with_columns(tied).with_columns(whole.cast(pl.Int64)).drop(fault)


def guarded(
    rows: pl.LazyFrame,
    keys: Sequence[str],
    facts: Mapping[str, pl.Expr],
    faults: Iterable[Fault],
    of: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """Return the rows, or raise before they are gathered; `faults` read the `facts` of a slice.

    The facts are aggregated from the rows, or from the lines `of` a table of the same slices.
    """
    mark = hidden("guarded")
    found = aggregated(rows if of is None else of, keys, facts)
    passed = found.select(*keys, checked(pl.lit(0, pl.Int64), *faults).alias(mark))
    return joined(rows, passed, keys).filter(pl.col(mark) >= 0).drop(mark)


def binary_fault(column: Column) -> Fault:
    """Return the fault of a 0/1 column that holds something else."""
    value = pl.col(column.role)
    # A number beyond 64 bits is null after this cast, which counts as bad as well.
    bad = value.is_not_null() & ~value.cast(pl.Int64, strict=False).is_in([0, 1])
    return Fault(bad, binary_message(column))


def binary_message(column: Column) -> str:
    """Return the error for a 0/1 column that holds something else."""
    name = column.expression.meta.output_name()
    # Integer classes are compared with ==; only scores have a threshold.
    positive = "== 1" if column.dtype.is_integer() else "> 0.5"
    return (
        f"`{column.role}` holds a value other than 0 and 1: write what counts as positive as an"
        f' expression, such as `{column.role}=pl.col("{name}") {positive}`'
    )


def weight_faults(column: Column) -> list[Fault]:
    """Return the faults of weights: bad ones, and sums that are too large."""
    if column.dtype.is_integer():
        write = f"cast it, `weight={column.text}.cast(pl.Float64)`"
        return [bad_weight_fault(column), large_squares_fault(write)]
    infinite = infinite_fault(column.text)
    # Another line may hold the bad weight that makes the sum infinite.
    large = Fault(infinite.bad & (pl.col(BAD_WEIGHT).sum() == 0), infinite.message)
    return [bad_weight_fault(column), large]


def infinite_fault(column: str) -> Fault:
    """Return the fault of weights whose sum no float holds: shares of it would be 0 or undefined.

    Formulas add up all cells, so that it is the sum of all that counts.
    """
    return Fault(
        pl.col("w").sum().is_infinite(),
        f"the sum of the weights is infinite: divide all of them, such as `{column} / 1e300`",
    )


def large_squares_fault(write: str) -> Fault:
    """Return the fault of sums of whole squares that pass 64 bits; `write` says what to type."""
    beyond = pl.col("w2").cast(pl.Float64) > float(2**63 - 2**10)
    large = "the sum of the squared integer weights does not fit in 64 bits"
    return Fault(beyond, f"{large}: {write}")


def bad_weight_fault(column: Column) -> Fault:
    """Return the fault of a weight that is not a number of at least 0."""
    return counted(
        BAD_WEIGHT,
        "`weight` holds a value that is not a number of at least 0 (negative, null, NaN or"
        f" infinite): leave those rows out or fill them, `weight={column.text}.fill_null(0)`",
    )
