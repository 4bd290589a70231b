"""Recorded calls of Jurity and HolisticAI, and how each is said through the public functions.

Jurity: group 1 is the protected value, group 2 everyone else, `ref=False`. HolisticAI: a against
b, rows in neither of unknown group. Which answers differ, and why, is in `test_vectors_fairness`.
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import polarsfair as pf
from polarsfair import fairness

FOLDER = Path(__file__).parent / "vectors"
JURITY = json.loads((FOLDER / "jurity_fairness.json").read_text(encoding="utf-8"))
HOLISTIC = json.loads((FOLDER / "holisticai_fairness.json").read_text(encoding="utf-8"))
VECTORS: dict[str, dict[str, Any]] = {v["id"]: v for v in JURITY["vectors"] + HOLISTIC["vectors"]}

nan, inf = math.nan, math.inf


class Refused(NamedTuple):
    """An error is the answer; its message holds these words (a pattern)."""

    words: str


# reading the recorded values


def floats(value: Any) -> Any:
    """Give the strings that stand for floats their value, at any depth."""
    if isinstance(value, dict):
        return {key: floats(part) for key, part in value.items()}
    if isinstance(value, list):
        return [floats(part) for part in value]
    return (
        {"NaN": nan, "Infinity": inf, "-Infinity": -inf}.get(value, value)
        if isinstance(value, str)
        else value
    )


def same(ours: Any, theirs: Any, *, slack: float = 1e-12) -> bool:
    """Whether two answers are equal: relative 1e-9 beside the absolute `slack`, nan equals nan."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            same(ours[key], theirs[key], slack=slack) for key in ours
        )
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            same(x, y, slack=slack) for x, y in zip(ours, theirs, strict=True)
        )
    if not isinstance(ours, int | float) or not isinstance(theirs, int | float):
        return isinstance(ours, str) and ours == theirs
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=slack)


def theirs(vector: dict[str, Any]) -> Any:
    """What the peer said, or should have said where its answer is a known defect."""
    if "raises" in vector and "corrected" not in vector:
        return Refused(vector["raises"])
    value = floats(vector.get("corrected", vector.get("value", vector.get("table"))))
    classes = vector["args"].get("list_of_classes")
    if classes is None or value is None:
        return value
    if isinstance(value, dict):
        return {name: dict(zip(classes, row, strict=True)) for name, row in value.items()}
    return dict(zip(classes, value, strict=True))


# Jurity: group 1 is the protected value, group 2 everyone else

JURITY_METRICS = {
    "Average Odds": fairness.average_odds,
    "Disparate Impact": fairness.disparate_impact,
    "Equal Opportunity": fairness.equal_opportunity,
    "FNR difference": fairness.fnr_difference,
    "FOR difference": fairness.for_difference,
    "Generalized Entropy Index": fairness.generalized_entropy,
    "Predictive Equality": fairness.predictive_equality,
    "Statistical Parity": fairness.stat_parity,
    "Theil Index": fairness.theil,
}
JURITY_NAMES = {
    "AverageOdds": "Average Odds",
    "DisparateImpact": "Disparate Impact",
    "EqualOpportunity": "Equal Opportunity",
    "FNRDifference": "FNR difference",
    "FORDifference": "FOR difference",
    "GeneralizedEntropyIndex": "Generalized Entropy Index",
    "PredictiveEquality": "Predictive Equality",
    "StatisticalParity": "Statistical Parity",
    "TheilIndex": "Theil Index",
}
JURITY_CLASSES = {
    "Disparate Impact": fairness.disparate_impact_by_class,
    "Statistical Parity": fairness.stat_parity_by_class,
}
JURITY_COLUMNS = {
    "predictions": "pred",
    "labels": "label",
    "memberships": "member",
    "is_member": "member",
}


def jurity_frame(args: dict[str, Any]) -> pl.DataFrame:
    columns = {}
    for name, role in JURITY_COLUMNS.items():
        values = floats(args.get(name))
        if isinstance(values, str):
            values = [int(digit) for digit in JURITY["columns"][values[1:]]]
        if values is not None:
            columns[role] = pl.Series(values, dtype=pl.Int64 if not values else None)
    return pl.DataFrame(columns)


def protected(args: dict[str, Any]) -> pl.Expr:
    value = args.get("membership_labels", args.get("membership_label", 1))
    return pl.col("member") == (int(value) if isinstance(value, bool) else value)


