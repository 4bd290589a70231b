"""Ranks of the hits, by three plans with the same result.

A hit is a recommended item that is relevant. *Rank given*: the rank is a column. *Hits first*: join
recommendations with relevant items, join the hits back on the list, and count the better rows. It
needs no sort and no lists, and its memory follows the hits. *Window*: rank every row within its
list, which is cheaper if most rows are hits; only for ties="item". A hit counts once, at its best
rank; its other copies keep their ranks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden
from polarsfair.ranking._keys import RECS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair.ranking._inputs import Inputs

Ties: TypeAlias = Literal["item", "optimistic", "pessimistic", "expected"]
Repeats: TypeAlias = Literal["once", "drop", "error"]
Plan: TypeAlias = Literal["hits first", "window"]

COPIES = hidden("copies")
"""Counts the recommendations of a hit: how often its list holds it."""

_HIT_SCORE, _HIT_ITEM = hidden("hit score"), hidden("hit item")
_BETTER = pl.col("score") < pl.col(_HIT_SCORE)
_EQUAL = pl.col("score") == pl.col(_HIT_SCORE)
_LOWER, _ITSELF = pl.col("item") < pl.col(_HIT_ITEM), pl.col("item") == pl.col(_HIT_ITEM)
_TIES = {"above": _BETTER, "equal": _EQUAL, "own": _EQUAL & _ITSELF}
"""The rows of a list that rank above a hit, that have its score, and that are the hit itself."""


def without_repeats(inputs: Inputs, repeats: Repeats) -> Inputs:
    """Remove repeated recommendations, or mark them as a fault, if that is requested.

    Afterwards, ``n`` is the number of rows of a pair.
    """
    if repeats == "once":
        return inputs
    best = [pl.col(name).min() for name in ("score", "rank") if name in inputs.recs.columns]
    pairs = inputs.lists.group_by(*inputs.rec_keys, "item").agg(*best, pl.col("n").sum())
    known = pairs.filter(pl.col("item").is_not_null()) if RECS in inputs.nested else pairs
    recs = replace(inputs.recs, frame=known)
    return replace(
        inputs, recs=recs, lists=pairs, lengths=None, again=(), refuses_repeats=repeats == "error"
    )


def relevant_pairs(inputs: Inputs, *, counted: bool = False, graded: bool = False) -> pl.LazyFrame:
    """Return the relevant items of every user; with `graded` each once, with its best grade.

    With `counted`, or if repeats are refused, each once as well, with its number of rows, ``n``.
    """
    rows, keys = inputs.actual.frame, [*inputs.actual_keys, "item"]
    if inputs.graded:
        rows = rows.filter(pl.col("relevance") > 0)
    values = [pl.col("n").sum()] if counted or inputs.refuses_repeats else []
    values += [pl.col("relevance").max()] if graded else []
    # Duplicates change neither the hits nor the number of distinct items.
    once = bool(values or inputs.of_actual)
    pairs = rows.group_by(keys).agg(values) if once else rows.select(keys)
    # The join and the count per user both read the pairs: they are found once, and kept.
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
    """Return every hit with its ``rank``, its `COPIES`, and with `graded` its ``relevance``.

    With ties="expected" a hit has a line for each rank that it can have among equal scores, with
    its probability in ``share``. `depth` is the last rank to return.
    """
    if inputs.ranked:
        return _by_rank(inputs, pairs, depth=depth, graded=graded)
    if ties == "item":
        ranked = _by_item(inputs, pairs, plan=plan, graded=graded)
    else:
        counted = _rows_per_hit(inputs, pairs, _TIES, graded=graded)
        ranked = _among_ties(counted, inputs, ties, graded=graded)
    return ranked if depth is None else ranked.filter(pl.col("rank") <= depth)


def _hits(
    inputs: Inputs, pairs: pl.LazyFrame, recs: pl.LazyFrame, *, graded: bool, exact: bool = True
) -> pl.LazyFrame:
    """Return the recommendations that are relevant; not `exact`, as often as `pairs` repeat them.

    A semi-join returns each once, but needs half as much memory again.
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
    """Return every hit once, without a rank, with its `COPIES`."""
    return _once(_hits(inputs, pairs, inputs.recs.frame, graded=False), inputs, [], graded=False)


