"""Every recorded call of Jurity's precision, recall, MAP and NDCG, batches as merged tables.

`OTHERWISE` is the one place that says by name where the package answers something else, and why.
"""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import ranking

RECORDED = json.loads(
    (Path(__file__).parents[1] / "vectors" / "jurity_ranking.json").read_text(encoding="utf-8")
)
VECTORS = {vector["id"]: vector for vector in RECORDED["vectors"]}
METRICS = {
    "Precision": ranking.precision,
    "Recall": ranking.recall,
    "MAP": ranking.map,
    "NDCG": ranking.ndcg,
}
NAN = float("nan")

OTHERWISE: dict[str, tuple[str, Any]] = {
    # Repeated pairs: once each here, several times there (values above 1, shifted ranks).
    "MAP-dup-actual": ("a pair that is relevant twice counts once", None),
    "NDCG-dup-actual": ("a pair that is relevant twice counts once", None),
    "Precision-dup-actual": ("a pair that is relevant twice counts once", None),
    "Recall-dup-actual": ("a pair that is relevant twice counts once", None),
    "MAP-dup-predicted": ("a hit counts once, at its best rank", None),
    "NDCG-dup-predicted": ("a hit counts once, at its best rank", None),
    "Precision-dup-predicted": ("a hit counts once, at its best rank", None),
    "Recall-dup-predicted": ("a hit counts once, at its best rank", None),
    # Clicks: relevant means above 0, and an unknown click is none.
    "MAP-nan-click": ("NaN is not relevant", None),
    "NDCG-nan-click": ("NaN is not relevant", None),
    "Precision-nan-click": ("NaN is not relevant", None),
    "Recall-nan-click": ("NaN is not relevant", None),
    "MAP-negative-fractional-click": ("a negative click is not relevant", None),
    "NDCG-negative-fractional-click": ("a negative click is not relevant", None),
    "Precision-negative-fractional-click": ("a negative click is not relevant", None),
    "Recall-negative-fractional-click": ("a negative click is not relevant", None),
    "Recall-nan-score": ("an item with an unknown score is listed last, and found", None),
    # k: None is the whole list for all of them, 0 for none.
    "MAP-small-kNone": ("k=None is the whole list", None),
    "MAP-big-kNone": ("k=None is the whole list", None),
    "MAP-allclicked-kNone": ("k=None is the whole list", None),
    "MAP-dense-kNone": ("k=None is the whole list", None),
    "MAP-k0": ("k is at least 1", ValueError),
    "NDCG-k0": ("k is at least 1", ValueError),
    "Precision-k0": ("k is at least 1", ValueError),
    "Recall-k0": ("k is at least 1", ValueError),
    "Ties-small-frame": ("equal scores: the lower item first, not the first row", None),
}

ALIKE = {
    "MAP-dup-actual",
    "Recall-dup-actual",
    "MAP-nan-click",
    "Recall-nan-click",
    "MAP-negative-fractional-click",
    "NDCG-negative-fractional-click",
    "Recall-negative-fractional-click",
    "Ties-small-frame",
}
"""Where the other rule happens to give the same number."""


def frame(reference: dict[str, int]) -> pl.DataFrame:
    columns = RECORDED["frames"][reference["frame"]]
    plain = {
        name: [NAN if value == "NaN" else value for value in values]
        for name, values in columns.items()
    }
    made = pl.DataFrame(plain, strict=False)
    ids = [name for name in made.columns if name.startswith("user") and made[name].dtype.is_float()]
    return made.with_columns(pl.col(ids).fill_nan(None).cast(pl.Int64))


def request(call: dict[str, Any]) -> tuple[pf.Metric, dict[str, Any]]:
    init = call["metric"]["init"]
    columns = {
        "user": init.get("user_id_column", "user_id"),
        "item": init.get("item_id_column", "item_id"),
        "score": init["click_column"],
        "relevance": init["click_column"],
    }
    return METRICS[call["metric"]["metric"]], {"k": init.get("k"), **columns}


def answer(call: dict[str, Any]) -> float:
    metric, roles = request(call)
    return metric(frame(call["predicted"]), frame(call["actual"]), **roles)


