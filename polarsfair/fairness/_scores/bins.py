"""Bins of numbers, which the tallies of scores and of outcomes use.

A bin holds ``low <= value < high``. The last edge is a bin by itself, ``low = high``, so that a
decision at any edge, ``value >= edge``, is exact. Exact tables consist of such single-value bins.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, checked
from polarsfair._engine.slices import hidden

Bins: TypeAlias = int | Sequence[float] | None
"""A number of equal bins over 0 to 1, the edges themselves, or None for distinct values."""

BIN = hidden("bin")
"""The column of bin numbers."""

_NUDGE = 1 + 2.0**-50
_FEW = 2**29
"""Bins up to which a Float32 times their number is exact in Float64."""


def edges_of(bins: Bins) -> list[float] | None:
    """Return the edges of the bins; None if every distinct value is a bin."""
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
        f" (`bins=[0, 0.5, 1]`) or None (every distinct value), and the same for every metric in"
        f" the call; got {bins!r}"
    )
    raise ValueError(msg)


def numbers_of(values: Sequence[object]) -> list[float]:
    """Return finite numbers as floats; an empty list if a value is not a finite number."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers)) else []


def bin_number(value: pl.Expr, bins: Bins, dtype: pl.DataType) -> pl.Expr:
    """Number the bin of each value from 0; values outside all bins get a number that is not a bin.

    `value` is Float64 without NaN; `dtype` is the dtype of the original column.
    """
    if bins is None:
        return value
    if isinstance(bins, int):
        coarse = dtype == pl.Float32 and bins < _FEW
        number = (value * bins).floor() if coarse else _equal_bin(value, bins)
        # A value above 1 by less than a bin would be numbered like 1. A wrapping cast turns
        # numbers beyond 32 bits into the smallest one, which is not a bin either.
        inside = pl.when(value > 1).then(-1.0).otherwise(number)
        return inside.cast(pl.Int32, wrap_numerical=True)
    edges = edges_of(bins) or []
    # The last edge is a bin, so there is one more break after it: larger values are outside.
    breaks = pl.Series([*edges, math.nextafter(edges[-1], math.inf)], dtype=pl.Float64)
    return value.bin_intervals(breaks, labels=False).cast(pl.Int32) - 1


def _equal_bin(value: pl.Expr, bins: int) -> pl.Expr:
    """Number equal bins so that ``number / bins <= value`` holds to the last bit."""
    # The product is nudged up, so that rounding can only overshoot, and by one, which is then
    # subtracted. Division by a literal would multiply with its reciprocal, which is not the edge.
    # A Float32 does not need this: no edge is so close to it that rounding could matter.
    number = (value * (bins * _NUDGE)).floor()
    return pl.when(value < number / (number * 0 + bins)).then(number - 1).otherwise(number)


def bin_faults(bins: Bins, name: str) -> list[Fault]:
    """Return the fault of a value outside the bins; none if every distinct value is a bin."""
    edges = edges_of(bins)
    if edges is None:
        return []
    message = (
        f"`{name}` holds a value outside the bins, {edges[0]:g} to {edges[-1]:g}: pass edges that"
        " cover it, `bins=[...]`, or `bins=None` for every distinct value"
    )
    inside = pl.col(BIN).is_between(0, len(edges) - 1)
    return [Fault((~inside).fill_null(value=False), message)]


def bin_edges(bins: Bins) -> dict[str, pl.Expr]:
    """Return ``low`` and ``high`` of the numbered bins."""
    edges, number = edges_of(bins), pl.col(BIN)
    if edges is None:
        return {"low": number, "high": number}
    lows = pl.lit(pl.Series(edges, dtype=pl.Float64))
    last = len(edges) - 1
    sound = pl.when(number.is_between(0, last)).then(number)
    above = pl.when(sound < last).then(sound + 1).otherwise(sound)
    return {"low": lows.gather(sound), "high": lows.gather(above)}


def without_overlap(table: pl.LazyFrame, value: str) -> pl.LazyFrame:
    """Raise, through `value`, if bins overlap: tables with different bins cannot be merged."""
    low, high = pl.col("low"), pl.col("high")
    before_low, before_high = low.shift(1), high.shift(1)
    same = (low == before_low) & (high == before_high)
    bad = ~same & ((low < before_high) | (low == before_low))
    overlap = Fault(
        bad.any(),
        "the tables were counted with different bins, which cannot be merged: count them with the"
        " same `bins=`",
    )
    return table.sort("low", "high").with_columns(checked(value, overlap).alias(value))


def equal_bin_of_low(count: int, fitted: str) -> pl.Expr:
    """Number the wider equal bin over 0 to 1 that holds each bin; raise if a bin is in two."""
    number = _equal_bin(pl.col("low"), count).clip(0, count - 1)
    upper = (number + 1) / (number * 0 + count)
    split = Fault(
        ((pl.col("low") < pl.col("high")) & (pl.col("high") > upper)).fill_null(value=False),
        f"`{fitted}={count}` does not fall on the edges of the score bins: pass a `bins=` that is"
        f" a multiple of it, or `bins=None`",
    )
    return checked(number.cast(pl.Int64), split)