def _once(
    hits: pl.LazyFrame, inputs: Inputs, best: Sequence[pl.Expr], *, graded: bool
) -> pl.LazyFrame:
    """Return every hit once, with the best of its copies."""
    grade = [pl.col("relevance").first()] if graded else []
    counted = hits.with_columns(ONE.alias(COPIES)).group_by(*inputs.keys, "item")
    return counted.agg(*best, pl.col(COPIES).sum(), *grade)


def _by_rank(
    inputs: Inputs, pairs: pl.LazyFrame, *, depth: int | None, graded: bool
) -> pl.LazyFrame:
    recs = inputs.recs.frame
    recs = recs if depth is None else recs.filter(pl.col("rank") <= depth)
    hits = _hits(inputs, pairs, recs, graded=graded)
    return _once(hits, inputs, [pl.col("rank").min()], graded=graded)


def _by_item(inputs: Inputs, pairs: pl.LazyFrame, *, plan: Plan, graded: bool) -> pl.LazyFrame:
    """Rank hits; among equal scores the lower item comes first."""
    if plan == "window":
        rank = pl.struct("score", "item").rank("min").over(inputs.rec_keys).cast(pl.Int64)
        hits = _hits(inputs, pairs, inputs.recs.frame.with_columns(rank=rank), graded=graded)
        return _once(hits, inputs, [pl.col("rank").min()], graded=graded)
    before = _BETTER | (_EQUAL & _LOWER)
    ranked = _rows_per_hit(inputs, pairs, {"rank": before}, graded=graded)
    return ranked.with_columns(pl.col("rank") + 1)


def _rows_per_hit(
    inputs: Inputs, pairs: pl.LazyFrame, rows: Mapping[str, pl.Expr], *, graded: bool
) -> pl.LazyFrame:
    """Join every hit with all rows of its list, and count those of `rows` per hit."""
    found = _hits(inputs, pairs, inputs.recs.frame, graded=graded, exact=False)
    grade = [pl.col("relevance").first()] if graded else []
    hits = found.group_by(*inputs.keys, "item").agg(pl.col("score").min(), *grade)
    joined = inputs.reread(2).join(
        hits.rename({"item": _HIT_ITEM, "score": _HIT_SCORE}),
        on=inputs.rec_keys,
        nulls_equal=bool(inputs.recs.keys),
        build_side="force_right",
    )
    counts = {**rows, COPIES: _ITSELF}
    marked = joined.with_columns(**{name: row.cast(pl.Int64) for name, row in counts.items()})
    counted = marked.group_by(*inputs.keys, _HIT_ITEM).agg(
        pl.col(*counts).sum(), pl.col(_HIT_SCORE, *["relevance"] * graded).first()
    )
    return counted.rename({_HIT_ITEM: "item", _HIT_SCORE: "score"})


def _among_ties(counted: pl.LazyFrame, inputs: Inputs, ties: Ties, *, graded: bool) -> pl.LazyFrame:
    """Rank hits among equal scores: before the other rows, after them, or at every rank.

    Of graded hits the highest grade comes first in the best order, and last in the worst.
    """
    above, equal = pl.col("above"), pl.col("equal")
    if ties == "expected":
        # Other copies of the hit itself do not compete with it.
        width = equal - pl.col("own") + 1
        ranks = pl.int_ranges(above + 1, above + width + 1)
        each = counted.with_columns(rank=ranks, share=1.0 / width)
        return each.drop(*_TIES, "score").explode("rank")
    tied = [*inputs.keys, "score"]
    best = pl.col("relevance") * (-1.0 if ties == "optimistic" else 1.0)
    order = pl.struct(best, "item") if graded else pl.col("item")
    among_hits = order.rank("ordinal").over(tied).cast(pl.Int64)
    others = equal - pl.len().over(tied).cast(pl.Int64)
    first = above if ties == "optimistic" else above + others
    return counted.with_columns(rank=first + among_hits).drop(*_TIES, "score")
