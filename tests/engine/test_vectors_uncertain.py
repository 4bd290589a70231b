"""Recorded calls of Jurity on likelihoods, surrogates and mitigation, what is left of them.

`test_uncertain` and `test_mitigation` replay the others. What no call of ours can say is listed
here by name, with the reason, so that every recorded call of Jurity is told of somewhere.
"""

import json
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import fairness
from polarsfair.fairness.mitigation import EqualizedOdds
from tests._peers import FOLDER, JURITY_METRICS
from tests.engine.test_uncertain import COLUMNS, RECORDED, likely, places, rates, with_draws_of

OF_LEVELS = {
    "count": pl.len(),
    "prediction_ratio": pl.col("p").mean(),
    "true_positive_ratio": (pl.col("p") * pl.col("y")).mean(),
    "true_negative_ratio": ((1 - pl.col("p")) * (1 - pl.col("y"))).mean(),
    "false_positive_ratio": (pl.col("p") * (1 - pl.col("y"))).mean(),
    "false_negative_ratio": ((1 - pl.col("p")) * pl.col("y")).mean(),
}

REPLAYED = {
    "AllScores-07-argmax",
    "Argmax-03-list-label",
    "Argmax-04-ndarray",
    "EqOdds-NoLabels",
    "Surrogate-AllScores",
    "Surrogate-Err-01-not-sum-1",
    "Surrogate-Summary-01",
    "Surrogate-Summary-02-no-labels",
    "Surrogate-Summary-03-frame",
}
"""Here, below."""

TOLD: dict[str, set[str]] = {
    "replayed in test_uncertain, under another name": {"Surrogate-One-level"},
    # Rates are a frame here, and a difference is one row less another: no call of ours.
    "a table of rates is handed in": {
        "AllScores-08-bootstrap-passthrough",
        *(
            f"BootstrapGiven-{name}{protected}"
            for name in COLUMNS
            for protected in ("", "-protected0")
        ),
    },
    # Probabilities are columns of the rows here: no second frame, no index, one length.
    "a way to hand in what columns cannot get wrong": {
        "EqOdds-LengthMismatch",
        "Surrogate-Err-04-missing-surrogate-row",
        "Surrogate-Err-05-unnamed-frame-index",
        "Surrogate-Err-06-length",
        "Surrogate-Err-07-scalar-label-0",
    },
    # Any number of classes, see `test_three_classes_that_follow_a_plane_are_found`.
    "three classes are refused there": {
        "Surrogate-Err-02-three-class-list",
        "Surrogate-Err-03-three-class-frame",
    },
    # Rows are drawn by a hash of their key, so that a lake can be streamed in any order; the rates
    # are replayed in test_mitigation, and so is the population of BaseRate1.
    "which rows are flipped is drawn by numpy's shuffles": {
        *(f"EqOdds-FitTransform-0{i}" for i in range(1, 5)),
        *(f"EqOdds-Transform-0{i}" for i in range(1, 5)),
        "EqOdds-Transform-05-seed2",
        "EqOdds-Transform-06-zero-rate",
        "EqOdds-BaseRate1-transform",
    },
    # Diversity is exact here and draws nobody.
    "which users are drawn": {
        "SampleUsers-2-seed1",
        "SampleUsers-0.5-seed1",
        "SampleUsers-3-seed7",
        "SampleUsers-100-seed1",
    },
    "how Jurity prints the names of its metrics": {"Names"},
}


def test_most_likely_gives_all_scores() -> None:
    vector = RECORDED["argmax_all"]
    frame, member = likely(vector)
    assert vector["values"].keys() == JURITY_METRICS.keys()
    for name, metric in JURITY_METRICS.items():
        ref = {"ref": False} if "ref" in metric.option_names else {}
        value = metric(frame, group=member, pred="predictions", label="labels", **ref)
        assert value == pytest.approx(vector["values"][name], abs=5e-4), name


