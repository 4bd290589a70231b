"""P-values: of two groups, of many, of changes; and their adjustment for how many there are.

Everything works on arrays; an undefined test is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polarsfair._audit.limits import Floats


def two_shares(value: Floats, size: Floats, other: Floats, other_size: Floats) -> Floats:
    """Return the p-value of the score test that two shares are equal.

    The statistic has the factor (N - 1) / N of a sample without replacement.
    """
    from scipy import special

    with np.errstate(invalid="ignore", divide="ignore"):
        total = size + other_size
        pooled = (value * size + other * other_size) / total
        variance = pooled * (1 - pooled) * (1 / size + 1 / other_size)
        square = (value - other) ** 2 / variance * (total - 1) / total
    # Shares of none, or of all, in both groups do not differ.
    square = np.where(value == other, np.where(total > 0, 0.0, np.nan), square)
    return np.asarray(special.chdtrc(1.0, square), dtype=np.float64)


def many_shares(value: Floats, size: Floats) -> Floats:
    """Return the p-values of the score test that all shares, in the last axis, are equal."""
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.sum(size, axis=-1)
        pooled = np.sum(value * size, axis=-1) / total
        spread = np.sum(size * (value - pooled[..., None]) ** 2, axis=-1)
        square = spread / (pooled * (1 - pooled)) * (total - 1) / total
    return _of_groups(value, np.where(total > 0, square, np.nan))


def many(value: Floats, error: Floats) -> Floats:
    """Return the p-values that all values, in the last axis, are equal, from standard errors.

    Of two values this is `normal` of their difference.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = 1 / error**2
        pooled = np.sum(value * weight, axis=-1) / np.sum(weight, axis=-1)
        square = np.sum(weight * (value - pooled[..., None]) ** 2, axis=-1)
    return _of_groups(value, np.where(np.isnan(error).any(axis=-1), np.nan, square))


def _of_groups(value: Floats, square: Floats) -> Floats:
    from scipy import special

    groups = value.shape[-1]
    equal = (value == value[..., :1]).all(axis=-1)
    if groups < 2:
        return np.full(square.shape, np.nan)
    # Values that are all the same, such as shares of none, do not differ.
    square = np.where(equal, 0.0, square)
    return np.asarray(special.chdtrc(groups - 1.0, square), dtype=np.float64)


def normal(difference: Floats, error: Floats) -> Floats:
    """Return the p-value of a difference that varies normally with this standard error."""
    from scipy import special

    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.abs(difference) / error
    steps = np.where((difference == 0) & (error >= 0), 0.0, steps)
    return np.asarray(2 * special.ndtr(-steps), dtype=np.float64)


def mcnemar(better: Floats, worse: Floats) -> Floats:
    """Return the p-value that as many rows changed one way as the other.

    Exact below 25 changed rows, else by the normal approximation without continuity correction.
    """
    from scipy import special

    changed = better + worse
    with np.errstate(invalid="ignore", divide="ignore"):
        approximate = special.chdtrc(1.0, (better - worse) ** 2 / changed)
        fewer, few = np.minimum(better, worse), np.where(changed < 25, changed, 0)
        exact = np.minimum(1.0, 2 * special.bdtr(np.floor(fewer), few.astype(np.int64), 0.5))
    return np.where(changed == 0, 1.0, np.where(changed < 25, exact, approximate))


def adjusted(p_values: ArrayLike, how: str) -> Floats:
    """Adjust p-values that are tested together: ``holm``, ``bh`` or ``none``; NaN is no test."""
    p = np.asarray(p_values, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(p))
    if how == "none" or not len(known):
        return p.copy()
    order = known[np.argsort(p[known], kind="stable")]
    many = len(order)
    if how == "holm":
        found = np.maximum.accumulate(p[order] * np.arange(many, 0, -1))
    else:
        scaled = p[order] * many / np.arange(1, many + 1)
        found = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.full_like(p, np.nan)
    result[order] = np.minimum(found, 1.0)
    return result
