"""Measures that the moments of the clusters tell: how far apart, how wide."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.metric import Metric, Variant, define
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import (
    FEATURE,
    MEAN,
    WEIGHT,
    Points,
    centres_of,
    means_of,
    merged_clusters,
    moment_sums,
    moments,
    moments_of,
    overall_mean,
    points_of,
    squared_gap,
)
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures

__all__ = ["calinski_harabasz", "davies_bouldin", "dunn_centroid", "radii"]


def _count_radii(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    cluster: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count how far the rows of every cluster lie from its mean.

    The table of `moments` with two columns more: ``reach``, the sum of Euclidean distances to the
    mean, and ``radius``, the largest. The rows are read twice, so that tables do not add up.

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
    keys = points.keys
    centres = centres_of(points, lines).select(*keys, *(MEAN + name for name in points.features))
    gaps = [pl.col(FEATURE + name) - pl.col(MEAN + name) for name in points.features]
    gap = pl.sum_horizontal(part * part for part in gaps).sqrt()
    beside = points.known.join(centres, on=keys, how="inner", nulls_equal=True)
    weight = WEIGHT if points.weighted else pl.lit(1.0)
    far = beside.select(*keys, radius=pl.when(weight > 0).then(gap), reach=weight * gap)
    radii = far.group_by(keys).agg(pl.col("reach").sum(), pl.col("radius").max())
    return lines.join(radii, on=keys, how="left", nulls_equal=True)


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
    """Raise when a table has no means, as one of categories."""
    if not means_of(schema.names()):
        msg = f'`{metric.name}` needs means of features, which a table of `metric="hamming"` lacks'
        raise ValueError(msg)


def clusters(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster, with its squared distance from the mean of all rows."""
    lines = merged_clusters(table, keys)
    means = means_of(lines.collect_schema().names())
    gaps = [pl.col(name) - overall_mean(name, keys) for name in means]
    return lines.with_columns(gap=pl.sum_horizontal(gap * gap for gap in gaps))


def with_rivals(lines: pl.LazyFrame, keys: Sequence[str], width: pl.Expr) -> pl.LazyFrame:
    """Put beside every cluster how it compares with the others of its slice.

    ``worst`` is the largest sum of two widths over the distance of the means, ``nearest`` the
    distance of the nearest mean.
    """
    means = means_of(lines.collect_schema().names())
    numbered = lines.with_columns(width.alias("|width")).with_row_index("|line")
    other = numbered.select(
        *keys,
        *(pl.col(n).alias(f"{n}|") for n in means),
        **{"|other": "|line", "|width|": "|width", "|w": "w"},
    )
    pairs = (
        numbered.join(other, on=list(keys), how="left", nulls_equal=True)
        if keys
        else numbered.join(other, how="cross")
    )
    two = (pl.col("|line") != pl.col("|other")) & (WEIGHT > 0) & (pl.col("|w") > 0)
    gap = squared_gap(means, [f"{n}|" for n in means]).sqrt()
    pairs = pairs.with_columns(pl.when(two).then(gap).alias("|gap"))
    pairs = pairs.with_columns(ratio=(pl.col("|width") + pl.col("|width|")) / pl.col("|gap"))
    found = pairs.group_by("|line").agg(worst=_worst(pl.col("ratio")), nearest=pl.col("|gap").min())
    return numbered.join(found, on="|line", how="left")


def _worst(ratio: pl.Expr) -> pl.Expr:
    """Give the largest ratio, undefined when one is: two clusters that are the same point."""
    return pl.when(~ratio.is_nan().any()).then(ratio.max())


