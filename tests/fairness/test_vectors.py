"""Every recorded call of Jurity and HolisticAI on decisions, replayed through the public functions.

A vector either gives the recorded number, or stands in `DIFFERENCES`, the one place that says by
name where polarsfair answers otherwise, why, and with what. A listed vector that agrees after all
fails too, so the list can only be true.
"""

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import polars as pl
import pytest

from polarsfair import fairness
from tests._peers import (
    CLASS_ROWS,
    CLASSES,
    HOLISTIC,
    JURITY,
    JURITY_METRICS,
    PAIR,
    VECTORS,
    Refused,
    counts,
    holistic_frame,
    holistic_roles,
    jurity_frame,
    ours,
    same,
    spread,
    theirs,
)

nan, inf = math.nan, math.inf


class Difference(NamedTuple):
    """One kind of difference: why, and what polarsfair says for each vector instead."""

    why: str
    ours: Mapping[str, Any]


def recorded(name: str) -> Any:
    """The peer's answer to another vector, for differences that are an exchange."""
    return theirs(VECTORS[name])


def benefit(name: str, score: str) -> float:
    """Mean of 1 + score - label, the mu of generalized entropy."""
    data = HOLISTIC["datasets"][name]
    return 1 + (sum(data[score]) - sum(data["y_true"])) / len(data["y_true"])


def true_variation(name: str) -> Any:
    """The coefficient of variation itself: the recorded one over the square root of 2."""
    value = recorded(name)
    if not isinstance(value, dict):
        return value / math.sqrt(2)
    return value | {"Coefficient of Variation": value["Coefficient of Variation"] / math.sqrt(2)}


def class_accuracy(dataset: str) -> dict[str, Any]:
    """(TP + TN) / n of every group and class, from the peer's own confusion tensor."""
    shape = VECTORS[f"accuracy_matrix/{dataset}"]["table"]
    data = []
    for cells in VECTORS[f"confusion_tensor/{dataset}/as_tensor=True"]["value"]:
        size, wrong = (
            sum(map(sum, cells)),
            [
                sum(row) + sum(other[i] for other in cells) - 2 * row[i]
                for i, row in enumerate(cells)
            ],
        )
        data.append([(size - w) / size for w in wrong])
    return shape | {"data": data}


ABC, THREE = {"a": 0.4, "b": 0.0, "c": -0.4}, {"a": 3.0, "b": 1.0, "c": 0.0}
UNDEFINED_ROWS = dict.fromkeys(
    [f"{reduce} {name}" for name in CLASS_ROWS for reduce in ("Max", "Mean")], nan
)
MATRICES = ("M1", "M2", "M3", "M4", "M7")

