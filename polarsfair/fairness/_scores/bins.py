"""Bins: what the tallies of scores and outcomes share.

A bin holds ``low <= value < high``; the last edge is a bin by itself, ``low = high``, so that a
decision at any edge, ``value >= edge``, is told exactly. Exact tables have such points alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from polarsfair._engine.columns import without_nan
from polarsfair._engine.legacy import fault

if TYPE_CHECKING:
    from polarsfair._engine.columns import Column

Bins: TypeAlias = int | Sequence[float] | None
"""A number of equal bins over 0 to 1, the edges themselves, or None for distinct values."""

BIN = "|bin"
"""The column of bin numbers: no slice has such a name."""

_NUDGE = 1 + 2.0**-50
_FEW = 2**29
"""Bins up to which a Float32 times their number is exact in Float64."""


def number_of(column: Column) -> pl.Expr:
    """Give a column of numbers as Float64, in which NaN is unknown."""
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        msg = (
            f"`{column.role}` is {column.dtype}, not a number: cast it,"
            f" `{column.role}={column.text}.cast(pl.Float64)`"
        )
        raise TypeError(msg)
    return without_nan(column.expression, column.dtype).cast(pl.Float64)


def edges_of(bins: Bins) -> list[float] | None:
    """Give the edges of the bins; None where every distinct value is a bin."""
    if bins is None:
        return None
    if isinstance(bins, int) and not isinstance(bins, bool) and 0 < bins < 2**31 - 1:
        return [i / bins for i in range(bins + 1)]
    if isinstance(bins, Sequence) and not isinstance(bins, str):
        edges = numbers_of(bins)
        if len(edges) > 1 and all(a < b for a, b in itertools.pairwise(edges)):
            return edges
    msg = (
        f"`bins` is a number of equal bins over 0 to 1 (`bins=1000`), increasing edges"
        f" (`bins=[0, 0.5, 1]`) or None (every distinct value), and one for all metrics of a"
        f" call; got {bins!r}"
    )
    raise ValueError(msg)


def numbers_of(values: Sequence[object]) -> list[float]:
    """Give finite numbers as floats; nothing where one of the values is none."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers)) else []


def bin_number(value: pl.Expr, bins: Bins, dtype: pl.DataType) -> pl.Expr:
    """Number the bin of each value from 0; below and above all bins, a number that is none.

    `value` is Float64 without NaN, `dtype` what it was before.
    """
    if bins is None:
        return value
    if isinstance(bins, int):
        coarse = dtype == pl.Float32 and bins < _FEW
        number = (value * bins).floor() if coarse else _equal_bin(value, bins)
        # What is above 1 by less than a bin would be numbered like 1. A cast that wraps takes what
        # is beyond 32 bits as the lowest number, which is no bin either.
        inside = pl.when(value > 1).then(-1.0).otherwise(number)
        return inside.cast(pl.Int32, wrap_numerical=True)
    edges = edges_of(bins) or []
    # Beyond the last edge, which is a bin, there is one more break: what lies above it is outside.
    breaks = pl.Series([*edges, math.nextafter(edges[-1], math.inf)], dtype=pl.Float64)
    return value.bin_intervals(breaks, labels=False).cast(pl.Int32) - 1


def _equal_bin(value: pl.Expr, bins: int) -> pl.Expr:
    """Number equal bins so that ``number / bins <= value`` holds to the last bit."""
    # The product is nudged up so that rounding can only overshoot, by one, which is then taken
    # back. Division by a literal would multiply with its reciprocal, which is not the edge.
    # A Float32 needs none of this: no edge lies so near to it that rounding could matter.
    number = (value * (bins * _NUDGE)).floor()
    return pl.when(value < number / (number * 0 + bins)).then(number - 1).otherwise(number)


def bin_faults(bins: Bins, name: str) -> list[pl.Expr]:
    """Stop where a value lies outside the bins."""
    edges = edges_of(bins)
    if edges is None:
        return []
    message = (
        f"`{name}` holds a value outside the bins, {edges[0]:g} to {edges[-1]:g}: give edges that"
        " cover it, `bins=[...]`, or `bins=None` for every distinct value"
    )
    inside = pl.col(BIN).is_between(0, len(edges) - 1)
    return [fault((~inside).fill_null(value=False), message)]


def bin_edges(bins: Bins) -> dict[str, pl.Expr]:
    """Give ``low`` and ``high`` of the numbered bins."""
    edges, number = edges_of(bins), pl.col(BIN)
    if edges is None:
        return {"low": number, "high": number}
    lows = pl.lit(pl.Series(edges, dtype=pl.Float64))
    last = len(edges) - 1
    sound = pl.when(number.is_between(0, last)).then(number)
    above = pl.when(sound < last).then(sound + 1).otherwise(sound)
    return {"low": lows.gather(sound), "high": lows.gather(above)}


def without_overlap(table: pl.LazyFrame, value: str) -> pl.LazyFrame:
    """Stop where bins overlap, by `value`: tables of different bins do not add up."""
    low, high = pl.col("low"), pl.col("high")
    before_low, before_high = low.shift(1), high.shift(1)
    same = (low == before_low) & (high == before_high)
    bad = ~same & ((low < before_high) | (low == before_low))
    stop = fault(
        bad.any(),
        "the tables were counted with different bins, which do not mix: count them with the same"
        " `bins=`",
    )
    return table.sort("low", "high").with_columns(pl.coalesce(stop, value).alias(value))


def equal_bin_of_low(count: int, fitted: str) -> pl.Expr:
    """Number the wider equal bin over 0 to 1 that each bin lies in; stop where one lies in two."""
    number = _equal_bin(pl.col("low"), count).clip(0, count - 1)
    upper = (number + 1) / (number * 0 + count)
    stop = fault(
        ((pl.col("low") < pl.col("high")) & (pl.col("high") > upper)).fill_null(value=False),
        f"`{fitted}={count}` does not fall on the edges of the score bins: give a `bins=` that is"
        f" a multiple of it, or `bins=None`",
    )
    return pl.coalesce(stop, number.cast(pl.Int64))
