"""Diversity of lists: between the lists of users, and within a list.

Both are means over pairs, and both follow from sums of unit vectors: the mean cosine over all pairs
is (|sum of the unit vectors|^2 - their number) / (number of ordered pairs). Hamming distances
within a list follow from counts per value (`differing`). No pair is computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from polarsfair._engine.faults import Fault, raise_faults
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.metric import define
from polarsfair._engine.slices import aggregated, hidden, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import depths, lines_at, with_k
from polarsfair.ranking._inputs import BAD_FEATURE, REPEATED_ITEM
from polarsfair.ranking._lists.conventions import one_of
from polarsfair.ranking._shown.differing import (
    coded_features,
    differences_in_lists,
    members_of,
)
from polarsfair.ranking._shown.recs import (
    Shown,
    filled_table,
    inside,
    item_frame,
    per_k,
    shown_recs,
    with_sizes,
)
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._lists.ranks import Repeats

__all__ = ["inter_list_diversity", "intra_list_diversity", "overlaps", "spreads"]

Copies: TypeAlias = Literal["once", "drop", "error", "none"]

METRICS = ("cosine", "hamming")
"""The distances between items."""

_KNOWN, _LARGEST, _LENGTH = hidden("known"), hidden("largest"), hidden("length")


def _lists(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    ks: Sequence[int | None],
    repeats: Copies,
    **roles: Any,
) -> Shown:
    """Return every item of a list once, at its best rank."""
    one_of("repeats", repeats, ("once", "drop", "error", "none"))
    ranked = any(k is not None for k in ks)
    rule: Repeats = "once" if repeats == "none" else repeats
    found = shown_recs(rows, by, ranked=ranked, repeats=rule, **roles)
    if repeats != "once":
        return found
    best = [pl.col("rank").min()] if ranked else []
    sums = [pl.col(name).sum() for name in found.faults]
    once = found.rows.frame.group_by(*found.list_keys, "item").agg(*best, *sums)
    return replace(found, rows=replace(found.rows, frame=once))


def _count_overlaps(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
    repeats: Copies = "once",
) -> pl.LazyFrame:
    """Sum the unit vectors of all lists, item by item.

    The table has the slices, ``group``, ``k`` (null: the whole list) and ``item``, and two sums.
    ``unit`` is the sum of one over the root of the length, over the lists that hold the item.
    ``lists`` is the number of lists, in a row without an item. Tables can be merged if no user's
    rows are split between them.

    Parameters
    ----------
    rows, by, group, users, user, item
        As in `ranking.lists`, without a ground truth.
    score, rank
        At most one of them, needed for a `k`.
    k
        Cut-offs; None means the whole list.
    repeats
        An item that is listed twice counts ``"once"``, at its better rank; ``"drop"`` removes
        repeats before lists are cut, ``"error"`` refuses them. ``"none"`` does not look for them,
        which takes half the time: use it if there are no repeats.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 2, 2, 2, 2], "item": [7, 7, 8, 9, 10]})
    >>> ranking.overlaps(recs, user="user", item="item").sort("item").head(2)
    shape: (2, 4)
    ┌──────┬──────┬──────┬───────┐
    │ k    ┆ item ┆ unit ┆ lists │
    │ ---  ┆ ---  ┆ ---  ┆ ---   │
    │ i64  ┆ i64  ┆ f64  ┆ i64   │
    ╞══════╪══════╪══════╪═══════╡
    │ null ┆ null ┆ 0.0  ┆ 2     │
    │ null ┆ 7    ┆ 1.5  ┆ 0     │
    └──────┴──────┴──────┴───────┘
    """
    ks = depths(k)
    roles: dict[str, Any] = {"user": user, "item": item, "group": group, "users": users}
    found = _lists(rows, by, ks, repeats, score=score, rank=rank, **roles)
    return _overlaps(found, ks, once=repeats != "none")


def _overlaps(found: Shown, ks: Sequence[int | None], *, once: bool) -> pl.LazyFrame:
    columns: dict[str, pl.Expr] = {}
    for i, k in enumerate(ks):
        size = pl.col(hidden("size", i))
        columns[hidden("unit", i)] = pl.when(inside(k)).then(1 / size.sqrt()).otherwise(0.0)
        columns[hidden("lists", i)] = pl.when(inside(k)).then(1 / size).otherwise(0.0)
    rows = _with_sizes(found, ks, once=once).select(*found.keys, "item", *found.faults, **columns)
    wide = summed(rows, [*found.keys, "item"], [*columns, *found.faults]).cache()
    of_items = per_k(wide, [*found.keys, "item"], ("unit",), ks).filter(pl.col("unit") > 0)
    # A list adds one over its length for every item, in total 1.
    lists = [hidden("lists", i) for i in range(len(ks))]
    sums = {name: pl.col(name).sum().round().cast(pl.Int64) for name in lists}
    sums |= {name: pl.col(name).sum() for name in found.faults}
    counted = aggregated(wide, found.keys, sums)
    counts = per_k(counted, [*found.keys, *found.faults], ("lists",), ks)
    table = pl.concat([of_items, counts], how="diagonal")
    return filled_table(found, table, ("k", "item"), ("unit", "lists"))


def _with_sizes(found: Shown, ks: Sequence[int | None], *, once: bool) -> pl.LazyFrame:
    """Add the number of items within each k to every row of a list.

    Rows that were just grouped are in memory, so a window is cheap. Raw rows are joined with their
    counts, so that memory follows the lists.
    """
    counts = {hidden("size", i): inside(k).cast(pl.Int64) for i, k in enumerate(ks)}
    rows = found.rows.frame
    if not once:
        return with_sizes(found, rows, counts)
    return rows.with_columns(**counts).with_columns(
        pl.col(name).sum().over(found.list_keys) for name in counts
    )


def _count_spreads(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    items: IntoFrame | None = None,
    features: IntoFeatures | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
    repeats: Copies = "once",
    metric: str = "cosine",
) -> pl.LazyFrame:
    """Sum the mean distances between the items of a list, over lists.

    The table has the slices, ``group``, ``k`` (null: the whole list) and ``metric``, and the sums
    ``value`` (over lists, of the mean distance between two of their items) and ``users`` (lists
    with at least two items). Tables can be merged if no user's rows are split between them.

    Parameters
    ----------
    rows, by, group, users, user, item, score, rank, k, repeats
        As in `ranking.overlaps`.
    items, features
        A frame with a row per `item`, and its columns to compare by, or one of dtype Array (an
        embedding): numbers, or with ``metric="hamming"`` anything. An item that it lacks, or whose
        features are not all known, keeps its rank but is not compared.
    metric
        ``"cosine"``, or ``"hamming"``: the share of the features in which two items differ.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> items = pl.DataFrame({"item": [7, 8], "x": [1.0, 0.0], "y": [0.0, 2.0]})
    >>> ranking.spreads(recs, items=items, user="user", item="item", features=["x", "y"])
    shape: (1, 4)
    ┌──────┬────────┬───────┬───────┐
    │ k    ┆ metric ┆ value ┆ users │
    │ ---  ┆ ---    ┆ ---   ┆ ---   │
    │ i64  ┆ str    ┆ f64   ┆ i64   │
    ╞══════╪════════╪═══════╪═══════╡
    │ null ┆ cosine ┆ 1.0   ┆ 1     │
    └──────┴────────┴───────┴───────┘
    """
    one_of("metric", metric, METRICS)
    if items is None or features is None:
        msg = "item features are missing: add `items=<frame>, features=[...]`"
        raise TypeError(msg)
    ks, items = depths(k), as_lazy(items)
    roles: dict[str, Any] = {"user": user, "item": item, "group": group, "users": users}
    found = _lists(rows, by, ks, repeats, score=score, rank=rank, items=items, **roles)
    several = [features] if isinstance(features, (str, pl.Expr)) else list(features)
    hamming = metric == "hamming"
    columns = members_of(items, several, numeric=not hamming)
    faults = [pl.col(REPEATED_ITEM).sum()]
    if hamming:
        catalogue = coded_features(found, items, item, columns)
        lists = differences_in_lists(found, catalogue, len(columns), ks)
    else:
        catalogue = _unit_vectors(found, items, item, columns)
        lists = _cosines_in_lists(found, catalogue, len(columns), ks)
        faults += [pl.col(_LARGEST).is_infinite().sum().cast(pl.Int64).alias(BAD_FEATURE)]
    return _spreads(found, lists, catalogue.select(faults), metric, ks)


def _unit_vectors(
    found: Shown, items: pl.LazyFrame, item: IntoColumn | None, features: Sequence[pl.Expr]
) -> pl.LazyFrame:
    """Return the items' features at length 1, and whether they have a length (``vectors``)."""
    named = {hidden("unit", j): feature for j, feature in enumerate(features)}
    frame = item_frame(found.rows, items, item, named, "features")
    known = pl.all_horizontal(pl.col(name).is_not_null() for name in named)
    largest = pl.max_horizontal(pl.col(name).abs() for name in named)
    length = pl.sum_horizontal(pl.col(name) ** 2 for name in named).sqrt()
    frame = frame.with_columns(pl.col(*named).cast(pl.Float64).fill_nan(None))
    # Scaled by the largest first, so that no square overflows or underflows.
    frame = frame.with_columns(known.alias(_KNOWN), largest.alias(_LARGEST))
    frame = frame.with_columns(
        (pl.col(name) / pl.col(_LARGEST)).fill_nan(0.0) for name in named
    ).with_columns(length.alias(_LENGTH))
    long = pl.col(_LENGTH) > 0
    return frame.with_columns(
        pl.when(long).then(pl.col(name) / pl.col(_LENGTH)).otherwise(0.0) for name in named
    ).with_columns(vectors=long.cast(pl.Int64))


