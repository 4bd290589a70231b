"""Recorded values of external measures, edges and HolisticAI's cluster metrics, all replayed.

Where polarsfair answers otherwise, the vector stands by name in `DIFFERENCES` with the reason; a
listed vector that agrees after all fails too.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness

FOLDER = Path(__file__).parents[1] / "vectors"
EXTERNAL = json.loads((FOLDER / "clustering_external.json").read_text(encoding="utf-8"))
HOLISTIC = json.loads((FOLDER / "holisticai_clusters.json").read_text(encoding="utf-8"))
nan, inf = math.nan, math.inf

MEASURES: dict[str, pf.Metric] = {
    "purity": clustering.purity,
    "matching": clustering.maximum_matching,
    "f_measure": clustering.f_measure,
    "H_C": clustering.entropy,
    "H_CT": clustering.joint_entropy,
    "H_T_given_C": clustering.conditional_entropy,
    "MI": clustering.mutual_information,
    **{f"NMI_{name}": clustering.nmi.bind(average=name) for name in ("arithmetic", "min", "max")},
    "NMI_geometric": clustering.nmi,
    "VI": clustering.variation_of_information,
    "homogeneity": clustering.homogeneity,
    "completeness": clustering.completeness,
    "v_measure": clustering.v_measure,
    "AMI_arithmetic": clustering.adjusted_mutual_information,
    "jaccard": clustering.jaccard,
    "rand": clustering.rand,
    "adjusted_rand": clustering.adjusted_rand,
    "fowlkes_mallows": clustering.fowlkes_mallows,
    "hubert_gamma": clustering.hubert,
    "hubert_gamma_norm": clustering.normalized_hubert,
}
EXCHANGED = {
    "H_T": clustering.entropy,
    "H_C_given_T": clustering.conditional_entropy,
}
"""What the same measures say with the roles exchanged."""

ROLES = {"cluster": "c", "label": "y"}
ROWS = [*EXTERNAL["external"], *EXTERNAL["external_weighted"]]


def by_id(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=[vector["id"] for vector in vectors])


def close(ours: float | None, theirs: float | None, *, slack: float = 1e-12) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=slack)


def rows_of(vector: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The rows of a vector and the roles to read them with."""
    frame = pl.DataFrame(
        {
            "c": pl.Series(vector["cluster"], dtype=None if vector["cluster"] else pl.Int64),
            "y": pl.Series(vector["truth"], dtype=None if vector["truth"] else pl.String),
            "w": pl.Series(vector.get("weight", [1] * len(vector["cluster"])), dtype=pl.Int64),
        }
    )
    roles: dict[str, Any] = {**ROLES}
    if "weight" in vector:
        roles["weight"] = "w"
    if vector.get("noise_mode") == "singletons":
        roles["noise"] = vector["noise"]
    if vector.get("noise_mode") == "drop":
        frame = frame.filter(pl.col("c") != vector["noise"])
    if vector.get("nulls") == "category":
        frame = frame.with_columns(pl.col("c").fill_null(99), pl.col("y").fill_null("none"))
    return frame, roles


def values_of(frame: pl.DataFrame | pl.LazyFrame, roles: dict[str, Any]) -> dict[str, Any]:
    metrics = [metric.alias(name) for name, metric in MEASURES.items()]
    result = pf.evaluate(frame, metrics, **roles)
    (row,) = (result.collect() if isinstance(result, pl.LazyFrame) else result).to_dicts()
    return row


@by_id(ROWS)
def test_external_measures(vector: dict[str, Any]) -> None:
    frame, roles = rows_of(vector)
    # The entropy of clusters alone also counts rows without label; the vectors drop those.
    frame = frame.drop_nulls()
    values = values_of(frame, roles)
    if "noise" not in roles:
        swapped = {**roles, "cluster": "y", "label": "c"}
        for name, metric in EXCHANGED.items():
            value = metric(frame, **swapped)
            values[name] = None if math.isnan(value) else value
    recorded = {name: vector["expected"][name] for name in values}
    wrong = {n: (values[n], recorded[n]) for n in values if not close(values[n], recorded[n])}
    assert not wrong
    counts = clustering.pair_counts(frame, **roles).to_dicts()
    assert counts == [{name: vector["expected"][name.upper()] for name in ("tp", "fp", "fn", "tn")}]


