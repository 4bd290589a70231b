"""Points in clusters: references, laws, plans, and input that is degenerate or wrong."""

import functools
import math
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal
from sklearn import metrics as sk

import polarsfair as pf
from polarsfair import clustering, fairness
from polarsfair.clustering._internal import all_pairs, points
from polarsfair.clustering._tendency import uniformity
from tests.test_plans import in_memory_below_group_by

few = settings(max_examples=15, deadline=None, derandomize=True)
ROLES: dict[str, Any] = {"cluster": "c", "features": ["x", "y"]}
TWO_PASSES = [
    clustering.silhouette,
    clustering.beta_cv,
    clustering.normalized_cut,
    clustering.modularity,
    clustering.hubert_distances,
    clustering.normalized_hubert_distances,
    clustering.dunn,
    clustering.dunn_centroid,
    clustering.c_index,
]
EVERY = [
    *TWO_PASSES,
    clustering.ball_hall,
    clustering.calinski_harabasz,
    clustering.davies_bouldin,
    clustering.xie_beni,
]
every = pytest.mark.parametrize("metric", EVERY, ids=lambda m: m.name)


def blobs(size: int, width: int, clusters: int, seed: int = 0, offset: float = 0.0) -> pl.DataFrame:
    """Rows around random centres; the first two features are called x and y."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(0, 2, (clusters, width))
    label = draw.integers(0, clusters, size)
    values = centres[label] + draw.normal(size=(size, width)) + offset
    names = ["x", "y", *(f"z{i}" for i in range(width - 2))][:width]
    return pl.DataFrame({"c": label, **{n: values[:, i] for i, n in enumerate(names)}})


# References


@pytest.mark.parametrize("kind", ["euclidean", "manhattan", "sqeuclidean", "cosine"])
def test_silhouettes_equal_scikit_learn(kind: str) -> None:
    frame = blobs(700, 4, 5)
    values, labels = frame.drop("c").to_numpy(), frame["c"].to_numpy()
    roles: dict[str, Any] = {"cluster": "c", "features": cs.exclude("c"), "metric": kind}
    theirs = sk.silhouette_samples(values, labels, metric=kind)
    found = clustering.silhouette_samples(frame, **roles)
    assert_frame_equal(found.drop("silhouette"), frame)
    np.testing.assert_allclose(found["silhouette"].to_numpy(), theirs, rtol=0, atol=1e-9)
    assert math.isclose(clustering.silhouette(frame, **roles), theirs.mean(), abs_tol=1e-9)
    per = clustering.silhouette_by_cluster(frame, **roles)
    means = [theirs[labels == label].mean() for label in per["cluster"]]
    np.testing.assert_allclose(per["silhouette_by_cluster"].to_numpy(), means, atol=1e-9)


def test_silhouette_of_categories_equals_scikit_learn() -> None:
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 4, (300, 3))
    labels = (codes[:, 0] + draw.integers(0, 2, 300)) % 3
    frame = pl.DataFrame({"c": labels, **{f"f{i}": codes[:, i].astype(str) for i in range(3)}})
    ours = clustering.silhouette(frame, cluster="c", features=cs.string(), metric="hamming")
    assert math.isclose(ours, sk.silhouette_score(codes, labels, metric="hamming"), abs_tol=1e-9)


def test_indices_equal_scikit_learn() -> None:
    frame = blobs(500, 3, 4)
    values, labels = frame.drop("c").to_numpy(), frame["c"].to_numpy()
    roles: dict[str, Any] = {"cluster": "c", "features": ["x", "y", "z0"]}
    ours = clustering.calinski_harabasz(frame, **roles)
    assert math.isclose(ours, sk.calinski_harabasz_score(values, labels), rel_tol=1e-9)
    ours = clustering.davies_bouldin(frame, dispersion="mean", **roles)
    assert math.isclose(ours, sk.davies_bouldin_score(values, labels), rel_tol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weight", [None, "w"])
def test_indices_of_means_equal_numpy(weight: str | None, offset: float) -> None:
    frame = blobs(600, 3, 5, seed=3, offset=offset).with_columns(w=pl.int_range(pl.len()) % 3)
    rows = frame.select(pl.all().repeat_by("w").explode()) if weight else frame
    values = rows.select("x", "y", "z0").to_numpy()
    labels = rows["c"].to_numpy()
    parts = [values[labels == c] - offset for c in np.unique(labels)]
    spreads = [((part - part.mean(axis=0)) ** 2).sum() for part in parts]
    means = np.array([part.mean(axis=0) for part in parts])
    gaps = ((means[:, None] - means) ** 2).sum(axis=2)[np.triu_indices(len(means), 1)]
    theirs = {
        clustering.ball_hall: np.mean([s / len(p) for s, p in zip(spreads, parts, strict=True)]),
        clustering.xie_beni: sum(spreads) / (len(values) * gaps.min()),
    }
    roles: dict[str, Any] = {"cluster": "c", "features": ["x", "y", "z0"], "weight": weight}
    tables = [clustering.moments(frame[i::4], **roles) for i in range(4)]
    for metric, value in theirs.items():
        close = pytest.approx(value, rel=1e-7 if offset else 1e-12)
        assert metric(frame, **roles) == close
        assert pf.measure(tables, metric).item() == close


@pytest.mark.parametrize(
    ("rows", "xie_beni", "ball_hall"),
    [
        ([(1, 0.0), (1, 2.0)], math.nan, 1.0),
        ([(1, 3.0), (2, 3.0)], math.nan, 0.0),
        ([(1, 0.0), (2, 3.0)], 0.0, 0.0),
        ([(1, -1.0), (1, 1.0), (2, -2.0), (2, 2.0)], math.inf, (1 + 4) / 2),
        # (1 + 1 + 4 + 4) / (4 16), and (1 + 4) / 2
        ([(1, -1.0), (1, 1.0), (2, 2.0), (2, 6.0), (None, 9.0), (2, None)], 10 / 64, (1 + 4) / 2),
        ([(None, 1.0)], math.nan, math.nan),
        ([], math.nan, math.nan),
    ],
)
def test_indices_of_means_at_their_edges(rows: Any, xie_beni: float, ball_hall: float) -> None:
    frame = pl.DataFrame(rows, schema={"c": pl.Int64, "x": pl.Float64}, orient="row")
    roles: dict[str, Any] = {"cluster": "c", "features": ["x"]}
    assert clustering.xie_beni(frame, **roles) == pytest.approx(xie_beni, nan_ok=True, abs=1e-15)
    assert clustering.ball_hall(frame, **roles) == pytest.approx(ball_hall, nan_ok=True, abs=1e-15)


@pytest.mark.parametrize("kind", ["euclidean", "manhattan", "sqeuclidean", "cosine"])
def test_pairs_equal_brute_force(kind: str) -> None:
    """More rows than a block of distances has, and weights."""
    from scipy.spatial.distance import cdist

    frame = blobs(1300, 3, 6, seed=4).with_columns(w=pl.int_range(pl.len()) % 3)
    rows = frame.select(pl.all().repeat_by("w").explode())
    values, labels = rows.drop("c", "w").to_numpy(), rows["c"].to_numpy()
    apart = cdist(values, values, {"manhattan": "cityblock"}.get(kind, kind))
    places = np.triu_indices(len(rows), 1)
    same, pairs = (labels[:, None] == labels)[places], apart[places]
    pairs, many = np.maximum(pairs, 0), int(same.sum())
    ordered = np.sort(pairs)
    low, high = ordered[:many].sum(), ordered[-many:].sum()
    roles: dict[str, Any] = {"cluster": "c", "features": ["x", "y", "z0"], "weight": "w"}
    asked = {
        clustering.c_index: (pairs[same].sum() - low) / (high - low),
        clustering.dunn: pairs[~same].min() / pairs[same].max(),
        clustering.beta_cv: pairs[same].mean() / pairs[~same].mean(),
    }
    for metric, theirs in asked.items():
        ours = metric(frame, metric=kind, **roles)
        assert math.isclose(ours, theirs, rel_tol=1e-7), metric.name


# Laws


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e8])
def test_data_far_from_zero_keep_their_digits(offset: float) -> None:
    near, far = (blobs(400, 2, 3, offset=o) for o in (0.0, offset))
    near = near.with_columns((pl.col("x", "y") + offset) - offset)
    for metric in EVERY:
        for options in ({}, {"metric": "sqeuclidean"}):
            if set(options) <= set(metric.option_names):
                ours, theirs = (metric(frame, **ROLES, **options) for frame in (far, near))
                assert math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6), metric.name


def test_moments_merge_far_from_zero() -> None:
    frame = blobs(900, 2, 3, offset=1e8)
    tables = [clustering.moments(frame[i::7], **ROLES) for i in range(7)]
    for metric in (clustering.calinski_harabasz, clustering.ball_hall, clustering.xie_beni):
        merged = pf.measure(tables, metric).item()
        assert math.isclose(merged, metric(frame, **ROLES), rel_tol=1e-6), metric.name


clusterings = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 5), st.floats(-3, 3, width=16)),
    min_size=2,
    max_size=30,
)


@few
@given(clusterings)
def test_certain_limits_contain_the_silhouette(rows: list[tuple[int, int, float]]) -> None:
    frame = pl.DataFrame(rows, schema=["c", "x", "y"], orient="row")
    exact = clustering.silhouette(frame, **ROLES)
    found = clustering.silhouette_estimate(frame, **ROLES, probes=8).row(0, named=True)
    if math.isnan(exact):
        assert set(found.values()) == {None}
    else:
        assert found["low"] <= exact <= found["high"]
        assert found["low"] <= found["silhouette"] <= found["high"]


@pytest.mark.parametrize(("width", "apart"), [(1, 0.6), (4, 0.3), (30, 0.05)])
def test_estimates_are_near(width: int, apart: float) -> None:
    frame = blobs(1500, width, 4, seed=2)
    roles: dict[str, Any] = {"cluster": "c", "features": cs.exclude("c")}
    exact = clustering.silhouette(frame, **roles)
    for seed in range(3):
        found = clustering.silhouette_estimate(frame, **roles, seed=seed).row(0, named=True)
        assert abs(found["silhouette"] - exact) < 5 * found["standard_error"] + 1e-9
        assert found["standard_error"] < 0.01
        assert found["low"] <= exact <= found["high"]
        assert found["high"] - found["low"] < apart


def test_certain_limits_hold_far_from_zero() -> None:
    """Of pairs of rows the limits are the value itself, so that rounding alone could miss it."""
    for seed in range(6):
        draw = np.random.default_rng(seed).normal(1e8, 0.01, (10, 2))
        frame = pl.DataFrame(draw, schema=["x", "y"]).with_columns(c=pl.int_range(10) // 2)
        low, high = clustering.silhouette_estimate(frame, **ROLES).row(0)[2:]
        assert low <= clustering.silhouette(frame, **ROLES) <= high


def hoelder_limits(values: Any, labels: Any) -> tuple[float, float]:
    """The mean silhouettes that second and fourth moments allow, written down directly."""
    rows, sizes = np.arange(len(values)), np.bincount(labels)
    low, high = np.zeros((2, len(values), len(sizes)))
    for cluster in range(len(sizes)):
        mean = values[labels == cluster].mean(axis=0)
        z, away = values[labels == cluster] - mean, values - mean
        q, r = (z**2).sum(axis=1), (away**2).sum(axis=1)
        second = r + q.mean()
        fourth = r**2 + (q**2).mean() + 4 * ((away @ z.T) ** 2).mean(axis=1)
        fourth += 2 * r * q.mean() - 4 * away @ (q[:, None] * z).mean(axis=0)
        low[:, cluster] = np.maximum(np.sqrt(r), second**1.5 / fourth**0.5)
        high[:, cluster] = np.sqrt(second)
    more = sizes[labels] / (sizes[labels] - 1)
    a_high = high[rows, labels] * np.sqrt(more)
    a_low = np.minimum(low[rows, labels] * more, a_high)
    low[rows, labels] = high[rows, labels] = np.inf
    pairs = ((a_high, low.min(axis=1)), (a_low, high.min(axis=1)))
    worst, best = (float(((b - a) / np.maximum(a, b)).mean()) for a, b in pairs)
    return worst, best


@pytest.mark.parametrize("width", [1, 3, 16])
def test_certain_limits_are_those_of_the_fourth_moments(width: int) -> None:
    frame = blobs(200, width, 3, seed=8).with_columns(pl.col("x") * 3)
    columns = frame.drop("c").columns
    found = clustering.silhouette_estimate(frame, cluster="c", features=columns).row(0)
    theirs = hoelder_limits(frame.select(columns).to_numpy(), frame["c"].to_numpy())
    assert found[2:] == pytest.approx(theirs, abs=1e-9)


def test_certain_limits_of_many_features_are_not_much_wider() -> None:
    frame = blobs(300, 40, 3, seed=8).with_columns(cs.by_index(range(1, 4)) * 4)
    columns = frame.drop("c").columns
    low, high = clustering.silhouette_estimate(frame, cluster="c", features=columns).row(0)[2:]
    worst, best = hoelder_limits(frame.select(columns).to_numpy(), frame["c"].to_numpy())
    assert worst - 0.01 < low < worst + 1e-9
    assert best - 1e-9 < high < best + 0.01


@pytest.mark.parametrize("by", [None, "d"])
def test_estimates_take_frequencies(by: str | None) -> None:
    frame = blobs(80, 2, 3).with_columns(w=pl.int_range(pl.len()) % 4, d=pl.int_range(pl.len()) % 2)
    rows = frame.select(pl.all().repeat_by("w").explode())
    ours = clustering.silhouette_estimate(frame, **ROLES, weight="w", by=by, probes=12)
    assert_frame_equal(ours, clustering.silhouette_estimate(rows, **ROLES, by=by, probes=12))


def test_estimates_of_nothing_are_undefined() -> None:
    for frame in (blobs(9, 2, 1), blobs(0, 2, 2), blobs(9, 2, 3).with_columns(c=None)):
        assert set(clustering.silhouette_estimate(frame, **ROLES).row(0)) == {None}


def test_estimates_do_not_depend_on_order() -> None:
    frame = blobs(500, 2, 3).with_columns(d=pl.int_range(pl.len()) % 2)
    other = frame.sample(fraction=1, shuffle=True, seed=5)
    for function in (clustering.silhouette_estimate,):
        found = function(frame, **ROLES, by="d", probes=20)
        assert_frame_equal(function(other, **ROLES, by="d", probes=20), found)
        lazy = function(other.lazy(), **ROLES, by="d", probes=20)
        assert_frame_equal(lazy.collect(engine="streaming"), found)
    ours, theirs = (clustering.hopkins(f, features=["x", "y"]) for f in (frame, other))
    assert_frame_equal(ours, theirs)


@pytest.mark.parametrize("weight", [None, "w"])
def test_equal_rows_are_at_no_distance(weight: str | None) -> None:
    """The mean of three tenths is not a tenth, if rounding is let in."""
    frame = pl.DataFrame({"x": [0.1] * 7, "c": [1, 1, 1, 2, 2, 2, 2], "w": [1, 2, 1, 3, 1, 1, 1]})
    roles: dict[str, Any] = {"cluster": "c", "features": "x", "weight": weight}
    squared = [m.bind(metric="sqeuclidean") for m in EVERY if "metric" in m.option_names]
    asked = [*EVERY, *squared, clustering.davies_bouldin.bind(dispersion="mean")]
    for metric in asked:
        value = metric(frame, **roles)
        zero = metric.name in ("ball_hall", "silhouette", "hubert_distances")
        assert value == 0 if zero else math.isnan(value), metric.name


def test_rows_of_zeros_that_weigh_are_apart() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0], "c": [1, 2], "w": [2, 1]})
    rows = frame.select(pl.all().repeat_by("w").explode())
    roles: dict[str, Any] = {"cluster": "c", "features": "x", "metric": "cosine"}
    assert clustering.dunn(frame, **roles, weight="w") == clustering.dunn(rows, **roles) == 1.0


def test_tables_of_silhouettes_serve_several_measures() -> None:
    frame = blobs(200, 2, 3)
    asked = [
        clustering.silhouette, clustering.beta_cv, clustering.modularity,
        clustering.calinski_harabasz, clustering.davies_bouldin,
    ]  # fmt: skip
    for options in ({}, {"metric": "sqeuclidean"}, {"metric": "cosine"}):
        together = pf.evaluate(frame, asked, **ROLES, **options).row(0)
        alone = [
            m(frame, **ROLES, **{k: v for k, v in options.items() if k in m.option_names})
            for m in asked
        ]
        assert together == pytest.approx(alone, rel=1e-12)


def test_difference_of_groups_is_the_same_in_both_families() -> None:
    frame = blobs(60, 2, 3).with_columns(g=pl.int_range(pl.len()) % 3)
    ours = fairness.silhouette_difference(frame, group="g", **ROLES, ref=0)
    theirs = pf.difference(clustering.silhouette)(frame, group="g", **ROLES, ref=0)
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert ours != 0


def test_uniform_rows_have_no_tendency() -> None:
    draw = np.random.default_rng(1)
    even = pl.DataFrame({"x": draw.random(2000), "y": draw.random(2000)})
    tight = blobs(2000, 2, 4).with_columns(pl.col("x", "y") + 10 * pl.col("c"))
    low, high = (clustering.hopkins(f, features=["x", "y"]).row(0) for f in (even, tight))
    assert 0.4 < low[0] < 0.6
    assert low[1] > 0.01
    assert high[0] > 0.9
    assert high[1] < 1e-6
    for function in (clustering.spatial_histogram, clustering.distance_distribution):
        values = [function(f, features=["x", "y"])["divergence"].item() for f in (even, tight)]
        assert values[0] < 0.05 < 0.2 < values[1]


@pytest.mark.parametrize("gap", [0.0, 1e-130])
def test_clusters_around_one_point_are_not_separated(gap: float) -> None:
    """Their widths are no rounding, however small the distance of their means."""
    frame = pl.DataFrame(
        {"c": [1, 1, 2, 2], "x": [-1.0, 1.0, -2.0, 2.0], "y": [0.0, 0.0, gap, gap]}
    )
    assert clustering.davies_bouldin(frame, cluster="c", features="x") == math.inf
    found = clustering.davies_bouldin(frame, cluster="c", features=["x", "y"])
    assert found == (pytest.approx(3 / gap) if gap else math.inf)


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine", "hamming"])
def test_null_is_a_slice_of_silhouettes(kind: str) -> None:
    frame = blobs(40, 2, 3).with_columns(d=pl.when(pl.int_range(40) % 2 == 0).then(1))
    frame = frame.with_columns(pl.col("x", "y").round())
    found = dict(clustering.silhouette(frame, **ROLES, by="d", metric=kind).rows())
    for slice_ in (1, None):
        part = frame.filter(pl.col("d").eq_missing(pl.lit(slice_)))
        assert found[slice_] == pytest.approx(clustering.silhouette(part, **ROLES, metric=kind))


def test_two_rows_have_one_distance() -> None:
    """Own and other distances lie in two bins: of the other's 1 + 2 * 0.5, a quarter is in ours."""
    one, two, near = (pl.DataFrame({"x": x}) for x in ([0.0], [0.0, 1.0], [0.0, 0.25]))
    found = clustering.distance_distribution(two, reference=near, features="x", bins=2)
    assert found.item() == pytest.approx(math.log(4))
    assert clustering.distance_distribution(two, features="x").item() is not None
    for rows, reference in ((one, two), (two, one), (one, None)):
        few = clustering.distance_distribution(rows, reference=reference, features="x", bins=2)
        assert few.item() is None


