"""`parity_test` against scipy and statsmodels, and what holds for every test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

import polarsfair as pf
from polarsfair import fairness
from polarsfair._audit._parity import statistics
from tests.test_plans import in_memory_below_group_by, scans

if TYPE_CHECKING:
    from pathlib import Path

RATES: list[pf.Metric] = [fairness.selection_rate, fairness.true_positive_rate, fairness.precision]
ROLES: dict[str, Any] = {"pred": "p", "label": "y"}


def sample(rows: int = 900, seed: int = 0) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": draw.choice(["F", "M"], rows),
            "race": draw.choice(["a", "b", "c", "d"], rows, p=[0.5, 0.3, 0.15, 0.05]),
            "town": draw.choice(["x", "y", "z"], rows),
            "day": draw.integers(0, 3, rows),
            "p": draw.integers(0, 2, rows),
            "y": draw.integers(0, 2, rows),
            "w": draw.exponential(size=rows),
        }
    ).with_columns(
        pl.when(pl.int_range(pl.len()) % 17 > 0).then("sex").alias("sex"),
        pl.when(pl.int_range(pl.len()) % 19 > 0).then("p").alias("p"),
    )


ROWS = sample()


def crossed(frame: pl.DataFrame, group: str) -> np.ndarray:
    """Count rows per group, in order, and prediction."""
    known = frame.drop_nulls([group, "p"])
    wide = known.pivot("p", index=group, values="y", aggregate_function="len").sort(group)
    return wide.fill_null(0).select("1", "0").to_numpy()


def one(found: pl.DataFrame) -> dict[str, Any]:
    assert found.height == 1
    return found.to_dicts()[0]


@pytest.mark.parametrize("group", ["sex", "race"])
def test_score_is_chi_squared(group: str) -> None:
    table = crossed(ROWS, group)
    wanted = stats.chi2_contingency(table, correction=False)
    found = one(pf.parity_test(ROWS, fairness.selection_rate, group=group, pred="p"))
    total = table.sum()
    statistic = wanted.statistic * (total - 1) / total
    assert found["statistic"] == pytest.approx(statistic, rel=1e-12)
    assert found["df"] == wanted.dof
    assert found["p_value"] == pytest.approx(stats.chi2.sf(statistic, wanted.dof), rel=1e-12)
    assert (found["metric"], found["method"]) == ("selection_rate", "score")


@pytest.mark.parametrize("rows", [12, 60, 900])
def test_exact_is_fishers(rows: int) -> None:
    frame = ROWS.head(rows)
    wanted = stats.fisher_exact(crossed(frame, "sex"))
    found = one(
        pf.parity_test(frame, fairness.selection_rate, group="sex", pred="p", method="exact")
    )
    assert found["p_value"] == pytest.approx(wanted.pvalue, rel=1e-12)
    assert found["statistic"] == pytest.approx(wanted.statistic, rel=1e-12)
    assert (found["df"], found["method"]) == (None, "exact")


def test_strata_are_cochran_mantel_haenszel() -> None:
    towns = [crossed(part, "sex") for part in ROWS.partition_by("town")]
    wanted = StratifiedTable([town.astype(float) for town in towns]).test_null_odds(
        correction=False
    )
    found = one(pf.parity_test(ROWS, fairness.selection_rate, group="sex", strata="town", pred="p"))
    assert found["statistic"] == pytest.approx(wanted.statistic, rel=1e-12)
    assert found["p_value"] == pytest.approx(wanted.pvalue, rel=1e-12)
    assert (found["df"], found["method"]) == (1, "cmh")


def general_association(tables: list[np.ndarray]) -> float:
    """The quadratic form of the first groups' hits, by its textbook formula."""
    excess = sum(t[:, 0] - t[:, 0].sum() * t.sum(1) / t.sum() for t in tables)
    variance = 0.0
    for t in tables:
        size, hits, total = t.sum(1), t[:, 0].sum(), t.sum()
        spread = np.diag(size) / total - np.outer(size, size) / total**2
        variance = variance + hits * (total - hits) / (total - 1) * spread
    first = slice(0, len(excess) - 1)
    return float(excess[first] @ np.linalg.solve(variance[first, first], excess[first]))


