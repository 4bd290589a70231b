"""Hits that popularity alone would not have found: serendipity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.frames import as_lazy
from polarsfair._engine.metric import define
from polarsfair._engine.slices import hidden, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import deepest, depths, lines_at, within
from polarsfair.ranking._inputs import SAME_RANK, fault_columns
from polarsfair.ranking._lists.conventions import one_of
from polarsfair.ranking._lists.masks import AT, check_order, list_inputs
from polarsfair.ranking._lists.ranks import Plan, Repeats, Ties, ranked_hits, relevant_pairs
from polarsfair.ranking._lists.users import lists_of_users
from polarsfair.ranking._shown.recs import faulty_items, per_k, popular_items
from polarsfair.ranking._types import RankingMetric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._inputs import Inputs

__all__ = ["finds", "serendipity"]

_POPULAR, _LENGTH = hidden("popularity rank"), hidden("length")
_SUMS = ("users", "gaps")


def _count_finds(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    items: IntoFrame | None = None,
    popularity: IntoColumn | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    relevance: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = AT,
    ties: Ties = "item",
    repeats: Repeats = "once",
    plan: Plan = "hits first",
) -> pl.LazyFrame:
    """Sum by how many ranks hits stand above their rank by popularity.

    The table has the slices, ``group``, ``k`` (null: the whole list) and ``n_rec``
    (recommendations of a user), and the sums ``users`` and ``gaps`` (over the hits of the first k:
    the item's rank by popularity minus its rank in the list, if that is above 0); ``items`` is the
    number of items of the catalogue. Tables of one catalogue can be merged if no user's rows are
    split between them.

    Parameters
    ----------
    rows, by, group, actual, users, user, item, score, rank, relevance, repeats, plan
        As in `ranking.lists`.
    items, popularity
        The catalogue, a frame with a row per `item`, and its column with the popularity. Equally
        popular items share a rank, and the next rank follows without a gap. An item of popularity
        0, or that the catalogue lacks, ranks after all N items, at N + 1.
    k
        Cut-offs; default 10. None means the whole list.
    ties
        As in `ranking.gains`.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "rank": [1, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 2], "item": [8, 9]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "sold": [9, 3, 0]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "popularity": "sold"}
    >>> ranking.finds(recs, actual, items=items, **roles).sort("n_rec")
    shape: (2, 5)
    ┌─────┬───────┬───────┬──────┬───────┐
    │ k   ┆ n_rec ┆ users ┆ gaps ┆ items │
    │ --- ┆ ---   ┆ ---   ┆ ---  ┆ ---   │
    │ i64 ┆ i64   ┆ i64   ┆ f64  ┆ i64   │
    ╞═════╪═══════╪═══════╪══════╪═══════╡
    │ 10  ┆ 1     ┆ 1     ┆ 3.0  ┆ 3     │
    │ 10  ┆ 2     ┆ 1     ┆ 0.0  ┆ 3     │
    └─────┴───────┴───────┴──────┴───────┘
    """
    if items is None or popularity is None:
        msg = 'popularities are missing: add `items=<frame>, popularity="<column>"`'
        raise TypeError(msg)
    items = as_lazy(items)
    frames: dict[str, Any] = {"actual": actual, "users": users, "items": items, "group": group}
    roles = {"item": item, "score": score, "rank": rank, "relevance": relevance}
    inputs = list_inputs(rows, by, repeats=repeats, user=user, **roles, **frames)
    one_of("ties", ties, ("item", "optimistic", "pessimistic", "expected"))
    check_order(inputs, ties, plan)
    ks, pairs = depths(k), relevant_pairs(inputs)
    hits = ranked_hits(inputs, pairs, ties=ties, plan=plan, depth=deepest(ks))
    catalogue = popular_items(inputs.recs, items, item, popularity)
    lines = lists_of_users(inputs, pairs, _gaps(inputs, hits, catalogue, ks), _names(ks))
    return _table(inputs, lines, catalogue, ks)


def _names(ks: Sequence[int | None]) -> list[str]:
    return [hidden("gaps", i) for i in range(len(ks))]


def _gaps(
    inputs: Inputs, hits: pl.LazyFrame, catalogue: pl.LazyFrame, ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Sum over the hits of every list how far each stands above its rank by popularity."""
    chosen = pl.when(pl.col("popularity") > 0).then("popularity")
    popular = chosen.rank("dense", descending=True).cast(pl.Int64).alias(_POPULAR)
    last = catalogue.select(pl.len().cast(pl.Int64).alias("items"))
    if "share" not in hits.collect_schema():
        hits = hits.with_columns(share=1.0)
    known = hits.join(catalogue.select("item", popular), on="item", how="left")
    known = known.join(last, how="cross")
    gap = (pl.col(_POPULAR).fill_null(pl.col("items") + 1) - pl.col("rank")).clip(0)
    each = gap.cast(pl.Float64) * pl.col("share")
    sums = {
        name: pl.when(within(pl.col("rank"), k)).then(each).otherwise(0.0)
        for name, k in zip(_names(ks), ks, strict=True)
    }
    if inputs.ranked:
        sums[SAME_RANK] = (pl.len().over([*inputs.keys, "rank"]) > 1).cast(pl.Int64)
    return summed(known.select(*inputs.keys, **sums), inputs.keys, sums)