def jurity_binary(vector: dict[str, Any]) -> Any:
    args = vector["args"]
    frame = jurity_frame(args)
    target = vector["target"].removeprefix("binary.")
    roles: dict[str, Any] = {role: role for role in ("pred", "label") if role in frame.columns}
    if target in {"GeneralizedEntropyIndex", "TheilIndex"}:
        if "membership_label" in args:  # there it is the value that counts as positive
            roles = {role: pl.col(role) == args["membership_label"] for role in roles}
        options = {"alpha": args["alpha"]} if "alpha" in args else {}
        return JURITY_METRICS[JURITY_NAMES[target]](frame, **roles, **options)
    roles |= {"group": protected(args), "ref": False}
    if target != "get_all_scores":
        return JURITY_METRICS[JURITY_NAMES[target]](frame, **roles)
    metrics = [metric.alias(name) for name, metric in JURITY_METRICS.items()]
    return row_of(pf.evaluate(frame, metrics, **roles))


def row_of(frame: pl.DataFrame) -> dict[str, float]:
    (row,) = frame.to_dicts()
    return {name: nan if value is None else value for name, value in row.items()}


def jurity_multi(vector: dict[str, Any]) -> Any:
    frame = jurity_frame(vector["args"])
    roles = {"group": protected(vector["args"]), "pred": "pred", "ref": False}
    target = vector["target"].removeprefix("multi.")
    if target != "get_all_scores":
        return by_class(JURITY_CLASSES[JURITY_NAMES[target]](frame, **roles))
    return {name: by_class(metric(frame, **roles)) for name, metric in JURITY_CLASSES.items()}


def by_class(frame: pl.DataFrame) -> dict[Any, float]:
    classes, values = frame["class"].to_list(), frame[:, -1].to_list()
    return {c: nan if v is None else v for c, v in zip(classes, values, strict=True)}


# HolisticAI: a against b, rows in neither of unknown group

A_OR_B = (
    pl.when(pl.col("group_a") == 1).then(pl.lit("a")).when(pl.col("group_b") == 1).then(pl.lit("b"))
)
PAIR = {
    "statistical_parity": fairness.stat_parity,
    "disparate_impact": fairness.disparate_impact,
    "four_fifths": fairness.four_fifths,
    "cohen_d": fairness.cohen_d,
    "z_test_diff": fairness.z_test_difference,
    "z_test_ratio": fairness.z_test_ratio,
    "equal_opportunity_diff": fairness.equal_opportunity,
    "false_positive_rate_diff": fairness.predictive_equality,
    "false_negative_rate_diff": fairness.fnr_difference,
    "true_negative_rate_diff": fairness.tnr_difference,
    "average_odds_diff": fairness.average_odds,
    "accuracy_diff": fairness.accuracy_difference,
}
INDIVIDUAL = {
    "theil_index": fairness.theil,
    "generalized_entropy_index": fairness.generalized_entropy,
    "coefficient_of_variation": fairness.coefficient_of_variation,
}
CLASSES = {
    "multiclass_statistical_parity": fairness.multiclass_stat_parity,
    "multiclass_equality_of_opp": fairness.multiclass_equal_opportunity,
    "multiclass_average_odds": fairness.multiclass_average_odds,
    "multiclass_true_rates": fairness.multiclass_true_positive_difference,
}
OUTCOME = {
    "Statistical Parity": fairness.stat_parity,
    "Disparate Impact": fairness.disparate_impact,
    "Four Fifths Rule": fairness.four_fifths,
    "Cohen D": fairness.cohen_d,
    "2SD Rule": fairness.z_test_difference,
}
OPPORTUNITY = {
    "Equality of Opportunity Difference": fairness.equal_opportunity,
    "False Positive Rate Difference": fairness.predictive_equality,
    "Average Odds Difference": fairness.average_odds,
    "Accuracy Difference": fairness.accuracy_difference,
}
CLASS_ROWS = {
    "Multiclass Statistical Parity": fairness.multiclass_stat_parity,
    "Multiclass Equality of Opportunity": fairness.multiclass_equal_opportunity,
    "Multiclass Average Odds": fairness.multiclass_average_odds,
    "Multiclass True Positive Difference": fairness.multiclass_true_positive_difference,
}
ROLES = {"y_true": "label", "p_attr": "group", "y_pred": "pred", "y_score": "pred"}


def holistic_frame(name: str) -> pl.DataFrame:
    data = HOLISTIC["datasets"][name]
    return pl.DataFrame({column: floats(data[column]) for column in data if column != "what"})