def _cosines_in_lists(
    found: Shown, catalogue: pl.LazyFrame, width: int, ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Return a line per list with its mean cosine distance within every k."""
    names = [*(hidden("unit", j) for j in range(width)), "vectors"]
    described = catalogue.select("item", _KNOWN, *names)
    rows = found.rows.frame.join(described, on="item", how="left")
    sums: dict[str, pl.Expr] = {}
    for i, k in enumerate(ks):
        counts = pl.col(_KNOWN).fill_null(value=False) & inside(k)
        sums |= {hidden(name, i): pl.when(counts).then(name) for name in names}
        sums[hidden("items", i)] = counts.cast(pl.Int64)
    rows = rows.select(*found.list_keys, *found.faults, **sums)
    lists = summed(rows, found.list_keys, [*sums, *found.faults])
    values = {hidden("value", i): _mean_distance(i, width) for i in range(len(ks))}
    return lists.select(*found.keys, *found.faults, **values)


def _spreads(
    found: Shown,
    lists: pl.LazyFrame,
    faults: pl.LazyFrame,
    metric: str,
    ks: Sequence[int | None],
) -> pl.LazyFrame:
    """Sum the values of lists; `faults` is one line of counts of faulty items."""
    counts = {hidden("users", i): pl.col(hidden("value", i)).is_not_null() for i in range(len(ks))}
    values = [hidden("value", i) for i in range(len(ks))]
    wide = summed(lists.with_columns(**counts), found.keys, [*values, *counts, *found.faults])
    table = per_k(wide, [*found.keys, *found.faults], ("value", "users"), ks)
    kind = pl.lit(metric).alias("metric")
    return filled_table(found, table.join(faults, how="cross"), ("k", kind), ("value", "users"))


def _mean_distance(number: int, width: int) -> pl.Expr:
    """Return the mean cosine distance over all pairs of one list, null if it has no pair."""
    items = pl.col(hidden("items", number))
    units = (pl.col(hidden(hidden("unit", j), number)) for j in range(width))
    squares = pl.sum_horizontal(unit**2 for unit in units)
    cosine = (squares - pl.col(hidden("vectors", number))) / (items * (items - 1))
    return pl.when(items > 1).then((1 - cosine).clip(0.0, 2.0))


overlaps = Tally(
    name="ranking.overlaps",
    count=_count_overlaps,
    cells=("group", "k", "item"),
    sums={"lists": pl.col("lists").sum(), "unit": pl.col("unit").sum()},
    defaults={},
    together=("user",),
    single=("repeats",),
)

spreads = Tally(
    name="ranking.spreads",
    count=_count_spreads,
    cells=("group", "k", "metric"),
    sums={"users": pl.col("users").sum(), "value": pl.col("value").sum()},
    defaults={},
    together=("user",),
    single=("repeats", "metric"),
)


def per_item(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None) -> pl.LazyFrame:
    """View one line per item, over all groups, and one with the number of lists."""
    lines = lines_at(table, k, ("unit", "lists"))
    return summed(lines, [*with_k(keys, k), "item"], ["unit", "lists"])


def per_list(
    table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None, metric: str = "cosine"
) -> pl.LazyFrame:
    """View the sums over lists at every requested k; a table of another distance is a fault."""
    del keys
    sums = ("value", "users")
    # Tables that were stored before there was a choice hold cosine distances.
    held = pl.col("metric") if "metric" in table.collect_schema() else pl.lit(None, pl.String)
    message = f"the table does not hold {metric} distances: make it with `metric={metric!r}`"
    other = Fault(held.fill_null("cosine") != metric, message)
    return raise_faults(lines_at(table, k, sums), [other], sums)


@define(
    overlaps,
    "outcome",
    ("user", "item"),
    of=ShownMetric,
    view=per_item,
    bounds=(0.0, 1.0),
    better="higher",
    ideal=1.0,
    n=pl.col("lists").sum,
)
def inter_list_diversity() -> pl.Expr:
    """Mean cosine distance between the lists of two users.

    Formula: ``mean over pairs of users of 1 - items in both lists / sqrt(length * other length)``.
    A list is the 0/1 vector of the items in its first `k`. The value is exact, from one sum per
    item: 1 - (sum over items of s^2 - U) / (U (U - 1)) with U users and s the sum, over the lists
    that hold the item, of one over the root of their length.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    k
        Look at the first k recommendations of each list only; None means all of them. A k needs
        `score` or `rank`. Among equal scores the lower item comes first.
    repeats
        An item that is listed twice counts ``"once"``; ``"drop"`` removes repeats before lists are
        cut, ``"error"`` refuses them, ``"none"`` does not look for them and is faster.

    Notes
    -----
    Undefined with fewer than two users. Jurity draws samples of users and takes the mean of their
    pairwise distances; with ``user_sample_size=None`` it returns the same value. Jurity counts a
    repeated item as often as it is listed, and rounds values below 1e-6 to 0. Also known as
    personalisation.

    References
    ----------
    Kaminskas, Bridge (2016). Diversity, Serendipity, Novelty, and Coverage: A Survey and Empirical
    Analysis of Beyond-Accuracy Objectives in Recommender Systems. ACM Transactions on Interactive
    Intelligent Systems 7(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 8, 9]})
    >>> round(recs.pipe(ranking.inter_list_diversity, user="user", item="item"), 6)
    0.5
    """
    lists = pl.col("lists").sum()
    cosine = ((pl.col("unit") ** 2).sum() - lists) / (lists * (lists - 1).cast(pl.Float64))
    return pl.when(lists > 1).then((1 - cosine).clip(0.0, 1.0))


@define(
    spreads,
    "outcome",
    ("items", "features", "user", "item"),
    of=ShownMetric,
    view=per_list,
    bounds=(0.0, 2.0),
    better="higher",
    ideal=2.0,
    n=pl.col("users").sum,
)
def intra_list_diversity() -> pl.Expr:
    """Mean distance between two items of a list, averaged over users.

    Formula: ``mean over users of the mean over pairs of items of 1 - cosine``, of the `features`
    (columns of `items`, a frame with a row per `item`) of different items in the first `k` of the
    list, over users with a pair. The value is exact, without computing pairs: 1 - (|sum of the unit
    vectors|^2 - number of vectors) / (n (n - 1)). With ``metric="hamming"`` the distance is the
    share of the features in which two items differ, from the number c of items with each value of
    each of F features: 1 - sum of c (c - 1) / (F n (n - 1)).

    Range 0 to 2; ideal 2; higher is better.

    Parameters
    ----------
    metric
        ``"cosine"``, of numeric features, or ``"hamming"``, of features of any dtype.
    k, repeats
        As in `inter_list_diversity`.

    Notes
    -----
    As in Jurity, an item whose features are all 0 has cosine distance 1 to any other item. Cosine
    distances reach 2 only with negative features, otherwise 1; Hamming distances reach 1. An item
    that `items` lacks, or of which a feature is unknown, has no distance to any item and is left
    out; Jurity raises an error. RecTools' Hamming distance is the number of features that differ:
    multiply the value by the number of features.

    References
    ----------
    Ziegler, McNee, Konstan, Lausen (2005). Improving Recommendation Lists Through Topic
    Diversification. WWW 2005. Hamming (1950). Error Detecting and Error Correcting Codes. Bell
    System Technical Journal 29(2), 147-160.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2, 2], "item": [7, 8, 7, 9]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "x": [1, 0, 2], "y": [0, 1, 0]})
    >>> recs.pipe(
    ...     ranking.intra_list_diversity, items=items, user="user", item="item", features=["x", "y"]
    ... )
    0.5
    >>> films = pl.DataFrame({"item": [7, 8, 9], "genre": ["a", "a", "b"], "sequel": [0, 1, 1]})
    >>> roles = {"items": films, "user": "user", "item": "item", "features": ["genre", "sequel"]}
    >>> recs.pipe(ranking.intra_list_diversity, **roles, metric="hamming")
    0.75
    """
    return quotient(pl.col("value").sum(), pl.col("users").sum())
