"""External measures that match clusters with labels: purity, optimal matching, F-measure."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.metric import define
from polarsfair._engine.slices import hidden_slices, map_slices
from polarsfair._formula import quotient
from polarsfair.clustering._external.by_chance import assigned, matched, number_of_slice
from polarsfair.clustering._external.contingency import (
    OF_CLUSTER,
    OF_LABEL,
    SHARED,
    TIMES,
    cells,
    check_noise,
    contingency,
)
from polarsfair.clustering._types import ClusteringFrame, ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoSlices

__all__ = [
    "f_measure",
    "f_measure_by_cluster",
    "matching",
    "maximum_matching",
    "purity",
    "purity_by_cluster",
]

_SIZE, _LARGEST, _F = pl.col("size"), pl.col("largest"), pl.col("f")


def _clusters(table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None) -> pl.LazyFrame:
    """View one line per cluster: its size, its largest cell and its F."""
    # A row of noise is a cluster of its own, and those with the same label are equal.
    apart = pl.when("alone").then("label").alias("apart")
    f = 2 * SHARED.cast(pl.Float64) / (OF_CLUSTER + OF_LABEL).cast(pl.Float64)
    return (
        cells(table, keys, noise)
        .with_columns(apart, f=pl.when(TIMES > 0).then(f))
        .group_by(*keys, "cluster", "apart")
        .agg(
            TIMES.first(),
            size=OF_CLUSTER.first(),
            largest=SHARED.max(),
            f=_F.filter(SHARED.max() == SHARED).max(),
        )
    )


def _each_cluster(
    table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None
) -> pl.LazyFrame:
    """View one line per known cluster, for the frames by cluster."""
    return _clusters(table, keys, noise=noise).filter(TIMES > 0)


def _numbered(table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None) -> pl.LazyFrame:
    """View the cells with numbers for clusters and labels."""
    return _with_numbers(cells(table, keys, noise), keys)


def _with_numbers(lines: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    lines = lines.with_columns(line=pl.int_range(pl.len()))
    first = pl.col("line").min()
    own = pl.when("alone").then("line").otherwise(first.over(*keys, "cluster"))
    return lines.with_columns(cluster_number=own, label_number=first.over(*keys, "label"))


_matching = functools.partial(
    define,
    contingency,
    "quality",
    ("cluster", "label"),
    ideal=1.0,
    bounds=(0.0, 1.0),
    better="higher",
    check=check_noise,
)


@_matching(of=ClusteringMetric, view=_clusters)
def purity() -> pl.Expr:
    """Share of rows that have the most common label of their cluster.

    Formula: sum over clusters of max_j n_ij, over n. At least the share of the most common label.
    It is 1 if every cluster has one label, and so also if every row is a cluster of its own.
    Compare only clusterings with the same number of clusters.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    Not symmetric: with the roles exchanged it is inverse purity. Rows without cluster or label do
    not count; ``label=pl.col("y").fill_null("none")`` makes unknown a label.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2, 2], "y": ["a", "a", "b", "b", "b"]})
    >>> df.pipe(clustering.purity, cluster="c", label="y")
    0.8
    """
    return quotient((TIMES * _LARGEST).sum(), (TIMES * _SIZE).sum())


@_matching(of=ClusteringFrame, view=_each_cluster, keys=("cluster",))
def purity_by_cluster() -> pl.Expr:
    """Share of each cluster's rows that have its most common label.

    A frame with a row per cluster. Its mean, weighted by the sizes of the clusters, is `purity`.

    Formula: max_j n_ij / n_i.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 1, 2, 2], "y": ["a", "a", "a", "b", "b", "b"]})
    >>> df.pipe(clustering.purity_by_cluster, cluster="c", label="y")
    shape: (2, 2)
    ┌─────────┬───────────────────┐
    │ cluster ┆ purity_by_cluster │
    │ ---     ┆ ---               │
    │ i64     ┆ f64               │
    ╞═════════╪═══════════════════╡
    │ 1       ┆ 0.75              │
    │ 2       ┆ 1.0               │
    └─────────┴───────────────────┘
    """
    return quotient((TIMES * _LARGEST).sum(), (TIMES * _SIZE).sum())


@_matching(of=ClusteringMetric, view=_clusters)
def f_measure() -> pl.Expr:
    """Mean over clusters of the F-measure of each with its most common label.

    Formula: mean over clusters of F_i = 2 n_ij / (n_i + m_j), with j the most common label of
    cluster i. F_i is the harmonic mean of precision n_ij / n_i and recall n_ij / m_j. The value is
    1 only if clusters and labels coincide.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    If several labels are equally common in a cluster, the one that is rarer over all rows counts.
    Its F_i is the largest, and does not depend on the order of labels. Not symmetric. It is not the
    F1 of pairs of rows: see `pair_f1`.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2], "y": ["a", "a", "b", "b"]})
    >>> round(df.pipe(clustering.f_measure, cluster="c", label="y"), 4)
    0.7333
    """
    return quotient((TIMES.cast(pl.Float64) * _F).sum(), TIMES.sum())


@_matching(of=ClusteringFrame, view=_each_cluster, keys=("cluster",))
def f_measure_by_cluster() -> pl.Expr:
    """F-measure of each cluster with its most common label.

    A frame with a row per cluster, whose plain mean is `f_measure`. With ``noise=`` the row of the
    noise is the mean over its rows.

    Formula: 2 n_ij / (n_i + m_j) with j the most common label of cluster i. If several labels are
    equally common in it, j is the one that is rarer over all rows.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2], "y": ["a", "a", "b", "b"]})
    >>> df.pipe(clustering.f_measure_by_cluster, cluster="c", label="y")
    shape: (2, 2)
    ┌─────────┬──────────────────────┐
    │ cluster ┆ f_measure_by_cluster │
    │ ---     ┆ ---                  │
    │ i64     ┆ f64                  │
    ╞═════════╪══════════════════════╡
    │ 1       ┆ 0.8                  │
    │ 2       ┆ 0.666667             │
    └─────────┴──────────────────────┘
    """
    return quotient((TIMES.cast(pl.Float64) * _F).sum(), TIMES.sum())


@_matching(of=ClusteringMetric, view=_numbered)
def maximum_matching() -> pl.Expr:
    """Clustering accuracy: share of rows that agree under the best one-to-one matching.

    Every cluster is matched with at most one label and every label with at most one cluster, such
    that as many rows as possible agree. Surplus clusters are not matched.

    Formula: max over one-to-one maps of the sum of n_ij over matched pairs, over n. Never above
    `purity`. Symmetric.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    SciPy's assignment solves it exactly on the table. Above four million cells its sparse form is
    used, which holds only the cells that have rows. `matching` shows the matched pairs.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    Clusters 1 and 2 both hold mostly "a", but only one of them can be matched with it.

    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2, 2], "y": ["a", "a", "b", "a", "a"]})
    >>> df.pipe(clustering.maximum_matching, cluster="c", label="y")
    0.6
    """
    agreed = number_of_slice(["cluster_number", "label_number", "w"], matched)
    return quotient(agreed, (TIMES * SHARED).sum())


_NUMBERED = ["cluster_number", "label_number", "w"]


@lazy_or_eager
def matching(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    label: IntoColumn,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    noise: object = None,
) -> pl.LazyFrame:
    """Match clusters with labels one to one, such that as many rows as possible agree.

    The matching behind `maximum_matching`: the sum of ``n`` over all rows of known cluster and
    label.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, label
        The two partitions; rows that lack one do not count.
    weight
        How often each row counts.
    by
        Slices: column names or expressions. Each has its own matching.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row per slice and matched pair, sorted: the slices, ``cluster``, ``label`` and ``n``,
        the rows that have both (with ``weight``, the sum of their weights). A cluster or label that
        no row matches is left out. With `noise` there may be several rows of the noise, each of
        them one row of the frame.

    Notes
    -----
    If several matchings are equally good, the result is one of them, and the same for the same
    table. To read a stored table, pass its count as weight:
    ``matching(table, cluster="cluster", label="label", weight="n")``.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 1, 2, 2, 3], "y": ["a", "a", "a", "a", "a", "b"]})
    >>> found = clustering.matching(df, cluster="c", label="y")
    >>> found
    shape: (2, 3)
    ┌─────────┬───────┬─────┐
    │ cluster ┆ label ┆ n   │
    │ ---     ┆ ---   ┆ --- │
    │ i64     ┆ str   ┆ i64 │
    ╞═════════╪═══════╪═════╡
    │ 1       ┆ a     ┆ 3   │
    │ 3       ┆ b     ┆ 1   │
    └─────────┴───────┴─────┘

    Every row with the label of its cluster; null if the cluster is not matched:

    >>> df.join(found, left_on="c", right_on="cluster", how="left")["label"].to_list()
    ['a', 'a', 'a', None, None, 'b']
    """
    roles = {"cluster": cluster, "label": label, "weight": weight}
    table = contingency.with_defaults(contingency(frame, by=by, **roles))
    schema = table.collect_schema()
    check_noise(maximum_matching.bind(noise=noise), schema)
    slices = hidden_slices([column.meta.output_name() for column in columns_of(by)])
    keys = list(slices.values())
    # Sorted first, so that the choice among equally good matchings does not depend on the rows.
    lines = cells(table.rename(slices), keys, noise).sort("cluster", "label")
    values = {name: schema[name] for name in ("cluster", "label")}
    values["n"] = pl.Int64() if schema["w"].is_integer() else pl.Float64()

    def chosen(frame: pl.DataFrame) -> pl.DataFrame:
        mask = assigned(*(frame[name].cast(pl.Float64).to_numpy() for name in _NUMBERED))
        pairs = frame.filter(pl.Series(mask, dtype=pl.Boolean))
        return pairs.select(*keys, "cluster", "label", pl.col("w").cast(values["n"]).alias("n"))

    pairs = map_slices(_with_numbers(lines, keys), keys, chosen, values)
    return pairs.sort(*keys, "cluster", "label").rename({h: shown for shown, h in slices.items()})
