"""The table of matched pairs: recommendations with a known outcome in the ground truth.

Whatever is averaged over such pairs, or over all recommendations with a correction for the known
outcomes, is a sum per k. The area under the curve also needs the scores themselves.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.faults import Fault
from polarsfair._engine.rows import ONE, Role, Rows, number
from polarsfair._engine.slices import hidden, joined, summed
from polarsfair._engine.tally import Fact, Tally
from polarsfair.ranking._depths import at_every_k, depths
from polarsfair.ranking._inputs import (
    BAD_PROPENSITY,
    BAD_RANK,
    REPEATED_ACTUAL,
    REPEATED_RECS,
    REPEATED_USER,
    SAME_RANK,
    Inputs,
    check_ordered,
    fault_columns,
    grade_of,
    mark_of,
    order_roles,
    resolve,
    with_users,
)
from polarsfair.ranking._lists.conventions import one_of
from polarsfair.ranking._lists.masks import check_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._lists.ranks import Repeats, Ties

__all__ = ["match_scores", "matches"]

_ABOVE, _TIED = hidden("above"), hidden("tied")
POSITION = (_ABOVE, _TIED)
"""Rows of the list that certainly rank above a row, and the number of ranks that it can have."""

_TOP = (pl.lit(0, dtype=pl.Int64).alias(_ABOVE), ONE.alias(_TIED))

GIVEN, _SHARE, _ITEMS, _ORDER = map(hidden, ("given score", "share", "items", "order"))

WEIGHTED = {"weight": 1, "weight2": 2, "weighted": 1, "corrected": 1}
"""The sums that contain the propensity, and its power in them."""

SUMS = (
    *("n", "pairs", "value", "weight", "weight2", "weighted"),
    *("known", "predicted", "corrected", "scored", "error", "error2"),
)
_OF_ITEMS = ("items", "item_set")
_MERGED = {name: pl.col(name).sum() for name in SUMS} | {n: pl.col(n).max() for n in _OF_ITEMS}
"""How the sums merge; the number of items and which they are, without propensities, are facts."""

_VALUE, _PREDICTED, _SCORE = (pl.col(name) for name in ("value", "predicted", GIVEN))

BAD_CLICK = (
    "`value` holds a value other than 0 and 1, and the area under the curve needs two classes:"
    ' write what counts as a click as an expression, such as `value=pl.col("rating") > 3`'
)


class Request(NamedTuple):
    """Recommendations and outcomes, and how lists are cut."""

    inputs: Inputs
    ks: list[int | None]
    ties: Ties

    @property
    def cuts(self) -> list[int]:
        """The depths at which lists are cut."""
        return [k for k in self.ks if k is not None]


def request_of(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    relevance: IntoColumn | None = None,
    value: IntoColumn | None = None,
    propensity: IntoColumn | None = None,
    predicted: IntoColumn | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
    ties: Ties = "item",
    repeats: Repeats = "once",
) -> Request:
    if value is None and relevance is None:
        msg = 'outcomes are missing: add `relevance="<column>"` or `value="<column>"`'
        raise TypeError(msg)
    inputs = resolve(
        rows,
        by,
        actual=actual,
        users=users,
        user=user,
        item=item,
        group=group,
        rec_roles={
            **order_roles(score, rank),
            GIVEN: number(score),
            "predicted": number(score if predicted is None else predicted),
        },
        actual_roles={
            "relevance": Role(relevance, grade_of),
            "value": number(relevance if value is None else value),
            "propensity": number(propensity),
        },
    )
    ks = _checked_order(inputs, k, ties)
    one_of("repeats", repeats, ("once", "drop", "error"))
    return Request(_without_repeats(inputs, repeats), ks, ties)


def _checked_order(inputs: Inputs, k: Any, ties: Ties) -> list[int | None]:
    """Return the depths; raise if the lists have no order, or one that does not fit `ties`."""
    one_of("ties", ties, ("item", "optimistic", "pessimistic", "expected"))
    check_order(inputs, ties)
    ks = depths(k)
    if ks != [None]:
        check_ordered(inputs)
    if ties in ("optimistic", "pessimistic") and inputs.of_actual:
        msg = (
            f'`ties="{ties}"` would rank the same list differently in slices that come from'
            ' `actual`: use ties="item" or "expected"'
        )
        raise ValueError(msg)
    return ks


@functools.wraps(request_of, assigned=())
def _count_matches(rows: pl.LazyFrame, by: Sequence[pl.Expr], **roles: Any) -> pl.LazyFrame:
    """Sum over recommendations with a known outcome in the ground truth.

    The table has the slices, ``group`` and ``k`` (null: the whole list), and these sums: ``n``
    (recommendations), ``pairs`` (those with a known outcome), ``value`` (of their outcomes),
    ``weight`` (of 1 / propensity), ``weight2`` (of its square) and ``weighted`` (of outcome /
    propensity). With a score or prediction also ``known`` and ``predicted`` (number and sum of
    predictions) and ``corrected`` (of (outcome - prediction) / propensity). With a score also
    ``scored``, ``error`` and ``error2`` (number, sum and sum of squares of the score's errors).
    Without `propensity` also ``items`` and ``item_set`` (number of items in `actual`, and a number
    that tells different sets of items apart). Tables can be merged if no user's rows are split
    between them; metrics of propensities also need the same items in all tables, or `propensity`.

    Parameters
    ----------
    rows, by, group, actual, users, user, item
        As in `ranking.lists`.
    score, rank
        At most one of them; without them, only whole lists can be requested.
    relevance, value
        At least one of them: `value` is what is averaged; default `relevance`, unchanged. A pair of
        unknown value is not a match.
    propensity
        A column of `actual`: the probability that the pair was shown when the data was collected.
        Default: one over the number of distinct items of `actual`.
    predicted
        A column of the recommendations: the outcome that a model predicts; default the score.
    k
        Cut-offs; None means the whole list.
    ties
        Among equal scores: the lower ``"item"`` first, the relevant first (``"optimistic"``) or
        last (``"pessimistic"``), or the mean over all orders (``"expected"``).
    repeats
        A pair that is recommended or logged twice counts ``"once"``, at its best rank and with its
        highest outcome, but keeps its ranks; ``"drop"`` removes repeats first, ``"error"`` refuses
        them.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "click": [1, 0]})
    >>> table = ranking.matches(
    ...     recs, actual, user="user", item="item", score="score", relevance="click"
    ... )
    >>> table.select("k", "n", "pairs", "value", "weighted")
    shape: (1, 5)
    ┌──────┬─────┬───────┬───────┬──────────┐
    │ k    ┆ n   ┆ pairs ┆ value ┆ weighted │
    │ ---  ┆ --- ┆ ---   ┆ ---   ┆ ---      │
    │ i64  ┆ i64 ┆ i64   ┆ f64   ┆ f64      │
    ╞══════╪═════╪═══════╪═══════╪══════════╡
    │ null ┆ 3   ┆ 2     ┆ 1.0   ┆ 2.0      │
    └──────┴─────┴───────┴───────┴──────────┘
    """
    return _table(request_of(rows, by, **roles), by_score=False)


@functools.wraps(request_of, assigned=())
def _count_match_scores(rows: pl.LazyFrame, by: Sequence[pl.Expr], **roles: Any) -> pl.LazyFrame:
    """Count matched pairs by score and outcome, in addition to the sums of `ranking.matches`.

    As `ranking.matches`, with the cells ``score`` and ``click`` (the value, which must be 0 or 1).
    `ranking.auc` reads this table, and so can every metric that reads a table of matches. It has a
    row per distinct score, so it can be as large as the number of matched pairs.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
    >>> actual = pl.DataFrame({"user": [1, 1], "item": [7, 8], "click": [1, 0]})
    >>> table = ranking.match_scores(
    ...     recs, actual, user="user", item="item", score="score", relevance="click"
    ... )
    >>> table.select("score", "click", "n", "pairs").sort("score")
    shape: (3, 4)
    ┌───────┬───────┬─────┬───────┐
    │ score ┆ click ┆ n   ┆ pairs │
    │ ---   ┆ ---   ┆ --- ┆ ---   │
    │ f64   ┆ bool  ┆ i64 ┆ i64   │
    ╞═══════╪═══════╪═════╪═══════╡
    │ null  ┆ null  ┆ 3   ┆ 0     │
    │ 0.4   ┆ false ┆ 0   ┆ 1     │
    │ 0.9   ┆ true  ┆ 0   ┆ 1     │
    └───────┴───────┴─────┴───────┘
    """
    request = request_of(rows, by, **roles)
    if request.inputs.ranked:
        msg = '`auc` needs scores, not ranks: pass `score="<column>"`, not `rank`'
        raise TypeError(msg)
    check_ordered(request.inputs)
    return _table(request, by_score=True)


def _without_repeats(inputs: Inputs, repeats: Repeats) -> Inputs:
    """Remove repeated pairs of both frames, or mark them as a fault, if that is requested."""
    if repeats == "once":
        return inputs
    recs = _pairs_once(inputs.recs, inputs.rec_keys)
    actual = _pairs_once(inputs.actual, inputs.actual_keys)
    return replace(inputs, recs=recs, actual=actual, refuses_repeats=repeats == "error")


def _pairs_once(rows: Rows, keys: Sequence[str]) -> Rows:
    """Merge the rows of a pair: the best rank, the highest values, and their number, ``n``."""
    how = {"score": pl.Expr.min, "rank": pl.Expr.min, "n": pl.Expr.sum}
    names = [name for name in (*rows.columns, "n") if name not in (*keys, "item")]
    values = [how.get(name, pl.Expr.max)(pl.col(name)) for name in names]
    return replace(rows, frame=rows.frame.group_by(*keys, "item").agg(values))


def _table(request: Request, *, by_score: bool) -> pl.LazyFrame:
    inputs, recs = request.inputs, positions(request)
    found = _sum_pairs(request, recs, by_score=by_score)
    cells = ["score", "click"] if by_score else []
    keys = [*inputs.all_keys, *POSITION, *cells]
    lines = pl.concat([shown_lines(inputs, recs), found], how="diagonal")
    small = summed(lines, keys, [n for n in lines.collect_schema().names() if n not in keys])
    table = _per_k(_scaled(inputs, small), request, [*inputs.all_keys, *cells])
    if inputs.refuses_repeats:
        again = (pl.col("n") - 1).sum().alias(REPEATED_ACTUAL)
        table = table.join(inputs.actual.frame.select(again), how="cross")
    sums = [name for name in _MERGED if name in table.collect_schema()]
    if not by_score:
        return inputs.table(table, ["k"], sums)
    bad = Fault((pl.col("click") == 2).fill_null(value=False), BAD_CLICK)
    return inputs.table(table, ["k", "score", pl.col("click").cast(pl.Boolean)], sums, bad)


def positions(request: Request) -> pl.LazyFrame:
    """Rank every recommendation, as deep as the largest k."""
    inputs, recs = request.inputs, request.inputs.recs.frame
    if not request.cuts:
        return recs.with_columns(_TOP)
    tied = ONE
    if inputs.ranked:
        above = pl.col("rank") - 1
    elif request.ties == "expected":
        above = pl.col("score").rank("min").over(inputs.rec_keys).cast(pl.Int64) - 1
        tied = pl.len().over([*inputs.rec_keys, "score"]).cast(pl.Int64)
    else:
        recs, order = _ordered(inputs, request.ties)
        above = pl.struct(order).rank("ordinal").over(inputs.rec_keys).cast(pl.Int64) - 1
    above = above.clip(upper_bound=max(request.cuts))
    return recs.with_columns(above.alias(_ABOVE), tied.alias(_TIED))


def _ordered(inputs: Inputs, ties: Ties) -> tuple[pl.LazyFrame, list[str]]:
    """Return the columns that order a list; among equal scores relevance comes before the item."""
    recs = inputs.recs.frame
    if ties == "item":
        return recs, ["score", "item"]
    relevant = pl.col("relevance" if inputs.graded else "value") > 0
    pairs = inputs.actual.frame.filter(relevant).select(inputs.pair_keys).unique()
    order = pl.lit(-1 if ties == "optimistic" else 1, dtype=pl.Int8).alias(_ORDER)
    marked = recs.join(
        pairs.with_columns(order), on=inputs.pair_keys, how="left", nulls_equal=bool(inputs.both)
    )
    return marked.with_columns(pl.col(_ORDER).fill_null(0)), ["score", _ORDER, "item"]


def shown_lines(inputs: Inputs, recs: pl.LazyFrame) -> pl.LazyFrame:
    """Count the recommendations by position, with a line for every slice and group."""
    shown = _count_recs(inputs, recs).cache()
    return pl.concat([shown, _empty_lines(inputs, shown)], how="diagonal")


def _count_recs(inputs: Inputs, recs: pl.LazyFrame) -> pl.LazyFrame:
    """Count the recommendations by position, and sum their predictions."""
    columns = {"n": ONE}
    if "predicted" in inputs.recs.columns:
        columns |= {"known": _PREDICTED.is_not_null().cast(pl.Int64), "predicted": _PREDICTED}
    if inputs.ranked:
        columns[BAD_RANK] = (pl.col("rank") < 1).fill_null(value=True).cast(pl.Int64)
    if inputs.refuses_repeats:
        columns[REPEATED_RECS] = pl.col("n") - 1
    rows = with_users(inputs, recs.select(*inputs.rec_keys, *POSITION, **columns))
    users = [REPEATED_USER] if inputs.users is not None else []
    cells = [*inputs.recs.keys, *inputs.of_users, *POSITION]
    shown = summed(rows, cells, [*columns, *users])
    if not inputs.of_actual:
        return shown
    return shown.join(inputs.actual.frame.select(inputs.of_actual).unique(), how="cross")


def _values(inputs: Inputs) -> list[str]:
    """List the values that pairs have: those of the ground truth, then those of recommendations."""
    of_truth = [name for name in ("value", "propensity") if name in inputs.actual.columns]
    return of_truth + [name for name in ("predicted", GIVEN) if name in inputs.recs.columns]


def matched_pairs(inputs: Inputs, recs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the pairs with a known outcome, each once, at its best rank and with its values."""
    names = _values(inputs)
    of_truth = [name for name in names if name in inputs.actual.columns]
    of_recs = [name for name in names if name not in of_truth]
    known = inputs.actual.frame.filter(_VALUE.is_not_null())
    pairs = recs.select(*inputs.rec_keys, "item", *POSITION, *of_recs).join(
        known.select(*inputs.actual_keys, "item", *of_truth),
        on=inputs.pair_keys,
        nulls_equal=bool(inputs.both),
    )
    return pairs.group_by(*inputs.keys, "item").agg(
        pl.col(*POSITION).min(), *(pl.col(name).max() for name in names)
    )


