"""External measures from information theory: entropies and mutual information."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._engine.slices import aggregated, over
from polarsfair._formula import quotient
from polarsfair.clustering._external.by_chance import expected_information, number_of_slice
from polarsfair.clustering._external.contingency import (
    SHARED,
    TIMES,
    TOTAL,
    cells,
    check_noise,
    contingency,
    information_sums,
    known_cells,
    overlap,
    whole,
    with_terms,
)
from polarsfair.clustering._types import ClusteringMetric

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = [
    "adjusted_mutual_information",
    "completeness",
    "conditional_entropy",
    "entropy",
    "homogeneity",
    "joint_entropy",
    "mutual_information",
    "nmi",
    "v_measure",
    "variation_of_information",
]

Average: TypeAlias = Literal["geometric", "arithmetic", "min", "max", "joint"]

_H_CLUSTER, _H_LABEL, _H_JOINT = (
    pl.col(name).first() for name in ("h_cluster", "h_label", "h_joint")
)
_H_LABEL_GIVEN, _H_CLUSTER_GIVEN = (
    pl.col(name).first() for name in ("h_label_given", "h_cluster_given")
)
_INFORMATION, _EXPECTED = pl.col("information").first(), pl.col("expected_information").first()
_SAME, _N = pl.col("same").first(), pl.col("n").first()
_DEFINED = pl.when(_N > 0)

_AVERAGES: dict[str, pl.Expr] = {
    "geometric": _H_CLUSTER.sqrt() * _H_LABEL.sqrt(),
    "arithmetic": (_H_CLUSTER + _H_LABEL) / 2,
    "min": pl.min_horizontal(_H_CLUSTER, _H_LABEL),
    "max": pl.max_horizontal(_H_CLUSTER, _H_LABEL),
    "joint": _H_JOINT,
}


def _mean_entropy(average: str, among: Sequence[str]) -> pl.Expr:
    if average not in among:
        named = ", ".join(f'"{name}"' for name in among)
        msg = f"`average` is one of {named}; got {average!r}"
        raise ValueError(msg)
    return _AVERAGES[average]


def in_base(nats: pl.Expr, base: float) -> pl.Expr:
    """Return an amount of information in units of another base than e."""
    if not (0 < base < math.inf and base != 1):
        msg = f"`base` is a positive number other than 1, such as 2 for bits; got {base!r}"
        raise ValueError(msg)
    return nats / math.log(base)


def cluster_sizes(
    table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None
) -> pl.LazyFrame:
    """View one line per cluster, whether its rows have a label or not."""
    lines = known_cells(table, keys, ("cluster",), noise)
    return lines.with_columns(total=over((TIMES * SHARED).sum(), keys))


def size_entropy() -> pl.Expr:
    """Return the entropy in nats of the lines of `cluster_sizes`."""
    share = SHARED.cast(pl.Float64) / pl.col("total").cast(pl.Float64)
    terms = pl.when(TIMES > 0).then(-TIMES.cast(pl.Float64) * share * share.log())
    # The sum of a single cluster is -0.0.
    return pl.when(TIMES.sum() > 0).then(terms.sum().abs())


def _with_expected(
    table: pl.LazyFrame, keys: Sequence[str], *, noise: object = None
) -> pl.LazyFrame:
    """View `overlap` with the expected mutual information."""
    margins = ["times", "w", "of_cluster", "of_label"]
    lines = cells(table, keys, noise)
    # The expectation is over tables of whole rows: a fraction of a row is a fault.
    counted = lines.with_columns(whole(pl.col(name), TOTAL).alias(name) for name in margins)
    expected = number_of_slice(margins, expected_information)
    sums = {**information_sums(), "expected_information": expected}
    return aggregated(with_terms(counted), keys, sums)


_external = functools.partial(
    define,
    contingency,
    "quality",
    of=ClusteringMetric,
    view=overlap,
    check=check_noise,
)
_distance = functools.partial(
    _external, ("cluster", "label"), ideal=0.0, bounds=(0.0, math.inf), better="lower"
)
_similarity = functools.partial(
    _external, ("cluster", "label"), ideal=1.0, bounds=(0.0, 1.0), better="higher"
)


@_external(("cluster",), view=cluster_sizes, bounds=(0.0, math.inf))
def entropy(*, base: float = math.e) -> pl.Expr:
    """Entropy of the sizes of the clusters: how evenly rows are spread over them.

    It needs no label; every row with a cluster counts. ``cluster="y"`` returns the entropy of
    labels.

    Formula: H(C) = sum over clusters of (n_i / n) log(n / n_i). Between 0 (one cluster) and the
    logarithm of the number of clusters (all of the same size).

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    base
        Base of the logarithm: 2 returns bits. Default e, which returns nats.
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
    >>> df = pl.DataFrame({"c": [1, 1, 2, 3]})
    >>> df.pipe(clustering.entropy, cluster="c", base=2)
    1.5
    """
    return in_base(size_entropy(), base)


@_distance()
def conditional_entropy(*, base: float = math.e) -> pl.Expr:
    """Conditional entropy of the labels, given the clusters.

    Formula: H(T|C) = sum of (n_ij / n) log(n_i / n_ij). Between 0 (every cluster has one label)
    and the entropy of the labels (clusters and labels are independent).

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 returns bits. Default e, which returns nats.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    With the roles exchanged it is H(C|T).

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "b", "b"]})
    >>> df.pipe(clustering.conditional_entropy, cluster="c", label="y", base=2)
    0.5
    """
    return in_base(_DEFINED.then(_H_LABEL_GIVEN), base)


@_external(("cluster", "label"), bounds=(0.0, math.inf))
def joint_entropy(*, base: float = math.e) -> pl.Expr:
    """Joint entropy of clusters and labels: the entropy of the cells of the contingency table.

    Formula: H(C, T) = sum of (n_ij / n) log(n / n_ij). At least 0.

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    base
        Base of the logarithm: 2 returns bits. Default e, which returns nats.
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
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "b", "b"]})
    >>> df.pipe(clustering.joint_entropy, cluster="c", label="y", base=2)
    1.5
    """
    return in_base(_DEFINED.then(_H_JOINT), base)


@_external(("cluster", "label"), bounds=(0.0, math.inf), better="higher")
def mutual_information(*, base: float = math.e) -> pl.Expr:
    """Mutual information: the information that clusters and labels share.

    Formula: I(C, T) = sum of p_ij log(p_ij / (p_i p_j)) with p = n / total. Between 0 (independent)
    and the smaller of the two entropies. Symmetric.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 returns bits. Default e, which returns nats.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    It is a sum of terms that are never negative, so its digits are correct near independence too.
    It grows with the number of clusters: see `nmi` and `adjusted_mutual_information`.

    References
    ----------
    Zaki, Meira (2020). Data Mining and Machine Learning, 2nd edition, chapter 17. Cambridge
    University Press.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "a", "b", "b"]})
    >>> round(df.pipe(clustering.mutual_information, cluster="c", label="y", base=2), 12)
    1.0
    """
    return in_base(_DEFINED.then(_INFORMATION), base)


@_similarity()
def nmi(*, average: Average = "geometric") -> pl.Expr:
    """Mutual information normalised by a mean of the two entropies.

    Formula: I(C, T) / sqrt(H(C) H(T)); with ``average=`` "arithmetic", "min" or "max" the
    denominator is that mean of the two entropies, with "joint" H(C, T). Symmetric. It is 1 for
    partitions that coincide, and 0 for others that share no information.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    average
        The mean of the two entropies: ``"geometric"``, ``"arithmetic"``, ``"min"``, ``"max"``, or
        ``"joint"`` for H(C, T).
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    scikit-learn's default is "arithmetic" (it was "geometric" before version 0.22). Values never
    rise in the order "min", "geometric", "arithmetic", "max", "joint".

    References
    ----------
    Strehl, Ghosh (2002). Cluster Ensembles: A Knowledge Reuse Framework for Combining Multiple
    Partitions. JMLR 3, 583-617.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "c", "c"]})
    >>> round(df.pipe(clustering.nmi, cluster="c", label="y", average="arithmetic"), 4)
    0.8
    """
    scale = _mean_entropy(average, list(_AVERAGES))
    value = pl.when(scale > 0).then((_INFORMATION / scale).clip(0, 1)).otherwise(0.0)
    return _DEFINED.then(pl.when(_SAME).then(1.0).otherwise(value))


@_distance()
def variation_of_information(*, base: float = math.e) -> pl.Expr:
    """Variation of information: a distance between partitions, the information not shared.

    Formula: H(T|C) + H(C|T). Between 0 (the partitions coincide) and the logarithm of the number of
    rows. It is a metric, and so symmetric.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 returns bits. Default e, which returns nats.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Meilă (2007). Comparing Clusterings: An Information Based Distance. Journal of Multivariate
    Analysis 98(5), 873-895.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "c", "c"]})
    >>> df.pipe(clustering.variation_of_information, cluster="c", label="y", base=2)
    0.5
    """
    return in_base(_DEFINED.then(_H_LABEL_GIVEN + _H_CLUSTER_GIVEN), base)


def _explained(left: pl.Expr, entropy_of: pl.Expr) -> pl.Expr:
    """Return the share of an entropy that the other side explains, 1 if the entropy is 0."""
    value = (_INFORMATION / entropy_of).clip(0, 1)
    return _DEFINED.then(pl.when((left == 0) | (entropy_of == 0)).then(1.0).otherwise(value))


@_similarity()
def homogeneity() -> pl.Expr:
    """Share of the labels' entropy that the clusters explain.

    Formula: 1 - H(T|C) / H(T), 1 if there is only one label. It is 1 if every cluster has one
    label. With the roles exchanged it is `completeness`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Rosenberg, Hirschberg (2007). V-Measure: A Conditional Entropy-Based External Cluster Evaluation
    Measure. EMNLP-CoNLL 2007, 410-420.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]})
    >>> df.pipe(clustering.homogeneity, cluster="c", label="y")
    1.0
    """
    return _explained(_H_LABEL_GIVEN, _H_LABEL)


@_similarity()
def completeness() -> pl.Expr:
    """Share of the clusters' entropy that the labels explain.

    Formula: 1 - H(C|T) / H(C), 1 if there is only one cluster. It is 1 if every label is in one
    cluster. With the roles exchanged it is `homogeneity`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Rosenberg, Hirschberg (2007). V-Measure: A Conditional Entropy-Based External Cluster Evaluation
    Measure. EMNLP-CoNLL 2007, 410-420.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]})
    >>> round(df.pipe(clustering.completeness, cluster="c", label="y"), 4)
    0.6667
    """
    return _explained(_H_CLUSTER_GIVEN, _H_CLUSTER)


@_similarity()
def v_measure(*, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of homogeneity and completeness.

    Formula: (1 + beta) h c / (beta h + c), 0 if both are 0. ``beta`` above 1 weighs completeness
    more, below 1 homogeneity. With 1 it is symmetric, and the same as `nmi` with the arithmetic
    mean.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    beta
        Weight of completeness relative to homogeneity.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    References
    ----------
    Rosenberg, Hirschberg (2007). V-Measure: A Conditional Entropy-Based External Cluster Evaluation
    Measure. EMNLP-CoNLL 2007, 410-420.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 3], "y": ["a", "a", "b", "b"]})
    >>> round(df.pipe(clustering.v_measure, cluster="c", label="y"), 4)
    0.8
    """
    if not 0 <= beta < math.inf:
        msg = f"`beta` is a number of at least 0, got {beta!r}"
        raise ValueError(msg)
    h, c = _explained(_H_LABEL_GIVEN, _H_LABEL), _explained(_H_CLUSTER_GIVEN, _H_CLUSTER)
    mean = ((1 + beta) * h * c / (beta * h + c)).clip(0, 1)
    return _DEFINED.then(pl.when(h * c == 0).then(0.0).otherwise(mean))


