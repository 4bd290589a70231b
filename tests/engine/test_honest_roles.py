"""Roles are honest: each exists, and one that changes a value is read or refused."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from polarsfair._engine.request import HONEST, unread_roles
from polarsfair._typing import FRAME_ROLES, ROLES
from tests._mixed import CALLS, EVERY

MAKES = [pytest.param(pl.DataFrame.clone, id="eager"), pytest.param(pl.DataFrame.lazy, id="lazy")]
every_metric = pytest.mark.parametrize(
    ("name", "metric"), EVERY, ids=[f"{n}-{m.name}" for n, m in EVERY]
)


@every_metric
def test_weight_is_read_or_refused(name: str, metric: pf.Metric) -> None:
    call = CALLS[name]
    rows = call.rows.lazy().with_columns(heavy=pl.lit(2))
    keywords = call.of([metric], weight="heavy")
    if "weight" in metric.tally.roles:
        pf.evaluate(rows, metric, **keywords)
        return
    expected = rf"`weight` is not read by `{metric.name}`: leave out `weight=...`$"
    with pytest.raises(TypeError, match=expected):
        pf.evaluate(rows, metric, **keywords)


@pytest.mark.parametrize("role", HONEST)
@every_metric
def test_a_role_that_changes_a_value_is_read_or_refused(
    name: str, metric: pf.Metric, role: str
) -> None:
    call = CALLS[name]
    keywords = {**call.of([metric]), role: "d"}
    if role in metric.tally.roles:
        assert role not in unread_roles([metric], keywords)
        return
    expected = rf"`{role}` is not read by `{metric.name}`: leave out `{role}=...`"
    with pytest.raises(TypeError, match=expected):
        pf.evaluate(call.rows.lazy(), metric, **keywords)


@every_metric
def test_a_column_of_a_role_that_goes_unread_exists(name: str, metric: pf.Metric) -> None:
    call = CALLS[name]
    for role in {*ROLES} - {*FRAME_ROLES} - {*call.roles} - {*metric.tally.roles}:
        with pytest.raises(ColumnNotFoundError, match=f"`{role}` names the column 'zzz'"):
            pf.evaluate(call.rows.lazy(), metric, **call.of([metric]), **{role: "zzz"})


@pytest.mark.parametrize("make", MAKES)
def test_every_metric_of_the_call_reads_the_weight(make: Any) -> None:
    call = CALLS["people"]
    rows = make(call.rows)
    weighted: list[pf.Metric] = [fairness.accuracy, fairness.auc, clustering.purity]
    pf.evaluate(rows, weighted, **call.of(weighted, weight="w"))
    mixed = [*weighted, fairness.consistency]
    instead = "leave out `weight=...`, or evaluate these metrics in a call without it"
    with pytest.raises(TypeError, match=f"`weight` is not read by `consistency`: {instead}"):
        pf.evaluate(rows, mixed, **call.of(mixed, weight="w"))


@pytest.mark.parametrize("make", MAKES)
def test_a_list_of_recommendations_has_no_weight(make: Any) -> None:
    """`ndcg(..., weight="w")` was unweighted without a word."""
    recs = make(pl.DataFrame({"u": [1], "i": [7], "s": [0.5], "w": [2], "g": ["a"]}))
    roles: dict[str, Any] = {"actual": recs, "user": "u", "item": "i", "score": "s"}
    gap = pf.difference(ranking.ndcg)
    for metric in (ranking.ndcg, gap, ranking.ndcg.bind(gain="linear"), ranking.coverage):
        named = metric.name
        with pytest.raises(TypeError, match=f"`weight` is not read by `{named}`: leave out"):
            metric(recs, **roles, weight="w", group="g", relevance="w")
    with pytest.raises(TypeError, match="`weight` is not read by `ndcg`"):
        pf.by_group(recs, ranking.ndcg, **roles, weight="w", group="g")
    with pytest.raises(TypeError, match="`weight` is not read by `ndcg`"):
        ranking.per_user(recs, recs, ranking.ndcg, user="u", item="i", score="s", weight="w")


@pytest.mark.parametrize("make", MAKES)
def test_one_metric_that_reads_a_role_is_enough(make: Any) -> None:
    call = CALLS["people"]
    rows = make(call.rows)
    strata = fairness.conditional_demographic_disparity
    metrics: list[pf.Metric] = [fairness.stat_parity, strata]
    keywords = call.of(metrics)
    found = pf.evaluate(rows, metrics, **keywords).lazy().collect()
    assert found[strata.name].item() == pytest.approx(strata(call.rows, **call.of([strata])))
    with pytest.raises(TypeError, match="`strata` is not read by `stat_parity`, `accuracy`"):
        pf.evaluate(rows, [fairness.stat_parity, fairness.accuracy], **keywords)
    recs = make(pl.DataFrame({"u": [1], "i": [7], "s": [0.5], "y": [1], "chance": [0.5]}))
    roles: dict[str, Any] = {"actual": recs, "user": "u", "item": "i", "score": "s"}
    for metric in (ranking.ndcg, ranking.coverage):
        with pytest.raises(TypeError, match="`propensity` is not read by"):
            metric(recs, **roles, propensity="chance", relevance="y")
        both = [metric, ranking.ctr_ips]
        pf.evaluate(recs, both, **roles, propensity="chance", relevance="y")


def test_a_missing_column_comes_before_a_role_that_is_not_read() -> None:
    frame = pl.LazyFrame({"p": [1]})
    with pytest.raises(ColumnNotFoundError, match="`weight` names the column 'zzz'"):
        fairness.consistency(frame, pred="p", features="p", weight="zzz")
    with pytest.raises(TypeError, match=r"`unit` takes a column name or a `pl.Expr`, got int"):
        fairness.selection_rate(frame, pred="p", unit=3)  # type: ignore[call-overload]


def test_other_roles_may_go_unread_so_that_one_set_of_keywords_serves_many_calls() -> None:
    call = CALLS["people"]
    roles = {k: v for k, v in call.roles.items() if k != "strata"}
    score, label = roles["score"], roles["label"]
    assert fairness.auc(call.rows, **roles) == fairness.auc(call.rows, score=score, label=label)
    assert fairness.selection_rate(call.rows, pred="p", group="g") == fairness.selection_rate(
        call.rows, pred="p"
    )


def test_what_no_metric_of_a_call_reads() -> None:
    """On the command line every role flag is read by a metric."""
    given: dict[str, Any] = {"group": "g", "pred": "p", "label": "y", "score": None, "ref": "a"}
    assert unread_roles([fairness.selection_rate], given) == ["group", "label"]
    assert unread_roles([fairness.selection_rate], given, grouped=True) == ["label"]
    assert unread_roles([fairness.selection_rate, fairness.equal_opportunity], given) == []
    decided = {"pred": "p", "label": "y", "score": "s"}
    assert unread_roles([fairness.generalized_entropy], decided) == ["score"]
    assert unread_roles([fairness.generalized_entropy], {"score": "s", "label": "y"}) == []
    ranked = {"user": "u", "item": "i", "score": "s", "weight": "w", "group": "g", "actual": 1}
    assert unread_roles([ranking.ndcg], ranked) == ["weight", "group"]
    assert unread_roles([ranking.coverage, pf.difference(ranking.ndcg)], ranked) == ["weight"]


@every_metric
def test_roles_that_a_metric_needs_or_documents_are_read(name: str, metric: pf.Metric) -> None:
    del name
    needed = {role: role for role in metric.roles}
    assert unread_roles([metric], needed) == []
    for role in {*metric.all_roles} & {*metric.tally.roles}:
        assert unread_roles([metric], {**needed, role: role}) == []
