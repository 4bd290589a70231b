"""Bins: what the tallies of scores and outcomes share.

A bin holds ``low <= value < high``; the last edge is a bin by itself, ``low = high``, so that a
decision at any edge, ``value >= edge``, is told exactly. Exact tables have such points alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import polars as pl

from polarsfair._frames import fault

Bins: TypeAlias = int | Sequence[float] | None
"""A number of equal bins over 0 to 1, the edges themselves, or None for distinct values."""

_NUDGE = 1 + 2.0**-50


def edges_of(bins: Bins) -> list[float] | None:
    """Give the edges of the bins; None where every distinct value is a bin."""
    if bins is None:
        return None
    if isinstance(bins, int) and not isinstance(bins, bool) and 0 < bins < 2**31 - 1:
        return [i / bins for i in range(bins + 1)]
    if isinstance(bins, Sequence) and not isinstance(bins, str):
        edges = _numbers(bins)
        if len(edges) > 1 and all(a < b for a, b in itertools.pairwise(edges)):
            return edges
    msg = (
        f"`bins` is a number of equal bins over 0 to 1 (`bins=1000`), increasing edges"
        f" (`bins=[0, 0.5, 1]`) or None (every distinct value), and one for all metrics of a"
        f" call; got {bins!r}"
    )
    raise ValueError(msg)


def _numbers(values: Sequence[object]) -> list[float]:
    """Give finite numbers as floats; nothing where one of the values is none."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers)) else []


def bin_number(value: pl.Expr, bins: Bins) -> pl.Expr:
    """Number the bin of each value from 0; outside the bins, a number that is none or null."""
    if bins is None:
        return value
    if isinstance(bins, int):
        return _equal_bin(value, bins).cast(pl.Int32, strict=False)
    edges = edges_of(bins) or []
    # Beyond the last edge, which is a bin, there is one more break: what lies above it is outside.
    breaks = pl.Series([*edges, math.nextafter(edges[-1], math.inf)], dtype=pl.Float64)
    return value.bin_intervals(breaks, labels=False).cast(pl.Int32) - 1


def _equal_bin(value: pl.Expr, bins: int) -> pl.Expr:
    """Number equal bins so that ``number / bins <= value`` holds to the last bit."""
    # The product is nudged up so that rounding can only overshoot, by one, which is then taken
    # back. Division by a literal would multiply with its reciprocal, which is not the edge.
    number = (value * (bins * _NUDGE)).floor()
    return number - (value < number / (number * 0 + bins))


def bin_faults(bins: Bins, name: str, known: pl.Expr) -> list[pl.Expr]:
    """Stop where a value lies outside the bins; `known` tells it from one that is unknown."""
    edges = edges_of(bins)
    if edges is None:
        return []
    number = pl.col("bin")
    outside = pl.when(number.is_null()).then(known).otherwise(~number.is_between(0, len(edges) - 1))
    message = (
        f"`{name}` holds a value outside the bins, {edges[0]:g} to {edges[-1]:g}: give edges that"
        " cover it, `bins=[...]`, or `bins=None` for every distinct value"
    )
    return [fault(outside.fill_null(value=False), message)]


def bin_edges(bins: Bins) -> dict[str, pl.Expr]:
    """Give ``low`` and ``high`` of the numbered bins."""
    edges, number = edges_of(bins), pl.col("bin")
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