def _sum_pairs(request: Request, recs: pl.LazyFrame, *, by_score: bool) -> pl.LazyFrame:
    """Sum over the pairs with a known outcome, each counted once, at its best rank."""
    inputs, once = request.inputs, matched_pairs(request.inputs, recs)
    sums = _pair_sums(_values(inputs))
    if inputs.ranked:
        same = pl.len().over([*inputs.keys, _ABOVE]) > 1
        inside = pl.col(_ABOVE) < max(request.cuts, default=0)
        sums[SAME_RANK] = (same & inside).cast(pl.Int64)
    cells = {"score": _SCORE, "click": click_of()} if by_score else {}
    rows = with_users(inputs, once.select(*inputs.keys, *POSITION, **cells, **sums))
    keys = [*inputs.recs.keys, *inputs.of_actual, *inputs.of_users]
    return summed(rows, [*keys, *POSITION, *cells], sums)


def click_of() -> pl.Expr:
    """Return the outcome as 0 or 1, and 2 for anything else, which is a fault."""
    return pl.when(_VALUE.is_in([0.0, 1.0])).then(_VALUE).otherwise(2.0).cast(pl.Int8)


def _pair_sums(names: Sequence[str]) -> dict[str, pl.Expr]:
    """Return what a matched pair adds to the sums; without propensities all of them are 1."""
    given = "propensity" in names
    weight = 1 / pl.col("propensity") if given else pl.lit(1.0)
    sums = {
        "pairs": ONE,
        "value": _VALUE,
        "weight": weight,
        "weight2": weight * weight,
        "weighted": (_VALUE * weight).fill_nan(None),
    }
    if given:
        sums[BAD_PROPENSITY] = (pl.col("propensity") < 0).cast(pl.Int64)
    if "predicted" in names:
        sums["corrected"] = ((_VALUE - _PREDICTED) * weight).fill_nan(None)
    if GIVEN in names:
        error = _SCORE - _VALUE
        sums |= {"scored": _SCORE.is_not_null().cast(pl.Int64)}
        sums |= {"error": error.abs(), "error2": error * error}
    return sums


