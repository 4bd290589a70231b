"""What Polars cannot express: the optimal assignment and the expected mutual information.

Both are functions of the small table, with NumPy and SciPy. Neither reads rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Codes: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]

_DENSE = 4_000_000
"""Cells up to which the assignment is solved on the full matrix."""

_BATCH = 100_000
"""Floats held at once: few enough for the processor's cache."""

_WIDE = 10.0
"""Standard deviation of a count from which a few of its values represent all."""


def number_of_slice(columns: Sequence[str], function: Callable[..., float]) -> pl.Expr:
    """Return the one number that `function` computes from the columns of a slice, as floats."""

    def from_arrays(series: Sequence[pl.Series]) -> pl.Series:
        arrays = [part.cast(pl.Float64).to_numpy() for part in series]
        return pl.Series([float(function(*arrays))], dtype=pl.Float64)

    return pl.map_groups(list(columns), from_arrays, return_dtype=pl.Float64, returns_scalar=True)


def matched(cluster: Floats, label: Floats, shared: Floats) -> float:
    """Return the largest number of rows that agree under a one-to-one map of clusters to labels."""
    return float(shared[assigned(cluster, label, shared)].sum())


def assigned(cluster: Floats, label: Floats, shared: Floats) -> Flags:
    """Return the mask of the cells that an optimal one-to-one map of clusters to labels chooses.

    Parameters
    ----------
    cluster, label
        Numbers of the cluster and the label of every cell.
    shared
        The rows of every cell.
    """
    import numpy as np

    there = shared > 0
    if not there.any():
        return there
    clusters, row = np.unique(cluster[there], return_inverse=True)
    labels, column = np.unique(label[there], return_inverse=True)
    few = len(clusters) * len(labels) <= _DENSE
    partner = (_assigned_dense if few else _assigned_sparse)(row, column, shared[there])
    chosen = there.copy()
    chosen[there] = partner[row] == column
    return chosen


def _assigned_dense(row: Codes, column: Codes, shared: Floats) -> Codes:
    """Return the label of every cluster, -1 if it has none, from the full matrix."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    full = np.zeros((row.max() + 1, column.max() + 1))
    full[row, column] = shared
    partner = np.full(len(full), -1)
    rows, columns = linear_sum_assignment(full, maximize=True)
    partner[rows] = columns
    return partner


def _assigned_sparse(row: Codes, column: Codes, shared: Floats) -> Codes:
    """Return the same over the cells that have rows, in memory that grows only with those."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    height, width = row.max() + 1, column.max() + 1
    every = np.arange(height)
    # A further column for every cluster lets it stay unmatched. Zeros would not be stored, so all
    # weights are larger by one. Every cluster is matched once, so that this changes no choice.
    weights = np.concatenate([shared, np.zeros(height)]) + 1
    cells = np.concatenate([row, every]), np.concatenate([column, width + every])
    full = coo_array((weights, cells), shape=(height, width + height)).tocsr()
    partner = np.full(height, -1)
    rows, columns = min_weight_full_bipartite_matching(full, maximize=True)
    partner[rows] = columns
    return partner


def expected_information(
    times: Floats, shared: Floats, of_cluster: Floats, of_label: Floats
) -> float:
    """Compute the mean mutual information, in nats, of all tables with the same margins.

    The count of a cell is hypergeometric. Cells with equal margins have equal terms, so that every
    pair of distinct margins is computed once.
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
    # A margin of all rows does not vary.
    open_ended = (drawn < size) & (marked < size)
    drawn, marked, many = drawn[open_ended], marked[open_ended], many[open_ended]
    return float((many * drawn * marked / size**2 * _mean_excess(drawn, marked, size)).sum())


def _margins(margin: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the distinct sizes and how many clusters, or labels, have each."""
    import numpy as np

    sizes, which = np.unique(margin, return_inverse=True)
    return sizes, np.bincount(which, weights=rows) / sizes


def _mean_excess(drawn: Floats, marked: Floats, size: float) -> Floats:
    """Compute E[phi(X/m - 1)] of hypergeometric counts X with mean m, one per pair of margins.

    The sum is over all counts within nine standard deviations plus forty. A wide distribution is
    smooth. A sum over every h-th count is then correct to the last digit, for h up to two thirds of
    the standard deviation.
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
    drawn: Floats, marked: Floats, size: float, start: Floats, step: Floats, width: Codes
) -> Floats:
    """Compute the same within windows of counts: first count, step and number of counts."""
    import numpy as np

    number = np.arange(width.max())
    inside = number < width[:, None]
    a, b = drawn[:, None], marked[:, None]
    mean = a * b / size
    count = np.where(inside, start[:, None] + step[:, None] * number, start[:, None])
    # The four cells of "drawn or not, marked or not". With many rows, a plain difference of
    # log-factorials would lose digits; sums over deviations from the means keep them.
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
    probability = np.exp(logs - logs.max(axis=1, keepdims=True))
    weighed = probability * _phi(away / mean)
    value: Floats = weighed.sum(axis=1) / probability.sum(axis=1)
    return value


def _beyond_power(count: Floats) -> Floats:
    """Return log(count!) - count log(count) + count, by Stirling's series for large counts."""
    import numpy as np
    from scipy.special import gammaln, xlogy

    large = np.maximum(count, 20.0)
    square = large * large
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * square)) / square) / square) / large
    small = np.minimum(count, 20.0)
    exact: Floats = gammaln(small + 1) - xlogy(small, small) + small
    return np.where(count < 20, exact, 0.5 * np.log(2 * np.pi * large) + series)


def _phi(lift: Floats) -> Floats:
    """Return (1 + x) log(1 + x) - x, by its series if the two parts would cancel."""
    import numpy as np
    from scipy.special import xlog1py

    series = np.zeros_like(lift)
    for power in range(8, 1, -1):
        series = series * lift + (-1) ** power / (power * (power - 1))
    lift = np.maximum(lift, -1.0)
    return np.where(np.abs(lift) < 0.01, series * lift * lift, xlog1py(1 + lift, lift) - lift)