def test_one_bin_or_one_draw_is_enough() -> None:
    frame = blobs(40, 2, 2)
    for function in (clustering.spatial_histogram, clustering.distance_distribution):
        found = function(frame, features=["x", "y"], bins=1).row(0, named=True)
        assert found["divergence"] == 0
        assert not any(found.values())
        with pytest.raises(ValueError, match="`bins`"):
            function(frame, features=["x", "y"], bins=0)
    one = clustering.spatial_histogram(frame, features=["x", "y"], draws=1)
    assert one["divergence"].item() > 0
    assert one["spread"].item() == 0
    with pytest.raises(ValueError, match="`draws`"):
        clustering.spatial_histogram(frame, features=["x", "y"], draws=0)


def test_an_empty_reference_is_no_reference() -> None:
    frame = blobs(40, 2, 2)
    reference, roles = frame.clear(), {"features": ["x", "y"]}
    found = clustering.spatial_histogram(frame, reference=reference, **roles)
    assert found.select("divergence", "spread").row(0) == (None, None)
    assert found["limit"].item() > 0
    assert clustering.distance_distribution(frame, reference=reference, **roles).item() is None


def test_choose_k_and_gap_find_the_clusters() -> None:
    frame = blobs(200, 2, 3, seed=8).with_columns(pl.col("x") + 20 * pl.col("c"))
    k2, k4 = (
        pl.col("c").clip(upper_bound=1),
        pl.col("c") * 10 + (pl.col("y") > pl.col("y").median().over("c")).cast(pl.Int64),
    )
    wide = frame.select("x", "y", k1=pl.lit("all"), k2=k2, k3="c", k6=k4)
    names = ["k1", "k2", "k3", "k6"]
    found = clustering.choose_k(wide, clusters=names, features=["x", "y"])
    assert found["clustering"].to_list() == names
    assert found["k"].to_list() == [1, 2, 3, 6]
    assert found["silhouette"].arg_max() == found["calinski_harabasz"].arg_max() == 2
    alone = clustering.silhouette(wide, cluster="k3", features=["x", "y"])
    assert found["silhouette"][2] == pytest.approx(alone, rel=1e-12)
    draw = np.random.default_rng(0)
    uniform = pl.DataFrame({"x": draw.uniform(0, 40, 800), "y": draw.uniform(-4, 4, 800)})
    uniform = uniform.with_columns(
        k1=pl.lit("all"),
        k2=(pl.col("x") > 20).cast(pl.Int64),
        k3=(pl.col("x") / 13.4).cast(pl.Int64),
        k6=(pl.col("x") / 6.7).cast(pl.Int64),
        replicate=pl.int_range(pl.len()) % 4,
    )
    for variant in ("tibshirani", "chapter"):
        gaps = clustering.gap(
            wide.lazy(), uniform, clusters=names, features=["x", "y"], variant=variant
        )
        assert gaps.collect().filter("chosen")["k"].to_list() == [3], variant