def test_many_groups_within_strata() -> None:
    towns = [crossed(part, "race").astype(float) for part in ROWS.partition_by("town")]
    found = one(
        pf.parity_test(ROWS, fairness.selection_rate, group="race", strata="town", pred="p")
    )
    assert found["statistic"] == pytest.approx(general_association(towns), rel=1e-10)
    assert found["df"] == 3
    assert found["p_value"] == pytest.approx(stats.chi2.sf(found["statistic"], 3), rel=1e-12)


@pytest.mark.parametrize("group", ["sex", "race"])
def test_one_stratum_is_the_score_test(group: str) -> None:
    roles: dict[str, Any] = {"group": group, "pred": "p"}
    plain = one(pf.parity_test(ROWS, fairness.selection_rate, **roles))
    within = one(pf.parity_test(ROWS, fairness.selection_rate, **roles, strata=pl.lit("all")))
    assert within["statistic"] == pytest.approx(plain["statistic"], rel=1e-10)
    assert (within["df"], within["p_value"]) == (plain["df"], pytest.approx(plain["p_value"]))


def test_strata_that_keep_groups_apart_lose_a_degree() -> None:
    frame = pl.DataFrame(
        {
            "g": ["a", "a", "b", "b", "c", "c", "d", "d"] * 5,
            "s": ["x", "x", "x", "x", "y", "y", "y", "y"] * 5,
            "p": [0, 1, 1, 1, 0, 1, 0, 0] * 5,
        }
    )
    found = one(pf.parity_test(frame, fairness.selection_rate, group="g", strata="s", pred="p"))
    alone = [
        one(pf.parity_test(part, fairness.selection_rate, group="g", pred="p"))["statistic"]
        for part in frame.partition_by("s")
    ]
    assert found["df"] == 2
    assert found["statistic"] == pytest.approx(sum(alone), rel=1e-10)


def test_several_strata_and_unknown_ones() -> None:
    rows = ROWS.with_columns(town=pl.when(pl.int_range(pl.len()) % 7 > 0).then("town"))
    both = pl.concat_str("town", pl.col("day").cast(pl.String))
    roles: dict[str, Any] = {"group": "race", "pred": "p"}
    listed = pf.parity_test(rows, fairness.selection_rate, strata=["town", "day"], **roles)
    joined = pf.parity_test(rows, fairness.selection_rate, strata=both, **roles)
    assert_frame_equal(listed, joined)
    known = rows.drop_nulls("town")
    assert_frame_equal(
        listed, pf.parity_test(known, fairness.selection_rate, strata=["town", "day"], **roles)
    )


def test_permutation_is_near_the_exact_test() -> None:
    frame = ROWS.head(40)
    roles: dict[str, Any] = {"group": "sex", "pred": "p", "draws": 20_000}
    found = one(pf.parity_test(frame, fairness.selection_rate, method="permutation", **roles))
    wanted = stats.fisher_exact(crossed(frame, "sex")).pvalue
    assert found["p_value"] == pytest.approx(wanted, abs=0.015)
    assert (found["df"], found["method"]) == (None, "permutation")
    score = one(pf.parity_test(frame, fairness.selection_rate, group="sex", pred="p"))
    assert found["statistic"] == pytest.approx(score["statistic"])


def test_permutation_of_many_groups() -> None:
    roles: dict[str, Any] = {"group": "race", "pred": "p"}
    found = one(pf.parity_test(ROWS, fairness.selection_rate, method="permutation", **roles))
    score = one(pf.parity_test(ROWS, fairness.selection_rate, **roles))
    assert found["p_value"] == pytest.approx(score["p_value"], abs=0.05)
    again = pf.parity_test(
        ROWS.sample(fraction=1.0, shuffle=True, seed=1),
        fairness.selection_rate,
        method="permutation",
        **roles,
    )
    assert one(again) == found
    other = pf.parity_test(ROWS, fairness.selection_rate, method="permutation", seed=5, **roles)
    assert one(other)["p_value"] != found["p_value"]


