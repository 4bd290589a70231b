"""Distances that need no pairs: the mean distance of a row to a cluster follows from a few sums.

For squared Euclidean distances it is the squared distance to the cluster's mean plus the cluster's
variance; cosine distances are half the squared distances of rows of length one; and for the number
of differing categories the shares of every category tell.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.legacy import BAD, fault, stopping
from polarsfair._engine.rows import ONE
from polarsfair.clustering._external.contingency import within
from polarsfair.clustering._internal.points import (
    CLUSTER,
    FEATURE,
    MEAN,
    WEIGHT,
    Points,
    centres_of,
    means_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ROW = "|row"
"""Numbers rows; the second pass puts what belongs to one row together by it."""

MOST = 2**32 - 1 if pl.get_index_type() == pl.UInt32 else 2**63 - 1
"""Rows that Polars can number."""

OTHER, OWN, SIZE, APART, SPREAD = "|other", "|own", "|size", "|apart", "|spread"


def few_enough(clusters: pl.LazyFrame) -> pl.LazyFrame:
    """Stop, before the rows are numbered, where they are more than Polars can number."""
    message = (
        f"there are more than {MOST:,} rows, and Polars can number no more: ask of fewer rows a"
        " call, or install `polars[rt64]`"
    )
    return stopping(clusters, [fault(pl.col("n").sum() > MOST, message)], ["w"])


def unit_points(points: Points) -> Points:
    """Give the same points with rows of length one; a row of zeros stays."""
    columns = [pl.col(name) for name in points.columns]
    largest = pl.max_horizontal(column.abs() for column in columns)
    # Scaled by the largest first, so that no square over- or underflows.
    scaled = [pl.when(largest > 0).then(column / largest).otherwise(0.0) for column in columns]
    length = pl.sum_horizontal(part * part for part in scaled).sqrt()
    named = [
        pl.when(length > 0).then(part / length).otherwise(part).alias(name)
        for part, name in zip(scaled, points.columns, strict=True)
    ]
    return replace(points, rows=points.rows.with_columns(named))


def unit_spread() -> pl.Expr:
    """Give the rows of zeros of a cluster of unit rows: a whole number, which survives rounding."""
    length = WEIGHT - pl.col("ssw") - WEIGHT * pl.col("|length")
    return length.round()


def spread_centres(points: Points, lines: pl.LazyFrame, metric: str) -> pl.LazyFrame:
    """Give the clusters with ``spread``, the sum of squares that the distances from them take.

    For cosine distances the rows of zeros belong to it; ``zeros`` counts them.
    """
    centres = centres_of(points, lines)
    if metric == "sqeuclidean":
        return centres.with_columns(pl.col("ssw").alias(SPREAD), zeros=pl.lit(0.0))
    means = [MEAN + name for name in points.features]
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in means)
    counted = centres.with_columns(length.alias("|length")).with_columns(zeros=unit_spread())
    return counted.with_columns((pl.col("ssw") + pl.col("zeros")).alias(SPREAD))


def squared_volumes(centres: pl.LazyFrame, slices: Sequence[str], metric: str) -> pl.LazyFrame:
    """Give the sums of distances within every cluster, and of its rows to all rows."""
    means = means_of(centres.collect_schema().names())
    total = within(WEIGHT.sum(), slices)
    gaps = [pl.col(name) - overall_mean(name, slices) for name in means]
    gap = pl.sum_horizontal(part * part for part in gaps)
    spread, zeros = pl.col(SPREAD), pl.col("zeros")
    half = 1.0 if metric == "sqeuclidean" else 0.5
    everything = within((spread + WEIGHT * pl.col("|gap")).sum(), slices)
    volume = total * spread + WEIGHT * everything + total * WEIGHT * pl.col("|gap")
    return centres.with_columns(gap.alias("|gap")).with_columns(
        within=half * 2 * WEIGHT * spread - zeros, volume=half * volume - zeros
    )


def overall_mean(name: str, keys: Sequence[str]) -> pl.Expr:
    """Give the mean of a feature over all clusters of a slice, around one of their means."""
    near = pl.col(name).mean()
    shift = (WEIGHT * (pl.col(name) - near)).sum() / WEIGHT.filter(pl.col(name).is_not_null()).sum()
    return within(near + shift, keys)


def squared_rows(
    points: Points, rows: pl.LazyFrame, centres: pl.LazyFrame, *, cosine: bool
) -> pl.LazyFrame:
    """Set every row, numbered by ``ROW``, beside every cluster of its slice."""
    means = [MEAN + name for name in points.features]
    sides = centres.select(
        *points.slices,
        *means,
        CLUSTER.alias(OTHER),
        WEIGHT.alias(SIZE),
        (pl.col(SPREAD) / WEIGHT).alias(SPREAD),
    )
    gaps = [pl.col(FEATURE + n) - pl.col(MEAN + n) for n in points.features]
    # A power names the gap once; of a product Polars would keep the gaps of all features.
    apart = _added([pl.col(SPREAD), *(gap**2 for gap in gaps)])
    if cosine:
        # A row of zeros is as far from its own cluster as from any other.
        apart = (
            pl.when(pl.any_horizontal(pl.col(n) != 0 for n in points.columns))
            .then(apart)
            .otherwise(0.0)
        )
    weight = ["w"] if points.weighted else []
    return beside(rows, sides, points.slices).select(
        ROW, *points.keys, *weight, SIZE, (pl.col(OTHER) == CLUSTER).alias(OWN), apart.alias(APART)
    )


def _added(parts: Sequence[pl.Expr]) -> pl.Expr:
    """Add what is never null, one by one, so that few columns of all pairs are held at a time.

    `sum_horizontal` would hold all of them, and look for nulls.
    """
    return functools.reduce(operator.add, parts)


def beside(rows: pl.LazyFrame, sides: pl.LazyFrame, slices: Sequence[str]) -> pl.LazyFrame:
    """Join every row with all lines of its slice, the rows in their order."""
    if not slices:
        return rows.join(sides, how="cross", maintain_order="left")
    return rows.join(sides, on=list(slices), how="inner", nulls_equal=True, maintain_order="left")


def row_silhouettes(points: Points, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Give the silhouette of every row from its distances to every cluster.

    The rows are in order, so that a sorted `group_by` holds one row at a time; a hash of all of
    them would not fit.
    """
    kept = [*points.keys, *(["w"] if points.weighted else [])]
    own = pl.col(OWN)
    found = (
        pairs.set_sorted(ROW)
        .group_by(ROW)
        .agg(
            *(pl.col(name).first() for name in kept),
            inside=pl.when(own).then(pl.col(APART)).max(),
            size=pl.when(own).then(pl.col(SIZE)).max(),
            outside=pl.when(~own).then(pl.col(APART)).min(),
        )
    )
    size, outside = pl.col("size"), pl.col("outside")
    inside = pl.col("inside") * size / (size - 1)
    larger = pl.max_horizontal(inside, outside)
    value = pl.when((size > 1) & (larger > 0)).then((outside - inside) / larger).otherwise(0.0)
    defined = outside.is_not_null() & size.is_not_null()
    return found.select(ROW, *kept, silhouette=pl.when(defined).then(value))


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