# Plans


def test_rows_that_are_alike_are_probed_as_often_as_they_occur() -> None:
    """Half of the rows, a tenth of the places, have a neighbour at distance 0."""
    alone, shared = np.split(np.random.default_rng(3).uniform(size=(1000, 1)), [900])
    frame = pl.DataFrame(np.concatenate([alone, np.repeat(shared, 9, axis=0)]), schema=["x"])
    draws = [clustering.hopkins(frame, features="x", seed=seed)[0, 0] for seed in range(20)]
    # Of uniform rows both sums are alike; here half of one of them vanishes.
    assert abs(np.mean(draws) - 2 / 3) < 0.04


def test_numbers_of_clusters_are_compared_in_their_order() -> None:
    """However the clusterings are named."""
    frame = blobs(60, 2, 4).with_columns(
        k2=pl.col("c") // 2, k3=pl.col("c").clip(1), k4=pl.col("c"), k1=pl.lit(0)
    )
    uniform = frame.with_columns(pl.col("x", "y").shuffle(seed=1), replicate=pl.lit(1))
    names = ["k1", "k2", "k3", "k4"]
    for shuffled in (["k4", "k2", "k1", "k3"], names[::-1]):
        for call in (
            lambda c: clustering.choose_k(frame, clusters=c, features=["x", "y"]),
            lambda c: clustering.gap(frame, uniform, clusters=c, features=["x", "y"]),
        ):
            found = call(shuffled)
            assert found["k"].to_list() == [int(name[1]) for name in shuffled]
            assert_frame_equal(found.sort("k"), call(names))


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine", "hamming"])
def test_the_second_pass_streams(kind: str, by: str | None, tmp_path: Any) -> None:
    blobs(50, 2, 3).with_columns(d=pl.col("c") % 2).write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    plan = clustering.silhouette(lake, **ROLES, by=by, metric=kind)
    # What is called sorted there asks that rows are, and sorts nothing.
    found = in_memory_below_group_by(plan)
    assert [label for label in found if not label.startswith("sorted-group-by")] == []
    physical = plan.show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    assert physical is not None
    assert "sorted-group-by" in physical


