"""The area under the curve of each user: scikit-learn, edges, groups, merged tables, dtypes."""

import math
import random
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError
from sklearn.metrics import roc_auc_score

import polarsfair as pf
from polarsfair import ranking

ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
AVERAGES = ("impressions", "clicks", "users")


def drawn(seed: int, users: int = 40, *, digits: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lists with tied scores and their clicks; some users have one class, some no match."""
    draw = random.Random(seed)
    rows = [
        (user, item, round(draw.random(), digits), draw.choice((0, 0, 1)))
        for user in range(users)
        for item in draw.sample(range(30), draw.choice((1, 2, 5, 20)))
    ]
    frame = pl.DataFrame(rows, schema=["user", "item", "score", "click"], orient="row")
    actual = frame.select("user", "item", "click").filter(pl.col("user") % 10 != 3)
    return frame.drop("click"), actual.sample(fraction=1, shuffle=True, seed=seed)


def by_sklearn(recs: pl.DataFrame, actual: pl.DataFrame, average: str) -> float:
    values, weights = [], []
    for _, rows in recs.join(actual, on=["user", "item"]).group_by("user"):
        if rows["click"].n_unique() == 2:
            values.append(roc_auc_score(rows["click"], rows["score"]))
            weights.append(
                {"impressions": len(rows), "clicks": rows["click"].sum()}.get(average, 1)
            )
    total = sum(v * w for v, w in zip(values, weights, strict=True))
    return float(total / sum(weights))


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_the_mean_of_scikit_learn(seed: int, average: str) -> None:
    recs, actual = drawn(seed)
    found = recs.pipe(ranking.user_auc, actual, average=average, **ROLES)
    assert found == pytest.approx(by_sklearn(recs, actual, average), rel=1e-12)
    lazy = recs.lazy().pipe(ranking.user_auc, actual.lazy(), average=average, **ROLES)
    assert lazy.collect(engine="streaming").item() == pytest.approx(found, rel=1e-15)


def test_every_user_is_scikit_learns() -> None:
    recs, actual = drawn(4)
    found = recs.pipe(ranking.user_auc, actual, by=pl.col("user").alias("whose"), **ROLES)
    for user, value in found.iter_rows():
        own = recs.join(actual, on=["user", "item"]).filter(pl.col("user") == user)
        if own["click"].n_unique() == 2:
            assert value == pytest.approx(roc_auc_score(own["click"], own["score"]), rel=1e-12)
        else:
            assert value is None


def test_first_ranks_only() -> None:
    recs, actual = drawn(5, digits=9)
    found = recs.pipe(ranking.user_auc, actual, k=[3, None, 8], **ROLES)
    for k, value in found.iter_rows():
        cut = recs.sort("score", descending=True).group_by("user").head(k or 99)
        assert value == pytest.approx(by_sklearn(cut, actual, "impressions"), rel=1e-12)


def test_extremes_and_users_of_one_class() -> None:
    recs = pl.DataFrame(
        {"user": [1, 1, 2, 2, 3], "item": [7, 8, 7, 8, 7], "score": [2, 1, 1, 2, 5]}
    )
    actual = recs.select("user", "item", click=pl.Series([1, 0, 1, 1, 0]))
    assert recs.pipe(ranking.user_auc, actual, **ROLES) == 1.0
    swapped = actual.with_columns(click=1 - pl.col("click"))
    assert recs.pipe(ranking.user_auc, swapped, **ROLES) == 0.0
    tied = recs.with_columns(score=pl.lit(1))
    assert tied.pipe(ranking.user_auc, actual, **ROLES) == 0.5
    none = actual.with_columns(click=pl.lit(1))
    assert math.isnan(recs.pipe(ranking.user_auc, none, **ROLES))
    unscored = recs.with_columns(score=pl.Series([2, None, 1, 2, 5]))
    assert math.isnan(unscored.pipe(ranking.user_auc, actual, **ROLES))


def test_counts_follow_the_average() -> None:
    recs, actual = drawn(6)
    metrics = [ranking.user_auc.bind(average=name).alias(name) for name in AVERAGES]
    found = pf.evaluate(recs, metrics, actual=actual, counts=True, **ROLES)
    both = recs.join(actual, on=["user", "item"]).filter(
        pl.col("click").n_unique().over("user") == 2
    )
    wanted = (both.height, both["click"].sum(), both["user"].n_unique())
    assert found.select("impressions_n", "clicks_n", "users_n").row(0) == wanted


def test_groups_slices_and_parts() -> None:
    recs, actual = drawn(7)
    homes = pl.DataFrame({"user": range(40), "home": [["a", "b", None][u % 3] for u in range(40)]})
    by_home = recs.pipe(ranking.user_auc, actual, users=homes, by="home", **ROLES)
    values = dict(by_home.iter_rows())
    for home in ("a", "b"):
        users = homes.filter(pl.col("home") == home)["user"].implode()
        own = recs.filter(pl.col("user").is_in(users))
        assert values[home] == pytest.approx(by_sklearn(own, actual, "impressions"), rel=1e-12)
    more = {**ROLES, "actual": actual, "users": homes}
    gap = pf.evaluate(recs, pf.difference(ranking.user_auc), group="home", ref="b", **more).item()
    assert gap == pytest.approx(values["a"] - values["b"])
    table = pf.by_group(recs, ranking.user_auc, group="home", **more)
    assert dict(table.select("group", "value").iter_rows()) == pytest.approx(values)
    parts = [
        ranking.user_matches(recs.filter(pl.col("user") % 4 == i), actual, k=[5, None], **ROLES)
        for i in range(4)
    ]
    whole = recs.pipe(ranking.user_auc, actual, k=[5, None], average="clicks", **ROLES)
    merged = pf.measure(parts, ranking.user_auc, k=[5, None], average="clicks")
    assert merged["user_auc"].to_list() == pytest.approx(whole["user_auc"].to_list(), rel=1e-12)


def test_a_slice_of_one_frame_without_a_match_has_no_value() -> None:
    recs, actual = drawn(8)
    shops = pl.concat(
        [
            actual.with_columns(shop=pl.lit("x")),
            pl.DataFrame(
                {"user": [99], "item": [1], "click": [1], "shop": ["y"]},
                schema_overrides={"click": actual.schema["click"]},
            ),
        ]
    )
    found = recs.pipe(ranking.user_auc, shops, by="shop", **ROLES)
    assert found.rows()[1] == ("y", None)
    assert found.rows()[0][1] == pytest.approx(by_sklearn(recs, actual, "impressions"), rel=1e-12)
    models = pl.concat([recs.with_columns(model=pl.lit(m)) for m in ("old", "new")])
    twice = models.pipe(ranking.user_auc, actual, by="model", **ROLES)
    assert twice["user_auc"].n_unique() == 1
    assert recs.clear().pipe(ranking.user_auc, actual, by=pl.lit(1).alias("d"), **ROLES).height <= 1
    assert math.isnan(recs.clear().pipe(ranking.user_auc, actual.clear(), **ROLES))


def test_repeated_pairs_count_once() -> None:
    recs, actual = drawn(9)
    again = pl.concat([recs, recs.head(20)])
    logged = pl.concat([actual, actual.head(20)])
    once = recs.pipe(ranking.user_auc, actual, **ROLES)
    assert again.pipe(ranking.user_auc, logged, **ROLES) == pytest.approx(once, rel=1e-15)
    assert again.pipe(ranking.user_auc, logged, repeats="drop", **ROLES) == pytest.approx(once)
    for frames in ((again, actual), (recs, logged)):
        with pytest.raises(ValueError, match='repeats="once"'):
            ranking.user_auc(*frames, repeats="error", **ROLES)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "average": ({"average": "user"}, ValueError, "`average` is one of 'impressions', 'clicks'"),
    "no score": ({"score": None}, TypeError, "needs the role `score`"),
    "rank": ({"score": None, "rank": "item"}, TypeError, "needs the role `score`"),
    "expected": ({"ties": "expected"}, ValueError, '`user_auc` does not support `ties="expected"`'),
    "no clicks": ({"relevance": None}, TypeError, "outcomes are missing"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    given, error, words = BAD[name]
    recs, actual = drawn(10)
    with pytest.raises(error, match=words):
        ranking.user_auc(recs.lazy() if lazy else recs, actual, **{**ROLES, **given})


def test_other_values_are_refused_even_without_a_score() -> None:
    recs, actual = drawn(11)
    stars = actual.with_columns(click=pl.Series([3.0] + [1.0] * (actual.height - 1)))
    for scored in (recs, recs.with_columns(score=pl.lit(None, pl.Float64))):
        with pytest.raises(ValueError, match="the area under the curve needs two classes"):
            scored.pipe(ranking.user_auc, stars, **ROLES)
        with pytest.raises(InvalidOperationError, match="the area under the curve needs two"):
            scored.lazy().pipe(ranking.user_auc, stars, **ROLES).collect()
    twice = pl.DataFrame({"user": [1, 1], "home": ["a", "b"]})
    with pytest.raises(ValueError, match="`user` more than once"):
        recs.pipe(ranking.user_auc, actual, users=twice, by="home", **ROLES)


@pytest.mark.parametrize("dtype", [pl.Categorical(), pl.String(), pl.UInt64()], ids=str)
def test_dtypes(dtype: pl.DataType) -> None:
    recs, actual = drawn(12)
    wanted = recs.pipe(ranking.user_auc, actual, **ROLES)

    def cast(frame: pl.DataFrame) -> pl.DataFrame:
        ids = pl.col("user", "item")
        return frame.with_columns(ids if dtype.is_integer() else ids.cast(pl.String)).with_columns(
            ids.cast(dtype)
        )

    clicks = cast(actual).cast({"click": pl.Boolean})
    found = cast(recs).cast({"score": pl.Decimal(10, 3)}).pipe(ranking.user_auc, clicks, **ROLES)
    assert found == pytest.approx(wanted, rel=1e-15)