def test_a_permutation_of_a_billion_rows_is_the_score_test() -> None:
    hits, sizes = np.array([300e6, 300.1e6]), np.array([600e6, 600e6])
    found = statistics.permutation(hits, sizes, 100, 0)
    assert found == statistics.score(hits, sizes)
    assert found.method == "score"


def test_weights_are_counts_of_an_effective_size() -> None:
    equal = ROWS.with_columns(w=pl.lit(3.0))
    roles: dict[str, Any] = {"group": "race", "pred": "p"}
    plain = one(pf.parity_test(ROWS, fairness.selection_rate, **roles))
    weighted = one(pf.parity_test(equal, fairness.selection_rate, weight="w", **roles))
    assert weighted["statistic"] == pytest.approx(plain["statistic"], rel=0.02)
    uneven = one(pf.parity_test(ROWS, fairness.selection_rate, weight="w", **roles))
    shares = pf.by_group(ROWS, fairness.selection_rate, weight="w", **roles)
    assert uneven["statistic"] != pytest.approx(plain["statistic"])
    assert shares["value"].null_count() == 0
    ones = ROWS.with_columns(w=pl.lit(1))
    for strata in (None, "town"):
        same = pf.parity_test(ones, RATES, group="race", **ROLES, weight="w", strata=strata)
        assert_frame_equal(same, pf.parity_test(ROWS, RATES, group="race", **ROLES, strata=strata))


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_size_at_parity(weighted: bool) -> None:
    draw = np.random.default_rng(0)
    runs, rows = 1_000, 400
    frame = pl.DataFrame(
        {
            "run": np.repeat(np.arange(runs), rows),
            "g": draw.choice(["a", "b", "c"], runs * rows),
            "p": draw.random(runs * rows) < 0.3,
            "w": draw.exponential(size=runs * rows),
        }
    )
    weight = {"weight": "w"} if weighted else {}
    found = pf.parity_test(frame, fairness.selection_rate, group="g", pred="p", by="run", **weight)
    assert 0.03 < (found["p_value"] < 0.05).mean() < (0.08 if weighted else 0.07)


# what holds for every test

CALLS: list[dict[str, Any]] = [
    {"group": "race"},
    {"group": "sex", "method": "exact"},
    {"group": "race", "method": "permutation", "draws": 300},
    {"group": "race", "strata": "town"},
    {"group": ["sex", "race"], "strata": ["town", "^t$"]},
    {"group": "race", "weight": "w"},
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_slice_is_a_filter(call: dict[str, Any]) -> None:
    rows = ROWS.with_columns(pl.col("town").alias("^t$"))
    whole = pf.parity_test(rows, RATES, by="day", **ROLES, **call)
    assert whole["metric"].to_list() == [rate.name for rate in RATES] * 3
    for day in range(3):
        alone = pf.parity_test(rows.filter(pl.col("day") == day), RATES, **ROLES, **call)
        assert_frame_equal(whole.filter(pl.col("day") == day).drop("day"), alone, abs_tol=1e-12)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_lazy_is_eager_is_streaming(call: dict[str, Any], tmp_path: Path) -> None:
    rows = ROWS.with_columns(pl.col("town").alias("^t$"))
    rows.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    eager = pf.parity_test(rows, RATES, by="day", **ROLES, **call)
    lazy = pf.parity_test(lake, RATES, by="day", **ROLES, **call)
    assert lazy.collect_schema() == eager.schema
    assert_frame_equal(lazy.collect(), eager)
    assert_frame_equal(lazy.collect(engine="streaming"), eager)
    assert in_memory_below_group_by(lazy) == []
    assert scans(lazy) == 1


def test_groups_without_rows_take_no_part() -> None:
    rows = pl.concat([ROWS, ROWS.head(50).with_columns(race=pl.lit("e"), p=pl.lit(None, pl.Int64))])
    roles: dict[str, Any] = {"group": "race", "pred": "p"}
    found = pf.parity_test(rows, fairness.selection_rate, **roles)
    assert_frame_equal(found, pf.parity_test(ROWS, fairness.selection_rate, **roles))


@pytest.mark.parametrize("method", ["score", "exact", "permutation"])
def test_one_group_or_none_has_no_test(method: Any) -> None:
    for frame in (ROWS.filter(pl.col("sex") == "F"), ROWS.clear()):
        found = one(
            pf.parity_test(frame, fairness.selection_rate, group="sex", pred="p", method=method)
        )
        assert (found["statistic"], found["df"], found["p_value"]) == (None, None, None)
        assert found["method"] == method
    within = pf.parity_test(ROWS, fairness.selection_rate, group="sex", strata="sex", pred="p")
    assert one(within)["p_value"] is None
    empty = pf.parity_test(ROWS.clear(), RATES, group="sex", by="day", **ROLES, method=method)
    assert empty.height == 0
    assert empty.schema == pf.parity_test(ROWS, RATES, group="sex", by="day", **ROLES).schema


@pytest.mark.parametrize("value", [0, 1])
def test_equal_shares_do_not_differ(value: int) -> None:
    rows = ROWS.with_columns(p=pl.lit(value))
    for call in ({}, {"strata": "town"}, {"method": "permutation"}, {"method": "exact"}):
        found = one(pf.parity_test(rows, fairness.selection_rate, group="sex", pred="p", **call))
        assert found["p_value"] == 1.0


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["d", "c", "b", "a"])], ids=str)
def test_groups_of_any_dtype(kind: Any) -> None:
    rows = ROWS.with_columns(pl.col("race").cast(kind))
    for call in ({}, {"strata": "town"}, {"strata": "race"}):
        found = pf.parity_test(rows, fairness.selection_rate, group="race", pred="p", **call)
        wanted = pf.parity_test(ROWS, fairness.selection_rate, group="race", pred="p", **call)
        assert_frame_equal(found, wanted)


