"""Fairlearn beside ours, where the definitions coincide."""

from typing import Any

import fairlearn.metrics as theirs
import numpy as np
import polars as pl
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import BaseEstimator

import polarsfair as pf
from polarsfair import fairness
from polarsfair.fairness.mitigation import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    GroupThresholds,
)
from tests.fairness.test_mitigation import people

ROLES: dict[str, Any] = {"label": "y", "pred": "p", "group": "g"}
ROWS = people(800, 9)

FIGURES = {
    fairness.stat_parity: theirs.demographic_parity_difference,
    fairness.disparate_impact: theirs.demographic_parity_ratio,
    fairness.equal_opportunity: theirs.equal_opportunity_difference,
    fairness.equalized_odds: theirs.equalized_odds_difference,
    pf.ratio(fairness.true_positive_rate): theirs.equal_opportunity_ratio,
}
CONSTRAINTS = {
    "equalized_odds": "equalized_odds",
    "equal_opportunity": "true_positive_rate_parity",
    "demographic_parity": "demographic_parity",
}


def figure(function: Any, rows: pl.DataFrame, pred: str = "p", weight: str | None = None) -> float:
    """Give what Fairlearn makes of the decisions in `pred`."""
    label, decision = (rows[name].cast(pl.Int64).to_numpy() for name in ("y", pred))
    return float(
        function(
            label,
            decision,
            sensitive_features=rows["g"].to_numpy(),
            sample_weight=None if weight is None else rows[weight].to_numpy(),
        )
    )


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("metric", FIGURES, ids=lambda metric: metric.name)
def test_figures_of_decisions(metric: pf.Metric, weight: str | None) -> None:
    ours = metric(ROWS, **ROLES, weight=weight)
    assert ours == pytest.approx(figure(FIGURES[metric], ROWS, weight=weight), abs=1e-12)


@pytest.mark.parametrize("goal", [EqualizedOdds, EqualOpportunity, DemographicParity])
def test_figures_of_a_repair(goal: Any) -> None:
    fair = goal().fit(ROWS, **ROLES)
    before = dict(fair.report.select("metric", "before").iter_rows())
    for metric in (fairness.stat_parity, fairness.equal_opportunity, fairness.equalized_odds):
        assert before[metric.name] == pytest.approx(figure(FIGURES[metric], ROWS), abs=1e-12)
    repaired = fair.transform(ROWS, key="id")
    after = fairness.equalized_odds(repaired, label="y", pred="fair_pred", group="g")
    theirs_after = figure(theirs.equalized_odds_difference, repaired, "fair_pred")
    assert after == pytest.approx(theirs_after, abs=1e-12)


def test_fairlearn_sees_equal_odds_after_the_repair() -> None:
    many = people(60_000, 4)
    repaired = EqualizedOdds().fit(many, **ROLES).transform(many, key="id")
    assert figure(theirs.equalized_odds_difference, many) > 0.2
    assert figure(theirs.equalized_odds_difference, repaired, "fair_pred") < 0.03


@pytest.mark.parametrize("parity", CONSTRAINTS)
def test_no_worse_than_the_threshold_optimizer(parity: Any) -> None:
    features, groups, label = ROWS.select("s").to_numpy(), ROWS["g"].to_numpy(), ROWS["y"]
    optimizer = ThresholdOptimizer(
        estimator=_Scores(),
        constraints=CONSTRAINTS[parity],
        prefit=True,
        predict_method="predict",
        grid_size=4000,
    )
    optimizer.fit(features, label.to_numpy(), sensitive_features=groups)
    chance = optimizer._pmf_predict(features, sensitive_features=groups)[:, 1]
    cost = float(np.where(label, 1 - chance, chance).mean())
    fair = GroupThresholds(parity, bins=None).fit(ROWS, label="y", score="s", group="g")
    ours = fair.report.filter(metric="cost")["after"].item()
    assert ours <= cost + 1e-9
    assert ours == pytest.approx(cost, abs=2e-3)
    selected = ROWS.with_columns(chance=pl.Series(chance)).group_by("g").agg(pl.mean("chance"))
    both = fair.achieved.join(selected, left_on="group", right_on="g")
    assert (both["selection_rate"] - both["chance"]).abs().max() < 0.05  # type: ignore[operator]


class _Scores(BaseEstimator):  # type: ignore[misc]
    """An estimator whose prediction is its only feature."""

    def fit(self, *_: Any) -> "_Scores":
        return self

    def predict(self, features: Any) -> Any:
        return np.asarray(features)[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return True