def number(recorded: Any) -> float:
    """Give the score out of a plain or an extended result; none is undefined."""
    if isinstance(recorded, dict):
        (recorded,) = [value for name, value in recorded.items() if name != "support"]
    return NAN if recorded is None else float(recorded)


def same(ours: float, theirs: float) -> bool:
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


SINGLE = [name for name, vector in VECTORS.items() if vector["target"] == "reco.get_score"]
BATCHES = [name for name, vector in VECTORS.items() if vector["target"] == "reco.batches"]
SUPPORTED = [
    name
    for name in SINGLE
    if name not in OTHERWISE and isinstance(VECTORS[name]["expected"]["value"], dict)
]
"""Extended results, which say over how many users the mean was taken."""
COMBINED = [
    name
    for name, vector in VECTORS.items()
    if vector["target"] == "reco.combined" and "value" in vector["expected"]
]


@pytest.mark.parametrize("name", [name for name in SINGLE if name not in OTHERWISE])
def test_recorded_value(name: str) -> None:
    vector = VECTORS[name]
    assert same(answer(vector["args"]), number(vector["expected"]["value"]))


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_differs_really_differs(name: str) -> None:
    vector, (_, instead) = VECTORS[name], OTHERWISE[name]
    if instead is ValueError:
        with pytest.raises(ValueError, match="`k`"):
            answer(vector["args"])
        return
    ours = answer(vector["args"])
    assert math.isnan(ours) or 0 <= ours <= 1
    if "value" in vector["expected"]:
        assert same(ours, number(vector["expected"]["value"])) == (name in ALIKE)


@pytest.mark.parametrize("name", SUPPORTED)
def test_support_is_counted(name: str) -> None:
    vector = VECTORS[name]
    value = vector["expected"]["value"]
    metric, roles = request(vector["args"])
    recs, actual = (frame(vector["args"][side]) for side in ("predicted", "actual"))
    found = ranking.support(recs, actual, **roles)
    column = "with_both" if metric in (ranking.precision, ranking.map) else "with_relevant"
    assert found[column].item() == value["support"]


@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_merged_tables(name: str) -> None:
    vector = VECTORS[name]
    tables: list[pl.DataFrame] = []
    values = vector["expected"].get("value", [])
    for i, batch in enumerate(vector["args"]["batches"]):
        metric, roles = request({**batch, "metric": vector["args"]["metric"]})
        k = roles.pop("k")
        table = ranking.lists(frame(batch["predicted"]), frame(batch["actual"]), **roles)
        tables.append(table)
        alone, together = (pf.measure(t, metric, k=k).item() for t in (table, tables))
        if values:
            expected, accumulated = values[i]
            assert same(NAN if alone is None else alone, number(expected))
            assert same(NAN if together is None else together, number(accumulated))
    if not values:
        # Jurity refuses to begin with a batch that has nobody to average over.
        assert vector["expected"]["raises"] == "ValueError"
        assert pf.measure(tables[0], metric, k=k).item() is None


@pytest.mark.parametrize("name", COMBINED)
def test_combined_metrics_are_one_call(name: str) -> None:
    vector = VECTORS[name]
    args, value = vector["args"], vector["expected"]["value"]
    recorded = value[0] if isinstance(value, list) else value
    calls = [call for call in args["metrics"] if call["metric"] in METRICS]
    _metric, roles = request({"metric": calls[0]})
    metrics = [METRICS[call["metric"]] for call in calls]
    found = pf.evaluate(
        frame(args["predicted"]), metrics, actual=frame(args["actual"]), **roles
    ).row(0, named=True)
    for call in calls:
        name_there = f"{call['metric']}@{call['init']['k']}"
        ours = found[METRICS[call["metric"]].name]
        theirs = number(recorded.get(name_there))
        assert same(NAN if ours is None else ours, theirs)


def test_nothing_is_remembered_between_calls() -> None:
    """Jurity gives the second model the first one's top-k when their scores are alike."""
    vector = VECTORS["Cache-stale"]
    assert [answer(call) for call in vector["args"]["calls"]] == vector["corrected"]


def test_every_vector_is_replayed() -> None:
    told = {*SINGLE, *BATCHES, *COMBINED, "Cache-stale", "Combined-05-interlist-batch"}
    assert told == set(VECTORS)
    assert set(OTHERWISE) <= set(SINGLE)
