"""The table of ranked lists: which places hold hits, counted over users."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.tally import Tally
from polarsfair.ranking._inputs import resolve
from polarsfair.ranking._lists.ranks import (
    Plan,
    Repeats,
    Ties,
    ranked_hits,
    relevant_pairs,
    without_repeats,
)
from polarsfair.ranking._lists.users import histogram, units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup
    from polarsfair.ranking._inputs import Inputs

__all__ = ["lists"]

WORD = 64
MOST = 1024
"""Places of a mask column, and the last place that a table of lists can keep."""

AT = 10
"""The cut-off of a quality metric that is asked for none."""

MASKS = ("hits", *(f"hits_{first}" for first in range(WORD + 1, MOST, WORD)))


def depths(k: Any) -> list[int | None]:
    """List the cut-offs that are asked for: one, several, or lists of them."""
    if isinstance(k, (list, tuple, range)):
        found = list(dict.fromkeys(one for part in k for one in depths(part)))
        if not found:
            msg = "`k` is an empty list: name the places to look at, such as `k=[5, 10]`"
            raise ValueError(msg)
        return found
    if k is None:
        return [None]
    # NumPy's integers are whole numbers too.
    if isinstance(k, bool) or not isinstance(k, Integral) or k < 1:
        msg = f"`k` is the number of places to look at, a whole number from 1 (or None): got {k!r}"
        raise ValueError(msg)
    return [int(k)]


def lines_of(k: Any, like: pl.Expr | None = None) -> tuple[pl.Expr, pl.Expr]:
    """Say which lines of a table are of the cut-offs asked for, and whether one has none.

    `like` says what else the lines have to be.
    """
    known = pl.lit(value=True) if like is None else like
    each = [pl.col("k").eq_missing(pl.lit(one, dtype=pl.Int64)) & known for one in depths(k)]
    held = pl.all_horizontal(one.any() for one in each)
    return pl.any_horizontal(each), ~held & (pl.len() > 0)


def one_of(name: str, value: Any, choices: Sequence[str]) -> Any:
    """Check an option that takes one of a few words."""
    if isinstance(value, list):
        msg = f"these metrics ask for several values of `{name}`, {value}: ask one a call"
        raise ValueError(msg)
    if value not in choices:
        msg = f"`{name}` is one of {', '.join(map(repr, choices))}: got {value!r}"
        raise ValueError(msg)
    return value


def _count_lists(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    user: IntoColumn | None = None,
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
    """Count users by the places of their hits.

    The table has the slices, ``group``, ``hits`` (a mask: bit r - 1 is set where rank r is a hit;
    ``hits_65``, ``hits_129``, ... for the ranks beyond), ``n_rel`` (relevant items; null for users
    who are not in `actual`), ``n_rec`` (recommendations) and ``depth`` (the last rank kept, `k`);
    and the sums ``users`` and ``repeats`` (further copies of hits, which count once).
    Tables add up as long as no user's rows are split between them.

    Parameters
    ----------
    rows
        Recommendations: a row per user and item.
    by, group
        Columns of the recommendations (several models in one frame), of `actual`, or of `users`.
        A name that both have is part of the list's identity; a name that one has slices it alone,
        and the other frame is whole in every slice. A group of these two frames makes a user's list
        several, one for each group: ask for values of all users in a call without it.
    actual
        Ground truth: a row per user and item.
    user, item
        The ids, in both frames.
    score, rank
        One of them: higher is better (null and NaN last), or places from 1.
    relevance
        Boolean, or a number that is relevant above 0; without it every row of `actual` is.
    users
        A frame keyed by `user` with further columns for `by` and `group`.
    k
        The last rank to keep, at most 1024.
    ties
        Among equal scores: the lower ``"item"`` first, the relevant first (``"optimistic"``) or
        last (``"pessimistic"``).
    repeats
        An item that is listed or relevant twice counts ``"once"`` (but takes its places);
        ``"drop"`` removes repeats first, ``"error"`` refuses them.
    plan
        ``"hits first"`` or, where most rows are hits, ``"window"``: the same table.

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
    roles = {"user": user, "item": item, "score": score, "rank": rank, "relevance": relevance}
    inputs = list_inputs(
        rows, by, actual=actual, users=users, group=group, repeats=repeats, **roles
    )
    depth = _depth(k)
    one_of("ties", ties, ("item", "optimistic", "pessimistic"))
    check_order(inputs, ties, plan)
    return masks_table(inputs, depth, ties=ties, plan=plan, sums=("users", "repeats"))


