"""Everything that can be wrong with lists: what is said, at the call or when a frame is read."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import ranking
from polarsfair._engine.catalog import family_members
from tests.ranking._cases import is_graded

ROLES = {"user": "user", "item": "item", "score": "score"}
RANKED = {"user": "user", "item": "item", "rank": "rank"}
RECS = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.5]})
ACTUAL = pl.DataFrame({"user": [1, 2, 2], "item": [8, 7, 9], "stars": [1, 2, 3]})


def refused(message: str, recs: Any = RECS, actual: Any = ACTUAL, **given: Any) -> None:
    """The call raises, for eager and for lazy frames alike, and so does the tally."""
    keywords = {**ROLES, **given}
    kinds = (ValueError, TypeError, ColumnNotFoundError)
    with pytest.raises(kinds, match=message):
        ranking.ndcg(recs, actual, **keywords)
    with pytest.raises(kinds, match=message):
        ranking.ndcg(recs.lazy(), actual, **keywords)


def stopped(message: str, recs: pl.DataFrame, actual: pl.DataFrame = ACTUAL, **given: Any) -> None:
    """Only rows can tell: a ValueError for eager frames, and a lazy one stops when it is read."""
    for k in (5, None):
        with pytest.raises(ValueError, match=message):
            ranking.ndcg(recs, actual, k=k, **given)
        lazy = ranking.ndcg(recs.lazy(), actual, k=k, **given)
        with pytest.raises(InvalidOperationError, match=message):
            lazy.collect(engine="streaming")


@pytest.mark.parametrize("metric", [ranking.ndcg, ranking.ctr, ranking.coverage, ranking.awrf])
def test_several_k_are_at_least_one(metric: pf.Metric) -> None:
    items = pl.DataFrame({"item": [7, 8, 9], "maker": ["a", "b", "a"]})
    more = {"relevance": "stars", "items": items, "item_group": "maker"}
    with pytest.raises(ValueError, match="`k` is an empty list"):
        pf.evaluate(RECS, metric, actual=ACTUAL, k=[], **ROLES, **more)


def test_whole_numbers_of_numpy_are_depths() -> None:
    for k in (np.int64(1), np.uint8(1)):
        assert ranking.ndcg(RECS, ACTUAL, k=k, **ROLES) == ranking.ndcg(RECS, ACTUAL, k=1, **ROLES)
        assert ranking.coverage(RECS, k=k, **ROLES) == ranking.coverage(RECS, k=1, **ROLES)
    several = ranking.recall(RECS, ACTUAL, k=[None, *np.arange(1, 3)], **ROLES)
    assert several["k"].to_list() == [None, 1, 2]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, np.True_, np.float64(2), "3", [5, 0]])
def test_k_is_a_number_of_ranks(k: Any) -> None:
    refused("`k` is the number of ranks", k=k)
    with pytest.raises(ValueError, match="`k` is the number"):
        ranking.lists(RECS, ACTUAL, k=k, **ROLES)
    with pytest.raises(ValueError, match="`k` is the number"):
        pf.measure(ranking.lists(RECS, ACTUAL, **ROLES), [ranking.ndcg], k=k)


def test_a_table_refuses_what_it_did_not_keep() -> None:
    table = ranking.lists(RECS, ACTUAL, k=1, **ROLES)
    with pytest.raises(ValueError, match="keeps fewer than 2 ranks"):
        pf.measure(table, [ranking.ndcg], k=2)
    with pytest.raises(ValueError, match="more ranks than the table keeps"):
        pf.measure(table, [ranking.ndcg], k=None)
    with pytest.raises(ValueError, match=r"fewer than 10 ranks .* or pass a smaller `k`"):
        pf.measure(table, [ranking.ndcg])
    with pytest.raises(InvalidOperationError, match="keeps fewer than 2 ranks"):
        pf.measure(table.lazy(), [ranking.ndcg], k=[1, 2]).collect()
    assert pf.measure(table, [ranking.ndcg], k=1)["ndcg"].item() == pytest.approx(0.3065736)
    with pytest.raises(ValueError, match="at most 1024"):
        ranking.lists(RECS, ACTUAL, k=1025, **ROLES)


def test_a_misspelt_group_is_found_where_nothing_is_compared() -> None:
    with pytest.raises(ColumnNotFoundError, match="`group` names the column 'sxe'"):
        ranking.ndcg(RECS, ACTUAL, group="sxe", **ROLES)
    told = ACTUAL.with_columns(sex=pl.lit("F"))
    assert ranking.ndcg(RECS, told, group="sex", **ROLES) == ranking.ndcg(RECS, told, **ROLES)


def test_gains_refuse_what_they_were_not_counted_with() -> None:
    table = ranking.gains(RECS, ACTUAL, k=2, relevance="stars", gain="linear", **ROLES)
    with pytest.raises(ValueError, match="has no rows for k=3"):
        pf.measure(table, [ranking.ndcg], k=3, gain="linear")
    with pytest.raises(ValueError, match="has no rows for"):
        pf.measure(table, [ranking.ndcg], k=2)
    with pytest.raises(ValueError, match=r"has no rows for k=\[2, 3\]"):
        pf.measure(table, [ranking.ndcg], k=[2, 3], gain="linear")
    known = pf.measure(table, [ranking.ndcg.bind(gain="linear"), ranking.precision], k=2)
    assert known["precision"].item() == ranking.precision(RECS, ACTUAL, k=2, **ROLES)


def test_tables_of_gains_are_cut_where_metrics_look() -> None:
    table = ranking.gains(RECS, ACTUAL, relevance="stars", gain="linear", **ROLES)
    found = pf.measure(table, ranking.ndcg, gain="linear")["ndcg"].item()
    alone = ranking.ndcg(RECS, ACTUAL, relevance="stars", gain="linear", **ROLES)
    assert found == pytest.approx(alone)


def test_tables_refuse_several_k_of_which_they_lack_one() -> None:
    items = pl.DataFrame({"item": [7, 8, 9], "x": [1.0, 2.0, 3.0]})
    described, liked = {"items": items, "features": "x", **ROLES}, pl.col("stars") > 1
    for table, metric in (
        (ranking.matches(RECS, ACTUAL, relevance="stars", k=2, **ROLES), ranking.ctr),
        (ranking.match_scores(RECS, ACTUAL, value=liked, k=2, **ROLES), ranking.auc),
        (ranking.exposure(RECS, k=2, **ROLES), ranking.coverage),
        (ranking.overlaps(RECS, k=2, **ROLES), ranking.inter_list_diversity),
        (ranking.spreads(RECS, k=2, **described), ranking.intra_list_diversity),
    ):
        assert pf.measure(table, metric, k=[2]).columns == ["k", metric.name]
        with pytest.raises(ValueError, match=r"no rows for k=\[2, 3\]"):
            pf.measure(table, metric, k=[2, 3])


def test_grades_lie_below_the_highest_there_can_be() -> None:
    for gain in ("linear", "exponential"):
        how = {"relevance": "stars", "gain": gain, **ROLES}
        assert 0 < ranking.err(RECS, ACTUAL, max_grade=3, **how) < 1
        with pytest.raises(ValueError, match="a grade above `max_grade`"):
            ranking.err(RECS, ACTUAL, max_grade=2, **how)
        lazy = ranking.err(RECS.lazy(), ACTUAL, max_grade=2, **how)
        with pytest.raises(InvalidOperationError, match="a grade above `max_grade`"):
            lazy.collect()


GROUPS: list[tuple[Any, str]] = [
    ([], "`group` is empty"),
    (["stars", "stars"], "two parts of `group` are called 'stars'"),
    ({"a": "stars"}, "as a mapping from classes to probabilities works only with"),
    (3, "takes a column, an expression or a list"),
]


@pytest.mark.parametrize(("group", "message"), GROUPS)
def test_groups_are_columns(group: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ranking.difference(ranking.ndcg)(RECS, ACTUAL, group=group, **ROLES)


def test_order_is_given_once() -> None:
    ranked = RECS.with_columns(rank=pl.lit(1))
    refused("pass one of them", ranked, rank="rank")
    refused('`score="<column>"` or `rank="<column>"`', score=None)
    for text in ("score", "rank"):
        refused(
            f"`{text}` is String", RECS.with_columns(x=pl.lit("a")), **{"score": None, text: "x"}
        )
    refused("`rank` is Float64", RECS, score=None, rank="score")


def test_ids_have_one_dtype() -> None:
    refused(
        "`user` is Int64 in `recs` and String in `actual`", actual=ACTUAL.cast({"user": pl.String})
    )
    refused(
        "`item` is Int64 in `recs` and Float64 in `actual`",
        actual=ACTUAL.cast({"item": pl.Float64}),
    )
    users = pl.DataFrame({"user": ["1"], "home": ["a"]})
    refused("`user` is Int64 in `recs` and String in `users`", users=users, by="home")
    days = RECS.with_columns(day=1), ACTUAL.with_columns(day=pl.lit("1"))
    refused("`day` is Int32 in `recs` and String in `actual`", *days, by="day")


def test_columns_that_are_missing_or_in_two_frames() -> None:
    refused("did you mean `user='user'`", user="usr")
    refused("did you mean `relevance='stars'`", relevance="star")
    refused("`by` names the column 'town'", by="town")
    users = pl.DataFrame({"user": [1], "stars": [1]})
    refused("`users` and `actual` both have", users=users, by="stars")
    refused("different frames", by=(pl.col("score") + pl.col("stars")).alias("sum"))
    refused("`relevance` is String", relevance=pl.col("stars").cast(pl.String))
    refused("needs the role `actual`", actual=None)
    refused("which cannot be grouped by", user=pl.struct("user", "item"))


def test_options_take_what_they_list() -> None:
    for option in ("ideal_over", "discount", "gain", "average_over", "empty"):
        refused(f"`{option}` is one of", **{option: "nonsense"}, k=3)
    refused("`convention` is one of", convention="nonsense")
    refused("`ties` is one of", ties="first")
    refused("`repeats` is one of", repeats="keep")
    refused("`plan` is one of", plan="sort")
    refused("`p`, the probability", discount="geometric", p=1.5)
    refused("`colour` is not a role or an option of", colour="red")
    refused("is not defined for grades", gain="linear", ideal_over="k", relevance="stars")
    refused("`gain` needs graded relevance", gain="linear")
    with pytest.raises(ValueError, match="add `max_grade="):
        ranking.err(RECS, ACTUAL, gain="linear", relevance="stars", **ROLES)
    ranked = RECS.with_columns(rank=pl.Series([1, 2, 1]))
    with pytest.raises(ValueError, match="needs scores, but ranks are given"):
        ranking.ndcg(ranked, ACTUAL, ties="optimistic", **RANKED)


QUALITY = [m for m in family_members("ranking").values() if m.tally is ranking.lists]
BINARY = [metric for metric in QUALITY if not is_graded(metric)]


@pytest.mark.parametrize("metric", BINARY, ids=lambda metric: metric.name)
def test_gain_is_for_metrics_that_have_one(metric: pf.Metric) -> None:
    for k in (3, None):
        with pytest.raises(TypeError, match="`gain` is not a role or an option of"):
            metric(RECS, ACTUAL, gain="linear", relevance="stars", k=k, **ROLES)


def test_ranks_start_at_1_and_differ() -> None:
    zero = RECS.with_columns(rank=pl.Series([0, 1, 1]))
    stopped("not a whole number from 1", zero, **RANKED)
    stopped("not a whole number from 1", zero.with_columns(rank=pl.Series([1, None, 1])), **RANKED)
    for rank in (1, 3):
        alike = pl.DataFrame({"user": [2, 2], "item": [7, 9], "rank": [rank, rank]})
        stopped("the same rank", alike, **RANKED)
    skipped = pl.DataFrame({"user": [2, 2, 2], "item": [7, 1, 9], "rank": [2, 9, 40]})
    found = ranking.mrr(skipped, ACTUAL, k=[1, 2], **RANKED)["mrr"].to_list()
    assert found == [0, 1 / 2 / 2]
    assert ranking.recall(skipped, ACTUAL, k=40, **RANKED) == 1 / 2


def test_a_rank_below_1_is_not_called_a_repeated_rank() -> None:
    zero = pl.DataFrame({"user": [1, 2, 2], "item": [8, 7, 9], "rank": [0, 1, 2]})
    for k in (5, None):
        with pytest.raises(ValueError, match="not a whole number from 1"):
            ranking.r_precision(zero, ACTUAL, k=k, **RANKED)
    table = ranking.lists(RECS.head(0).with_columns(rank=pl.lit(1)), ACTUAL, **RANKED)
    assert table["users"].sum() == 2


NAMES = ["grade", "share", "so_far", "above", "equal", "own", "relevant", "hits_"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", [{"k": 2}, {"k": None}, {"k": 2, "ties": "expected"}])
def test_a_slice_may_be_called_like_a_column_of_a_plan(name: str, how: dict[str, Any]) -> None:
    shops = ACTUAL.with_columns(shop=pl.Series(["x", "x", "y"]))
    called = shops.rename({"shop": name})
    plain = ranking.ndcg(RECS, shops, by="shop", relevance="stars", **how, **ROLES)
    found = ranking.ndcg(RECS, called, by=name, relevance="stars", **how, **ROLES)
    assert found.equals(plain.rename({"shop": name}))
    table = ranking.matches(RECS, called, by=name, relevance="stars", **ROLES)
    assert table.columns[0] == name


def test_a_slice_of_scores_may_be_called_rank() -> None:
    recs = RECS.with_columns(sex=pl.Series(["F", "M", "M"]), rank=pl.lit("x"))
    found = ranking.mad(recs, by="rank", group="sex", **ROLES)
    assert found.to_dicts() == [{"rank": "x", "mad": pytest.approx(0.45)}]


def test_reports_do_not_name_two_columns_alike() -> None:
    called = RECS.with_columns(users=1, convention=2, repeats=3, map=4)
    assert ranking.support(called, ACTUAL, by="repeats", **ROLES)["repeats"].to_list() == [3]
    with pytest.raises(ValueError, match="two columns would be called 'map'"):
        ranking.compare_conventions(called, ACTUAL, ranking.map, by="map", **ROLES)
    with pytest.raises(ValueError, match="two columns would be called 'users'"):
        ranking.support(called, ACTUAL, by="users", **ROLES)
    with pytest.raises(ValueError, match="two columns would be called 'convention'"):
        ranking.compare_conventions(called, ACTUAL, ranking.map, by="convention", **ROLES)
    two = [ranking.map, ranking.map]
    with pytest.raises(ValueError, match="two columns would be called 'map'"):
        ranking.compare_conventions(RECS, ACTUAL, two, **ROLES)
    with pytest.raises(ValueError, match="two columns would be called 'map'"):
        ranking.per_user(RECS, ACTUAL, two, **ROLES)


def test_conventions_of_a_metric_at_one_k_are_repeated_at_every_k() -> None:
    mixed = [ranking.map.bind(k=[1, 2]), ranking.ndcg.bind(k=2)]
    found = ranking.compare_conventions(RECS, ACTUAL, mixed, **ROLES)
    alone = ranking.compare_conventions(RECS, ACTUAL, ranking.ndcg, k=2, **ROLES)
    assert found.select("convention", "k").height == 2 * alone.height
    for k in (1, 2):
        at_k = found.filter(pl.col("k") == k).select("convention", "ndcg")
        assert_frame_equal(at_k, alone)


def test_support_ignores_roles_and_options_but_no_misspelt_ones() -> None:
    plain = ranking.support(RECS, ACTUAL, **ROLES)
    more = {"k": 3, "convention": "ranx", "precision_by": "k", "gain": "linear", "group": "stars"}
    assert ranking.support(RECS, ACTUAL, **ROLES, **more).equals(plain)
    with pytest.raises(TypeError, match="did you mean `relevance=`"):
        ranking.support(RECS, ACTUAL, **ROLES, relevence="stars")
    with pytest.raises(ColumnNotFoundError, match="did you mean `group='stars'`"):
        ranking.support(RECS, ACTUAL, **ROLES, group="star")


def test_repeats_are_refused_on_request() -> None:
    twice = pl.concat([RECS, RECS.head(1)])
    stopped("a list holds an item more than once", twice, repeats="error", **ROLES)
    again = pl.concat([ACTUAL, ACTUAL.head(1)])
    stopped("in `actual` twice", RECS, again, repeats="error", **ROLES)
    fine = ranking.ndcg(RECS, ACTUAL, repeats="error", **ROLES)
    assert fine == ranking.ndcg(RECS, ACTUAL, **ROLES)


def test_users_are_listed_once() -> None:
    users = pl.DataFrame({"user": [1, 1, 2], "home": ["a", "b", "c"]})
    stopped("`users` holds a `user` more than once", RECS, users=users, by="home", **ROLES)


def test_rows_without_user_or_item_are_left_out() -> None:
    more = pl.DataFrame({"user": [None, 1], "item": [8, None], "score": [1.0, 1.0]})
    also = pl.DataFrame({"user": [None, 1], "item": [8, None], "stars": [1, 1]})
    metrics = [ranking.precision, ranking.recall, ranking.ndcg]
    plain, odd = (
        pf.evaluate(recs, metrics, actual=actual, k=2, **ROLES)
        for recs, actual in ((RECS, ACTUAL), (pl.concat([RECS, more]), pl.concat([ACTUAL, also])))
    )
    assert plain.equals(odd)


@pytest.mark.parametrize("unknown", [None, float("nan")])
@pytest.mark.parametrize("plan", ["hits first", "window"])
def test_unknown_scores_come_last(unknown: float | None, plan: str) -> None:
    scores = [unknown, float("-inf"), unknown, -5.0]
    recs = pl.DataFrame({"user": [1] * 4, "item": [1, 2, 3, 4], "score": scores})
    for item, rank in ((4, 1), (2, 2), (1, 3), (3, 4)):
        actual = pl.DataFrame({"user": [1], "item": [item]})
        for k in (10, None):
            assert ranking.mrr(recs, actual, k=k, plan=plan, **ROLES) == pytest.approx(1 / rank)


def test_users_on_one_side_only() -> None:
    strangers = RECS.with_columns(pl.col("user") + 100)
    metrics = [ranking.precision, ranking.recall, ranking.map, ranking.ndcg]
    found = pf.evaluate(strangers, metrics, actual=ACTUAL, k=2, **ROLES)
    assert found.row(0) == (None, 0, None, 0)
    counts = ranking.support(strangers, ACTUAL, **ROLES).row(0)
    assert counts == (4, 2, 0, 2, 0, 0)


@pytest.mark.parametrize("k", [3, None])
def test_empty_frames(k: int | None) -> None:
    none, nothing = RECS.clear(), ACTUAL.clear()
    assert str(ranking.ndcg(none, nothing, k=k, **ROLES)) == "nan"
    assert str(ranking.ndcg(RECS, nothing, k=k, **ROLES)) == "nan"
    assert ranking.ndcg(none, ACTUAL, k=k, **ROLES) == 0
    days = none.with_columns(day=pl.lit(1)), nothing.with_columns(day=pl.lit(1))
    assert ranking.ndcg(*days, by="day", k=k, **ROLES).height == 0
    assert ranking.ndcg(*days, by="day", k=[1, 2], **ROLES).height == 0
    assert ranking.lists(none, nothing, **ROLES).height == 0
    assert ranking.support(none, nothing, **ROLES).row(0) == (0, 0, 0, 0, 0, 0)


def test_frames_without_rows_or_dtypes() -> None:
    """What `pl.DataFrame({"user": []})` makes has no dtype to differ by."""
    none = pl.DataFrame({"user": [], "item": [], "score": [], "stars": [], "day": []})
    days = RECS.with_columns(day=pl.lit("mon")), ACTUAL.with_columns(day=pl.lit("mon"))
    for k in (3, None):
        assert ranking.ndcg(none, ACTUAL, k=k, **ROLES) == 0
        assert str(ranking.ndcg(RECS, none, k=k, **ROLES)) == "nan"
        assert str(ranking.ndcg(none, none, k=k, **ROLES)) == "nan"
        assert ranking.ndcg(none, days[1], by="day", k=k, **ROLES).rows() == [("mon", 0.0)]
        assert str(ranking.ctr(none, ACTUAL, relevance="stars", k=k, **ROLES)) == "nan"
    assert ranking.support(days[0], none, by="day", **ROLES).row(0)[:2] == ("mon", 2)
    users = pl.DataFrame({"user": [], "home": []})
    found = ranking.recall(RECS, ACTUAL, users=users, by="home", k=1, **ROLES)
    assert found.rows() == [(None, ranking.recall(RECS, ACTUAL, k=1, **ROLES))]


@pytest.mark.parametrize(
    "dtype", [pl.String, pl.Binary, pl.Categorical, pl.UInt64, pl.Decimal(9, 0)]
)
@pytest.mark.parametrize("plan", ["hits first", "window"])
def test_ids_are_of_any_plain_dtype(dtype: Any, plan: str) -> None:
    recs = pl.DataFrame(
        {"user": [10, 10, 20, 20], "item": [40, 30, 50, 60], "score": [1.0, 1.0, 2.0, 2.0]}
    )
    actual = pl.DataFrame({"user": [10, 20, 20], "item": [40, 60, 70]})
    users = pl.DataFrame({"user": [20, 10], "home": ["a", "b"]})
    # Categories in another order than their names: of equal scores the lower name comes first.
    text = [pl.String] if dtype in (pl.Binary, pl.Categorical) else []

    def made(frame: pl.DataFrame) -> pl.DataFrame:
        for one in (*text, dtype):
            frame = frame.with_columns(pl.col("^user|item$").cast(one))
        return frame

    plain, typed = (
        ranking.mrr(f(recs), f(actual), users=f(users), by="home", k=[1, None], plan=plan, **ROLES)
        for f in (pl.DataFrame.clone, made)
    )
    assert typed.equals(plain)
    assert plain["mrr"].to_list() == [0.5, 0.0, 0.5, 0.0]
    assert ranking.coverage(made(recs), k=1, **ROLES) == 2 / 4
