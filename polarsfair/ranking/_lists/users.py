"""Units: a user's list beside the user's relevant items, one line for each.

The tables of lists and of gains are histograms of units. A column that only one frame has is a
slice of that frame alone: every list of `recs` meets the ground truth of every slice of `actual`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.legacy import fault, stopping
from polarsfair.ranking._inputs import ONE, repeated_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair.ranking._inputs import Inputs

SUMS = ("users", "repeats", "repeated|")
"""Users, repeated hits, repeated rows of the ground truth: every unit has them."""

FAULTS: Mapping[str, str] = {
    "bad_rank|": "`rank` holds a value that is not a whole number from 1: the first place is 1",
    "clash|": "`rank` gives several hits of one user the same place: ranks must differ in a list",
    "bad_grade|": "`relevance` holds a grade above `max_grade`: give the highest there can be",
    "bad_user|": repeated_key("users", "user"),
    "bad_recs|": 'a list holds an item more than once, and `repeats="error"` refuses that',
    "bad_actual|": 'a user has an item in `actual` twice, and `repeats="error"` refuses that',
}
"""Columns that count faults, and what they say."""


def units(
    inputs: Inputs,
    pairs: pl.LazyFrame,
    found: pl.LazyFrame,
    values: Sequence[str],
    more_truth: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """Give a line per unit: keys, ``n_rel``, ``n_rec``, the `values` of its hits, and the sums.

    `found` holds a line per unit with hits, `more_truth` further columns per set of relevant
    items. ``n_rel`` is null for users who are not in `actual`.
    """
    lists, known = _lists(inputs), truth(inputs, pairs)
    if more_truth is not None:
        both = pl.concat([known, more_truth], how="diagonal")
        known = _one_each(both, inputs.actual_keys)
    if inputs.of_actual:
        return _each_slice_of_actual(inputs, lists, known, found, values)
    if inputs.of_recs:
        lists = lists.cache()
        known = known.join(lists.select(inputs.of_recs).unique(), how="cross")
    parts = pl.concat([known, lists, found], how="diagonal")
    return _filled(inputs, _one_each(parts, inputs.keys), values)


def _lists(inputs: Inputs) -> pl.LazyFrame:
    """Count the recommendations of every list."""
    columns = {"n_rec": ONE}
    if inputs.ranked:
        columns["bad_rank|"] = (pl.col("rank") < 1).fill_null(value=True).cast(pl.Int64)
    if inputs.refuses_repeats:
        columns["bad_recs|"] = pl.col("rows|") - 1
    rows = inputs.reread(3).select(*inputs.rec_keys, **columns)
    return rows.group_by(inputs.rec_keys).agg(pl.col(name).sum() for name in columns)


def truth(inputs: Inputs, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Count the relevant items of every user in `actual`, 0 for those who have none."""
    keys = inputs.actual_keys
    again = ["repeated|"] if "rows|" in pairs.collect_schema() else []
    again += ["bad_actual|"] * inputs.refuses_repeats
    rows = pairs.select(*keys, "item", **dict.fromkeys(again, pl.col("rows|") - 1))
    n_rel = pl.col("item").n_unique().cast(pl.Int64)
    counted = rows.group_by(keys).agg(n_rel.alias("n_rel"), *(pl.col(name).sum() for name in again))
    if not inputs.graded:
        return counted
    zero = pl.lit(0, dtype=pl.Int64)
    present = inputs.actual.select(*keys).group_by(keys).agg(n_rel=zero.sum())
    return _one_each(pl.concat([counted, present], how="diagonal"), keys)


def _one_each(parts: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Bring the lines of one key together; every column is filled by one part alone."""
    names = [name for name in parts.collect_schema().names() if name not in keys]
    return parts.group_by(keys).agg(pl.col(name).max() for name in names)


def _filled(inputs: Inputs, lines: pl.LazyFrame, values: Sequence[str]) -> pl.LazyFrame:
    """Fill in what a unit without hits or recommendations has, and the columns of `users`."""
    names = lines.collect_schema().names()
    zeros = [name for name in ("n_rec", *values, "repeats", *FAULTS, "repeated|") if name in names]
    lines = lines.with_columns(pl.col(zeros).fill_null(0), users=ONE)
    return _with_users(inputs, lines)


def _with_users(inputs: Inputs, lines: pl.LazyFrame) -> pl.LazyFrame:
    if inputs.users is None:
        return lines
    known = lines.join(inputs.users, on="user", how="left")
    return known.with_columns(
        (pl.col("rows|").fill_null(1) > 1).cast(pl.Int64).alias("bad_user|")
    ).drop("rows|")


def _each_slice_of_actual(
    inputs: Inputs,
    lists: pl.LazyFrame,
    known: pl.LazyFrame,
    found: pl.LazyFrame,
    values: Sequence[str],
) -> pl.LazyFrame:
    """Set every list beside the ground truth of every slice that only `actual` has.

    Users of a slice are joined with their lists. Those who are in `recs` alone are everyone there
    but the joined ones: a line of -1 takes each of these out of the count, so that no product of
    users and slices is made.
    """
    lists, known = lists.cache(), known.cache()
    if inputs.of_recs:
        known = known.join(lists.select(inputs.of_recs).unique(), how="cross").cache()
    slices = known.select(inputs.of_actual).unique()
    joined = known.join(lists, on=inputs.rec_keys, how="left", nulls_equal=True)
    listed = joined.filter(pl.col("n_rec").is_not_null()).select(*inputs.keys, "n_rec")
    joined = joined.join(found, on=inputs.keys, how="left", nulls_equal=True)
    lines = _filled(inputs, joined, values)
    everyone = _with_users(inputs, lists).join(slices, how="cross").with_columns(users=ONE)
    taken = _with_users(inputs, listed).with_columns(users=-ONE)
    together = pl.concat([lines, everyone, taken], how="diagonal")
    present = [name for name in values if name in together.collect_schema()]
    return together.with_columns(pl.col(present).fill_null(0))


def histogram(
    inputs: Inputs, lines: pl.LazyFrame, cells: Mapping[str, pl.Expr], sums: Sequence[str]
) -> pl.LazyFrame:
    """Count units per slice, group and cells; stop where a fault was counted."""
    names = lines.collect_schema().names()
    faults = [name for name in FAULTS if name in names]
    summed = [name for name in (*SUMS, *faults) if name in names]
    keys = [*inputs.slices, *inputs.parts]
    named = lines.select(*keys, *summed, **cells)
    table = named.group_by(*keys, *cells).agg(pl.col(name).sum() for name in summed)
    stops = [fault(pl.col(name) > 0, FAULTS[name]) for name in faults]
    table = stopping(table, stops, ["users"])
    if inputs.of_actual:
        table = table.filter(pl.col("users") != 0)
    return inputs.finished(table, *cells, *sums)
