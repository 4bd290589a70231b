"""Counting rows into cells: the row side that the tallies of labels and groups share.

Everything below the `group_by` here runs on the streaming engine over flat keys; whatever needs
more (structs, Boolean meaning, faults) is done afterwards, on the small table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import Column, binary_key, resolve_columns, row_key, weight_columns
from polarsfair._engine.faults import binary_fault, stopping, weight_fault
from polarsfair._engine.groups import (
    class_names,
    gather_group,
    group_parts,
    per_class,
    probabilities,
    spread,
    unsure_fault,
)
from polarsfair._engine.slices import summed

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoGroup

WEIGHTED_SUMS: Mapping[str, pl.Expr] = {name: pl.col(name).sum() for name in ("n", "w", "w2")}
"""The sums of a counting tally: rows, weights, squared weights."""


ONE = pl.lit(1, dtype=pl.Int64)
# `pl.len()` is UInt32 and stops at 2**32 rows a cell; a sum of Int64 ones does not.


def count_cells(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    group: IntoGroup | None,
    cells: Mapping[str, IntoColumn | None],
    weight: IntoColumn | None,
    binary: bool = False,
    exploded: str | None = None,
) -> pl.LazyFrame:
    """Count rows per slice, group and cells, with weights where given.

    A cell named by `exploded` is a list: a row counts once for each of its distinct members, and
    the columns ``rows`` and ``row_w`` count the rows themselves.
    """
    chances = probabilities(rows, group) if isinstance(group, Mapping) else {}
    flat = {} if isinstance(group, Mapping) else group_parts(rows, group)
    parts = {f"|{name}": part for name, part in flat.items()}
    columns = resolve_columns(rows, by, {**parts, **cells, "weight": weight})
    weighed = columns.pop("weight", None)
    given = [columns[name] for name in cells if name in columns]
    codes = {column.role: binary_key(column) for column in given if binary}
    keys = {name: row_key(column) for name, column in columns.items() if name not in codes} | codes
    sums = {"n": ONE, **(weight_columns(weighed) if weighed else {})}
    named = _named(rows, {**keys, **sums, **chances})
    if exploded is not None:
        named, sums = _explode(named, exploded, sums)
    faults = [binary_fault(column) for column in given] if binary else []
    if isinstance(group, Mapping):
        table, values = _expected(named, list(keys), list(sums), group, weighed, faults)
    else:
        faults += [weight_fault(weighed)] if weighed else []
        values = [name for name in sums if name != "bad"]
        table = stopping(summed(named, list(keys), list(sums)), faults, values)
    if binary:
        table = table.with_columns(pl.col(column.role).cast(pl.Boolean) for column in given)
    kept = [column.meta.output_name() for column in by] + ["group"] * (group is not None)
    kept += [column.role for column in given]
    table = gather_group(table, list(parts)).select(*kept, *values)
    # Groups that lack different parts are all the one unknown group.
    return summed(table, kept, values) if len(parts) > 1 else table


def _named(rows: pl.LazyFrame, columns: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Select columns, each as long as the frame even where all of them are literals."""
    if any(column.meta.root_names() for column in columns.values()):
        return rows.select(**columns)
    return rows.with_columns(**columns).select(list(columns))


def _expected(
    rows: pl.LazyFrame,
    keys: list[str],
    sums: list[str],
    group: Mapping[Any, IntoColumn],
    weighed: Column | None,
    faults: list[pl.Expr],
) -> tuple[pl.LazyFrame, list[str]]:
    """Count expected rows per class of a group that is known as probabilities."""
    values = [name for name in sums if name != "bad"]
    rows, parts, unsure = spread(rows, values, len(group))
    table = summed(rows, keys, [*parts, unsure, *(name for name in sums if name == "bad")])
    # Products with a probability are floats, which no square can overflow.
    weights = [weight_fault(replace(weighed, dtype=pl.Float64()))] if weighed else []
    table = stopping(table, [*faults, *weights, unsure_fault()], parts)
    values = list(dict.fromkeys([*values[:1], "w", "w2", *values[1:]]))
    return per_class(table, class_names(group), values), values


def _explode(
    rows: pl.LazyFrame, cell: str, sums: dict[str, pl.Expr]
) -> tuple[pl.LazyFrame, dict[str, pl.Expr]]:
    """Give a row for every member of a list, the row itself counted at the first.

    An empty list keeps a row (``rows`` 1, ``n`` 0); an unknown one counts as unknown.
    """
    weight = pl.col("w" if "w" in sums else "n")
    listed = pl.col(cell).list.drop_nulls().list.unique()
    first = pl.col(cell).list.eval(pl.int_range(pl.len()) == 0)
    known = pl.col("|known")
    marked = rows.with_columns(listed.alias(cell), pl.col(cell).is_not_null().alias("|known"))
    opened = marked.with_columns(first.alias("|first")).explode(cell, "|first", empty_as_null=True)
    own, empty = pl.col("|first").fill_null(value=True), known & pl.col(cell).is_null()
    kept = {name: pl.when(empty).then(0).otherwise(name) for name in sums if name != "bad"}
    counted = known & own
    opened = opened.with_columns(
        rows=counted.cast(pl.Int64), row_w=pl.when(counted).then(weight).otherwise(0)
    )
    added = {"rows": pl.col("rows"), "row_w": pl.col("row_w")}
    return opened.with_columns(**kept), {**sums, **added}
