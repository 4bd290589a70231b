"""The C-index: sums of the smallest and largest of all distances, exact and in flat memory.

A first pass over all pairs fills a histogram, which shows the bin of the last distance that counts.
A second pass gathers only that bin.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.all_pairs import (
    arrays_of,
    blocks,
    distances,
    few_rows,
    measured_points,
    ordered,
    searched_slices,
)
from polarsfair.clustering._internal.digits import restored, scaled
from polarsfair.clustering._internal.points import frequency_moments, internal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures
    from polarsfair.clustering._internal.all_pairs import Codes, Floats

__all__ = ["c_index", "order"]

_BINS = 1 << 16


def order_sums(frame: pl.DataFrame, *, metric: str) -> dict[str, float]:
    """Sum the distances within clusters, and as many of the smallest and of the largest ones."""
    import numpy as np

    frame = ordered(frame)
    nothing: dict[str, float] = dict.fromkeys(("inside", "lowest", "highest"), math.nan)
    if frame.is_empty():
        return nothing
    values, codes, weights = arrays_of(frame)
    # Rows of length one need no scale, and their distances are not of the first power.
    (values,), power = ([values], 0) if metric == "cosine" else scaled(values)
    sizes = np.bincount(codes, weights=weights)
    wanted = float((sizes * (sizes - 1)).sum() / 2)
    if wanted == 0 or not (wide := _widest(values, metric)) > 0:
        return nothing
    scale = (_BINS - 1) / wide
    counts, sums, inside = _histogram(values, codes, weights, metric, scale)
    low = _last_bin(counts, wanted)
    high = _BINS - 1 - _last_bin(counts[::-1], wanted)
    found, times = _gather(values, weights, metric, scale, (low, high))
    bins = (found * scale).astype(np.int64)
    rest_low, rest_high = wanted - counts[:low].sum(), wanted - counts[high + 1 :].sum()
    at_low, at_high = bins == low, bins == high
    lowest = sums[:low].sum() + _first(found[at_low], times[at_low], rest_low)
    highest = sums[high + 1 :].sum()
    highest += _first(found[at_high][::-1], times[at_high][::-1], rest_high)
    power *= 2 if metric == "sqeuclidean" else 1
    back = restored(np.array([inside, lowest, highest]), power)
    return dict(zip(nothing, back.tolist(), strict=True))


def _widest(values: Floats, metric: str) -> float:
    """Bound the largest distance: twice the largest from the mean, by the triangle inequality."""
    if metric == "cosine":
        return 2.0
    middle = values.mean(axis=0, keepdims=True)
    reach = float(distances(values, middle, metric).max())
    return reach * (4.0 if metric == "sqeuclidean" else 2.0) * (1 + 1e-9)


def _weighed_blocks(
    values: Floats, weights: Floats, metric: str
) -> Iterator[tuple[slice, slice, Floats, Floats]]:
    """Yield the distances of all pairs and how often each occurs, every pair once."""
    import numpy as np

    for rows, columns, apart in blocks(values, metric):
        times = np.outer(weights[rows], weights[columns])
        if rows == columns:
            times = np.triu(times, 1)
            # A row of weight w is w equal rows, which are w (w - 1) / 2 pairs at distance 0.
            np.fill_diagonal(times, weights[rows] * (weights[rows] - 1) / 2)
            if metric == "cosine":
                alone = ~values[rows].any(axis=1)
                np.fill_diagonal(apart, alone.astype(float))
        yield rows, columns, apart, times


def _histogram(
    values: Floats, codes: Codes, weights: Floats, metric: str, scale: float
) -> tuple[Floats, Floats, float]:
    """Count the distances in every bin, sum them, and sum those within clusters."""
    import numpy as np

    counts, sums, inside = np.zeros(_BINS), np.zeros(_BINS), 0.0
    for rows, columns, apart, times in _weighed_blocks(values, weights, metric):
        bins = (apart * scale).astype(np.int64).ravel()
        counts += np.bincount(bins, weights=times.ravel(), minlength=_BINS)
        sums += np.bincount(bins, weights=(times * apart).ravel(), minlength=_BINS)
        same = codes[rows][:, None] == codes[columns]
        inside += float((apart * times)[same].sum())
    return counts, sums, inside


def _last_bin(counts: Floats, wanted: float) -> int:
    """Return the bin of the last of the wanted distances."""
    import numpy as np

    return min(int(np.searchsorted(np.cumsum(counts), wanted - 0.5)), len(counts) - 1)


def _gather(
    values: Floats, weights: Floats, metric: str, scale: float, chosen: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Gather the distinct distances of two bins, sorted, and how often each occurs."""
    import numpy as np

    found, often = [np.zeros(0)], [np.zeros(0)]
    for _, _, apart, times in _weighed_blocks(values, weights, metric):
        bins = (apart * scale).astype(np.int64)
        there = ((bins == chosen[0]) | (bins == chosen[1])) & (times > 0)
        distinct, which = np.unique(apart[there], return_inverse=True)
        found.append(distinct)
        many = np.bincount(which, weights=times[there], minlength=len(distinct))
        often.append(many.astype(np.float64))
    distinct, which = np.unique(np.concatenate(found), return_inverse=True)
    many = np.bincount(which, weights=np.concatenate(often), minlength=len(distinct))
    return distinct, many.astype(np.float64)


