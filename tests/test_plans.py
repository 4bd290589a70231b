"""What runs where: the row side stays on the streaming engine, and rows are read once.

`explain` does not show a fall-back to the in-memory engine; the physical plan does.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness
from tests._samples import SAMPLES, empty, ready

ROWS = pl.DataFrame(
    {
        "g": ["a", "b", "a", None, "b", "c"] * 5,
        "h": [1, 2, 1, 1, 2, None] * 5,
        "p": [1, 0, 1, 1, 0, None] * 5,
        "y": [1, 1, 0, 0, None, 1] * 5,
        "s": [0.1, 0.9, 0.4, 0.5, 0.8, None] * 5,
        "w": [1.0, 2.0, 0.5, 1.0, 0.0, 3.0] * 5,
        "d": [1, 1, 2, 2, 2, None] * 5,
        "many": [["x", "y"], ["x"], [], None, ["z"], ["y"]] * 5,
    }
)


@pytest.fixture
def lake(tmp_path: Path) -> pl.LazyFrame:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    return pl.scan_parquet(tmp_path / "rows.parquet")


def nodes(frame: pl.LazyFrame) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Give the physical plan of the streaming engine: labels of nodes, and edges upwards."""
    dot = frame.show_graph(engine="streaming", plan_stage="physical", raw_output=True, show=False)
    assert dot is not None
    labels = dict(re.findall(r'^"?(\d+)"? \[label="((?:[^"\\]|\\.)*)"', dot, re.MULTILINE))
    edges = re.findall(r'^"?(\d+)"? -> "?(\d+)"?', dot, re.MULTILINE)
    return labels, edges


def kind(label: str) -> str:
    """Give the kind of a node, the word that its label begins with."""
    found = re.match(r"[a-z-]+", label)
    assert found, label
    return found.group()


def in_memory_below_group_by(frame: pl.LazyFrame) -> list[str]:
    """List the nodes on the row side that leave the streaming engine or keep all rows.

    The row side is every way from a scan of rows up to the first `group_by` or aggregation.
    """
    labels, edges = nodes(frame)
    above: dict[str, list[str]] = {}
    for low, high in edges:
        above.setdefault(low, []).append(high)
    todo = [node for node, label in labels.items() if kind(label) == "multi-scan"]
    assert todo, labels
    bad, seen = [], set(todo)
    while todo:
        node = todo.pop()
        found = kind(labels[node])
        if found.startswith("in-memory") or found in ("window", "sort"):
            bad.append(labels[node])
        if found in ("group-by", "reduce"):
            continue  # what is above it works on the small table, or on one line
        fresh = [high for high in above.get(node, []) if high not in seen]
        seen.update(fresh)
        todo += fresh
    return bad


def scans(frame: pl.LazyFrame) -> int:
    labels, _ = nodes(frame)
    return sum("scan" in label.split("\\n")[0] for label in labels.values())


ROLES = {"group": "g", "pred": "p", "label": "y"}


def decision_metrics() -> list[pf.Metric]:
    return [m for m in pf.metrics() if m.tally is fairness.decisions]


def test_the_check_sees_a_fall_back(lake: pl.LazyFrame) -> None:
    ranked = lake.with_columns(pl.col("s").rank().over("g")).group_by("g").agg(pl.col("s").sum())
    assert in_memory_below_group_by(ranked)
    assert in_memory_below_group_by(lake.group_by("g").agg(pl.col("s").sort()))
    assert in_memory_below_group_by(lake.group_by("g").agg(pl.col("s").sum())) == []