def test_several_classes_may_be_the_group() -> None:
    """Jurity documents a list of classes and raises; here it is an expression."""
    vector = next(v for v in RECORDED["argmax"] if v["id"] == "Argmax-02-three-classes")
    frame, _ = likely(vector)
    group = fairness.most_likely({i: f"c{i}" for i in range(3)})
    member = group.is_in([1, 2])
    # Classes 1, 2, 0, 0, 2, 1 with decisions 1, 1, 0, 1, 0, 0.
    assert frame.select(group)["group"].to_list() == [1, 2, 0, 0, 2, 1]
    assert frame.pipe(fairness.stat_parity, group=member, pred="predictions", ref=False) == 0


def test_likelihoods_of_an_array_are_columns() -> None:
    """Jurity reads lists of lists and fails for the same array."""
    vector = next(v for v in RECORDED["argmax"] if v["id"] == "Argmax-01")
    numpy = pytest.importorskip("numpy")
    frame = pl.from_numpy(numpy.array(vector["memberships"]), schema=["c0", "c1"])
    frame = frame.with_columns(predictions=pl.Series(vector["predictions"]))
    member = fairness.most_likely({0: "c0", 1: "c1"}) == 1
    value = frame.pipe(fairness.stat_parity, group=member, pred="predictions", ref=False)
    assert value == pytest.approx(vector["value"], abs=1e-12)


def test_surrogates_give_all_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    with_draws_of(0, monkeypatch)
    found = rates(["A", "B"])
    recorded = {
        "AverageOdds": 0.091,
        "EqualOpportunity": 0.104,
        "FNRDifference": -0.104,
        "PredictiveEquality": 0.078,
        "StatisticalParity": -0.083,
    }
    assert recorded.keys() == COLUMNS.keys()
    for name, value in recorded.items():
        first, second = found.select(value=pl.mean_horizontal(COLUMNS[name]))["value"]
        assert second - first == pytest.approx(value, abs=5e-4), name


def test_levels_are_summed_up_as_recorded() -> None:
    recorded = {name: values for name, values in RECORDED["levels"].items() if name in OF_LEVELS}
    assert recorded.keys() == OF_LEVELS.keys()
    found = places().group_by("level").agg(**OF_LEVELS).sort("level")
    for name, values in recorded.items():
        assert found[name].to_list() == pytest.approx(values, abs=1e-12), name
    sliced = pf.evaluate(places(), [fairness.selection_rate], pred="p", by="level")
    assert sliced["selection_rate"].to_list() == pytest.approx(
        recorded["prediction_ratio"], abs=1e-12
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_likelihoods_that_do_not_add_up_are_refused(*, lazy: bool) -> None:
    rows: Any = pl.DataFrame({"s": [0, 1], "a": [0.5, 0.5], "b": [0.4, 0.5], "p": [1, 0]})
    rows = rows.lazy() if lazy else rows
    with pytest.raises((ValueError, pl.exceptions.PolarsError), match="add up to 1"):
        fairness.surrogate_rates(
            rows, surrogate="s", group={"a": "a", "b": "b"}, pred="p"
        ).lazy().collect()


def test_labels_are_needed_to_fit() -> None:
    rows = pl.DataFrame({"pred": [0, 1], "group": [0, 1]})
    fit: Any = EqualizedOdds().fit
    with pytest.raises(TypeError, match="label"):
        fit(rows, pred="pred", group="group")


def ids_in(value: Any) -> set[str]:
    """Every identifier in a file of vectors, as a list of lines or by name."""
    if isinstance(value, list):
        return {found for one in value for found in ids_in(one)}
    if isinstance(value, dict):
        own = {value["id"]} if isinstance(value.get("id"), str) else set()
        return own | {found for one in value.values() for found in ids_in(one)}
    return set()


def test_every_recorded_call_of_jurity_is_told_of() -> None:
    held: set[str] = set()
    for name in ("fairness", "classification", "ranking", "outcomes", "uncertain"):
        held |= ids_in(json.loads((FOLDER / f"jurity_{name}.json").read_text(encoding="utf-8")))
    listed = [*REPLAYED, *(one for names in TOLD.values() for one in names)]
    assert len(listed) == len(set(listed))
    assert not held & set(listed)
    assert len(held) + len(listed) == 627
