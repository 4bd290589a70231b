"""Worked cases and laws of the ranked-list metrics, and what their plans look like."""

import itertools
import math
import random
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import ranking
from polarsfair._engine.catalog import family_members
from polarsfair.ranking._lists.conventions import CONVENTIONS
from tests.ranking._cases import is_linear
from tests.ranking._cases import lists as sample

ROLES = {"user": "user", "item": "item", "score": "score"}
GRADED = {**ROLES, "relevance": "grade"}
QUALITY = [
    metric
    for metric in family_members("ranking").values()
    if metric.tally is ranking.lists and not metric.bases
]
LINEAR = [metric for metric in QUALITY if is_linear(metric)]


def one_list(hits: str, n_rel: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A list of one user by its places, "1" for a hit; the other relevant items are not listed."""
    items = list(range(len(hits)))
    found = [item for item in items if hits[item] == "1"]
    missed = list(range(1000, 1000 + n_rel - len(found)))
    recs = pl.DataFrame({"user": 1, "item": items, "score": [-float(i) for i in items]})
    return recs, pl.DataFrame({"user": 1, "item": [*found, *missed]})


def value(metric: pf.Metric, hits: str, n_rel: int, **options: Any) -> float:
    recs, actual = one_list(hits, n_rel)
    return metric(recs, actual, **ROLES, **options)


def log(rank: int) -> float:
    return 1 / math.log2(rank + 1)


WORKED = [
    # list of 2, k=5, one hit at 1, 3 relevant
    (ranking.precision, "10", 3, {"k": 5}, 1 / 2),
    (ranking.precision, "10", 3, {"k": 5, "convention": "rectools"}, 1 / 5),
    (ranking.recall, "10", 3, {"k": 5}, 1 / 3),
    (ranking.map, "10", 3, {"k": 5}, 1 / 3),
    (ranking.ndcg, "10", 3, {"k": 5}, 1 / (log(1) + log(2) + log(3))),
    (ranking.ndcg, "10", 3, {"k": 5, "convention": "rectools"}, 1 / sum(map(log, range(1, 6)))),
    # 4 relevant, k=2, both hits on top: where libraries part
    (ranking.map, "11", 4, {"k": 2}, 1.0),
    (ranking.map, "11", 4, {"k": 2, "convention": "ranx"}, 0.5),
    (ranking.ndcg, "11", 4, {"k": 2}, (log(1) + log(2)) / sum(map(log, range(1, 5)))),
    (ranking.ndcg, "11", 4, {"k": 2, "convention": "replay"}, 1.0),
    (ranking.recall, "11", 4, {"k": 2, "convention": "lenskit"}, 1.0),
    # hits at 2 and 4
    (ranking.f1, "0101", 3, {"k": 4}, 2 * (1 / 2) * (2 / 3) / (1 / 2 + 2 / 3)),
    (ranking.hit_rate, "0101", 3, {"k": 1}, 0.0),
    (ranking.hit_rate, "0101", 3, {"k": 2}, 1.0),
    (ranking.map, "0101", 3, {"k": 4}, (1 / 2 + 2 / 4) / 3),
    (ranking.mrr, "0101", 3, {"k": 4}, 1 / 2),
    (ranking.r_precision, "0101", 3, {}, 1 / 3),
    (ranking.r_precision, "0101", 4, {}, 2 / 4),
    (ranking.rbp, "0101", 3, {"p": 0.5}, 0.5 * (0.5 + 0.125)),
    (ranking.err, "0101", 3, {}, 1 / 2 / 2 + 1 / 2 * 1 / 2 / 4),
    (ranking.ndcg, "0101", 3, {"discount": "reciprocal"}, (1 / 2 + 1 / 4) / (1 + 1 / 2 + 1 / 3)),
    (ranking.ndcg, "0101", 2, {"convention": "lenskit", "k": 4}, (1 + 1 / 2) / 2),
]


@pytest.mark.parametrize(("metric", "hits", "n_rel", "options", "expected"), WORKED)
def test_worked_lists(
    metric: pf.Metric, hits: str, n_rel: int, options: dict[str, Any], expected: float
) -> None:
    assert value(metric, hits, n_rel, **options) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", QUALITY)
def test_lists_are_cut_at_ten_unless_told(metric: pf.Metric) -> None:
    recs, actual = one_list("0100100000" + "11", 12)
    told, whole = (metric(recs, actual, k=k, **ROLES) for k in (10, None))
    assert metric(recs, actual, **ROLES) == told
    # The first hit is all that these two look at.
    assert (told == whole) == (metric in (ranking.hit_rate, ranking.mrr))
    table = ranking.lists(recs, actual, **ROLES)
    assert pf.measure(table, metric)[metric.name].item() == pytest.approx(told, abs=1e-15)


@pytest.mark.parametrize("metric", QUALITY)
def test_a_cut_is_a_shorter_list(metric: pf.Metric) -> None:
    """Hits on both sides of every 64th place, cut in the masks, and whole lists summed up."""
    draw = random.Random(3)
    hits = "".join(draw.choice("0001") for _ in range(200))
    hits = "1" + hits[1:63] + "11" + hits[65:127] + "11" + hits[129:]
    by = {"map_by": "n_rel"} if metric is ranking.map else {}
    actual = one_list(hits, 90)[1]
    for k in (63, 64, 65, 127, 128, 129, 192, 200):
        short = metric(one_list(hits[:k], 90)[0], actual, k=None, **ROLES, **by)
        assert value(metric, hits, 90, k=k, **by) == pytest.approx(short, rel=1e-12)


@pytest.mark.parametrize("metric", QUALITY)
def test_64_and_65_agree_on_lists_of_64(metric: pf.Metric) -> None:
    hits = "0110" * 16
    same = {"map_by": "n_rel"} if metric is ranking.map else {}
    values = [value(metric, hits, 40, k=k, **same) for k in (64, 65, 1024, 1025, None)]
    assert values == pytest.approx([values[0]] * 5, rel=1e-12)
    assert values[0] > 0


def everything(recs: pl.DataFrame, actual: pl.DataFrame, **options: Any) -> pl.DataFrame:
    return pf.evaluate(recs, QUALITY, actual=actual, **{**GRADED, **options})


@pytest.mark.parametrize("k", [3, None, [1, 4]])
def test_order_of_rows_changes_nothing(k: Any) -> None:
    recs, actual = sample(5, ties=True, repeats=True)
    shuffled = recs.sample(fraction=1, shuffle=True, seed=1), actual.reverse()
    assert_frame_equal(everything(recs, actual, k=k), everything(*shuffled, k=k))


def test_names_of_users_change_nothing() -> None:
    recs, actual = sample(6)
    renamed = [frame.with_columns(user=1000 - pl.col("user")) for frame in (recs, actual)]
    assert_frame_equal(everything(recs, actual, k=5), everything(*renamed, k=5))


@pytest.mark.parametrize("tally", [ranking.lists, ranking.gains])
@pytest.mark.parametrize("k", [2, 70])
def test_split_by_user_and_merged_is_the_whole(tally: pf.Tally, k: int) -> None:
    recs, actual = sample(7, ties=True, repeats=True)
    part = pl.col("user") % 3
    tables = [
        tally(recs.filter(part == i), actual.filter(part == i), k=k, **GRADED) for i in range(3)
    ]
    merged = pf.measure(tables, QUALITY, k=k)
    assert_frame_equal(merged, everything(recs, actual, k=k), check_exact=False)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int8, pl.Float32, pl.Float64])
def test_items_without_a_score_come_last(dtype: Any) -> None:
    recs = pl.DataFrame({"user": [1] * 4, "item": [7, 8, 9, 10], "score": [3, None, 2, None]})
    recs, actual = recs.cast({"score": dtype}), pl.DataFrame({"user": [1, 1], "item": [9, 10]})
    found = ranking.recall(recs, actual, k=[1, 2, 4], **ROLES)
    assert found["recall"].to_list() == [0, 0.5, 1]
    assert ranking.mrr(recs, actual, **ROLES) == 0.5


def test_a_table_of_several_settings_answers_each() -> None:
    """A metric finds its own setting; one that reads no setting takes any, and one alone."""
    recs, actual = sample(7, ties=True)
    options = {"discount": ["log", "reciprocal"], "gain": ["linear", "exponential"]}
    table = ranking.gains(recs, actual, k=5, **options, **GRADED)
    values = set()
    for discount, gain in itertools.product(*options.values()):
        asked = {"discount": discount, "gain": gain, "k": 5}
        value = pf.measure(table, ranking.ndcg, **asked).item()
        assert value == pytest.approx(ranking.ndcg(recs, actual, **asked, **GRADED))
        values.add(value)
    assert len(values) == 4
    for metric in (ranking.precision, ranking.map):
        value = pf.measure(table, metric, k=5).item()
        assert value == pytest.approx(metric(recs, actual, k=5, **GRADED))
    with pytest.raises(ValueError, match="has no rows for k=5"):
        pf.measure(table, ranking.ndcg, k=5, discount="late_log", gain="linear")


@pytest.mark.parametrize("name", ["recall", "hit_rate", "mrr", "rbp", "err", "ndcg", "r_precision"])
def test_more_places_find_more(name: str) -> None:
    recs, actual = sample(8)
    metric = getattr(ranking, name)
    values = metric(recs, actual, k=list(range(1, 14)), **GRADED)[name].to_list()
    assert values == sorted(values)
    assert values[0] < values[-1]


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("seed", [1, 2])
def test_values_lie_within_their_bounds(convention: str, seed: int) -> None:
    recs, actual = sample(seed, ties=True, repeats=True)
    for k in (1, 3, 20, None):
        values = everything(recs, actual, k=k, convention=convention).row(0)
        for metric, value in zip(QUALITY, values, strict=True):
            low, high = metric.bounds
            assert low <= value <= high


def test_a_repeated_pair_never_counts_twice() -> None:
    """The probe on which other libraries give 1.17 to 2.11."""
    recs = pl.DataFrame({"user": 1, "item": [1, 1, 2, 2], "score": [4.0, 3.0, 2.0, 1.0]})
    actual = pl.DataFrame({"user": 1, "item": [1, 1, 2]})
    roles = {"actual": actual, **ROLES, "k": 4}
    once = pf.evaluate(recs, QUALITY, **roles).row(0, named=True)
    assert once["precision"] == 2 / 4
    assert once["recall"] == 1
    assert once["map"] == pytest.approx((1 + 2 / 3) / 2)
    dropped = pf.evaluate(recs, QUALITY, **roles, repeats="drop").row(0, named=True)
    assert dropped["precision"] == dropped["map"] == dropped["ndcg"] == 1
    table = ranking.lists(recs, actual, **ROLES)
    assert table.select("hits", "n_rel", "n_rec", "repeats").row(0) == (0b101, 2, 4, 2)
    found = ranking.support(recs, actual, **ROLES).row(0, named=True)
    assert (found["repeated_hits"], found["repeated_actual"]) == (2, 1)


@pytest.mark.parametrize("metric", LINEAR)
def test_expected_ties_lie_between_the_extremes(metric: pf.Metric) -> None:
    recs, actual = sample(9, ties=True, clean=True)
    recs = recs.with_columns(pl.col("score").round(0))
    for k in (1, 3, 7, None):
        low, mean, high = (
            metric(recs, actual, k=k, ties=ties, **GRADED)
            for ties in ("pessimistic", "expected", "optimistic")
        )
        assert low <= mean + 1e-12
        assert mean <= high + 1e-12
    assert low < high or metric.name in ("precision", "recall", "f1")


@pytest.mark.parametrize("gain", ["linear", "exponential"])
def test_expected_ties_of_grades_lie_between_the_extremes(gain: str) -> None:
    recs, actual = sample(9, ties=True, clean=True)
    recs = recs.with_columns(pl.col("score").round(0))
    for k in (1, 3, 7, None):
        low, mean, high = (
            ranking.ndcg(recs, actual, k=k, gain=gain, ties=ties, **GRADED)
            for ties in ("pessimistic", "expected", "optimistic")
        )
        assert low < mean < high
        how = {"k": k, "gain": gain, "max_grade": 3, **GRADED}
        worst, best = (
            ranking.err(recs, actual, ties=ties, **how) for ties in ("pessimistic", "optimistic")
        )
        assert worst < best


def test_ties_of_grades_are_the_best_and_the_worst_of_all_orders() -> None:
    recs = pl.DataFrame({"user": 1, "item": [1, 2, 3, 4], "score": 1.0})
    actual = pl.DataFrame({"user": 1, "item": [1, 2, 3], "grade": [1.0, 3.0, 2.0]})
    how = {"k": 3, "gain": "exponential", "max_grade": 3, "relevance": "grade"}
    ids = {"user": "user", "item": "item"}
    for metric in (ranking.ndcg, ranking.err):
        given = {n: v for n, v in how.items() if n in (*metric.option_names, "relevance")}
        orders = [
            metric(recs.with_columns(rank=pl.Series(ranks)), actual, rank="rank", **ids, **given)
            for ranks in itertools.permutations(range(1, 5))
        ]
        low, high = (
            metric(recs, actual, ties=ties, score="score", **ids, **given)
            for ties in ("pessimistic", "optimistic")
        )
        assert (low, high) == pytest.approx((min(orders), max(orders)))


@pytest.mark.parametrize("metric", LINEAR)
def test_expected_ties_are_the_mean_over_all_orders(metric: pf.Metric) -> None:
    items = [1, 2, 3, 4, 5]
    actual = pl.DataFrame({"user": 1, "item": [2, 4, 9]})
    tied = pl.DataFrame({"user": 1, "item": items, "score": [5, 3, 3, 3, 1]})
    for k in (1, 2, 3, 5):
        values = []
        for middle in itertools.permutations([2, 3, 4]):
            order = [1, *middle, 5]
            ranked = pl.DataFrame({"user": 1, "item": order, "rank": [1, 2, 3, 4, 5]})
            values.append(metric(ranked, actual, user="user", item="item", rank="rank", k=k))
        expected = sum(values) / len(values)
        assert metric(tied, actual, k=k, ties="expected", **ROLES) == pytest.approx(expected)


def test_ties_that_have_no_closed_form_say_what_to_use() -> None:
    recs, actual = sample(1)
    for metric in set(QUALITY) - set(LINEAR):
        with pytest.raises(ValueError, match='"item", "optimistic" or "pessimistic"'):
            metric(recs, actual, ties="expected", **GRADED)
        compared = ranking.difference(metric)
        with pytest.raises(ValueError, match="optimistic"):
            compared(recs, actual, ties="expected", group="user", **GRADED)


def test_map_at_1_is_precision_at_1() -> None:
    recs, actual = sample(10, ties=True)
    found = pf.evaluate(recs, [ranking.map, ranking.precision], actual=actual, k=1, **GRADED)
    assert found["map"].item() == found["precision"].item() > 0


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("seed", range(4))
def test_the_plans_give_one_table(engine: Any, seed: int) -> None:
    recs, actual = sample(seed, ties=True, repeats=True)
    recs = recs.unique(["user", "item"], maintain_order=True, keep="first")
    order = pl.struct(-pl.col("score").fill_nan(None).fill_null(-9), "item").rank("ordinal")
    ranked = recs.drop_nulls(["user", "item"]).with_columns(rank=order.over("user").cast(pl.Int64))
    roles = {"user": "user", "item": "item", "relevance": "grade", "k": 6}
    first, window, given = (
        ranking.lists(frame.lazy(), actual, **roles, **how).collect(engine=engine)
        for frame, how in (
            (recs, {"score": "score"}),
            (recs, {"score": "score", "plan": "window"}),
            (ranked, {"rank": "rank"}),
        )
    )
    assert_frame_equal(first, window, check_row_order=False)
    assert_frame_equal(first, given, check_row_order=False)
    assert first.height > 3


def test_lazy_with_any_frame_lazy() -> None:
    recs, actual = sample(12)
    users = pl.DataFrame({"user": range(20), "home": ["a", "b"] * 10})
    eager = ranking.ndcg(recs, actual, k=[2, 3], by="home", users=users, **GRADED)
    for r, a, u in (
        (recs.lazy(), actual, users),
        (recs, actual.lazy(), users),
        (recs, actual, users.lazy()),
    ):
        lazy = ranking.ndcg(r, a, k=[2, 3], by="home", users=u, **GRADED)
        assert isinstance(lazy, pl.LazyFrame)
        assert lazy.collect_schema() == eager.schema
        assert_frame_equal(lazy.collect(engine="streaming"), eager)
    assert eager.columns == ["home", "k", "ndcg"]


def test_an_intersection_has_its_parts_in_the_order_of_the_call() -> None:
    recs = pl.DataFrame({"user": [1], "item": [7], "score": [1.0], "sex": ["F"]})
    users = pl.DataFrame({"user": [1], "home": ["north"]})
    for parts in (["home", "sex"], ["sex", "home"]):
        table = ranking.lists(recs, recs.select("user", "item"), users=users, group=parts, **ROLES)
        assert list(table["group"][0]) == parts


@pytest.mark.parametrize("how", ["hits first", "window", "optimistic", "rank"])
def test_repeats_are_those_of_the_list_alone(how: str) -> None:
    """However often the ground truth holds a hit, its copies in the list are counted."""
    recs = pl.DataFrame({"user": 1, "item": [7, 8, 7, 9, 7, 9], "score": [9, 8, 7, 6, 5, 4]})
    actual = pl.DataFrame({"user": 1, "item": [7, 7, 7, 7, 8, 8, 1]})
    given: dict[str, dict[str, Any]] = {
        "optimistic": {"ties": "optimistic"},
        "rank": {"score": None, "rank": 10 - pl.col("score")},
    }
    table = ranking.lists(recs, actual, **{**ROLES, **given.get(how, {"plan": how})})
    assert table.drop("depth").row(0, named=True) == {
        "hits": 0b11,
        "n_rel": 3,
        "n_rec": 6,
        "users": 1,
        "repeats": 2,
    }


@pytest.mark.parametrize("of", ["recs", "actual", "both"])
def test_a_group_that_nobody_compares_changes_nothing(of: str) -> None:
    recs, actual = sample(7)
    odd = (pl.col("item") % 2).alias("odd")
    frames = (
        recs if of == "actual" else recs.with_columns(odd),
        actual if of == "recs" else actual.with_columns(odd),
    )
    metrics = [ranking.precision, ranking.recall, ranking.ndcg]
    for k in (2, None):
        plain = pf.evaluate(recs, metrics, actual=actual, k=k, **GRADED)
        named = pf.evaluate(frames[0], metrics, actual=frames[1], k=k, group="odd", **GRADED)
        assert_frame_equal(named, plain)
    alone = ranking.per_user(recs, actual, ranking.recall, k=2, **GRADED)
    again = ranking.per_user(*frames, ranking.recall, k=2, group="odd", **GRADED)
    assert_frame_equal(again, alone)
    rates = pf.by_group(frames[0], ranking.recall, actual=frames[1], group="odd", k=2, **GRADED)
    sliced = ranking.recall(*frames, by="odd", k=2, **GRADED)
    known = rates.filter(pl.col("group").is_not_null())["value"].to_list()
    assert known == pytest.approx(sliced.drop_nulls("odd")["recall"].to_list())


def test_a_slice_is_a_filter_of_the_frames_that_have_it() -> None:
    recs, actual = sample(13, clean=True)
    recs = recs.with_columns(model=pl.col("item") % 2, day=pl.col("user") % 2)
    actual = actual.with_columns(shop=pl.col("item") % 3, day=pl.col("user") % 2)
    keys = ["model", "shop", "day"]
    found = pf.evaluate(recs, QUALITY, actual=actual, by=keys, k=4, **GRADED)
    assert found.height == 12
    for model, shop, day in found.select(keys).iter_rows():
        alone = everything(
            recs.filter(model=model, day=day), actual.filter(shop=shop, day=day), k=4
        )
        line = found.filter(model=model, shop=shop, day=day).drop(keys)
        assert_frame_equal(line, alone)


def test_groups_of_users_are_compared() -> None:
    recs, actual = sample(14, clean=True)
    users = pl.DataFrame(
        {"user": range(20), "sex": ["F", "M"] * 10, "old": [True] * 8 + [False] * 12}
    )
    roles = {"actual": actual, "users": users, "k": 3, **GRADED}
    by_sex = pf.evaluate(recs, [ranking.ndcg], by="sex", **roles)["ndcg"].to_list()
    compared = [how(ranking.ndcg) for how in (ranking.difference, ranking.ratio, ranking.group_min)]
    gap, quotient, low = pf.evaluate(recs, compared, group="sex", **roles).row(0)
    assert gap == pytest.approx(max(by_sex) - min(by_sex))
    assert quotient == pytest.approx(min(by_sex) / max(by_sex))
    assert low == min(by_sex)
    signed = ranking.difference(ranking.ndcg)(recs, group="sex", ref="M", **roles)
    assert signed == pytest.approx(by_sex[0] - by_sex[1])
    mixed = ranking.group_max(ranking.recall)(recs, group=["sex", "old"], **roles)
    each = pf.evaluate(recs, [ranking.recall], by=["sex", "old"], **roles)["recall"]
    assert mixed == each.max()


def test_holisticai_ratios_are_ratios_over_everybody() -> None:
    """Their mean is over all users of a group, 0 where it is undefined."""
    recs = pl.DataFrame({"user": [1, 2, 3, 3], "item": [1, 1, 1, 2], "score": [1.0] * 4})
    actual = pl.DataFrame({"user": [1, 3], "item": [1, 1]})
    users = pl.DataFrame({"user": [1, 2, 3], "g": ["a", "a", "b"]})
    roles = {"actual": actual, "users": users, "group": "g", "ref": "b", **ROLES}
    over = {"average_over": "all", "empty": 0}
    assert ranking.ratio(ranking.precision)(recs, **roles, **over) == (1 / 2) / (1 / 2)
    assert ranking.ratio(ranking.recall)(recs, **roles, **over) == (1 / 2) / 1
    assert ranking.ratio(ranking.f1)(recs, **roles, **over) == pytest.approx((1 / 2) / (2 / 3))


def test_bound_options_go_with_their_metric() -> None:
    recs, actual = sample(15)
    short, whole = ranking.ndcg.bind(k=2).alias("short"), ranking.ndcg.bind(k=None).alias("whole")
    found = pf.evaluate(recs, [short, whole], actual=actual, **GRADED)
    assert found["short"].item() == pytest.approx(ranking.ndcg(recs, actual, k=2, **GRADED))
    assert found["whole"].item() == pytest.approx(ranking.ndcg(recs, actual, k=None, **GRADED))
    linear = ranking.ndcg.bind(gain="linear").alias("linear")
    both = pf.evaluate(recs, [ranking.precision, linear], actual=actual, k=3, **GRADED)
    assert both["precision"].item() == pytest.approx(ranking.precision(recs, actual, k=3, **GRADED))
    alone = ranking.ndcg(recs, actual, k=3, gain="linear", **GRADED)
    assert both["linear"].item() == pytest.approx(alone)
    gap = ranking.difference(ranking.ndcg.bind(gain="linear"))
    assert gap(recs, actual, k=3, group="user", **GRADED) > 0


def test_per_user_values_average_to_the_metric() -> None:
    recs, actual = sample(16)
    each = ranking.per_user(recs, actual, QUALITY, k=4, **GRADED)
    whole = everything(recs, actual, k=4)
    assert_frame_equal(each.select(pl.col(whole.columns).mean()), whole)
    assert each.height == each["user"].n_unique() == 20


def test_conventions_are_settings_of_options() -> None:
    recs, actual = sample(17)
    metrics = [ranking.precision, ranking.map, ranking.ndcg]
    table = ranking.compare_conventions(recs, actual, metrics, k=[2, 4], **GRADED)
    assert table.columns == ["convention", "k", "precision", "map", "ndcg"]
    assert table.height == 16
    for name, k, *values in table.iter_rows():
        alone = pf.evaluate(recs, metrics, actual=actual, convention=name, k=k, **GRADED)
        assert list(alone.row(0)) == pytest.approx(values)
    jurity = table.filter(convention="jurity")["ndcg"].to_list()
    spelt = ranking.ndcg(
        recs,
        actual,
        k=[2, 4],
        convention="spark",
        ideal_over="n_rel",
        average_over="relevant",
        empty="drop",
        **GRADED,
    )
    assert spelt["ndcg"].to_list() == pytest.approx(jurity)


# plans


@pytest.fixture
def lake(tmp_path: Path) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    recs, actual = sample(18, clean=True)
    recs.with_columns(rank=pl.int_range(pl.len()).over("user") + 1).write_parquet(
        tmp_path / "recs.parquet"
    )
    actual.write_parquet(tmp_path / "actual.parquet")
    return pl.scan_parquet(tmp_path / "recs.parquet"), pl.scan_parquet(tmp_path / "actual.parquet")


def physical(frame: pl.LazyFrame) -> list[str]:
    dot = frame.show_graph(engine="streaming", plan_stage="physical", raw_output=True, show=False)
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', dot or "")
    assert len(labels) > 5
    return labels


HOWS = [{"score": "score"}, {"rank": "rank"}, {"score": "score", "ties": "optimistic"}]


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("by", [None, "user"])
def test_lists_stay_on_the_streaming_engine(lake: Any, how: dict[str, str], by: Any) -> None:
    recs, actual = lake
    roles = {"user": "user", "item": "item", "relevance": "grade", **how}
    by = by and pl.col(by).alias("who")
    tables = [ranking.lists(recs, actual, by=by, **roles)]
    if "ties" not in how:
        tables.append(ranking.gains(recs, actual, by=by, k=[3, None], **roles))
    for table in tables:
        labels = physical(table)
        assert not [label for label in labels if label.startswith("in-memory")]


def test_hits_first_keeps_no_rows(lake: Any) -> None:
    """A window or a sort would keep every recommendation in memory."""
    labels = physical(ranking.lists(*lake, **GRADED))
    assert not [label for label in labels if label.startswith(("window", "sort", "in-memory"))]
    dense = physical(ranking.lists(*lake, **GRADED, plan="window"))
    assert [label for label in dense if label.startswith("window")]


@pytest.mark.parametrize("how", HOWS)
def test_recommendations_are_read_three_times_at_most(lake: Any, how: dict[str, str]) -> None:
    recs, actual = lake
    roles = {"user": "user", "item": "item", "relevance": "grade", **how}
    users = pl.LazyFrame({"user": list(range(20)), "home": ["a", "b"] * 10})
    for more in ({}, {"by": "home", "users": users}):
        plan = ranking.lists(recs, actual, **roles, **more).explain(engine="streaming")
        scans = re.findall(r"Parquet SCAN \[[^\]]*recs\.parquet", plan)
        # Fewer would mean that Polars keeps them in memory, to read them once.
        assert len(scans) == (3 if "score" in how else 2)


def test_metrics_and_ks_share_one_table(lake: Any) -> None:
    recs, actual = lake
    plans = [
        pf.evaluate(recs, metrics, actual=actual, k=k, **GRADED).explain(engine="streaming")
        for metrics, k in (([ranking.ndcg], 5), (QUALITY, [1, 2, 3, 4, 5]))
    ]
    one, many = (len(re.findall(r"Parquet SCAN", plan)) for plan in plans)
    assert one == many > 1


def test_metrics_that_share_an_ideal_are_asked_in_one_call() -> None:
    recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.5, 0.4, 0.3]})
    actual = pl.DataFrame({"user": [1, 2, 2], "item": [8, 9, 7]})
    names = ("a", "b", "c", "d")
    metrics = [ranking.ndcg.alias(name) for name in names]
    roles = {"user": "user", "item": "item", "score": "score"}
    found = pf.evaluate(recs, metrics, actual=actual, k=2, **roles)
    alone = ranking.ndcg(recs, actual, k=2, **roles)
    assert found.row(0) == pytest.approx((alone,) * len(names), rel=1e-12)


def test_dropped_repeats_keep_the_first_rank() -> None:
    recs = pl.DataFrame({"user": [1, 1, 1], "item": [8, 7, 8], "rank": [3, 2, 5]})
    actual = pl.DataFrame({"user": [1], "item": [8]})
    roles = {"user": "user", "item": "item", "rank": "rank"}
    assert ranking.mrr(recs, actual, **roles, repeats="drop") == pytest.approx(1 / 3)
