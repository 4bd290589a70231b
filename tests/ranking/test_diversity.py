"""Diversity between and within lists: against all pairs, and what is refused, eager and lazy."""

import itertools
import math
import random
from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError

import polarsfair as pf
from polarsfair import ranking

ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score"}
FEATURES = ["x", "y", "z"]


def drawn(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists of unequal length, and items with features, one of them all zero."""
    draw = random.Random(seed)
    rows = [
        (user, item, draw.random())
        for user in range(9)
        for item in draw.sample(range(8), draw.choice((1, 3, 6)))
    ]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    points = [(item, *(draw.gauss(0, 1) * (item != 3) for _ in FEATURES)) for item in range(8)]
    return recs, pl.DataFrame(points, schema=["item", *FEATURES], orient="row")


def lists_of(recs: pl.DataFrame, k: int | None) -> list[list[int]]:
    ordered = recs.sort("score", descending=True).group_by("user", maintain_order=True)
    return [frame["item"].to_list()[:k] for _, frame in ordered]


def cosine(x: tuple[float, ...], y: tuple[float, ...]) -> float:
    lengths = math.hypot(*x) * math.hypot(*y)
    return sum(a * b for a, b in zip(x, y, strict=True)) / lengths if lengths else 0.0


@pytest.mark.parametrize("k", [None, 1, 2, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_both_equal_the_mean_over_all_pairs(seed: int, k: int | None) -> None:
    recs, items = drawn(seed)
    lists = lists_of(recs, k)
    distances = [
        1 - len({*a} & {*b}) / math.sqrt(len(a) * len(b))
        for a, b in itertools.combinations(lists, 2)
    ]
    inter = recs.pipe(ranking.inter_list_diversity, k=k, **ROLES)
    assert inter == pytest.approx(sum(distances) / len(distances))
    point = {row[0]: row[1:] for row in items.rows()}
    within = [
        [1 - cosine(point[a], point[b]) for a, b in itertools.combinations(one, 2)] for one in lists
    ]
    means = [sum(each) / len(each) for each in within if each]
    intra = recs.pipe(ranking.intra_list_diversity, items=items, features=FEATURES, k=k, **ROLES)
    assert intra == pytest.approx(sum(means) / len(means) if means else math.nan, nan_ok=True)


def test_extremes() -> None:
    alike = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 2, 1]})
    same = alike.pipe(ranking.inter_list_diversity, user="user", item="item")
    assert same == pytest.approx(0, abs=1e-12)
    apart = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 3, 4]})
    assert apart.pipe(ranking.inter_list_diversity, user="user", item="item") == 1.0
    one = alike.filter(pl.col("user") == 1)
    assert math.isnan(one.pipe(ranking.inter_list_diversity, user="user", item="item"))
    opposite = pl.DataFrame({"item": [1, 2], "x": [1.0, -3.0]})
    given = {"items": opposite, "features": "x", "user": "user", "item": "item"}
    assert alike.pipe(ranking.intra_list_diversity, **given) == 2.0


def test_repeated_items_count_once() -> None:
    recs, items = drawn(4)
    twice = pl.concat([recs, recs.with_columns(score=pl.col("score") - 1)])
    more = {"items": items, "features": FEATURES}
    inter, intra = ranking.inter_list_diversity, ranking.intra_list_diversity
    assert twice.pipe(inter, **ROLES) == pytest.approx(recs.pipe(inter, **ROLES))
    assert twice.pipe(intra, **more, **ROLES) == pytest.approx(recs.pipe(intra, **more, **ROLES))
    dropped = twice.pipe(inter, k=3, repeats="drop", **ROLES)
    assert dropped == pytest.approx(recs.pipe(inter, k=3, **ROLES))
    assert recs.pipe(inter, repeats="none", **ROLES) == pytest.approx(recs.pipe(inter, **ROLES))
    assert twice.pipe(inter, repeats="none", **ROLES) != pytest.approx(twice.pipe(inter, **ROLES))
    with pytest.raises(ValueError, match="an item more than once"):
        twice.pipe(inter, repeats="error", **ROLES)
    with pytest.raises(InvalidOperationError, match="an item more than once"):
        twice.lazy().pipe(inter, repeats="error", **ROLES).collect()


def test_row_order_and_tables_of_users() -> None:
    recs, items = drawn(5)
    more = {"items": items, "features": FEATURES}
    for metric, given in (
        (ranking.inter_list_diversity, ROLES),
        (ranking.intra_list_diversity, ROLES | more),
    ):
        whole = recs.pipe(metric, k=[2, 4], **given)
        mixed = recs.sample(fraction=1, shuffle=True, seed=1).pipe(metric, k=[2, 4], **given)
        tables = [
            metric.tally(recs.filter(pl.col("user") % 3 == i), k=[2, 4], **given) for i in range(3)
        ]
        merged = pf.measure(tables, [metric], k=[2, 4])
        for other in (mixed, merged):
            assert other.rows() == [pytest.approx(row) for row in whole.rows()]


def test_slices_and_user_groups() -> None:
    recs, _ = drawn(6)
    sexes = pl.DataFrame({"user": range(9), "sex": ["F", "M", "M"] * 3})
    by_sex = recs.pipe(ranking.inter_list_diversity, users=sexes, by="sex", **ROLES)
    for sex, value in by_sex.iter_rows():
        users = sexes.filter(pl.col("sex") == sex)["user"]
        alone = recs.filter(pl.col("user").is_in(users.implode()))
        assert alone.pipe(ranking.inter_list_diversity, **ROLES) == pytest.approx(value)
    gap = recs.pipe(pf.difference(ranking.inter_list_diversity), users=sexes, group="sex", **ROLES)
    values = by_sex["inter_list_diversity"]
    assert gap == pytest.approx(values.max() - values.min())


def test_items_without_features_are_compared_with_nothing() -> None:
    recs = pl.DataFrame({"user": [1, 1, 1], "item": [1, 2, 3]})
    items = pl.DataFrame({"item": [1, 2, 4], "x": [1.0, 0.0, 1.0], "y": [0.0, 1.0, 0.0]})
    given = {"items": items, "features": ["x", "y"], "user": "user", "item": "item"}
    assert recs.pipe(ranking.intra_list_diversity, **given) == 1.0
    unknown = items.with_columns(x=pl.Series([1.0, math.nan, 1.0]))
    assert math.isnan(recs.pipe(ranking.intra_list_diversity, **(given | {"items": unknown})))


_, ITEMS = drawn(7)
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no items": ({"items": None}, "needs the role `items`"),
    "no features": ({"features": None}, "needs the role `features`"),
    "empty features": ({"features": []}, "`features` is empty"),
    "text": ({"features": [pl.col("x").cast(pl.String)]}, "pass numeric columns"),
    "k": ({"k": -1}, "a whole number from 1"),
    "repeats": ({"repeats": "all"}, "`repeats` is one of"),
    "no order": ({"k": 2, "score": None}, "the order of the lists is missing"),
    "dtypes": ({"items": ITEMS.cast({"item": pl.String})}, "Int64 in `recs` and String in `items`"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    given, words = BAD[name]
    recs, items = drawn(7)
    asked = ROLES | {"items": items, "features": FEATURES} | given
    with pytest.raises((TypeError, ValueError), match=words):
        ranking.intra_list_diversity(recs.lazy() if lazy else recs, **asked)


def test_what_only_rows_can_tell_is_refused() -> None:
    recs, items = drawn(8)
    asked = ROLES | {"items": pl.concat([items, items]), "features": FEATURES}
    with pytest.raises(ValueError, match="`item` more than once"):
        recs.pipe(ranking.intra_list_diversity, **asked)
    with pytest.raises(InvalidOperationError, match="`item` more than once"):
        recs.lazy().pipe(ranking.intra_list_diversity, **asked).collect()
    with pytest.raises(ColumnNotFoundError, match="`features` names the column 'w'"):
        recs.pipe(ranking.intra_list_diversity, **(asked | {"features": ["w"]}))


def test_nothing_listed_is_undefined() -> None:
    recs, items = drawn(9)
    assert math.isnan(recs.clear().pipe(ranking.inter_list_diversity, **ROLES))
    given = ROLES | {"items": items, "features": FEATURES}
    assert math.isnan(recs.clear().pipe(ranking.intra_list_diversity, **given))
    assert (
        recs.clear().pipe(ranking.inter_list_diversity, by=pl.lit(1).alias("d"), **ROLES).is_empty()
    )


def test_features_of_any_size_have_a_direction() -> None:
    recs = pl.DataFrame({"user": [1, 1], "item": [7, 8]})
    for size in (1e-200, 1.0, 1e200):
        items = pl.DataFrame({"item": [7, 8], "x": [size, size], "y": [size, 0.0]})
        roles = {"items": items, "features": ["x", "y"], "user": "user", "item": "item"}
        found = recs.pipe(ranking.intra_list_diversity, **roles)
        assert found == pytest.approx(1 - math.sqrt(0.5))


def test_infinite_features_are_refused() -> None:
    recs = pl.DataFrame({"user": [1, 1], "item": [7, 8]})
    items = pl.DataFrame({"item": [7, 8, 9], "x": [1.0, 2.0, -math.inf]})
    roles = {"items": items, "features": "x", "user": "user", "item": "item"}
    with pytest.raises(ValueError, match="`features` holds an infinite value"):
        ranking.intra_list_diversity(recs, **roles)
    with pytest.raises(InvalidOperationError, match="`features` holds an infinite value"):
        ranking.intra_list_diversity(recs.lazy(), **roles).collect()


def test_items_are_named_if_they_are_missing() -> None:
    recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "x": [0.5, 1.0]})
    with pytest.raises(TypeError, match="`intra_list_diversity` needs the role `item`"):
        ranking.intra_list_diversity(recs, items=recs, user="user", features=["x"])
