"""Recorded calls of HolisticAI on outcomes and scores, and of Jurity on classifiers, replayed.

A vector gives the recorded number, or stands in `DIFFERENCES` with the reason and our answer. A
listed vector that agrees after all fails too.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import fairness
from tests._peers import FOLDER, Refused, floats, same

nan, inf = math.nan, math.inf

HOLISTIC = json.loads((FOLDER / "holisticai_outcomes.json").read_text(encoding="utf-8"))
JURITY = json.loads((FOLDER / "jurity_classification.json").read_text(encoding="utf-8"))
VECTORS = {vector["id"]: vector for vector in HOLISTIC["vectors"] + JURITY["vectors"]}

REGRESSION: dict[str, Callable[..., float]] = {
    "disparate_impact_regression": fairness.quantile_disparate_impact,
    "statistical_parity_regression": fairness.quantile_stat_parity,
    "avg_score_diff": fairness.mean_difference,
    "avg_score_ratio": fairness.mean_ratio,
    "zscore_diff": fairness.z_score_difference,
    "correlation_diff": fairness.correlation_difference,
    "rmse_ratio": fairness.rmse_ratio,
    "mae_ratio": fairness.mae_ratio,
    "no_disparate_impact_level": fairness.no_disparate_impact_level,
    "statistical_parity_auc": fairness.statistical_parity_auc,
    "max_statistical_parity": fairness.max_statistical_parity,
}
TABLE: dict[str, tuple[str, float | None]] = {
    "Disparate Impact Q90": ("disparate_impact_regression", 0.9),
    "Disparate Impact Q80": ("disparate_impact_regression", 0.8),
    "Disparate Impact Q50": ("disparate_impact_regression", 0.5),
    # The table calls it Q50, and computes it at 0.8.
    "Statistical Parity Q50": ("statistical_parity_regression", 0.8),
    "No Disparate Impact Level": ("no_disparate_impact_level", None),
    "Average Score Difference": ("avg_score_diff", None),
    "Average Score Ratio": ("avg_score_ratio", None),
    "Z Score Difference": ("zscore_diff", None),
    "Max Statistical Parity": ("max_statistical_parity", None),
    "Statistical Parity AUC": ("statistical_parity_auc", None),
    "RMSE Ratio": ("rmse_ratio", None),
    "RMSE Ratio Q80": ("rmse_ratio", 0.8),
    "MAE Ratio": ("mae_ratio", None),
    "MAE Ratio Q80": ("mae_ratio", 0.8),
    "Correlation Difference": ("correlation_diff", None),
}
RATES = {
    "Accuracy": fairness.accuracy,
    "Precision": fairness.precision,
    "Recall": fairness.true_positive_rate,
    "F1": fairness.f1,
}
MEASURES = {
    "TPR": fairness.true_positive_rate,
    "TNR": fairness.true_negative_rate,
    "FPR": fairness.false_positive_rate,
    "FNR": fairness.false_negative_rate,
    "PPV": fairness.precision,
    "NPV": fairness.negative_predictive_value,
    "FDR": fairness.false_discovery_rate,
    "FOR": fairness.false_omission_rate,
    "ACC": fairness.accuracy,
}


def holistic_roles(vector: dict[str, Any]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The data set and the roles: group a against b, rows in neither of unknown group."""
    frame = pl.DataFrame({n: floats(v) for n, v in HOLISTIC["datasets"][vector["dataset"]].items()})
    names = {name: vector.get("args", {}).get(name, name) for name in vector["given"]}
    a, b = (pl.col(names.get(side, side)) == 1 for side in ("group_a", "group_b"))
    roles: dict[str, Any] = {"group": pl.when(a).then(pl.lit("a")).when(b).then(pl.lit("b"))}
    columns = {"y_pred": "pred", "y_true": "label", "y_score": "score"}
    roles |= {role: names[name] for name, role in columns.items() if name in names}
    return frame, roles


def regression(vector: dict[str, Any]) -> Any:
    frame, roles = holistic_roles(vector)
    name, q = vector["function"], vector.get("params", {}).get("q")
    if isinstance(q, list):
        return [REGRESSION[name](frame, **roles, ref="b", q=level) for level in q]
    return REGRESSION[name](frame, **roles, ref="b", **({} if q is None else {"q": q}))


def regression_table(vector: dict[str, Any]) -> Any:
    frame, roles = holistic_roles(vector)
    if "individual" in vector["id"]:
        return {"Jain Index": fairness.jain_index(frame, pred="y_pred", label="y_true")}
    opportunity = ("RMSE", "MAE", "Correlation")
    outcome = "equal_outcome" in vector["id"]
    rows = {
        row: request
        for row, request in TABLE.items()
        if ("equal_opportunity" in vector["id"]) <= row.startswith(opportunity)
        and outcome <= (not row.startswith(opportunity))
    }
    return {
        row: REGRESSION[name](frame, **roles, ref="b", **({} if q is None else {"q": q}))
        for row, (name, q) in rows.items()
    }


