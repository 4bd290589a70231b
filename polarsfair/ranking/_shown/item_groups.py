"""Exposure of groups of items: counted by rank, so that any discount can be applied."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polarsfair._engine.columns import Column, as_column, check_columns, key_of, schema_of
from polarsfair._engine.compare import difference, known_as, ratio
from polarsfair._engine.faults import Fault, checked
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.metric import Metric, define
from polarsfair._engine.reference import comparable
from polarsfair._engine.rows import ONE
from polarsfair._engine.slices import hidden, joined, over, running, summed
from polarsfair._engine.tally import Tally
from polarsfair._formula import quotient
from polarsfair.ranking._depths import at_every_k, deepest, depths, several, with_k
from polarsfair.ranking._inputs import REPEATED_ITEM
from polarsfair.ranking._keys import parts_of
from polarsfair.ranking._lists.conventions import CHOICES, discounting, one_of
from polarsfair.ranking._shown.recs import Shown, inside, item_frame, shown_recs
from polarsfair.ranking._types import ShownMetric

if TYPE_CHECKING:
    from polarsfair._typing import IntoColumn, IntoFrame, IntoGroup, IntoUser

__all__ = ["awrf", "exposure_parity", "exposure_ratio", "group_exposure", "ndkl"]

Discount: TypeAlias = str | Callable[[pl.Expr], pl.Expr]

SUMS = {"n": pl.col("n").sum(), "items": pl.col("items").max(), "lists": pl.col("lists").sum()}
_ROLES = ("items", "item_group", "user", "item")
_K, _EXPOSURE, _WITHIN = hidden("k"), hidden("exposure"), hidden("within")
_SHOWN = hidden("shown")
_TARGET, _NATS, _DISCOUNT = hidden("target"), hidden("nats"), hidden("discount")


def _count_group_exposure(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    items: IntoFrame | None = None,
    item_group: IntoGroup | None = None,
    user: IntoUser | None = None,
    item: IntoColumn | None = None,
    score: IntoColumn | None = None,
    rank: IntoColumn | None = None,
    users: IntoFrame | None = None,
    k: int | Sequence[int | None] | None = None,
) -> pl.LazyFrame:
    """Count how often items of each group are shown at each rank.

    The table has the slices, ``group`` (of items), ``rank`` and ``depth`` (the last rank kept;
    null: all of them), and the sum ``n`` (times shown); in a row without a rank ``items`` (of the
    group, in the catalogue) and ``lists`` (of the slice). Tables of one catalogue can be merged if
    no user's rows are split between them.

    Parameters
    ----------
    rows, by, users, user, item, score, rank
        As in `ranking.lists`, without a ground truth. Among equal scores the lower item comes
        first.
    items, item_group
        The catalogue, a frame with a row per `item`, and its column (or columns) with the group.
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
    roles: dict[str, Any] = {"user": user, "item": item, "score": score, "rank": rank}
    frame = as_lazy(items)
    found = shown_recs(rows, by, **roles, users=users, items=frame, ranked=True)
    named_by = [item_group] if isinstance(item_group, (str, pl.Expr)) else item_group
    check_columns(frame, {"item_group": [as_column(one, "item_group") for one in named_by]})
    parts = parts_of([frame], item_group)
    dtypes = schema_of(frame, parts)
    parts = {name: key_of(Column("item_group", one, dtypes[name])) for name, one in parts.items()}
    catalogue = item_frame(found.rows, frame, item, parts, "item_group")
    return _table(found, catalogue, list(parts), deepest(depths(k)))


def _table(
    found: Shown, catalogue: pl.LazyFrame, parts: Sequence[str], depth: int | None
) -> pl.LazyFrame:
    slices = list(found.inputs.slices.values())
    kept = found.rows.frame.filter(inside(depth)).select(*slices, "item", "rank", "n")
    grouped = kept.join(catalogue.select("item", *parts), on="item", how="left")
    by_rank = summed(grouped, [*slices, *parts, "rank"], ["n"])
    each = summed(catalogue.with_columns(items=ONE), parts, ["items"])
    repeated = catalogue.select(pl.col(REPEATED_ITEM).sum())
    groups = _count_lists(found).join(each, how="cross").join(repeated, how="cross")
    table = pl.concat([by_rank, groups], how="diagonal")
    faults = [*found.faults, REPEATED_ITEM]
    table = table.with_columns(pl.col("n", "lists").fill_null(0), pl.col(faults).fill_null(0).sum())
    last = pl.lit(depth, dtype=pl.Int64).alias("depth")
    return replace(found.inputs, parts=tuple(parts)).table(table, ["rank", last], list(SUMS))


