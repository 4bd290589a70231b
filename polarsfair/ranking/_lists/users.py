"""Users: a list of each user together with the user's relevant items, one line per list.

The tables of lists and of gains count such lines. A column that only one frame has is a slice of
that frame alone: every list of `recs` is joined with the ground truth of every slice of `actual`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden, summed
from polarsfair.ranking._inputs import (
    BAD_RANK,
    REPEATED_ACTUAL,
    REPEATED_RECS,
    fault_columns,
    with_users,
)
from polarsfair.ranking._keys import ACTUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair.ranking._inputs import Inputs

REPEATED = hidden("repeated")
"""Counts the rows of the ground truth beyond the first of a relevant pair."""


def lists_of_users(
    inputs: Inputs,
    pairs: pl.LazyFrame,
    found: pl.LazyFrame,
    values: Sequence[str],
    more_truth: pl.LazyFrame | None = None,
) -> pl.LazyFrame:
    """Return a line per list: keys, ``n_rel``, ``n_rec``, the `values` of its hits, ``users`` (1).

    `found` holds a line per list with hits, `more_truth` further columns per set of relevant
    items. ``n_rel`` is null for users who are not in `actual`.
    """
    lists, truth = _lengths(inputs), count_relevant(inputs, pairs)
    if more_truth is not None:
        both = pl.concat([truth, more_truth], how="diagonal")
        truth = _one_per_key(both, inputs.actual_keys)
    if inputs.of_actual:
        return _each_slice_of_actual(inputs, lists, truth, found, values)
    if inputs.of_recs:
        lists = lists.cache()
        truth = truth.join(lists.select(inputs.of_recs).unique(), how="cross")
    parts = pl.concat([truth, lists, found], how="diagonal")
    return _filled(inputs, _one_per_key(parts, inputs.keys), values)


def _lengths(inputs: Inputs) -> pl.LazyFrame:
    """Count the recommendations of every list."""
    if inputs.lengths is not None:
        return summed(inputs.lengths, inputs.rec_keys, ["n_rec"])
    listed = pl.col("item").is_not_null()
    columns = {"n_rec": listed.cast(pl.Int64)}
    if inputs.ranked:
        columns[BAD_RANK] = (listed & (pl.col("rank") < 1).fill_null(value=True)).cast(pl.Int64)
    if inputs.refuses_repeats:
        columns[REPEATED_RECS] = pl.when(listed).then(pl.col("n") - 1).otherwise(0)
    rows = inputs.lists.select(*inputs.rec_keys, **columns)
    return summed(rows, inputs.rec_keys, columns)


def count_relevant(inputs: Inputs, pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Count the relevant items of every user in `actual`, 0 for users without any."""
    keys = inputs.actual_keys
    again = [REPEATED] if "n" in pairs.collect_schema() else []
    again += [REPEATED_ACTUAL] * inputs.refuses_repeats
    rows = pairs.select(*keys, "item", **dict.fromkeys(again, pl.col("n") - 1))
    n_rel = pl.col("item").n_unique().cast(pl.Int64)
    counted = rows.group_by(keys).agg(n_rel.alias("n_rel"), *(pl.col(name).sum() for name in again))
    if not inputs.graded and ACTUAL not in inputs.nested:
        return counted
    zero = pl.lit(0, dtype=pl.Int64)
    present = inputs.truths.select(*keys).group_by(keys).agg(n_rel=zero.sum())
    return _one_per_key(pl.concat([counted, present], how="diagonal"), keys)


def _one_per_key(parts: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Merge the lines of one key; every column is filled in one of the parts alone."""
    names = [name for name in parts.collect_schema().names() if name not in keys]
    return parts.group_by(keys).agg(pl.col(name).max() for name in names)


def _filled(inputs: Inputs, lines: pl.LazyFrame, values: Sequence[str]) -> pl.LazyFrame:
    """Fill in 0 for lists without hits or recommendations, and add the columns of `users`."""
    names = lines.collect_schema().names()
    counts = ("n_rec", *values, "repeats", *fault_columns(names), REPEATED)
    zeros = [name for name in counts if name in names]
    return with_users(inputs, lines.with_columns(pl.col(zeros).fill_null(0), users=ONE))


def _each_slice_of_actual(
    inputs: Inputs,
    lists: pl.LazyFrame,
    truth: pl.LazyFrame,
    found: pl.LazyFrame,
    values: Sequence[str],
) -> pl.LazyFrame:
    """Join every list with the ground truth of every slice that only `actual` has.

    Users of a slice are joined with their lists. All other users of `recs` are in the slice without
    ground truth. They are counted as all users minus the joined ones: a line of -1 for each of
    these avoids the product of users and slices.
    """
    lists, truth = lists.cache(), truth.cache()
    if inputs.of_recs:
        truth = truth.join(lists.select(inputs.of_recs).unique(), how="cross").cache()
    slices = truth.select(inputs.of_actual).unique()
    both = truth.join(lists, on=inputs.rec_keys, how="left", nulls_equal=True)
    listed = both.filter(pl.col("n_rec").is_not_null()).select(*inputs.keys, "n_rec")
    both = both.join(found, on=inputs.keys, how="left", nulls_equal=True)
    lines = _filled(inputs, both, values)
    everyone = with_users(inputs, lists).join(slices, how="cross").with_columns(users=ONE)
    minus = with_users(inputs, listed).with_columns(users=-ONE)
    together = pl.concat([lines, everyone, minus], how="diagonal")
    present = [name for name in values if name in together.collect_schema()]
    return together.with_columns(pl.col(present).fill_null(0))


def count_lists(
    inputs: Inputs,
    lines: pl.LazyFrame,
    cells: Sequence[str],
    shown: Sequence[str | pl.Expr],
    sums: Sequence[str],
) -> pl.LazyFrame:
    """Count lists per slice, group and cells, into a table with the cells `shown`."""
    faults = fault_columns(lines.collect_schema().names())
    counted = summed(lines, [*inputs.all_keys, *cells], [*sums, *faults])
    table = inputs.table(counted, shown, sums)
    # Lists that were all taken out again, see `_each_slice_of_actual`, leave a line of 0.
    return table.filter(pl.col("users") != 0) if inputs.of_actual else table