def test_moments_read_the_rows_once(tmp_path: Any) -> None:
    blobs(50, 2, 3).write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    asked = [clustering.calinski_harabasz, clustering.davies_bouldin, clustering.beta_cv]
    plan = pf.evaluate(lake, asked, **ROLES, metric="sqeuclidean")
    physical = plan.show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    assert physical is not None
    assert physical.count("multi-scan") == 1
    assert in_memory_below_group_by(plan) == []


# Bad input


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@every
def test_features_that_are_no_numbers_name_the_column(metric: pf.Metric, bad: float) -> None:
    frame = blobs(20, 2, 2).with_columns(y=pl.when(pl.int_range(20) == 7).then(bad).otherwise("y"))
    with pytest.raises(ValueError, match="the feature 'y' holds NaN or an infinite value"):
        metric(frame, **ROLES)
    with pytest.raises(InvalidOperationError, match="the feature 'y' holds NaN"):
        metric(frame.lazy(), **ROLES).collect()
    if metric in (clustering.silhouette, clustering.beta_cv):
        with pytest.raises(ValueError, match="the feature 'y' holds NaN or an infinite value"):
            metric(frame, **ROLES, metric="hamming")


@every
def test_a_row_without_a_feature_is_left_out(metric: pf.Metric) -> None:
    frame = blobs(40, 2, 3)
    unknown = pl.DataFrame(
        {"c": [0, 1, None], "x": [99.0, None, 5.0], "y": [None, math.nan, 5.0]}, schema=frame.schema
    )
    assert metric(pl.concat([frame, unknown]), **ROLES) == pytest.approx(metric(frame, **ROLES))