DIFFERENCES = {
    "a row in two groups at once": Difference(
        "a group column holds one group per row, so b is the rest here; repeat the row to count it"
        " in both (test_rows_in_two_groups_can_be_repeated)",
        {
            "statistical_parity/B10": 1 / 3,
            "disparate_impact/B10": 2.0,
            "four_fifths/B10": 0.5,
            "cohen_d/B10": math.sqrt(1 / 2),
            "z_test_diff/B10": math.sqrt(2 / 3),
            "z_test_ratio/B10": math.log(2) * math.sqrt(3 / 2),
            "success_rate/B10": {"sr_a": 2 / 3, "sr_b": 1 / 3},
            "false_positive_rate_diff/B10": 1.0,
            "true_negative_rate_diff/B10": -1.0,
            "average_odds_diff/B10": 0.5,
            "accuracy_diff/B10/y_score<-y_pred": -1 / 3,
        },
    ),
    "a rate of 0/0 that a peer calls 0 or 1": Difference(
        "0/0 is undefined, and a group without a value is compared with nothing",
        {
            "FORDifference-12-no-neg-preds-in-g1": nan,
            "equal_opportunity_diff/B7": nan,
            "false_negative_rate_diff/B7": nan,
            "average_odds_diff/B7": nan,
            "true_negative_rate_diff/B8": nan,
        },
    ),
    "one group has no gap, a peer calls its maximum 0": Difference(
        "with fewer than two groups there is no pair, so mean and max are both undefined",
        {
            **{f"{name}/M6/aggregation_fun=max": nan for name in CLASSES},
            "multiclass_bias_metrics/M6/metric_type=both": UNDEFINED_ROWS,
        },
    ),
    "a count in place of a ratio": Difference(
        "x/0 is infinite; Jurity returns the number of positives of group 1",
        {
            "DisparateImpact-07-no-positives-in-group2": inf,
            "AllScores-04": recorded("AllScores-04") | {"Disparate Impact": inf},
            "Multi-DisparateImpact-07-membership_label-0": {"a": 1 / 3, "b": 1.0, "c": inf},
        },
    ),
    "None in place of nan": Difference(
        "undefined is nan as a scalar",
        {
            "PredictiveEquality-06-g1-all-pos-labels": nan,
            "PredictiveEquality-06b-g1-all-pos-mixed-preds": nan,
            "PredictiveEquality-09-degenerate-cell": nan,
            "PredictiveEquality-17-null-in-labels": nan,
        },
    ),
    "undefined by a guard on labels that the rate does not need": Difference(
        "a rate is defined when its own denominator is not 0",
        {
            "PredictiveEquality-07-g1-all-neg-labels": 1 / 3,  # 1/3 - 0/2
            "PredictiveEquality-08-g2-all-neg-labels": 1 / 6,  # 1/2 - 1/3
            "FORDifference-07-g1-all-neg-labels": 0.0,  # 0/2 - 0/2
            "FORDifference-08-g2-all-neg-labels": 0.5,  # 1/2 - 0/2
        },
    ),
    "an error for a group that is empty or knows one value only": Difference(
        "what is defined is computed, the rest is undefined; never an exception",
        {
            "EqualOpportunity-09-degenerate-cell": 0.0,  # 2/2 - 1/1
            "FNRDifference-09-degenerate-cell": 0.0,
            "FORDifference-09-degenerate-cell": nan,
            "EqualOpportunity-11-label-absent": nan,
            "PredictiveEquality-11-label-absent": nan,
            "StatisticalParity-20-empty": nan,
            "AllScores-06-degenerate": {
                **dict.fromkeys(JURITY_METRICS, 0.0),
                **dict.fromkeys(("Average Odds", "FOR difference", "Predictive Equality"), nan),
                "Disparate Impact": 2.0,
                "Statistical Parity": 0.5,
            },
            "equal_opportunity_diff/B8": 0.5,  # 3/3 - 1/2
            "false_negative_rate_diff/B8": -0.5,
            "false_positive_rate_diff/B8": nan,
            "average_odds_diff/B8": nan,
            **{
                f"{name}/B6": nan
                for name in PAIR
                if name.endswith("_rate_diff") or name.startswith(("equal", "average"))
            },
            "accuracy_diff/B6/y_score<-y_pred": nan,
        },
    ),
    "a reference that nobody carries": Difference(
        "a `ref` among no rows is more likely misspelt than empty, so it is an error",
        dict.fromkeys(
            (
                "AverageOdds-10-empty-group2",
                "FNRDifference-10-empty-group2",
                "FORDifference-10-empty-group2",
                "StatisticalParity-06-empty-group2",
                "DisparateImpact-09-empty-group2",
            ),
            Refused("ref"),
        ),
    ),
    "NaN counted or refused": Difference(
        "NaN counts as null, and a row with an unknown column leaves the rates that read it",
        {
            "StatisticalParity-13-nan-pred-with-one-class": 0.0,  # 1/1 - 2/2
            "StatisticalParity-14-nan-pred-with-two-classes": 0.5,  # 1/1 - 1/2
            "EqualOpportunity-17-null-in-labels": 0.5,  # 1/1 - 1/2
            "FNRDifference-17-null-in-labels": -0.5,
            "FORDifference-17-null-in-labels": nan,
            "multiclass_statistical_parity/M10": 0.5,
            "multiclass_equality_of_opp/M10": 0.25,  # B's column of class 0 is uniform
        },
    ),
    "groups and dtypes refused": Difference(
        "a group may be of any type and number, and a decision any 0/1 column",
        {
            "AverageOdds-16-string-groups": 0.0,  # (0 - 1)/2 + (1 - 0)/2
            "EqualOpportunity-16-string-groups": 1.0,
            "FNRDifference-16-string-groups": -1.0,
            "PredictiveEquality-16-string-groups": -1.0,
            "FORDifference-16-string-groups": -1.0,
            "DisparateImpact-11-string-groups": 1.0,
            "Multi-StatisticalParity-11-string-groups": ABC,
            "Multi-DisparateImpact-11-string-groups": THREE,
            "StatisticalParity-10-np-bool": -0.5,
            "StatisticalParity-11-int8": -0.5,
            "StatisticalParity-16-three-groups": 0.5,  # 1/1 - 1/2
            "StatisticalParity-21-bool-label": 1.0,
        },
    ),
    "a decision other than 0/1": Difference(
        "Jurity reads a 2 as negative; here the expression says so: pred=pl.col('pred') == 1",
        {"StatisticalParity-08-preds-1-2": Refused("0.*1")},
    ),
    "a list of classes or groups to declare": Difference(
        "the classes and groups are those of the rows: none is unknown, none is unused",
        {
            "Multi-StatisticalParity-05-unused-class": ABC,
            "Multi-DisparateImpact-05-unused-class": THREE,
            "Multi-StatisticalParity-06-unknown-class": ABC,
            "Multi-DisparateImpact-06-unknown-class": THREE,
            "multiclass_equality_of_opp/M1/classes=[0, 1]": 11 / 27,
            "multiclass_equality_of_opp/M1/groups=['A', 'B', 'C', 'D']": 11 / 27,
            "multiclass_bias_metrics/M1/metric_type=group": recorded(
                "multiclass_bias_metrics/M1/metric_type=both"
            ),
        },
    ),
    "any unknown aggregation is the mean": Difference(
        "`reduce` is mean or max, else an error",
        {"multiclass_statistical_parity/M1/aggregation_fun=median": Refused("mean.*max")},
    ),
    "coefficient of variation times the square root of 2": Difference(
        "ours is the true one, sqrt(2 GE(2)); HolisticAI's is 2 sqrt(GE(2))",
        {
            name: true_variation(name)
            for name, vector in VECTORS.items()
            if (vector.get("function") == "coefficient_of_variation" and vector["dataset"] != "B12")
            or vector.get("params", {}).get("metric_type") == "individual"
        },
    ),
    "GE(0) divided by the mean benefit": Difference(
        "the published formula has no 1/mu",
        {
            "generalized_entropy_index/B1/alpha=0/y_pred<-y_score": recorded(
                "generalized_entropy_index/B1/alpha=0/y_pred<-y_score"
            )
            * benefit("B1", "y_score"),
            "generalized_entropy_index/B13/alpha=0": recorded(
                "generalized_entropy_index/B13/alpha=0"
            )
            * benefit("B13", "y_pred"),
        },
    ),
    "precision and recall exchanged": Difference(
        "HolisticAI's precision matrix divides by the true class, its recall matrix by the other",
        {f"precision_matrix/{name}": recorded(f"recall_matrix/{name}") for name in MATRICES}
        | {f"recall_matrix/{name}": recorded(f"precision_matrix/{name}") for name in MATRICES},
    ),
    "accuracy that is the Jaccard index": Difference(
        "accuracy is (TP + TN)/n; HolisticAI's matrix holds TP/(TP + FP + FN)"
        " (test_the_jaccard_matrix_is_read_off_the_table)",
        {f"accuracy_matrix/{name}": class_accuracy(name) for name in MATRICES},
    ),
}
EXPECTED_COUNTS = {
    "a row in two groups at once": 11,
    "a rate of 0/0 that a peer calls 0 or 1": 5,
    "one group has no gap, a peer calls its maximum 0": 5,
    "a count in place of a ratio": 3,
    "None in place of nan": 4,
    "undefined by a guard on labels that the rate does not need": 4,
    "an error for a group that is empty or knows one value only": 17,
    "a reference that nobody carries": 5,
    "NaN counted or refused": 7,
    "groups and dtypes refused": 12,
    "a decision other than 0/1": 1,
    "a list of classes or groups to declare": 7,
    "any unknown aggregation is the mean": 1,
    "coefficient of variation times the square root of 2": 14,
    "GE(0) divided by the mean benefit": 2,
    "precision and recall exchanged": 10,
    "accuracy that is the Jaccard index": 5,
}

