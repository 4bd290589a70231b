"""Measures from the means of clusters: how far apart the clusters are, and how wide."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.metric import Metric, Variant
from polarsfair._engine.slices import aggregated, hidden, joined, over
from polarsfair._engine.tally import Tally
from polarsfair._formula import clean, quotient
from polarsfair.clustering._internal.cluster_pairs import NEAREST, WIDTH, WORST, with_rivals
from polarsfair.clustering._internal.digits import COARSE, VANISHED, means_of, square
from polarsfair.clustering._internal.points import (
    WEIGHT,
    Points,
    centres_of,
    from_overall_means,
    internal,
    merged_clusters,
    moment_sums,
    moments,
    moments_of,
    points_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = [
    "ball_hall",
    "calinski_harabasz",
    "davies_bouldin",
    "dunn_centroid",
    "radii",
    "xie_beni",
]

_GAP = hidden("gap")


def _count_radii(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Sum the distances of the rows of every cluster to its mean.

    The table of `moments` with two more columns: ``reach``, the sum of Euclidean distances to the
    mean, and ``radius``, the largest. The rows are read twice, so tables do not merge.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2], "x": [0.0, 2.0, 5.0], "y": [1, 1, 0]})
    >>> table = clustering.radii(df, cluster="c", features=["x", "y"])
    >>> table.select("cluster", "n", "reach", "radius").sort("cluster")
    shape: (2, 4)
    ┌─────────┬─────┬───────┬────────┐
    │ cluster ┆ n   ┆ reach ┆ radius │
    │ ---     ┆ --- ┆ ---   ┆ ---    │
    │ i64     ┆ i64 ┆ f64   ┆ f64    │
    ╞═════════╪═════╪═══════╪════════╡
    │ 1       ┆ 2   ┆ 2.0   ┆ 1.0    │
    │ 2       ┆ 1   ┆ 0.0   ┆ 0.0    │
    └─────────┴─────┴───────┴────────┘
    """
    points = points_of(rows, by, cluster=cluster, features=features, weight=weight)
    lines = moments_of(points).cache()
    return points.table(_with_radii(points, lines))


def _with_radii(points: Points, lines: pl.LazyFrame) -> pl.LazyFrame:
    keys, weight = points.keys, points.weight
    centres = centres_of(points, lines).select(*keys, *points.means, *points.lows)
    # Scaled by the largest first, so that no square over- or underflows.
    largest = pl.max_horizontal(gap.abs() for gap in points.gaps)
    scaled = pl.sum_horizontal((gap / largest) ** 2 for gap in points.gaps)
    distance = pl.when(largest > 0).then(largest * scaled.sqrt()).otherwise(largest)
    sums = {"reach": (weight * distance).sum(), "radius": pl.when(weight > 0).then(distance).max()}
    found = aggregated(joined(points.known, centres, keys), keys, sums)
    return joined(lines, found, keys, how="left")


radii = Tally(
    name="clustering.radii",
    count=_count_radii,
    cells=("cluster",),
    sums=lambda columns: {
        **moment_sums(columns),
        "reach": pl.col("reach").sum(),
        "radius": pl.col("radius").max(),
    },
    defaults={"w": pl.col("n")},
    contains=(moments,),
    mergeable=False,
)


def check_means(metric: Metric, schema: pl.Schema) -> None:
    """Raise if a table has no means, as a table of categories."""
    if not means_of(schema.names()):
        msg = (
            f"`{metric.name}` needs means of features, which a table of"
            ' `metric="hamming"` does not have: use another `metric`'
        )
        raise ValueError(msg)


def clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster, with its squared distance from the mean of all rows."""
    lines = merged_clusters(table, keys)
    gaps = from_overall_means(lines.collect_schema().names(), keys)
    gap = pl.sum_horizontal(square(gap) for gap in gaps)
    # Means that rounding made equal have no distance.
    equal = pl.col(COARSE) & over((pl.col(_GAP).fill_null(0.0) == 0).all(), keys)
    unknown = pl.col(_GAP).is_infinite() | equal
    return lines.with_columns(gap.alias(_GAP)).with_columns(
        pl.when(unknown).then(float("nan")).otherwise(_GAP).alias(_GAP)
    )


def _rivals(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster with its rivals; the width is from the squared distances."""
    width = (pl.col("ssw") / WEIGHT).sqrt().alias(WIDTH)
    # A table that has distances too is read as one that has none.
    lines = merged_clusters(table, keys).drop("reach", strict=False)
    return with_rivals(lines.with_columns(width), keys)