@every
def test_bad_features_are_refused_at_the_call(metric: pf.Metric) -> None:
    frame = blobs(10, 2, 2).with_columns(t=pl.lit("a"))
    for rows in (frame, frame.lazy()):
        with pytest.raises(TypeError, match=r"'t' is String, not a number.*hamming"):
            metric(rows, cluster="c", features=["x", "t"])
        with pytest.raises(ValueError, match="`features` is empty"):
            metric(rows, cluster="c", features=[])
        with pytest.raises(ValueError, match="two features are called 'x'"):
            metric(rows, cluster="c", features=["x", pl.col("y").alias("x")])
        with pytest.raises(ColumnNotFoundError, match="did you mean `features='x'`"):
            metric(rows, cluster="c", features=["xx"])
        with pytest.raises(TypeError, match="needs the role `features`"):
            metric(rows, cluster="c")
        with pytest.raises(ValueError, match="a slice cannot be named 'mean_x'"):
            metric(rows, **ROLES, by=pl.col("c").alias("mean_x"))


def test_unknown_choices_are_refused() -> None:
    frame = blobs(10, 2, 2)
    for metric in TWO_PASSES:
        if "metric" in metric.option_names:
            with pytest.raises(ValueError, match="`metric` is one of 'euclidean'"):
                metric(frame, **ROLES, metric="euclid")
    with pytest.raises(ValueError, match="`dispersion` is 'rms' or 'mean'"):
        clustering.davies_bouldin(frame, **ROLES, dispersion="median")
    for metric in (clustering.hubert_distances, clustering.dunn):
        with pytest.raises(ValueError, match="`metric` is one of"):
            metric(frame, **ROLES, metric="hamming")
    with pytest.raises(ValueError, match="`variant` is 'tibshirani' or 'chapter'"):
        clustering.gap(frame, frame, clusters=["c"], features=["x"], variant="other")
    with pytest.raises(ColumnNotFoundError, match="`replicate` names the column 'replicate'"):
        clustering.gap(frame, frame, clusters="c", features=["x"])
    others = (clustering.silhouette, clustering.purity_by_cluster, clustering.entropy)
    for agreement in ("rand", *others):
        with pytest.raises(TypeError, match="`agreement` is a measure of two partitions"):
            clustering.stability(frame, clusters=["c", "x"], agreement=agreement)
    assert math.isnan(clustering.stability(frame, clusters="c"))
    with pytest.raises(ValueError, match="`clusters` is empty"):
        clustering.choose_k(frame, clusters=[], features=["x"])
    with pytest.raises(ValueError, match="`probes` is at least 2"):
        clustering.silhouette_estimate(frame, **ROLES, probes=1)