def _first(values: Floats, times: Floats, wanted: float) -> float:
    """Sum the first `wanted` of values that occur several times each."""
    import numpy as np

    before = np.cumsum(times) - times
    return float((values * np.clip(wanted - before, 0, times)).sum())


def _count_order(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
    metric: str = "euclidean",
) -> pl.LazyFrame:
    """Sum the distances within clusters, and as many of the smallest and of the largest.

    The table has one row per slice: ``n`` rows, ``clusters``, ``pairs`` of rows within clusters and
    ``inside``, the sum of their distances. ``lowest`` and ``highest`` are the sums of as many of
    the smallest and largest distances of all pairs of rows. At most 50,000 rows per slice, in flat
    memory. ``metric`` is ``"euclidean"``, ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``.
    Tables do not merge.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> clustering.order(df, cluster="c", features="x").select("inside", "lowest", "highest")
    shape: (1, 3)
    ┌────────┬────────┬─────────┐
    │ inside ┆ lowest ┆ highest │
    │ ---    ┆ ---    ┆ ---     │
    │ f64    ┆ f64    ┆ f64     │
    ╞════════╪════════╪═════════╡
    │ 3.0    ┆ 3.0    ┆ 11.0    │
    └────────┴────────┴─────────┘
    """
    points, measured = measured_points(rows, by, cluster, features, weight, metric)
    lines = frequency_moments(points)
    few = few_rows(measured, lines, "`c_index`", '`beta_cv` with `metric="sqeuclidean"`')
    search = functools.partial(order_sums, metric=metric)
    return searched_slices(points, lines, few, search, ("inside", "lowest", "highest"))


order = Tally(
    name="clustering.order",
    count=_count_order,
    cells=(),
    sums={n: pl.col(n).sum() for n in ("n", "clusters", "pairs", "inside", "lowest", "highest")},
    defaults={},
    mergeable=False,
    single=("metric",),
)


@internal(order, bounds=(0.0, 1.0), better="lower", ideal=0.0)
def c_index() -> pl.Expr:
    """Position of the within-cluster distance sum between its smallest and largest possible values.

    Formula: (W - L) / (H - L). W is the sum of distances of the pairs of rows of one cluster. L and
    H are the sums of as many of the smallest and of the largest distances of all pairs. Undefined
    with one cluster, if every row is a cluster, and if all distances are equal.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    metric
        ``"euclidean"`` (default), ``"manhattan"``, ``"sqeuclidean"`` or ``"cosine"``; all of them
        use all pairs of rows, at most 50,000 rows per slice.

    References
    ----------
    Hubert, Levin (1976). A General Statistical Framework for Assessing Categorical Clustering in
    Free Recall. Psychological Bulletin 83(6), 1072-1080.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 3.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.c_index, cluster="c", features=["x"]), 4)
    0.2857
    """
    inside, low, high = (pl.col(name).first() for name in ("inside", "lowest", "highest"))
    varies = (pl.col("pairs").first() > 0) & (high - low > 1e-12 * high)
    return pl.when(varies).then(quotient(inside - low, high - low).clip(0, 1))
