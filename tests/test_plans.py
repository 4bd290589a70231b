"""What runs where: the row side stays on the streaming engine, and rows are read once.

`explain` does not show a fall-back to the in-memory engine; the physical plan does.
"""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import clustering, fairness
from polarsfair._frames import as_lazy

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


BUFFERING = ("in-memory", "window", "sort")
"""Nodes that leave the streaming engine, or keep all rows."""


def in_memory_below_group_by(frame: pl.LazyFrame) -> list[str]:
    """List the in-memory nodes on the row side: below the group_by nearest to the source."""
    labels, edges = nodes(frame)
    assert any("multi-scan" in label or "source" in label for label in labels.values()), labels
    above: dict[str, list[str]] = {}
    for low, high in edges:
        above.setdefault(low, []).append(high)
    sources = [n for n, label in labels.items() if "scan" in label or "source" in label]
    bad, todo, seen = [], list(sources), set(sources)
    while todo:
        node = todo.pop()
        label = labels[node]
        if label.startswith(BUFFERING) and not label.startswith("in-memory-source"):
            bad.append(label)
        if label.startswith("group-by"):
            continue  # what is above it works on the small table
        for high in above.get(node, []):
            if high not in seen:
                seen.add(high)
                todo.append(high)
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


@pytest.mark.parametrize("metric", decision_metrics(), ids=lambda m: m.name)
@pytest.mark.parametrize("by", [None, "d"])
def test_decisions_stay_on_the_streaming_engine(
    metric: pf.Metric, by: str | None, lake: pl.LazyFrame
) -> None:
    assert in_memory_below_group_by(metric(lake, **ROLES, by=by, weight="w")) == []


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


def test_lazy_calls_execute_nothing() -> None:
    def refuse(frame: pl.DataFrame) -> pl.DataFrame:
        msg = "executed"
        raise AssertionError(msg)

    source = as_lazy(ROWS).map_batches(refuse, schema=ROWS.schema)
    result = pf.evaluate(source, decision_metrics(), **ROLES, by="d", ref="a")
    assert isinstance(result, pl.LazyFrame)
    assert result.collect_schema().names()[0] == "d"
