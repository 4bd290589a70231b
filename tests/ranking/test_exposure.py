"""Exposure of items and item groups: worked cases, and what is refused, eager and lazy."""

import math
from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError

import polarsfair as pf
from polarsfair import ranking

RECS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "item": ["a", "b", "c", "a", "b", "a"],
        "score": [0.9, 0.5, 0.4, 0.7, 0.2, 0.8],
        "sex": ["F", "F", "F", "M", "M", None],
    }
)
ITEMS = pl.DataFrame(
    {
        "item": ["a", "b", "c", "d", "e"],
        "sold": [1, 5, 2, 8, 4],
        "maker": ["big", "small", "small", "big", None],
    }
)
ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score"}
GROUPED = ROLES | {"items": ITEMS, "item_group": "maker"}
OF_ITEMS = [
    ranking.coverage,
    ranking.aggregate_diversity,
    ranking.gini,
    ranking.exposure_entropy,
    ranking.average_popularity,
    ranking.novelty,
    ranking.long_tail_share,
]


def test_the_catalogue_by_hand() -> None:
    found = pf.evaluate(RECS, OF_ITEMS, items=ITEMS, **ROLES).row(0, named=True)
    shares = [3 / 6, 2 / 6, 1 / 6]
    assert found["coverage"] == found["aggregate_diversity"] == 3 / 5
    # Shares 0, 0, 1/6, 2/6, 3/6 by (2 j - 6) / 4.
    assert found["gini"] == pytest.approx((0 * 1 / 6 + 2 * 2 / 6 + 4 * 3 / 6) / 4)
    assert found["exposure_entropy"] == pytest.approx(-sum(p * math.log(p) for p in shares))
    assert found["average_popularity"] == pytest.approx((2 + 2.5 + 3) / 3)
    bits = {item: -math.log2(p) for item, p in zip("abc", shares, strict=True)}
    per_user = (sum(bits.values()) / 3, (bits["a"] + bits["b"]) / 2, bits["a"])
    assert found["novelty"] == pytest.approx(sum(per_user) / 3)
    assert found["long_tail_share"] == pytest.approx(3 / 6)


def test_two_items_are_enough_for_gini_and_one_is_not() -> None:
    """Shown once and three times: (-1 * 1 + 1 * 3) / 4."""
    recs = pl.DataFrame({"user": [1, 2, 3, 4], "item": [7, 8, 8, 8]})
    assert ranking.gini(recs, user="user", item="item") == pytest.approx(0.5)
    alone = recs.filter(pl.col("item") == 8)
    assert math.isnan(ranking.gini(alone, user="user", item="item"))


def test_popularity_is_a_column_of_the_catalogue() -> None:
    given = ROLES | {"items": ITEMS, "popularity": "sold"}
    mean = (8 / 3 + 3 + 1) / 3
    assert RECS.pipe(ranking.average_popularity, **given) == pytest.approx(mean)
    # Most sold: d, b, e, c, a; a fifth of five items is one.
    assert RECS.pipe(ranking.long_tail_share, **given) == 1.0
    assert RECS.pipe(ranking.long_tail_share, **given, head=0.4) == pytest.approx(4 / 6)
    bits = [-math.log2(n / 20) for n in (1, 5, 2)]
    value = (sum(bits) / 3 + sum(bits[:2]) / 2 + bits[0]) / 3
    assert RECS.pipe(ranking.novelty, **given) == pytest.approx(value)


def test_without_a_catalogue_the_ground_truth_adds_items() -> None:
    assert RECS.pipe(ranking.coverage, **ROLES) == 1.0
    assert RECS.pipe(ranking.coverage, k=1, **ROLES) == pytest.approx(1 / 3)
    actual = pl.DataFrame({"user": [9, 9, None], "item": ["a", "z", "y"]})
    assert RECS.pipe(ranking.coverage, actual, **ROLES) == pytest.approx(3 / 4)
    assert RECS.clear().pipe(ranking.coverage, actual, **ROLES) == 0.0


def test_items_that_the_catalogue_lacks_take_their_place_alone() -> None:
    short = ITEMS.filter(pl.col("item") != "a")
    assert RECS.pipe(ranking.coverage, items=short, k=1, **ROLES) == 0.0
    assert RECS.pipe(ranking.coverage, items=short, k=2, **ROLES) == 1 / 4
    assert RECS.pipe(ranking.average_popularity, items=short, **ROLES) == pytest.approx(1.75)


def test_every_metric_of_the_catalogue_compares_user_groups() -> None:
    apart = pf.difference(ranking.coverage)
    assert RECS.pipe(apart, items=ITEMS, group="sex", **ROLES) == pytest.approx(1 / 5)
    assert RECS.pipe(apart, items=ITEMS, group="sex", ref="F", **ROLES) == pytest.approx(-1 / 5)


