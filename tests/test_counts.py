"""What a value is a value of: ``counts=True``, and the n of `by_group`.

Every metric's count equals one that its statement in `queries/` describes; more laws of counts are
in `test_laws`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from tests._counts import actual_counts, different_counts, expected_counts
from tests.test_laws import ASKED, draw, every_set, few, options_of, rates_of, weighted_sets
from tests.test_queries import PAIRS

if TYPE_CHECKING:
    from tests._oracle import Case

SEVERAL = 6
"""Combinations of options that are tried per case: few of them change a count."""

MASSES = "probabilities weighted"
"""A case whose rows of weight 0 cannot be told, in its statements, from those of probability 0."""


@pytest.mark.parametrize(
    ("metric", "case"), [pair for pair in PAIRS if pair.values[1].name != MASSES]
)
def test_count_equals_query(metric: pf.Metric, case: Case) -> None:
    wrong, requests = {}, list(case.requests(metric))
    for options in requests[:: -(-len(requests) // SEVERAL)]:
        ours, theirs = actual_counts(case, metric, options), expected_counts(case, metric, options)
        assert ours.keys() >= {key for key, n in theirs.items() if n and not metric.keys}
        if found := different_counts(ours, theirs):
            wrong[str(options)] = found
    assert not wrong, f"by option, then by key: (package, statement) = {wrong}"


# --- the table of the issue, by hand ------------------------------------------------------------

PEOPLE = pl.DataFrame(
    {
        "sex": ["F", "F", "F", "F", "M", "M", "M", None],
        "hired": [1, 1, 0, None, 1, 0, 0, 1],
        "fit": [1, 0, 1, 1, None, 0, 0, 1],
        "chance": [0.9, 0.6, None, 0.2, 0.7, 0.1, 0.4, 0.8],
    }
)
DECIDED: dict[str, Any] = {"group": "sex", "pred": "hired", "label": "fit"}


def n_of(metric: pf.Metric, frame: pl.DataFrame = PEOPLE, **roles: Any) -> Any:
    return pf.evaluate(frame, metric, counts=True, **roles)[f"{metric.name}_n"].item()


@pytest.mark.parametrize(
    ("metric", "n"),
    [
        (fairness.selection_rate, 7),
        (fairness.base_rate, 7),
        (fairness.true_positive_rate, 3),
        (fairness.false_positive_rate, 3),
        (fairness.precision, 3),
        (fairness.negative_predictive_value, 3),
        (fairness.f1, 4),
        (fairness.accuracy, 6),
        (fairness.balanced_accuracy, 6),
        (fairness.theil, 6),
        (fairness.theil_within, 5),
        (fairness.stat_parity, 6),
        # Of the men no one is positive, so that there is nothing to compare with.
        (fairness.equal_opportunity, 0),
        (fairness.predictive_equality, 3),
        (fairness.class_imbalance, 7),
        (pf.group_min(fairness.precision), 2),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_what_a_decision_metric_is_of(metric: pf.Metric, n: int) -> None:
    assert n_of(metric, **DECIDED) == n


def test_what_a_score_metric_is_of() -> None:
    roles = {"score": "chance", "label": "fit"}
    for metric in (fairness.auc, fairness.brier, fairness.expected_calibration_error):
        assert n_of(metric, **roles) == 6
    # The men have no positive: no curve, and no comparison.
    assert n_of(fairness.abroca, **roles, group="sex") == 0
    assert n_of(fairness.abroca, **roles, group=pl.col("fit").replace({0: 1}) * 0) == 0


def test_the_groups_that_take_part() -> None:
    frame = pl.DataFrame(
        {
            "g": ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + [None] * 5,
            "p": [1, 0, 1, 0, 0, 1, 1, None, None, 1, 1, 1, 1, 1],
        }
    )
    roles = {"group": "g", "pred": "p"}
    for ref in (None, "a", "b", pf.OVERALL, pf.REST):
        assert n_of(fairness.stat_parity, frame, **roles, ref=ref) == 7
    # Nothing is compared with a group that has no value.
    assert n_of(fairness.stat_parity, frame, **roles, ref="c") == 0
    alone = frame.filter(pl.col("g") == "a")
    assert n_of(fairness.stat_parity, alone, **roles) == 0
    assert n_of(fairness.stat_parity, alone, **roles, ref=pf.REST) == 0
    assert n_of(fairness.stat_parity, alone, **roles, ref=pf.OVERALL) == 4


RECS = pl.DataFrame(
    {
        "u": ["a", "a", "b", "b", "c", "d"],
        "i": ["x", "y", "x", "z", "y", "x"],
        "s": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
    }
)
ACTUAL = pl.DataFrame({"u": ["a", "b", "c", "e"], "i": ["x", "z", "q", "x"], "r": [1, 1, 0, 1]})
LISTS: dict[str, Any] = {
    "actual": ACTUAL,
    "user": "u",
    "item": "i",
    "score": "s",
    "relevance": "r",
    "k": 2,
}


@pytest.mark.parametrize(
    ("options", "n"),
    [
        ({}, 3),
        ({"empty": 0}, 4),
        ({"average_over": "both"}, 2),
        ({"average_over": "both", "empty": 0}, 3),
        ({"average_over": "all", "empty": 0}, 5),
        ({"convention": "spark"}, 5),
        ({"ties": "expected"}, 3),
    ],
    ids=str,
)
def test_users_that_a_quality_is_averaged_over(options: dict[str, Any], n: int) -> None:
    assert n_of(ranking.recall, RECS, **LISTS, **options) == n


def test_columns_average_over_different_users() -> None:
    found = pf.evaluate(RECS, [ranking.recall, ranking.precision], counts=True, **LISTS)
    assert found.columns == ["recall", "recall_n", "precision", "precision_n"]
    assert (found["recall_n"].item(), found["precision_n"].item()) == (3, 2)


def test_each_k_has_its_users() -> None:
    cut = {**LISTS, "k": [1, 2], "average_over": "all", "empty": 0}
    metrics = [ranking.recall, ranking.ndcg, ranking.intra_list_diversity]
    items = pl.DataFrame({"i": ["x", "y", "z"], "v": [0.0, 1.0, 2.0]})
    for rows in (RECS, RECS.lazy()):
        found = pf.evaluate(rows, metrics, counts=True, items=items, features="v", **cut)
        n = found.lazy().collect().select("k", pl.col("^.*_n$"))
        assert n.rows() == [(1, 5, 5, 0), (2, 5, 5, 2)]


def test_what_a_catalogue_metric_is_of() -> None:
    roles = {"user": "u", "item": "i", "score": "s"}
    items = pl.DataFrame({"i": ["x", "y", "z", "q", "r"]})
    assert n_of(ranking.coverage, RECS, **roles, items=items) == 5
    assert n_of(ranking.gini, RECS, **roles, items=items) == 5
    assert n_of(ranking.coverage, RECS, **roles) == 3
    assert n_of(ranking.novelty, RECS, **roles) == 4
    assert n_of(ranking.long_tail_share, RECS, **roles, items=items) == 6
    assert n_of(ranking.inter_list_diversity, RECS, **roles) == 4
    found = pf.evaluate(
        RECS, [ranking.coverage, ranking.novelty], counts=True, **{**roles, "k": [1, 2]}
    )
    assert found["coverage_n"].to_list() == [3, 3]
    assert found["novelty_n"].to_list() == [4, 4]


def test_what_a_clustering_metric_is_of() -> None:
    frame = pl.DataFrame(
        {
            "c": [1, 1, 2, 2, 2, None],
            "y": ["a", "b", "b", "b", None, "a"],
            "x": [0.0, 1.0, 5.0, 6.0, 7.0, 8.0],
        }
    )
    roles = {"cluster": "c", "label": "y"}
    assert n_of(clustering.maximum_matching, frame, **roles) == 4
    assert n_of(clustering.adjusted_rand, frame, **roles) == 4
    assert n_of(clustering.entropy, frame, **roles) == 5
    assert n_of(clustering.silhouette, frame, cluster="c", features="x") == 5
    assert n_of(clustering.dunn, frame, cluster="c", features="x") == 5
    each = pf.evaluate(frame, clustering.purity_by_cluster, counts=True, **roles)
    assert each["purity_by_cluster_n"].to_list() == [2, 2]


def test_groups_that_are_probabilities_count_the_rows_that_may_be_theirs() -> None:
    frame = pl.DataFrame({"p": [1, 0, 1], "f": [1.0, 0.5, 0.0], "m": [0.0, 0.5, 1.0]})
    found = pf.by_group(frame, fairness.selection_rate, group={"F": "f", "M": "m"}, pred="p")
    assert found["n"].to_list() == [2, 2]


# --- laws -----------------------------------------------------------------------------------------


@every_set
@few
@given(data=st.data())
def test_counts_stand_beside_the_same_values(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    for options in options_of(name):
        values = pf.evaluate(rows, ASKED[name], **roles, by="d", **options)
        beside = pf.evaluate(rows, ASKED[name], **roles, by="d", counts=True, **options)
        names = [metric.name for metric in ASKED[name]]
        keys = [column for column in values.columns if column not in names]
        assert beside.columns == [*keys, *(n for name in names for n in (name, f"{name}_n"))]
        assert_frame_equal(beside.select(values.columns), values, rel_tol=1e-9, abs_tol=1e-9)
        counts = beside.select(pl.col([f"{name}_n" for name in names]))
        assert all((column.drop_nulls() >= 0).all() for column in counts)


@weighted_sets
@few
@given(data=st.data())
def test_weights_do_not_count(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    weight = pl.col("w") + 1
    for options in options_of(name):
        weighted = pf.evaluate(
            rows, ASKED[name], **roles, by="d", weight=weight, counts=True, **options
        )
        plain = pf.evaluate(rows, ASKED[name], **roles, by="d", counts=True, **options)
        names = [f"{metric.name}_n" for metric in ASKED[name]]
        assert_frame_equal(weighted.select(names), plain.select(names))


@pytest.mark.parametrize("name", [name for name in ASKED if rates_of(name)])
@few
@given(data=st.data())
def test_the_n_of_a_group_is_that_of_its_rows(name: str, data: st.DataObject) -> None:
    rows, roles = draw(data, name)
    rates = [rate for rate in rates_of(name) if not rate.keys]
    if not rates:
        return
    found = pf.by_group(rows, rates, **roles)
    whole = {key: value for key, value in roles.items() if key != "group"}
    sliced = pf.evaluate(rows, rates, by=pl.col("g").alias("slice"), counts=True, **whole)
    for rate in rates:
        shown = found.filter(pl.col("metric") == rate.name)
        theirs = dict(zip(sliced["slice"], sliced[f"{rate.name}_n"], strict=True))
        ours = dict(zip(shown["group"], shown["n"], strict=True))
        assert theirs.items() <= ours.items()
        # The catalogue has a line of the unknown group even if no user's group is unknown.
        assert ours.keys() - theirs.keys() <= {None}


def test_counts_are_exact_beyond_32_bits_and_floats() -> None:
    many = 2**53 + 1
    table = pl.DataFrame({"pred": [True, False], "label": [True, True], "n": [many, 2**33]})
    metrics = [fairness.selection_rate, fairness.true_positive_rate, fairness.precision]
    found = pf.measure(table, metrics, counts=True)
    assert found.row(0)[1::2] == (many + 2**33, many + 2**33, many)


def test_a_slice_that_lacks_a_class_has_no_count() -> None:
    frame = pl.DataFrame({"g": ["a", "a", "b"], "p": ["x", "y", "x"], "y": ["x", "x", "z"]})
    roles = {"group": "g", "pred": "p", "label": "y"}
    both = [fairness.precision_by_class, fairness.recall_by_class]
    found = pf.evaluate(frame, both, counts=True, **roles)
    assert found.select("group", "class", "precision_by_class_n", "recall_by_class_n").rows() == [
        ("a", "x", 1, 2), ("a", "y", 1, 0), ("a", "z", 0, 0),
        ("b", "x", 1, 0), ("b", "y", 0, 0), ("b", "z", 0, 1),
    ]  # fmt: skip


# --- bad input ------------------------------------------------------------------------------------


def test_a_count_that_would_be_called_like_another_column() -> None:
    lazy = PEOPLE.lazy()
    taken = "two columns would be called 'f1_n'"
    with pytest.raises(ValueError, match=taken):
        pf.evaluate(lazy, fairness.f1, by=pl.col("sex").alias("f1_n"), counts=True, **DECIDED)
    both = [fairness.f1, fairness.precision.alias("f1_n")]
    with pytest.raises(ValueError, match=taken):
        pf.evaluate(lazy, both, counts=True, **DECIDED)
    table = fairness.decisions(lazy, **DECIDED, by=pl.col("sex").alias("f1_n"))
    with pytest.raises(ValueError, match=taken):
        pf.measure(table, fairness.f1, by="f1_n", counts=True)
    assert pf.evaluate(PEOPLE, both, **DECIDED).columns == ["f1", "f1_n"]


@pytest.mark.parametrize("name", ["^x$", "*", "<b>", "n", "ж"])
def test_a_metric_may_be_called_anything(name: str) -> None:
    metric = fairness.f1.alias(name)
    found = pf.evaluate(PEOPLE, [metric, fairness.auc], counts=True, **DECIDED, score="chance")
    assert found.columns == [name, f"{name}_n", "auc", "auc_n"]
    assert found.row(0) == (pytest.approx(2 / 3), 4, pytest.approx(7 / 9), 6)
    assert pf.evaluate(PEOPLE, metric, **DECIDED).row(0) == (pytest.approx(2 / 3),)
    shown = pf.by_group(PEOPLE, metric, **DECIDED)
    assert shown.select("group", "metric", "n", "value").rows() == [
        (None, name, 1, 1.0), ("F", name, 3, 0.5), ("M", name, 0, None),
    ]  # fmt: skip


def test_one_metric_is_a_number() -> None:
    with pytest.raises(TypeError, match=r"pf\.evaluate\(df, fairness\.f1, counts=True"):
        fairness.f1(PEOPLE, counts=True, **DECIDED)


@pytest.mark.parametrize("counts", [1, "yes", None])
def test_counts_is_true_or_false(counts: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"`counts` is True or False, got {counts!r}")):
        pf.evaluate(PEOPLE, fairness.f1, counts=counts, **DECIDED)
