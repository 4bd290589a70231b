"""Recorded calls of Jurity on pairs and diversity, and of HolisticAI on recommenders, replayed.

Matrices become long frames, and what is shown of them (the largest scores, or those above a
threshold) is the caller's to say. `OTHERWISE` is the one place that says by name where the package
answers something else, and why.
"""

import json
import math
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import ranking

FOLDER = Path(__file__).parents[1] / "vectors"
JURITY = json.loads((FOLDER / "jurity_outcomes.json").read_text(encoding="utf-8"))
HOLISTIC = json.loads((FOLDER / "holisticai_recommender.json").read_text(encoding="utf-8"))
PAIRS = {v["id"]: v for v in JURITY["vectors"]}
MATRICES = {v["id"]: v for v in HOLISTIC["vectors"]}
nan, inf = math.nan, math.inf
FLOATS = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}

OTHERWISE: dict[str, tuple[str, Any]] = {
    # Repeated pairs: once each here; there every combination of their rows.
    "AUC-dup-actual": ("a pair that is logged twice counts once", 0.5),
    "AUC-dup-predicted": ("a pair that is listed twice counts once", 0.5),
    "CTR-dup-actual": ("a pair that is logged twice counts once", 2 / 3),
    "CTR-dup-predicted": ("a pair that is listed twice counts once", 2 / 3),
    "IPS-dup-actual": ("a pair that is logged twice counts once, with its higher outcome", 2.0),
    "IPS-dup-predicted": ("a pair that is listed twice is two rows, one of them a match", 4 / 3),
    "DR-dup-actual": ("a pair that is logged twice counts once, with its higher outcome", 1.15),
    "DR-dup-predicted": ("a pair that is listed twice is two rows, one of them a match", 1.0),
    "InterList-dup-items": ("an item is in a list or not, however often it is listed", 0.5),
    "IntraList-dup-items": ("an item that is listed twice is compared once", 0.5285954792089684),
    # What is not known takes no part.
    "AUC-nan-score": ("a match without a score is left out", 0.0),
    "AUC-nan-click": ("a pair of unknown outcome is no match", 0.0),
    "CTR-nan-click": ("a pair of unknown outcome is no match", 0.5),
    "IntraList-unknown-item": ("an item without features is compared with nothing", 1.0),
    "AUC-k0": ("k is at least 1", ValueError),
    "CTR-k0": ("k is at least 1", ValueError),
    # More places than items: all of them are shown, each to five users.
    "aggregate_diversity/S1/top=5": ("k may be more than there are", 1.0),
    "gini_index/S1/top=5": ("k may be more than there are", 0.0),
    "exposure_entropy/S1/top=5": ("k may be more than there are", math.log(4)),
    "avg_recommendation_popularity/S1/top=5": ("k may be more than there are", 5.0),
    "exposure_l1/S1/thresh=2.0": ("nothing is shown: undefined, no error", nan),
    "recommender_bias_metrics/S1/metric_type=all#2": ("what is of items needs no groups", 1.0),
}


def expected(vector: dict[str, Any]) -> Any:
    """The recorded answer, None as nan, strings as the floats that they stand for."""
    value = vector["value"]
    if isinstance(value, dict):
        return {name: FLOATS.get(part, part) for name, part in value.items()}
    return nan if value is None else FLOATS.get(value, value)


def same(ours: float, theirs: Any) -> bool:
    return math.isnan(ours) if math.isnan(theirs) else ours == pytest.approx(theirs, abs=1e-12)


# Jurity: AUC, click-through rates, diversity

ESTIMATES = {
    None: ranking.ctr,
    "matching": ranking.ctr,
    "ips": ranking.ctr_ips,
    "dr": ranking.ctr_dr,
}
NAMES = {"auc", "ctr", "inter-list diversity", "intra-list diversity"}
SAMPLED = ("sample", "bad-", "euclidean", "manhattan", "jaccard", "InterList-batch")
"""Calls about samples of users, other distances, and checks of options that do not exist here."""


def frame(number: int | None) -> pl.DataFrame:
    columns = JURITY["frames"][number] if number is not None else {"user_id": [], "item_id": []}
    plain = {name: [FLOATS.get(x, x) for x in values] for name, values in columns.items()}
    made = pl.DataFrame(plain, strict=False)
    users = [n for n in made.columns if n.startswith("user") and made[n].dtype.is_float()]
    return made.with_columns(pl.col(users).fill_nan(None).cast(pl.Int64))


def asked(vector: dict[str, Any], actual: int | None) -> tuple[pf.Metric, dict[str, Any]]:
    """Say a recorded call as a metric and its roles and options."""
    init = vector["init"]
    click = init["click_column"]
    roles = {"user": init.get("user_id_column", "user_id"), "score": click, "k": init.get("k")}
    roles["item"] = init.get("item_id_column", "item_id")
    if vector["metric"] == "InterListDiversity":
        return ranking.inter_list_diversity, roles
    if vector["metric"] == "IntraListDiversity":
        items = frame(init["item_features"])
        features = [name for name in items.columns if name != roles["item"]]
        return ranking.intra_list_diversity, roles | {"items": items, "features": features}
    roles["relevance"] = click
    if vector["metric"] == "AUC":
        return ranking.auc, roles
    metric = ESTIMATES[init.get("estimation")]
    chance = init.get("propensity_column", "propensity")
    if chance in frame(actual).columns:
        roles["propensity"] = chance
    if "value_column" in init:
        roles["value"] = init["value_column"]
        roles |= {"predicted": init["value_column"]} if metric is ranking.ctr_dr else {}
    return metric, roles


