"""Ranks of the hits, by three plans that give the same numbers.

A hit is a recommended item that is relevant. *Rank given*: the place is a column. *Hits first*:
join recommendations with relevant items, join the hits back on the list, and count the better
rows: no sort, no lists, memory follows the hits. *Window*: rank every row within its list; cheaper
where most rows are hits, and only for ties="item". A hit counts once, at its best place; what is
repeated keeps the places it takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair.ranking._inputs import ONE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair.ranking._inputs import Inputs

Ties: TypeAlias = Literal["item", "optimistic", "pessimistic", "expected"]
Repeats: TypeAlias = Literal["once", "drop", "error"]
Plan: TypeAlias = Literal["hits first", "window"]

_SCORE, _HIT, _ITEM, _HIT_ITEM = (pl.col(c) for c in ("score", "score|", "item", "item|"))
_BETTER, _EQUAL = _SCORE < _HIT, _SCORE == _HIT


def without_repeats(inputs: Inputs, repeats: Repeats) -> Inputs:
    """Remove repeated recommendations, or mark them as a fault, where the caller asks for it."""
    if repeats == "once":
        return inputs
    best = [
        pl.col(name).min() for name in ("score", "rank") if name in inputs.recs.collect_schema()
    ]
    counted = inputs.recs.with_columns(ONE.alias("rows|")).group_by(*inputs.rec_keys, "item")
    recs = counted.agg(*best, pl.col("rows|").sum())
    return replace(inputs, recs=recs, again=(), refuses_repeats=repeats == "error")


def relevant_pairs(inputs: Inputs, *, counted: bool = False, graded: bool = False) -> pl.LazyFrame:
    """Give the relevant items of every user; with `graded` each once, with its best grade.

    With `counted`, or where repeats are refused, also each once, with its number of rows,
    ``rows|``.
    """
    rows, keys = inputs.actual, [*inputs.actual_keys, "item"]
    if inputs.graded:
        rows = rows.filter(pl.col("grade") > 0)
    values = [pl.col("rows|").sum()] if counted or inputs.refuses_repeats else []
    values += [pl.col("grade").max()] if graded else []
    if values or inputs.of_actual:
        pairs = rows.with_columns(ONE.alias("rows|")).group_by(keys).agg(values)
    else:
        # Neither the hits nor the count of a user's different items mind a repeated one.
        pairs = rows.select(keys)
    # Read by the join and by the count of each user: found once, and kept.
    return pairs.cache()


def ranked_hits(
    inputs: Inputs,
    pairs: pl.LazyFrame,
    *,
    ties: Ties = "item",
    plan: Plan = "hits first",
    depth: int | None = None,
    graded: bool = False,
) -> pl.LazyFrame:
    """Give every hit with its ``place``, its ``copies|``, and with `graded` its ``grade``.

    With ties="expected" the hits among equal scores are spread over their places: a line for each,
    with its share of the hit in ``share``. `depth` is the last place of interest.
    """
    if inputs.ranked:
        return _given(inputs, pairs, depth=depth, graded=graded)
    if ties == "item":
        placed = _by_item(inputs, pairs, plan=plan, graded=graded)
    else:
        counted = _counted(inputs, pairs, graded=graded)
        placed = _among_equals(counted, inputs, ties, graded=graded)
    return placed if depth is None else placed.filter(pl.col("place") <= depth)


def _hits(
    inputs: Inputs, pairs: pl.LazyFrame, recs: pl.LazyFrame, *, graded: bool, exact: bool = True
) -> pl.LazyFrame:
    """Give the recommendations that are relevant; not `exact`, as often as `pairs` repeat them.

    A semi-join gives each once, but holds half as much again in memory.
    """
    if inputs.of_actual or graded or not exact:
        return recs.join(
            pairs,
            on=inputs.pair_keys,
            nulls_equal=bool(inputs.both),
            build_side="force_right",
        )
    relevant = pairs.select(inputs.pair_keys)
    return recs.join(relevant, on=inputs.pair_keys, how="semi", nulls_equal=bool(inputs.both))


def hits_once(inputs: Inputs, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Give every hit once, without a rank, and the number of its ``copies|``."""
    return _once(_hits(inputs, pairs, inputs.recs, graded=False), inputs, [], graded=False)