def test_what_user_groups_are_shown() -> None:
    given = ROLES | {"group": "sex"}
    tv, kl = ranking.exposure_total_variation, ranking.exposure_kl
    # F: a third each of a, b, c; M: half a, half b; user 3 is of no known group.
    assert RECS.pipe(tv, **given) == pytest.approx(1 / 3)
    assert RECS.pipe(kl, **given, ref="F") == pytest.approx(math.log(3 / 2))
    assert RECS.pipe(kl, **given, ref="M") == math.inf
    assert RECS.pipe(kl, **given, ref="M", k=2) == 0.0
    assert RECS.pipe(tv, **given, k=[1, 3])["exposure_total_variation"].to_list() == [
        0.0,
        pytest.approx(1 / 3),
    ]
    assert math.isnan(RECS.filter(pl.col("sex") == "F").pipe(tv, **given))
    with pytest.raises(ValueError, match="`ref='X'` is not among the groups, which are: F, M"):
        RECS.pipe(tv, **given, ref="X")


def test_mean_scores_of_user_groups() -> None:
    given = ROLES | {"group": "sex"}
    assert RECS.pipe(ranking.mad, **given, ref="M") == pytest.approx(0.6 - 0.45)
    assert RECS.pipe(ranking.mad, **given) == pytest.approx(0.15)
    with pytest.raises(TypeError, match="needs the role `score`"):
        ranking.mad(RECS, user="user", item="item", group="sex")


def exposures(discount: Any) -> dict[str, float]:
    """What places are worth: big has three firsts, small two seconds and a third."""
    return {"big": 3 * discount(1), "small": 2 * discount(2) + discount(3)}


@pytest.mark.parametrize(
    ("discount", "worth"),
    [
        ("log", lambda rank: 1 / math.log2(1 + rank)),
        ("late_log", lambda rank: 1 / max(1, math.log2(rank))),
        ("reciprocal", lambda rank: 1 / rank),
        ("geometric", lambda rank: 0.8 ** (rank - 1)),
        (lambda rank: 1 / rank.sqrt(), lambda rank: rank**-0.5),
    ],
)
def test_exposure_of_item_groups(discount: Any, worth: Any) -> None:
    got = exposures(worth)
    # Three lists, and two items of either group in the catalogue.
    mean = {group: value / 2 / 3 for group, value in got.items()}
    parity, ratio = ranking.exposure_parity, ranking.exposure_ratio
    given = GROUPED | {"discount": discount}
    assert RECS.pipe(parity, **given, ref="big") == pytest.approx(mean["small"] - mean["big"])
    assert RECS.pipe(ratio, **given) == pytest.approx(mean["small"] / mean["big"])
    shares = [value / sum(got.values()) for value in got.values()]
    middle = [(share + 0.5) / 2 for share in shares]
    bits = sum(p * math.log2(p / m) for p, m in zip(shares, middle, strict=True)) / 2
    bits += sum(0.5 * math.log2(0.5 / m) for m in middle) / 2
    assert RECS.pipe(ranking.awrf, **given) == pytest.approx(1 - bits)
    prefix = [(1, 0), (3 / 5, 2 / 5), (3 / 6, 3 / 6)]
    nats = [sum(p * math.log(p / 0.5) for p in pair if p) for pair in prefix]
    weights = [worth(rank) for rank in (1, 2, 3)]
    value = sum(n * w for n, w in zip(nats, weights, strict=True)) / sum(weights)
    assert RECS.pipe(ranking.ndkl, **given) == pytest.approx(value)


def test_without_the_sizes_of_groups_there_is_no_target() -> None:
    """Groups whose number of items is not known are not taken to be of equal size."""
    table = RECS.pipe(ranking.group_exposure, **GROUPED)
    assert pf.measure(table, ranking.ndkl).item() == pytest.approx(
        RECS.pipe(ranking.ndkl, **GROUPED)
    )
    assert pf.measure(table.drop("items"), ranking.ndkl).item() is None


def test_targets() -> None:
    first = GROUPED | {"k": 1}
    # Only big is shown at the first place.
    assert RECS.pipe(ranking.awrf, **first, target={"big": 3, "small": 0}) == pytest.approx(1)
    assert RECS.pipe(ranking.awrf, **first, target={"small": 1.0}) == pytest.approx(0)
    assert RECS.pipe(ranking.awrf, **first, target={"elsewhere": 1.0}) == pytest.approx(0)
    assert RECS.pipe(ranking.ndkl, **first, target={"big": 1.0}) == 0.0
    assert RECS.pipe(ranking.ndkl, **first, target={"small": 1.0}) == math.inf
    half = RECS.pipe(ranking.ndkl, **first, target={"big": 1, "small": 1})
    assert half == pytest.approx(math.log(2))


def test_tables_of_users_add_up() -> None:
    metrics = [ranking.exposure_parity, ranking.exposure_ratio, ranking.awrf, ranking.ndkl]
    whole = pf.evaluate(RECS, metrics, k=[1, 3], **GROUPED)
    parts = [
        ranking.group_exposure(RECS.filter(pl.col("user") == user), k=3, **GROUPED)
        for user in (1, 2, 3)
    ]
    merged = pf.measure(parts, metrics, k=[1, 3])
    assert merged.rows() == [pytest.approx(row) for row in whole.rows()]
    with pytest.raises(ValueError, match="keeps fewer than"):
        pf.measure(parts, metrics, k=4)
    tables = [ranking.exposure(RECS.filter(pl.col("user") == u), **ROLES) for u in (1, 2, 3)]
    assert pf.measure(tables, OF_ITEMS).row(0) == pytest.approx(
        pf.evaluate(RECS, OF_ITEMS, **ROLES).row(0)
    )


