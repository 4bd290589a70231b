"""Bins of numbers, which the tallies of scores and of outcomes use.

A bin holds ``low <= value < high``. The last edge is a bin by itself, ``low = high``, so that a
decision at any edge, ``value >= edge``, is exact. Exact tables consist of such single-value bins.
"""

from __future__ import annotations

import itertools
import math
import reprlib
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

_MOST = 2**31 - 1
"""Equal bins must be fewer, so that 32 bits number them. Their edges are never listed."""

MOST_EDGES = 1_000_000
"""Edges that a list may hold."""


def check_bins(bins: object) -> None:
    """Raise unless `bins` is a number of bins, increasing edges or None."""
    if bins is None:
        return
    if isinstance(bins, int):
        sound = not isinstance(bins, bool) and 0 < bins < _MOST
    else:
        sound = not isinstance(bins, str) and _are_edges(bins)
    if not sound:
        msg = (
            f"`bins` is a number of equal bins over 0 to 1 (`bins=1000`), increasing edges"
            f" (`bins=[0, 0.5, 1]`) or None (every distinct value), and the same for every metric"
            f" in the call; got {reprlib.repr(bins)}"
        )
        raise ValueError(msg)


def _are_edges(bins: object) -> bool:
    """Return whether edges are increasing numbers; raise if there are too many."""
    if not isinstance(bins, Sequence):
        return False
    if len(bins) > MOST_EDGES:
        msg = (
            f"`bins` has {len(bins):,} edges, and the limit is {MOST_EDGES:,}: pass fewer edges, a"
            " number of equal bins over 0 to 1, or None for every distinct value"
        )
        raise ValueError(msg)
    edges = numbers_of(bins)
    return len(edges) > 1 and all(a < b for a, b in itertools.pairwise(edges))


def range_of(bins: Bins) -> tuple[float, float] | None:
    """Return the first and the last edge; None if every distinct value is a bin."""
    if bins is None:
        return None
    return (0.0, 1.0) if isinstance(bins, int) else (float(bins[0]), float(bins[-1]))


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
    edges = numbers_of(bins)
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
    covered = range_of(bins)
    if bins is None or covered is None:
        return []
    message = (
        f"`{name}` holds a value outside the bins, {covered[0]:g} to {covered[1]:g}: pass edges"
        " that cover it, `bins=[...]`, or `bins=None` for every distinct value"
    )
    inside = pl.col(BIN).is_between(0, _last(bins))
    return [Fault((~inside).fill_null(value=False), message)]


def _last(bins: int | Sequence[float]) -> int:
    """Return the number of the bin that is the last edge by itself."""
    return bins if isinstance(bins, int) else len(bins) - 1


def bin_edges(bins: Bins) -> dict[str, pl.Expr]:
    """Return ``low`` and ``high`` of the numbered bins."""
    number = pl.col(BIN)
    if bins is None:
        return {"low": number, "high": number}
    last = _last(bins)
    sound = pl.when(number.is_between(0, last)).then(number)
    above = pl.when(sound < last).then(sound + 1).otherwise(sound)
    if isinstance(bins, int):
        # Division by a literal would multiply with its reciprocal, which is not the edge.
        parts = {name: n.cast(pl.Float64) for name, n in (("low", sound), ("high", above))}
        return {name: n / (n * 0 + bins) for name, n in parts.items()}
    lows = pl.lit(pl.Series(numbers_of(bins), dtype=pl.Float64))
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
