"""Recorded values of internal and relative measures, stability and tendency, all replayed.

Where polarsfair answers otherwise, the vector stands by name in `DIFFERENCES` with the reason.
"""

import json
import math
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness
from polarsfair.clustering._relative import chosen_gap, second_difference

FILE = Path(__file__).parents[1] / "vectors" / "clustering_geometry.json"
VECTORS = json.loads(FILE.read_text(encoding="utf-8"))
KINDS = {"cityblock": "manhattan"}

OF_MEANS: dict[str, pf.Metric] = {
    "davies_bouldin_rms": clustering.davies_bouldin,
    "davies_bouldin_mean": clustering.davies_bouldin.bind(dispersion="mean"),
    "calinski_harabasz": clustering.calinski_harabasz,
    "dunn_centroid": clustering.dunn_centroid,
}
OF_DISTANCES: dict[str, pf.Metric] = {
    "silhouette": clustering.silhouette,
    "betacv": clustering.beta_cv,
    "c_index": clustering.c_index,
    "ncut": clustering.normalized_cut,
    "modularity": clustering.modularity,
    "dunn": clustering.dunn,
    "hubert_gamma": clustering.hubert_distances,
    "hubert_gamma_norm": clustering.normalized_hubert_distances,
}

DIFFERENCES = {
    "nulls": "a NaN feature is an error here and its row is not left out; the test makes it null",
    "simplified_silhouette": "another index, which is not offered",
    "noise_drop": "said with an expression: `cluster=pl.col('c').replace(-1, None)`",
    "noise_singletons": "said with an expression that numbers the rows of noise",
}
"""What has another form, by the vector's or the value's name, and why."""


def by_id(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=[vector["id"] for vector in vectors])


def close(ours: float | None, theirs: Any, slack: float = 1e-9) -> bool:
    if theirs is None or ours is None or math.isnan(ours):
        return theirs is None and (ours is None or math.isnan(ours))
    wanted = math.inf if theirs == "Infinity" else float(theirs)
    return math.isclose(ours, wanted, rel_tol=slack, abs_tol=1e-12)


def points(rows: list[list[Any]], width: int = 2) -> pl.DataFrame:
    width = len(rows[0]) if rows else width
    columns = [[math.nan if row[i] == "NaN" else row[i] for row in rows] for i in range(width)]
    return pl.DataFrame(
        {f"x{i}": pl.Series(column, dtype=pl.Float64) for i, column in enumerate(columns)}
    )


