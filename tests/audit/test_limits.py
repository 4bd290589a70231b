"""Limits and p-values against other implementations, exact sums and worked cases."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats import proportion
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of
from statsmodels.stats.multitest import multipletests

from polarsfair._audit import limits, p_values

if TYPE_CHECKING:
    from polarsfair._audit.limits import Limits

Q = limits.quantile(0.95)
COUNTS = [(0, 30), (1, 30), (29, 30), (30, 30), (12, 40), (48, 80), (3, 1000), (500_000, 10**6)]


def shares(pairs: list[tuple[int, int]]) -> Limits:
    hits, sizes = (np.array(one, dtype=float) for one in zip(*pairs, strict=True))
    return limits.wilson(hits / sizes, sizes, Q)


@pytest.mark.parametrize(("hits", "size"), COUNTS)
def test_wilson_equals_statsmodels(hits: int, size: int) -> None:
    found = shares([(hits, size)])
    low, high = proportion.proportion_confint(hits, size, method="wilson")
    assert found.low[0] == pytest.approx(low, abs=1e-12)
    assert found.high[0] == pytest.approx(high, abs=1e-12)


def test_the_limits_of_none_and_of_all_are_0_and_1() -> None:
    found = shares([(0, 7), (7, 7)])
    assert (found.low[0], found.high[1]) == (0.0, 1.0)


@pytest.mark.parametrize(("one", "other"), [*itertools.product(COUNTS, COUNTS)])
def test_difference_is_newcombes(one: tuple[int, int], other: tuple[int, int]) -> None:
    found = limits.difference(shares([one]), shares([other]))
    low, high = proportion.confint_proportions_2indep(*one, *other, method="newcomb")
    assert found.low[0] == pytest.approx(low, abs=1e-12)
    assert found.high[0] == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize(("one", "other"), [((12, 40), (48, 80)), ((60, 200), (30, 90))])
def test_ratio_is_near_the_score_interval(one: tuple[int, int], other: tuple[int, int]) -> None:
    found = limits.ratio(shares([one]), shares([other]))
    expected = proportion.confint_proportions_2indep(*one, *other, compare="ratio", method="score")
    assert (found.low[0], found.high[0]) == pytest.approx(expected, rel=0.02)


def test_the_ratio_of_the_study() -> None:
    found = limits.ratio(shares([(12, 40)]), shares([(48, 80)]))
    assert (found.low[0], found.high[0]) == pytest.approx((0.295203, 0.795331), abs=1e-6)


def test_a_ratio_to_nothing_is_unbounded_and_of_nothing_begins_at_0() -> None:
    none, some = shares([(0, 30)]), shares([(5, 30)])
    assert np.isposinf(limits.ratio(some, none).high[0])
    assert limits.ratio(none, some).low[0] == 0.0
    assert limits.ratio(none, some).high[0] > 0.0


def test_equal_weights_are_counts_whatever_their_size() -> None:
    size, degrees = limits.weighted_size(*(np.array([one]) for one in (3.0, 10.0, 3.0, 10.0)))
    assert (size[0], degrees[0]) == (10.0, np.inf)
    double, _ = limits.weighted_size(*(np.array([one]) for one in (6.0, 20.0, 12.0, 40.0)))
    assert double[0] == pytest.approx(10.0, abs=1e-12)


def test_uneven_weights_tell_less() -> None:
    weights = np.array([10.0, 1, 1, 1, 1, 1, 1, 1])
    hit = np.array([1, 0, 1, 0, 1, 0, 1, 0])
    sums = (weights @ hit, weights.sum(), weights**2 @ hit, (weights**2).sum())
    size, degrees = limits.weighted_size(*(np.array([one]) for one in sums))
    assert size[0] < 4.1
    assert degrees[0] == pytest.approx(weights.sum() ** 2 / (weights**2).sum() - 1)


def test_no_rows_have_no_limits() -> None:
    nothing = np.array([np.nan])
    found = limits.wilson(nothing, np.array([0.0]), Q)
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert np.isnan(limits.difference(found, found).low[0])
    assert np.isnan(limits.ratio(found, found).high[0])
    assert np.isnan(limits.quantile(0.95, np.array([0.0]))[0])


def test_t_quantiles_equal_scipys() -> None:
    degrees = np.array([1.0, 4.5, 30.0, 1e6])
    expected = stats.t.ppf(0.975, degrees)
    assert limits.quantile(0.95, degrees) == pytest.approx(expected, rel=1e-12)
    assert limits.quantile(0.95) == pytest.approx(stats.norm.ppf(0.975), rel=1e-12)


def test_the_worst_gap_is_that_of_all_ordered_pairs() -> None:
    groups = shares([(3, 30), (20, 40), (9, 90), (40, 60), (0, 25)])
    every = [
        (limits.difference(groups[[i]], groups[[j]]), limits.ratio(groups[[i]], groups[[j]]))
        for i, j in itertools.permutations(range(5), 2)
    ]
    low, high = limits.worst_difference(groups)
    assert low == max(0.0, *(float(d.low[0]) for d, _ in every))
    assert high == max(float(d.high[0]) for d, _ in every)
    low, high = limits.worst_ratio(groups)
    assert low == min(float(r.low[0]) for _, r in every)
    assert high == min(1.0, *(float(r.high[0]) for _, r in every))


def test_blocks_do_not_change_the_worst_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = shares([(i, 40 + i) for i in range(1, 30)])
    whole = limits.worst_difference(groups), limits.worst_ratio(groups)
    monkeypatch.setattr(limits, "BLOCK", 7)
    assert (limits.worst_difference(groups), limits.worst_ratio(groups)) == whole


@pytest.mark.parametrize(
    ("one", "other"), [((12, 40), (48, 80)), ((1, 9), (7, 11)), ((5, 9), (7, 8))]
)
def test_the_score_test_is_the_chi_square_test_up_to_its_factor(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    table = [[one[0], one[1] - one[0]], [other[0], other[1] - other[0]]]
    total = one[1] + other[1]
    theirs: Any = stats.chi2_contingency(table, correction=False)
    square = theirs.statistic * (total - 1) / total
    a, b = shares([one]), shares([other])
    found = p_values.two_shares(a.value, np.array([one[1]]), b.value, np.array([other[1]]))
    assert found[0] == pytest.approx(stats.chi2.sf(square, 1), rel=1e-12)
    both = p_values.many_shares(np.r_[a.value, b.value], np.array([one[1], other[1]], dtype=float))
    assert both == pytest.approx(found[0], rel=1e-12)


def test_equal_shares_do_not_differ() -> None:
    none = np.array([0.0])
    assert p_values.two_shares(none, np.array([5.0]), none, np.array([9.0]))[0] == 1.0
    assert p_values.many_shares(np.array([1.0, 1.0]), np.array([5.0, 9.0])) == 1.0
    assert np.isnan(p_values.many_shares(np.array([0.5]), np.array([5.0])))


@pytest.mark.parametrize("ours", ["holm", "bh"])
def test_adjustment_equals_statsmodels(ours: str) -> None:
    p = np.random.default_rng(1).uniform(size=25) ** 3
    p[[3, 7]] = p[5]
    theirs = {"holm": "holm", "bh": "fdr_bh"}[ours]
    assert p_values.adjusted(p, ours) == pytest.approx(
        multipletests(p, method=theirs)[1], abs=1e-12
    )


def test_undefined_tests_are_not_counted() -> None:
    found = p_values.adjusted([0.01, np.nan, 0.04], "holm")
    assert found[0] == 0.02
    assert np.isnan(found[1])
    assert found[2] == 0.04
    assert p_values.adjusted([0.01, 0.5], "none").tolist() == [0.01, 0.5]
    assert p_values.adjusted([], "bh").tolist() == []


@pytest.mark.parametrize(
    ("better", "worse"), [(3, 9), (0, 0), (0, 5), (30, 45), (12, 13), (12, 12)]
)
def test_mcnemar_equals_statsmodels(better: int, worse: int) -> None:
    found = p_values.mcnemar(np.array([float(better)]), np.array([float(worse)]))[0]
    if better + worse == 0:
        assert found == 1.0
        return
    exact = better + worse < 25
    theirs: Any = mcnemar_of([[1, better], [worse, 1]], exact=exact, correction=False)
    expected = theirs.pvalue
    assert found == pytest.approx(expected, rel=1e-12)