# Both sides refuse these; here is what ours says. The first ten are no frame at all for Polars.
BOTH_REFUSE = {
    "AverageOdds-13-length-mismatch": "height|length",
    "EqualOpportunity-13-length-mismatch": "height|length",
    "FNRDifference-13-length-mismatch": "height|length",
    "PredictiveEquality-13-length-mismatch": "height|length",
    "FORDifference-13-length-mismatch": "height|length",
    "DisparateImpact-12-length-mismatch": "height|length",
    "GEI-15-length-mismatch": "height|length",
    "Multi-StatisticalParity-12-mixed": "unexpected value",
    "Multi-DisparateImpact-12-mixed": "unexpected value",
    "StatisticalParity-19-mixed-int-float": "unexpected value",
    "AverageOdds-14-nonbinary-labels": "label",
    "EqualOpportunity-14-nonbinary-labels": "label",
    "FNRDifference-14-nonbinary-labels": "label",
    "PredictiveEquality-14-nonbinary-labels": "label",
    "FORDifference-14-nonbinary-labels": "label",
    "GEI-16-nonbinary": "label",
    "AverageOdds-15-labels-none": "label",
    "EqualOpportunity-15-labels-none": "label",
    "FNRDifference-15-labels-none": "label",
    "PredictiveEquality-15-labels-none": "label",
    "FORDifference-15-labels-none": "label",
    "EqualOpportunity-10-empty-group2": "ref",
    "PredictiveEquality-10-empty-group2": "ref",
    "accuracy_diff/B1": "pred",
    "confusion_matrix/M1/normalize=class": "normalize",
    "classification_bias_metrics/B1#4": "group",
}
LISTED = {name: value for kind in DIFFERENCES.values() for name, value in kind.ours.items()}


