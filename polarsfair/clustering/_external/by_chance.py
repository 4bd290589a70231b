"""What Polars cannot say: the best assignment, and the mutual information that chance gives.

Both are functions of the small table, with NumPy and SciPy; no row is ever seen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

_DENSE = 4_000_000
"""Cells up to which the assignment is solved on the full matrix."""

_BATCH = 100_000
"""Numbers held at once: few enough for the processor's cache."""

_WIDE = 10.0
"""Standard deviations of a count from which a few of its values stand for all."""


def summed_up(columns: Sequence[str], function: Callable[..., float]) -> pl.Expr:
    """Give the one number that `function` makes of the columns of a slice, as floats."""

    def called(series: Sequence[pl.Series]) -> pl.Series:
        arrays = [part.cast(pl.Float64).to_numpy() for part in series]
        return pl.Series([float(function(*arrays))], dtype=pl.Float64)

    return pl.map_groups(list(columns), called, return_dtype=pl.Float64, returns_scalar=True)


def matched(cluster: Floats, label: Floats, shared: Floats) -> float:
    """Give the most rows that a one-to-one map of clusters to labels can join.

    Parameters
    ----------
    cluster, label
        Numbers of the cluster and the label of every cell.
    shared
        The rows of every cell.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    there = shared > 0
    if not there.any():
        return 0.0
    clusters, row = np.unique(cluster[there], return_inverse=True)
    labels, column = np.unique(label[there], return_inverse=True)
    if len(clusters) * len(labels) > _DENSE:
        return _matched_sparse(row, column, shared[there])
    full = np.zeros((len(clusters), len(labels)))
    full[row, column] = shared[there]
    return float(full[linear_sum_assignment(full, maximize=True)].sum())


def _matched_sparse(row: Any, column: Any, shared: Floats) -> float:
    """Solve the assignment over the cells that have rows, in memory that grows with those alone."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    height, width = row.max() + 1, column.max() + 1
    every = np.arange(height)
    # A column of its own for every cluster lets it stay unmatched. Zeros would not be stored, so
    # that all weights are one larger; every cluster is matched once, which takes the ones away.
    weights = np.concatenate([shared, np.zeros(height)]) + 1
    places = np.concatenate([row, every]), np.concatenate([column, width + every])
    full = coo_array((weights, places), shape=(height, width + height)).tocsr()
    chosen = min_weight_full_bipartite_matching(full, maximize=True)
    return float(full[chosen].sum()) - float(height)


def expected_information(
    times: Floats, shared: Floats, of_cluster: Floats, of_label: Floats
) -> float:
    """Give the mean mutual information, in nats, of all tables with the same margins.

    The count of a cell is hypergeometric. Cells with equal margins are alike, so that every pair of
    distinct margins is looked at once.
    """
    import numpy as np

    there = times > 0
    rows = (times * shared)[there]
    size = rows.sum()
    if size == 0:
        return 0.0
    (sizes, many), (labels, many_labels) = (
        _margins(margin[there], rows) for margin in (of_cluster, of_label)
    )
    drawn, marked = (part.ravel() for part in np.meshgrid(sizes, labels, indexing="ij"))
    many = np.outer(many, many_labels).ravel()
    # All rows together leave nothing to chance.
    open_ended = (drawn < size) & (marked < size)
    drawn, marked, many = drawn[open_ended], marked[open_ended], many[open_ended]
    return float((many * drawn * marked / size**2 * _mean_excess(drawn, marked, size)).sum())


def _margins(margin: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Give the distinct sizes and how many clusters, or labels, have each."""
    import numpy as np

    sizes, place = np.unique(margin, return_inverse=True)
    return sizes, np.bincount(place, weights=rows) / sizes


def _mean_excess(drawn: Floats, marked: Floats, size: float) -> Floats:
    """Give E[phi(X/m - 1)] of hypergeometric counts X with mean m, one per pair of margins.

    The sum runs over all counts within nine standard deviations and forty. Where the distribution
    is wide it is smooth, and a sum over every h-th count is right to the last digit for h up to
    two thirds of the standard deviation.
    """
    import numpy as np

    mean = drawn * marked / size
    spread = np.sqrt(mean * (1 - marked / size) * (size - drawn) / (size - 1))
    reach = 9 * spread + 40
    step = np.where(spread < _WIDE, 1.0, np.floor(spread / 1.5))
    start = np.maximum(np.maximum(np.floor(mean - reach), 0), drawn + marked - size)
    stop = np.minimum(np.minimum(np.ceil(mean + reach), drawn), marked)
    width = ((stop - start) // step).astype(np.int64) + 1
    value = np.zeros_like(mean)
    order = np.argsort(width, kind="stable")
    # Windows of similar width share a rectangle of bounded size.
    bounds = np.cumsum(width[order]) // _BATCH
    for part in np.split(order, np.flatnonzero(np.diff(bounds)) + 1):
        if len(part):
            window = start[part], step[part], width[part]
            value[part] = _in_window(drawn[part], marked[part], size, *window)
    return value


def _in_window(
    drawn: Floats, marked: Floats, size: float, start: Floats, step: Floats, width: Any
) -> Floats:
    import numpy as np

    place = np.arange(width.max())
    inside = place < width[:, None]
    a, b = drawn[:, None], marked[:, None]
    mean = a * b / size
    count = np.where(inside, start[:, None] + step[:, None] * place, start[:, None])
    # The four cells of "drawn or not, marked or not". A plain difference of log-factorials would
    # keep few digits where rows are many; sums over deviations from the means keep them.
    away = count - mean
    logs = np.zeros_like(count)
    for sign, expected, found in (
        (1, mean, count),
        (-1, a - mean, a - count),
        (-1, b - mean, b - count),
        (1, size - a - b + mean, size - a - b + count),
    ):
        logs -= expected * _phi(sign * away / expected) + _beyond_power(found)
    logs = np.where(inside, logs, -np.inf)
    chance = np.exp(logs - logs.max(axis=1, keepdims=True))
    value: Floats = (chance * _phi(away / mean)).sum(axis=1) / chance.sum(axis=1)
    return value


def _beyond_power(count: Floats) -> Floats:
    """Give log(count!) - count log(count) + count, by Stirling's series but for small counts."""
    import numpy as np
    from scipy.special import gammaln, xlogy

    large = np.maximum(count, 20.0)
    square = large * large
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / large
    small = np.minimum(count, 20.0)
    exact: Floats = gammaln(small + 1) - xlogy(small, small) + small
    return np.where(count < 20, exact, 0.5 * np.log(2 * np.pi * large) + series)


def _phi(lift: Floats) -> Floats:
    """Give (1 + x) log(1 + x) - x, by its series where the two parts would cancel."""
    import numpy as np
    from scipy.special import xlog1py

    series = np.zeros_like(lift)
    for power in range(8, 1, -1):
        series = series * lift + (-1) ** power / (power * (power - 1))
    lift = np.maximum(lift, -1.0)
    return np.where(np.abs(lift) < 0.01, series * lift * lift, xlog1py(1 + lift, lift) - lift)