def test_two_thousand_groups() -> None:
    draw = np.random.default_rng(0)
    rows = pl.DataFrame({"g": draw.integers(0, 2_000, 40_000), "p": draw.integers(0, 2, 40_000)})
    found = one(pf.parity_test(rows, fairness.selection_rate, group="g", pred="p"))
    assert found["df"] == 1_999
    assert found["p_value"] > 0.001


BAD: list[tuple[pf.Metric, dict[str, Any], type[Exception], str]] = [
    (fairness.stat_parity, {}, TypeError, "such as `fairness.selection_rate`"),
    (fairness.auc, {}, TypeError, "`fairness.auc` is not one: pass a rate"),
    (fairness.f1, {}, TypeError, "`fairness.f1` is not one"),
    (RATES[0], {"method": "fisher"}, ValueError, "`method` is one of"),
    (RATES[0], {"group": "race", "method": "exact"}, ValueError, "two groups, and there are 4"),
    (RATES[0], {"group": None}, TypeError, 'add `group="<column>"`'),
    (RATES[0], {"group": {"F": "w"}}, TypeError, "holds probabilities: pass a column"),
    (RATES[0], {"strata": "town", "method": "exact"}, ValueError, "leave out `method='exact'`"),
    (RATES[0], {"weight": "w", "method": "exact"}, ValueError, "leave out `weight=...`"),
    (RATES[0], {"strata": "twon"}, ColumnNotFoundError, "'twon'"),
    (RATES[0], {"draws": 0}, ValueError, "`draws` is a whole number of at least 1"),
    (RATES[0], {"seed": -1}, ValueError, "`seed` is a whole number"),
    (RATES[0], {"by": pl.col("day").alias("df")}, ValueError, "cannot be named 'df' here"),
    (RATES[0], {"weight": -pl.col("w")}, ValueError, "`weight` holds a value that is not"),
    (RATES[0], {"ref": "F"}, TypeError, "`ref`"),
    (RATES[0], {"unit": "town"}, TypeError, "`unit` is not read by"),
]


@pytest.mark.parametrize(("rate", "call", "error", "message"), BAD, ids=[bad[-1] for bad in BAD])
def test_bad_input(
    rate: pf.Metric, call: dict[str, Any], error: type[Exception], message: str
) -> None:
    keywords: dict[str, Any] = {"group": "sex", **ROLES, "score": "w", **call}
    with pytest.raises(error, match=message):
        pf.parity_test(ROWS, rate, **keywords)
    with pytest.raises(error, match=message):
        pf.parity_test(ROWS.lazy(), rate, **keywords).collect()