# the tests


@pytest.mark.parametrize("name", VECTORS)
def test_recorded_call(name: str) -> None:
    vector = VECTORS[name]
    expected = LISTED.get(name, theirs(vector))
    if name in BOTH_REFUSE:
        expected = Refused(BOTH_REFUSE[name])
    if isinstance(expected, Refused):
        with pytest.raises(
            (ValueError, TypeError, pl.exceptions.PolarsError), match=expected.words
        ):
            ours(vector)
        return
    slack = 0.000501 if "get_all_scores" in vector.get("target", "") else 1e-12
    answer = ours(vector)
    assert same(answer, expected, slack=slack), (answer, expected)


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_difference_is_one(name: str) -> None:
    expected, recorded_value = LISTED[name], theirs(VECTORS[name])
    assert isinstance(expected, Refused) != isinstance(recorded_value, Refused) or not same(
        expected, recorded_value
    )
    assert not (isinstance(expected, Refused) and isinstance(recorded_value, Refused))


def test_nothing_is_skipped_and_nothing_is_listed_twice() -> None:
    assert {kind: len(d.ours) for kind, d in DIFFERENCES.items()} == EXPECTED_COUNTS
    assert len(LISTED) == sum(EXPECTED_COUNTS.values())
    assert set(LISTED) | set(BOTH_REFUSE) <= set(VECTORS)
    assert not set(LISTED) & set(BOTH_REFUSE)
    assert all("raises" in VECTORS[name] for name in BOTH_REFUSE)
    assert (len(JURITY["vectors"]), len(HOLISTIC["vectors"]), len(VECTORS)) == (191, 361, 552)
    refused = {n for n, v in VECTORS.items() if "raises" in v and "corrected" not in v}
    assert refused <= set(LISTED) | set(BOTH_REFUSE)


@pytest.mark.parametrize(
    "name", [n for n, v in VECTORS.items() if v.get("dataset") == "B10" and "group_a" in v["args"]]
)
def test_rows_in_two_groups_can_be_repeated(name: str) -> None:
    vector = VECTORS[name]
    frame = holistic_frame("B10").with_columns(
        group=pl.concat_list(
            pl.when(pl.col(f"group_{g}") == 1).then(pl.lit(g)) for g in ("a", "b")
        ).list.drop_nulls()
    )
    repeated = frame.explode("group")
    assert len(repeated) == 9
    roles = holistic_roles(vector) | {"group": "group"}
    if vector["function"] == "success_rate":
        rates = fairness.selection_rate(repeated, pred="y_pred", by=pl.col("group").alias("who"))
        assert same(rates["selection_rate"].to_list(), list(recorded(name).values()))
    else:
        assert same(PAIR[vector["function"]](repeated, **roles), recorded(name))


