"""`compare`: two models on the same rows or users, against other implementations and its laws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from polarsfair._audit import limits
from polarsfair._audit._compare.changes import Settings
from polarsfair._audit._compare.lists import sign_flips
from polarsfair._formula import Share
from tests.test_plans import in_memory_below_group_by, scans

if TYPE_CHECKING:
    from pathlib import Path

ROLES: dict[str, Any] = {"group": "g", "pred": "p", "other": "o", "label": "y"}
FIRST: dict[str, Any] = {"group": "g", "pred": "p", "label": "y"}
DECIDING = [
    m for m in pf.metrics() if m.tally is fairness.decisions and "pred" in m.roles and not m.keys
]
SHARES = [m for m in DECIDING if isinstance(m.formula, Share)]
MIXED: list[pf.Metric] = [
    fairness.accuracy,
    fairness.precision,
    fairness.f1,
    fairness.stat_parity,
    fairness.equal_opportunity,
]


def sample(rows: int = 900, seed: int = 0, groups: int = 3) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, rows)
    p = np.where(draw.random(rows) < 0.75, y, 1 - y)
    o = np.where(draw.random(rows) < 0.5, p, np.where(draw.random(rows) < 0.9, y, 1 - y))
    return pl.DataFrame(
        {
            "g": draw.choice(list("abcdefgh")[:groups], rows),
            "day": draw.integers(0, 3, rows),
            "p": p,
            "o": o,
            "y": y,
            "w": draw.exponential(size=rows),
        }
    )


ROWS = sample()
HOLES = ROWS.with_columns(
    p=pl.when(pl.int_range(pl.len()) % 7 > 0).then("p"),
    o=pl.when(pl.int_range(pl.len()) % 11 > 0).then("o"),
    y=pl.when(pl.int_range(pl.len()) % 13 > 0).then("y"),
)


def one(found: pl.DataFrame) -> dict[str, Any]:
    assert found.height == 1
    return found.to_dicts()[0]


@pytest.mark.parametrize("weight", [None, "w"])
def test_values_are_those_of_evaluate_on_the_same_rows(weight: str | None) -> None:
    found = pf.compare(HOLES, DECIDING, **ROLES, weight=weight, draws=200)
    assert found["metric"].to_list() == [metric.name for metric in DECIDING]
    same = HOLES.drop_nulls(["p", "o"])
    more: dict[str, Any] = {} if weight is None else {"weight": weight}
    for column, roles in (("value", FIRST), ("other_value", {**FIRST, "pred": "o"})):
        wanted = pf.evaluate(same, DECIDING, **roles, **more).row(0)
        assert found[column].to_list() == pytest.approx(list(wanted), rel=1e-10, abs=1e-12)
    change = found["other_value"] - found["value"]
    assert found["change"].to_list() == pytest.approx(change.to_list(), abs=1e-12)
    assert (found["change_low"] <= found["change"]).all()
    assert (found["change"] <= found["change_high"]).all()
    assert found["n"].to_list() == [
        same.drop_nulls("y").height if "label" in metric.roles else same.height
        for metric in DECIDING
    ]


@pytest.mark.parametrize("rows", [20, 60, 900])
def test_p_values_of_shares_of_fixed_rows_are_mcnemars(rows: int) -> None:
    frame = ROWS.head(rows)
    correct = frame.select(a=pl.col("p") == pl.col("y"), b=pl.col("o") == pl.col("y"))
    table = [[correct.filter(a=i, b=j).height for j in (True, False)] for i in (True, False)]
    changed = table[0][1] + table[1][0]
    wanted = mcnemar(table, exact=changed < 25, correction=False)
    found = one(pf.compare(frame, fairness.accuracy, **ROLES))
    assert found["p_value"] == pytest.approx(float(wanted.pvalue), rel=1e-12)
    assert found["method"] == "mcnemar"


def test_only_shares_of_fixed_rows_have_mcnemars_test() -> None:
    found = pf.compare(ROWS, SHARES, **ROLES)
    fixed = found.filter(pl.col("method") == "mcnemar")["metric"].to_list()
    wanted = "accuracy selection_rate true_positive_rate true_negative_rate"
    wanted += " false_positive_rate false_negative_rate"
    assert sorted(fixed) == sorted(wanted.split())
    assert set(found["method"]) == {"mcnemar", "paired"}


def test_limits_of_a_share_are_paired() -> None:
    """The same numbers from two columns of zeros and ones, and their correlation."""
    a, b = (np.asarray(ROWS[c] == ROWS["y"], dtype=float) for c in ("p", "o"))
    n = np.array([float(len(a))])
    q = limits.quantile(0.9)
    first, other = (limits.wilson(np.array([x.mean()]), n, q) for x in (a, b))
    wanted = limits.difference(other, first, float(np.corrcoef(a, b)[0, 1]))
    found = one(pf.compare(ROWS, fairness.accuracy, **ROLES, confidence=0.9))
    assert found["change_low"] == pytest.approx(wanted.low[0], rel=1e-10)
    assert found["change_high"] == pytest.approx(wanted.high[0], rel=1e-10)


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_error_of_a_precision_is_its_linearisation(weight: str | None) -> None:
    w = np.ones(ROWS.height) if weight is None else ROWS["w"].to_numpy()
    y = ROWS["y"].to_numpy()
    influence = 0.0
    values = []
    for name, sign in (("p", -1), ("o", 1)):
        d = ROWS[name].to_numpy()
        values.append((w * d * y).sum() / (w * d).sum())
        influence = influence + sign * w * d * (y - values[-1]) / (w * d).sum()
    error = np.sqrt((np.asarray(influence) ** 2).sum())
    found = one(pf.compare(ROWS, fairness.precision, **ROLES, weight=weight))
    wanted = 2 * stats.norm.sf(abs(values[1] - values[0]) / error)
    assert found["p_value"] == pytest.approx(wanted, rel=1e-9)
    assert found["method"] == "paired"


def test_draws_agree_with_closed_limits() -> None:
    """The mean of a benefit is a share by another name: its replicates have the same spread."""
    closed = one(pf.compare(ROWS, fairness.accuracy, **ROLES))
    drawn = one(pf.compare(ROWS, fairness.multiclass_accuracy, **ROLES, draws=5_000))
    assert drawn["method"] == "draws"
    assert drawn["change"] == pytest.approx(closed["change"])
    for name in ("change_low", "change_high"):
        assert drawn[name] == pytest.approx(closed[name], abs=0.004)


def test_weights_of_one_are_no_weights() -> None:
    ones = ROWS.with_columns(w=pl.lit(1))
    found = pf.compare(ones, MIXED, **ROLES, weight="w")
    assert_frame_equal(found, pf.compare(ROWS, MIXED, **ROLES))


def test_metrics_with_keys() -> None:
    found = pf.compare(ROWS, fairness.stat_parity_by_class, **ROLES, draws=200)
    assert found.columns[:3] == ["metric", "class", "n"]
    wanted = pf.evaluate(ROWS, fairness.stat_parity_by_class, **FIRST)
    assert found["value"].to_list() == pytest.approx(wanted["stat_parity_by_class"].to_list())


def test_adjustment_is_within_a_slice() -> None:
    from statsmodels.stats.multitest import multipletests

    for adjust, name in (("holm", "holm"), ("bh", "fdr_bh")):
        found = pf.compare(ROWS, MIXED, **ROLES, by="day", adjust=adjust)  # type: ignore[arg-type]
        for part in found.partition_by("day"):
            wanted = multipletests(part["p_value"].to_numpy(), method=name)[1]
            assert part["p_adjusted"].to_list() == pytest.approx(wanted.tolist(), abs=1e-12)
    plain = pf.compare(ROWS, MIXED, **ROLES, adjust="none")
    assert plain["p_adjusted"].to_list() == plain["p_value"].to_list()


# laws


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_slice_is_a_filter(weight: str | None) -> None:
    whole = pf.compare(HOLES, MIXED, **ROLES, by="day", weight=weight)
    for day in range(3):
        alone = pf.compare(HOLES.filter(pl.col("day") == day), MIXED, **ROLES, weight=weight)
        assert_frame_equal(whole.filter(pl.col("day") == day).drop("day"), alone, abs_tol=1e-12)


@pytest.mark.parametrize(
    "by", [None, "day", ["day", pl.col("g").alias("^x$")]], ids=["none", "one", "two"]
)
def test_lazy_is_eager_is_streaming(by: Any, tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "rows.parquet")
    lake = pl.scan_parquet(tmp_path / "rows.parquet")
    eager = pf.compare(ROWS, MIXED, **ROLES, by=by, draws=300)
    lazy = pf.compare(lake, MIXED, **ROLES, by=by, draws=300)
    assert lazy.collect_schema() == eager.schema
    assert_frame_equal(lazy.collect(), eager, abs_tol=1e-12)
    assert_frame_equal(lazy.collect(engine="streaming"), eager, abs_tol=1e-12)
    assert in_memory_below_group_by(lazy) == []
    assert scans(lazy) == 1


def test_swapping_the_models_negates_the_change() -> None:
    found = pf.compare(ROWS, SHARES, **ROLES)
    swapped = pf.compare(ROWS, SHARES, **{**ROLES, "pred": "o", "other": "p"})
    mirrored = swapped.select(
        "metric",
        "n",
        value="other_value",
        other_value="value",
        change=-pl.col("change"),
        change_low=-pl.col("change_high"),
        change_high=-pl.col("change_low"),
        p_value="p_value",
        p_adjusted="p_adjusted",
        method="method",
    )
    assert_frame_equal(found, mirrored, abs_tol=1e-12)
    drawn = pf.compare(ROWS, MIXED, **ROLES)["change"]
    other = pf.compare(ROWS, MIXED, **{**ROLES, "pred": "o", "other": "p"})["change"]
    assert drawn.to_list() == pytest.approx((-other).to_list(), abs=1e-12)


def test_the_seed_decides_and_not_the_row_order() -> None:
    found = pf.compare(ROWS, MIXED, **ROLES)
    shuffled = ROWS.sample(fraction=1.0, shuffle=True, seed=3)
    assert_frame_equal(pf.compare(shuffled, MIXED, **ROLES), found)
    other = pf.compare(ROWS, MIXED, **ROLES, seed=1)
    assert other["change"].to_list() == found["change"].to_list()
    assert other["change_low"].to_list() != found["change_low"].to_list()


def test_equal_models_do_not_differ() -> None:
    found = pf.compare(ROWS, MIXED, **{**ROLES, "other": "p"})
    assert found["change"].to_list() == [0.0] * len(MIXED)
    assert found["p_value"].to_list() == [1.0] * len(MIXED)


def test_names_that_are_used_inside() -> None:
    rows = ROWS.rename({"day": "other", "p": "pred", "o": "label", "y": "group"})
    found = pf.compare(
        rows, MIXED, group="g", pred="pred", other="label", label="group", by="other", draws=200
    )
    wanted = pf.compare(ROWS, MIXED, **ROLES, by="day", draws=200).rename({"day": "other"})
    assert_frame_equal(found, wanted)
    alias = pf.compare(ROWS, fairness.f1.alias("^f.*$"), **ROLES)
    assert alias["metric"].to_list() == ["^f.*$"]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["c", "b", "a"])], ids=str)
def test_groups_of_any_dtype(kind: Any) -> None:
    rows = ROWS.with_columns(pl.col("g").cast(kind), pl.col("p").cast(pl.Decimal(5, 2)))
    found = pf.compare(rows, MIXED, **ROLES)
    wanted = pf.compare(ROWS, MIXED, **ROLES)
    names = ["change", "p_value"]
    assert found.height == wanted.height
    for name in names:
        assert found[name].to_list() == pytest.approx(wanted[name].to_list(), rel=0.2, abs=1e-3)
    both = pf.compare(ROWS, MIXED, **{**ROLES, "group": ["g", "day"]}, draws=200)
    assert both["change_low"].null_count() == 0


@pytest.mark.parametrize("by", [None, "day"])
def test_empty_frames_and_one_group(by: Any) -> None:
    empty = pf.compare(ROWS.clear(), MIXED, **ROLES, by=by)
    full = pf.compare(ROWS, MIXED, **ROLES, by=by)
    assert empty.schema == full.schema
    assert empty.height == (len(MIXED) if by is None else 0)
    assert empty["change"].null_count() == empty.height
    assert empty["n"].to_list() == [0] * empty.height
    alone = pf.compare(ROWS.filter(pl.col("g") == "a"), MIXED, **ROLES)
    gap = one(alone.filter(metric="stat_parity"))
    assert (gap["change"], gap["change_low"], gap["p_value"]) == (None, None, None)
    unknown = pf.compare(ROWS.with_columns(o=pl.lit(None)), fairness.accuracy, **ROLES, by=by)
    assert unknown["n"].to_list() == [0] * unknown.height
    assert set(unknown["method"]) == {"none"}
    assert unknown["p_value"].null_count() == unknown.height > 0


def test_many_groups_have_limits_or_none() -> None:
    draw = np.random.default_rng(0)
    rows = pl.DataFrame({"g": draw.integers(0, 400, 40_000)}).with_columns(
        p=pl.Series(draw.integers(0, 2, 40_000)), o=pl.Series(draw.integers(0, 2, 40_000))
    )
    found = one(pf.compare(rows, fairness.stat_parity, group="g", pred="p", other="o"))
    assert found["change"] is not None
    assert (found["change_low"], found["method"]) == (None, "none")


# lists


def recommendations(users: int, seed: int, items: int = 20) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "u": np.repeat(np.arange(users), 5),
            "i": draw.integers(0, items, users * 5),
            "s": draw.random(users * 5),
        }
    )


OLD, NEW = recommendations(200, 1), recommendations(190, 2, 15)
ACTUAL = recommendations(180, 3).select("u", "i")
IDS: dict[str, Any] = {"actual": ACTUAL, "user": "u", "item": "i", "score": "s"}
QUALITY: list[pf.Metric] = [ranking.ndcg, ranking.precision, ranking.dcg]


def of_users(recs: pl.DataFrame, metric: pf.Metric) -> pl.DataFrame:
    return ranking.per_user(recs, ACTUAL, metric, user="u", item="i", score="s", k=5)


@pytest.mark.parametrize("metric", QUALITY, ids=lambda metric: metric.name)
def test_lists_are_compared_user_by_user(metric: pf.Metric) -> None:
    both = of_users(OLD, metric).join(of_users(NEW, metric), on="u").drop_nulls()
    a, b = (both[name].to_numpy() for name in (metric.name, f"{metric.name}_right"))
    found = one(pf.compare(OLD, metric, other=NEW, **IDS, k=5, draws=20_000))
    assert found["n"] == both.height
    assert found["value"] == pytest.approx(a.mean())
    assert found["other_value"] == pytest.approx(b.mean())
    assert found["method"] == "sign flips"
    error = np.std(b - a, ddof=1) / np.sqrt(len(a))
    assert found["p_value"] == pytest.approx(
        2 * stats.norm.sf(abs((b - a).mean()) / error), abs=0.02
    )
    if metric is ranking.dcg:
        # Limits of values without bounds are those of the paired t-test.
        wanted = stats.ttest_rel(b, a).confidence_interval(0.95)
        limits_ = (found["change_low"], found["change_high"])
        assert limits_ == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_sign_flips_are_exact_for_few_users() -> None:
    differences = np.array([0.5, 0.25, 0.25, -0.25, 0.5, 1.0])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1)
    sums = np.abs(signs.T @ np.abs(differences))
    wanted = (sums >= abs(differences.sum()) - 1e-12).mean()
    sizes, counts = np.unique(np.abs(differences), return_counts=True)
    settings = Settings(0.95, "holm", 50_000, 0)
    found = sign_flips(sizes, counts, float(differences.sum()), settings)
    assert found == pytest.approx(wanted, abs=0.01)
    assert sign_flips(sizes[:0], counts[:0], 0.0, settings) == 1.0
    many = np.arange(1, 200_001) / 200_000
    assert sign_flips(many, np.ones(200_000, dtype=int), 3.0, settings) is None


def test_laws_of_lists() -> None:
    groups = {"users": pl.DataFrame({"u": range(200), "city": ["A", "B"] * 100})}
    call: dict[str, Any] = {**IDS, **groups, "k": [2, 5]}
    whole = pf.compare(OLD, QUALITY, other=NEW, by="city", **call)
    assert whole.columns[:3] == ["city", "metric", "k"]
    assert whole.height == 2 * 3 * 2
    even = pl.col("u") % 2 == 0
    cut = {**IDS, "actual": ACTUAL.filter(even), "k": [2, 5]}
    alone = pf.compare(OLD.filter(even), QUALITY, other=NEW.filter(even), **cut)
    assert_frame_equal(whole.filter(city="A").drop("city"), alone, abs_tol=1e-12)
    lazy = pf.compare(OLD, QUALITY, other=NEW.lazy(), by="city", **call)
    assert lazy.collect_schema() == whole.schema
    assert_frame_equal(lazy.collect(), whole, abs_tol=1e-12)
    assert_frame_equal(lazy.collect(engine="streaming"), whole, abs_tol=1e-12)
    back = pf.compare(NEW, QUALITY, other=OLD, by="city", **call)
    assert back["change"].to_list() == pytest.approx((-whole["change"]).to_list())
    assert back["p_value"].to_list() == whole["p_value"].to_list()
    shuffled = OLD.sample(fraction=1.0, shuffle=True, seed=2)
    assert_frame_equal(
        pf.compare(shuffled, QUALITY, other=NEW, by="city", **call), whole, abs_tol=1e-12
    )


def test_lists_stay_on_the_streaming_engine(tmp_path: Path) -> None:
    for name, frame in (("old", OLD), ("new", NEW), ("actual", ACTUAL)):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    old, new, actual = (
        pl.scan_parquet(tmp_path / f"{name}.parquet") for name in ("old", "new", "actual")
    )
    lazy = pf.compare(old, QUALITY, other=new, **{**IDS, "actual": actual}, k=5)
    assert in_memory_below_group_by(lazy) == []
    assert_frame_equal(
        lazy.collect(engine="streaming"), pf.compare(OLD, QUALITY, other=NEW, **IDS, k=5)
    )


def test_lists_without_users() -> None:
    empty = one(pf.compare(OLD.clear(), ranking.precision, other=NEW, **IDS, k=5))
    assert (empty["n"], empty["change"], empty["p_value"]) == (0, None, None)
    assert empty["method"] == "none"
    same = one(pf.compare(OLD, ranking.ndcg, other=OLD, **IDS, k=5))
    assert (same["change"], same["p_value"]) == (0.0, 1.0)


# `other` is also a role


def test_the_other_end_of_an_edge_is_still_a_role() -> None:
    edges = pl.DataFrame({"a": [1, 1, 2], "b": [1, 2, 2]})
    table = clustering.edges(edges, cluster="a", other="b")
    assert table["n"].sum() == 3
    reading = next(m for m in pf.metrics() if m.tally is clustering.edges)
    assert isinstance(reading(edges, cluster="a", other="b"), float)
    with pytest.raises(TypeError, match="cannot be compared"):
        pf.compare(edges, reading, cluster="a", other="b")


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (MIXED, {"confidence": 1.0}, ValueError, "`confidence` is a number between 0 and 1"),
    (MIXED, {"confidence": True}, ValueError, "`confidence` is a number between 0 and 1"),
    (MIXED, {"confidence": "95%"}, ValueError, "`confidence` is a number between 0 and 1"),
    (MIXED, {"adjust": "bonferroni"}, ValueError, '`adjust` is one of "holm"'),
    (MIXED, {"draws": 0}, ValueError, "`draws` is a whole number"),
    (MIXED, {"seed": 0.5}, ValueError, "`seed` is a whole number"),
    (MIXED, {"other": "new"}, ColumnNotFoundError, "`other` names the column 'new'"),
    (MIXED, {"pred": None}, TypeError, 'add `pred="<column>"`'),
    (MIXED, {"other": None}, TypeError, "`other` is a column of predictions"),
    (MIXED, {"other": pl.col("w")}, ValueError, "`other` holds a value other than 0 and 1"),
    (MIXED, {"other": pl.lit("yes")}, TypeError, "`other` is String"),
    (MIXED, {"other": ROWS}, TypeError, "pass the column of the second model's predictions"),
    (MIXED, {"by": pl.col("day").alias("change")}, ValueError, "cannot be named 'change' here"),
    (MIXED, {"by": "dya"}, ColumnNotFoundError, "did you mean `by='day'`"),
    (MIXED, {"group": {"a": "w"}}, TypeError, "holds probabilities: pass a column"),
    (MIXED, {"weight": -pl.col("w")}, ValueError, "`weight` holds a value that is not"),
    (MIXED, {"unit": "day"}, TypeError, "`unit` is not read"),
    (MIXED, {"ref": "z"}, ValueError, "is not among the groups"),
    (fairness.base_rate, {}, TypeError, "does not read `pred`"),
    (fairness.auc, {"score": "w"}, TypeError, "`fairness.auc` cannot be compared"),
    (ranking.ndcg, {}, TypeError, r"pass the recommendations of the second model, `other=<frame>`"),
    ([], {}, ValueError, "`metrics` is empty"),
]


@pytest.mark.parametrize(("metrics", "call", "error", "message"), BAD, ids=[bad[-1] for bad in BAD])
def test_bad_input(
    metrics: Any, call: dict[str, Any], error: type[Exception], message: str
) -> None:
    keywords: dict[str, Any] = {**ROLES, **call}
    with pytest.raises(error, match=message):
        pf.compare(ROWS, metrics, **keywords)
    with pytest.raises(error, match=message):
        pf.compare(ROWS.lazy(), metrics, **keywords).collect()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [60, 300])
@pytest.mark.parametrize("groups", [2, 4])
def test_coverage(rows: int, groups: int) -> None:
    metrics: list[pf.Metric] = [*MIXED, fairness.disparate_impact]
    truth = pf.compare(sample(1_000_000, 9, groups), metrics, **ROLES, draws=200)["change"]
    runs = 400
    frame = sample(runs * rows, 1, groups).with_columns(run=pl.int_range(pl.len()) // rows)
    found = pf.compare(frame, metrics, **ROLES, by="run", draws=400)
    for metric, true in zip(metrics, truth, strict=True):
        own = found.filter(metric=metric.name).drop_nulls("change_low")
        covered = own.select(
            (pl.col("change_low") <= true) & (true <= pl.col("change_high"))
        ).to_series()
        assert covered.mean() > 0.915, metric.name  # 0.93 within the error of 400 runs