def _empty_lines(inputs: Inputs, shown: pl.LazyFrame) -> pl.LazyFrame:
    """Return a line without rows for every slice and group, so that each has a value at every k.

    Ranks need not start at 1: without these lines, a k before the first rank would have none.
    """
    groups = shown.select(inputs.all_keys).unique()
    if not inputs.slices:
        return groups.with_columns(_TOP) if inputs.parts else pl.LazyFrame().select(_TOP)
    slices = list(inputs.slices.values())
    of_truth = [name for name in slices if name not in inputs.of_recs]
    of_recs = [name for name in slices if name in inputs.of_recs]
    truth = with_users(inputs, inputs.actual.frame).select(of_truth).unique()
    if of_recs:
        models = shown.select(of_recs).unique()
        truth = truth.join(models, how="cross") if of_truth else models
    both = pl.concat([shown.select(slices), truth.select(slices)]).unique()
    if inputs.parts:
        both = joined(both, groups, slices, how="left")
    return both.with_columns(_TOP)


def _scaled(inputs: Inputs, table: pl.LazyFrame) -> pl.LazyFrame:
    """Without propensities, all items of `actual` have the same one: one over their number."""
    if "propensity" in inputs.actual.columns:
        return table
    keys = inputs.actual.keys
    items = inputs.actual.frame.select(*keys, "item").unique()
    items = items.with_columns(ONE.alias(_ITEMS), mark_of(items, "item").alias("item_set"))
    lines = joined(table, summed(items, keys, [_ITEMS, "item_set"]), keys, how="left")
    names = lines.collect_schema().names()
    factor = pl.col(_ITEMS).fill_null(0).cast(pl.Float64)
    return lines.with_columns(
        *(pl.col(name) * factor**power for name, power in WEIGHTED.items() if name in names),
        items=pl.col(_ITEMS),
    ).drop(_ITEMS)


