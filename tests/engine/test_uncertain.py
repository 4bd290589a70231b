"""Groups known as probabilities: expected counts, the surrogate method, the most likely class."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import fairness
from polarsfair.fairness._individuals import surrogate
from tests.test_plans import in_memory_below_group_by, scans

RECORDED = json.loads(
    (Path(__file__).parents[1] / "vectors" / "jurity_uncertain.json").read_text(encoding="utf-8")
)
CHANCES = {"a": "p_a", "b": "p_b", "c": "p_c"}
ROLES: dict[str, Any] = {"pred": "p", "label": "y"}
BOTH = pytest.mark.parametrize(
    "make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"]
)


def people(size: int = 200, seed: int = 0) -> pl.DataFrame:
    """Rows with a known group and its 0/1 columns, and with chances that are eighths."""
    rng = np.random.default_rng(seed)
    eighths = rng.multinomial(8, [0.5, 0.3, 0.2], size) / 8
    frame = pl.DataFrame(
        {
            "g": rng.choice(["a", "b", "c"], size),
            "d": rng.choice(["x", "y"], size),
            "p": rng.integers(0, 2, size),
            "y": rng.integers(0, 2, size),
            "w": rng.integers(0, 4, size),
            **{name: eighths[:, i] for i, name in enumerate(CHANCES.values())},
        }
    )
    missing = pl.int_range(pl.len()) % 11 == 0
    return frame.with_columns(
        pl.when(~missing).then("p").alias("p"),
        *((pl.col("g") == name).alias(f"is_{name}") for name in CHANCES),
    )


PEOPLE = people()
CERTAIN = {name: f"is_{name}" for name in CHANCES}


def decision_metrics() -> list[pf.Metric]:
    return [m for m in pf.metrics() if m.tally is fairness.decisions]


def refused(call: Callable[[Any], Any], frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(frame)
    query = call(frame.lazy())
    with pytest.raises(InvalidOperationError, match=words):
        query.collect()


# expected counts


@pytest.mark.parametrize("by", [None, "d"])
@pytest.mark.parametrize("weight", [None, "w", pl.col("w") * 0.5], ids=str)
@pytest.mark.parametrize("tally", [fairness.decisions, fairness.classes], ids=lambda t: t.name)
def test_certain_chances_are_groups(tally: pf.Tally, by: str | None, weight: Any) -> None:
    given = {**ROLES, "weight": weight, "by": by}
    hard = tally(PEOPLE, group="g", **given)
    soft = tally(PEOPLE, group=CERTAIN, **given)
    if weight is None:
        hard = hard.with_columns(w=pl.col("n"), w2=pl.col("n"))
    assert_frame_equal(
        soft.sort(pl.all()), hard.sort(pl.all()), check_dtypes=False, check_exact=True
    )


@pytest.mark.parametrize("ref", [None, "b", pf.OVERALL, pf.REST], ids=str)
def test_certain_chances_give_every_metric_its_value(ref: Any) -> None:
    given: dict[str, Any] = {**ROLES, "by": "d", "weight": "w", "ref": ref}
    hard = pf.evaluate(PEOPLE, decision_metrics(), group="g", **given)
    soft = pf.evaluate(PEOPLE, decision_metrics(), group=CERTAIN, **given)
    assert_frame_equal(soft, hard, abs_tol=1e-13, rel_tol=1e-13)


@pytest.mark.parametrize("ref", [None, "b", pf.REST], ids=str)
def test_chances_are_rows_of_that_weight(ref: Any) -> None:
    """The estimate from expected counts is that of every row repeated once per class."""
    repeated = (
        PEOPLE.drop("g")
        .unpivot(
            list(CHANCES.values()),
            index=["d", "p", "y", "w"],
            variable_name="g",
            value_name="chance",
        )
        .with_columns(pl.col("g").str.slice(2), chance=pl.col("chance") * pl.col("w"))
    )
    given: dict[str, Any] = {**ROLES, "by": "d", "ref": ref}
    metrics = [m for m in decision_metrics() if m.kind != "individual"]
    expected = pf.evaluate(repeated, metrics, group="g", weight="chance", **given)
    found = pf.evaluate(PEOPLE, metrics, group=CHANCES, weight="w", **given)
    assert_frame_equal(found, expected, abs_tol=1e-12, rel_tol=1e-12)


def test_worked_case() -> None:
    frame = pl.DataFrame({"p": [1, 0, 1], "p_a": [0.75, 0.5, 0.0], "p_b": [0.25, 0.5, 1.0]})
    chances = {"a": "p_a", "b": "p_b"}
    table = fairness.decisions(frame, group=chances, pred="p").sort("group", "pred")
    assert table.rows() == [
        ("a", False, 1, 0.5, 0.25),
        ("a", True, 1, 0.75, 0.5625),
        ("b", False, 1, 0.5, 0.25),
        ("b", True, 2, 1.25, 1.0625),
    ]
    # a: 0.75 of 1.25, b: 1.25 of 1.75
    value = fairness.stat_parity(frame, group=chances, pred="p", ref="b")
    assert value == pytest.approx(0.6 - 5 / 7)


def test_overall_rates_do_not_change() -> None:
    plain = fairness.accuracy(PEOPLE, **ROLES)
    assert fairness.accuracy(PEOPLE, **ROLES, group=CHANCES) == pytest.approx(plain, abs=1e-14)


def test_tables_add_up() -> None:
    halves = [
        fairness.decisions(part, group=CHANCES, **ROLES)
        for part in (PEOPLE.head(70), PEOPLE.tail(-70))
    ]
    whole = pf.evaluate(PEOPLE, decision_metrics(), group=CHANCES, **ROLES)
    assert_frame_equal(pf.measure(halves, decision_metrics()), whole, abs_tol=1e-12)


def test_lists_of_classes_take_chances() -> None:
    frame = PEOPLE.with_columns(many=pl.concat_list("p", "y").list.head(pl.col("w").clip(0, 2)))
    given: dict[str, Any] = {"pred": "many", "label": "y"}
    metric = fairness.frequency_by_class
    hard = metric(frame, group="g", **given)
    assert_frame_equal(metric(frame, group=CERTAIN, **given), hard, abs_tol=1e-13)


def test_one_pass_on_the_streaming_engine(tmp_path: Path) -> None:
    PEOPLE.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    query = pf.evaluate(lake, decision_metrics(), group=CHANCES, **ROLES, weight="w", by="d")
    assert scans(query) == 1
    assert in_memory_below_group_by(query) == []
    eager = pf.evaluate(PEOPLE, decision_metrics(), group=CHANCES, **ROLES, weight="w", by="d")
    assert_frame_equal(query.collect(engine="streaming"), eager, abs_tol=1e-12)


def test_by_group_shows_the_classes() -> None:
    found = pf.by_group(PEOPLE, fairness.selection_rate, group=CHANCES, pred="p", ref="a")
    assert found["group"].to_list() == ["a", "b", "c"]
    apart = fairness.stat_parity(PEOPLE, group=CHANCES, pred="p", ref="a")
    assert apart in found["difference"].to_list()


def test_classes_of_any_kind() -> None:
    whole = {1: "p_a", 2: "p_b", 3: "p_c"}
    assert fairness.stat_parity(PEOPLE, group=whole, pred="p", ref=2) == fairness.stat_parity(
        PEOPLE, group=CHANCES, pred="p", ref="b"
    )


# what is no probability


@pytest.mark.parametrize(
    "bad",
    [
        [0.5, 0.4, 0.0],
        [0.5, 0.5, 1e-5],
        [None, 0.5, 0.5],
        [math.nan, 0.5, 0.5],
        [-0.25, 0.75, 0.5],
        [1.5, 0.0, -0.5],
        [math.inf, 0.0, 0.0],
    ],
    ids=str,
)
def test_what_is_no_probability(bad: list[float | None]) -> None:
    row = pl.int_range(pl.len()) == 7
    frame = PEOPLE.with_columns(
        pl.when(row).then(pl.lit(value, pl.Float64)).otherwise(name).alias(name)
        for name, value in zip(CHANCES.values(), bad, strict=True)
    )
    words = "add up to 1 within 1e-06"
    refused(lambda df: fairness.decisions(df, group=CHANCES, pred="p"), frame, words)
    refused(lambda df: fairness.stat_parity(df, group=CHANCES, pred="p", by="d"), frame, words)
    refused(
        lambda df: fairness.surrogate_rates(df, surrogate="d", group=CHANCES, pred="p"),
        frame,
        words,
    )


def test_rounding_is_within_the_tolerance() -> None:
    thirds = PEOPLE.with_columns(
        pl.lit(1 / 3).cast(pl.Float32).alias(name) for name in CHANCES.values()
    )
    assert fairness.stat_parity(thirds, group=CHANCES, pred="p") == pytest.approx(0, abs=1e-12)


@BOTH
def test_said_at_the_call(make: Callable[[pl.DataFrame], Any]) -> None:
    frame = make(PEOPLE)
    with pytest.raises(ValueError, match=r"`ref='d'` is not among the classes.*'a', 'b', 'c'"):
        fairness.stat_parity(frame, group=CHANCES, pred="p", ref="d")
    with pytest.raises(ValueError, match="`ref='d'` is not among the classes"):
        pf.by_group(frame, fairness.f1, group=CHANCES, **ROLES, ref="d")
    with pytest.raises(ColumnNotFoundError, match=r"`group`.*'p_d'.*group='p_"):
        fairness.stat_parity(frame, group={"a": "p_a", "d": "p_d"}, pred="p")
    with pytest.raises(TypeError, match=r"`group` maps a class to .*String"):
        fairness.stat_parity(frame, group={"a": "p_a", "b": "g"}, pred="p")
    with pytest.raises(ValueError, match="`group` is empty"):
        fairness.stat_parity(frame, group={}, pred="p")
    with pytest.raises(TypeError, match="have different types"):
        fairness.stat_parity(frame, group={"a": "p_a", 2: "p_b"}, pred="p")


@BOTH
def test_tables_that_know_no_chances_say_so(make: Callable[[pl.DataFrame], Any]) -> None:
    with pytest.raises(TypeError, match=r"most_likely"):
        fairness.scores(make(PEOPLE), group=CHANCES, score="p_a")
    with pytest.raises(TypeError, match=r"most_likely"):
        fairness.benefits(make(PEOPLE), group=CHANCES, score="p_a", label="y")


# the most likely class

JURITY = {
    "StatisticalParity": fairness.stat_parity,
    "AverageOdds": fairness.average_odds,
    "EqualOpportunity": fairness.equal_opportunity,
    "FNRDifference": fairness.fnr_difference,
    "PredictiveEquality": fairness.predictive_equality,
}
COLUMNS = {
    "StatisticalParity": ["selection_rate"],
    "AverageOdds": ["true_positive_rate", "false_positive_rate"],
    "EqualOpportunity": ["true_positive_rate"],
    "FNRDifference": ["false_negative_rate"],
    "PredictiveEquality": ["false_positive_rate"],
}


def likely(vector: dict[str, Any]) -> tuple[pl.DataFrame, pl.Expr]:
    """The rows of a recorded call, and whether class 1 is the most likely."""
    columns = list(zip(*vector["memberships"], strict=True))
    frame = pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})
    frame = frame.with_columns(
        pl.Series(role, vector[role]) for role in ("labels", "predictions") if role in vector
    )
    return frame, fairness.most_likely({i: f"c{i}" for i in range(len(columns))}) == 1


@pytest.mark.parametrize("vector", RECORDED["argmax"], ids=lambda v: v["id"])
def test_recorded_most_likely(vector: dict[str, Any]) -> None:
    frame, member = likely(vector)
    roles = {"pred": "predictions", "label": "labels" if "labels" in vector else None}
    value = JURITY[vector["metric"]](frame, group=member, ref=False, **roles)
    assert value == pytest.approx(vector["value"], abs=1e-12)


def test_recorded_most_likely_of_all_scores() -> None:
    vector = RECORDED["argmax_all"]
    frame, member = likely(vector)
    metrics = {
        "Disparate Impact": fairness.disparate_impact,
        "Statistical Parity": JURITY["StatisticalParity"],
        "FOR difference": fairness.for_difference,
    }
    for name, metric in metrics.items():
        value = metric(frame, group=member, ref=False, pred="predictions", label="labels")
        assert value == pytest.approx(vector["values"][name], abs=5e-4)


def test_the_first_of_several_and_the_unknown() -> None:
    frame = pl.DataFrame({"x": [0.5, 0.2, None, math.nan], "y": [0.5, 0.8, 1.0, 0.0]})
    found = frame.select(fairness.most_likely({"b": "x", "a": pl.col("y")}))
    assert found["group"].to_list() == ["b", "a", None, None]
    swapped = frame.select(fairness.most_likely({"a": "y", "b": "x"}))
    assert swapped["group"].to_list() == ["a", "a", None, None]


# surrogates

TOLERANCE = 2e-6
"""Jurity works in single precision."""

SHARES = {
    "tp": "true_positive_ratio",
    "fp": "false_positive_ratio",
    "tn": "true_negative_ratio",
    "fn": "false_negative_ratio",
}
TABLE = {
    "false_positive_rate": "FPR",
    "false_negative_rate": "FNR",
    "true_positive_rate": "TPR",
    "true_negative_rate": "TNR",
    "accuracy": "ACC",
    "selection_rate": "Prediction Rate",
    **SHARES,
}


def places() -> pl.DataFrame:
    given = RECORDED["surrogates"]
    levels = [int(digit, 16) for digit in given["levels"]]
    return pl.DataFrame(
        {
            "y": [int(digit) for digit in given["labels"]],
            "p": [int(digit) for digit in given["predictions"]],
            "level": levels,
            "A": [given["A"][level] for level in levels],
            "B": [given["B"][level] for level in levels],
        }
    )


def with_draws_of(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw levels as the peer does, from numpy's old generator, trial after trial."""

    def drawn(levels: int, trials: int, _: int) -> Any:
        stream = np.random.RandomState(seed)
        return np.stack([stream.randint(0, levels, size=levels) for _ in range(trials)])

    monkeypatch.setattr(surrogate, "drawn", drawn)