def test_another_positive_value_is_an_expression() -> None:
    vector = VECTORS["StatisticalParity-08-preds-1-2"]
    value = fairness.stat_parity(
        jurity_frame(vector["args"]),
        group=pl.col("member") == 1,
        pred=pl.col("pred") == 1,
        ref=False,
    )
    assert same(value, theirs(vector))


@pytest.mark.parametrize("dataset", MATRICES)
def test_the_jaccard_matrix_is_read_off_the_table(dataset: str) -> None:
    vector = VECTORS[f"accuracy_matrix/{dataset}"]
    cells: dict[tuple[Any, Any], list[int]] = {}
    for row in counts(vector).to_dicts():
        hit = row["pred"] == row["label"]
        for wanted in {row["pred"], row["label"]}:
            cell = cells.setdefault((row["group"], wanted), [0, 0])
            cell[0] += row["n"] if hit else 0
            cell[1] += row["n"]
    jaccard = {key: hits / size for key, (hits, size) in cells.items()}
    assert same(spread(jaccard, vector["table"]), theirs(vector))


# multi-class: a pair of groups uses the classes that both have

DEFAULT_UNSEEN = {
    name: v
    for name, v in VECTORS.items()
    if v.get("function") in set(CLASSES) - {"multiclass_statistical_parity"} and "value" in v
}
LACKING = ("M3", "M4", "M7", "M9", "M11", "M12")  # some group has no row of some true class
BY_CHANCE = {  # both rules give one number
    "multiclass_equality_of_opp/M3/aggregation_fun=mean",
    "multiclass_true_rates/M11/aggregation_fun=max",
}
UNSEEN = {
    name
    for name, v in DEFAULT_UNSEEN.items()
    if v["dataset"] in LACKING or name.endswith("/M6/aggregation_fun=max")
} - BY_CHANCE


def columns_of(rows: list[tuple[Any, Any]], classes: list[Any]) -> dict[Any, list[float]]:
    """P(pred = i | true = j) for every true class j that a group has."""
    have = {j: [pred for pred, true in rows if true == j] for j in classes}
    return {j: [preds.count(i) / len(preds) for i in classes] for j, preds in have.items() if preds}


def pair_distance(
    function: str, g: dict[Any, list[float]], h: dict[Any, list[float]], classes: list[Any]
) -> float:
    """The distance of two groups over the true classes that both have, written from section 3.2."""
    common = [j for j in classes if j in g and j in h]
    gaps = {j: [x - y for x, y in zip(g[j], h[j], strict=True)] for j in common}
    if not common:
        return nan
    if function == "multiclass_equality_of_opp":
        return sum(abs(x) for gap in gaps.values() for x in gap) / (2 * len(common))
    if function == "multiclass_average_odds":
        sums = [sum(gap[i] for gap in gaps.values()) for i in range(len(classes))]
        return sum(map(abs, sums)) / (2 * len(common))
    return sum(abs(gap[classes.index(j)]) for j, gap in gaps.items()) / len(common)


def by_hand(vector: dict[str, Any]) -> float:
    data = HOLISTIC["datasets"][vector["dataset"]]
    classes = sorted({*data["y_pred"], *data["y_true"]})
    rows: dict[Any, list[tuple[Any, Any]]] = {}
    for group, pred, true in zip(data["p_attr"], data["y_pred"], data["y_true"], strict=True):
        rows.setdefault(group, []).append((pred, true))
    tables = [columns_of(part, classes) for part in rows.values()]
    pairs = [pair_distance(vector["function"], g, h, classes) for g, h in combinations(tables, 2)]
    known = [x for x in pairs if not math.isnan(x)]
    if not known:
        return nan
    largest = vector.get("params", {}).get("aggregation_fun") == "max"
    return max(known) if largest else sum(known) / len(known)


@pytest.mark.parametrize("name", DEFAULT_UNSEEN)
def test_classes_that_a_group_lacks_are_left_out_by_default(name: str) -> None:
    vector = VECTORS[name]
    options = {"reduce": vector.get("params", {}).get("aggregation_fun", "mean")}
    frame = holistic_frame(vector["dataset"])
    value = CLASSES[vector["function"]](frame, **holistic_roles(vector), **options)
    assert same(value, by_hand(vector))
    assert same(value, theirs(vector)) != (name in UNSEEN)
    assert len(UNSEEN) == 3 * (2 * len(LACKING) + 1) - len(BY_CHANCE)
