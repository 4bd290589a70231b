"""Exposure of groups of items: counted by place, so that any discount can be asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polarsfair._engine.columns import as_column, check_columns
from polarsfair._engine.compare import difference, known_as, ratio
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.legacy import fault, gather_group, stopping
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.reference import comparable
from polarsfair._engine.slices import summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._inputs import ONE, group_columns
from polarsfair.ranking._lists.conventions import CHOICES, discounting
from polarsfair.ranking._lists.masks import depths, one_of
from polarsfair.ranking._shown.recs import Shown, bad_items, item_frame, listed, shown, stops
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup

__all__ = ["awrf", "exposure_parity", "exposure_ratio", "group_exposure", "ndkl"]

Discount: TypeAlias = str | Callable[[pl.Expr], pl.Expr]

SUMS = {"n": pl.col("n").sum(), "items": pl.col("items").max(), "lists": pl.col("lists").sum()}
_ROLES = ("items", "item_group", "user", "item")


def _count_group_exposure(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    items: IntoFrame | None = None,
    item_group: IntoGroup | None = None,
    user: IntoColumn | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
) -> pl.LazyFrame:
    """Count how often items of each group are shown at each place.

    The table has the slices, ``group`` (of items), ``rank`` and ``depth`` (the last rank kept;
    null: all of them), and the sum ``n`` (times shown); in a line without a rank ``items`` (of the
    group, in the catalogue) and ``lists`` (of the slice). Tables of one catalogue add up as long as
    no user's rows are split between them.

    Parameters
    ----------
    rows, by, users, user, item, score, rank
        As in `ranking.lists`, without a ground truth. Of equal scores the lower item comes first.
    items, item_group
        The catalogue, a frame keyed by `item`, and its column (or columns) that says the group.
    k
        The last rank to keep; None keeps all.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "by": ["men", "women", "women"]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank"}
    >>> ranking.group_exposure(recs, items=items, item_group="by", **roles).sort("group", "rank")
    shape: (4, 6)
    ┌───────┬──────┬───────┬─────┬───────┬───────┐
    │ group ┆ rank ┆ depth ┆ n   ┆ items ┆ lists │
    │ ---   ┆ ---  ┆ ---   ┆ --- ┆ ---   ┆ ---   │
    │ str   ┆ i64  ┆ i64   ┆ i64 ┆ i64   ┆ i64   │
    ╞═══════╪══════╪═══════╪═════╪═══════╪═══════╡
    │ men   ┆ null ┆ null  ┆ 0   ┆ 1     ┆ 2     │
    │ men   ┆ 1    ┆ null  ┆ 2   ┆ null  ┆ 0     │
    │ women ┆ null ┆ null  ┆ 0   ┆ 2     ┆ 2     │
    │ women ┆ 2    ┆ null  ┆ 1   ┆ null  ┆ 0     │
    └───────┴──────┴───────┴─────┴───────┴───────┘
    """
    if items is None or item_group is None:
        msg = 'the groups of items are missing: add `items=<frame>, item_group="<column>"`'
        raise TypeError(msg)
    order = {"score": score, "rank": rank}
    found = shown(rows, by, user=user, item=item, users=users, placed=True, rec_roles=order)
    frame = as_lazy(items)
    named_by = [item_group] if isinstance(item_group, (str, pl.Expr)) else item_group
    check_columns(frame, {"item_group": [as_column(one, "item_group") for one in named_by]})
    columns = group_columns({"items": frame}, item_group)
    parts = {f"|{name}": column for name, column in columns.items()}
    catalogue = item_frame(rows, items, item, parts, "item_group")
    ks = depths(k)
    depth = None if None in ks else max(one for one in ks if one is not None)
    return _table(found, catalogue, list(parts), depth)


def _table(
    found: Shown, catalogue: pl.LazyFrame, parts: Sequence[str], depth: int | None
) -> pl.LazyFrame:
    slices = list(found.inputs.slices)
    kept = pl.lit(value=True) if depth is None else pl.col("place|") <= depth
    near = found.rows.filter(kept).join(catalogue.select("item", *parts), on="item", how="left")
    cells = [*slices, *parts, "rank"]
    shown_at = near.select(*slices, *parts, rank=pl.col("place|"), n=ONE)
    by_place = summed(shown_at, cells, ["n"])
    each = catalogue.select(*parts, items=ONE).group_by(parts).agg(pl.col("items").sum())
    groups = _lists(found).join(each, how="cross").join(bad_items(catalogue), how="cross")
    table = pl.concat([by_place, groups], how="diagonal")
    table = table.with_columns(pl.col("n", "lists").fill_null(0))
    faults = [*found.faults, "bad_item|"]
    table = table.with_columns(pl.col(faults).fill_null(0).sum())
    table = stopping(table, stops(faults), list(SUMS))
    last = pl.lit(depth, dtype=pl.Int64).alias("depth")
    return found.inputs.finished(gather_group(table, parts), "group", "rank", last, *SUMS)


def _lists(found: Shown) -> pl.LazyFrame:
    """Count the lists of every slice."""
    slices = list(found.inputs.slices)
    rows = found.rows.select(*found.list_keys, *found.faults)
    each = summed(rows, found.list_keys, found.faults).with_columns(lists=ONE)
    return summed(each, slices, ["lists", *found.faults])


group_exposure = Tally(
    name="ranking.group_exposure",
    count=_count_group_exposure,
    cells=("group", "rank", "depth"),
    sums=SUMS,
    defaults={},
)


def discount_of(discount: Discount, p: float) -> pl.Expr:
    """Give what a place is worth, by one of the named discounts or the caller's own."""
    rank = pl.col("rank").cast(pl.Float64)
    if callable(discount):
        return discount(rank)
    return discounting(one_of("discount", discount, CHOICES["discount"]), p)(rank)