def table(vector: dict[str, Any], actual: int | None, predicted: int) -> pl.DataFrame:
    metric, roles = asked(vector, actual)
    given = {} if actual is None else {"actual": frame(actual)}
    return metric.tally(frame(predicted), **given, **roles)


def answer(vector: dict[str, Any], actual: int | None, predicted: int) -> float:
    metric, roles = asked(vector, actual)
    given = {} if actual is None else {"actual": frame(actual)}
    return metric(frame(predicted), **given, **roles)


SUPPORT = {"AUC": "pairs", "InterListDiversity": "lists", "IntraListDiversity": "users"}


def support(vector: dict[str, Any], made: pl.DataFrame) -> int:
    estimate = vector["init"].get("estimation") in ("ips", "dr")
    return made[SUPPORT.get(vector["metric"], "n" if estimate else "pairs")].sum()


SINGLE = [
    name
    for name, vector in PAIRS.items()
    if "batches" not in vector and not any(word in name for word in SAMPLED)
]


@pytest.mark.parametrize("name", SINGLE)
def test_jurity_calls(name: str) -> None:
    vector = PAIRS[name]
    actual, predicted = vector["actual"], vector["predicted"]
    if name in OTHERWISE:
        _, ours = OTHERWISE[name]
        if isinstance(ours, type):
            with pytest.raises(ours):
                answer(vector, actual, predicted)
            return
        assert same(answer(vector, actual, predicted), ours)
        if "value" in vector:
            assert not same(ours, value_of(expected(vector))), "it agrees: take it off the list"
        return
    if "raises" in vector:
        with pytest.raises((ValueError, TypeError, pl.exceptions.ColumnNotFoundError)):
            answer(vector, actual, predicted)
        return
    theirs = expected(vector)
    assert same(answer(vector, actual, predicted), value_of(theirs))
    if isinstance(theirs, dict) and "quirk" not in vector:
        assert support(vector, table(vector, actual, predicted)) == theirs["support"]


def value_of(theirs: Any) -> float:
    if isinstance(theirs, dict):
        return next(part for name, part in theirs.items() if name in NAMES)
    return theirs


@pytest.mark.parametrize("name", [name for name, vector in PAIRS.items() if "batches" in vector])
def test_jurity_batches_are_merged_tables(name: str) -> None:
    vector = PAIRS[name]
    batches = vector["batches"]
    metric, roles = asked(vector, batches[0][0])
    tables = [table(vector, *batch) for batch in batches]
    values = vector.get("value", [[None, None]])
    for end, (alone, together) in enumerate(values, 1):
        for made, theirs in ((tables[end - 1 : end], alone), (tables[:end], together)):
            merged = pf.measure(made, [metric], k=roles["k"]).item()
            recorded = value_of(expected({"value": theirs}))
            assert same(nan if merged is None else merged, recorded)


def test_every_jurity_call_is_replayed_or_named() -> None:
    left = [n for n in PAIRS if n not in SINGLE and "batches" not in PAIRS[n]]
    assert all(any(word in name for word in SAMPLED) for name in left)
    assert set(OTHERWISE) <= {*SINGLE, *MATRICES}


# HolisticAI: matrices of scores

ITEM_BASED = {
    "aggregate_diversity": ranking.aggregate_diversity,
    "gini_index": ranking.gini,
    "exposure_entropy": ranking.exposure_entropy,
    "avg_recommendation_popularity": ranking.average_popularity,
}
RATIOS = {
    "avg_precision_ratio": ranking.precision,
    "avg_recall_ratio": ranking.recall,
    "avg_f1_ratio": ranking.f1,
}
ERRORS = {
    "recommender_rmse_ratio": ranking.rmse_ratio,
    "recommender_mae_ratio": ranking.mae_ratio,
}
BETWEEN = {
    "exposure_l1": ranking.exposure_total_variation,
    "exposure_kl": ranking.exposure_kl,
}
ROLES = {"user": "user", "item": "item", "score": "score"}
TITLES = {
    "Aggregate Diversity": "aggregate_diversity",
    "GINI index": "gini_index",
    "Exposure Distribution Entropy": "exposure_entropy",
    "Average Recommendation Popularity": "avg_recommendation_popularity",
    "Mean Absolute Deviation": "mad_score",
    "Exposure Total Variation": "exposure_l1",
    "Exposure KL Divergence": "exposure_kl",
    "Average Precision Ratio": "avg_precision_ratio",
    "Average Recall Ratio": "avg_recall_ratio",
    "Average F1 Ratio": "avg_f1_ratio",
    "Recommender RMSE Ratio": "recommender_rmse_ratio",
    "Recommender MAE Ratio": "recommender_mae_ratio",
}


