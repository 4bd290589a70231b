"""Sums of the smallest and largest of all distances, exact and in flat memory.

A first look at all pairs fills a histogram, which tells in which bin the last distance that counts
lies; a second look gathers that bin alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from polarsfair.clustering._internal.all_pairs import arrays_of, blocks, distances, ordered

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from polarsfair.clustering._internal.all_pairs import Codes, Floats

_BINS = 1 << 16


def order_sums(frame: pl.DataFrame, *, metric: str) -> dict[str, float]:
    """Give the sum of distances within clusters, and of as many smallest and largest ones."""
    import numpy as np

    frame = ordered(frame)
    nothing: dict[str, float] = dict.fromkeys(("inside", "lowest", "highest"), math.nan)
    if frame.is_empty():
        return nothing
    values, codes, weights = arrays_of(frame)
    sizes = np.bincount(codes, weights=weights)
    wanted = float((sizes * (sizes - 1)).sum() / 2)
    if wanted == 0 or not (wide := _widest(values, metric)) > 0:
        return nothing
    scale = (_BINS - 1) / wide
    counts, sums, inside = _histogram(values, codes, weights, metric, scale)
    low = _last_bin(counts, wanted)
    high = _BINS - 1 - _last_bin(counts[::-1], wanted)
    found, times = _gather(values, weights, metric, scale, (low, high))
    places = (found * scale).astype(np.int64)
    rest_low = wanted - counts[:low].sum()
    rest_high = wanted - counts[high + 1 :].sum()
    at_low, at_high = places == low, places == high
    return {
        "inside": inside,
        "lowest": sums[:low].sum() + _first(found[at_low], times[at_low], rest_low),
        "highest": sums[high + 1 :].sum()
        + _first(found[at_high][::-1], times[at_high][::-1], rest_high),
    }


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
    """Give the distances of all pairs and how often each occurs, every pair once."""
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
        places = (apart * scale).astype(np.int64).ravel()
        counts += np.bincount(places, weights=times.ravel(), minlength=_BINS)
        sums += np.bincount(places, weights=(times * apart).ravel(), minlength=_BINS)
        same = codes[rows][:, None] == codes[columns]
        inside += float((apart * times)[same].sum())
    return counts, sums, inside


def _last_bin(counts: Floats, wanted: float) -> int:
    """Say in which bin the last of the wanted distances lies."""
    import numpy as np

    return min(int(np.searchsorted(np.cumsum(counts), wanted - 0.5)), len(counts) - 1)


def _gather(
    values: Floats, weights: Floats, metric: str, scale: float, chosen: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Gather the distinct distances of two bins, sorted, and how often each occurs."""
    import numpy as np

    found, often = [np.zeros(0)], [np.zeros(0)]
    for _, _, apart, times in _weighed_blocks(values, weights, metric):
        places = (apart * scale).astype(np.int64)
        there = ((places == chosen[0]) | (places == chosen[1])) & (times > 0)
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