def discounted(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    discount: Discount = "log",
    p: float = 0.8,
) -> pl.LazyFrame:
    """View the lines at every k, with what their showings are worth in ``exposure|``."""
    asked = pl.Series("k|", depths(k), dtype=pl.Int64)
    if listed(k) and "k" in keys:
        msg = 'a slice may not be called "k" where `k` is a list: rename it with `.alias("...")`'
        raise ValueError(msg)
    lines = table.join(pl.LazyFrame([asked]), how="cross")
    last, rank, depth = pl.col("k|"), pl.col("rank"), pl.col("depth")
    words = f"the table keeps fewer ranks of its lists than k={k} asks for: count it with that `k`"
    short = depth.is_not_null() & (last > depth).fill_null(value=True)
    within = rank.is_not_null() & (rank <= last).fill_null(value=True)
    worth = pl.when(within).then(pl.col("n") * discount_of(discount, p)).otherwise(0.0)
    lines = lines.with_columns(pl.coalesce(fault(short, words), pl.col("n")).alias("n"))
    lines = lines.with_columns(worth.alias("exposure|"), within.alias("within|"))
    return lines.rename({"k|": "k"}) if listed(k) else lines.drop("k|")


def shares(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    discount: Discount = "log",
    p: float = 0.8,
    target: Mapping[Any, float] | None = None,
) -> pl.LazyFrame:
    """View one line per group of items: its share of the exposure and its target.

    A group without items in the slice has no line; an unknown one a line without shares.
    """
    lines = discounted(table, keys, k=k, discount=discount, p=p)
    slices = [*keys, *["k"] * listed(k)]
    known = pl.col("group").is_not_null()
    each = lines.group_by(*slices, "group").agg(
        pl.col("exposure|").sum(), pl.col("items").max().fill_null(0)
    )
    each = each.with_columns(pl.when(known).then(pl.col("exposure|", "items")))
    return _with_targets(each, slices, target)


def prefixes(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    discount: Discount = "log",
    p: float = 0.8,
    target: Mapping[Any, float] | None = None,
) -> pl.LazyFrame:
    """View one line per place: how far what is shown down to it lies from the target, in nats."""
    lines = discounted(table, keys, k=k, discount=discount, p=p)
    slices = [*keys, *["k"] * listed(k)]
    known = pl.col("group").is_not_null()
    sizes = lines.group_by(*slices, "group").agg(pl.col("items").max().fill_null(0))
    sizes = _with_targets(sizes.filter(known), slices, target)
    seen = pl.col("within|") & known
    counts = lines.filter(seen).group_by(*slices, "group", "rank").agg(pl.col("n").sum())
    places = counts.select(*slices, "rank").unique()
    grid = _joined(places, sizes, slices)
    grid = grid.join(counts, on=[*slices, "group", "rank"], how="left", nulls_equal=True)
    running = pl.col("n").fill_null(0).cum_sum().over([*slices, "group"], order_by="rank")
    grid = grid.with_columns(running.alias("n"))
    share = pl.col("n") / pl.col("n").sum()
    nats = pl.when(share > 0).then(share * (share / pl.col("target|")).log(math.e))
    per_place = grid.group_by(*slices, "rank").agg(nats.sum().clip(0.0).alias("nats|"))
    per_place = per_place.with_columns(discount_of(discount, p).alias("worth|"))
    every = lines.select(*slices, pl.lit(None, dtype=pl.Int64).alias("rank")).unique()
    return pl.concat([per_place, every], how="diagonal")


