"""The benchmark runner works from end to end; nothing here looks at a duration."""

import json

from polars.testing import assert_frame_equal

from benchmarks.__main__ import main
from benchmarks._contest import Outcome, Run
from benchmarks._runner import disagreements
from benchmarks.lakes import decision_rows


def test_generators_repeat_themselves():
    one = decision_rows(500, nulls=0.1, seed=(3, 0))
    assert_frame_equal(one, decision_rows(500, nulls=0.1, seed=(3, 0)))
    assert not one.equals(decision_rows(500, nulls=0.1, seed=(3, 1)))
    assert all(count > 0 for count in one.select("group", "pred", "label").null_count().row(0))
    assert one["group"].drop_nulls().n_unique() == 5


def test_decisions_agree_with_duckdb(tmp_path):
    out = tmp_path / "figures.json"
    asked = ["--rows", "2e3", "--runs", "1", "--dir", str(tmp_path), "--out", str(out)]
    assert main(["decisions", *asked]) == 0
    (contest,) = json.loads(out.read_text())["contests"]
    runs = {one["name"]: one["runs"][0] for one in contest["contestants"]}
    assert all(run["walls"][0] > 0 and run["peak"] > 1e6 for run in runs.values())
    ours, sql = (
        runs[name]["figures"] for name in ("polarsfair, all metrics", "DuckDB, SQL by hand")
    )
    assert set(sql) <= set(ours)
    assert len(sql) > 20


def test_external_measures_are_measured(tmp_path):
    out = tmp_path / "figures.json"
    asked = ["--rows", "2e3", "--runs", "1", "--dir", str(tmp_path), "--out", str(out)]
    assert main(["clustering", *asked]) == 0
    lake, table = json.loads(out.read_text())["contests"]
    bare, ours = (one["runs"][0]["figures"] for one in lake["contestants"])
    assert 100 < bare["cells"] <= 200
    assert 0 < ours["adjusted_rand"] < ours["purity"] < 1
    figures = table["contestants"][0]["runs"][0]["figures"]
    assert 0 < figures["adjusted_mutual_information, 3 x 3"] < 1


def test_silhouettes_are_measured(tmp_path):
    out = tmp_path / "figures.json"
    asked = ["--rows", "500", "900", "--runs", "1", "--dir", str(tmp_path), "--out", str(out)]
    assert main(["silhouettes", *asked]) == 0
    (contest,) = json.loads(out.read_text())["contests"]
    figures = [one["runs"][0]["figures"]["silhouette"] for one in contest["contestants"]]
    assert len(figures) == 2
    assert all(0 < value < 1 for value in figures)


def test_two_values_of_one_name_are_a_disagreement():
    def outcome(name, value):
        return Outcome(name, (Run((1.0,), 1.0, 1, 1, {"rate": value}, {}),))

    close = {"a": outcome("a", 0.5), "b": outcome("b", 0.5 + 1e-14)}
    apart = {"a": outcome("a", 0.5), "b": outcome("b", None)}
    assert disagreements(close) == []
    assert disagreements(apart) == ["rate: a says 0.5, b says None"]
