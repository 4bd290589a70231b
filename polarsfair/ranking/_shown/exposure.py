"""The table of exposure: how often each item of the catalogue is shown, and in how long lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.columns import schema_of
from polarsfair._engine.legacy import stopping
from polarsfair._engine.slices import summed
from polarsfair._engine.tally import Tally
from polarsfair.ranking._lists.masks import depths
from polarsfair.ranking._shown.recs import (
    Shown,
    at_every_k,
    inside,
    item_frame,
    per_k,
    shown,
    stops,
    with_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup

__all__ = ["exposure"]

SUMS = {
    "n": pl.col("n").sum(),
    "users": pl.col("users").sum(),
    "popularity": pl.col("popularity").max(),
    "order": pl.col("order").min(),
    "catalogue": pl.col("catalogue").max(),
    "total": pl.col("total").max(),
}
"""Two counts, and facts of the item and of the catalogue, which are the same in every table."""

_FACTS = {"popularity": pl.Float64, "order": pl.Int64, "catalogue": pl.Int64, "total": pl.Float64}


def _count_exposure(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoColumn | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    items: IntoFrame | None = None,
    popularity: IntoColumn | None = None,
    actual: IntoFrame | None = None,
    group: IntoGroup | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
) -> pl.LazyFrame:
    """Count how often each item of the catalogue is shown.

    The table has the slices, ``group`` (of users), ``k`` (null: the whole list) and ``item``, and
    the sums ``n`` (times shown) and ``users`` (over those shown it, of one over the length of their
    list: a user's list adds up to 1); beside them, where `items` is given, ``popularity`` and
    ``order`` (the item's place by popularity), and in a line without an item ``catalogue`` and
    ``total`` (number of items, sum of their popularity). Tables add up as long as no user's rows
    are split between them.

    Parameters
    ----------
    rows, by, group, users, user, item
        As in `ranking.lists`. Every row is a showing, also of an item that is listed twice.
    score, rank
        At most one of them, needed for a `k`. Of equal scores the lower item comes first.
    items
        The catalogue: a frame keyed by `item`. What it does not hold takes its place in the list,
        but no part. Unless given, the catalogue is the items of the recommendations and of
        `actual`.
    popularity
        A column of `items`; unless given, an item is as popular as it is often shown.
    actual
        Ground truth, whose items are part of the catalogue where `items` is not given.
    k
        Cut-offs; None is the whole list.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7]})
    >>> table = ranking.exposure(recs, user="user", item="item")
    >>> table.select("k", "item", "n", "users").sort("item")
    shape: (3, 4)
    ┌──────┬──────┬─────┬───────┐
    │ k    ┆ item ┆ n   ┆ users │
    │ ---  ┆ ---  ┆ --- ┆ ---   │
    │ i64  ┆ i64  ┆ i64 ┆ f64   │
    ╞══════╪══════╪═════╪═══════╡
    │ null ┆ null ┆ 0   ┆ 0.0   │
    │ null ┆ 7    ┆ 2   ┆ 1.5   │
    │ null ┆ 8    ┆ 1   ┆ 0.5   │
    └──────┴──────┴─────┴───────┘
    """
    ks = depths(k)
    if popularity is not None and items is None:
        msg = "`popularity` is a column of the catalogue: add `items=<frame>`"
        raise TypeError(msg)
    found = shown(
        rows,
        by,
        user=user,
        item=item,
        actual=actual,
        group=group,
        users=users,
        placed=any(one is not None for one in ks),
        rec_roles={"score": score, "rank": rank},
    )
    catalogue = None if items is None else _catalogue(rows, items, item, popularity)
    return _table(found, catalogue, ks)


def _catalogue(
    rows: pl.LazyFrame, items: IntoFrame, item: IntoColumn | None, popularity: IntoColumn | None
) -> pl.LazyFrame:
    """Give the items in the order of their popularity."""
    given = {} if popularity is None else {"popularity": popularity}
    frame = item_frame(rows, items, item, given, "popularity")
    null = pl.lit(None, dtype=pl.Float64)
    if popularity is None:
        return frame.with_columns(null.alias("popularity"), null.cast(pl.Int64).alias("order"))
    dtype = schema_of(frame, {"popularity": pl.col("popularity")})["popularity"]
    if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
        msg = f"`popularity` is {dtype}, not a number: give a numeric column of `items`"
        raise TypeError(msg)
    number = pl.col("popularity").cast(pl.Float64).fill_nan(None)
    ordered = frame.with_columns(number).sort(
        "popularity", "item", descending=[True, False], nulls_last=True
    )
    return ordered.with_row_index("order", 1).with_columns(pl.col("order").cast(pl.Int64))


def _table(found: Shown, catalogue: pl.LazyFrame | None, ks: Sequence[int | None]) -> pl.LazyFrame:
    wide = _wide(found, catalogue, ks).cache()
    per_item = per_k(wide, [*found.keys, "item"], ["n", "users"], ks)
    slices = _slices(found, wide)
    parts = [per_item, at_every_k(slices, ks)]
    if catalogue is not None:
        # The catalogue's size is told, so that only what is shown needs a line.
        facts = catalogue.select("item", "popularity", "order")
        parts[0] = per_item.filter(pl.col("n") > 0).join(facts, on="item", how="left")
        parts[1] = parts[1].join(_facts(catalogue), how="cross")
    else:
        parts.append(at_every_k(_unshown(found, slices), ks))
    table = pl.concat(parts, how="diagonal")
    return _finished(found, table)


def _wide(found: Shown, catalogue: pl.LazyFrame | None, ks: Sequence[int | None]) -> pl.LazyFrame:
    """Count the rows of every item within every k, and sum one over the length of their lists."""
    rows, known = found.rows, pl.lit(value=True)
    if catalogue is not None:
        mark = pl.lit(value=True).alias("known|")
        rows = rows.join(catalogue.select("item", mark), on="item", how="left")
        known = pl.col("known|").fill_null(value=False)
    counts = {f"size|{i}": known & inside(k) for i, k in enumerate(ks)}
    rows = with_sizes(found, rows, counts)
    columns = {}
    for i, counted in enumerate(counts.values()):
        columns[f"n|{i}"] = counted.cast(pl.Int64)
        columns[f"users|{i}"] = pl.when(counted).then(1 / pl.col(f"size|{i}")).otherwise(0.0)
    keys = [*found.keys, "item"]
    named = rows.select(*keys, *found.faults, **columns)
    return summed(named, keys, [*columns, *found.faults])


def _slices(found: Shown, wide: pl.LazyFrame) -> pl.LazyFrame:
    """Give a line without an item for every slice and group; with none, one line."""
    sums = [pl.col(name).sum() for name in found.faults]
    if not found.keys:
        return wide.select(*sums, pl.lit(0, dtype=pl.Int64).alias("n"))
    slices = wide.group_by(found.keys).agg(*sums, n=pl.lit(0, dtype=pl.Int64).sum())
    inputs = found.inputs
    if any(name not in inputs.both for name in inputs.slices):
        return slices
    # Slices of the ground truth in which nothing is shown; with none, the line of everyone.
    none = pl.lit(0, dtype=pl.Int64).alias("n")
    others = inputs.actual.select(*inputs.both, none).unique()
    return pl.concat([slices, others], how="diagonal")


def _facts(catalogue: pl.LazyFrame) -> pl.LazyFrame:
    """Give the size of the catalogue and what is wrong with it, in one line."""
    popularity = pl.col("popularity")
    ordered = pl.col("order").is_not_null()
    bad = ordered & ~(popularity >= 0).fill_null(value=False)
    return catalogue.select(
        pl.len().cast(pl.Int64).alias("catalogue"),
        pl.when(ordered.any()).then(popularity.sum()).alias("total"),
        (pl.col("rows|") > 1).sum().cast(pl.Int64).alias("bad_item|"),
        bad.sum().cast(pl.Int64).alias("bad_popularity|"),
    )


def _unshown(found: Shown, slices: pl.LazyFrame) -> pl.LazyFrame:
    """Give the items of the ground truth, in every slice and group, as shown to nobody."""
    inputs = found.inputs
    items = inputs.actual.select(*inputs.both, "item").unique()
    if len(inputs.both) < len(found.keys):
        each = slices.select(found.keys).unique()
        on = list(inputs.both)
        joined = each.join(items, on=on, nulls_equal=True) if on else each.join(items, how="cross")
        items = joined.select(*found.keys, "item")
    return items.with_columns(pl.lit(0, dtype=pl.Int64).alias("n"))


def _finished(found: Shown, table: pl.LazyFrame) -> pl.LazyFrame:
    """Bring the lines of an item together; stop where a fault was counted."""
    names = table.collect_schema().names()
    null = {name: pl.lit(None, dtype=dtype) for name, dtype in _FACTS.items() if name not in names}
    faults = [name for name in names if name.startswith("bad_")]
    cells = [*found.keys, "k", "item"]
    worst = [pl.col(name).max().fill_null(0) for name in faults]
    merged = table.with_columns(**null).group_by(cells).agg(*SUMS.values(), *worst)
    merged = stopping(merged, stops(faults), ["n", "users"])
    return found.inputs.finished(merged, "k", "item", *SUMS)


exposure = Tally(
    name="ranking.exposure",
    count=_count_exposure,
    cells=("group", "k", "item"),
    sums=SUMS,
    defaults={},
)