def rates(names: list[str], **more: Any) -> pl.DataFrame:
    given: dict[str, Any] = {"surrogate": "level", "pred": "p", "label": "y", **more}
    group = dict(zip(names, ["A", "B"], strict=True))
    return fairness.surrogate_rates(places(), group=group, **given)


@pytest.mark.parametrize("vector", RECORDED["differences"], ids=lambda v: v["id"])
def test_recorded_differences(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with_draws_of(vector["seed"], monkeypatch)
    names = vector["names"]
    protected = names[vector["protected"]]
    found = rates(names).select("group", value=pl.mean_horizontal(COLUMNS[vector["metric"]]))
    member = pl.col("group") == protected
    apart = found.filter(member)["value"].item() - found.filter(~member)["value"].item()
    assert apart == pytest.approx(vector.get("corrected", vector["value"]), abs=TOLERANCE)


def test_the_sign_fault_was_recorded() -> None:
    turned = [v for v in RECORDED["differences"] if "corrected" in v]
    assert [v["names"] for v in turned] == [["W", "NW"]]
    assert turned[0]["corrected"] == -turned[0]["value"]


@pytest.mark.parametrize("vector", RECORDED["tables"], ids=lambda v: v["id"])
def test_recorded_tables(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    with_draws_of(vector["seed"], monkeypatch)
    label = "y" if vector["labelled"] else None
    found = rates(vector["names"], label=label, trials=vector["trials"])
    assert found["group"].to_list() == vector["index"]
    expected = {ours: vector["data"].get(theirs) for ours, theirs in TABLE.items()}
    for name, values in expected.items():
        if values is None:
            assert name not in found.columns
        else:
            assert found[name].to_list() == pytest.approx(values, abs=TOLERANCE)


@pytest.mark.parametrize("vector", RECORDED["regressions"], ids=lambda v: v["id"])
def test_recorded_regressions(vector: dict[str, Any]) -> None:
    summary, names = pl.DataFrame(vector["summary"]), vector["names"]
    enough = summary.filter(pl.col("count") >= 5)
    kept = enough if enough.height >= len(names) - 1 else summary
    assert kept.height == vector["expected"]["rows_used"]
    shares = [name for name in vector["expected"] if name.endswith("ratio")]
    lines = surrogate.regress(
        kept.select(names[1:]).to_numpy(),
        kept.select(shares).to_numpy(),
        kept["count"].to_numpy()[None].astype(float),
    )
    for i, name in enumerate(shares):
        assert lines[0, :, i].tolist() == pytest.approx(vector["expected"][name], abs=TOLERANCE)


def test_recorded_single_level() -> None:
    given = RECORDED["one_level"]
    one = places().with_columns(level=0, A=pl.lit(given["makeup"][0]), B=pl.lit(given["makeup"][1]))
    found = fairness.surrogate_rates(
        one, surrogate="level", group={"A": "A", "B": "B"}, pred="p", label="y"
    )
    first, second = found["selection_rate"].to_list()
    assert second - first == pytest.approx(given["value"], abs=1e-12)
    assert first == pytest.approx(places()["p"].mean(), abs=1e-12)


def test_three_classes_that_follow_a_plane_are_found() -> None:
    rng = np.random.default_rng(3)
    makeup = rng.dirichlet([1, 1, 1], 40)
    share = makeup @ [0.2, 0.5, 0.9]
    levels = pl.DataFrame(makeup, schema=["p_a", "p_b", "p_c"]).with_columns(
        level=pl.int_range(40), share=pl.Series(share)
    )
    rows = levels.join(pl.DataFrame({"i": range(1000)}), how="cross")
    rows = rows.with_columns(p=pl.col("i") < (pl.col("share") * 1000).round())
    found = fairness.surrogate_rates(rows, surrogate="level", group=CHANCES, pred="p", trials=10)
    assert found["selection_rate"].to_list() == pytest.approx([0.2, 0.5, 0.9], abs=2e-3)


def test_lazy_frames_stay_lazy_and_seeds_count() -> None:
    group = {"A": "A", "B": "B"}
    query = fairness.surrogate_rates(places().lazy(), surrogate="level", group=group, pred="p")
    assert isinstance(query, pl.LazyFrame)
    assert query.collect_schema().names() == ["group", "selection_rate"]
    assert_frame_equal(query.collect(), rates(["A", "B"], label=None))
    assert_frame_equal(rates(["A", "B"]), rates(["A", "B"], seed=0))
    assert not rates(["A", "B"]).equals(rates(["A", "B"], seed=1))
    shuffled = places().sample(fraction=1, shuffle=True, seed=1)
    again = fairness.surrogate_rates(shuffled, surrogate="level", group=group, pred="p")
    assert_frame_equal(again, rates(["A", "B"], label=None), abs_tol=1e-12)


def test_small_levels_are_left_out_or_all_stay() -> None:
    few = places().group_by("level", maintain_order=True).head(3)
    group = {"A": "A", "B": "B"}
    with pytest.warns(UserWarning, match="only 0 levels of the surrogate have 5 rows"):
        warned = fairness.surrogate_rates(few, surrogate="level", group=group, pred="p")
    asked = fairness.surrogate_rates(few, surrogate="level", group=group, pred="p", min_rows=1)
    assert_frame_equal(warned, asked)
    one_small = pl.concat([places(), places().head(1).with_columns(level=pl.lit(99, pl.Int64))])
    found = fairness.surrogate_rates(one_small, surrogate="level", group=group, pred="p")
    assert_frame_equal(found, rates(["A", "B"], label=None))


@pytest.mark.parametrize("count", [1, 2])
def test_levels_as_many_as_the_classes_or_one_less_are_enough(count: int) -> None:
    """With an intercept, a level less than classes suffices: no warning, small ones left out."""
    roles = {"surrogate": "level", "group": {"A": "A", "B": "B"}, "pred": "p"}
    sizes = places()["level"].value_counts().sort("count", "level", descending=True)
    large = places().filter(pl.col("level").is_in(sizes["level"].head(count).implode()))
    small = large.head(1).with_columns(level=pl.lit(99, pl.Int64))
    found = fairness.surrogate_rates(pl.concat([large, small]), **roles)
    assert_frame_equal(found, fairness.surrogate_rates(large, **roles))


def test_rows_with_unknown_parts_are_left_out() -> None:
    holes = pl.concat(
        [
            places(),
            places().head(5).with_columns(level=pl.lit(None, pl.Int64)),
            places().head(5).with_columns(p=pl.lit(None, pl.Int64)),
        ]
    )
    found = fairness.surrogate_rates(
        holes, surrogate="level", group={"A": "A", "B": "B"}, pred="p", label="y"
    )
    assert_frame_equal(found, rates(["A", "B"]), abs_tol=1e-12)
    with pytest.warns(UserWarning, match="only 0 levels"):
        none = fairness.surrogate_rates(
            holes.clear(), surrogate="level", group={"A": "A", "B": "B"}, pred="p"
        )
    assert none["selection_rate"].to_list() == [None, None]


@BOTH
@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"group": "A"}, TypeError, "at least two classes"),
        ({"group": {"A": "A"}}, TypeError, "at least two classes"),
        ({"trials": 0}, ValueError, "`trials`"),
        ({"trials": 2.5}, ValueError, "`trials` is a whole number"),
        ({"min_rows": 0}, ValueError, "`min_rows` is a whole number"),
        ({"surrogate": "levle"}, ColumnNotFoundError, "`surrogate` names the column"),
        ({"pred": "P"}, ColumnNotFoundError, "`pred`"),
    ],
    ids=str,
)
def test_surrogates_refused_at_the_call(
    make: Callable[[pl.DataFrame], Any], given: dict[str, Any], error: type[Exception], words: str
) -> None:
    roles = {"surrogate": "level", "group": {"A": "A", "B": "B"}, "pred": "p", **given}
    with pytest.raises(error, match=re.escape(words)):
        fairness.surrogate_rates(make(places()), **roles)


def test_predictions_that_are_not_0_or_1() -> None:
    wrong = places().with_columns(p=pl.col("p") * 2)
    refused(
        lambda df: fairness.surrogate_rates(
            df, surrogate="level", group={"A": "A", "B": "B"}, pred="p"
        ),
        wrong,
        "`pred` holds a value other than 0 and 1",
    )
