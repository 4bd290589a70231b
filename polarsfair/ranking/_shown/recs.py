"""Recommendations by themselves: what was shown to whom, and at which place.

Coverage, exposure and diversity speak of the lists alone. The ground truth, where it is given, only
adds items to the catalogue; a slice or group is a column of the recommendations or of `users`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.columns import as_column, check_columns, schema_of
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.legacy import fault, stopping
from polarsfair._engine.slices import summed
from polarsfair.ranking._inputs import RECS, caller_name, keyed, repeated_key, resolve, same_dtype
from polarsfair.ranking._lists.masks import lines_of
from polarsfair.ranking._lists.ranks import without_repeats
from polarsfair.ranking._lists.users import FAULTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup
    from polarsfair.ranking._inputs import Inputs
    from polarsfair.ranking._lists.ranks import Repeats

WORDS: Mapping[str, str] = {
    "bad_rank|": FAULTS["bad_rank|"],
    "bad_user|": FAULTS["bad_user|"],
    "bad_recs|": FAULTS["bad_recs|"],
    "bad_item|": repeated_key("items", "item"),
    "bad_feature|": "`features` holds an infinite value: make it null to leave the item out",
    "bad_popularity|": (
        "`popularity` holds a value that is not a number of at least 0 (negative, null, NaN):"
        ' fill them, such as `popularity=pl.col("...").fill_null(0)`'
    ),
}
"""Columns that count faults, and what they say."""


@dataclass(frozen=True)
class Shown:
    """Recommendations as the tables of this side read them.

    Attributes
    ----------
    inputs
        The frames by role; `actual` is empty where none was given.
    rows
        Keys (slices and parts of the group), ``user``, ``item``, ``place|`` where a k or a discount
        asks for it, and the columns that count faults.
    """

    inputs: Inputs
    rows: pl.LazyFrame

    @property
    def keys(self) -> list[str]:
        """The slices and the parts of the group."""
        return [*self.inputs.slices, *self.inputs.parts]

    @property
    def list_keys(self) -> list[str]:
        """What makes a list of recommendations one list."""
        return [*self.keys, "user"]

    @property
    def faults(self) -> list[str]:
        """The columns that count faults."""
        names = self.rows.collect_schema().names()
        return [name for name in WORDS if name in names]


def shown(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoColumn | None,
    item: IntoColumn | None,
    actual: IntoFrame | None = None,
    users: IntoFrame | None = None,
    group: IntoGroup | None = None,
    placed: bool,
    repeats: Repeats = "once",
    rec_roles: Mapping[str, IntoColumn | None],
) -> Shown:
    """Resolve the roles; with `placed` give every row its place in the list.

    With `repeats` other than ``"once"``, a list holds an item once.
    """
    inputs = resolve(
        rows,
        by,
        actual=rows.head(0) if actual is None else actual,
        users=users,
        user=user,
        item=item,
        group=group,
        rec_roles=rec_roles,
    )
    if inputs.of_actual:
        names = ", ".join(repr(caller_name(name)) for name in inputs.of_actual)
        msg = f"{names} is a column of `actual` alone, and what is shown does not depend on it"
        raise ValueError(msg)
    inputs = without_repeats(inputs, repeats)
    recs = _placed(inputs) if placed else inputs.recs
    if inputs.refuses_repeats:
        recs = recs.with_columns((pl.col("rows|") - 1).alias("bad_recs|"))
    if inputs.ranked:
        bad = (pl.col("rank") < 1).fill_null(value=True).cast(pl.Int64)
        recs = recs.with_columns(bad.alias("bad_rank|"))
    return Shown(inputs, with_users(inputs, recs.drop("score", "rank", "rows|", strict=False)))


def _placed(inputs: Inputs) -> pl.LazyFrame:
    if inputs.ranked:
        return inputs.recs.with_columns(pl.col("rank").alias("place|"))
    if "score" not in inputs.recs.collect_schema():
        msg = 'the order of the lists is missing: add `score="<column>"` or `rank="<column>"`'
        raise TypeError(msg)
    place = pl.struct("score", "item").rank("ordinal").over(inputs.rec_keys)
    return inputs.recs.with_columns(place.cast(pl.Int64).alias("place|"))


def with_users(inputs: Inputs, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Add the slices and groups of `users`; a user who is there twice is a fault."""
    if inputs.users is None:
        return rows
    known = rows.drop("rows|", strict=False).join(inputs.users, on="user", how="left")
    repeated = (pl.col("rows|").fill_null(1) > 1).cast(pl.Int64)
    return known.with_columns(repeated.alias("bad_user|")).drop("rows|")


