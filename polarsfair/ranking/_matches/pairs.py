"""The table of matched pairs: recommendations of which the ground truth knows the outcome.

Everything that is averaged over such pairs, or over all recommendations with a correction where the
outcome is known, is a sum per k. The area under the curve also needs the scores themselves.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine.legacy import fault, stopping
from polarsfair._engine.slices import summed
from polarsfair._engine.tally import Tally
from polarsfair.ranking._inputs import ONE, resolve
from polarsfair.ranking._lists.masks import check_order, depths, one_of
from polarsfair.ranking._lists.users import FAULTS
from polarsfair.ranking._shown.recs import with_users

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup
    from polarsfair.ranking._inputs import Inputs
    from polarsfair.ranking._lists.ranks import Repeats, Ties

__all__ = ["match_scores", "matches"]

PLACE = ("above|", "among|")
"""Where a row stands: rows of its list that are surely above it, and places that it may take."""

WEIGHED = {"weight": 1, "weight2": 2, "weighted": 1, "corrected": 1}
"""Sums with a propensity in them, and its power: what a propensity for all multiplies them by."""

_FIRST = (pl.lit(0, dtype=pl.Int64).alias("above|"), ONE.alias("among|"))

SUMS = (
    *("n", "pairs", "value", "weight", "weight2", "weighted"),
    *("known", "predicted", "corrected", "scored", "error", "error2"),
)
_VALUE, _PREDICTED, _SCORE = (pl.col(name) for name in ("value", "predicted", "given|"))

_BAD_PROPENSITY = "`propensity` holds a negative value: it is the chance that the pair was shown"
_BAD_CLICK = (
    "`value` holds a value other than 0 and 1, and `auc` sets two classes apart: write what counts"
    ' as a click as an expression, such as `value=pl.col("rating") > 3`'
)


class Plan(NamedTuple):
    """What the caller asked of the table."""

    ks: list[int | None]
    ties: Ties
    repeats: Repeats
    by_score: bool


def _count(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    actual: IntoFrame | None = None,
    user: IntoColumn | None = None,
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
    by_score: bool,
) -> pl.LazyFrame:
    if value is None and relevance is None:
        msg = 'without outcomes every pair is a click: add `relevance="<column>"` or `value=...`'
        raise TypeError(msg)
    guess = score if predicted is None else predicted
    inputs = resolve(
        rows,
        by,
        actual=actual,
        users=users,
        user=user,
        item=item,
        group=group,
        rec_roles={"score": score, "rank": rank, "given|": score, "predicted": guess},
        relevance=relevance,
        actual_roles={"value": relevance if value is None else value, "propensity": propensity},
    )
    plan = _plan(inputs, k, ties, repeats, by_score=by_score)
    return _table(_numeric(inputs), plan)


def _plan(inputs: Inputs, k: Any, ties: Ties, repeats: Repeats, *, by_score: bool) -> Plan:
    one_of("ties", ties, ("item", "optimistic", "pessimistic", "expected"))
    check_order(inputs, ties, "hits first")
    ks = depths(k)
    scored = "score" in inputs.recs.collect_schema()
    if by_score and inputs.ranked:
        msg = '`auc` compares scores, which ranks are not: give `score="<column>"`, not `rank`'
        raise TypeError(msg)
    if not inputs.ranked and not scored and (by_score or ks != [None]):
        msg = 'the order of the lists is missing: add `score="<column>"` or `rank="<column>"`'
        raise TypeError(msg)
    if ties in ("optimistic", "pessimistic") and inputs.of_actual:
        msg = (
            f'`ties="{ties}"` would order a list otherwise in each slice that only `actual` has:'
            ' use ties="item" or "expected"'
        )
        raise ValueError(msg)
    return Plan(ks, ties, one_of("repeats", repeats, ("once", "drop", "error")), by_score)


def _numeric(inputs: Inputs) -> Inputs:
    """Give outcomes, propensities and predictions as floats, NaN as null."""
    return replace(
        inputs,
        recs=inputs.recs.with_columns(**_floats(inputs.recs, ("given|", "predicted"))),
        actual=inputs.actual.with_columns(**_floats(inputs.actual, ("value", "propensity"))),
    )


def _floats(frame: pl.LazyFrame, names: Sequence[str]) -> dict[str, pl.Expr]:
    schema = frame.collect_schema()
    given = {name: schema[name] for name in names if name in schema}
    for name, dtype in given.items():
        if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
            msg = f"`{name}` is {dtype}, neither Boolean nor a number: give a numeric expression"
            raise TypeError(msg)
    return {name: pl.col(name).cast(pl.Float64).fill_nan(None) for name in given}


def _table(inputs: Inputs, plan: Plan) -> pl.LazyFrame:
    inputs = _without_repeats(inputs, plan.repeats)
    recs = _placed(inputs, plan)
    shown = _shown(inputs, recs).cache()
    found = _matched(inputs, recs, plan)
    keys = [*inputs.slices, *inputs.parts]
    cells = [*keys, *PLACE, *(["score", "click"] if plan.by_score else [])]
    lines = pl.concat([shown, found, *_every_slice(inputs, shown)], how="diagonal")
    sums = [name for name in lines.collect_schema().names() if name not in cells]
    small = lines.group_by(cells).agg(pl.col(name).sum() for name in sums)
    table = _per_k(_scaled(inputs, small), plan, [*keys, *cells[len(keys) + len(PLACE) :]])
    return _finished(inputs, table, plan)


def _without_repeats(inputs: Inputs, repeats: Repeats) -> Inputs:
    """Remove repeated pairs of either frame, or mark them as a fault, where that is asked for."""
    if repeats == "once":
        return inputs
    best = {"score": pl.Expr.min, "rank": pl.Expr.min}
    frames = []
    for rows, keys in ((inputs.recs, inputs.rec_keys), (inputs.actual, inputs.actual_keys)):
        names = [name for name in rows.collect_schema().names() if name not in (*keys, "item")]
        values = [best.get(name, pl.Expr.max)(pl.col(name)) for name in names]
        counted = rows.with_columns(ONE.alias("rows|")).group_by(*keys, "item")
        frames.append(counted.agg(*values, pl.col("rows|").sum()))
    recs, actual = frames
    return replace(inputs, recs=recs, actual=actual, refuses_repeats=repeats == "error")


def _placed(inputs: Inputs, plan: Plan) -> pl.LazyFrame:
    """Say of every recommendation where it stands in its list, as far as a k asks for it."""
    recs, asked = inputs.recs, [k for k in plan.ks if k is not None]
    if not asked:
        return recs.with_columns(_FIRST)
    beyond, among = max(asked), ONE
    if inputs.ranked:
        above = pl.col("rank") - 1
    elif plan.ties == "expected":
        above = pl.col("score").rank("min").over(inputs.rec_keys).cast(pl.Int64) - 1
        among = pl.len().over([*inputs.rec_keys, "score"]).cast(pl.Int64)
    else:
        recs, order = _ordered(inputs, plan.ties)
        above = pl.struct(order).rank("ordinal").over(inputs.rec_keys).cast(pl.Int64) - 1
    return recs.with_columns(above.clip(upper_bound=beyond).alias("above|"), among.alias("among|"))


def _ordered(inputs: Inputs, ties: Ties) -> tuple[pl.LazyFrame, list[str]]:
    """Give the columns that order a list; among equal scores relevance comes before the item."""
    if ties == "item":
        return inputs.recs, ["score", "item"]
    relevant = pl.col("grade" if inputs.graded else "value") > 0
    pairs = inputs.actual.filter(relevant).select(inputs.pair_keys).unique()
    turn = pl.lit(-1 if ties == "optimistic" else 1, dtype=pl.Int8)
    marked = inputs.recs.join(
        pairs.with_columns(turn.alias("turn|")),
        on=inputs.pair_keys,
        how="left",
        nulls_equal=bool(inputs.both),
    )
    return marked.with_columns(pl.col("turn|").fill_null(0)), ["score", "turn|", "item"]


def _shown(inputs: Inputs, recs: pl.LazyFrame) -> pl.LazyFrame:
    """Count the recommendations by place, and sum what was predicted of them."""
    columns = {"n": ONE}
    names = recs.collect_schema().names()
    if "predicted" in names:
        columns |= {"known": _PREDICTED.is_not_null().cast(pl.Int64), "predicted": _PREDICTED}
    if inputs.ranked:
        columns["bad_rank|"] = (pl.col("rank") < 1).fill_null(value=True).cast(pl.Int64)
    if inputs.refuses_repeats:
        columns["bad_recs|"] = pl.col("rows|") - 1
    keys = [*inputs.both, *inputs.of_recs]
    rows = with_users(inputs, recs.select(*keys, "user", *PLACE, **columns))
    users = ["bad_user|"] if inputs.users is not None else []
    cells = [*keys, *inputs.of_users, *PLACE]
    shown = rows.group_by(cells).agg(pl.col(name).sum() for name in (*columns, *users))
    if not inputs.of_actual:
        return shown
    return shown.join(inputs.actual.select(inputs.of_actual).unique(), how="cross")


def _matched(inputs: Inputs, recs: pl.LazyFrame, plan: Plan) -> pl.LazyFrame:
    """Sum over the pairs of which the outcome is known, each counted once, at its best place."""
    known = inputs.actual.filter(_VALUE.is_not_null()).drop("rows|", strict=False)
    pairs = recs.drop("score", "rows|", "turn|", strict=False).join(
        known, on=inputs.pair_keys, nulls_equal=bool(inputs.both)
    )
    names = pairs.collect_schema().names()
    best = [pl.col(n).max() for n in ("value", "propensity", "predicted", "given|") if n in names]
    once = pairs.group_by(*inputs.keys, "item").agg(pl.col(*PLACE).min(), *best)
    if inputs.ranked:
        clash = pl.len().over([*inputs.keys, "above|"]) > 1
        within = pl.col("above|") < max((k for k in plan.ks if k is not None), default=0)
        once = once.with_columns((clash & within).cast(pl.Int64).alias("clash|"))
    sums = _pair_sums(names)
    cells = {"score": _SCORE, "click": _click()} if plan.by_score else {}
    faults = [name for name in ("clash|",) if inputs.ranked]
    kept = [*inputs.both, *inputs.of_recs, *inputs.of_actual]
    rows = with_users(inputs, once.select(*kept, "user", *PLACE, *faults, **cells, **sums))
    keys = [*kept, *inputs.of_users, *PLACE, *cells]
    return rows.group_by(keys).agg(pl.col(name).sum() for name in (*sums, *faults))


def _click() -> pl.Expr:
    """Give the outcome as 0 or 1, and 2 for anything else, which is a fault."""
    return pl.when(_VALUE.is_in([0.0, 1.0])).then(_VALUE).otherwise(2.0).cast(pl.Int8)


def _pair_sums(names: Sequence[str]) -> dict[str, pl.Expr]:
    """Give what a matched pair adds to the sums; without propensities all of them are 1."""
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
        sums["bad|"] = (pl.col("propensity") < 0).cast(pl.Int64)
    if "predicted" in names:
        sums["corrected"] = ((_VALUE - _PREDICTED) * weight).fill_nan(None)
    if "given|" in names:
        error = _SCORE - _VALUE
        sums |= {"scored": _SCORE.is_not_null().cast(pl.Int64)}
        sums |= {"error": error.abs(), "error2": error * error}
    return sums


def _every_slice(inputs: Inputs, shown: pl.LazyFrame) -> list[pl.LazyFrame]:
    """Give a line without rows for every slice and group, so that each has an answer at every k.

    Ranks need not start at 1: without it, a k before the first rank would have none.
    """
    groups = shown.select(*inputs.slices, *inputs.parts).unique()
    if not inputs.slices:
        return [groups.with_columns(_FIRST) if inputs.parts else pl.LazyFrame().select(_FIRST)]
    of_truth = [name for name in inputs.slices if name not in inputs.of_recs]
    of_recs = [name for name in inputs.slices if name in inputs.of_recs]
    truth = with_users(inputs, inputs.actual).select(of_truth).unique()
    if of_recs:
        models = shown.select(of_recs).unique()
        truth = truth.join(models, how="cross") if of_truth else models
    both = pl.concat([shown.select(inputs.slices), truth.select(inputs.slices)]).unique()
    if inputs.parts:
        both = both.join(groups, on=inputs.slices, how="left", nulls_equal=True)
    return [both.with_columns(_FIRST)]


def _scaled(inputs: Inputs, table: pl.LazyFrame) -> pl.LazyFrame:
    """Without propensities every item of `actual` is as likely: one over their number."""
    if "propensity" in inputs.actual.collect_schema():
        return table
    keys = [*inputs.both, *inputs.of_actual]
    items = inputs.actual.select(*keys, "item").unique().with_columns(ONE.alias("items|"))
    counted = summed(items, keys, ["items|"])
    joined = (
        table.join(counted, on=keys, how="left", nulls_equal=True)
        if keys
        else table.join(counted, how="cross")
    )
    names = joined.collect_schema().names()
    factor = pl.col("items|").fill_null(0).cast(pl.Float64)
    return joined.with_columns(
        pl.col(name) * factor**power for name, power in WEIGHED.items() if name in names
    ).drop("items|")


_FAULTS: Mapping[str, str] = {**FAULTS, "bad|": _BAD_PROPENSITY}


def _per_k(small: pl.LazyFrame, plan: Plan, keys: Sequence[str]) -> pl.LazyFrame:
    """Cut the lists at every k: a row that may take several places counts by its chance."""
    names = small.collect_schema().names()
    faults = [name for name in _FAULTS if name in names]
    sums = [name for name in SUMS if name in names]
    k = pl.col("k")
    share = ((k - pl.col("above|")) / pl.col("among|")).clip(0.0, 1.0)
    lines = small.with_columns(pl.col(faults).sum()) if faults else small
    lines = lines.join(pl.LazyFrame({"k": plan.ks}, schema={"k": pl.Int64}), how="cross")
    lines = lines.with_columns(pl.when(k.is_null()).then(1.0).otherwise(share).alias("share|"))
    lines = lines.filter(pl.col("share|") > 0)
    if plan.ties == "expected":
        lines = lines.with_columns(pl.col(name) * pl.col("share|") for name in sums)
    cut = lines.group_by(*keys, "k").agg(pl.col(sums).sum(), *(pl.col(f).max() for f in faults))
    # However its places are shared out, a list has as many as it has.
    return cut.with_columns(pl.col("n").round().cast(pl.Int64))


def _finished(inputs: Inputs, table: pl.LazyFrame, plan: Plan) -> pl.LazyFrame:
    """Stop where a fault was counted; give the columns in their order."""
    if inputs.refuses_repeats:
        again = (pl.col("rows|") - 1).sum().alias("bad_actual|")
        table = table.join(inputs.actual.select(again), how="cross")
    names = table.collect_schema().names()
    stops = [fault(pl.col(name) > 0, words) for name, words in _FAULTS.items() if name in names]
    cells = ["k"]
    if plan.by_score:
        stops.append(fault((pl.col("click") == 2).fill_null(value=False), _BAD_CLICK))
        cells += ["score", "click"]
    sums = [name for name in SUMS if name in names]
    table = stopping(table, stops, sums)
    if plan.by_score:
        table = table.with_columns(pl.col("click").cast(pl.Boolean))
    return inputs.finished(table, *cells, *sums)


class _Count:
    """Counts pairs, with or without their scores as cells; both take the same keywords."""

    def __init__(self, doc: str, *, by_score: bool) -> None:
        self.by_score = by_score
        self.__doc__ = doc
        kept = [p for p in inspect.signature(_count).parameters.values() if p.name != "by_score"]
        self.__signature__ = inspect.Signature(kept)

    def __call__(self, *frames: Any, **keywords: Any) -> pl.LazyFrame:
        """Count the rows."""
        return _count(*frames, **keywords, by_score=self.by_score)


_ABSENT = {name: pl.lit(None, pl.Float64) for name in SUMS if name not in ("n", "pairs", "value")}

matches = Tally(
    name="ranking.matches",
    count=_Count(
        """Sum over recommendations of which the ground truth knows the outcome.

    The table has the slices, ``group`` and ``k`` (null: the whole list), and the sums ``n``
    (recommendations), ``pairs`` (those with a known outcome), ``value`` (of their outcomes),
    ``weight``, ``weight2`` and ``weighted`` (of 1 / propensity, its square, and outcome /
    propensity); with a score or prediction also ``known`` and ``predicted`` (number and sum of
    predictions) and ``corrected`` (of (outcome - prediction) / propensity), with a score
    ``scored``, ``error`` and ``error2`` (number, sum and sum of squares of the score's errors).
    Tables add up as long as no user's rows are split between them; without `propensity` each counts
    the items of its own ground truth.

    Parameters
    ----------
    rows, by, group, actual, users, user, item
        As in `ranking.lists`.
    score, rank
        At most one of them; without any, only whole lists can be asked for.
    relevance, value
        One of them at least: `value` is what is averaged (`relevance`, as it is, unless given). A
        pair of unknown value is no match.
    propensity
        A column of `actual`: the chance that the pair was shown when the data was collected; unless
        given, one over the number of distinct items of `actual`.
    predicted
        A column of the recommendations: the outcome that a model expects; unless given, the score.
    k
        Cut-offs; None is the whole list.
    ties
        Among equal scores: the lower ``"item"`` first, the relevant first (``"optimistic"``) or
        last (``"pessimistic"``), or the mean over all orders (``"expected"``).
    repeats
        A pair that is recommended or logged twice counts ``"once"``, at its best place and with its
        highest outcome, but takes its places; ``"drop"`` removes repeats first, ``"error"`` refuses
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
    """,
        by_score=False,
    ),
    cells=("group", "k"),
    sums={name: pl.col(name).sum() for name in SUMS},
    defaults=_ABSENT,
    single=("ties", "repeats"),
)

match_scores = Tally(
    name="ranking.match_scores",
    count=_Count(
        """Count matched pairs by score and outcome, beside the sums of `ranking.matches`.

    As `ranking.matches`, with the cells ``score`` and ``click`` (the value, which must be 0 or 1):
    what `ranking.auc` reads, and everything else that reads a table of matches. It has a line per
    distinct score, so it is as large as there are matched pairs.

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
    """,
        by_score=True,
    ),
    cells=("group", "k", "score", "click"),
    sums={name: pl.col(name).sum() for name in SUMS},
    defaults=_ABSENT,
    contains=(matches,),
    single=("ties", "repeats"),
)