def _count_lists(found: Shown) -> pl.LazyFrame:
    """Count the lists of every slice."""
    rows = found.rows.frame.select(*found.list_keys, *found.faults)
    each = summed(rows, found.list_keys, found.faults).with_columns(lists=ONE)
    return summed(each, found.keys, ["lists", *found.faults])


group_exposure = Tally(
    name="ranking.group_exposure",
    count=_count_group_exposure,
    cells=("group", "rank", "depth"),
    sums=SUMS,
    defaults={"items": pl.lit(None, pl.Int64)},
    together=("user",),
)


def discount_of(discount: Discount, p: float) -> pl.Expr:
    """Return the discount of a rank, by one of the names or by the caller's function."""
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
    """View the lines at every k, with their exposure: recommendations times discount."""
    del keys
    last, rank, depth = pl.col(_K), pl.col("rank"), pl.col("depth")
    message = f"the table keeps fewer than {k} ranks: make it with `k={k}`"
    short = depth.is_not_null() & (last > depth).fill_null(value=True)
    within = rank.is_not_null() & (rank <= last).fill_null(value=True)
    value = pl.when(within).then(pl.col("n") * discount_of(discount, p)).otherwise(0.0)
    lines = at_every_k(table, depths(k), _K)
    lines = lines.with_columns(checked("n", Fault(short, message)).alias("n"))
    lines = lines.with_columns(value.alias(_EXPOSURE), within.alias(_WITHIN))
    return lines.rename({_K: "k"}) if several(k) else lines.drop(_K)


def shares(
    table: pl.LazyFrame,
    keys: Sequence[str],
    *,
    k: Any = None,
    discount: Discount = "log",
    p: float = 0.8,
    target: Mapping[Any, float] | None = None,
) -> pl.LazyFrame:
    """View one line per group of items: its exposure and its target share.

    A group without items in the slice has no line. The unknown group has a line without values.
    """
    lines = discounted(table, keys, k=k, discount=discount, p=p)
    slices = with_k(keys, k)
    known = pl.col("group").is_not_null()
    each = lines.group_by(*slices, "group").agg(
        pl.col(_EXPOSURE).sum(),
        pl.col("items").max().fill_null(0),
        pl.col("n").filter(pl.col(_WITHIN)).sum().alias(_SHOWN),
    )
    each = each.with_columns(pl.when(known).then(pl.col(_EXPOSURE, "items", _SHOWN)))
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
    """View one line per rank: the divergence from the target of all items up to it, in nats."""
    lines = discounted(table, keys, k=k, discount=discount, p=p)
    slices = with_k(keys, k)
    known = pl.col("group").is_not_null()
    sizes = lines.group_by(*slices, "group").agg(pl.col("items").max().fill_null(0))
    sizes = _with_targets(sizes.filter(known), slices, target)
    counts = summed(lines.filter(pl.col(_WITHIN) & known), [*slices, "group", "rank"], ["n"])
    every = joined(counts.select(*slices, "rank").unique(), sizes, slices)
    every = joined(every, counts, [*slices, "group", "rank"], how="left")
    so_far = running(pl.col("n").fill_null(0).cum_sum(), [*slices, "group"], "rank")
    share = pl.col("n") / pl.col("n").sum()
    nats = pl.when(share > 0).then(share * (share / pl.col(_TARGET)).log(math.e))
    here = pl.col("n").fill_null(0).alias(_SHOWN)
    per_rank = every.with_columns(here, n=so_far).group_by(*slices, "rank")
    divergence = per_rank.agg(nats.sum().clip(0.0).alias(_NATS), pl.col(_SHOWN).sum())
    divergence = divergence.with_columns(discount_of(discount, p).alias(_DISCOUNT))
    # A line without a rank keeps each slice in the result.
    empty = lines.select(*slices, pl.lit(None, dtype=pl.Int64).alias("rank")).unique()
    return pl.concat([divergence, empty], how="diagonal")


def _with_targets(
    lines: pl.LazyFrame, slices: Sequence[str], target: Mapping[Any, float] | None
) -> pl.LazyFrame:
    """Add the target share of every group: the caller's, or its share of the slice's catalogue."""
    if target is None:
        items = pl.col("items").cast(pl.Float64)
        return lines.with_columns((items / over(items.sum(), slices)).alias(_TARGET))
    check_target(target, lines.collect_schema()["group"])
    total = math.fsum(target.values())
    old, new = list(target), [float(share) / total for share in target.values()]
    share = pl.col("group").replace_strict(old, new, default=0.0, return_dtype=pl.Float64)
    known = pl.col("group").is_not_null()
    return lines.with_columns(pl.when(known).then(share).alias(_TARGET))