def _table(
    inputs: Inputs, lines: pl.LazyFrame, catalogue: pl.LazyFrame, ks: Sequence[int | None]
) -> pl.LazyFrame:
    faults = fault_columns(lines.collect_schema().names())
    keys = [*inputs.all_keys, "n_rec"]
    wide = summed(lines, keys, ["users", *_names(ks), *faults])
    table = per_k(wide, [*keys, "users", *faults], ("gaps",), ks)
    facts = catalogue.select(pl.len().cast(pl.Int64).alias("items"), *faulty_items())
    counted = inputs.table(table.join(facts, how="cross"), ["k", "n_rec"], [*_SUMS, "items"])
    # Lists that were all taken out again, see `lists_of_users`, leave a line of 0.
    return counted.filter(pl.col("users") != 0) if inputs.of_actual else counted


finds = Tally(
    name="ranking.finds",
    count=_count_finds,
    cells=("group", "k", "n_rec"),
    sums={**{name: pl.col(name).sum() for name in _SUMS}, "items": pl.col("items").max()},
    defaults={},
    together=("user",),
    single=("ties", "repeats", "plan"),
)


def finds_at(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = AT) -> pl.LazyFrame:
    """View the lists at every requested k, with the number of ranks that each has."""
    del keys
    # The whole list has no k, and `min_horizontal` ignores null.
    length = pl.min_horizontal("k", "n_rec").alias(_LENGTH)
    return lines_at(table.with_columns(length), k, _SUMS)


_LISTED = pl.col("n_rec") > 0
"""Whether a user has recommendations."""


@define(
    finds,
    "quality",
    ("actual", "items", "popularity", "user", "item"),
    of=RankingMetric,
    view=finds_at,
    bounds=(0.0, 1.0),
    better="higher",
    n=pl.col("users").filter(_LISTED).sum,
)
def serendipity() -> pl.Expr:
    """Relevance of recommendations that a ranking by popularity would have placed lower.

    Formula per user: ``sum of max(q - r, 0) / N over the ranks r <= k of hits``, divided by
    ``min(k, n_rec)``, averaged over users with recommendations. N is the number of items of
    `items`, and q the item's rank by popularity: the most popular items have rank 1, equally
    popular ones the same rank, and the next rank follows without a gap. An item of popularity 0, or
    that `items` lacks, has rank N + 1.

    Range 0 to 1; no ideal; higher is better.

    Parameters
    ----------
    k
        Ranks to look at: one number, None for whole lists, or several (a ``k`` column). Default 10.
    ties
        Which of equal scores comes first: ``"item"`` (the lower id), ``"optimistic"`` (the relevant
        one) or ``"pessimistic"`` (the others). With ``"expected"`` it is the mean over all orders.
    repeats
        A pair that is repeated counts ``"once"``; ``"drop"`` also removes its other ranks,
        ``"error"`` refuses it.
    plan
        ``"hits first"`` or, faster if most rows are hits, ``"window"``: the same value.

    Notes
    -----
    As in RecTools, whose code divides by the number of recommendations within k; its description
    divides by k. RecTools counts popularity from the history, here it is a column of `items`. The
    serendipity of Microsoft's recommenders is another quantity: relevance times one minus the mean
    similarity with the user's history.

    References
    ----------
    Kaminskas, Bridge (2016). Diversity, Serendipity, Novelty, and Coverage: A Survey and Empirical
    Analysis of Beyond-Accuracy Objectives in Recommender Systems. ACM Transactions on Interactive
    Intelligent Systems 7(1).

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "rank": [1, 2, 1]})
    >>> actual = pl.DataFrame({"user": [1, 2], "item": [8, 9]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "sold": [9, 3, 0]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "popularity": "sold"}
    >>> recs.pipe(ranking.serendipity, actual, items=items, **roles, k=2)
    0.5
    """
    gaps = (pl.col("gaps") / pl.col(_LENGTH)).filter(_LISTED).sum()
    return quotient(gaps / pl.col("items").max(), pl.col("users").filter(_LISTED).sum())
