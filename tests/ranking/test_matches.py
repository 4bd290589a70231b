"""Matched pairs: worked cases, what merges, and what is refused, eager and lazy."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import ranking

RECS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "item": [10, 11, 12, 10, 13, 14],
        "score": [0.9, 0.5, 0.5, 0.7, 0.2, 0.8],
        "guess": [0.5, 0.25, 0.0, 1.0, 0.5, 0.5],
        "sex": ["F", "F", "F", "M", "M", "M"],
    }
)
ACTUAL = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 4],
        "item": [10, 11, 12, 10, 10],
        "click": [1, 0, 1, 0, 1],
        "chance": [0.5, 0.25, 1.0, 0.2, 0.1],
        "stars": [4.0, 1.0, 5.0, 2.0, 3.0],
    }
)
ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score", "relevance": "click"}
ESTIMATES = [ranking.ctr, ranking.ctr_ips, ranking.ctr_snips, ranking.ctr_dr]


def test_click_through_rates_by_hand() -> None:
    # Matches: (1, 10) clicked, (1, 11) not, (1, 12) clicked, (2, 10) not; six recommendations.
    given = ROLES | {"propensity": "chance", "predicted": "guess"}
    found = pf.evaluate(RECS, [*ESTIMATES, ranking.ctr_effective_size], actual=ACTUAL, **given)
    weights = [2, 4, 1, 5]
    corrections = [(1 - 0.5) * 2, (0 - 0.25) * 4, 1.0, (0 - 1) * 5]
    assert found.row(0) == pytest.approx(
        (
            0.5,
            (2 + 1) / 6,
            (2 + 1) / 12,
            (0.5 + 0.25 + 1 + 0.5 + 0.5 + sum(corrections)) / 6,
            12**2 / sum(w * w for w in weights),
        )
    )


def test_the_default_propensity_is_one_over_the_items_of_actual() -> None:
    # Three items: every match weighs 3.
    assert RECS.pipe(ranking.ctr_ips, ACTUAL, **ROLES) == pytest.approx(3 * 2 / 6)
    assert RECS.pipe(ranking.ctr_effective_size, ACTUAL, **ROLES) == pytest.approx(4)
    alike = ROLES | {"propensity": pl.lit(1 / 3)}
    assert RECS.pipe(ranking.ctr_ips, ACTUAL, **alike) == pytest.approx(3 * 2 / 6)


def test_value_is_averaged_as_it_is() -> None:
    rated = ROLES | {"value": "stars"}
    assert RECS.pipe(ranking.ctr, ACTUAL, **rated) == 3.0
    assert RECS.pipe(ranking.ctr, ACTUAL, **ROLES | {"relevance": "stars"}) == 3.0


def test_auc_compares_pairs_of_all_users() -> None:
    # Clicked 0.9 and 0.5 against 0.5 and 0.7: 1 + 1 + a half + 0 of four pairs.
    assert RECS.pipe(ranking.auc, ACTUAL, **ROLES) == pytest.approx(2.5 / 4)
    one_class = ROLES | {"relevance": pl.lit(1)}
    assert pl.Series([RECS.pipe(ranking.auc, ACTUAL, **one_class)]).is_nan().all()


def test_errors_of_scores_between_groups() -> None:
    rated = ROLES | {"value": "stars", "group": "sex"}
    errors = {"F": [3.1, 0.5, 4.5], "M": [1.3]}
    mae = {sex: sum(e) / len(e) for sex, e in errors.items()}
    rmse = {sex: (sum(x * x for x in e) / len(e)) ** 0.5 for sex, e in errors.items()}
    found = [ranking.mae_ratio, ranking.rmse_ratio]
    assert pf.evaluate(RECS, found, actual=ACTUAL, **rated, ref="M").row(0) == pytest.approx(
        (mae["F"] / mae["M"], rmse["F"] / rmse["M"])
    )
    assert RECS.pipe(ranking.mae_ratio, ACTUAL, **rated) == pytest.approx(mae["M"] / mae["F"])


def test_k_and_ties() -> None:
    # User 1's second place: item 11 (not clicked) and 12 (clicked) have one score.
    rates = {
        ties: RECS.pipe(ranking.ctr, ACTUAL, k=2, ties=ties, **ROLES)
        for ties in ("item", "optimistic", "pessimistic", "expected")
    }
    assert rates == pytest.approx(
        {"item": 1 / 3, "optimistic": 2 / 3, "pessimistic": 1 / 3, "expected": 1.5 / 3}
    )
    several = RECS.pipe(ranking.ctr_ips, ACTUAL, k=[1, 2, None], **ROLES)
    assert several["k"].to_list() == [None, 1, 2]
    for k, value in several.iter_rows():
        assert RECS.pipe(ranking.ctr_ips, ACTUAL, k=k, **ROLES) == value


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic", "expected"])
def test_expected_ties_lie_between_the_others(ties: str) -> None:
    low, value, high = (
        RECS.pipe(ranking.ctr_ips, ACTUAL, k=2, ties=rule, **ROLES)
        for rule in ("pessimistic", ties, "optimistic")
    )
    assert low <= value <= high


def test_all_from_one_table_and_from_tables_of_users() -> None:
    metrics = [*ESTIMATES, ranking.ctr_effective_size, ranking.auc]
    given = ROLES | {"propensity": "chance", "k": [1, 2, None]}
    whole = pf.evaluate(RECS, metrics, actual=ACTUAL, **given)
    parts = [
        ranking.match_scores(
            RECS.filter(pl.col("user").is_in(users)),
            ACTUAL.filter(pl.col("user").is_in(users)),
            **given,
        )
        for users in ([1], [2, 4], [3])
    ]
    merged = pf.measure(parts, metrics, k=given["k"])
    assert_frame_equal(merged, whole)


def test_repeated_pairs() -> None:
    recs = pl.concat([RECS, RECS.filter(pl.col("item") == 10).with_columns(score=pl.lit(0.1))])
    actual = pl.concat([ACTUAL, ACTUAL.with_columns(click=pl.lit(0, dtype=pl.Int64))])
    assert recs.pipe(ranking.ctr, actual, **ROLES) == RECS.pipe(ranking.ctr, ACTUAL, **ROLES)
    # Eight rows are listed, six without their copies.
    assert recs.pipe(ranking.ctr_ips, actual, **ROLES) == pytest.approx(3 * 2 / 8)
    assert recs.pipe(ranking.ctr_ips, actual, repeats="drop", **ROLES) == pytest.approx(1.0)


def test_nulls_leave_a_pair_without_an_outcome() -> None:
    actual = ACTUAL.with_columns(click=pl.Series([None, 0, 1, 0, 1], dtype=pl.Int64))
    assert RECS.pipe(ranking.ctr, actual, **ROLES) == pytest.approx(1 / 3)
    nobody = RECS.with_columns(user=pl.lit(None, dtype=pl.Int64))
    assert pl.Series([nobody.pipe(ranking.ctr, ACTUAL, **ROLES)]).is_nan().all()


def test_users_who_are_on_one_side_only() -> None:
    strangers = RECS.with_columns(user=pl.col("user") + 100)
    found = pf.evaluate(strangers, ESTIMATES, actual=ACTUAL, **ROLES).row(0)
    assert found == (None, 0.0, None, pytest.approx(RECS["score"].mean()))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no outcome": ({"relevance": None}, 'add `relevance="<column>"` or `value="<column>"`'),
    "text as outcome": ({"value": pl.col("click").cast(pl.String)}, "`value` is String"),
    "text as propensity": ({"propensity": pl.lit("x")}, "`propensity` is String"),
    "text as prediction": ({"predicted": pl.col("sex")}, "`predicted` is String"),
    "k of 0": ({"k": 0}, "a whole number from 1"),
    "no order": ({"score": None, "k": 2}, 'add `score="<column>"` or `rank="<column>"`'),
    "rank and score": ({"rank": pl.col("user")}, "pass one of them"),
    "ties": ({"ties": "best"}, "`ties` is one of"),
    "repeats": ({"repeats": "keep"}, "`repeats` is one of"),
    "dtypes": (
        {"actual": ACTUAL.cast({"user": pl.String})},
        "`user` is Int64 in `recs` and String",
    ),
    "slices of actual": (
        {"ties": "optimistic", "k": 2, "by": "chance"},
        "differently in slices that come from `actual`",
    ),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    given, words = BAD[name]
    recs = RECS.lazy() if lazy else RECS
    with pytest.raises((TypeError, ValueError), match=words.replace("(", r"\(")):
        ranking.ctr(recs, **{"actual": ACTUAL, **ROLES, **given})


def test_a_misspelt_column_is_named() -> None:
    with pytest.raises(ColumnNotFoundError, match="did you mean `propensity='chance'`"):
        ranking.ctr(RECS, ACTUAL, **ROLES, propensity="chanse")


def test_metrics_that_need_scores_say_so() -> None:
    ranked = RECS.with_columns(rank=pl.Series([1, 2, 3, 1, 2, 1])).drop("score")
    given = ROLES | {"score": None, "rank": "rank"}
    with pytest.raises(TypeError, match="`ctr_dr` needs predictions"):
        ranking.ctr_dr(ranked, ACTUAL, **given)
    with pytest.raises(TypeError, match="`mae_ratio` needs the scores"):
        ranking.mae_ratio(ranked, ACTUAL, **given, group="sex")
    with pytest.raises(TypeError, match="needs scores, not ranks"):
        ranking.auc(ranked, ACTUAL, **given)
    assert ranking.ctr(ranked, ACTUAL, **given, k=1) == 0.5


ROWS: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "ratings": (lambda: {"relevance": "stars"}, "other than 0 and 1"),
    "negative propensity": (lambda: {"propensity": pl.lit(-0.5)}, "holds a negative value"),
    "rank 0": (
        lambda: {"score": None, "rank": pl.lit(0), "metric": ranking.ctr},
        "not a whole number from 1",
    ),
    "clash": (
        lambda: {"score": None, "rank": pl.lit(1), "metric": ranking.ctr, "k": 2},
        "the same rank",
    ),
    "listed twice": (
        lambda: {"recs": pl.concat([RECS, RECS]), "repeats": "error"},
        "more than once",
    ),
    "logged twice": (
        lambda: {"actual": pl.concat([ACTUAL, ACTUAL]), "repeats": "error"},
        "in `actual` twice",
    ),
    "users": (
        lambda: {"users": pl.DataFrame({"user": [1, 1], "home": ["a", "b"]}), "by": "home"},
        "more than once",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_only_rows_can_tell_is_refused(name: str) -> None:
    make, words = ROWS[name]
    given = {"recs": RECS, "actual": ACTUAL, "metric": ranking.auc, **ROLES, **make()}
    metric, recs = given.pop("metric"), given.pop("recs")
    with pytest.raises(ValueError, match=words):
        metric(recs, **given)
    with pytest.raises(InvalidOperationError, match=words):
        metric(recs.lazy(), **given).collect()


def test_a_k_that_the_table_lacks_is_refused() -> None:
    table = ranking.matches(RECS, ACTUAL, k=2, **ROLES)
    assert pf.measure(table, [ranking.ctr], k=2)["ctr"].item() == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="has no rows for k=3"):
        pf.measure(table, [ranking.ctr], k=3)


def test_one_lazy_frame_makes_the_result_lazy() -> None:
    eager = RECS.pipe(ranking.ctr, ACTUAL, **ROLES)
    for recs, actual in ((RECS.lazy(), ACTUAL), (RECS, ACTUAL.lazy())):
        found = ranking.ctr(recs, actual, **ROLES)
        assert isinstance(found, pl.LazyFrame)
        assert found.collect().item() == eager


def test_every_k_has_a_line_though_ranks_skip_it() -> None:
    recs = pl.DataFrame({"user": [1, 2], "item": [7, 8], "rank": [5, 6], "sex": ["F", "M"]})
    actual = pl.DataFrame({"user": [1], "item": [7], "click": [1]})
    roles = {"user": "user", "item": "item", "rank": "rank", "relevance": "click"}
    found = ranking.ctr(recs, actual, k=[1, 10], **roles)
    assert found.rows() == [(1, None), (10, 1.0)]
    groups = pf.by_group(recs, ranking.ctr, actual=actual, group="sex", k=[1, 10], **roles)
    lines = groups.select("group", "k", "value").rows()
    assert lines == [("F", 1, None), ("F", 10, 1.0), ("M", 1, None), ("M", 10, None)]


def test_no_group_is_made_up_in_slices() -> None:
    recs = pl.DataFrame({"user": [1], "item": [7], "day": ["mon"], "sex": ["F"]})
    actual = pl.DataFrame({"user": [1, 1], "item": [7, 7], "click": [1, 1], "day": ["mon", "tue"]})
    roles = {"user": "user", "item": "item", "relevance": "click", "group": "sex", "by": "day"}
    groups = pf.by_group(recs, ranking.ctr, actual=actual, **roles)
    assert groups.select("day", "group").rows() == [("mon", "F"), ("tue", None)]
