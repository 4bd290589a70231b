"""External measures of information: what the clusters say of the labels, and the reverse."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from polarsfair._engine.metric import define
from polarsfair._formula import quotient
from polarsfair.clustering._external.by_chance import expected_information, summed_up
from polarsfair.clustering._external.contingency import (
    SHARED,
    TIMES,
    aggregated,
    cells,
    check_noise,
    contingency,
    information_sums,
    known_cells,
    overlap,
    whole,
    with_terms,
    within,
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
_INFORMATION, _EXPECTED = pl.col("information").first(), pl.col("chance").first()
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
    """Give an amount of information in units of another base than e."""
    if not (0 < base < math.inf and base != 1):
        msg = f"`base` is a positive number other than 1, such as 2 for bits; got {base!r}"
        raise ValueError(msg)
    return nats / math.log(base)


def cluster_sizes(table: pl.LazyFrame, keys: Sequence[str], *, noise: Any = None) -> pl.LazyFrame:
    """View one line per cluster, whether its rows have a label or not."""
    lines = known_cells(table, keys, ("cluster",), noise)
    return lines.with_columns(total=within((TIMES * SHARED).sum(), keys))


def size_entropy() -> pl.Expr:
    """Give the entropy in nats of the lines of `cluster_sizes`."""
    share = SHARED.cast(pl.Float64) / pl.col("total").cast(pl.Float64)
    terms = pl.when(TIMES > 0).then(-TIMES.cast(pl.Float64) * share * share.log())
    # One cluster alone would give -0.0.
    return pl.when(TIMES.sum() > 0).then(terms.sum().abs())


def _with_chance(table: pl.LazyFrame, keys: Sequence[str], *, noise: Any = None) -> pl.LazyFrame:
    """View `overlap` with the mutual information that chance gives beside it."""
    margins = ["times", "w", "of_cluster", "of_label"]
    lines = cells(table, keys, noise)
    # Chance deals out rows one by one: a fraction of a row is a fault.
    dealt = lines.with_columns(whole(pl.col(name)).alias(name) for name in margins)
    chance = summed_up(margins, expected_information)
    lines = with_terms(dealt.with_columns(whole(pl.col("total"))))
    return aggregated(lines, keys, **information_sums(), chance=chance)


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

    Needs no label; every row with a cluster counts. ``cluster="y"`` gives the entropy of labels.

    Formula: H(C) = sum over clusters of (n_i / n) log(n / n_i). Between 0, one cluster, and the
    logarithm of the number of clusters, all of one size.

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    base
        Base of the logarithm: 2 gives bits; unless given, nats.
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
    >>> df = pl.DataFrame({"c": [1, 1, 2, 3]})
    >>> df.pipe(clustering.entropy, cluster="c", base=2)
    1.5
    """
    return in_base(size_entropy(), base)


@_distance()
def conditional_entropy(*, base: float = math.e) -> pl.Expr:
    """Entropy of the labels that is left when the cluster is known.

    Formula: H(T|C) = sum of (n_ij / n) log(n_i / n_ij). Between 0, every cluster has one label, and
    the entropy of the labels, clusters say nothing.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 gives bits; unless given, nats.
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
    """Entropy of the cells of the contingency table.

    Formula: H(C, T) = sum of (n_ij / n) log(n / n_ij). At least 0.

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    base
        Base of the logarithm: 2 gives bits; unless given, nats.
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
    >>> df = pl.DataFrame({"c": [1, 1, 2, 2], "y": ["a", "b", "b", "b"]})
    >>> df.pipe(clustering.joint_entropy, cluster="c", label="y", base=2)
    1.5
    """
    return in_base(_DEFINED.then(_H_JOINT), base)


@_external(("cluster", "label"), bounds=(0.0, math.inf), better="higher")
def mutual_information(*, base: float = math.e) -> pl.Expr:
    """Information that cluster and label have in common.

    Formula: I(C, T) = sum of p_ij log(p_ij / (p_i p_j)) with p = n / total. Between 0, independent,
    and the smaller of the two entropies, symmetric.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 gives bits; unless given, nats.
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

    Notes
    -----
    Summed from terms that are never negative, so that its digits are right near independence
    too. It grows with the number of clusters: see `nmi` and `adjusted_mutual_information`.

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

    Formula: I(C, T) / sqrt(H(C) H(T)); with ``average=`` "arithmetic", "min" or "max" that mean of
    the two entropies, with "joint" H(C, T). Between 0 and 1, symmetric. Partitions that coincide
    have 1, others without common information 0.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    average
        The mean of the two entropies: ``"geometric"``, ``"arithmetic"``, ``"min"``, ``"max"``, or
        ``"joint"`` for H(C, T).
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

    Notes
    -----
    The default is the chapter's; scikit-learn's is "arithmetic" (it was geometric before version
    0.22). From "min" over "geometric", "arithmetic" and "max" to "joint" values never rise.

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
    """Information that cluster and label do not have in common: a distance of partitions.

    Formula: H(T|C) + H(C|T). Between 0, the partitions coincide, and the logarithm of the number of
    rows, symmetric, and a metric.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    base
        Base of the logarithm: 2 gives bits; unless given, nats.
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
    """Give the share of an entropy that the other side explains; all of it where there is none."""
    value = (_INFORMATION / entropy_of).clip(0, 1)
    return _DEFINED.then(pl.when((left == 0) | (entropy_of == 0)).then(1.0).otherwise(value))


@_similarity()
def homogeneity() -> pl.Expr:
    """Share of the labels' entropy that the clusters explain.

    Formula: 1 - H(T|C) / H(T), 1 where there is one label only. Between 0 and 1; 1 when every
    cluster has one label. With the roles exchanged it is `completeness`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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

    Formula: 1 - H(C|T) / H(C), 1 where there is one cluster only. Between 0 and 1; 1 when every
    label is in one cluster. With the roles exchanged it is `homogeneity`.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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

    Formula: (1 + beta) h c / (beta h + c), 0 where both are 0. Between 0 and 1. ``beta`` above 1
    weighs completeness more, below 1 homogeneity; with 1 it is symmetric and the same as `nmi` with
    the arithmetic mean.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    beta
        Weight of completeness against homogeneity.
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

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
    ("cluster", "label"), view=_with_chance, ideal=1.0, bounds=(-math.inf, 1.0), better="higher"
)
def adjusted_mutual_information(*, average: Average = "arithmetic") -> pl.Expr:
    """Mutual information beyond what chance gives, normalised.

    Formula: (I - E[I]) / (mean(H(C), H(T)) - E[I]), where E[I] is the mean over all tables with the
    same margins and ``average`` is "arithmetic", "geometric", "min" or "max". It is 1 for
    partitions that coincide; about 0 by chance, and exactly 0 where one side is all rows together
    or each alone; symmetric.

    Range -inf to 1; ideal 1; higher is better.

    Parameters
    ----------
    average
        The mean of the two entropies: ``"arithmetic"``, ``"geometric"``, ``"min"`` or ``"max"``.
    noise
        A cluster whose rows are each made a cluster of their own, such as -1; unless given, it is a
        cluster like any other.

    Notes
    -----
    E[I] is summed over pairs of distinct margins, so that its cost depends on the table alone;
    weights are frequencies and have to be whole numbers.

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