def _per_k(small: pl.LazyFrame, request: Request, keys: Sequence[str]) -> pl.LazyFrame:
    """Cut the lists at every k: a row with several possible ranks counts by its probability."""
    names = small.collect_schema().names()
    faults, sums = fault_columns(names), [name for name in SUMS if name in names]
    k = pl.col("k")
    share = ((k - pl.col(_ABOVE)) / pl.col(_TIED)).clip(0.0, 1.0)
    lines = small.with_columns(pl.col(faults).sum()) if faults else small
    lines = at_every_k(lines, request.ks)
    lines = lines.with_columns(pl.when(k.is_null()).then(1.0).otherwise(share).alias(_SHARE))
    lines = lines.filter(pl.col(_SHARE) > 0)
    if request.ties == "expected":
        lines = lines.with_columns(pl.col(name) * pl.col(_SHARE) for name in sums)
    facts = [name for name in (*faults, *_OF_ITEMS) if name in names]
    cut = lines.group_by(*keys, "k").agg(pl.col(sums).sum(), *(pl.col(f).max() for f in facts))
    # Ties share ranks, but the number of ranks in a list does not change.
    return cut.with_columns(pl.col("n").round().cast(pl.Int64))


_ABSENT = {
    **{name: pl.lit(None, pl.Float64) for name in SUMS if name not in ("n", "pairs", "value")},
    **{name: pl.lit(None, pl.Int64) for name in _OF_ITEMS},
}
_FACT = Fact(
    tuple(WEIGHTED),
    "without `propensity` it is one over the number of items in `actual`, and every part counts its"
    ' own: count them with `propensity="<column>"`, or each with all rows of `actual`',
)


def _whole_only(given: Mapping[str, Any]) -> str | None:
    if given.get("propensity") is not None:
        return None
    return (
        "without `propensity` it is one over the number of items in `actual`, and every part counts"
        ' its own items: add `propensity="<column>"`'
    )


matches = Tally(
    name="ranking.matches",
    count=_count_matches,
    cells=("group", "k"),
    sums=_MERGED,
    defaults=_ABSENT,
    together=("user",),
    whole=_whole_only,
    facts=dict.fromkeys(_OF_ITEMS, _FACT),
    single=("ties", "repeats"),
)

match_scores = Tally(
    name="ranking.match_scores",
    count=_count_match_scores,
    cells=("group", "k", "score", "click"),
    sums=_MERGED,
    defaults=_ABSENT,
    together=("user",),
    whole=_whole_only,
    facts=dict.fromkeys(_OF_ITEMS, _FACT),
    contains=(matches,),
    single=("ties", "repeats"),
)