SEEDED = [
    functools.partial(clustering.silhouette_estimate, **ROLES),
    functools.partial(clustering.hopkins, features=["x", "y"]),
    functools.partial(clustering.spatial_histogram, features=["x", "y"]),
    functools.partial(clustering.distance_distribution, features=["x", "y"]),
]


@pytest.mark.parametrize("call", SEEDED, ids=lambda call: call.func.__name__)
def test_draws_start_from_any_whole_number(call: Any) -> None:
    frame = blobs(40, 2, 3)
    for seed in (0, 2**62, 10**30):
        assert call(frame, seed=seed).null_count().row(0)[0] == 0
    assert_frame_equal(call(frame, seed=np.int64(7)), call(frame, seed=7))
    for seed in (-1, 1.5, True, None):
        for rows in (frame, frame.lazy()):
            with pytest.raises(ValueError, match="`seed` is a whole number of at least 0"):
                call(rows, seed=seed)


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine", "hamming"])
def test_more_rows_than_can_be_numbered_are_refused(
    kind: str, by: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polars numbers rows in 32 bits, and would panic beyond."""
    frame = blobs(31, 2, 3).with_columns(d=pl.int_range(31) % 2)
    how = {**ROLES, "by": by, "metric": kind}
    monkeypatch.setattr(points, "MOST", 31)
    clustering.silhouette(frame, **how)
    monkeypatch.setattr(points, "MOST", 30)
    words = r"more than 30 rows, which Polars cannot number: .*`polars\[rt64\]`"
    for call in (clustering.silhouette, clustering.silhouette_samples):
        with pytest.raises(ValueError, match=words):
            call(frame, **how)
        with pytest.raises(InvalidOperationError, match=words):
            call(frame.lazy(), **how).collect(engine="streaming")
    with pytest.raises(ValueError, match=words):
        clustering.silhouette_estimate(frame, **ROLES, by=by)


QUADRATIC = [m for m in TWO_PASSES if m not in (clustering.dunn, clustering.dunn_centroid)]


@pytest.mark.parametrize("metric", QUADRATIC, ids=lambda m: m.name)
def test_too_many_pairs_name_what_scales(
    metric: pf.Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_pairs, "LIMIT", 30)
    small, large = blobs(30, 2, 3), blobs(31, 2, 3)
    assert math.isfinite(metric(small, **ROLES))
    words = r"more than 30: use .*sqeuclidean.*silhouette_estimate"
    with pytest.raises(ValueError, match=words):
        metric(large, **ROLES)
    lazy = metric(large.lazy(), **ROLES)
    with pytest.raises(InvalidOperationError, match=words):
        lazy.collect()
    # Every slice has its own pairs.
    sliced = pl.concat([small, small.with_columns(pl.col("x") + 1)]).with_columns(
        d=pl.int_range(60) // 30
    )
    assert metric(sliced, **ROLES, by="d").height == 2


def test_other_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_pairs, "LIMIT", 30)
    monkeypatch.setattr(uniformity, "LIMIT", 30)
    frame, small = blobs(31, 2, 3), blobs(30, 2, 3)
    with pytest.raises(ValueError, match=r"sqeuclidean.*silhouette_estimate"):
        clustering.silhouette_samples(frame, **ROLES)
    assert clustering.silhouette_samples(small, **ROLES).height == 30
    with pytest.raises(ValueError, match="sample them"):
        clustering.distance_distribution(frame, features=["x", "y"])
    assert clustering.distance_distribution(small, features=["x", "y"]).item() > 0
    assert clustering.silhouette_samples(frame, **ROLES, metric="sqeuclidean").height == 31


@pytest.mark.parametrize("metric", TWO_PASSES, ids=lambda m: m.name)
def test_stored_tables_of_two_passes_are_refused(metric: pf.Metric) -> None:
    table = clustering.moments(blobs(20, 2, 2), **ROLES)
    with pytest.raises(ValueError, match="second pass over the rows: call `evaluate` on the rows"):
        pf.measure(table, [metric])


def test_measures_of_pairs_have_no_value_per_group() -> None:
    frame = blobs(20, 2, 2).with_columns(g=pl.int_range(20) % 2)
    with pytest.raises(ValueError, match=r"`beta_cv_difference` cannot be split by group"):
        pf.evaluate(
            frame, [clustering.silhouette, pf.difference(clustering.beta_cv)], group="g", **ROLES
        )


def test_weights_are_frequencies() -> None:
    frame = blobs(20, 2, 2).with_columns(w=pl.lit(1.5), v=pl.lit(-1))
    with pytest.raises(ValueError, match="pass frequencies, which are whole numbers"):
        clustering.silhouette(frame, **ROLES, weight="w")
    with pytest.raises(ValueError, match="not a number of at least 0"):
        clustering.silhouette(frame, **ROLES, weight="v")
    whole = clustering.silhouette(frame, **ROLES, weight=pl.lit(2.0))
    assert whole == pytest.approx(clustering.silhouette(frame, **ROLES, weight=pl.lit(2)))


NAMES = ["size", "inside", "outside", "zeros", "times", "own", "shared", "total", "exact", "near"]
SLICED = {
    "silhouette": clustering.silhouette,
    "squared": functools.partial(clustering.silhouette, metric="sqeuclidean"),
    "hamming": functools.partial(clustering.silhouette, metric="hamming"),
    "samples": functools.partial(clustering.silhouette_samples, metric="cosine"),
    "estimate": clustering.silhouette_estimate,
    "beta_cv": functools.partial(clustering.beta_cv, metric="hamming"),
    "modularity": clustering.modularity,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("call", SLICED.values(), ids=SLICED)
def test_a_slice_may_be_called_like_a_column_of_a_plan(call: Any, name: str) -> None:
    frame = blobs(30, 2, 3).with_columns(day=pl.int_range(30) % 2)
    plain = call(frame, **ROLES, by="day")
    found = call(frame.rename({"day": name}), **ROLES, by=name)
    assert_frame_equal(found.rename({name: "day"}), plain)


def test_a_slice_may_not_be_called_like_a_column_of_the_result() -> None:
    frame = blobs(30, 2, 3).with_columns(size=pl.int_range(30) % 2)
    assert clustering.c_index(frame, **ROLES, by="size").columns == ["size", "c_index"]
    for name in ("low", "silhouette"):
        with pytest.raises(ValueError, match=f"two columns would be called '{name}'"):
            clustering.silhouette_estimate(frame, **ROLES, by=pl.col("c").alias(name))
    with pytest.raises(ValueError, match="two columns would be called 'delta'"):
        clustering.choose_k(frame, clusters="c", features="x", by=pl.col("c").alias("delta"))


def test_a_frame_with_silhouettes_is_refused() -> None:
    frame = blobs(20, 2, 2).with_columns(silhouette=pl.lit(1.0))
    with pytest.raises(ValueError, match='has a column "silhouette" already'):
        clustering.silhouette_samples(frame, **ROLES)


def test_hopkins_of_large_numbers_does_not_overflow() -> None:
    draw = np.random.default_rng(0)
    points = pl.DataFrame({name: draw.normal(size=60) * 2.0**450 for name in ("x", "y")})
    found = clustering.hopkins(points, features=["x", "y"])
    assert 0.3 < found["hopkins"].item() < 0.95
