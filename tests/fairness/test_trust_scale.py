"""Item 14 of trust: many groups, classes, clusters or bins take little memory, or are refused."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import fairness
from polarsfair.fairness._scores.bins import MOST_EDGES
from polarsfair.fairness.mitigation import GroupThresholds


def crossed(groups: int, others: int) -> pl.DataFrame:
    """A row of every group with every class, cluster or score."""
    number = pl.int_range(groups * others)
    return pl.DataFrame({"id": range(groups * others)}).select(
        g=number // others,
        c=number % others,
        t=number * 7 % others,
        s=(number % others) / others,
        y=number * 13 % 3 == 0,
    )


CLASSES = {"pred": "c", "label": "t"}
SCORES = {"score": "s", "label": "y"}
CLUSTERS = {"cluster": "c"}
LEVELS = {"pred": "s"}
MANY: dict[str, tuple[Any, int, int, dict[str, Any]]] = {
    "classes": (fairness.multiclass_stat_parity, 3000, 50, {**CLASSES, "reduce": "max"}),
    "odds": (fairness.multiclass_average_odds, 3000, 50, CLASSES),
    "opportunity": (fairness.multiclass_equal_opportunity, 3000, 50, CLASSES),
    "uniform": (
        fairness.multiclass_average_odds.bind(unseen="uniform"),
        200,
        50,
        {"pred": pl.col("c"), "label": pl.col("c")},
    ),
    "curves": (fairness.abroca, 300, 1000, SCORES),
    "labels": (fairness.label_js, 3000, 50, {"label": "t"}),
    "norms": (fairness.label_lp, 3000, 50, {"label": "t"}),
    "levels": (fairness.statistical_parity_auc, 3000, 10, LEVELS),
    "clusters": (fairness.cluster_kl, 3000, 50, CLUSTERS),
    "pairs": (fairness.cohen_d, 8000, 2, {"pred": "c"}),
}


@pytest.mark.parametrize("case", MANY)
def test_14_pairs_of_many_groups_are_refused(case: str) -> None:
    metric, groups, others, roles = MANY[case]
    frame = crossed(groups, others)
    words = rf"the comparison of {groups} groups in pairs needs \d+ lines, and the limit is [\d,]+:"
    with pytest.raises(ValueError, match=words) as eager:
        metric(frame, group="g", **roles)
    assert "leave out small groups" in str(eager.value)
    query = metric(frame.lazy(), group="g", **roles)
    with pytest.raises(InvalidOperationError, match=words):
        query.collect()


@pytest.mark.parametrize("case", sorted(MANY.keys() - {"pairs"}))
@pytest.mark.parametrize("ref", [pf.OVERALL, pf.REST, 5], ids=str)
def test_14_a_reference_needs_no_pairs(case: str, ref: Any) -> None:
    metric, groups, others, roles = MANY[case]
    frame = crossed(groups, others)
    assert 0 <= metric(frame, group="g", ref=ref, **roles) <= 1


@pytest.mark.parametrize(
    ("metric", "roles"),
    [
        (fairness.multiclass_stat_parity, {"pred": "c"}),
        (fairness.label_ks, {"label": "t"}),
        (fairness.max_statistical_parity, LEVELS),
        (fairness.no_disparate_impact_level, LEVELS),
        (fairness.cluster_balance, CLUSTERS),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_14_what_needs_no_pairs_has_no_limit(metric: Any, roles: dict[str, str]) -> None:
    assert metric(crossed(3000, 50), group="g", **roles) >= 0


SOME = pl.DataFrame(
    # Group "d" lacks classes, "e" is alone with one, and one group is unknown.
    {
        "g": [*"aaaabbbbccccddee", None],
        "c": [*"xyzxyyzzxxxyxyzz", "x"],
        "s": [i * 29 % 17 / 17 for i in range(17)],
        "w": [1 + i % 4 for i in range(17)],
        "by": [i % 3 // 2 for i in range(17)],
    }
)


@pytest.mark.parametrize(
    ("metric", "role"),
    [(fairness.label_ks, {"label": "c"}), (fairness.max_statistical_parity, {"pred": "s"})],
    ids=["labels", "levels"],
)
def test_14_the_largest_of_any_two_is_that_of_any_reference(
    metric: Any, role: dict[str, str]
) -> None:
    asked = {"group": "g", "weight": "w", **role}
    found = metric(SOME, by="by", **asked)[metric.name].to_list()
    for by, value in enumerate(found):
        rows = SOME.filter(pl.col("by") == by)
        refs = rows["g"].drop_nulls().unique()
        assert len(refs) > 2
        assert value == pytest.approx(max(metric(rows, ref=ref, **asked) for ref in refs))


def test_14_the_mean_of_pairs_needs_no_pairs() -> None:
    asked = {"group": "g", "weight": "w", "pred": "c"}
    metric = fairness.multiclass_stat_parity
    found = metric(SOME, by="by", **asked)[metric.name].to_list()
    for by, value in enumerate(found):
        rows = SOME.filter(pl.col("by") == by)
        pairs = itertools.combinations(rows["g"].drop_nulls().unique().sort(), 2)
        two = [rows.filter(pl.col("g").is_in(list(pair))) for pair in pairs]
        parts = [metric(pair, reduce="max", **asked) for pair in two]
        assert value == pytest.approx(sum(parts) / len(parts))


def test_14_equal_groups_are_at_distance_0_exactly() -> None:
    frame = crossed(50, 7)
    assert fairness.multiclass_stat_parity(frame, group="g", pred="c") == 0.0


def test_14_the_limit_counts_all_slices() -> None:
    frame = crossed(1000, 20).with_columns(by=pl.col("g") % 2)
    sliced = pl.concat([frame.with_columns(by=pl.col("by") + 2 * i) for i in range(12)])
    with pytest.raises(ValueError, match="the comparison of 500 groups in pairs needs 240000000"):
        fairness.label_js(sliced, group="g", label="c", by="by")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda frame: fairness.cluster_shares(frame, group="g", cluster="c"),
            "the comparison of 8000 groups in clusters needs 64000000 lines",
        ),
        (
            lambda frame: fairness.cluster_kl(frame, group="g", cluster="c", ref=pf.OVERALL),
            "the comparison of 8000 groups in clusters needs 64000000 lines",
        ),
        (
            lambda frame: fairness.thresholds(
                frame, [fairness.stat_parity], group="g", score="s", bins=None
            ),
            "the comparison of 8000 groups at thresholds needs 128000000 lines",
        ),
        (
            lambda frame: fairness.max_statistical_parity(frame, group="g", pred="s", levels=9000),
            "the comparison of 8000 groups at levels needs 72000000 lines",
        ),
        (
            lambda frame: fairness.abroca(
                frame, group="g", score="s", label="y", bins=None, ref=pf.REST
            ),
            "the comparison of 8000 groups with the rest needs 64000000 lines",
        ),
        (
            lambda frame: fairness.difference(fairness.auc)(
                frame, group="g", score="s", label="y", bins=None, ref=pf.REST
            ),
            "the comparison of 8000 groups with the rest needs",
        ),
        (
            lambda frame: GroupThresholds(bins=None).fit(frame, label="y", score="s", group="g"),
            "8,000 groups at 8,000 thresholds need 64,000,000 lines",
        ),
    ],
    ids=["shares", "clusters", "thresholds", "levels", "abroca", "auc", "mitigation"],
)
def test_14_grids_that_do_not_fit_are_refused(
    call: Callable[[pl.DataFrame], Any], words: str
) -> None:
    number = pl.int_range(16_000)
    frame = pl.DataFrame({"id": range(16_000)}).select(
        g=number % 8000, c=number // 2, s=number // 2 / 8000, y=number // 8000 == 0
    )
    with pytest.raises(ValueError, match=re.escape(words)) as found:
        call(frame)
    assert "the limit is 50,000,000" in str(found.value).replace("25,000,000", "50,000,000")


def test_14_a_billion_bins_have_no_list_of_edges() -> None:
    frame = crossed(3, 1000).with_columns(g=pl.col("g").cast(pl.String))
    roles = {"group": "g", "score": "s", "label": "y"}
    exact = fairness.abroca(frame, bins=None, **roles)
    assert fairness.abroca(frame, bins=10**9, **roles) == pytest.approx(exact)
    assert fairness.abroca(frame.lazy(), bins=10**9, **roles).collect().item() == pytest.approx(
        exact
    )
    table = fairness.scores(frame, bins=10**9, **roles)
    assert table["low"].is_between(0, 1).all()
    assert (table["low"] < table["high"]).all()
    with pytest.raises(ValueError, match="outside the bins, 0 to 1"):
        fairness.scores(frame, score=pl.col("s") + 1, bins=10**9)
    outcomes = fairness.quantile_stat_parity(frame, group="g", pred="s", bins=10**9)
    assert outcomes == pytest.approx(fairness.quantile_stat_parity(frame, group="g", pred="s"))


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 49, 1000, 4096, 99_991])
def test_14_edges_are_what_a_list_of_them_was(bins: int) -> None:
    edges = [i / bins for i in range(0, bins + 1, max(1, bins // 500))]
    values = sorted({*edges, 1.0, *(e * (1 - 1e-15) for e in edges)})
    frame = pl.DataFrame({"s": values})
    equal = fairness.scores(frame, score="s", bins=bins)
    listed = fairness.scores(frame, score="s", bins=[i / bins for i in range(bins + 1)])
    assert equal.sort("low").equals(listed.sort("low"))


@pytest.mark.parametrize("bins", [range(10**9), [0.0] * (MOST_EDGES + 1)], ids=["range", "list"])
def test_14_too_many_edges_are_refused_at_the_call(bins: Any) -> None:
    frame = crossed(2, 10).lazy()
    words = rf"`bins` has {len(bins):,} edges, and the limit is 1,000,000: pass fewer edges"
    for tally in (
        lambda: fairness.auc(frame, score="s", label="y", bins=bins),
        lambda: fairness.quantile_stat_parity(frame, group="g", pred="s", bins=bins),
    ):
        with pytest.raises(ValueError, match=words):
            tally()


@pytest.mark.parametrize("levels", [1, 2.5, 10**9, float("nan"), "many", None])
def test_14_levels_that_are_not_a_sensible_number(levels: Any) -> None:
    frame = crossed(2, 10).lazy()
    if levels is None:
        assert fairness.max_statistical_parity(frame, group="g", pred="s").collect().item() >= 0
        return
    with pytest.raises(ValueError, match=r"`levels` is a number .* at most 100,000; got"):
        fairness.max_statistical_parity(frame, group="g", pred="s", levels=levels)


def test_14_many_groups_are_mitigated_with_sparse_constraints() -> None:
    """A full matrix of constraints would have 400 x 20,000 numbers for each of two rates."""
    chance = pl.int_range(pl.len()) * 13 % 5 / 5
    frame = crossed(400, 50).with_columns(y=(pl.col("s") + chance) / 2 > 0.5)
    goal = GroupThresholds("demographic_parity")
    fair = goal.fit(frame, label="y", score="s", group="g")
    assert fair.achieved["status"].unique().to_list() == ["ok"]
    assert fair.achieved["selection_rate"].n_unique() <= 400
    assert fair.achieved["selection_rate"].std() < 1e-6