def _rivals(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster beside its rivals, its width from the squared distances."""
    return with_rivals(merged_clusters(table, keys), keys, (pl.col("ssw") / WEIGHT).sqrt())


def _rivals_by_mean(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster beside its rivals, its width from the distances."""
    return with_rivals(merged_clusters(table, keys), keys, pl.col("reach") / WEIGHT)


_SEVERAL = (WEIGHT > 0).sum() > 1


_share = functools.partial(
    define, kind="quality", roles=("cluster", "features"), of=ClusteringMetric, check=check_means
)


@_share(moments, view=clusters, bounds=(0.0, math.inf), better="higher")
def calinski_harabasz() -> pl.Expr:
    """Spread between clusters over spread within them, each per degree of freedom.

    Formula: (B / (k - 1)) / (S / (n - k)), with B the sum over clusters of their size times the
    squared distance of their mean from the mean of all rows, S the sum of squared distances of rows
    from their cluster's mean. Also known as the variance ratio. Undefined with one cluster, with a
    cluster per row and where all rows are equal.

    Range 0 to inf; no ideal; higher is better.

    Notes
    -----
    Infinite where every cluster is one point; scikit-learn says 1 there.

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
    between = (WEIGHT * pl.col("gap")).sum() / (count - 1)
    inside = pl.col("ssw").sum() / (size - count)
    return pl.when(_SEVERAL & (size > count)).then(quotient(between, inside))


def _mean_of_worst() -> pl.Expr:
    worst, there = pl.col("worst"), WEIGHT > 0
    defined = worst.filter(there).is_not_null().all()
    return pl.when(_SEVERAL & defined).then(worst.filter(there).mean())


@_share(radii, view=_rivals_by_mean, bounds=(0.0, math.inf), better="lower", ideal=0.0)
def _davies_bouldin_by_mean(*, dispersion: str = "mean") -> pl.Expr:
    del dispersion
    return _mean_of_worst()


def _asks_for_mean(options: Mapping[str, Any]) -> bool:
    return options.get("dispersion") == "mean"


def _check_dispersion(metric: Metric, schema: pl.Schema) -> None:
    check_means(metric, schema)
    dispersion = metric.options.get("dispersion", "rms")
    if dispersion not in ("rms", "mean"):
        msg = f"`dispersion` is 'rms' or 'mean', got {dispersion!r}"
        raise ValueError(msg)
    if dispersion == "mean":
        msg = (
            '`davies_bouldin` with `dispersion="mean"` needs a second pass over the rows: use'
            " `evaluate` on them"
        )
        raise ValueError(msg)


@_share(
    moments,
    view=_rivals,
    bounds=(0.0, math.inf),
    better="lower",
    ideal=0.0,
    check=_check_dispersion,
    variants=(
        Variant(
            _asks_for_mean,
            replace(_davies_bouldin_by_mean, name="davies_bouldin"),
            {"dispersion": "mean"},
        ),
    ),
)
def davies_bouldin(*, dispersion: str = "rms") -> pl.Expr:
    """Mean over clusters of how much they overlap with their worst rival.

    Formula: mean over i of the maximum over j of (s_i + s_j) / |m_i - m_j|, with m the clusters'
    means and s the root of the mean squared distance of their rows from it. Undefined with one
    cluster, and where two clusters are the same point.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    dispersion
        ``"rms"``, as above, from the table of `moments` alone; or ``"mean"``, the mean distance of
        rows from the mean, which takes a second pass over the rows.

    Notes
    -----
    scikit-learn has ``dispersion="mean"``. It skips clusters whose means coincide; here they
    overlap infinitely.

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


@_share(radii, view=_rivals_by_mean, bounds=(0.0, math.inf), better="higher")
def dunn_centroid() -> pl.Expr:
    """Distance of the two nearest means over the largest distance of a row from its own.

    Formula: min over i < j of |m_i - m_j| over max over rows of |x - m_c(x)|, with m the clusters'
    means. Undefined with one cluster, and where every row is a cluster.

    Range 0 to inf; no ideal; higher is better.

    Notes
    -----
    torchmetrics calls this `DunnIndex`; the index itself, `dunn`, is of pairs of rows.

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
    return pl.when(several).then(quotient(pl.col("nearest").min(), pl.col("radius").max()))
