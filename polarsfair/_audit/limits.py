"""Limits of values, differences, ratios and gaps: closed formulas over arrays.

Everything rests on two facts per value, the value itself and an effective size: how many
independent rows would tell as much. Undefined numbers are NaN here, and null in frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

BLOCK = 512
"""Groups that are set against all others at a time, so that pairs take no square of memory."""


@dataclass(frozen=True)
class Limits:
    """Values with a lower and an upper limit."""

    value: Floats
    low: Floats
    high: Floats

    def __getitem__(self, at: Any) -> Limits:
        """Return the values at some places, or reshaped, as an array would."""
        return Limits(self.value[at], self.low[at], self.high[at])


def quantile(confidence: Floats | float, degrees: Floats | float = np.inf) -> Floats:
    """Return how many standard errors reach `confidence` on both sides: normal, or Student's t."""
    from scipy import special

    upper = (1 + np.asarray(confidence, dtype=np.float64)) / 2
    degrees = np.asarray(degrees, dtype=np.float64)
    known = np.where(degrees > 0, degrees, np.nan)
    with np.errstate(invalid="ignore"):
        finite = special.stdtrit(np.where(np.isfinite(known), known, 1.0), upper)
    return np.where(np.isposinf(known), special.ndtri(upper), np.where(known > 0, finite, np.nan))


def wilson(value: Floats, size: Floats, q: Floats) -> Limits:
    """Return the score limits of shares from as many independent rows as `size` (Wilson 1927)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = q * q / size
        middle = (value + spread / 2) / (1 + spread)
        half = np.sqrt(spread * (value * (1 - value) + spread / 4)) / (1 + spread)
    known = ~np.isnan(middle) & ~np.isnan(half) & (size > 0)
    # The limit of a share of none is 0, and of all is 1, up to rounding.
    low = np.where(value <= 0, 0.0, np.clip(middle - half, 0.0, value))
    high = np.where(value >= 1, 1.0, np.clip(middle + half, value, 1.0))
    return Limits(value, np.where(known, low, np.nan), np.where(known, high, np.nan))


def around(value: Floats, error: Floats, q: Floats) -> Limits:
    """Return the limits of values without bounds, from their standard errors."""
    with np.errstate(invalid="ignore"):
        return Limits(value, value - q * error, value + q * error)


def weighted_size(
    numerator: Floats, denominator: Floats, numerator2: Floats, denominator2: Floats
) -> tuple[Floats, Floats]:
    """Return the effective size of weighted shares, and the degrees of freedom of their spread.

    The arguments are sums of weights and of squared weights. Half a typical row is added on either
    side, so that a share of none or of all has a size as well. Without weights the size is the
    number of rows, exactly.
    """
    a, d, a2, d2 = numerator, denominator, numerator2, denominator2
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        typical = d2 / d
        share = (a + typical / 2) / (d + typical)
        half = typical * typical / 2
        variance = ((1 - share) ** 2 * (a2 + half) + share**2 * (d2 - a2 + half)) / (
            d + typical
        ) ** 2
        size = share * (1 - share) / variance - 1
        degrees = d * d / d2 - 1
    equal = (a2 == a) & (d2 == d)
    return np.where(equal, d, size), np.where(equal, np.inf, degrees)


def sized(value: Floats, variance: Floats, units: Floats) -> tuple[Floats, Floats]:
    """Return the effective size of values between 0 and 1, and the degrees of their variance.

    Values that do not vary at all tell as much as there are units.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(variance > 0, value * (1 - value) / variance, units)
    return np.where((value <= 0) | (value >= 1), units, size), units - 1


# --- two values ---------------------------------------------------------------------------------


def difference(own: Limits, other: Limits, correlation: Floats | float = 0.0) -> Limits:
    """Return the limits of own minus other from the limits of both (MOVER).

    With limits of shares this is the interval of Newcombe (1998); the general form, with a
    correlation, is that of Zou and Donner (2008).
    """
    low = _hypotenuse(own.value - own.low, other.high - other.value, correlation)
    high = _hypotenuse(own.high - own.value, other.value - other.low, correlation)
    value = own.value - other.value
    return Limits(value, value - low, value + high)


def _hypotenuse(one: Floats, other: Floats, correlation: Floats | float) -> Floats:
    square = one * one + other * other - 2 * correlation * one * other
    return np.sqrt(np.maximum(square, 0.0))


def ratio(own: Limits, other: Limits) -> Limits:
    """Return the limits of own over other, both at least 0 (MOVER; Donner and Zou 2012)."""
    p, r = own.value, other.value
    product = p * r
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = own.low * (2 * p - own.low), other.high * (2 * r - other.high)
        c, e = own.high * (2 * p - own.high), other.low * (2 * r - other.low)
        low = a / (product + np.sqrt(np.maximum(product * product - a * b, 0.0)))
        high = (product + np.sqrt(np.maximum(product * product - c * e, 0.0))) / e
        value = p / r
    known = ~np.isnan(own.low) & ~np.isnan(other.low)
    low = np.where(p == 0, 0.0, low)
    high = np.where(other.low == 0, np.inf, high)
    return Limits(value, np.where(known, low, np.nan), np.where(known, high, np.nan))


# --- the worst of all pairs ---------------------------------------------------------------------


def pairs_of(groups: int) -> int:
    """Return how many pairs a number of groups has."""
    return groups * (groups - 1) // 2


def share_of_pairs(confidence: float, pairs: int) -> float:
    """Return the confidence of each of several limits that hold at once (Bonferroni)."""
    return 1 - (1 - confidence) / max(pairs, 1)


def worst_difference(groups: Limits, correlation: Floats | None = None) -> tuple[Floats, Floats]:
    """Return limits of the largest difference over all pairs, from limits that hold at once.

    The groups are in the last axis, and those of `correlation` in the last two. The largest lower
    limit is below the largest difference, and the largest upper one above it.
    """
    lows, highs = [], []
    for own, other, same, some in _blocks(groups):
        rho = 0.0 if correlation is None else correlation[..., some, :]
        found = difference(own, other, rho)
        lows.append(np.max(np.where(same, -np.inf, found.low), axis=(-2, -1)))
        highs.append(np.max(np.where(same, -np.inf, found.high), axis=(-2, -1)))
    return np.maximum(0.0, np.max(lows, axis=0)), np.max(highs, axis=0)


def worst_ratio(groups: Limits) -> tuple[Floats, Floats]:
    """Return limits of the smallest ratio over all pairs, from limits that hold at once."""
    lows, highs = [], []
    for own, other, same, _ in _blocks(groups):
        found = ratio(own, other)
        lows.append(np.min(np.where(same, np.inf, found.low), axis=(-2, -1)))
        highs.append(np.min(np.where(same, np.inf, found.high), axis=(-2, -1)))
    return np.min(lows, axis=0), np.minimum(1.0, np.min(highs, axis=0))


def _blocks(groups: Limits) -> Iterator[tuple[Limits, Limits, NDArray[np.bool_], slice]]:
    """Yield some groups as a column, all as a row, which are the same, and which are some."""
    everyone, number = groups[..., None, :], np.arange(groups.value.shape[-1])
    for start in range(0, len(number), BLOCK):
        some = slice(start, start + BLOCK)
        yield groups[..., some, None], everyone, number[some, None] == number[None, :], some