def _once(
    hits: pl.LazyFrame, inputs: Inputs, best: Sequence[pl.Expr], *, graded: bool
) -> pl.LazyFrame:
    """Count every hit once, with the best of its copies."""
    grade = [pl.col("grade").first()] if graded else []
    counted = hits.with_columns(ONE.alias("copies|")).group_by(*inputs.keys, "item")
    return counted.agg(*best, pl.col("copies|").sum(), *grade)


def _given(inputs: Inputs, pairs: pl.LazyFrame, *, depth: int | None, graded: bool) -> pl.LazyFrame:
    recs = inputs.recs if depth is None else inputs.recs.filter(pl.col("rank") <= depth)
    hits = _hits(inputs, pairs, recs, graded=graded)
    return _once(hits, inputs, [pl.col("rank").min().alias("place")], graded=graded)


def _by_item(inputs: Inputs, pairs: pl.LazyFrame, *, plan: Plan, graded: bool) -> pl.LazyFrame:
    """Rank hits; among equal scores the lower item comes first."""
    if plan == "window":
        rank = pl.struct("score", "item").rank("min").over(inputs.rec_keys).cast(pl.Int64)
        hits = _hits(inputs, pairs, inputs.recs.with_columns(place=rank), graded=graded)
        return _once(hits, inputs, [pl.col("place").min()], graded=graded)
    better = _BETTER | (_EQUAL & (_ITEM < _HIT_ITEM))
    placed = _beside_hits(inputs, pairs, {"place": better}, graded=graded)
    return placed.with_columns(pl.col("place") + 1)


def _counted(inputs: Inputs, pairs: pl.LazyFrame, *, graded: bool) -> pl.LazyFrame:
    """Count for every hit the rows ``above`` it, ``equal`` to it, and of these its ``own``."""
    rows = {"above": _BETTER, "equal": _EQUAL, "own": _EQUAL & (_ITEM == _HIT_ITEM)}
    return _beside_hits(inputs, pairs, rows, graded=graded)


def _beside_hits(
    inputs: Inputs, pairs: pl.LazyFrame, rows: Mapping[str, pl.Expr], *, graded: bool
) -> pl.LazyFrame:
    """Set every row of a list beside every hit of the same list, and count `rows` for the hit."""
    found = _hits(inputs, pairs, inputs.recs, graded=graded, exact=False)
    grade = [pl.col("grade").first()] if graded else []
    hits = found.group_by(*inputs.keys, "item").agg(pl.col("score").min(), *grade)
    joined = inputs.reread(2).join(
        hits.rename({"item": "item|", "score": "score|"}),
        on=inputs.rec_keys,
        nulls_equal=len(inputs.rec_keys) > 1,
        build_side="force_right",
    )
    counts = {**rows, "copies|": _ITEM == _HIT_ITEM}
    marked = joined.with_columns(**{name: row.cast(pl.Int64) for name, row in counts.items()})
    placed = marked.group_by(*inputs.keys, "item|").agg(
        pl.col(*counts).sum(), pl.col("score|", *["grade"] * graded).first()
    )
    return placed.rename({"item|": "item", "score|": "score"})


def _among_equals(
    counted: pl.LazyFrame, inputs: Inputs, ties: Ties, *, graded: bool
) -> pl.LazyFrame:
    """Place hits among equal scores: before, after, or spread over all of them.

    Of hits with grades the highest comes first where the best is assumed, last where the worst is.
    """
    above, equal = pl.col("above"), pl.col("equal")
    if ties == "expected":
        # Further copies of the hit itself are no rivals of it.
        width = equal - pl.col("own") + 1
        spread = counted.with_columns(
            place=pl.int_ranges(above + 1, above + width + 1), share=1.0 / width
        )
        return spread.drop("above", "equal", "own", "score").explode("place")
    tied = [*inputs.keys, "score"]
    best = pl.col("grade") * (-1.0 if ties == "optimistic" else 1.0)
    order = pl.struct(best, "item") if graded else pl.col("item")
    turn = order.rank("ordinal").over(tied).cast(pl.Int64)
    others = equal - pl.len().over(tied).cast(pl.Int64)
    first = above if ties == "optimistic" else above + others
    return counted.with_columns(place=first + turn).drop("above", "equal", "own", "score")