def holistic_roles(vector: dict[str, Any]) -> dict[str, Any]:
    roles: dict[str, Any] = {
        ROLES[name]: column for name, column in vector["args"].items() if name in ROLES
    }
    return roles | ({"group": A_OR_B, "ref": "b"} if "group_a" in vector["args"] else {})


def holistic_pair(vector: dict[str, Any]) -> float:
    frame = holistic_frame(vector["dataset"])
    return PAIR[vector["function"]](frame, **holistic_roles(vector))


def holistic_success(vector: dict[str, Any]) -> dict[str, float]:
    frame = holistic_frame(vector["dataset"])
    groups = pf.by_group(frame, [fairness.selection_rate], group=A_OR_B, pred="y_pred")
    rates = dict(groups.select("group", "value").iter_rows())
    return {"sr_a": rates.get("a", nan), "sr_b": rates.get("b", nan)}


def holistic_individual(vector: dict[str, Any]) -> float:
    frame = holistic_frame(vector["dataset"])
    soft = frame[vector["args"]["y_pred"]].dtype.is_float()
    roles = {"score" if soft else "pred": vector["args"]["y_pred"], "label": "y_true"}
    return INDIVIDUAL[vector["function"]](frame, **roles, **vector.get("params", {}))


def holistic_classes(vector: dict[str, Any]) -> float:
    params = vector.get("params", {})
    options = {"reduce": params["aggregation_fun"]} if "aggregation_fun" in params else {}
    if vector["function"] != "multiclass_statistical_parity":
        options["unseen"] = "uniform"
    frame = holistic_frame(vector["dataset"])
    return CLASSES[vector["function"]](frame, **holistic_roles(vector), **options)


def holistic_summary(vector: dict[str, Any]) -> dict[str, float]:
    params, kind = vector.get("params", {}), vector.get("params", {}).get("metric_type", "group")
    rows = {
        "group": OUTCOME | (OPPORTUNITY if "y_true" in vector["args"] else {}),
        "both": OUTCOME | OPPORTUNITY,
        "equal_outcome": OUTCOME,
        "equal_opportunity": OPPORTUNITY,
        "individual": {
            "Theil Index": fairness.theil,
            "Generalized Entropy Index": fairness.generalized_entropy.bind(
                alpha=params.get("generalized_entropy_index__alpha", 2)
            ),
            "Coefficient of Variation": fairness.coefficient_of_variation,
        },
    }[kind]
    metrics = [metric.alias(name) for name, metric in rows.items()]
    frame = holistic_frame(vector["dataset"])
    return row_of(pf.evaluate(frame, metrics, **holistic_roles(vector)))


def holistic_class_summary(vector: dict[str, Any]) -> dict[str, float]:
    kind = vector.get("params", {}).get("metric_type", "equal_outcome")
    names = {
        "equal_outcome": list(CLASS_ROWS)[:1],
        "equal_opportunity": list(CLASS_ROWS)[1:],
    }.get(kind, list(CLASS_ROWS))
    metrics = [
        CLASS_ROWS[name].bind(reduce=reduce.lower()).alias(f"{reduce} {name}")
        for name in names
        for reduce in ("Max", "Mean")
    ]
    uniform = {} if kind == "equal_outcome" else {"unseen": "uniform"}
    frame = holistic_frame(vector["dataset"])
    return row_of(pf.evaluate(frame, metrics, **holistic_roles(vector), **uniform))


# HolisticAI's matrices: the tally's own table, or the metrics by class


def counts(vector: dict[str, Any]) -> pl.DataFrame:
    """The public table of a vector: group, pred, label and n, as far as it names them."""
    return fairness.classes(holistic_frame(vector["dataset"]), **holistic_roles(vector))


def spread(cells: Mapping[tuple[Any, Any], float], shape: dict[str, Any]) -> dict[str, Any]:
    """Lay values of (row, column) out in the shape of a recorded table; what is absent is nan."""
    rows, columns = (
        shape["index"],
        [tuple(c) if isinstance(c, list) else c for c in shape["columns"]],
    )
    return {
        "index": rows,
        "columns": shape["columns"],
        "data": [[cells.get((row, column), nan) for column in columns] for row in rows],
    }


