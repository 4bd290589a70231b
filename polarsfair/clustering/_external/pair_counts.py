"""External measures over pairs of rows: same cluster or not, same label or not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.metric import define
from polarsfair._engine.slices import hidden_slices
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import quotient
from polarsfair.clustering._external.contingency import check_noise, contingency, pairs
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoSlices

__all__ = [
    "adjusted_rand",
    "fowlkes_mallows",
    "hubert",
    "jaccard",
    "normalized_hubert",
    "pair_counts",
    "pair_f1",
    "rand",
]

PAIRS = ("tp", "fp", "fn", "tn")

# The view has one line per slice.
_TP, _FP, _FN, _TN = (pl.col(name).first() for name in PAIRS)
_SAME, _N = pl.col("same").first(), pl.col("n").first()
_ALL = _TP + _FP + _FN + _TN
_tp, _fp, _fn, _tn = (count.cast(pl.Float64) for count in (_TP, _FP, _FN, _TN))

_EXACT = 1e19
"""Number of pairs up to which products of two such numbers are exact in 128 bits."""


def _covariance() -> pl.Expr:
    """Return tp tn - fp fn, which cancels near independence, from exact products."""
    exact = (_TP * _TN - _FP * _FN).cast(pl.Float64)
    return pl.when(_ALL < _EXACT).then(exact).otherwise(_tp * _tn - _fp * _fn)


def _similarity(value: pl.Expr) -> pl.Expr:
    """Return 1 for partitions that coincide, also if the formula would be 0/0."""
    return pl.when(_N > 0).then(pl.when(_SAME).then(1.0).otherwise(value))


_paired = functools.partial(
    define,
    contingency,
    "quality",
    ("cluster", "label"),
    of=ClusteringMetric,
    view=pairs,
    ideal=1.0,
    better="higher",
    check=check_noise,
)


@_paired(bounds=(0.0, 1.0))
def jaccard() -> pl.Expr:
    """Of the pairs that share a cluster or a label, the share that shares both.

    Formula: tp / (tp + fp + fn) with the counts of `pair_counts`. Symmetric. It is 1 for partitions
    that coincide, even if no pair shares a cluster.

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
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "a", "b"]})
    >>> df.pipe(clustering.jaccard, cluster="c", label="y")
    0.25
    """
    return _similarity(quotient(_tp, _tp + _fp + _fn))


@_paired(bounds=(0.0, 1.0))
def pair_f1() -> pl.Expr:
    """F1 of pairs: harmonic mean of precision and recall over pairs of rows.

    Precision is the share of the pairs in one cluster that have one label, recall the share of the
    pairs with one label that are in one cluster.

    Formula: 2 tp / (2 tp + fp + fn) with the counts of `pair_counts`. Symmetric. It is 1 for
    partitions that coincide, even if no pair shares a cluster. It orders clusterings as `jaccard`,
    J, does: 2 J / (1 + J).

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    Also known as the Dice index of pairs. scikit-learn has no such metric; its
    ``pair_confusion_matrix`` holds twice the counts. `f_measure` compares clusters instead of
    pairs.

    References
    ----------
    Manning, Raghavan, Schütze (2008). Introduction to Information Retrieval, chapter 16. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "a", "b"]})
    >>> df.pipe(clustering.pair_f1, cluster="c", label="y")
    0.4
    """
    return _similarity(quotient(2 * _tp, 2 * _tp + _fp + _fn))


@_paired(bounds=(0.0, 1.0))
def rand() -> pl.Expr:
    """Share of pairs on which clusters and labels agree.

    Formula: (tp + tn) / (tp + fp + fn + tn). Symmetric. With many clusters most pairs are separated
    in both, so even random clusters score close to 1: see `adjusted_rand`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Rand (1971). Objective Criteria for the Evaluation of Clustering Methods. Journal of the
    American Statistical Association 66(336), 846-850.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "a", "b"]})
    >>> df.pipe(clustering.rand, cluster="c", label="y")
    0.5
    """
    return _similarity(quotient(_tp + _tn, _ALL.cast(pl.Float64)))


@_paired(bounds=(-0.5, 1.0))
def adjusted_rand() -> pl.Expr:
    """Rand index adjusted for agreement by chance.

    Formula: 2 (tp tn - fp fn) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn)). This is the Rand index
    minus its mean over all tables with the same margins, scaled so that full agreement is 1. It is
    0 on average for random clusters, and symmetric. The same as Cohen's kappa of pairs.

    Range -0.5 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    Counts are 128 bit integers, because products of pair counts exceed 64 bits from about 50,000
    rows on.

    References
    ----------
    Hubert, Arabie (1985). Comparing Partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2, 2], "y": ["a", "a", "b", "b", "a"]})
    >>> round(df.pipe(clustering.adjusted_rand, cluster="c", label="y"), 4)
    0.1667
    """
    scale = (_tp + _fn) * (_fn + _tn) + (_tp + _fp) * (_fp + _tn)
    return _similarity(quotient(2 * _covariance(), scale))


@_paired(bounds=(0.0, 1.0))
def fowlkes_mallows() -> pl.Expr:
    """Geometric mean of precision and recall over pairs of rows.

    Formula: tp / sqrt((tp + fp)(tp + fn)). Symmetric.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    If every row is alone in both partitions, they coincide and the value is 1; scikit-learn returns
    0.

    References
    ----------
    Fowlkes, Mallows (1983). A Method for Comparing Two Hierarchical Clusterings. Journal of the
    American Statistical Association 78(383), 553-569.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "b", "c"]})
    >>> round(df.pipe(clustering.fowlkes_mallows, cluster="c", label="y"), 4)
    0.7071
    """
    value = quotient(_tp, (_tp + _fp).sqrt() * (_tp + _fn).sqrt()).clip(0, 1)
    return _similarity(pl.when(_TP == 0).then(0.0).otherwise(value))


@_paired(bounds=(0.0, 1.0), ideal=None)
def hubert() -> pl.Expr:
    """Share of pairs that share both cluster and label.

    Formula: tp / (tp + fp + fn + tn): Hubert's statistic, the mean over pairs of the product of the
    two 0/1 matrices "same cluster" and "same label". Symmetric. The largest possible value depends
    on the sizes: see `normalized_hubert`. Undefined with fewer than two rows.

    Range 0 to 1; no ideal; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Hubert, Arabie (1985). Comparing Partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "b", "b"]})
    >>> round(df.pipe(clustering.hubert, cluster="c", label="y"), 4)
    0.3333
    """
    return quotient(_tp, _ALL.cast(pl.Float64))


@_paired(bounds=(-1.0, 1.0))
def normalized_hubert() -> pl.Expr:
    """Correlation, over pairs of rows, of sharing a cluster with sharing a label.

    Formula: (tp tn - fp fn) / sqrt((tp + fn)(tp + fp)(fp + tn)(fn + tn)), the phi coefficient of
    pairs. Symmetric. Undefined if one side does not vary: one cluster, or a cluster per row.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Hubert, Arabie (1985). Comparing Partitions. Journal of Classification 2, 193-218.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "b", "c"]})
    >>> round(df.pipe(clustering.normalized_hubert, cluster="c", label="y"), 4)
    0.6325
    """
    scale = [part.sqrt() for part in (_tp + _fn, _tp + _fp, _fp + _tn, _fn + _tn)]
    return quotient(_covariance(), scale[0] * scale[1] * scale[2] * scale[3]).clip(-1, 1)


@lazy_or_eager
def pair_counts(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    label: IntoColumn,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    noise: object = None,
) -> pl.LazyFrame:
    """Count pairs of rows by whether they share a cluster and a label.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, label
        The two partitions; rows that lack one do not count.
    weight
        Frequencies: whole numbers.
    by
        Slices: column names or expressions.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        One row per slice: the slices and, as exact 128 bit integers, ``tp`` (pairs that share
        both), ``fp`` (the cluster only), ``fn`` (the label only) and ``tn`` (neither).

    Notes
    -----
    scikit-learn's ``pair_confusion_matrix`` holds twice these numbers. Precision of pairs is
    tp / (tp + fp), recall tp / (tp + fn). To read a stored table, pass its count as weight:
    ``pair_counts(table, cluster="cluster", label="label", weight="n")``. Arrow and pandas do not
    have 128 bit integers: cast to Float64 before you convert.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "a", "b"]})
    >>> clustering.pair_counts(df, cluster="c", label="y")
    shape: (1, 4)
    ┌──────┬──────┬──────┬──────┐
    │ tp   ┆ fp   ┆ fn   ┆ tn   │
    │ ---  ┆ ---  ┆ ---  ┆ ---  │
    │ i128 ┆ i128 ┆ i128 ┆ i128 │
    ╞══════╪══════╪══════╪══════╡
    │ 1    ┆ 1    ┆ 2    ┆ 2    │
    └──────┴──────┴──────┴──────┘
    """
    roles = {"cluster": cluster, "label": label, "weight": weight}
    table = contingency.with_defaults(contingency(frame, by=by, **roles))
    check_noise(adjusted_rand.bind(noise=noise), table.collect_schema())
    slices = hidden_slices([column.meta.output_name() for column in columns_of(by)])
    check_distinct([*slices, *PAIRS])
    keys = list(slices.values())
    counts = pairs(table.rename(slices), keys, noise=noise).select(*keys, *PAIRS)
    counts = counts.sort(keys) if keys else counts
    return counts.rename({name: shown for shown, name in slices.items()})