def check_target(target: Any, dtype: pl.DataType) -> None:
    """Raise if `target` does not map groups to shares."""
    if not isinstance(target, Mapping) or not target:
        msg = (
            f'`target` is a mapping from group to share, `target={{"a": 0.5, ...}}`: got {target!r}'
        )
        raise TypeError(msg)
    if isinstance(dtype, pl.Struct):
        msg = "`target` cannot name intersections of item groups: pass one column as `item_group`"
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


def of_item_groups(
    view: Callable[..., pl.LazyFrame], **facts: Any
) -> Callable[[Callable[..., pl.Expr]], ShownMetric]:
    """Make a metric of the decorated formula over groups of items."""
    return define(group_exposure, "outcome", _ROLES, of=ShownMetric, view=view, **facts)


@of_item_groups(discounted, bounds=(0.0, math.inf), n=pl.col("items").sum)
def _mean_exposure() -> pl.Expr:
    """Mean exposure in a list of an item of the group."""
    return quotient(
        pl.col(_EXPOSURE).sum(), pl.col("items").sum() * pl.col("lists").max().cast(pl.Float64)
    )


@known_as(roles=_ROLES)
def exposure_parity() -> ShownMetric:
    """Difference between groups of items in the mean exposure of an item.

    Formula: ``E(group) - E(ref)``, with ``E = sum of discount(rank) over the group's ranks in all
    lists / (lists * items of the group in the catalogue)``: the mean exposure of an item of the
    group in a list. The default discount is 1 / log2(1 + rank). With `ref`, group minus reference,
    signed, for the group with the largest difference; without it, the largest minus the smallest.

    Range -inf to inf; ideal 0; nearer is better.

    Parameters
    ----------
    ref
        The group of items to compare the others with, or `pf.OVERALL` or `pf.REST`.
    k
        Look at the first k recommendations of each list only; None means all of them.
    discount, p
        How much a rank counts: ``"log"``, ``"late_log"`` (1 / max(1, log2 rank)),
        ``"reciprocal"``, ``"geometric"`` (`p` to the rank - 1), or a function of the rank,
        ``lambda rank: 1 / rank.sqrt()``.

    Notes
    -----
    Items without a group are not compared. `awrf` compares shares with a target.

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
    """Ratio between groups of items of the mean exposure of an item.

    Formula: ``E(group) / E(ref)``, with E as in `exposure_parity`. With `ref`, group over
    reference, for the group whose ratio has the largest absolute logarithm; without it, the
    smallest over the largest.

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


@of_item_groups(
    shares, ideal=1.0, bounds=(0.0, 1.0), better="higher", check=_check, n=pl.col(_SHOWN).sum
)
def awrf() -> pl.Expr:
    """Attention-weighted rank fairness: closeness of the item groups' exposure to a target.

    Formula: ``1 - Jensen-Shannon divergence``, in bits, between the groups' shares of the exposure
    (the sum of `discount` over their ranks in all lists) and the target shares. It is 1 if the
    shares are the same, and 0 if all groups that are shown have a target of 0.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    target
        The share that every group should have, ``{"men": 0.5, "women": 0.5}`` (numbers of any sum);
        default: the groups' shares of the catalogue.
    k, discount, p
        As in `exposure_parity`.

    Notes
    -----
    All lists are taken together: if each list shows one group, the lists together can still be
    fair. Slice by the user (under another name) for a value per list.

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
    shown, target = pl.col(_EXPOSURE) / pl.col(_EXPOSURE).sum(), pl.col(_TARGET)
    middle = (shown + target) / 2
    bits = [
        pl.when(share > 0).then(share * (share / middle).log(2.0)).sum() / 2
        for share in (shown, target)
    ]
    # A group that the target names and the catalogue lacks is never shown.
    lacking = (1 - target.sum()) / 2
    value = (1 - bits[0] - bits[1] - lacking).clip(0.0, 1.0)
    return pl.when(pl.col(_EXPOSURE).sum() > 0).then(value)


@of_item_groups(
    prefixes, ideal=0.0, bounds=(0.0, math.inf), better="lower", check=_check, n=pl.col(_SHOWN).sum
)
def ndkl() -> pl.Expr:
    """Normalised discounted Kullback-Leibler divergence of the item groups' shares from a target.

    Formula: ``sum over ranks r of discount(r) KL(r) / sum over ranks r of discount(r)``, over the
    ranks with recommendations. KL(r) is the Kullback-Leibler divergence, in nats, of the groups'
    shares of all recommendations up to rank r (in all lists together) from the target shares. The
    default discount is 1 / log2(1 + rank).

    Range 0 to inf; ideal 0; lower is better.

    Parameters
    ----------
    target
        As in `awrf`. The value is infinite if a group is shown whose target is 0.
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
    discount = pl.col(_DISCOUNT)
    return quotient((pl.col(_NATS) * discount).sum(), discount.sum())
