"""Tests that shares of several groups are equal, from arrays of hits and sizes.

An undefined test is NaN. Groups without rows take no part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polarsfair._audit.limits import Floats

MOST_ROWS = 10**9
"""Rows from which on NumPy refuses to draw without replacement."""

_BLOCK = 4_000_000
"""Numbers that are held at a time, where strata and groups are multiplied."""

_ROUNDING = 1e-9


class Found(NamedTuple):
    """A test of one slice; what is not defined is NaN."""

    statistic: float
    df: float
    p_value: float
    method: str


def undefined(method: str) -> Found:
    """Return the test of fewer than two groups."""
    return Found(np.nan, np.nan, np.nan, method)


def score(hits: Floats, sizes: Floats) -> Found:
    """Return the score test that all shares are equal.

    The statistic has the factor (N - 1) / N of a sample without replacement: it is that of
    `within_strata` with one stratum.
    """
    from scipy import special

    if len(sizes) < 2:
        return undefined("score")
    square, df = _square(hits, sizes), len(sizes) - 1.0
    return Found(square, df, float(special.chdtrc(df, square)), "score")


def _square(hits: Floats, sizes: Floats) -> float:
    total = float(sizes.sum())
    pooled = float(hits.sum()) / total
    spread = float(_spread(hits, sizes, pooled))
    if pooled <= 0 or pooled >= 1 or spread == 0:
        return 0.0
    return spread / (pooled * (1 - pooled)) * (total - 1) / total


def _spread(hits: Floats, sizes: Floats, pooled: float) -> Floats:
    """Return how far the shares are from the share of all, per line of hits."""
    spread: Floats = (sizes * (hits / sizes - pooled) ** 2).sum(axis=-1)
    return spread


def exact(hits: Floats, sizes: Floats) -> Found:
    """Return Fisher's exact test of two groups; the statistic is the odds ratio."""
    from scipy import stats

    if len(sizes) < 2:
        return undefined("exact")
    table = np.rint([hits, sizes - hits]).astype(np.int64).T
    found: Any = stats.fisher_exact(table)
    return Found(float(found.statistic), np.nan, float(found.pvalue), "exact")


def permutation(hits: Floats, sizes: Floats, draws: int, seed: int) -> Found:
    """Return the test whose p-value is found by drawing which rows belong to which group.

    Above the rows that NumPy draws from, it is the score test, which then is as good.
    """
    if len(sizes) < 2:
        return undefined("permutation")
    if sizes.sum() >= MOST_ROWS:
        return score(hits, sizes)
    rows, total = np.rint(sizes).astype(np.int64), round(float(hits.sum()))
    pooled = total / int(rows.sum())
    generator = np.random.default_rng(seed)
    drawn = generator.multivariate_hypergeometric(rows, total, size=draws, method="marginals")
    least = float(_spread(hits, sizes, pooled)) * (1 - _ROUNDING)
    reached = int((_spread(drawn.astype(np.float64), sizes, pooled) >= least).sum())
    return Found(_square(hits, sizes), np.nan, (1 + reached) / (1 + draws), "permutation")


def within_strata(
    hits: Floats, sizes: Floats, stratum: NDArray[np.intp], group: NDArray[np.intp]
) -> Found:
    """Return the Cochran-Mantel-Haenszel test: equal shares within every stratum.

    The arrays have a place per stratum and group that have rows. For more than two groups it is the
    general test of association, with a degree of freedom less than the groups, or fewer if the
    strata keep groups apart. It has no continuity correction.
    """
    from scipy import special

    # A stratum of one group compares nothing.
    kept = np.bincount(stratum)[stratum] > 1 if len(stratum) else np.zeros(0, dtype=bool)
    hits, sizes = hits[kept], sizes[kept]
    _, stratum = np.unique(stratum[kept], return_inverse=True)
    _, group = np.unique(group[kept], return_inverse=True)
    if not len(group):
        return undefined("cmh")
    total = _sums(stratum, sizes)
    share = _sums(stratum, hits) / total
    excess = _sums(group, hits - sizes * share[stratum])
    spread = share * (1 - share) * np.where(total > 1, total / np.maximum(total - 1, 1e-300), 0.0)
    square, df = _quadratic(excess, _variance(sizes, spread, total, stratum, group))
    if not df:
        return Found(0.0, len(excess) - 1.0, 1.0, "cmh")
    return Found(square, df, float(special.chdtrc(df, square)), "cmh")


def _sums(of: NDArray[np.intp], values: Floats) -> Floats:
    """Sum values by the number that each belongs to."""
    return np.bincount(of, values).astype(np.float64)


def _variance(
    sizes: Floats,
    spread: Floats,
    total: Floats,
    stratum: NDArray[np.intp],
    group: NDArray[np.intp],
) -> Floats:
    """Return the variance of the groups' hits, summed over strata of fixed margins."""
    variance = np.diag(_sums(group, spread[stratum] * sizes))
    strata, groups = len(total), len(variance)
    parts = sizes * np.sqrt((spread / total)[stratum])
    step = max(1, _BLOCK // groups)
    for start in range(0, strata, step):
        inside = (stratum >= start) & (stratum < start + step)
        block = np.zeros((min(step, strata - start), groups))
        block[stratum[inside] - start, group[inside]] = parts[inside]
        variance = variance - block.T @ block
    return variance


def _quadratic(excess: Floats, variance: Floats) -> tuple[float, float]:
    """Return the squared length of `excess` in its own variance, and the rank of that."""
    values, vectors = np.linalg.eigh(variance)
    kept = values > max(float(values.max()), 0.0) * len(values) * 1e-12
    along = (vectors.T @ excess)[kept]
    return float((along**2 / values[kept]).sum()), float(kept.sum())