class Matrices:
    """The arrays of a recorded call, scaled as it asks."""

    def __init__(self, vector: dict[str, Any]) -> None:
        data = HOLISTIC["datasets"][vector["dataset"]]
        self.params = vector["params"]
        given = {name: data[column] for name, column in vector["args"].items()}
        numbers = {
            name: [[float(FLOATS.get(x, x)) for x in row] for row in given[name]]
            for name in ("mat_pred", "mat_true")
            if name in given
        }
        if self.params.get("normalize"):
            known = [x for x in chain(*chain(*numbers.values())) if not math.isnan(x)]
            low, high = min(known), max(known)
            for name, rows in numbers.items():
                numbers[name] = [[(x - low) / (high - low) for x in row] for row in rows]
        self.pred, self.true = numbers["mat_pred"], numbers.get("mat_true", [])
        sides = zip(given.get("group_a", ()), given.get("group_b", ()), strict=True)
        self.groups = ["a" if a else "b" if b else None for a, b in sides]
        self.items = pl.DataFrame({"item": range(len(self.pred[0]))})
        self.users = pl.DataFrame({"user": range(len(self.groups)), "side": self.groups})

    def rows_of(self, *sides: str) -> list[list[int]]:
        """The users of each side; without sides, all of them together."""
        every = range(len(self.pred))
        return [[u for u in every if self.groups[u] == side] for side in sides] or [list(every)]

    def shown(self, matrix: list[list[float]], *sides: str) -> pl.DataFrame:
        """What is shown of a matrix; the rules look at all rows that they are given at once."""
        parts = [self._shown(matrix, users) for users in self.rows_of(*sides)]
        return pl.concat([scored([]), *parts])

    def _shown(self, matrix: list[list[float]], users: list[int]) -> pl.DataFrame:
        cells = [(u, i, x) for u in users for i, x in enumerate(matrix[u])]
        if all(x in (0.0, 1.0) for _, _, x in cells):
            return scored([cell for cell in cells if cell[2] == 1.0])
        if "top" in self.params:
            place = pl.col("score").rank("ordinal", descending=True).over("user")
            return scored(cells).filter(place <= self.params["top"])
        return scored([cell for cell in cells if cell[2] >= self.params.get("thresh", 0.5)])


def scored(cells: list[tuple[int, int, float]]) -> pl.DataFrame:
    schema = {"user": pl.Int64, "item": pl.Int64, "score": pl.Float64}
    return pl.DataFrame(cells, schema=schema, orient="row")


def known(matrix: list[list[float]]) -> pl.DataFrame:
    cells = [(u, i, x) for u, row in enumerate(matrix) for i, x in enumerate(row)]
    return scored(cells).filter(pl.col("score").is_not_nan())


def replayed(function: str, data: Matrices) -> float:
    """Answer a recorded call with the package."""
    sides = {"group": "side", "users": data.users, "ref": "b"}
    if function in ITEM_BASED:
        shown = data.shown(data.pred)
        return ITEM_BASED[function](shown, items=data.items, user="user", item="item")
    if function in BETWEEN:
        split = ("a", "b") if function == "exposure_kl" else ()
        shown = data.shown(data.pred, *split)
        return BETWEEN[function](shown, user="user", item="item", **sides)
    if function == "mad_score":
        return ranking.mad(known(data.pred), **ROLES, **sides)
    if function in ERRORS:
        actual = known(data.true).rename({"score": "value"})
        return ERRORS[function](known(data.pred), actual, **ROLES, value="value", **sides)
    shown, relevant = data.shown(data.pred, "a", "b"), data.shown(data.true, "a", "b")
    # Users of whom nothing is shown or relevant count with 0: a row of no relevance keeps them.
    there = data.users.select("user", item=pl.lit(-1, dtype=pl.Int64), relevant=pl.lit(0.0))
    truth = pl.concat([relevant.select("user", "item", relevant=pl.lit(1.0)), there])
    metric = ranking.ratio(RATIOS[function]).bind(average_over="all", empty=0)
    return metric(shown, truth, **ROLES, relevance="relevant", **sides)


@pytest.mark.parametrize("name", [n for n, v in MATRICES.items() if "tie_dependent" not in v])
def test_holisticai_calls(name: str) -> None:
    vector = MATRICES[name]
    if name in OTHERWISE:
        _, ours = OTHERWISE[name]
        table_of = {"recommender_bias_metrics": "aggregate_diversity"}
        function = table_of.get(vector["function"], vector["function"])
        assert same(replayed(function, Matrices(vector)), ours)
        return
    theirs = expected(vector)
    if isinstance(theirs, dict):
        data = Matrices(vector)
        for title, value in theirs.items():
            assert same(replayed(TITLES[title], data), value), title
        return
    assert same(replayed(vector["function"], Matrices(vector)), theirs)
