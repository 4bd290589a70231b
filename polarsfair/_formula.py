"""The small vocabulary that formulas use.

Every word takes and returns Polars expressions, so a formula reads like its textbook sentence and
works in a `select` as well as in a `group_by(...).agg`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Share", "clean", "farthest", "largest", "log_magnitude", "quotient", "spread"]


def clean(value: pl.Expr) -> pl.Expr:
    """Return `value` with NaN, which marks an undefined operation, turned into null."""
    return value.cast(pl.Float64).fill_nan(None)


def quotient(of: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Divide by the one rule of the package: 0/0 is undefined (null), x/0 is infinite."""
    return clean(of / by)


class Share:
    """A share: the weight of the rows that count, over the weight of those that are looked at.

    It is a formula like any other. Intervals also read its two parts, `parts`.
    """

    def __init__(self, parts: Callable[[], tuple[pl.Expr, pl.Expr]]) -> None:
        self.parts = parts
        self.__name__, self.__module__, self.__doc__ = (
            parts.__name__,
            parts.__module__,
            parts.__doc__,
        )

    def __call__(self) -> pl.Expr:
        """Return the quotient of the parts."""
        return quotient(*self.parts())


def spread(value: pl.Expr) -> pl.Expr:
    """Return the largest difference over all pairs of lines: maximum minus minimum."""
    return clean(value.max() - value.min())


def log_magnitude(value: pl.Expr) -> pl.Expr:
    """Return the distance of a ratio from one: the absolute logarithm."""
    return value.abs().log(math.e).abs()


def farthest(value: pl.Expr, magnitude: pl.Expr) -> pl.Expr:
    """Return the `value` with the largest `magnitude`; of equal ones, the smaller value.

    Magnitudes that differ only by rounding are equal: 0.9 - 0.5 and 0.1 - 0.5 are a tie.
    """
    return value.filter(magnitude >= magnitude.max() * (1 - 1e-12)).min()


def largest(parts: Iterable[pl.Expr]) -> pl.Expr:
    """Return the largest of several expressions, null if one of them is null."""
    parts = list(parts)
    defined = pl.all_horizontal(part.is_not_null() for part in parts)
    return pl.when(defined).then(pl.max_horizontal(parts))
