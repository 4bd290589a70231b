"""The table of ranked lists: the ranks of hits as bits of a mask, counted over users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.faults import Fault, checked
from polarsfair._engine.rows import Role
from polarsfair._engine.slices import hidden
from polarsfair._engine.tally import Tally
from polarsfair.ranking._depths import at_every_k, deepest, depths, several
from polarsfair.ranking._inputs import SAME_RANK, check_ordered, grade_of, order_roles, resolve
from polarsfair.ranking._lists.conventions import one_of
from polarsfair.ranking._lists.ranks import (
    COPIES,
    Plan,
    Repeats,
    Ties,
    ranked_hits,
    relevant_pairs,
    without_repeats,
)
from polarsfair.ranking._lists.users import count_lists, lists_of_users

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._inputs import Inputs

__all__ = ["lists"]

WORD = 64
"""Ranks per mask column."""

MOST = 1024
"""The last rank that a table of lists can keep."""

AT = 10
"""The default depth of a quality metric."""

MASKS = ("hits", *(f"hits_{first}" for first in range(WORD + 1, MOST, WORD)))

K, N_REL, N_REC, USERS = (pl.col(c) for c in (hidden("k"), "n_rel", "n_rec", "users"))
"""The columns that the views of both tables have, in addition to the hits."""


def _count_lists(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    relevance: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int] = WORD,
    ties: Ties = "item",
    repeats: Repeats = "once",
    plan: Plan = "hits first",
) -> pl.LazyFrame:
    """Count users by the ranks of their hits.

    The table has the slices, ``group``, ``hits`` (a mask: bit r - 1 is set if rank r is a hit;
    ``hits_65``, ``hits_129``, ... for the ranks beyond), ``n_rel`` (relevant items; null for users
    who are not in `actual`), ``n_rec`` (recommendations) and ``depth`` (the last rank kept, `k`);
    and the sums ``users`` and ``repeats`` (further copies of hits, which count once).
    Tables can be merged if no user's rows are split between them.

    Parameters
    ----------
    rows
        Recommendations: a row per user and item.
    by, group
        Columns of the recommendations (several models in one frame), of `actual`, or of `users`.
        A column that both frames have identifies a list. A column that one frame has slices that
        frame alone, and the other frame is whole in every slice. A group in these two frames splits
        a user's list into one per group: request values of all users in a call without it.
    actual
        Ground truth: a row per user and item.
    user, item
        The ids, in both frames. Several columns of `user`, such as a user and a day, are one key;
        a row that lacks one of them is left out. Ids of different dtypes are brought together if
        that is exact: whole numbers, or texts.
    score, rank
        One of them: a score (higher is better; null and NaN come last), or ranks from 1. If `item`
        is a list (a row per user), they are lists of the same length, or the order of the list is
        the rank. A user with an empty list has no recommendations.
    relevance
        Boolean, or a number, relevant if above 0. Without it, every row of `actual` is relevant.
    users
        A frame keyed by `user`, or by those of its columns that it has, with further columns for
        `by` and `group`.
    k
        The last rank to keep, at most 1024.
    ties
        Among equal scores: the lower ``"item"`` first, the relevant first (``"optimistic"``) or
        last (``"pessimistic"``).
    repeats
        An item that is listed or relevant twice counts ``"once"`` (but keeps its ranks);
        ``"drop"`` removes repeats first, ``"error"`` refuses them.
    plan
        ``"hits first"`` or, faster if most rows are hits, ``"window"``: the same table.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 2, 2], "item": [8, 7, 9]})
    >>> ranking.lists(recs, actual, user="user", item="item", score="score").sort("n_rel")
    shape: (2, 6)
    ┌──────┬───────┬───────┬───────┬───────┬─────────┐
    │ hits ┆ n_rel ┆ n_rec ┆ depth ┆ users ┆ repeats │
    │ ---  ┆ ---   ┆ ---   ┆ ---   ┆ ---   ┆ ---     │
    │ u64  ┆ i64   ┆ i64   ┆ i64   ┆ i64   ┆ i64     │
    ╞══════╪═══════╪═══════╪═══════╪═══════╪═════════╡
    │ 2    ┆ 1     ┆ 2     ┆ 64    ┆ 1     ┆ 0       │
    │ 1    ┆ 2     ┆ 1     ┆ 64    ┆ 1     ┆ 0       │
    └──────┴───────┴───────┴───────┴───────┴─────────┘
    """
    frames: dict[str, Any] = {"actual": actual, "users": users, "group": group, "user": user}
    roles = {"item": item, "score": score, "rank": rank, "relevance": relevance}
    inputs = list_inputs(rows, by, repeats=repeats, **roles, **frames)
    depth = _depth(k)
    one_of("ties", ties, ("item", "optimistic", "pessimistic"))
    check_order(inputs, ties, plan)
    return _masks_table(inputs, depth, ties=ties, plan=plan)


def list_inputs(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    score: IntoColumn | None,
    rank: IntoColumn | None,
    relevance: IntoColumn | None,
    repeats: Repeats,
    **others: Any,
) -> Inputs:
    """Resolve the roles of ranked lists; `others` are those that `resolve` takes."""
    inputs = resolve(
        rows,
        by,
        rec_roles=order_roles(score, rank),
        actual_roles={"relevance": Role(relevance, grade_of)},
        **others,
    )
    check_ordered(inputs)
    return without_repeats(inputs, one_of("repeats", repeats, ("once", "drop", "error")))


def check_order(inputs: Inputs, ties: Ties, plan: Plan = "hits first") -> None:
    """Raise if `ties` or `plan` do not fit the order that was given."""
    one_of("plan", plan, ("hits first", "window"))
    if inputs.ranked and ties != "item":
        msg = f"`ties={ties!r}` needs scores, but ranks are given: leave `ties` out"
        raise ValueError(msg)


def _depth(k: Any) -> int:
    # Whole lists fit in one mask, or are refused when the query runs.
    depth = max(WORD if one is None else one for one in depths(k))
    if depth > MOST:
        msg = f"a table of lists keeps at most {MOST} ranks, got k={depth}: use `ranking.gains`"
        raise ValueError(msg)
    return depth


def _masks_table(inputs: Inputs, depth: int, *, ties: Ties, plan: Plan) -> pl.LazyFrame:
    """Count users per mask, number of relevant items and number of recommendations."""
    pairs = relevant_pairs(inputs)
    hits = ranked_hits(inputs, pairs, ties=ties, plan=plan, depth=depth)
    masks = MASKS[: -(-depth // WORD)]
    lines = lists_of_users(inputs, pairs, _masked(inputs, hits, masks), masks)
    cells = (*masks, "n_rel", "n_rec")
    kept = pl.lit(depth, dtype=pl.Int64).alias("depth")
    return count_lists(inputs, lines, cells, [*cells, kept], ("users", "repeats"))


def _masked(inputs: Inputs, hits: pl.LazyFrame, masks: Sequence[str]) -> pl.LazyFrame:
    """Gather the ranks of each list's hits into masks.

    A sum would turn a repeated rank into another one. After an `or`, a mask with a repeated rank
    has fewer bits than the list has hits.
    """
    bit = pl.col("rank") - 1
    bits = {
        name: pl.when(bit // WORD == number).then(
            pl.lit(2, dtype=pl.UInt64).pow(bit % WORD).cast(pl.UInt64)
        )
        for number, name in enumerate(masks)
    }
    counts = {"repeats": pl.col(COPIES) - 1}
    if inputs.ranked:
        # A rank below 1 is a fault of its own, and has no bit.
        counts[SAME_RANK] = (bit >= 0).cast(pl.Int64)
    rows = hits.select(*inputs.keys, **counts, **bits)
    ors = [pl.col(name).bitwise_or() for name in masks]
    found = rows.group_by(inputs.keys).agg(*ors, pl.col(*counts).sum())
    if not inputs.ranked:
        return found
    seen = pl.sum_horizontal(
        pl.col(name).fill_null(0).bitwise_count_ones().cast(pl.Int64) for name in masks
    )
    return found.with_columns(pl.col(SAME_RANK) - seen)


lists = Tally(
    name="ranking.lists",
    count=_count_lists,
    cells=("group", *MASKS, "n_rel", "n_rec", "depth"),
    sums={"users": pl.col("users").sum(), "repeats": pl.col("repeats").sum()},
    defaults={},
    together=("user",),
    single=("ties", "repeats", "plan"),
)


# --- the view of a table ------------------------------------------------------------------------


def masks_at(columns: Sequence[str], k: Any) -> tuple[list[str], int]:
    """Return the mask columns that hold the first k ranks, and the last of these ranks."""
    names, last = [name for name in MASKS if name in columns], deepest(depths(k))
    return (names, len(names) * WORD) if last is None else (names[: -(-last // WORD)], last)


def cut_masks(table: pl.LazyFrame, keys: Sequence[str], *, k: Any = AT) -> pl.LazyFrame:
    """View the lists of the table, cut at k."""
    del keys
    names, _ = masks_at(table.collect_schema().names(), k)
    known = [one for one in depths(k) if one is not None]
    short = pl.col("depth") < K if known else pl.lit(value=False)
    too_deep = Fault(short.fill_null(value=False), _too_deep(max(known, default=0)))
    too_long = Fault(K.is_null() & (pl.col("depth") < N_REC), _TOO_LONG)
    lines = at_every_k(table, depths(k), hidden("k"))
    lines = lines.with_columns(K.alias("k")) if several(k) else lines
    return lines.with_columns(
        checked(USERS, too_deep, too_long).alias("users"),
        **{name: _cut(name, number) for number, name in enumerate(names)},
    )


_TOO_LONG = (
    "some lists have more ranks than the table keeps: make it with a larger `k`, or pass a smaller"
    " one"
)


def _too_deep(k: int) -> str:
    return (
        f"the table keeps fewer than {k} ranks of its lists: count it with `k={k}` or more,"
        " or pass a smaller `k`"
    )


def _cut(name: str, number: int) -> pl.Expr:
    """Keep the bits of a mask column that lie within the first k ranks."""
    left = (K - number * WORD).clip(0, WORD)
    kept = pl.lit(2, dtype=pl.UInt64).pow(left.clip(0, WORD - 1)).cast(pl.UInt64) - 1
    word = pl.col(name).fill_null(0)
    return pl.when(left.fill_null(WORD) == WORD).then(word).otherwise(word & kept)
