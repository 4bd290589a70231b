"""Fairness of clusterings: how groups are distributed over clusters."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.group_pairs import (
    OTHER_GROUP,
    beside_group,
    every_pair,
    few_pairs,
    other_of,
    sums_of_the_rest,
)
from polarsfair._engine.metric import OfGroups, define
from polarsfair._engine.reference import OVERALL, Everyone
from polarsfair._engine.rows import WEIGHTED_SUMS, count_cells, key
from polarsfair._engine.slices import every_slice, hidden_slices, joined, over
from polarsfair._engine.tally import Drawn, Tally, check_distinct
from polarsfair._formula import quotient
from polarsfair.clustering._external.information import cluster_sizes, in_base, size_entropy
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoGroup, IntoSlices

__all__ = [
    "cluster_balance",
    "cluster_entropy",
    "cluster_kl",
    "cluster_shares",
    "cluster_total_variation",
    "clusters",
    "min_cluster_ratio",
]

_WEIGHT, _OF_CLUSTER, _OF_GROUP = pl.col("w"), pl.col("of_cluster"), pl.col("of_group")
_OTHER_WEIGHT, _OF_OTHER = pl.col(other_of("w")), pl.col(other_of("of_group"))


def _count_clusters(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None = None,
    cluster: IntoColumn | None = None,
    weight: IntoColumn | None = None,
) -> pl.LazyFrame:
    """Count rows per group and cluster.

    The table has the slices, ``group`` and ``cluster`` of any plain dtype (only the roles that were
    given; null if unknown), ``n`` rows, and with ``weight`` also ``w`` and ``w2``. Tables can be
    merged.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M"], "c": [1, 2, 2]})
    >>> fairness.clusters(df, group="sex", cluster="c").sort("group", "cluster")
    shape: (3, 3)
    ┌───────┬─────────┬─────┐
    │ group ┆ cluster ┆ n   │
    │ ---   ┆ ---     ┆ --- │
    │ str   ┆ i64     ┆ i64 │
    ╞═══════╪═════════╪═════╡
    │ F     ┆ 1       ┆ 1   │
    │ F     ┆ 2       ┆ 1   │
    │ M     ┆ 2       ┆ 1   │
    └───────┴─────────┴─────┘
    """
    return count_cells(rows, by, group=group, cells={"cluster": key(cluster)}, weight=weight)


clusters = Tally(
    name="fairness.clusters",
    count=_count_clusters,
    cells=("group", "cluster"),
    sums=WEIGHTED_SUMS,
    drawn=Drawn(),
)


def _clustered(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return a line per group and cluster that have rows; rows of unknown cluster do not count."""
    counted = table.filter(pl.col("cluster").is_not_null() & (_WEIGHT > 0))
    cells = counted.group_by(*keys, "group", "cluster").agg(pl.col("n", "w").sum())
    return cells.with_columns(_WEIGHT.cast(pl.Float64))