def clustered(vector: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a vector and the roles that name them."""
    frame = points(vector["X"])
    features = [pl.col(name).fill_nan(None) for name in frame.columns]
    labels = pl.Series("c", vector["labels"], dtype=None if vector["labels"] else pl.Int64)
    frame = frame.with_columns(labels)
    cluster = pl.col("c")
    if vector["id"] == "noise_drop":
        cluster = cluster.replace(-1, None)
    if vector["id"] == "noise_singletons":
        cluster = pl.when(cluster == -1).then(-1 - pl.int_range(pl.len())).otherwise(cluster)
    roles: dict[str, Any] = {"cluster": cluster, "features": features}
    if "weight" in vector:
        frame = frame.with_columns(w=pl.Series(vector["weight"]))
        roles["weight"] = "w"
    return frame, roles


INTERNAL = [*VECTORS["internal"], *VECTORS["internal_weighted"]]


def wrong_values(vector: dict[str, Any], frame: pl.DataFrame, roles: dict[str, Any]) -> list[Any]:
    slack = 1e-6 if vector["id"] == "large_offset" else 1e-9
    wrong = []
    for kind, values in vector["expected"].items():
        for name, value in values.items():
            if name in OF_MEANS:
                ours = OF_MEANS[name](frame, **roles)
            elif name in OF_DISTANCES:
                ours = OF_DISTANCES[name](frame, metric=KINDS.get(kind, kind), **roles)
            else:
                continue
            if not close(ours, value, 1e-6 if name == "hubert_gamma_norm" else slack):
                wrong.append((kind, name, ours, value))
    return wrong


@by_id(INTERNAL)
def test_internal_measures(vector: dict[str, Any]) -> None:
    assert wrong_values(vector, *clustered(vector)) == []


@by_id(VECTORS["internal"])
def test_order_and_names_do_not_matter(vector: dict[str, Any]) -> None:
    frame, roles = clustered(vector)
    kept = {kind: v for kind, v in vector["expected"].items() if kind in ("centroid", "euclidean")}
    named = roles | {"cluster": roles["cluster"].cast(pl.String) + "!"}
    mixed = (
        frame.sample(fraction=1, shuffle=True, seed=1)
        if vector["id"] != "noise_singletons"
        else frame
    )
    assert wrong_values({**vector, "expected": kept}, mixed, named) == []


@by_id(VECTORS["internal"])
def test_silhouette_of_every_row(vector: dict[str, Any]) -> None:
    frame, roles = clustered(vector)
    for kind, values in vector["expected"].items():
        if "silhouette_samples" not in values:
            continue
        found = clustering.silhouette_samples(frame, metric=KINDS.get(kind, kind), **roles)
        known = pl.all_horizontal(
            roles["cluster"].is_not_null(), *(f.is_not_null() for f in roles["features"])
        )
        ours = found.filter(known)["silhouette"].to_list()
        theirs = values["silhouette_samples"] or [None] * len(ours)
        assert len(ours) == len(theirs)
        assert all(close(o, t, 1e-6) for o, t in zip(ours, theirs, strict=True)), (
            kind,
            ours,
            theirs,
        )


@by_id(VECTORS["internal"])
def test_moments_split_at_every_row(vector: dict[str, Any]) -> None:
    frame, roles = clustered(vector)
    if vector["id"] == "noise_singletons":
        frame, roles = frame.with_columns(c=roles["cluster"]), roles | {"cluster": "c"}
    metrics = [
        clustering.calinski_harabasz,
        clustering.davies_bouldin,
        clustering.beta_cv.bind(metric="sqeuclidean"),
        clustering.hubert_distances.bind(metric="sqeuclidean"),
    ]
    squared = vector["expected"]["sqeuclidean"]
    wanted = [
        vector["expected"]["centroid"]["calinski_harabasz"],
        vector["expected"]["centroid"]["davies_bouldin_rms"],
        squared["betacv"],
        squared["hubert_gamma"],
    ]
    slack = 1e-6 if vector["id"] == "large_offset" else 1e-9
    for place in range(frame.height + 1):
        parts = [clustering.moments(part, **roles) for part in (frame[:place], frame[place:])]
        merged = pf.measure(parts, metrics).row(0)
        assert all(close(o, t, slack) for o, t in zip(merged, wanted, strict=True)), (
            place,
            merged,
            wanted,
        )


@by_id(VECTORS["gap"])
@pytest.mark.parametrize(("variant", "theirs"), [("tibshirani", "tibshirani"), ("chapter", "book")])
def test_gap(vector: dict[str, Any], variant: str, theirs: str) -> None:
    log = math.log if variant == "tibshirani" else math.log2
    samples = vector["W_ref"]
    scale = math.sqrt(1 + 1 / len(samples)) if variant == "tibshirani" else 1.0
    logs = pl.DataFrame(
        [pl.Series([log(w[i]) for w in samples]).alias(f"{i}") for i in range(len(vector["k"]))]
    )
    lines = pl.DataFrame(
        {
            "k": vector["k"],
            "W": vector["W"],
            "expected": [logs[f"{i}"].mean() for i in range(len(vector["k"]))],
            "s": [logs[f"{i}"].std(ddof=0) * scale for i in range(len(vector["k"]))],
        }
    ).lazy()
    expected = vector["expected"][theirs]
    for errors, rule in ((1, "k_star_1sd"), (2, "k_star_2sd")):
        found = chosen_gap(lines, variant, errors).collect()
        assert all(close(o, t) for o, t in zip(found["gap"], expected["gap"], strict=True))
        assert all(close(o, t) for o, t in zip(found["s"], expected["s"], strict=True))
        chosen = found.filter("chosen")["k"].to_list()
        assert chosen == ([] if expected[rule] is None else [expected[rule]])


@by_id(VECTORS["calinski_harabasz_curve"])
def test_curve_of_calinski_harabasz(vector: dict[str, Any]) -> None:
    curve = pl.DataFrame({"k": vector["k"], "ch": pl.Series(vector["CH"], dtype=pl.Float64)})
    found = curve.with_columns(delta=second_difference(pl.col("ch")))
    expected = vector["expected"]
    assert found["delta"].to_list() == expected["delta"]
    assert found.filter(pl.col("ch") == pl.col("ch").max())["k"][0] == expected["k_max"]
    least = found.filter(pl.col("delta") == pl.col("delta").min())["k"].to_list()
    assert least[:1] == ([] if expected["k_delta_min"] is None else [expected["k_delta_min"]])


@by_id(VECTORS["stability"])
def test_stability(vector: dict[str, Any]) -> None:
    measures = {
        "VI": clustering.variation_of_information,
        "fowlkes_mallows": clustering.fowlkes_mallows,
        "adjusted_rand": clustering.adjusted_rand,
    }
    for k, runs in vector["runs"].items():
        ids = sorted({row for run in runs for row in run})
        frame = pl.DataFrame({f"r{i}": [run.get(row) for row in ids] for i, run in enumerate(runs)})
        expected = vector["expected"]["per_k"][k]
        for pair in expected["pairs"]:
            two = [f"r{pair['i']}", f"r{pair['j']}"]
            for name, measure in measures.items():
                assert close(
                    clustering.stability(frame, clusters=two, agreement=measure), pair[name]
                )
        assert len(expected["pairs"]) == len(list(combinations(runs, 2)))
        for mean, name in (("mean_VI", "VI"), ("mean_FM", "fowlkes_mallows")):
            ours = clustering.stability(frame, clusters=frame.columns, agreement=measures[name])
            assert close(ours, expected[mean])


@by_id(VECTORS["spatial_histogram"])
def test_spatial_histogram(vector: dict[str, Any]) -> None:
    rows, others = points(vector["X"]), points(vector["R"])
    for alpha in (0, 0.5):
        found = clustering.spatial_histogram(
            rows, reference=others, features=pl.all(), bins=vector["b"], alpha=alpha
        )
        expected = vector["expected"] or {}
        assert close(found["divergence"].item(), expected.get(f"KL_nats_alpha{alpha}"))
        assert close(found["limit"].item(), expected.get("KL_uniform_limit_nats"))


@by_id(VECTORS["distance_distribution"])
def test_distance_distribution(vector: dict[str, Any]) -> None:
    rows, others = points(vector["X"]), points(vector["R"])
    for alpha in (0, 0.5):
        found = clustering.distance_distribution(
            rows, reference=others, features=rows.columns, bins=vector["bins"], alpha=alpha
        )
        expected = vector["expected"] or {}
        assert close(found["divergence"].item(), expected.get(f"KL_nats_alpha{alpha}"))


@by_id(VECTORS["hopkins"])
def test_hopkins(vector: dict[str, Any]) -> None:
    rows = points(vector["X"])
    probes = pl.int_range(pl.len()).is_in(vector["probe_rows"])
    given: dict[str, Any] = {
        "features": rows.columns, "probes": probes, "reference": points(vector["uniform"])
    }  # fmt: skip
    expected = vector["expected"] or {}
    found = clustering.hopkins(rows, **given)
    assert close(found["hopkins"].item(), expected.get("hopkins"))
    assert close(found["p_value"].item(), expected.get("p_right"))
    plain = clustering.hopkins(rows, exponent=1, **given)
    assert close(plain["hopkins"].item(), expected.get("hopkins_exponent1"))


TWO_GROUPS = "silhouette_diff/C5/y_pred<-cluster"
"""Row 2 is in both groups at once; a group column holds one, here the first."""

DEFINED_HERE = {
    "silhouette_diff/C7/y_pred<-cluster": "one cluster: undefined, not an error",
    "silhouette_diff/C11/y_pred<-cluster": "one feature is as good as two, not an error",
}


@by_id(VECTORS["silhouette_diff"])
def test_silhouette_difference(vector: dict[str, Any]) -> None:
    """HolisticAI's value is half of ours."""
    frame, features = holistic_frame(vector)
    theirs = vector["expected"]
    if theirs["kind"] == "raises" and vector["id"] not in DEFINED_HERE:
        with pytest.raises(ValueError, match="the feature 'x1' holds NaN"):
            difference_of_silhouettes(frame, features, "b")
        return
    ours = difference_of_silhouettes(frame, features, "a" if vector["swapped"] else "b")
    if vector["id"] in DEFINED_HERE or vector["id"] == TWO_GROUPS:
        wanted = brute_difference(frame, features)
        assert (
            not close(ours, None if theirs["kind"] == "raises" else 2 * theirs["value"])
            or wanted is None
        )
        assert close(ours, wanted)
    else:
        assert close(ours, None if theirs["value"] == "NaN" else 2 * theirs["value"])


def holistic_frame(vector: dict[str, Any]) -> tuple[pl.DataFrame, list[str]]:
    data = VECTORS["holisticai_datasets"][vector["dataset"]]
    pairs = zip(data["group_a"], data["group_b"], strict=True)
    groups = ["a" if a else "b" if b else None for a, b in pairs]
    frame = points(data["data"])
    columns = [pl.Series("c", data["cluster"]), pl.Series("g", groups, dtype=pl.String)]
    return frame.with_columns(columns), frame.columns


def difference_of_silhouettes(frame: pl.DataFrame, features: list[str], ref: str) -> float:
    given: dict[str, Any] = {"group": "g", "cluster": "c", "features": features}
    there = ref in frame["g"].to_list()
    return fairness.silhouette_difference(frame, **given, ref=ref if there else pf.OVERALL)


def brute_difference(frame: pl.DataFrame, features: list[str]) -> float | None:
    """Group a's mean silhouette less group b's, pair by pair."""
    rows = frame.select(features).rows()
    clusters, groups = frame["c"].to_list(), frame["g"].to_list()
    if len(set(clusters)) < 2:
        return None
    values: dict[str, list[float]] = {"a": [], "b": []}
    for i, group in enumerate(groups):
        means = {}
        for cluster in set(clusters):
            apart = [
                math.dist(rows[i], r)
                for j, r in enumerate(rows)
                if clusters[j] == cluster and j != i
            ]
            if apart:
                means[cluster] = sum(apart) / len(apart)
        inside = means.pop(clusters[i], None)
        outside = min(means.values())
        value = 0.0 if inside is None else (outside - inside) / max(inside, outside)
        if group is not None:
            values[group].append(value)
    mean_a, mean_b = (sum(found) / len(found) for found in values.values())
    return mean_a - mean_b
