"""How rare the items are that users are shown, from popularities in the catalogue."""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.faults import Fault, raise_faults
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.slices import hidden, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import depths, lines_at
from polarsfair.ranking._shown.recs import (
    Shown,
    faulty_items,
    filled_table,
    inside,
    per_k,
    popular_items,
    shown_recs,
)
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser

__all__ = ["surprisal", "surprises"]

_BITS, _SUMS = hidden("bits"), ("users", "bits")


def _count_surprises(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    items: IntoFrame | None = None,
    popularity: IntoColumn | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
) -> pl.LazyFrame:
    """Sum the mean logarithm of the popularity of a list's items, over lists.

    The table has the slices, ``group`` (of users) and ``k`` (null: the whole list), and the sums
    ``users`` (lists) and ``bits`` (over lists, of the mean of log2 of the popularity, at least 1);
    ``largest`` is the largest popularity in the catalogue. Tables of one catalogue can be merged if
    no user's rows are split between them.

    Parameters
    ----------
    rows, by, group, users, user, item
        As in `ranking.lists`, without a ground truth. Every row counts, also of an item that is
        listed twice.
    score, rank
        At most one of them, needed for a `k`. Of equal scores the lower item comes first.
    items, popularity
        The catalogue, a frame with a row per `item`, and its column with the popularity. An item
        that it lacks counts as popularity 1.
    k
        Cut-offs; None means the whole list.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9]})
    >>> items = pl.DataFrame({"item": [7, 8], "buyers": [8, 2]})
    >>> ranking.surprises(recs, items=items, user="user", item="item", popularity="buyers")
    shape: (1, 4)
    ┌──────┬───────┬──────┬─────────┐
    │ k    ┆ users ┆ bits ┆ largest │
    │ ---  ┆ ---   ┆ ---  ┆ ---     │
    │ i64  ┆ i64   ┆ f64  ┆ f64     │
    ╞══════╪═══════╪══════╪═════════╡
    │ null ┆ 2     ┆ 2.0  ┆ 8.0     │
    └──────┴───────┴──────┴─────────┘
    """
    if items is None or popularity is None:
        msg = 'popularities are missing: add `items=<frame>, popularity="<column>"`'
        raise TypeError(msg)
    ks, items = depths(k), as_lazy(items)
    roles: dict[str, Any] = {"user": user, "item": item, "group": group, "users": users}
    roles |= {"score": score, "rank": rank, "items": items}
    found = shown_recs(rows, by, ranked=ks != [None], **roles)
    return _surprises(found, popular_items(found.rows, items, item, popularity), ks)


def _surprises(found: Shown, catalogue: pl.LazyFrame, ks: Sequence[int | None]) -> pl.LazyFrame:
    bits = pl.col("popularity").clip(1.0).log(2.0).alias(_BITS)
    rows = found.rows.frame.join(catalogue.select("item", bits), on="item", how="left")
    sums: dict[str, pl.Expr] = {}
    for i, k in enumerate(ks):
        counted = inside(k)
        sums[hidden("bits", i)] = pl.when(counted).then(pl.col(_BITS).fill_null(0.0)).otherwise(0.0)
        sums[hidden("items", i)] = counted.cast(pl.Int64)
    rows = rows.select(*found.list_keys, *found.faults, **sums)
    lists = summed(rows, found.list_keys, [*sums, *found.faults])
    values: dict[str, pl.Expr] = {}
    for i in range(len(ks)):
        size = pl.col(hidden("items", i))
        mean = pl.col(hidden("bits", i)) / size
        values[hidden("bits", i)] = pl.when(size > 0).then(mean).otherwise(0.0)
        values[hidden("users", i)] = (size > 0).cast(pl.Int64)
    lists = lists.select(*found.keys, *found.faults, **values)
    wide = summed(lists, found.keys, [*values, *found.faults])
    table = per_k(wide, [*found.keys, *found.faults], _SUMS, ks)
    largest = pl.col("popularity").max().alias("largest")
    table = table.join(catalogue.select(largest, *faulty_items()), how="cross")
    return filled_table(found, table, ("k",), (*_SUMS, "largest"))