@by_id([vector for vector in ROWS if None in vector["cluster"] and "nulls" not in vector])
def test_incomplete_rows_are_left_out(vector: dict[str, Any]) -> None:
    frame, roles = rows_of(vector)
    assert frame.height > frame.drop_nulls().height
    ours, dropped = values_of(frame, roles), values_of(frame.drop_nulls(), roles)
    for name in MEASURES.keys() - {"H_C"}:
        assert close(ours[name], dropped[name]), name


@by_id(ROWS)
def test_external_measures_of_merged_parts_in_any_order(vector: dict[str, Any]) -> None:
    frame, roles = rows_of(vector)
    noise = {"noise": roles.pop("noise")} if "noise" in roles else {}
    frame = frame.drop_nulls()
    metrics = [metric.alias(name) for name, metric in MEASURES.items()]
    for cut in range(frame.height + 1):
        tables = [
            clustering.contingency(part, **roles)
            for part in (frame.tail(frame.height - cut).reverse(), frame.head(cut))
        ]
        (values,) = pf.measure(tables, metrics, **noise).to_dicts()
        for name in MEASURES:
            assert close(values[name], vector["expected"][name]), (cut, name)


@by_id(EXTERNAL["external_tables"])
def test_tables_of_many_rows(vector: dict[str, Any]) -> None:
    cells = [(i, j, n) for i, row in enumerate(vector["table"]) for j, n in enumerate(row) if n]
    table = pl.DataFrame(cells, schema=["cluster", "label", "n"], orient="row")
    recorded = vector["expected"]
    metrics = [metric.alias(name) for name, metric in MEASURES.items() if name in recorded]
    (values,) = pf.measure(table, metrics).to_dicts()
    wrong = {n: (v, recorded[n]) for n, v in values.items() if not close(v, recorded[n])}
    assert not wrong
    # Digits, not only nearness: near independence the information is far below any absolute slack.
    assert math.isclose(values["MI"], recorded["MI"], rel_tol=1e-9)
    assert math.isclose(values["AMI_arithmetic"], recorded["AMI_arithmetic"], rel_tol=1e-9)
    number = pl.col("n").cast(pl.Float64)  # squares of the counts leave 64 bits
    counts = clustering.pair_counts(table, cluster="cluster", label="label", weight=number)
    assert counts.to_dicts() == [{n: recorded[n.upper()] for n in ("tp", "fp", "fn", "tn")}]


@by_id(EXTERNAL["external_per_cluster"])
def test_frames_by_cluster(vector: dict[str, Any]) -> None:
    frame, roles = rows_of(vector)
    metrics = [clustering.purity_by_cluster, clustering.f_measure_by_cluster]
    for line in pf.evaluate(frame, metrics, **roles).to_dicts():
        recorded = vector["expected"].pop(str(line["cluster"]))
        assert close(line["purity_by_cluster"], recorded["purity"])
        assert close(line["f_measure_by_cluster"], recorded["F"])
    assert vector["expected"] == {}


@by_id(EXTERNAL["graph"])
def test_edges(vector: dict[str, Any]) -> None:
    labels = vector["labels"]
    ends = [(labels[i], labels[j], w) for i, j, w in vector["edges"]]
    schema = {"c": pl.Int64(), "d": pl.Int64(), "w": pl.Float64()}
    frame = pl.DataFrame(ends, schema=schema, orient="row")
    metrics = [clustering.edge_modularity, clustering.edge_normalized_cut]
    (found,) = pf.evaluate(frame, metrics, cluster="c", other="d", weight="w").rows()
    cut = 0.0 if vector["id"] in EDGE_DIFFERENCES else vector["expected"]["ncut"]
    assert close(found[0], vector["expected"]["modularity"])
    assert close(found[1], cut)


