"""Hamming distances within lists: against all pairs, features of any dtype, and what is refused."""

import itertools
import math
import random
from datetime import date
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import ranking

ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score"}
FEATURES = ["genre", "year", "sequel", "rating", "price", "seen", "tag"]


def drawn(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists of unequal length, and items with features of many dtypes, some of them unknown."""
    draw = random.Random(seed)
    rows = [
        (user, item, draw.random())
        for user in range(12)
        for item in draw.sample(range(11), draw.choice((1, 2, 5, 9)))
    ]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    size = 10
    items = pl.DataFrame(
        {
            "item": range(size),
            "genre": pl.Series([draw.choice("abc") for _ in range(size)], dtype=pl.Categorical),
            "year": [date(draw.choice((1999, 2005)), 1, 1) for _ in range(size)],
            "sequel": [draw.random() < 0.5 for _ in range(size)],
            "rating": [draw.choice((0.5, math.inf, -math.inf, 1.5)) for _ in range(size)],
            "price": pl.Series([draw.choice((1, 2)) for _ in range(size)]).cast(pl.Decimal(10, 2)),
            "seen": pl.Series([draw.choice((2**63 + 1, 5)) for _ in range(size)], dtype=pl.UInt64),
            "tag": pl.Series([draw.choice("xy") for _ in range(size)], dtype=pl.Enum(["x", "y"])),
        }
    )
    unknown = pl.when(pl.col("item") == 4).then(math.nan).otherwise("rating")
    late = pl.when(pl.col("item") != 7).then("year")
    return recs, items.with_columns(rating=unknown, year=late)


def by_hand(recs: pl.DataFrame, items: pl.DataFrame, features: list[str], k: int | None) -> float:
    values = {row[0]: row[1:] for row in items.select("item", *features).rows()}
    unknown = [i for i, v in values.items() if any(x is None or x != x for x in v)]
    means = []
    for _, rows in recs.sort("score", descending=True).group_by("user", maintain_order=True):
        listed = dict.fromkeys(rows["item"].to_list()[:k])
        known = [i for i in listed if i in values and i not in unknown]
        pairs = [
            sum(a != b for a, b in zip(values[i], values[j], strict=True)) / len(features)
            for i, j in itertools.combinations(known, 2)
        ]
        means += [sum(pairs) / len(pairs)] if pairs else []
    return sum(means) / len(means) if means else math.nan


@pytest.mark.parametrize("width", [1, 3, 7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_the_mean_over_all_pairs(seed: int, width: int) -> None:
    recs, items = drawn(seed)
    given = {"items": items, "features": FEATURES[-width:], "metric": "hamming", **ROLES}
    for k in (None, 1, 2, 4):
        found = recs.pipe(ranking.intra_list_diversity, k=k, **given)
        wanted = by_hand(recs, items, FEATURES[-width:], k)
        assert found == pytest.approx(wanted, rel=1e-12, nan_ok=True)
    lazy = recs.lazy().pipe(ranking.intra_list_diversity, k=[2, 4], **given)
    several = [by_hand(recs, items, FEATURES[-width:], k) for k in (2, 4)]
    streamed = lazy.collect(engine="streaming")["intra_list_diversity"]
    assert streamed.to_list() == pytest.approx(several, rel=1e-12)


def test_the_number_of_features_times_it_is_rectools() -> None:
    """The distances in the docstring of RecTools' calculator: 0, 1 and 2 of two features."""
    items = pl.DataFrame(
        {"item": ["i1", "i2", "i3", "i4"], "f": [0, 0, 1, 1], "g": [0, 1, 1, None]}
    )
    for other, number in (("i2", 1.0), ("i3", 2.0), ("i4", math.nan), ("i6", math.nan)):
        recs = pl.DataFrame({"user": [1, 1], "item": ["i1", other]})
        roles = {"items": items, "features": ["f", "g"], "user": "user", "item": "item"}
        found = recs.pipe(ranking.intra_list_diversity, metric="hamming", **roles)
        assert 2 * found == pytest.approx(number, nan_ok=True)


def test_repeats_slices_groups_counts_and_parts() -> None:
    recs, items = drawn(4)
    given = {"items": items, "features": FEATURES[:3], "metric": "hamming", **ROLES}
    twice = pl.concat([recs, recs.with_columns(score=pl.col("score") - 1)])
    metric = ranking.intra_list_diversity
    wanted = recs.pipe(metric, **given)
    assert twice.pipe(metric, **given) == pytest.approx(wanted)
    assert recs.pipe(metric, repeats="none", **given) == pytest.approx(wanted)
    with pytest.raises(ValueError, match="an item more than once"):
        twice.pipe(metric, repeats="error", **given)
    sexes = pl.DataFrame({"user": range(12), "sex": ["F", "M", "M"] * 4})
    by_sex = recs.pipe(metric, users=sexes, by="sex", **given)["intra_list_diversity"]
    for sex, value in zip("FM", by_sex, strict=True):
        users = sexes.filter(pl.col("sex") == sex)["user"].implode()
        own = recs.filter(pl.col("user").is_in(users))
        assert value == pytest.approx(by_hand(own, items, FEATURES[:3], None))
    gap = recs.pipe(pf.difference(metric), users=sexes, group="sex", **given)
    assert gap == pytest.approx(by_sex.max() - by_sex.min())
    counted = pf.evaluate(recs, metric, counts=True, **given)
    assert counted["intra_list_diversity_n"].item() <= recs["user"].n_unique()
    tables = [ranking.spreads(recs.filter(pl.col("user") % 3 == i), **given) for i in range(3)]
    merged = pf.measure(tables, metric, metric="hamming").item()
    assert merged == pytest.approx(wanted)
    with pytest.raises(ValueError, match="does not hold cosine distances: make it with"):
        pf.measure(tables, metric)
    numbers = given | {"features": [pl.col("item") % 2, pl.col("item") % 3], "metric": "cosine"}
    cosines = ranking.spreads(recs, **numbers)
    with pytest.raises(ValueError, match="does not hold hamming distances: make it with"):
        pf.measure([*tables, cosines], metric, metric="hamming")
    # Tables that were stored before there was a choice hold cosine distances.
    stored = pf.measure(cosines.drop("metric"), metric).item()
    assert stored == pytest.approx(recs.pipe(metric, **numbers))


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "metric": ({"metric": "l1"}, ValueError, "`metric` is one of 'cosine', 'hamming': got 'l1'"),
    "none": ({"features": []}, ValueError, "`features` is empty"),
    "list": ({"features": [pl.concat_list("sequel")]}, TypeError, "make it an array"),
    "cosine": ({"metric": "cosine"}, TypeError, "pass numeric columns"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    given, error, words = BAD[name]
    recs, items = drawn(5)
    asked = {**ROLES, "items": items, "features": FEATURES, "metric": "hamming", **given}
    with pytest.raises(error, match=words):
        ranking.intra_list_diversity(recs.lazy() if lazy else recs, **asked)


def test_faults_and_nothing_listed() -> None:
    recs, items = drawn(6)
    given = {"items": items, "features": FEATURES, "metric": "hamming", **ROLES}
    twice = given | {"items": pl.concat([items, items])}
    with pytest.raises(ValueError, match="`item` more than once"):
        recs.pipe(ranking.intra_list_diversity, **twice)
    # Also if no list holds an item of the catalogue.
    with pytest.raises(InvalidOperationError, match="`item` more than once"):
        recs.lazy().filter(pl.col("item") > 9).pipe(ranking.intra_list_diversity, **twice).collect()
    assert math.isnan(recs.clear().pipe(ranking.intra_list_diversity, **given))
    none = given | {"items": items.clear()}
    assert math.isnan(recs.pipe(ranking.intra_list_diversity, **none))
    null = given | {"features": [pl.lit(None).alias("x"), "genre"]}
    assert math.isnan(recs.pipe(ranking.intra_list_diversity, **null))