def _joined(left: pl.LazyFrame, right: pl.LazyFrame, on: Sequence[str]) -> pl.LazyFrame:
    return left.join(right, on=list(on), nulls_equal=True) if on else left.join(right, how="cross")


def _with_targets(
    lines: pl.LazyFrame, slices: Sequence[str], target: Mapping[Any, float] | None
) -> pl.LazyFrame:
    """Give every group its target share: the caller's, or its share of the slice's catalogue."""
    if target is None:
        items = pl.col("items").cast(pl.Float64)
        every = items.sum().over(slices) if slices else items.sum()
        return lines.with_columns((items / every).alias("target|"))
    check_target(target, lines.collect_schema()["group"])
    total = math.fsum(target.values())
    old, new = list(target), [float(share) / total for share in target.values()]
    share = pl.col("group").replace_strict(old, new, default=0.0, return_dtype=pl.Float64)
    known = pl.col("group").is_not_null()
    return lines.with_columns(pl.when(known).then(share).alias("target|"))


def check_target(target: Any, dtype: pl.DataType) -> None:
    """Raise when `target` is not a share for every group."""
    if not isinstance(target, Mapping) or not target:
        msg = (
            f'`target` is a mapping from group to share, `target={{"a": 0.5, ...}}`: got {target!r}'
        )
        raise TypeError(msg)
    if isinstance(dtype, pl.Struct):
        msg = "`target` cannot name intersections of item groups: give `item_group` as one column"
        raise TypeError(msg)
    for group in target:
        if not comparable(group, dtype):
            msg = f"`target` names {group!r}, but the item groups are {dtype}"
            raise TypeError(msg)
    if not all(share >= 0 for share in target.values()) or not sum(target.values()) > 0:
        msg = f"`target` holds shares of at least 0 that are not all 0: got {dict(target)!r}"
        raise ValueError(msg)


def _check(metric: Metric, schema: pl.Schema) -> None:
    target = metric.options.get("target")
    if target is not None:
        check_target(target, schema["group"])
    discount_of(metric.options.get("discount", "log"), metric.options.get("p", 0.8))


def of_item_groups(view: Any, **facts: Any) -> Callable[[Callable[..., pl.Expr]], ShownMetric]:
    """Decorate a formula over groups of items."""
    return define(group_exposure, "outcome", _ROLES, of=ShownMetric, view=view, **facts)


@of_item_groups(discounted, bounds=(0.0, math.inf))
def _mean_exposure() -> pl.Expr:
    """Mean exposure of a catalogue item of the group in a list."""
    return quotient(
        pl.col("exposure|").sum(), pl.col("items").sum() * pl.col("lists").max().cast(pl.Float64)
    )


@known_as(roles=_ROLES)
def exposure_parity() -> ShownMetric:
    """Compare groups of items by the exposure of an item: difference.

    Formula: ``E(group) - E(ref)``, with ``E = sum of discount(rank) over the group's places in all
    lists / (lists * items of the group in the catalogue)``: what an item of the group gets of a
    list, on average; the discount is 1 / log2(1 + rank) unless given. With `ref`, group less
    reference, of the group farthest from it, signed; without, the largest less the smallest.

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        The group of items that the others are set against, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None is all of them.
    discount, p
        What a place is worth: ``"log"``, ``"late_log"`` (1 / max(1, log2 rank)), ``"reciprocal"``,
        ``"geometric"`` (`p` to the rank - 1), or a function of the rank,
        ``lambda rank: 1 / rank.sqrt()``.

    Notes
    -----
    Items without a group are compared with nothing. Compare shares with a target by `awrf`.

    References
    ----------
    Singh, Joachims (2018). Fairness of Exposure in Rankings. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "by": ["men", "women", "women"]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "item_group": "by"}
    >>> recs.pipe(ranking.exposure_parity, items=items, **roles, discount="reciprocal", ref="men")
    -0.875
    """
    return difference(_mean_exposure)