@_external(
    ("cluster", "label"), view=_with_expected, ideal=1.0, bounds=(-math.inf, 1.0), better="higher"
)
def adjusted_mutual_information(*, average: Average = "arithmetic") -> pl.Expr:
    """Mutual information adjusted for agreement by chance, normalised.

    Formula: (I - E[I]) / (mean(H(C), H(T)) - E[I]), with E[I] the mean over all tables with the
    same margins and ``average`` "arithmetic", "geometric", "min" or "max". It is 1 for partitions
    that coincide and about 0 for random clusters. It is exactly 0 if one side has one cluster, or a
    cluster per row. Symmetric.

    Range -inf to 1; ideal 1; higher is better.

    Parameters
    ----------
    average
        The mean of the two entropies: ``"arithmetic"``, ``"geometric"``, ``"min"`` or ``"max"``.
    noise
        A cluster of which each row becomes a cluster of its own, such as -1. Default: no cluster is
        noise.

    Notes
    -----
    E[I] is summed over pairs of distinct margins, so its cost depends only on the table. Weights
    are frequencies and must be whole numbers.

    References
    ----------
    Vinh, Epps, Bailey (2010). Information Theoretic Measures for Clusterings Comparison: Variants,
    Properties, Normalization and Correction for Chance. JMLR 11, 2837-2854.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import clustering
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2, 3, 3], "y": ["a", "a", "b", "b", "b", "c"]})
    >>> round(df.pipe(clustering.adjusted_mutual_information, cluster="c", label="y"), 4)
    0.5024
    """
    among = [name for name in _AVERAGES if name != "joint"]
    scale = _mean_entropy(average, among) - _EXPECTED
    fixed = (_H_CLUSTER == 0) | (_H_LABEL == 0) | pl.col("one_side_alone").first()
    value = (
        pl.when(fixed).then(0.0).otherwise(quotient(_INFORMATION - _EXPECTED, scale).clip(None, 1))
    )
    return _DEFINED.then(pl.when(_SAME).then(1.0).otherwise(value))