def list_inputs(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None,
    users: IntoFrame | None,
    group: IntoGroup | None,
    repeats: Repeats,
    **roles: IntoColumn | None,
) -> Inputs:
    """Resolve the roles of the ranked lists."""
    inputs = resolve(
        rows,
        by,
        actual=actual,
        users=users,
        user=roles["user"],
        item=roles["item"],
        group=group,
        rec_roles={"score": roles["score"], "rank": roles["rank"]},
        relevance=roles["relevance"],
    )
    if roles["score"] is None and roles["rank"] is None:
        msg = 'the order of the lists is missing: add `score="<column>"` or `rank="<column>"`'
        raise TypeError(msg)
    return without_repeats(inputs, one_of("repeats", repeats, ("once", "drop", "error")))


def check_order(inputs: Inputs, ties: Ties, plan: Plan) -> None:
    """Raise where ties or plan do not fit the order that was given."""
    one_of("plan", plan, ("hits first", "window"))
    if inputs.ranked and ties != "item":
        msg = f"`ties={ties!r}` is about equal scores, and ranks are given: leave it out"
        raise ValueError(msg)


def _depth(k: Any) -> int:
    asked = [one for one in depths(k) if one is not None]
    depth = max(asked, default=WORD)
    if depth > MOST:
        msg = f"a table of lists keeps at most {MOST} ranks, got k={depth}: use `ranking.gains`"
        raise ValueError(msg)
    return depth


def masks_table(
    inputs: Inputs, depth: int, *, ties: Ties, plan: Plan, sums: Sequence[str]
) -> pl.LazyFrame:
    """Count users per mask, number of relevant items and number of recommendations."""
    pairs = relevant_pairs(inputs)
    hits = ranked_hits(inputs, pairs, ties=ties, plan=plan, depth=depth)
    masks = MASKS[: -(-depth // WORD)]
    found = _masked(inputs, hits, masks)
    lines = units(inputs, pairs, found, masks)
    cells = {name: pl.col(name) for name in (*masks, "n_rel", "n_rec")}
    table = histogram(inputs, lines, cells, sums)
    shown = [name for name in table.collect_schema().names() if name not in sums]
    return table.select(*shown, pl.lit(depth, dtype=pl.Int64).alias("depth"), *sums)


def _masked(inputs: Inputs, hits: pl.LazyFrame, masks: Sequence[str]) -> pl.LazyFrame:
    """Gather the places of each unit's hits into masks.

    A sum would turn a repeated place into another one; an `or` lets it show, as fewer bits than
    hits.
    """
    place = pl.col("place") - 1
    bits = {
        name: pl.when(place // WORD == number).then(
            pl.lit(2, dtype=pl.UInt64).pow(place % WORD).cast(pl.UInt64)
        )
        for number, name in enumerate(masks)
    }
    counts = {"repeats": pl.col("copies|") - 1}
    if inputs.ranked:
        # A place below 1 is a fault of its own, and has no bit.
        counts["clash|"] = (place >= 0).cast(pl.Int64)
    rows = hits.select(*inputs.keys, **counts, **bits)
    ors = [pl.col(name).bitwise_or() for name in masks]
    found = rows.group_by(inputs.keys).agg(*ors, pl.col(*counts).sum())
    if not inputs.ranked:
        return found
    seen = pl.sum_horizontal(
        pl.col(name).fill_null(0).bitwise_count_ones().cast(pl.Int64) for name in masks
    )
    return found.with_columns(pl.col("clash|") - seen)


lists = Tally(
    name="ranking.lists",
    count=_count_lists,
    cells=("group", *MASKS, "n_rel", "n_rec", "depth"),
    sums={"users": pl.col("users").sum(), "repeats": pl.col("repeats").sum()},
    defaults={},
)