@known_as(roles=_ROLES)
def exposure_ratio() -> ShownMetric:
    """Compare groups of items by the exposure of an item: ratio.

    Formula: ``E(group) / E(ref)``, with E as in `exposure_parity`. With `ref`, group over
    reference, of the group farthest from it by the logarithm; without, the smallest over the
    largest.

    Range 0 to inf; ideal 1; nearer is better.

    Parameters
    ----------
    ref, k, discount, p
        As in `exposure_parity`.

    References
    ----------
    Singh, Joachims (2018). Fairness of Exposure in Rankings. KDD 2018.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "by": ["men", "women", "women"]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "item_group": "by"}
    >>> recs.pipe(ranking.exposure_ratio, items=items, **roles, discount="reciprocal")
    0.125
    """
    return ratio(_mean_exposure)


@of_item_groups(shares, ideal=1.0, bounds=(0.0, 1.0), better="higher", check=_check)
def awrf() -> pl.Expr:
    """How near the item groups' shares of the exposure are to a target, weighted by attention.

    Formula: ``1 - Jensen-Shannon divergence``, in bits, between the groups' shares of the exposure
    (what their places are worth by `discount`, all lists together) and the target shares. 1 when
    they are the same, 0 when only groups are shown that the target gives nothing to.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    target
        The share that every group should have, ``{"men": 0.5, "women": 0.5}`` (numbers of any sum);
        unless given, the groups' shares of the catalogue.
    k, discount, p
        As in `exposure_parity`.

    Notes
    -----
    Of all lists together: an average of lists that each show one group can be fair. Take
    ``by="user"`` (under another name) for each by itself.

    References
    ----------
    Sapiezynski, Zeng, Robertson, Mislove, Wilson (2019). Quantifying the Impact of User Attention
    on Fair Group Representation in Ranked Lists. Companion of WWW 2019.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    >>> items = pl.DataFrame({"item": [7, 8, 9], "by": ["men", "women", "women"]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "item_group": "by"}
    >>> round(recs.pipe(ranking.awrf, items=items, **roles), 6)
    0.86283
    """
    shown_share = pl.col("exposure|") / pl.col("exposure|").sum()
    wanted = pl.col("target|")
    middle = (shown_share + wanted) / 2
    bits = [
        pl.when(share > 0).then(share * (share / middle).log(2.0)).sum() / 2
        for share in (shown_share, wanted)
    ]
    # A group that the target names and the catalogue lacks is never shown.
    lacking = (1 - wanted.sum()) / 2
    value = (1 - bits[0] - bits[1] - lacking).clip(0.0, 1.0)
    return pl.when(pl.col("exposure|").sum() > 0).then(value)


@of_item_groups(prefixes, ideal=0.0, bounds=(0.0, math.inf), better="lower", check=_check)
def ndkl() -> pl.Expr:
    """How far the groups of items down to each place lie from a target: normalised, discounted.

    Formula: ``sum over ranks r of discount(r) KL(r) / sum over ranks r of discount(r)``, with KL(r)
    the Kullback-Leibler divergence, in nats, of the groups' shares among all that is shown down to
    rank r (in all lists together) from the target shares, over the ranks that hold something. The
    discount is 1 / log2(1 + rank) unless given.

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    target
        As in `awrf`. Infinite when a group is shown whose target is 0.
    k, discount, p
        As in `exposure_parity`.

    References
    ----------
    Geyik, Ambler, Kenthapadi (2019). Fairness-Aware Ranking in Search and Recommendation Systems
    with Application to LinkedIn Talent Search. KDD 2019.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import ranking
    >>> recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "rank": [1, 2]})
    >>> items = pl.DataFrame({"item": [7, 8], "by": ["men", "women"]})
    >>> roles = {"user": "user", "item": "item", "rank": "rank", "item_group": "by"}
    >>> round(recs.pipe(ranking.ndkl, items=items, **roles), 6)
    0.425001
    """
    worth = pl.col("worth|")
    return quotient((pl.col("nats|") * worth).sum(), worth.sum())