EDGE_DIFFERENCES = {"isolated_vertex": "a vertex without edges is in no row of a list of edges"}


# HolisticAI: a against b, rows in neither of unknown group

COUNTED = {
    "cluster_balance": fairness.cluster_balance,
    "min_cluster_ratio": fairness.min_cluster_ratio,
    "cluster_dist_l1": fairness.cluster_total_variation,
    "cluster_dist_kl": fairness.cluster_kl,
}
SUMMARY = {
    "Cluster Balance": fairness.cluster_balance,
    "Minimum Cluster Ratio": fairness.min_cluster_ratio,
    "Cluster Distribution Total Variation": fairness.cluster_total_variation,
    "Cluster Distribution KL Div": fairness.cluster_kl,
}
SOCIAL, SILHOUETTE = "Social Fairness Ratio", "Silhouette Difference"
VECTORS = [v for v in HOLISTIC["vectors"] if v["function"] != "silhouette_diff"]

BOTH = "row 2 is in both groups; a group column holds one, here a"
NOBODY = "nobody is in group a, so that there is nothing to compare"
NEITHER = "clusters 2 and 3 have neither group and are left out, not 0"
BY_ID = {vector["id"]: vector for vector in VECTORS}
sqrt, ln = math.sqrt, math.log

DIFFERENCES: dict[str, tuple[str, Any]] = {
    # a: 2 lo, 1 mid; b: 1 lo, 2 mid, 1 hi.
    "cluster_dist_l1/C5/y_pred<-cluster": (BOTH, 5 / 12),
    "cluster_dist_kl/C5/y_pred<-cluster": (BOTH, (2 * ln(8 / 3) + ln(2 / 3)) / 3),
    "social_fairness_ratio/C5": (
        BOTH,
        (sqrt(0.02) + sqrt(0.52) + 0.1) / 3 / ((sqrt(0.41) + 0.5 + sqrt(0.73)) / 4),
    ),
    "cluster_balance/C8/y_pred<-cluster": ("group b is everyone in every cluster", 1.0),
    "min_cluster_ratio/C8/y_pred<-cluster": (NOBODY, nan),
    "cluster_dist_l1/C8/y_pred<-cluster": (NOBODY, nan),
    "min_cluster_ratio/C4/y_pred<-cluster": (NEITHER, 1.0),
    "clustering_bias_metrics/C4/y_pred<-cluster": (
        NEITHER,
        {
            "Cluster Balance": 0.0,
            "Minimum Cluster Ratio": 1.0,
            "Cluster Distribution Total Variation": 0.0,
            "Cluster Distribution KL Div": 0.0,
            SOCIAL: BY_ID["social_fairness_ratio/C4"]["value"],
        },
    ),
    "social_fairness_ratio/C10": ("NaN in a feature is an error that names it", "refused"),
    "social_fairness_ratio/C11": ("one feature is enough", 0.0),
    "social_fairness_ratio/C11/data<-data2,centroids<-centroid1": (
        "one centroid is enough",
        (1 + sqrt(61)) / 2 / ((sqrt(50) + sqrt(72)) / 3),
    ),
}


def holistic_frame(vector: dict[str, Any]) -> pl.DataFrame:
    data, args = HOLISTIC["datasets"][vector["dataset"]], vector["args"]
    a, b = (pl.Series(data[args.get(f"group_{side}", "group_a")]) == 1 for side in "ab")
    places = data[args.get("data", "data")]
    columns = {f"x{i}": [float(p[i]) for p in places] for i in range(len(places[0]))}
    frame = pl.DataFrame({"cluster": data["cluster"], "a": a, "b": b, **columns})
    group = pl.when("a").then(pl.lit("a")).when("b").then(pl.lit("b"))
    return frame.with_columns(group=group)


def holistic_centroids(vector: dict[str, Any]) -> pl.DataFrame:
    values = HOLISTIC["datasets"][vector["dataset"]][vector["args"]["centroids"]]
    return pl.DataFrame([[float(x) for x in v] for v in values], orient="row").rename(
        lambda name: name.replace("column_", "x")
    )