def _full_table(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Return a line per known group and cluster of the slice, with weight 0 if there are no rows.

    ``of_cluster`` and ``total`` also count rows of unknown group. Groups without a clustered row
    have no line.
    """
    clusters_of = pl.col("cluster").n_unique()
    cells = few_pairs(_clustered(table, keys), keys, clusters_of, "in clusters").cache()
    groups = cells.filter(pl.col("group").is_not_null()).select(*keys, "group").unique()
    of_cluster = cells.group_by(*keys, "cluster").agg(of_cluster=_WEIGHT.sum())
    full = joined(joined(groups, of_cluster, keys), cells, [*keys, "group", "cluster"], how="left")
    return full.with_columns(pl.col("n").fill_null(0), pl.col("w").fill_null(0.0)).with_columns(
        of_group=_WEIGHT.sum().over(*keys, "group"),
        total=_OF_CLUSTER.sum().over(*keys, "group"),
    )


def _shares(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View one line per group and cluster that have rows: the group's share there over its share.

    ``absent`` is whether a group of the slice has no rows in a cluster.
    """
    # The reference changes nothing, but a misspelt one is an error as everywhere.
    del ref
    known = pl.col("group").is_not_null()
    lines = _clustered(table, keys).with_columns(
        of_cluster=_WEIGHT.sum().over(*keys, "cluster"),
        of_group=_WEIGHT.sum().over(*keys, "group"),
        total=over(_WEIGHT.sum(), keys),
        clusters=over(pl.col("cluster").n_unique().cast(pl.Int64), keys),
    )
    here = pl.len().over(*keys, "group") < pl.col("clusters")
    ratio = (_WEIGHT * pl.col("total")) / (_OF_CLUSTER * _OF_GROUP)
    lines = lines.with_columns(ratio=ratio, absent=here).filter(known)
    return every_slice(table, lines, keys)


def _distributions(table: pl.LazyFrame, keys: Sequence[str], *, ref: Any = None) -> pl.LazyFrame:
    """View one line per pair of groups: the distances of their distributions over clusters."""
    p, q = _WEIGHT / _OF_GROUP, _OTHER_WEIGHT / _OF_OTHER
    seen = (_WEIGHT > 0) | (_OTHER_WEIGHT > 0)
    pair = [*keys, "group", *[OTHER_GROUP] * (ref is None)]
    lines = (
        _with_other(_full_table(table, keys), keys, ref)
        .filter((_OF_GROUP > 0) & (_OF_OTHER > 0))
        .group_by(pair)
        .agg(
            variation=(p - q).abs().sum() / 2,
            divergence=pl.when(_WEIGHT > 0).then(p * (p / q).log()).sum().clip(0),
            ratio=(_WEIGHT / _OTHER_WEIGHT).filter(seen).min(),
        )
    )
    return every_slice(table, lines, keys)


def _with_other(full: pl.LazyFrame, keys: Sequence[str], ref: Any) -> pl.LazyFrame:
    """Add the other side's weight in the cluster, and in all clusters, to every group's own."""
    values, within = ["w", "of_group"], [*keys, "cluster"]
    lines = full.select(*within, "group", *values)
    if ref is None:
        return every_pair(lines, values, within)
    if not isinstance(ref, Everyone):
        return beside_group(lines, values, within, ref)
    # Every group has one line per cluster, so that the sizes of the groups add up to the total.
    if ref is OVERALL:
        return lines.with_columns(pl.col(n).sum().over(within).alias(other_of(n)) for n in values)
    rest = sums_of_the_rest(lines, keys, ["cluster"], values)
    rest = rest.rename({name: other_of(name) for name in values})
    return joined(lines, rest, [*within, "group"], how="left")


def _sizes(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View one line per cluster; every cluster counts, without the option ``noise``."""
    return cluster_sizes(table, keys)


_of_clusters = functools.partial(define, clusters, "outcome", of=FairnessMetric)


@_of_clusters(
    ("group", "cluster"),
    view=_shares,
    ideal=1.0,
    bounds=(0.0, 1.0),
    better="higher",
    n=OfGroups(compared=False),
)
def cluster_balance() -> pl.Expr:
    """Smallest agreement of a group's share of a cluster with its share of all rows.

    Formula: min over groups g and clusters c of min(r, 1/r), r = (n_gc / n_c) / (n_g / n). Rows of
    unknown group count in n_c and n; rows of unknown cluster do not count. If a group is absent
    from a cluster, the value is exactly 0. Every group is compared, with and without ``ref``.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    ref
        Does not change the value; a misspelt one is an error, as everywhere.

    Notes
    -----
    HolisticAI's page defines min n_gc / n_c, for under-represented groups only. Its code computes
    the formula above, with 1e-20 instead of 0. `cluster_shares` has both other definitions: the
    page's is the smallest ``share``; the smallest ``ratio``, without 1/r, ignores
    over-representation.

    References
    ----------
    Chierichetti, Kumar, Lattanzi, Vassilvitskii (2017). Fair Clustering Through Fairlets. NIPS
    2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "F", "F", "M"], "c": [1, 1, 1, 2, 2, 2]})
    >>> round(df.pipe(fairness.cluster_balance, group="sex", cluster="c"), 4)
    0.6667
    >>> shares = fairness.cluster_shares(df, group="sex", cluster="c")
    >>> round(shares["share"].min(), 4), round(shares["ratio"].min(), 4)
    (0.3333, 0.6667)
    """
    ratio = pl.col("ratio")
    smallest = pl.min_horizontal(ratio, 1 / ratio).min()
    return pl.when(pl.col("absent").any()).then(0.0).otherwise(smallest)


_compared = functools.partial(_of_clusters, ("group", "cluster"), view=_distributions)


@_compared(bounds=(0.0, math.inf), ideal=1.0, better="ideal")
def min_cluster_ratio() -> pl.Expr:
    """Smallest ratio of group rows to reference rows in any cluster.

    Formula: min over clusters of n_gc / n_rc, g the group and r the reference ``ref``. With several
    groups it is the smallest of all; without ``ref``, the smallest over all ordered pairs. A
    cluster with neither is left out; in a cluster with only the group, the ratio is infinite.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    It compares numbers of rows, not shares: with groups of different sizes it cannot be 1 in every
    cluster. HolisticAI adds 1e-32 to n_rc, so that x/0 is a large number there, and counts a
    cluster with neither group as 0.

    References
    ----------
    Chierichetti, Kumar, Lattanzi, Vassilvitskii (2017). Fair Clustering Through Fairlets. NIPS
    2017.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "F", "F", "M"], "c": [1, 1, 1, 2, 2, 2]})
    >>> df.pipe(fairness.min_cluster_ratio, group="sex", cluster="c", ref="M")
    0.5
    """
    return pl.col("ratio").min()


@_compared(bounds=(0.0, 1.0), ideal=0.0, better="lower")
def cluster_total_variation() -> pl.Expr:
    """Total variation distance between two groups' distributions over clusters.

    The share of a group that would have to change cluster to have the distribution of the
    reference.

    Formula: half the sum over clusters of abs(p_gc - p_rc), p_gc the share of group g that is in c.
    With ``ref``, the group farthest from it; without, the farthest pair. It is symmetric.

    Range 0 to 1; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).

    Notes
    -----
    HolisticAI's page multiplies by the number of clusters, its code does not.

    References
    ----------
    Levin, Peres, Wilmer (2009). Markov Chains and Mixing Times, chapter 4. American Mathematical
    Society.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "F"], "c": [1, 1, 1, 2]})
    >>> df.pipe(fairness.cluster_total_variation, group="sex", cluster="c")
    0.5
    """
    return pl.col("variation").max()


@_compared(bounds=(0.0, math.inf), ideal=0.0, better="lower")
def cluster_kl(*, base: float = math.e) -> pl.Expr:
    """Kullback-Leibler divergence of a group's distribution over clusters from the reference's.

    Formula: sum over clusters of p_gc log(p_gc / p_rc), in nats or in another ``base``. With
    ``ref``, the largest of any group from it; without, the largest over ordered pairs. It is not
    symmetric. A cluster that only the group has makes it infinite.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    ref
        A group, ``pf.OVERALL`` (all rows of known group) or ``pf.REST`` (all other groups).
    base
        Base of the logarithm: 2 for bits; default e, for nats.

    Notes
    -----
    HolisticAI's page and code return the same for two groups. Without any rows it returns 0, and
    for an empty group NaN; both are undefined here.

    References
    ----------
    Kullback, Leibler (1951). On Information and Sufficiency. Annals of Mathematical Statistics
    22(1), 79-86.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "F"], "c": [1, 1, 2, 1]})
    >>> df.pipe(fairness.cluster_kl, group="sex", cluster="c", ref="M", base=2)
    1.0
    """
    return in_base(pl.col("divergence").max(), base)


@_of_clusters(("cluster",), view=_sizes, bounds=(0.0, math.inf))
def cluster_entropy(*, base: float = math.e) -> pl.Expr:
    """Entropy of the distribution over clusters: how evenly rows, or a group, are distributed.

    Formula: sum over clusters of p_c log(1 / p_c), in nats or in another ``base``. It is a value of
    all rows, like a rate: per group with ``by=``, compared with `difference` or `ratio`. It is 0
    for one cluster, and at most the logarithm of the number of clusters.

    Range 0 to inf; a description, no ideal.

    Parameters
    ----------
    base
        Base of the logarithm: 2 for bits; default e, for nats.

    Notes
    -----
    HolisticAI computes it for one group at a time, by the same formula, and omits it from its table
    of clustering metrics.

    References
    ----------
    Shannon (1948). A Mathematical Theory of Communication. Bell System Technical Journal 27.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "c": [1, 2, 2, 2]})
    >>> spread = fairness.cluster_entropy.bind(base=2)
    >>> df.pipe(fairness.difference(spread), group="sex", cluster="c", ref="M")
    1.0
    """
    return in_base(size_entropy(), base)


@lazy_or_eager
def cluster_shares(
    frame: pl.LazyFrame,
    *,
    group: IntoGroup,
    cluster: IntoColumn,
    weight: IntoColumn | None = None,
    by: IntoSlices | None = None,
) -> pl.LazyFrame:
    """Return every group's share of every cluster, with its share of all rows.

    Parameters
    ----------
    frame
        Eager or lazy rows.
    group, cluster, weight
        The roles, as in `cluster_balance`. Rows of unknown group count in the totals.
    by
        Slices: column names or expressions.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``cluster``, ``group``, ``n`` rows, ``share`` of the cluster, ``overall_share``
        and ``ratio`` of the two, which use weights. Groups that a cluster lacks have a row too;
        groups without a row of known cluster have none.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", "M", "F"], "c": [1, 1, 1, 2]})
    >>> fairness.cluster_shares(df, group="sex", cluster="c")
    shape: (4, 6)
    ┌─────────┬───────┬─────┬──────────┬───────────────┬──────────┐
    │ cluster ┆ group ┆ n   ┆ share    ┆ overall_share ┆ ratio    │
    │ ---     ┆ ---   ┆ --- ┆ ---      ┆ ---           ┆ ---      │
    │ i64     ┆ str   ┆ i64 ┆ f64      ┆ f64           ┆ f64      │
    ╞═════════╪═══════╪═════╪══════════╪═══════════════╪══════════╡
    │ 1       ┆ F     ┆ 1   ┆ 0.333333 ┆ 0.5           ┆ 0.666667 │
    │ 1       ┆ M     ┆ 2   ┆ 0.666667 ┆ 0.5           ┆ 1.333333 │
    │ 2       ┆ F     ┆ 1   ┆ 1.0      ┆ 0.5           ┆ 2.0      │
    │ 2       ┆ M     ┆ 0   ┆ 0.0      ┆ 0.5           ┆ 0.0      │
    └─────────┴───────┴─────┴──────────┴───────────────┴──────────┘
    """
    inner = hidden_slices([column.meta.output_name() for column in columns_of(by)])
    check_distinct([*inner, "share", "overall_share", "ratio"])
    keys = list(inner.values())
    table = clusters(frame, by=by, group=group, cluster=cluster, weight=weight)
    table = clusters.with_defaults(table).rename(inner)
    share, overall = _WEIGHT / _OF_CLUSTER, _OF_GROUP / pl.col("total")
    ratio = quotient(_WEIGHT * pl.col("total"), _OF_CLUSTER * _OF_GROUP)
    return (
        _full_table(table, keys)
        .select(*keys, "cluster", "group", "n", share=share, overall_share=overall, ratio=ratio)
        .sort(*keys, "cluster", "group")
        .rename({name: shown for shown, name in inner.items()})
    )