def with_sizes(found: Shown, rows: pl.LazyFrame, counts: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """Put counts of its list beside every row; joined, so that memory follows the lists."""
    counted = rows.select(
        *found.list_keys, **{name: n.cast(pl.Int64) for name, n in counts.items()}
    )
    sizes = summed(counted, found.list_keys, list(counts))
    return rows.join(sizes, on=found.list_keys, nulls_equal=bool(found.keys))


def inside(k: int | None) -> pl.Expr:
    """Say whether a row is among the first k."""
    return pl.lit(value=True) if k is None else pl.col("place|") <= k


def item_frame(
    recs: pl.LazyFrame,
    items: IntoFrame,
    item: IntoColumn | None,
    values: Mapping[str, IntoColumn],
    role: str,
) -> pl.LazyFrame:
    """Give one line per item of the frame `items`, with the columns that `role` asks for."""
    frame, column = as_lazy(items), as_column(item, "item")
    wanted = {name: as_column(into, role) for name, into in values.items()}
    check_columns(frame, {"item": [column], role: list(wanted.values())})
    dtypes = {RECS: schema_of(recs, {"item": column})["item"]}
    dtypes["items"] = schema_of(frame, {"item": column})["item"]
    same_dtype("item", dtypes)
    return keyed(frame, "item", column, wanted)


def bad_items(catalogue: pl.LazyFrame) -> pl.LazyFrame:
    """Count, in one line, the items that a catalogue holds more than once."""
    return catalogue.select((pl.col("rows|") > 1).sum().cast(pl.Int64).alias("bad_item|"))


def stops(names: Sequence[str]) -> list[pl.Expr]:
    """Give the faults that a small table has counted."""
    return [fault(pl.col(name) > 0, words) for name, words in WORDS.items() if name in names]


def at_every_k(lines: pl.LazyFrame, ks: Sequence[int | None]) -> pl.LazyFrame:
    """Give every line for every k."""
    return lines.join(pl.LazyFrame({"k": ks}, schema={"k": pl.Int64}), how="cross")


def per_k(
    wide: pl.LazyFrame, kept: Sequence[str], values: Sequence[str], ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Turn columns ``<value>|<number of k>`` into a line per k."""
    wide = wide.cache()
    return pl.concat(
        wide.select(
            *kept,
            pl.lit(k, dtype=pl.Int64).alias("k"),
            *(pl.col(f"{name}|{i}").alias(name) for name in values),
        )
        for i, k in enumerate(ks)
    )


def listed(k: Any) -> bool:
    """Say whether several k are asked for, so that ``k`` is a key of the result."""
    return isinstance(k, (list, tuple, range))


def lines_at(table: pl.LazyFrame, keys: Sequence[str], k: Any, sums: Sequence[str]) -> pl.LazyFrame:
    """Give the lines of every k that is asked for; a k that the table lacks is a fault."""
    if listed(k) and "k" in keys:
        msg = 'a slice may not be called "k" where `k` is a list: rename it with `.alias("...")`'
        raise ValueError(msg)
    mine, lacking = lines_of(k)
    words = f"the table holds no lines of k={k}: count it with that `k`"
    present = [name for name in sums if name in table.collect_schema()]
    lines = stopping(table, [fault(lacking, words)], present).filter(mine)
    return lines if listed(k) else lines.drop("k")