def holistic_counted(vector: dict[str, Any]) -> float:
    frame = holistic_frame(vector)
    return COUNTED[vector["function"]](frame, group="group", cluster="cluster", **ref_of(frame))


def ref_of(frame: pl.DataFrame) -> dict[str, str]:
    return {"ref": "b"} if frame["group"].eq("b").any() else {}


def holistic_social(vector: dict[str, Any]) -> float:
    frame, centres = holistic_frame(vector), holistic_centroids(vector)
    features = [name for name in frame.columns if name.startswith("x")]
    roles = {"group": "group", "features": features, "centroids": centres, "ref": "b"}
    return fairness.social_fairness_ratio(frame, **roles)


def holistic_entropy(vector: dict[str, Any]) -> float:
    data = HOLISTIC["datasets"][vector["dataset"]]
    frame = pl.DataFrame({"c": data["cluster"], "g": data[vector["args"]["group"]]})
    return fairness.cluster_entropy(frame.filter(pl.col("g") == 1), cluster="c")


def holistic_summary(vector: dict[str, Any]) -> dict[str, float]:
    kind = vector.get("params", {}).get("metric_type", "equal_outcome")
    if kind not in {"equal_outcome", "both", "equal_opportunity"}:
        return fairness.cluster_balance(holistic_frame(vector), metric_type=kind)
    if kind == "equal_opportunity":
        return {}
    frame = holistic_frame(vector)
    metrics = [metric.alias(name) for name, metric in SUMMARY.items()]
    (row,) = pf.evaluate(frame, metrics, group="group", cluster="cluster", ref="b").to_dicts()
    if {"data", "centroids"} <= vector["args"].keys():
        row[SOCIAL] = holistic_social(vector)
    return row


REPLAY: dict[str, Callable[[dict[str, Any]], Any]] = {
    **dict.fromkeys(COUNTED, holistic_counted),
    "cluster_dist_entropy": holistic_entropy,
    "social_fairness_ratio": holistic_social,
    "clustering_bias_metrics": holistic_summary,
}


def theirs(vector: dict[str, Any]) -> Any:
    if "raises" in vector:
        return "refused"
    if "value" in vector:
        return float(vector["value"])
    table = vector["table"]
    rows = zip(table["index"], table["data"], strict=True)
    # The silhouette takes a second pass; it is replayed with the other silhouettes.
    return {name: float(values[0]) for name, values in rows if name != SILHOUETTE}


def ours(vector: dict[str, Any]) -> Any:
    try:
        return REPLAY[vector["function"]](vector)
    except (TypeError, ValueError):
        return "refused"


def agree(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(agree(one[n], other[n]) for n in one)
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return close(one, other)


@by_id(VECTORS)
def test_holisticai(vector: dict[str, Any]) -> None:
    found, recorded = ours(vector), theirs(vector)
    if vector["id"] not in DIFFERENCES:
        assert agree(found, recorded), (found, recorded)
        return
    _, expected = DIFFERENCES[vector["id"]]
    assert agree(found, expected), (found, expected)
    assert not agree(found, recorded), "agrees after all: take it off the list"


def test_every_difference_is_a_vector() -> None:
    assert DIFFERENCES.keys() <= BY_ID.keys()


@pytest.mark.parametrize(
    "name",
    [
        "cluster_dist_l1/C5/y_pred<-cluster",
        "cluster_dist_kl/C5/y_pred<-cluster",
        "social_fairness_ratio/C5",
    ],
)
def test_rows_in_two_groups_can_be_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that stands once for each of its groups counts in both, as HolisticAI has it."""
    vector = BY_ID[name]
    once = holistic_frame(vector)
    again = once.filter("a", "b").with_columns(group=pl.lit("b"))
    monkeypatch.setattr(f"{__name__}.holistic_frame", lambda _: pl.concat([once, again]))
    assert again.height == 1
    assert agree(ours(vector), theirs(vector))
