"""Features that are categories: distances count those that differ, from shares of categories."""

from __future__ import annotations

import polars as pl

from polarsfair._engine.legacy import (
    BAD,
    fault,
    stopping,
)
from polarsfair._engine.rows import ONE
from polarsfair.clustering._external.contingency import within
from polarsfair.clustering._internal.points import (
    APART,
    CLUSTER,
    FEATURE,
    OTHER,
    OWN,
    ROW,
    SIZE,
    WEIGHT,
    Points,
    beside,
)


def category_counts(points: Points, name: str) -> pl.LazyFrame:
    """Count the rows of every cluster that have each category of a feature."""
    weight = WEIGHT if points.weighted else ONE
    rows = points.known.select(*points.slices, "cluster", FEATURE + name, times=weight)
    counted = rows.group_by(*points.slices, "cluster", FEATURE + name).agg(pl.col("times").sum())
    return counted.filter(pl.col("times") > 0)


def category_lines(points: Points) -> pl.LazyFrame:
    """Count rows per slice, group and cluster, where features are categories."""
    schema = points.rows.collect_schema()
    real = [name for name in points.columns if schema[name].is_float()]
    wrong = {f"bad|{name}": (~pl.col(name).is_finite()).cast(pl.Int64) for name in real}
    sums = {"n": ONE, **wrong}
    sums |= {name: pl.col(name) for name in ("w", BAD) if points.weighted}
    counted = (
        points.rows.select(*points.keys, **sums)
        .group_by(points.keys)
        .agg(pl.col(name).sum() for name in sums)
    )
    faults = [*points.faults, *(_not_a_category(name) for name in real)]
    kept = ["n", *(["w"] if points.weighted else [])]
    return stopping(counted, faults, kept).select(*points.keys, *kept)


def _not_a_category(name: str) -> pl.Expr:
    plain = name.removeprefix(FEATURE)
    return fault(
        (pl.col(f"bad|{name}") > 0) & CLUSTER.is_not_null(),
        f"the feature {plain!r} holds NaN or an infinite value: make it null to leave the row out,"
        f' such as `pl.col("{plain}").fill_nan(None)`',
    )


def category_volumes(points: Points, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Give the sums of differing categories within every cluster, and of its rows to all rows."""
    keys = [*points.slices, "cluster"]
    alike = []
    for name in points.features:
        counted = category_counts(points, name)
        times = pl.col("times").cast(pl.Float64)
        everywhere = times.sum().over(*points.slices, FEATURE + name)
        both = counted.select(*keys, own=times * times, shared=times * everywhere)
        alike.append(both)
    summed = pl.concat(alike).group_by(keys).agg(pl.col("own", "shared").sum())
    size, features = WEIGHT.cast(pl.Float64), float(len(points.features))
    joined = centres.join(summed, on=keys, how="left", nulls_equal=True)
    total = within(size.sum(), points.slices)
    return joined.with_columns(
        within=features * size * size - pl.col("own"),
        volume=features * size * total - pl.col("shared"),
    ).drop("own", "shared")


def category_rows(points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Set every row beside every cluster of its slice, with the mean number of differences."""
    slices = list(points.slices)
    alike = pl.lit(0.0)
    for name in points.features:
        column = FEATURE + name
        lookup = _shares(points, name, centres)
        rows = rows.join(
            lookup, on=[*slices, column], how="left", nulls_equal=True, maintain_order="left"
        )
        alike = alike + pl.col(f"|share|{name}")
    sides = centres.sort("cluster").select(*slices, CLUSTER.alias(OTHER), WEIGHT.alias(SIZE))
    listed = (
        sides.group_by(slices, maintain_order=True).agg(OTHER, SIZE)
        if slices
        else sides.select(pl.col(OTHER).implode(), pl.col(SIZE).implode())
    )
    weight = ["w"] if points.weighted else []
    kept = rows.select(ROW, *points.keys, *weight, alike.alias(APART))
    opened = beside(kept, listed, slices).explode(APART, OTHER, SIZE)
    own = (pl.col(OTHER) == CLUSTER).alias(OWN)
    different = float(len(points.features)) - pl.col(APART)
    return opened.select(ROW, *points.keys, *weight, SIZE, own, different.alias(APART))


def _shares(points: Points, name: str, centres: pl.LazyFrame) -> pl.LazyFrame:
    """List for every category its share in every cluster, in the order of the clusters."""
    slices, column = list(points.slices), FEATURE + name
    counted = category_counts(points, name)
    seen = points.known.select(*slices, column).unique()
    clusters = centres.select(*slices, "cluster", "w")
    every = (
        seen.join(clusters, on=slices, how="inner", nulls_equal=True)
        if slices
        else seen.join(clusters, how="cross")
    )
    full = every.join(counted, on=[*slices, "cluster", column], how="left", nulls_equal=True)
    share = (pl.col("times").fill_null(0) / WEIGHT).sort_by("cluster")
    return full.group_by(*slices, column).agg(share.alias(f"|share|{name}"))
