"""Recommendations alone: what was shown to whom, and at which rank.

Coverage, exposure and diversity describe the lists only. The ground truth, if given, only adds
items to the catalogue. A slice or group is a column of the recommendations or of `users`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import (
    Column,
    as_column,
    check_columns,
    is_number,
    key_of,
    schema_of,
    shown,
)
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.rows import Rows
from polarsfair._engine.slices import hidden, summed
from polarsfair.ranking._depths import within
from polarsfair.ranking._inputs import (
    BAD_POPULARITY,
    BAD_RANK,
    REPEATED_ITEM,
    REPEATED_RECS,
    Inputs,
    check_ordered,
    fault_columns,
    one_per_id,
    order_roles,
    resolve,
    with_users,
)
from polarsfair.ranking._keys import ITEMS, RECS, key_dtype
from polarsfair.ranking._lists.ranks import without_repeats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.rows import Role
    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser
    from polarsfair.ranking._lists.ranks import Repeats


@dataclass(frozen=True)
class Shown:
    """Recommendations, with all slices and groups, as the tables of this side read them.

    Attributes
    ----------
    inputs
        The frames by role; `actual` is empty if it was not given.
    rows
        Slices and parts of the group, ``user``, ``item``, ``n``, ``rank`` if a k or a discount
        needs it, and the columns that count faults.
    """

    inputs: Inputs
    rows: Rows

    @property
    def keys(self) -> list[str]:
        """The slices and the parts of the group."""
        return self.rows.keys

    @property
    def list_keys(self) -> list[str]:
        """What identifies a list of recommendations."""
        return [*self.keys, *self.inputs.user]

    @property
    def faults(self) -> list[str]:
        """The columns that count faults."""
        return fault_columns(self.rows.frame.collect_schema().names())


def shown_recs(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoUser | None,
    item: IntoColumn | None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    actual: IntoFrame | None = None,
    items: IntoFrame | None = None,
    users: IntoFrame | None = None,
    group: IntoGroup | None = None,
    ranked: bool,
    repeats: Repeats = "once",
    more: Mapping[str, Role] | None = None,
) -> Shown:
    """Resolve the roles; with `ranked` compute the rank of every row in its list.

    `items` is a catalogue that is joined later: its items get the dtype of the recommended ones.
    With `repeats` other than ``"once"``, a list holds an item once. `more` are further roles.
    """
    inputs = resolve(
        rows,
        by,
        actual=rows.head(0) if actual is None else actual,
        users=users,
        items=items,
        user=user,
        item=item,
        group=group,
        rec_roles=order_roles(score, rank) | dict(more or {}),
    )
    if inputs.of_actual:
        names = ", ".join(repr(shown(name)) for name in inputs.of_actual)
        msg = f"{names} exists only in `actual`, so it cannot slice what is shown"
        raise ValueError(msg)
    inputs = without_repeats(inputs, repeats)
    recs = _with_ranks(inputs) if ranked else inputs.recs.frame
    if inputs.refuses_repeats:
        recs = recs.with_columns((pl.col("n") - 1).alias(REPEATED_RECS))
    if inputs.ranked:
        bad = (pl.col("rank") < 1).fill_null(value=True).cast(pl.Int64)
        recs = recs.with_columns(bad.alias(BAD_RANK))
    return Shown(inputs, inputs.rows(with_users(inputs, recs.drop("score", strict=False))))


def _with_ranks(inputs: Inputs) -> pl.LazyFrame:
    check_ordered(inputs)
    if inputs.ranked:
        return inputs.recs.frame
    rank = pl.struct("score", "item").rank("ordinal").over(inputs.rec_keys)
    return inputs.recs.frame.with_columns(rank=rank.cast(pl.Int64))


def with_sizes(found: Shown, rows: pl.LazyFrame, counts: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Add counts of its list to every row; by a join, so that memory follows the lists."""
    counted = rows.select(
        *found.list_keys, **{name: n.cast(pl.Int64) for name, n in counts.items()}
    )
    sizes = summed(counted, found.list_keys, counts)
    return rows.join(sizes, on=found.list_keys, nulls_equal=bool(found.keys))


def inside(k: int | None) -> pl.Expr:
    """Return whether a row is among the first k of its list."""
    return within(pl.col("rank"), k)


def item_frame(
    recs: Rows,
    items: IntoFrame,
    item: IntoColumn | None,
    values: Mapping[str, IntoColumn],
    role: str,
) -> pl.LazyFrame:
    """Return one line per item of the frame `items`, with the columns of `role` as `values`.

    `recs` are the recommendations, resolved together with the same `items`.
    """
    frame, column = as_lazy(items), as_column(item, "item")
    wanted = {name: as_column(into, role) for name, into in values.items()}
    check_columns(frame, {"item": [column], role: list(wanted.values())})
    dtypes = {RECS: recs.frame.collect_schema()["item"]}
    dtypes |= {ITEMS: schema_of(frame, {"item": column})["item"]}
    key = key_of(Column("item", column, dtypes[ITEMS])).cast(key_dtype("item", dtypes))
    rows = Rows.of(frame, (), more={**wanted, "item": key})
    return one_per_id(rows.frame, "item", wanted, REPEATED_ITEM)


def popular_items(
    recs: Rows, items: IntoFrame, item: IntoColumn | None, popularity: IntoColumn
) -> pl.LazyFrame:
    """Return one line per item of the frame `items`, with its ``popularity``, null if unknown."""
    frame = item_frame(recs, items, item, {"popularity": popularity}, "popularity")
    value = pl.col("popularity")
    dtype = schema_of(frame, {"popularity": value})["popularity"]
    if not is_number(dtype):
        msg = f"`popularity` is {dtype}, not a number: pass a numeric column of `items`"
        raise TypeError(msg)
    return frame.with_columns(value.cast(pl.Float64).fill_nan(None))


def faulty_items() -> list[pl.Expr]:
    """Count, over the lines of `popular_items`, repeated items and bad popularities."""
    bad = ~(pl.col("popularity") >= 0).fill_null(value=False)
    return [pl.col(REPEATED_ITEM).sum(), bad.sum().cast(pl.Int64).alias(BAD_POPULARITY)]


def filled_table(
    found: Shown, lines: pl.LazyFrame, cells: Sequence[str | pl.Expr], sums: Sequence[str]
) -> pl.LazyFrame:
    """Return the table, with 0 for sums and faults that a line lacks."""
    faults = fault_columns(lines.collect_schema().names())
    lines = lines.with_columns(pl.col(*sums, *faults).fill_null(0))
    return found.inputs.table(lines, cells, sums)


def per_k(
    wide: pl.LazyFrame, kept: Sequence[str], values: Sequence[str], ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Turn columns ``hidden(value, number of k)`` into a line per k."""
    wide = wide.cache()
    return pl.concat(
        wide.select(
            *kept,
            pl.lit(k, dtype=pl.Int64).alias("k"),
            *(pl.col(hidden(name, i)).alias(name) for name in values),
        )
        for i, k in enumerate(ks)
    )
