"""The few words that formulas are written in.

Every word takes and gives Polars expressions, so a formula reads like its textbook sentence and
works in a `select` and in a `group_by(...).agg` alike.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["clean", "farthest", "largest", "log_magnitude", "quotient", "spread"]


def clean(value: pl.Expr) -> pl.Expr:
    """Give `value` with NaN, the mark of an undefined operation, turned into null."""
    return value.cast(pl.Float64).fill_nan(None)


def quotient(of: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Divide by the one rule of the package: 0/0 is undefined (null), x/0 is infinite."""
    return clean(of / by)


def spread(value: pl.Expr) -> pl.Expr:
    """Give the largest difference over all pairs of lines: maximum minus minimum."""
    return clean(value.max() - value.min())


def log_magnitude(value: pl.Expr) -> pl.Expr:
    """Say how far a ratio is from one: the absolute logarithm."""
    return value.abs().log(math.e).abs()


def farthest(value: pl.Expr, magnitude: pl.Expr) -> pl.Expr:
    """Give the line of `value` whose `magnitude` is largest; of equals, the lower one.

    Magnitudes that differ by rounding alone are equal: 0.9 - 0.5 and 0.1 - 0.5 are a tie.
    """
    return value.filter(magnitude >= magnitude.max() * (1 - 1e-12)).min()


def largest(parts: Iterable[pl.Expr]) -> pl.Expr:
    """Give the largest of several expressions, undefined when one of them is."""
    parts = list(parts)
    defined = pl.all_horizontal(part.is_not_null() for part in parts)
    return pl.when(defined).then(pl.max_horizontal(parts))
