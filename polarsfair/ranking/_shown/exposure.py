"""The table of exposure: how often each item of the catalogue is shown, and in which lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polarsfair._engine.faults import Fault
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.slices import aggregated, hidden, joined, summed
from polarsfair._engine.tally import Tally
from polarsfair.ranking._depths import at_every_k, depths
from polarsfair.ranking._inputs import BAD_POPULARITY, REPEATED_ITEM, fault_columns, mark_of
from polarsfair.ranking._shown.recs import (
    Shown,
    inside,
    item_frame,
    per_k,
    popular_items,
    shown_recs,
    with_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser

__all__ = ["exposure"]

SUMS = {
    "n": pl.col("n").sum(),
    "users": pl.col("users").sum(),
    "popularity": pl.col("popularity").max(),
    "order": pl.col("order").min(),
    "catalogue": pl.col("catalogue").max(),
    "total": pl.col("total").max(),
    "truth": pl.col("truth").min(),
    "split": pl.col("split").min(),
}
"""Two counts, and facts of the item and of the catalogue, which are the same in every table."""

_FACTS = {
    "popularity": pl.Float64,
    "order": pl.Int64,
    "catalogue": pl.Int64,
    "total": pl.Float64,
    "truth": pl.Int64,
    "split": pl.Int64,
}
_NONE = pl.lit(0, dtype=pl.Int64)
_NOT_SHOWN = 2
"""The `split` of the line of a table that shows nothing."""

_JOINT = hidden("joint")


def _count_exposure(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    user: IntoUser | None = None,
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
    the sums ``n`` (times shown) and ``users`` (over the lists that show it, of one over their
    length: the items of a list sum to 1). If `items` is given, also ``popularity`` and ``order``
    (the item's rank by popularity). A row without an item then has ``catalogue`` and ``total``
    (number of items, sum of their popularity). Without `items` it has ``truth`` and ``split``, if a
    slice or the group is not a column of `actual`: a number that tells different sets of items of
    `actual` apart, and 1 if another slice or part of the group is a column of `actual` (2: nothing
    is shown, and the row belongs to no slice).

    Tables can be merged if no user's rows are split between them. Without `items`, every table
    must have found the same items of `actual`, or have all slices and groups.

    Parameters
    ----------
    rows, by, group, users, user, item
        As in `ranking.lists`. Every row counts, also of an item that is listed twice.
    score, rank
        At most one of them, needed for a `k`. Of equal scores the lower item comes first.
    items
        The catalogue: a frame with a row per `item`. Other items keep their rank in a list, but do
        not count. Default: the items of the recommendations and of `actual`.
    popularity
        A column of `items`; default: how often an item is shown.
    actual
        Ground truth, whose items are part of the catalogue if `items` is not given.
    k
        Cut-offs; None means the whole list.

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
    items = None if items is None else as_lazy(items)
    found = shown_recs(
        rows,
        by,
        user=user,
        item=item,
        score=score,
        rank=rank,
        actual=actual,
        items=items,
        group=group,
        users=users,
        ranked=ks != [None],
    )
    catalogue = None if items is None else _catalogue(found, items, item, popularity)
    return _table(found, catalogue, ks)


def _catalogue(
    found: Shown, items: IntoFrame, item: IntoColumn | None, popularity: IntoColumn | None
) -> pl.LazyFrame:
    """Return the items in the order of their popularity."""
    if popularity is None:
        unknown = {name: pl.lit(None, dtype=_FACTS[name]) for name in ("popularity", "order")}
        frame = item_frame(found.rows, items, item, {}, "popularity")
        return frame.with_columns(**unknown)
    frame = popular_items(found.rows, items, item, popularity)
    ordered = frame.sort("popularity", "item", descending=[True, False], nulls_last=True)
    return ordered.with_row_index("order", 1).with_columns(pl.col("order").cast(pl.Int64))


def _table(found: Shown, catalogue: pl.LazyFrame | None, ks: Sequence[int | None]) -> pl.LazyFrame:
    wide = _count_items(found, catalogue, ks).cache()
    per_item = per_k(wide, [*found.keys, "item"], ["n", "users"], ks)
    slices = _slices(found, wide)
    parts = [per_item, at_every_k(slices, ks)]
    if catalogue is not None:
        # The size of the catalogue is a column, so only items that are shown need a line.
        facts = catalogue.select("item", "popularity", "order")
        parts[0] = per_item.filter(pl.col("n") > 0).join(facts, on="item", how="left")
        parts[1] = parts[1].join(_facts(catalogue), how="cross")
    else:
        parts.append(at_every_k(_items_not_shown(found, slices), ks))
        parts[1] = at_every_k(_with_truth(found, slices), ks)
    return _merged(found, pl.concat(parts, how="diagonal"))


def _count_items(
    found: Shown, catalogue: pl.LazyFrame | None, ks: Sequence[int | None]
) -> pl.LazyFrame:
    """Count the rows of every item within every k, and sum one over the length of their lists."""
    rows, known = found.rows.frame, pl.lit(value=True)
    if catalogue is not None:
        mark = hidden("known")
        in_catalogue = catalogue.select("item", pl.lit(value=True).alias(mark))
        rows = rows.join(in_catalogue, on="item", how="left")
        known = pl.col(mark).fill_null(value=False)
    counts = {hidden("size", i): known & inside(k) for i, k in enumerate(ks)}
    rows = with_sizes(found, rows, counts)
    columns = {}
    for i, (size, counted) in enumerate(counts.items()):
        columns[hidden("n", i)] = counted.cast(pl.Int64)
        columns[hidden("users", i)] = pl.when(counted).then(1 / pl.col(size)).otherwise(0.0)
    keys = [*found.keys, "item"]
    named = rows.select(*keys, *found.faults, **columns)
    return summed(named, keys, [*columns, *found.faults])


def _slices(found: Shown, wide: pl.LazyFrame) -> pl.LazyFrame:
    """Return a line without an item for every slice and group; without any, one line."""
    sums = {name: pl.col(name).sum() for name in found.faults}
    slices = aggregated(wide, found.keys, {**sums, "n": _NONE.sum()})
    inputs = found.inputs
    if not found.keys or any(name not in inputs.both for name in inputs.slices.values()):
        return slices
    # Slices of the ground truth in which nothing is shown; without slices, one line.
    others = inputs.actual.frame.select(*inputs.both, _NONE.alias("n")).unique()
    return pl.concat([slices, others], how="diagonal")


def _facts(catalogue: pl.LazyFrame) -> pl.LazyFrame:
    """Return the size of the catalogue, its total popularity and its faults, in one line."""
    popularity = pl.col("popularity")
    ordered = pl.col("order").is_not_null()
    bad = ordered & ~(popularity >= 0).fill_null(value=False)
    return catalogue.select(
        pl.len().cast(pl.Int64).alias("catalogue"),
        pl.when(ordered.any()).then(popularity.sum()).alias("total"),
        pl.col(REPEATED_ITEM).sum(),
        bad.sum().cast(pl.Int64).alias(BAD_POPULARITY),
    )


def _items_not_shown(found: Shown, slices: pl.LazyFrame) -> pl.LazyFrame:
    """Return the items of the ground truth, in every slice and group, as shown to no user."""
    inputs = found.inputs
    items = inputs.actual.frame.select(*inputs.both, "item").unique()
    if len(inputs.both) < len(found.keys):
        each = slices.select(found.keys).unique()
        items = joined(each, items, inputs.both).select(*found.keys, "item")
    return items.with_columns(_NONE.alias("n"))


def _with_truth(found: Shown, slices: pl.LazyFrame) -> pl.LazyFrame:
    """Add which items of the ground truth were found, if slices or groups list those of others."""
    inputs = found.inputs
    if len(inputs.both) == len(found.keys):
        return slices
    items = inputs.actual.frame.select("item").unique()
    truth = items.select(mark_of(items, "item").sum().alias("truth"), pl.lit(0).alias(_JOINT))
    split = pl.lit(int(bool(inputs.both)), dtype=pl.Int64)
    shown = slices.with_columns(split.alias("split"), pl.lit(0).alias(_JOINT))
    # If nothing is shown there is no slice, and one line still tells that items were found.
    lines = truth.join(shown, on=_JOINT, how="left").drop(_JOINT)
    nothing = pl.col("split").is_null()
    told = lines.with_columns(pl.col("n").fill_null(0), pl.col("split").fill_null(_NOT_SHOWN))
    return told.filter(~nothing | (pl.col("truth") != 0))


def slices_of(table: pl.LazyFrame) -> pl.LazyFrame:
    """Leave out the line of a table that shows nothing: it belongs to no slice."""
    return table.filter(pl.col("split").ne_missing(_NOT_SHOWN))


def _found_apart(kept: Sequence[str], dropped: bool) -> tuple[str, Fault]:  # noqa: FBT001
    """Return the fault of slices or groups that lack items which only other tables found.

    An item of the ground truth is in the catalogue of every slice and group, and each table lists
    it in those that the table has. If the ground truth has one of the slices, a table lists the
    items per slice, and which slice that is is not known here.
    """
    found = pl.when(pl.col("truth") != 0).then("truth").drop_nulls().n_unique()
    of_slice = found.over(list(kept)) if kept else found
    split = (pl.col("split") == 1).any() & (found > 0)
    lacking = (of_slice < found) | (split & (found > 1))
    if "group" in kept:
        lacking &= pl.col("group").is_not_null()
    # A table that shows nothing lists no item, so another one must have found the same items.
    elsewhere = pl.col("truth").filter(pl.col("split") != _NOT_SHOWN).implode()
    lost = (pl.col("split") == _NOT_SHOWN) & ~pl.col("truth").is_in(elsewhere)
    bad = lacking | lost | split if dropped else lacking | lost
    message = (
        "these tables were counted without `items`, and each lists only the items that its own part"
        " of `actual` holds, so slices or groups would lack items of the catalogue: count them with"
        " `items=<frame>`"
    )
    # Whatever depends on the size of the catalogue reads this column.
    return "catalogue", Fault(bad.fill_null(value=False), message)


def _merged(found: Shown, table: pl.LazyFrame) -> pl.LazyFrame:
    """Merge the lines of an item into the table."""
    names = table.collect_schema().names()
    null = {name: pl.lit(None, dtype=dtype) for name, dtype in _FACTS.items() if name not in names}
    worst = [pl.col(name).max().fill_null(0) for name in fault_columns(names)]
    merged = table.with_columns(**null).group_by(*found.keys, "k", "item")
    return found.inputs.table(merged.agg(*SUMS.values(), *worst), ["k", "item"], list(SUMS))


def _whole_only(given: Mapping[str, Any]) -> str | None:
    if given.get("items") is not None:
        return None
    return (
        "without `items` the catalogue is the items that are found, and every part finds its own:"
        " add `items=<frame>`"
    )


exposure = Tally(
    name="ranking.exposure",
    count=_count_exposure,
    cells=("group", "k", "item"),
    sums=SUMS,
    defaults={name: pl.lit(None, dtype=dtype) for name, dtype in _FACTS.items()},
    together=("user",),
    whole=_whole_only,
    apart=_found_apart,
)
