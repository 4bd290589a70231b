"""Embeddings: a column of arrays is as many features as it is wide."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from tests.test_laws import ASKED, equal

RANDOM = np.random.default_rng(3)
VALUES = RANDOM.normal(size=(60, 3)).round(3)
FLAT = pl.DataFrame(
    {
        "c": RANDOM.integers(0, 3, 60),
        "g": RANDOM.choice(["a", "b"], 60),
        "d": RANDOM.choice(["x", "y"], 60),
        "p": RANDOM.integers(0, 2, 60),
        "w": RANDOM.integers(1, 4, 60),
        **{f"x{i}": VALUES[:, i] for i in range(3)},
        "plain": RANDOM.normal(size=60).round(3),
    }
)
FLAT = FLAT.with_columns(
    pl.when(pl.int_range(pl.len()) != 5).then(pl.col("^x.$")),
).with_columns(x1=pl.when(pl.int_range(pl.len()) != 7).then("x1"))
NAMES = ["x0", "x1", "x2"]
EMBEDDED = FLAT.with_columns(
    x=pl.when(pl.int_range(pl.len()) != 5).then(
        pl.concat_list(NAMES).list.to_array(3).cast(pl.Array(pl.Float64, 3))
    )
).drop(NAMES)
CENTRES = pl.DataFrame({"x0": [0.0, 1.0], "x1": [0.0, -1.0], "x2": [0.5, 0.0]})
ARRAYS = CENTRES.select(x=pl.concat_list(NAMES).list.to_array(3))

TABLES = {metrics[0].tally.name for metrics in ASKED.values()}
OF_FEATURES = [
    name
    for name, metrics in ASKED.items()
    if "features" in metrics[0].tally.roles and metrics[0].family != "ranking"
]


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", OF_FEATURES)
def test_an_array_is_its_members(name: str, *, lazy: bool) -> None:
    metrics = ASKED[name]
    roles: dict[str, Any] = {"cluster": "c", "group": "g", "pred": "p"}
    roles = {role: value for role, value in roles.items() if role in metrics[0].tally.roles}
    flat, embedded = dict(roles), dict(roles)
    if "centroids" in metrics[0].tally.roles:
        flat, embedded = {**flat, "centroids": CENTRES}, {**embedded, "centroids": ARRAYS}
    rows = EMBEDDED.lazy() if lazy else EMBEDDED
    for by in (None, "d"):
        wanted = pf.evaluate(FLAT, metrics, **flat, features=NAMES, by=by)
        found = pf.evaluate(rows, metrics, **embedded, features="x", by=by)
        equal(found.collect(engine="streaming") if lazy else found, wanted)


def test_an_array_beside_a_column() -> None:
    roles = {"cluster": "c", "weight": "w"}
    wanted = clustering.calinski_harabasz(FLAT, features=[*NAMES, "plain"], **roles)
    both = [pl.col("x").cast(pl.Array(pl.Float32, 3)).cast(pl.Array(pl.Float64, 3)), "plain"]
    found = clustering.calinski_harabasz(EMBEDDED, features=both, **roles)
    assert found == pytest.approx(wanted, rel=1e-6)
    listed = EMBEDDED.with_columns(pl.col("x").arr.to_list())
    to_array = pl.col("x").list.to_array(3)
    found = clustering.calinski_harabasz(listed, features=[to_array, "plain"], **roles)
    assert found == pytest.approx(wanted, rel=1e-12)
    reported = clustering.silhouette_samples(EMBEDDED, cluster="c", features="x")
    assert reported.columns == [*EMBEDDED.columns, "silhouette"]
    samples = clustering.silhouette_samples(FLAT, cluster="c", features=NAMES)
    equal(reported.select("silhouette"), samples.select("silhouette"))


def test_names_of_members_do_not_collide() -> None:
    arrays = pl.DataFrame(
        {
            "c": [1, 1, 2, 2],
            "x": [[0.0, 1.0], [2.0, 3.0], [9.0, 4.0], [8.0, 1.0]],
            "x 1": [[0.5], [1.5], [2.5], [0.0]],
            "|x": [1.0, 2.0, 0.0, 3.0],
            "x0": [3.0, 1.0, 2.0, 0.0],
        },
        schema_overrides={"x": pl.Array(pl.Float64, 2), "x 1": pl.Array(pl.Float64, 1)},
    )
    several = ["x", "x 1", "|x", "x0"]
    flat = arrays.select(
        "c",
        pl.col("x").arr.get(0).alias("a"),
        pl.col("x").arr.get(1).alias("b"),
        pl.col("x 1").arr.get(0).alias("e"),
        "|x",
        "x0",
    )
    wanted = clustering.davies_bouldin(flat, cluster="c", features=["a", "b", "e", "|x", "x0"])
    assert clustering.davies_bouldin(arrays, cluster="c", features=several) == wanted
    with pytest.raises(ValueError, match="two features are called"):
        clustering.davies_bouldin(
            arrays.with_columns(pl.lit(0.0).alias("|x 0")), cluster="c", features=["x", "|x 0"]
        )


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Int8, pl.UInt64, pl.Boolean, pl.Decimal(9, 2)])
def test_members_of_any_number(dtype: Any) -> None:
    array = pl.Series([[0, 1], [1, 1], [1, 0], [0, 0]], dtype=pl.Array(pl.Int64, 2))
    rows = pl.DataFrame({"c": [1, 1, 2, 2], "x": array})
    wanted = clustering.silhouette(rows, cluster="c", features="x")
    cast = rows.with_columns(x=pl.col("x").arr.to_list().cast(pl.List(dtype)).list.to_array(2))
    assert clustering.silhouette(cast, cluster="c", features="x") == pytest.approx(wanted)


def test_wide_embeddings() -> None:
    values = RANDOM.normal(size=(40, 512)).astype("float32")
    rows = pl.DataFrame({"g": ["a", "b"] * 20, "item": range(40), "x": values})
    assert rows.schema["x"] == pl.Array(pl.Float32, 512)
    names = [f"x{i}" for i in range(512)]
    flat = pl.concat([rows.drop("x"), pl.DataFrame(values, schema=names)], how="horizontal")
    assert fairness.social_fairness_ratio(
        rows, group="g", features="x", centroids=rows.head(2)
    ) == pytest.approx(
        fairness.social_fairness_ratio(flat, group="g", features=names, centroids=flat.head(2))
    )
    recs = pl.DataFrame({"user": [1, 1, 1, 2, 2], "item": [0, 1, 2, 3, 39]})
    roles: dict[str, Any] = {"user": "user", "item": "item"}
    assert ranking.intra_list_diversity(
        recs, items=rows, features="x", **roles
    ) == ranking.intra_list_diversity(recs, items=flat, features=names, **roles)
    table = clustering.moments(rows, cluster="g", features="x").sort("cluster")
    for number, ssw in enumerate(table["ssw"]):
        part = values[number::2].astype("float64")
        assert ssw == pytest.approx(((part - part.mean(axis=0)) ** 2).sum(), rel=1e-12)


def test_categories_in_arrays() -> None:
    rows = pl.DataFrame(
        {"c": [1, 1, 2, 2], "x": [["a", "b"], ["a", "c"], ["b", "b"], ["b", "b"]]},
        schema={"c": pl.Int64, "x": pl.Array(pl.String, 2)},
    )
    flat = rows.select("c", a=pl.col("x").arr.get(0), b=pl.col("x").arr.get(1))
    options: dict[str, Any] = {"cluster": "c", "metric": "hamming"}
    assert clustering.silhouette(rows, features="x", **options) == clustering.silhouette(
        flat, features=["a", "b"], **options
    )


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (pl.List(pl.Float64), '`features=pl.col("x").list.to_array(<width>)`'),
        (pl.Array(pl.String, 2), "the feature 'x' is Array(String, shape=(2,)), not a number"),
        (pl.Array(pl.Array(pl.Float64, 1), 2), "whose members are not numbers"),
    ],
    ids=str,
)
def test_what_is_not_an_array_of_numbers(dtype: Any, words: str, *, lazy: bool) -> None:
    value = [["1"], ["2"]] if dtype == pl.Array(pl.Array(pl.Float64, 1), 2) else ["1", "2"]
    plain = pl.Series([value], dtype=None)
    frame = pl.DataFrame({"c": [1], "x": plain.cast(dtype), "item": 7, "user": 1})
    rows: Any = frame.lazy() if lazy else frame
    match = re.escape(words)
    with pytest.raises(TypeError, match=match):
        clustering.silhouette(rows, cluster="c", features="x")
    with pytest.raises(TypeError, match=match):
        fairness.consistency(rows, pred="c", features="x")
    with pytest.raises(TypeError, match=match if "not a number" not in words else "numeric"):
        ranking.intra_list_diversity(rows, items=frame, user="user", item="item", features="x")


def test_infinite_members_are_named() -> None:
    rows = pl.DataFrame(
        {"c": [1, 2], "x": [[0.0, float("nan")], [1.0, 2.0]]},
        schema={"c": pl.Int64, "x": pl.Array(pl.Float64, 2)},
    )
    words = re.escape("the feature 'x' (at 1) holds NaN or an infinite value")
    with pytest.raises(ValueError, match=words) as raised:
        clustering.calinski_harabasz(rows, cluster="c", features="x")
    written = str(raised.value).rpartition("such as `")[2].removesuffix("`")
    fixed = rows.with_columns(eval(written, {"pl": pl}))
    assert str(clustering.calinski_harabasz(fixed, cluster="c", features="x")) == "nan"


def test_centroids_and_references_are_as_wide() -> None:
    roles: dict[str, Any] = {"group": "g", "features": "x"}
    for centres, words in (
        (CENTRES, "`centroids` lacks the feature 'x' (at 0)"),
        (CENTRES.select(x=pl.concat_list("x0", "x1").list.to_array(2)), "'x' (at 2)"),
        (CENTRES.select(x=pl.concat_list(*NAMES, "x0").list.to_array(4)), "arrays of width 3"),
    ):
        with pytest.raises((TypeError, pl.exceptions.ColumnNotFoundError), match=re.escape(words)):
            fairness.social_fairness_ratio(EMBEDDED, centroids=centres, **roles)
    narrow = CENTRES.select(x=pl.concat_list("x0", "x1").list.to_array(2))
    for call in (
        clustering.hopkins,
        clustering.spatial_histogram,
        clustering.distance_distribution,
    ):
        with pytest.raises(TypeError, match="`reference` has 2 features and the rows have 3"):
            call(EMBEDDED, features="x", reference=narrow)
        equal(
            call(EMBEDDED, features="x", reference=ARRAYS),
            call(FLAT, features=NAMES, reference=CENTRES),
        )


def test_an_embedding_of_items() -> None:
    recs = pl.DataFrame({"user": [1, 1, 2, 2, 2], "item": [7, 8, 7, 9, 10]})
    items = pl.DataFrame(
        {"item": [7, 8, 9, 10], "x": [[1, 0], [0, 1], [2, 0], None]},
        schema={"item": pl.Int64, "x": pl.Array(pl.Int16, 2)},
    )
    flat = items.select("item", a=pl.col("x").arr.get(0), b=pl.col("x").arr.get(1))
    roles: dict[str, Any] = {"user": "user", "item": "item"}
    found = ranking.intra_list_diversity(recs, items=items, features="x", **roles)
    assert found == ranking.intra_list_diversity(recs, items=flat, features=["a", "b"], **roles)
    assert found == 0.5