def holistic_confusion(vector: dict[str, Any]) -> dict[str, Any]:
    """Predicted by true class: the table's n, or its share of the predicted or true class."""
    share = vector.get("params", {}).get("normalize")
    if share not in {None, "pred", "true"}:  # an option that no table takes
        fairness.classes(holistic_frame(vector["dataset"]), pred="y_pred", normalize=share)
    table, shape = counts(vector), vector["table"]
    cells = {(row["pred"], row["label"]): row["n"] for row in table.to_dicts()}
    cells = {(i, j): cells.get((i, j), 0) for i in shape["index"] for j in shape["columns"]}
    return spread(shares(cells, ["pred", "true"].index(share)) if share else cells, shape)


def shares(cells: dict[tuple[Any, Any], int], part: int) -> dict[tuple[Any, Any], float]:
    totals: dict[Any, int] = {}
    for key, n in cells.items():
        totals[key[part]] = totals.get(key[part], 0) + n
    return {key: n / totals[key[part]] if totals[key[part]] else nan for key, n in cells.items()}


def holistic_tensor(vector: dict[str, Any]) -> Any:
    cells = {(r["group"], r["pred"], r["label"]): r["n"] for r in counts(vector).to_dicts()}
    data = HOLISTIC["datasets"][vector["dataset"]]
    params = vector.get("params", {})
    groups = params.get("groups", sorted(set(data["p_attr"])))
    classes = params.get("classes", sorted({*data["y_pred"], *data["y_true"]}))
    if "table" in vector:
        flat = {
            (i, (g, j)): cells.get((g, i, j), 0) for g in groups for i in classes for j in classes
        }
        return spread(flat, vector["table"])
    return [[[cells.get((g, i, j), 0) for j in classes] for i in classes] for g in groups]


def holistic_frequency(vector: dict[str, Any]) -> dict[str, Any]:
    shape, normalize = vector["table"], vector["params"]["normalize"]
    if normalize == "group":
        frame = holistic_frame(vector["dataset"])
        return spread(
            by_group_and_class(fairness.frequency_by_class(frame, **holistic_roles(vector))), shape
        )
    cells = {(row["group"], row["pred"]): row["n"] for row in counts(vector).to_dicts()}
    cells = {(g, c): cells.get((g, c), 0) for g in shape["index"] for c in shape["columns"]}
    return spread(shares(cells, 1) if normalize == "class" else cells, shape)


def by_group_and_class(frame: pl.DataFrame) -> dict[tuple[Any, Any], float]:
    keys = zip(frame["group"].to_list(), frame["class"].to_list(), strict=True)
    values = (nan if value is None else value for value in frame[:, -1].to_list())
    return dict(zip(keys, values, strict=True))


def holistic_rate_matrix(vector: dict[str, Any]) -> dict[str, Any]:
    metric = {
        "precision_matrix": fairness.precision_by_class,
        "recall_matrix": fairness.recall_by_class,
    }[vector["function"]]
    frame = holistic_frame(vector["dataset"])
    return spread(by_group_and_class(metric(frame, **holistic_roles(vector))), vector["table"])


def holistic_accuracy_matrix(vector: dict[str, Any]) -> dict[str, Any]:
    """Accuracy of "is it this class?" for each group: the plain metric, once per class."""
    frame = holistic_frame(vector["dataset"])
    cells = {}
    for wanted in vector["table"]["columns"]:
        pred, label = pl.col("y_pred") == wanted, pl.col("y_true") == wanted
        values = fairness.accuracy(frame, pred=pred, label=label, by="p_attr")
        cells |= {(group, wanted): value for group, value in values.iter_rows()}
    return spread(cells, vector["table"])


REPLAY: dict[str, Callable[[dict[str, Any]], Any]] = {
    **dict.fromkeys(PAIR, holistic_pair),
    **dict.fromkeys(INDIVIDUAL, holistic_individual),
    **dict.fromkeys(CLASSES, holistic_classes),
    "success_rate": holistic_success,
    "classification_bias_metrics": holistic_summary,
    "multiclass_bias_metrics": holistic_class_summary,
    "confusion_matrix": holistic_confusion,
    "confusion_tensor": holistic_tensor,
    "frequency_matrix": holistic_frequency,
    "precision_matrix": holistic_rate_matrix,
    "recall_matrix": holistic_rate_matrix,
    "accuracy_matrix": holistic_accuracy_matrix,
}


def ours(vector: dict[str, Any]) -> Any:
    if "function" in vector:
        return REPLAY[vector["function"]](vector)
    return (jurity_binary if vector["target"].startswith("binary.") else jurity_multi)(vector)