surprises = Tally(
    name="ranking.surprises",
    count=_count_surprises,
    cells=("group", "k"),
    sums={**{name: pl.col(name).sum() for name in _SUMS}, "largest": pl.col("largest").max()},
    defaults={},
    together=("user",),
)


def among_users(
    table: pl.LazyFrame, keys: Sequence[str], *, k: Any = None, n_users: int | None = None
) -> pl.LazyFrame:
    """View the sums over lists at every requested k; more than `n_users` for an item is a fault."""
    del keys
    message = (
        f"`popularity` holds a value above `n_users={n_users}`: it is the number of those users"
        " that chose an item, so pass the number of users that it was counted over"
    )
    beyond = (pl.col("largest") > n_users).fill_null(value=False)
    return raise_faults(lines_at(table, k, _SUMS), [Fault(beyond, message)], _SUMS)


def _check(metric: Metric, schema: pl.Schema) -> None:
    del schema
    options = metric.options
    check_users(metric.name, options.get("n_users"))
    if not isinstance(options.get("normalized", True), bool):
        msg = f"`normalized` is True or False: got {options['normalized']!r}"
        raise ValueError(msg)


def check_users(name: str, n_users: Any) -> None:
    """Raise if the number of users is missing, or is not a number of users."""
    if n_users is None:
        msg = (
            f"`{name}` needs the number of users that `popularity` was counted over: add"
            " `n_users=...`"
        )
        raise ValueError(msg)
    whole = isinstance(n_users, Integral) and not isinstance(n_users, bool)
    if not whole or not 0 < int(n_users) < 2**63:
        msg = f"`n_users` is a number of users, a whole number from 1: got {n_users!r}"
        raise ValueError(msg)


@define(
    surprises,
    "outcome",
    ("items", "popularity", "user", "item"),
    of=ShownMetric,
    view=among_users,
    check=_check,
    bounds=(0.0, math.inf),
    better="higher",
    n=pl.col("users").sum,
)
def surprisal(*, n_users: int | None = None, normalized: bool = True) -> pl.Expr:
    """Mean rarity of the items that a user is shown: bits of the share of users who chose them.

    Formula: ``mean over users of the mean over their items of log2(n_users / max(1, popularity))``,
    divided by ``log2(n_users)``, for the first `k` of every list and users with recommendations.
    The popularity of an item is the number of users who chose it before, of `n_users`. An item that
    `items` lacks counts as popularity 1. The value is 0 if everybody knows all items that are
    shown, and 1 if at most one user knows each.

    Range 0 to inf; no ideal; higher is better.

    Parameters
    ----------
    n_users
        The number of users that `popularity` was counted over: needed, and at least the largest
        popularity.
    normalized
        Whether to divide by log2(n_users), so that the value is between 0 and 1. If not, it is
        between 0 and log2(n_users), in bits. Undefined for one user, if normalized.
    k
        As in `coverage`.

    Notes
    -----
    With ``normalized=False`` it is RecTools' mean inverse user frequency (MIUF). RePlay's surprisal
    is normalized too, but divides by k, so that short lists score lower. Both count popularity from
    the history: `popularity` is ``history.group_by("item").agg(pl.col("user").n_unique())``.
    `novelty` is relative to the sum of all popularities instead of the number of users.

    References
    ----------
    Zhou, Kuscsik, Liu, Medo, Wakeling, Zhang (2010). Solving the Apparent Diversity-Accuracy
    Dilemma of Recommender Systems. PNAS 107(10), 4511-4515.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9]})
    >>> items = pl.DataFrame({"item": [7, 8], "buyers": [8, 2]})
    >>> roles = {"user": "user", "item": "item", "popularity": "buyers"}
    >>> recs.pipe(ranking.surprisal, items=items, **roles, n_users=16)
    0.75
    >>> recs.pipe(ranking.surprisal, items=items, **roles, n_users=16, normalized=False)
    3.0
    """
    check_users("surprisal", n_users)
    whole = math.log2(n_users or 1)
    bits = (whole - quotient(pl.col("bits").sum(), pl.col("users").sum())).clip(0.0, whole)
    return quotient(bits, pl.lit(whole)) if normalized else bits
