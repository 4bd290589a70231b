"""Features that are categories: the distance of two rows is the number of features that differ.

The mean distance of a row to a cluster follows from the shares of the categories in the cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.faults import raise_faults
from polarsfair._engine.slices import aggregated, hidden, joined, over, summed
from polarsfair.clustering._internal.points import (
    CLUSTER,
    DISTANCE,
    FEATURE,
    OTHER,
    OWN,
    ROW,
    SIZE,
    WEIGHT,
    Points,
    not_finite,
    with_each,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES = hidden("times")


def category_lines(points: Points) -> pl.LazyFrame:
    """Count rows per slice, group and cluster, if features are categories."""
    schema = points.rows.frame.collect_schema()
    real = [name for name in points.features if schema[FEATURE + name].is_float()]
    bad = {_bad(name): (~pl.col(FEATURE + name).is_finite()).cast(pl.Int64) for name in real}
    sums = ["n", *points.weights]
    marked = points.rows.frame.with_columns(**bad)
    counted = summed(marked, points.keys, [*sums, *bad, *points.rows.bad])
    known = CLUSTER.is_not_null()
    infinite = [not_finite(name, (pl.col(_bad(name)) > 0) & known) for name in real]
    faults = [*points.rows.faults(squares=False), *infinite]
    return raise_faults(counted, faults, sums).select(*points.keys, *sums)


def _bad(name: str) -> str:
    return hidden("not finite", name)


def category_volumes(points: Points, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Sum the differing categories within every cluster, and of its rows to all rows."""
    slices, keys = points.slices, [*points.slices, "cluster"]
    times, own, shared = pl.col(_TIMES).cast(pl.Float64), hidden("own"), hidden("shared")
    equal = []
    for name in points.features:
        everywhere = times.sum().over(*slices, FEATURE + name)
        both = {own: times * times, shared: times * everywhere}
        equal.append(_category_counts(points, name).select(*keys, **both))
    lines = joined(centres, summed(pl.concat(equal), keys, [own, shared]), keys, how="left")
    size, features = WEIGHT.cast(pl.Float64), float(len(points.features))
    return lines.with_columns(
        within=features * size * size - pl.col(own),
        volume=features * size * over(size.sum(), slices) - pl.col(shared),
    ).drop(own, shared)


def category_rows(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Join every row with every cluster of its slice, and the mean number of differences."""
    slices = points.slices
    for name in points.features:
        rows = rows.join(
            _shares(points, name, centres),
            on=[*slices, FEATURE + name],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
    equal = pl.lit(0.0)
    for name in points.features:
        equal = equal + pl.col(_share(name))
    sides = centres.sort("cluster").select(*slices, CLUSTER.alias(OTHER), WEIGHT.alias(SIZE))
    listed = _listed(sides, slices, [OTHER, SIZE])
    kept = [ROW, *points.keys, *points.weights]
    opened = with_each(rows.select(*kept, equal.alias(DISTANCE)), listed, slices)
    different = float(len(points.features)) - pl.col(DISTANCE)
    return opened.explode(DISTANCE, OTHER, SIZE).select(
        *kept, SIZE, (pl.col(OTHER) == CLUSTER).alias(OWN), different.alias(DISTANCE)
    )


def _listed(lines: pl.LazyFrame, keys: Sequence[str], names: Sequence[str]) -> pl.LazyFrame:
    """Gather columns into lists, per key, in the order of the lines."""
    if keys:
        return lines.group_by(keys, maintain_order=True).agg(names)
    return lines.select(pl.col(names).implode())


def _category_counts(points: Points, name: str) -> pl.LazyFrame:
    """Count the rows of every cluster that have each category of a feature."""
    keys = [*points.slices, "cluster", FEATURE + name]
    counted = summed(points.known.select(*keys, points.weight.alias(_TIMES)), keys, [_TIMES])
    return counted.filter(pl.col(_TIMES) > 0)


def _share(name: str) -> str:
    return hidden("share", name)


def _shares(points: Points, name: str, centres: pl.LazyFrame) -> pl.LazyFrame:
    """List for every category its share in every cluster, in the order of the clusters."""
    slices, column = points.slices, FEATURE + name
    seen = points.known.select(*slices, column).unique()
    every = joined(seen, centres.select(*slices, "cluster", "w"), slices)
    counted = _category_counts(points, name)
    full = joined(every, counted, [*slices, "cluster", column], how="left")
    share = (pl.col(_TIMES).fill_null(0) / WEIGHT).sort_by("cluster")
    return aggregated(full, [*slices, column], {_share(name): share})