def _rivals_by_mean(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster with its rivals; the width is from the distances."""
    lines = merged_clusters(table, keys)
    lost = pl.col(COARSE) & over((pl.col("radius").fill_null(0.0) == 0).all(), keys)
    lines = lines.with_columns(
        pl.when(lost).then(float("nan")).otherwise(pl.col(name)).alias(name)
        for name in ("reach", "radius")
    )
    return with_rivals(lines.with_columns((pl.col("reach") / WEIGHT).alias(WIDTH)), keys)


_SEVERAL = (WEIGHT > 0).sum() > 1
_TOTAL = pl.col("ssw").sum()
_HAS_DIGITS = (_TOTAL == 0) | (_TOTAL >= VANISHED)


_of_means = functools.partial(internal, check=check_means)


@_of_means(moments, view=clusters, bounds=(0.0, math.inf), better="higher")
def calinski_harabasz() -> pl.Expr:
    """Spread between clusters over spread within them, each per degree of freedom.

    Formula: (B / (k - 1)) / (S / (n - k)). B is the sum over clusters of their size times the
    squared distance of their mean from the mean of all rows. S is the sum of squared distances of
    rows from their cluster's mean. Also known as the variance ratio. Undefined with one cluster,
    with a cluster per row, and if all rows are equal.

    Range 0 to inf; no ideal; higher is better.

    Notes
    -----
    Infinite if every cluster is one point; scikit-learn returns 1.

    References
    ----------
    Caliński, Harabasz (1974). A Dendrite Method for Cluster Analysis. Communications in Statistics
    3(1), 1-27.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.calinski_harabasz, cluster="c", features=["x"])
    16.2
    """
    count, size = (WEIGHT > 0).sum(), WEIGHT.sum()
    between = (WEIGHT * pl.col(_GAP)).sum() / (count - 1)
    inside = _TOTAL / (size - count)
    return pl.when(_SEVERAL & (size > count) & _HAS_DIGITS).then(quotient(between, inside))


@_of_means(moments, view=clusters, bounds=(0.0, math.inf), better="lower", ideal=0.0)
def ball_hall() -> pl.Expr:
    """Mean over clusters of the mean squared distance of the rows to the mean of their cluster.

    It falls as clusters are split, to 0 with a cluster per row. Compare only clusterings with the
    same number of clusters, or look for the largest step from one number of clusters to the next.

    Formula: mean over clusters i of S_i / n_i. S_i is the sum of the squared distances of the rows
    of the cluster to its mean, and n_i the number of these rows.

    Range 0 to inf; ideal 0; lower is better.

    Notes
    -----
    Every cluster counts the same, whatever its size. Some libraries divide the sum of all S_i by
    the number of rows, or by the number of clusters, instead.

    References
    ----------
    Ball, Hall (1965). ISODATA, a Novel Method of Data Analysis and Pattern Classification. Stanford
    Research Institute.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.ball_hall, cluster="c", features=["x"])
    0.625
    """
    there = WEIGHT > 0
    # A spread that is unknown is NaN, and so is the mean.
    return pl.when(_HAS_DIGITS).then(clean((pl.col("ssw") / WEIGHT).filter(there).mean()))


def _mean_of_worst() -> pl.Expr:
    worst, there = pl.col(WORST).fill_nan(None), WEIGHT > 0
    defined = worst.filter(there).is_not_null().all()
    return pl.when(_SEVERAL & defined).then(worst.filter(there).mean())


@_of_means(radii, view=_rivals_by_mean, bounds=(0.0, math.inf), better="lower", ideal=0.0)
def _davies_bouldin_by_mean(*, dispersion: str = "mean") -> pl.Expr:
    del dispersion
    return _mean_of_worst()


def _by_mean_distance(options: Mapping[str, object]) -> bool:
    return options.get("dispersion") == "mean"


def _check_dispersion(metric: Metric, schema: pl.Schema) -> None:
    check_means(metric, schema)
    dispersion = metric.options.get("dispersion", "rms")
    if dispersion not in ("rms", "mean"):
        msg = f"`dispersion` is 'rms' or 'mean', got {dispersion!r}"
        raise ValueError(msg)
    if dispersion == "mean":
        msg = (
            '`davies_bouldin` with `dispersion="mean"` cannot be read from a stored table, because'
            " it needs a second pass over the rows: call `evaluate` on the rows"
        )
        raise ValueError(msg)


@_of_means(
    moments,
    view=_rivals,
    bounds=(0.0, math.inf),
    better="lower",
    ideal=0.0,
    check=_check_dispersion,
    variants=(
        Variant(
            _by_mean_distance,
            replace(_davies_bouldin_by_mean, name="davies_bouldin"),
            {"dispersion": "mean"},
        ),
    ),
)
def davies_bouldin(*, dispersion: str = "rms") -> pl.Expr:
    """Mean over clusters of the largest overlap with another cluster.

    Formula: mean over i of the maximum over j of (s_i + s_j) / |m_i - m_j|. m is the mean of a
    cluster, and s the root of the mean squared distance of its rows from m. Undefined with one
    cluster, and if two clusters are the same point.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    dispersion
        ``"rms"``, as above, from the table of `moments` alone; or ``"mean"``, the mean distance of
        rows from the mean, which needs a second pass over the rows.

    Notes
    -----
    scikit-learn uses ``dispersion="mean"``. It skips clusters whose means coincide; here their
    overlap is infinite.

    References
    ----------
    Davies, Bouldin (1979). A Cluster Separation Measure. IEEE Transactions on Pattern Analysis and
    Machine Intelligence 1(2), 224-227.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.davies_bouldin, cluster="c", features=["x"]), 4)
    0.3333
    """
    del dispersion
    return _mean_of_worst()


@_of_means(radii, view=_rivals_by_mean, bounds=(0.0, math.inf), better="higher")
def dunn_centroid() -> pl.Expr:
    """Distance of the two nearest means over the largest distance of a row from its own mean.

    Formula: min over i < j of |m_i - m_j| over max over rows of |x - m_c(x)|, with m the clusters'
    means. Undefined with one cluster, and if every row is a cluster.

    Range 0 to inf; no ideal; higher is better.

    Notes
    -----
    torchmetrics calls this `DunnIndex`. The original index, `dunn`, uses pairs of rows.

    References
    ----------
    Dunn (1974). Well-Separated Clusters and Optimal Fuzzy Partitions. Journal of Cybernetics 4(1),
    95-104.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> df.pipe(clustering.dunn_centroid, cluster="c", features=["x"])
    4.5
    """
    several = _SEVERAL & (WEIGHT.max() > 1)
    return pl.when(several).then(quotient(pl.col(NEAREST).min(), pl.col("radius").max()))


@_of_means(moments, view=_rivals, bounds=(0.0, math.inf), better="lower", ideal=0.0)
def xie_beni() -> pl.Expr:
    """Mean squared distance of rows to the mean of their cluster, over that of the nearest means.

    Small if clusters are compact and even the two nearest ones are apart.

    Formula: S / (n min over i < j of |m_i - m_j|^2). S is the sum of the squared distances of rows
    to the mean of their cluster, n the number of rows, and m_i the mean of a cluster. Undefined
    with one cluster.

    Range 0 to inf; ideal 0; lower is better.

    Notes
    -----
    The index of fuzzy clusters, for clusters without degrees of membership. It is infinite if two
    clusters have the same mean, and undefined if all rows are one point.

    References
    ----------
    Xie, Beni (1991). A Validity Measure for Fuzzy Clustering. IEEE Transactions on Pattern Analysis
    and Machine Intelligence 13(8), 841-847.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1.0, 4.0, 6.0]})
    >>> round(df.pipe(clustering.xie_beni, cluster="c", features=["x"]), 4)
    0.0309
    """
    width = (_TOTAL / WEIGHT.sum()).sqrt()
    # The square of a ratio: the square of a small or large distance would vanish or overflow.
    ratio = quotient(width, pl.col(NEAREST).min())
    return pl.when(_SEVERAL & _HAS_DIGITS).then(ratio * ratio)