PAIRS = "looks at all pairs of rows, of which it refuses more than a few"
PLACES = "a place in a list is a window over it, unless `rank` is given"
LEAVING: dict[str, tuple[str, dict[str, Any] | None]] = {
    "fairness.consistency": (PAIRS, None),
    "fairness.silhouette_difference": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.silhouette": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.silhouette_by_cluster": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.beta_cv": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.normalized_cut": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.modularity": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.hubert_distances": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.normalized_hubert_distances": (PAIRS, {"metric": "sqeuclidean"}),
    "clustering.c_index": (PAIRS, None),
    "clustering.dunn": (PAIRS, None),
    "ranking.exposure_parity": (PLACES, {"rank": "user", "score": None}),
    "ranking.exposure_ratio": (PLACES, {"rank": "user", "score": None}),
    "ranking.awrf": (PLACES, {"rank": "user", "score": None}),
    "ranking.ndkl": (PLACES, {"rank": "user", "score": None}),
}
"""Metrics whose row side leaves the streaming engine: why, and with which call it does not."""

VARIANTS = [variant.metric for metric in pf.metrics() for variant in metric.variants]


def asked(
    metric: pf.Metric, directory: Path, by: str | None, more: dict[str, Any] | None = None
) -> pl.LazyFrame:
    """Ask a metric of lakes with the columns of its tally's sample."""
    sample = SAMPLES[metric.tally.name]
    frames = {"rows": sample.rows, **sample.frames}
    lakes = {}
    for name, strategy in frames.items():
        empty(strategy).write_parquet(directory / f"{name}.parquet")
        lakes[name] = pl.scan_parquet(directory / f"{name}.parquet")
    roles = {**sample.roles, **{role: lakes[role] for role in sample.frames}, **(more or {})}
    return pf.evaluate(lakes["rows"], ready(metric), by=by, **roles)


@pytest.mark.parametrize(
    "metric", [*pf.metrics(), *VARIANTS], ids=lambda m: f"{m.name}-{m.tally.name}"
)
def test_every_metric_stays_on_the_streaming_engine(metric: pf.Metric, tmp_path: Path) -> None:
    exception = LEAVING.get(f"{metric.family}.{metric.name}")
    for by in (None, "d"):
        left = in_memory_below_group_by(asked(metric, tmp_path, by))
        if metric in VARIANTS or exception is None:
            assert left == []
            continue
        reason, otherwise = exception
        assert left, f"no longer true: {reason}"
        if otherwise is not None:
            assert in_memory_below_group_by(asked(metric, tmp_path, by, otherwise)) == []


def test_every_exception_is_a_metric() -> None:
    assert set(LEAVING) <= set(pf.catalog()["metric"])


@pytest.mark.parametrize("metric", decision_metrics(), ids=lambda m: m.name)
def test_weighted_decisions_stay_on_the_streaming_engine(
    metric: pf.Metric, lake: pl.LazyFrame
) -> None:
    assert in_memory_below_group_by(metric(lake, **ROLES, by="d", weight="w")) == []


TALLIES: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "intersection": lambda lf: fairness.decisions(lf, **(ROLES | {"group": ["g", "h"]}), by="d"),
    "floats": lambda lf: fairness.decisions(lf, **(ROLES | {"pred": pl.col("s").round()})),
    "classes": lambda lf: fairness.classes(lf, **ROLES),
    "lists": lambda lf: fairness.classes(lf, group="g", pred="many", label=pl.lit("x"), weight="w"),
    "benefits": lambda lf: fairness.benefits(lf, group="g", score="s", label="y", alpha=[0, 1, 2]),
    "contingency": lambda lf: clustering.contingency(lf, cluster="h", label="g", weight="w"),
    "edges": lambda lf: clustering.edges(lf, cluster="h", other="d", weight="w"),
    "clusters": lambda lf: fairness.clusters(lf, group="g", cluster="h", by="d"),
    "nearest": lambda lf: fairness.nearest(lf, group="g", features=["s", "w"], centroids=CENTROIDS),
}
CENTROIDS = pl.DataFrame({"s": [0.0, 1.0], "w": [0.0, 2.0]})


@pytest.mark.parametrize("count", TALLIES.values(), ids=TALLIES)
def test_tallies_stay_on_the_streaming_engine(
    count: Callable[[pl.LazyFrame], pl.LazyFrame], lake: pl.LazyFrame
) -> None:
    assert in_memory_below_group_by(count(lake)) == []
    assert scans(count(lake)) == 1


