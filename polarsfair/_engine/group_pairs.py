"""Pairs of groups for what a rate cannot say: two distributions or curves set side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.reference import OVERALL, Everyone, mark_reference
from polarsfair._engine.slices import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIR = ("one", "other")
"""The columns that tell pairs apart: numbers of groups, -1 for everyone (else)."""


def pair_sides(
    lines: pl.LazyFrame, keys: Sequence[str], ref: Any, *, ordered: bool = False
) -> pl.LazyFrame:
    """Give every pair of groups the lines of both: `side` 0 is the group's own, 1 the other's.

    Without a reference all pairs (`ordered`: in both directions), else every other group beside
    the reference. Lines of unknown group are on no side.
    """
    known = lines.filter(pl.col("group").is_not_null())
    groups = known.select(*keys, "group").unique()
    number = pl.int_range(pl.len())
    groups = groups.with_columns(one=number.over(list(keys)) if keys else number).cache()
    own = joined(known, groups, [*keys, "group"]).drop("group")
    other = own.rename({"one": "other"})
    if isinstance(ref, Everyone):
        beside = joined(groups.select(*keys, "one"), other, keys)
        beside = beside if ref is OVERALL else beside.filter(pl.col("one") != pl.col("other"))
        everyone = pl.lit(-1, pl.Int64).alias("other")
        sides = [own.with_columns(everyone), beside.with_columns(everyone)]
    else:
        pairs = _pairs(groups, keys, ref, ordered=ordered)
        sides = [joined(pairs, own, [*keys, "one"]), joined(pairs, other, [*keys, "other"])]
    names = lines.collect_schema().names()
    kept = [*keys, *PAIR, *(n for n in names if n not in (*keys, "group"))]
    return pl.concat(side.select(*kept, side=pl.lit(i)) for i, side in enumerate(sides))


def _pairs(groups: pl.LazyFrame, keys: Sequence[str], ref: Any, *, ordered: bool) -> pl.LazyFrame:
    if ref is None:
        beside = joined(
            groups.select(*keys, "one"), groups.select(*keys, pl.col("one").alias("other")), keys
        )
        one, other = pl.col("one"), pl.col("other")
        return beside.filter(one != other if ordered else one < other)
    marked = mark_reference(groups, ref, "is_ref")
    others = marked.filter("is_ref").select(*keys, pl.col("one").alias("other"))
    return joined(marked.filter(~pl.col("is_ref")).select(*keys, "one"), others, keys)


def largest_of(value: pl.Expr, own_known: pl.Expr, ref: Any) -> pl.Expr:
    """Give the largest value of any pair; against everyone, at least two groups must have one."""
    largest = value.max()
    return pl.when(own_known.sum() > 1).then(largest) if isinstance(ref, Everyone) else largest