def success_rates(vector: dict[str, Any]) -> dict[str, float]:
    frame, roles = holistic_roles(vector)
    threshold = vector["params"]["threshold"]
    if isinstance(threshold, str):
        threshold = getattr(pl.col("y_pred"), threshold)()
    rates = pf.by_group(
        frame, fairness.selection_rate, group=roles["group"], pred=pl.col("y_pred") > threshold
    )
    found = dict(rates.select("group", "value").iter_rows())
    return {"sr_a": found["a"], "sr_b": found["b"]}


def holistic(vector: dict[str, Any]) -> Any:
    """Say a call of HolisticAI through the public functions."""
    frame, roles = holistic_roles(vector)
    match vector["function"]:
        case "abroca":
            return pf.difference(fairness.auc)(frame, **roles, ref="b", bins=None)
        case "jain_index":
            return fairness.jain_index(frame, pred=roles["pred"], label=roles["label"])
        case "success_rate_regression":
            return success_rates(vector)
        case "regression_bias_metrics":
            return regression_table(vector)
    return regression(vector)


def jurity(vector: dict[str, Any]) -> Any:
    """Say a call of Jurity through the public functions."""
    columns = {
        "actual": "label",
        "ground_truth": "label",
        "predicted": "pred",
        "predictions": "pred",
        "likelihoods": "score",
        "sample_weight": "weight",
    }
    given = {columns[name]: floats(values) for name, values in vector["args"].items()}
    frame = pl.DataFrame(given)
    roles = {role: role for role in given}
    if vector["target"] == "performance_measures":
        return {name: metric(frame, **roles) for name, metric in MEASURES.items()}
    if vector["target"] == "AUC":
        return fairness.auc(frame, **roles, bins=1000)
    return RATES[vector["target"]](frame, **roles)


def ours(vector: dict[str, Any]) -> Any:
    try:
        return jurity(vector) if "target" in vector else holistic(vector)
    except (ValueError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        return Refused(str(error))


def theirs(vector: dict[str, Any]) -> Any:
    return Refused(vector["raises"]) if "raises" in vector else floats(vector["value"])


def agree(mine: Any, other: Any) -> bool:
    if isinstance(mine, Refused) or isinstance(other, Refused):
        return isinstance(mine, Refused) and isinstance(other, Refused)
    return same(mine, other)


def recorded(name: str, **other: float) -> dict[str, float]:
    """The peer's measures with some of them exchanged."""
    return floats(VECTORS[name]["value"]) | other


DIFFERENCES: dict[str, dict[str, Any]] = {
    # A group column holds one group per row, so b is the rest here; repeat the row to count it in
    # both.
    "a row in two groups at once": {"abroca/B10": -0.5},
    # Nothing to compare is undefined, never an exception for one degenerate slice.
    "an empty group": {"abroca/B6": nan, "no_disparate_impact_level/R6": nan},
    # Without any error there is nothing to be even or uneven: 0/0.
    "no error at all": {"jain_index/R5": nan, "jain_index/R10": nan},
    "a rate of 0/0 that a peer calls 0": {
        "Cls-Precision-04-no-positive-preds": nan,
        "Cls-Precision-06-all-zero": nan,
        "Cls-Recall-05-no-positive-labels": nan,
        "Cls-Recall-06-all-zero": nan,
        "Cls-F1-06-all-zero": nan,
        "PerformanceMeasures-03": recorded("PerformanceMeasures-03", NPV=nan, FOR=nan),
        "PerformanceMeasures-04": recorded("PerformanceMeasures-04", PPV=nan, FDR=nan),
    },
    # A row takes part where the columns that a metric reads are known; NaN is unknown.
    "NaN is unknown, not an error": {
        "Cls-Accuracy-09-nan": 1.0,
        "Cls-Precision-09-nan": 1.0,
        "Cls-Recall-09-nan": 1.0,
        "Cls-F1-09-nan": 1.0,
        "Cls-AUC-07-nan": nan,
    },
    # As newer versions of scikit-learn have it.
    "one class is undefined, not an error": {"Cls-AUC-05-one-class": nan},
}


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    mine, other = ours(VECTORS[name]), theirs(VECTORS[name])
    listed = {key: value for known in DIFFERENCES.values() for key, value in known.items()}
    if name not in listed:
        assert agree(mine, other), f"ours {mine}, theirs {other}"
        return
    assert not agree(mine, other), "listed as a difference, and is none"
    expected = listed[name]
    if isinstance(expected, Refused):
        assert isinstance(mine, Refused)
        assert expected.words in mine.words
    else:
        assert same(mine, expected), f"ours {mine}, listed {expected}"


def test_every_difference_is_a_vector() -> None:
    assert all(name in VECTORS for known in DIFFERENCES.values() for name in known)