@pytest.mark.parametrize("ref", [None, "a", pf.OVERALL, pf.REST], ids=str)
@pytest.mark.parametrize("by", [None, "d"])
def test_all_decision_metrics_read_the_rows_once(
    ref: object, by: str | None, lake: pl.LazyFrame
) -> None:
    everything = pf.evaluate(lake, decision_metrics(), **ROLES, by=by, ref=ref)
    assert scans(everything) == 1
    assert in_memory_below_group_by(everything) == []


def test_class_metrics_read_the_rows_once(lake: pl.LazyFrame) -> None:
    distances = [m for m in pf.metrics() if m.name.startswith("multiclass")]
    assert scans(pf.evaluate(lake, distances, **ROLES)) == 1


@pytest.mark.parametrize("by", [None, "d"])
def test_external_measures_read_the_rows_once(by: str | None, lake: pl.LazyFrame) -> None:
    measures = [m for m in pf.metrics() if m.tally is clustering.contingency and not m.keys]
    everything = pf.evaluate(lake, measures, cluster="h", label="g", by=by, noise=2)
    assert scans(everything) == 1
    assert in_memory_below_group_by(everything) == []


@pytest.mark.parametrize("ref", [None, "a", pf.OVERALL, pf.REST], ids=str)
def test_metrics_of_clusters_read_the_rows_once(ref: object, lake: pl.LazyFrame) -> None:
    metrics = [m for m in pf.metrics() if m.tally is fairness.clusters]
    everything = pf.evaluate(lake, metrics, group="g", cluster="h", ref=ref)
    assert scans(everything) == 1
    assert in_memory_below_group_by(everything) == []


def test_by_group_reads_the_rows_once(lake: pl.LazyFrame) -> None:
    rates = [m for m in decision_metrics() if not m.bases and "group" not in m.roles]
    assert scans(pf.by_group(lake, rates, **ROLES, ref=pf.REST)) == 1


def test_counts_read_the_rows_once(lake: pl.LazyFrame) -> None:
    assert scans(pf.evaluate(lake, decision_metrics(), **ROLES, counts=True)) == 1
    assert scans(pf.evaluate(lake, decision_metrics(), **ROLES, counts=True, ref=pf.REST)) == 1


def refusing(frame: pl.DataFrame) -> pl.LazyFrame:
    """Give a lazy frame that fails when it is executed."""

    def refuse(frame: pl.DataFrame) -> pl.DataFrame:
        msg = "executed"
        raise AssertionError(msg)

    return frame.lazy().map_batches(refuse, schema=frame.schema)


@pytest.mark.parametrize(
    "metric", [*pf.metrics(), *VARIANTS], ids=lambda m: f"{m.name}-{m.tally.name}"
)
def test_lazy_calls_execute_nothing(metric: pf.Metric) -> None:
    sample = SAMPLES[metric.tally.name]
    frames = {role: refusing(empty(strategy)) for role, strategy in sample.frames.items()}
    rows = refusing(empty(sample.rows))
    result = pf.evaluate(rows, ready(metric), **sample.roles, **frames, by="d")
    assert isinstance(result, pl.LazyFrame)
    assert result.collect_schema().names()[0] == "d"
    with pytest.raises(Exception, match="executed"):
        result.collect()


PLANS = """
import hashlib
import polarsfair as pf
from tests._snapshot import requests, without_cache_ids
for metric in pf.metrics():
    for name, case, options in requests(metric):
        lazy = pf.evaluate(case.frame.lazy(), [metric], by=case.by, **case.roles, **options)
        plan = without_cache_ids(lazy.explain())
        print(metric.name, name, hashlib.sha256(plan.encode()).hexdigest())
"""


def test_two_processes_make_the_same_plans() -> None:
    """Polars numbers its caches at random; everything else is the same."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", PLANS],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0].count("\n") > 400
    assert runs[0] == runs[1]