BAD: dict[str, tuple[pf.Metric, dict[str, Any], str]] = {
    "no catalogue": (ranking.awrf, ROLES | {"item_group": "maker"}, "needs the role `items`"),
    "no groups": (ranking.awrf, ROLES | {"items": ITEMS}, "needs the role `item_group`"),
    "popularity": (ranking.novelty, ROLES | {"popularity": "sold"}, "add `items=<frame>`"),
    "text as popularity": (
        ranking.novelty,
        ROLES | {"items": ITEMS, "popularity": "maker"},
        "`popularity` is String",
    ),
    "head": (ranking.long_tail_share, ROLES | {"head": 1.5}, "between 0 and 1"),
    "discount": (ranking.awrf, GROUPED | {"discount": "none"}, "`discount` is one of"),
    "p": (ranking.ndkl, GROUPED | {"discount": "geometric", "p": 2}, "`p`, the probability"),
    "target": (ranking.awrf, GROUPED | {"target": 0.5}, "`target` is a mapping"),
    "target of another dtype": (ranking.awrf, GROUPED | {"target": {1: 0.5}}, "`target` names 1"),
    "negative target": (ranking.ndkl, GROUPED | {"target": {"big": -1}}, "shares of at least 0"),
    "k": (ranking.coverage, ROLES | {"k": 0}, "a whole number from 1"),
    "no order": (ranking.coverage, ROLES | {"k": 2, "score": None}, "the order of the lists"),
    "dtypes": (
        ranking.coverage,
        ROLES | {"items": pl.DataFrame({"item": [1]})},
        "`item` is String in `recs` and Int64 in `items`",
    ),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    metric, given, words = BAD[name]
    with pytest.raises((TypeError, ValueError), match=words):
        metric(RECS.lazy() if lazy else RECS, **given)


ROWS: dict[str, tuple[pf.Metric, dict[str, Any], str]] = {
    "items twice": (
        ranking.coverage,
        {"items": pl.concat([ITEMS, ITEMS])},
        "`item` more than once",
    ),
    "groups twice": (
        ranking.awrf,
        GROUPED | {"items": pl.concat([ITEMS, ITEMS])},
        "more than once",
    ),
    "unknown popularity": (
        ranking.novelty,
        {"items": ITEMS, "popularity": pl.when(pl.col("item") != "e").then("sold")},
        "not a number of at least 0",
    ),
    "rank 0": (ranking.coverage, {"score": None, "rank": pl.lit(0)}, "not a whole number from 1"),
    "users": (
        ranking.coverage,
        {"users": pl.DataFrame({"user": [1, 1], "home": ["a", "b"]}), "by": "home"},
        "`user` more than once",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_only_rows_can_tell_is_refused(name: str) -> None:
    metric, given, words = ROWS[name]
    with pytest.raises(ValueError, match=words):
        metric(RECS, **(ROLES | given))
    with pytest.raises(InvalidOperationError, match=words):
        metric(RECS.lazy(), **(ROLES | given)).collect()


def test_a_slice_of_the_ground_truth_alone_is_refused() -> None:
    actual = pl.DataFrame({"user": [1], "item": ["a"], "shop": ["s"]})
    with pytest.raises(ValueError, match="'shop' exists only in `actual`"):
        ranking.coverage(RECS, actual, by="shop", **ROLES)
    with pytest.raises(ColumnNotFoundError, match="did you mean `item_group='maker'`"):
        ranking.awrf(RECS, **(GROUPED | {"item_group": "makers"}))


def test_nothing_shown_is_undefined() -> None:
    empty = RECS.clear()
    found = pf.evaluate(empty, OF_ITEMS, **ROLES).row(0)
    assert found == (None,) * len(OF_ITEMS)
    assert math.isnan(empty.pipe(ranking.awrf, **GROUPED))
    assert math.isnan(empty.pipe(ranking.ndkl, **GROUPED))
    assert math.isnan(empty.pipe(ranking.exposure_parity, **GROUPED))


@pytest.mark.parametrize("group", [None, "sex"])
def test_a_catalogue_of_which_nothing_is_shown(group: str | None) -> None:
    recs = pl.DataFrame(schema={"user": pl.Int64, "item": pl.Int64, "sex": pl.String})
    items, actual = pl.DataFrame({"item": [7, 8]}), pl.DataFrame({"user": [1], "item": [7]})
    roles = {"user": "user", "item": "item", "group": group, "items": items}
    assert ranking.coverage(recs, **roles) == 0
    assert ranking.coverage(recs, actual, **roles) == 0
    assert math.isnan(ranking.gini(recs, **roles))
    assert math.isnan(ranking.coverage(recs, **{**roles, "items": items.clear()}))
