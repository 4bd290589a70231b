"""External measures over pairs of rows: in one cluster or not, of one label or not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.metric import define
from polarsfair._engine.slices import hidden_slices
from polarsfair._engine.tally import check_distinct
from polarsfair._formula import quotient
from polarsfair.clustering._external.contingency import check_noise, contingency, pairs
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from polarsfair._typing import ArrowStream, IntoColumn, IntoSlices

__all__ = [
    "adjusted_rand",
    "fowlkes_mallows",
    "hubert",
    "jaccard",
    "normalized_hubert",
    "pair_counts",
    "rand",
]

PAIRS = ("tp", "fp", "fn", "tn")

# The view has one line a slice.
_TP, _FP, _FN, _TN = (pl.col(name).first() for name in PAIRS)
_SAME, _N = pl.col("same").first(), pl.col("n").first()
_ALL = _TP + _FP + _FN + _TN
_tp, _fp, _fn, _tn = (count.cast(pl.Float64) for count in (_TP, _FP, _FN, _TN))

_EXACT = 1e19
"""Pairs up to which products of two numbers of pairs are exact in 128 bits."""


def _covariance() -> pl.Expr:
    """Give tp tn - fp fn, which cancels near independence, from exact products."""
    exact = (_TP * _TN - _FP * _FN).cast(pl.Float64)
    return pl.when(_ALL < _EXACT).then(exact).otherwise(_tp * _tn - _fp * _fn)


def _similarity(value: pl.Expr) -> pl.Expr:
    """Give 1 to partitions that coincide, also where the formula reads 0/0."""
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
    """Share of pairs in one cluster or of one label that are both.

    Formula: tp / (tp + fp + fn) with the counts of `pair_counts`. Symmetric. Partitions that
    coincide have 1, also when no pair is together.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
def rand() -> pl.Expr:
    """Share of pairs on which clusters and labels agree.

    Formula: (tp + tn) / (tp + fp + fn + tn). Symmetric. With many clusters most pairs are apart in
    both, so that chance alone comes near 1: see `adjusted_rand`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
    """Agreement on pairs beyond what chance gives.

    Formula: 2 (tp tn - fp fn) / ((tp + fn)(fn + tn) + (tp + fp)(fp + tn)), which is the Rand index
    less its mean over all tables with the same margins, scaled so that agreement has 1. It is 0 by
    chance, and symmetric. The same as Cohen's kappa of pairs.

    Range -0.5 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

    Notes
    -----
    Counts are 128 bit integers: products of pair counts leave 64 bits from some 50,000 rows on.

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
    """Geometric mean of precision and recall of pairs.

    Formula: tp / sqrt((tp + fp)(tp + fn)). Symmetric.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

    Notes
    -----
    Where every row is alone in both partitions they coincide and have 1; scikit-learn says 0.

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
    """Share of pairs that are in one cluster and of one label.

    Formula: tp / (tp + fp + fn + tn): Hubert's statistic, the mean over pairs of the product of the
    two 0/1 matrices "same cluster" and "same label". Symmetric; the highest value depends on the
    sizes: see `normalized_hubert`. Undefined with fewer than two rows.

    Range 0 to 1; no ideal; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
    """Correlation over pairs of being in one cluster with being of one label.

    Formula: (tp tn - fp fn) / sqrt((tp + fn)(tp + fp)(fp + tn)(fn + tn)), the phi coefficient of
    pairs. Symmetric. Undefined where one side does not vary: all rows together, or each alone.

    Range -1 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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


@overload
def pair_counts(
    frame: pl.LazyFrame,
    *,
    cluster: IntoColumn,
    label: IntoColumn,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    noise: Any = ...,
) -> pl.LazyFrame: ...
@overload
def pair_counts(
    frame: pl.DataFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    label: IntoColumn,
    weight: IntoColumn | None = ...,
    by: IntoSlices | None = ...,
    noise: Any = ...,
) -> pl.DataFrame: ...
def pair_counts(
    frame: pl.DataFrame | pl.LazyFrame | ArrowStream,
    *,
    cluster: IntoColumn,
    label: IntoColumn,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
    noise: Any = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Count pairs of rows by whether they share a cluster and a label.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    cluster, label
        The two partitions; rows that lack one are left out.
    weight
        Frequencies: whole numbers.
    by
        Slices: column names or expressions.
    noise
        A cluster whose rows are each a cluster of their own.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices and, as exact 128 bit integers, ``tp`` (pairs that share both), ``fp`` (the
        cluster only), ``fn`` (the label only) and ``tn`` (neither): a row per slice.

    Notes
    -----
    scikit-learn's ``pair_confusion_matrix`` holds twice these numbers. Precision of pairs is
    tp / (tp + fp), recall tp / (tp + fn). A stored table is read with its count as weight:
    ``pair_counts(table, cluster="cluster", label="label", weight="n")``. Arrow and pandas have no
    such integers; cast to Float64 before you leave Polars for them.

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
    table = contingency.with_defaults(contingency(as_lazy(frame), by=by, **roles))
    check_noise(adjusted_rand.bind(noise=noise), table.collect_schema())
    inner = hidden_slices([column.meta.output_name() for column in columns_of(by)])
    check_distinct([*inner, *PAIRS])
    keys = list(inner.values())
    counts = pairs(table.rename(inner), keys, noise=noise).select(*keys, *PAIRS)
    counts = counts.sort(keys) if keys else counts
    counts = counts.rename({name: shown for shown, name in inner.items()})
    return counts if is_lazy(frame) else collect(counts, frame)
