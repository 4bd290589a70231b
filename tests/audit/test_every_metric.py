"""Audits of every metric: values are those of `evaluate`, and limits hold them."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polarsfair as pf
from tests.test_laws import ASKED, draw, every_set

few = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FEW_DRAWS = 200


def compares(metric: pf.Metric) -> bool:
    return bool(metric.bases) or "group" in metric.roles


@every_set
@few
@given(data=st.data())
def test_intervals_hold_the_values_of_evaluate(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    rates = [m for m in ASKED[name] if not compares(m) and "group" not in m.keys]
    if not rates:
        return
    roles = {role: value for role, value in roles.items() if role != "group"}
    found = pf.interval(rows, rates, draws=FEW_DRAWS, **roles)
    values = pf.evaluate(rows, rates, **roles)
    keys = list(rates[0].result_keys)
    for metric in rates:
        own = found.filter(pl.col("metric") == metric.name)
        if keys or own.height:
            expected = values.select(*keys, value=metric.name)
            assert_frame_equal(own.select(*keys, "value"), expected, rel_tol=1e-9, abs_tol=1e-12)
        limited = own.drop_nulls(["value", "low", "high"]).filter(pl.col("value").is_finite())
        assert (limited["low"] <= limited["value"] + 1e-12).all()
        assert (limited["high"] >= limited["value"] - 1e-12).all()
        low, high = metric.bounds
        assert limited["low"].is_between(low - 1e-9, high + 1e-9).all()


@every_set
@few
@given(data=st.data())
def test_gaps_and_groups_are_those_of_the_engine(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    metrics = [
        metric for metric in ASKED[name] if metric.tally.mergeable and "group" not in metric.keys
    ]
    if "group" not in roles or not metrics or not rows["g"].drop_nulls().len():
        return
    plain = {role: value for role, value in roles.items() if role != "group"}
    found = pf.audit(rows, group="g", metrics=metrics, min_n=0, adjust="none", draws=0, **plain)
    compared = [metric for metric in metrics if compares(metric)]
    if compared:
        values = pf.evaluate(rows, compared, **roles)
        for metric in compared:
            own = found.filter(pl.col("metric") == metric.name)
            assert own["scope"].unique().to_list() in (["gap"], [])
            if not metric.result_keys:
                assert_values(own["value"], values[metric.name], metric)
    rates = [metric for metric in metrics if not compares(metric) and "group" in metric.tally.cells]
    if rates:
        groups = found.filter(pl.col("scope") == "group")
        # A slice without a recommendation is none; a group of the ground truth alone has a line.
        theirs = pf.by_group(rows, rates, **roles).filter(
            pl.col("group").is_in(groups["group"].implode(), nulls_equal=True)
        )
        keys = ["metric", *rates[0].result_keys, "group"]
        columns = [*keys, "n", "value"]
        ours = groups.filter(pl.col("metric").is_in([m.name for m in rates]))
        assert_frame_equal(
            ours.select(columns).sort(keys),
            theirs.select(columns).sort(keys),
            rel_tol=1e-9,
            abs_tol=1e-9,
        )


def assert_values(ours: pl.Series, theirs: pl.Series, metric: Any) -> None:
    both = [one.fill_null(math.nan).to_list() for one in (ours, theirs)]
    assert both[0] == pytest.approx(both[1], rel=1e-9, abs=1e-9, nan_ok=True)
