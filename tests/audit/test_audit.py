"""`audit` and `audit_table`: laws, references, statuses, worked cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import fairness
from polarsfair._audit import limits, p_values

RATE = fairness.selection_rate
METRICS = [RATE, fairness.true_positive_rate, fairness.stat_parity, fairness.equalized_odds]
ROLES: dict[str, Any] = {"pred": "hired", "label": "fit"}


def people(rows: int = 3_000, seed: int = 1) -> pl.DataFrame:
    """Draw rows with unknown groups, predictions and labels."""
    draw = np.random.default_rng(seed)
    sexes: list[Any] = ["F", "M", None]
    cities: list[Any] = ["A", "B", None]
    known: list[Any] = [0, 1, None]
    return pl.DataFrame(
        {
            "sex": draw.choice(sexes, rows, p=[0.4, 0.55, 0.05]).tolist(),
            "race": draw.choice(["a", "b", "c", "d"], rows, p=[0.4, 0.3, 0.29, 0.01]),
            "age": draw.integers(2, 5, rows),
            "city": draw.choice(cities, rows).tolist(),
            "hired": draw.choice(known, rows, p=[0.5, 0.45, 0.05]).tolist(),
            "fit": draw.choice(known, rows, p=[0.5, 0.45, 0.05]).tolist(),
            "w": draw.integers(1, 5, rows).astype(float) / 4,
        }
    )


ROWS = people()


def counted(counts: dict[str, tuple[int, int]], name: str = "sex") -> pl.DataFrame:
    """Make rows of groups with so many selected of so many."""
    rows = [(g, int(i < hits)) for g, (hits, n) in counts.items() for i in range(n)]
    return pl.DataFrame(rows, schema=[name, "hired"], orient="row")


def groups(result: pl.DataFrame, attribute: str, metric: str = "selection_rate") -> pl.DataFrame:
    """Return the rows of the groups of one attribute."""
    own = (pl.col("attribute") == attribute) & (pl.col("metric") == metric)
    return result.filter(own, pl.col("scope") == "group")


def gap(result: pl.DataFrame, attribute: str, metric: str) -> dict[str, Any]:
    own = (pl.col("attribute") == attribute) & (pl.col("metric") == metric)
    return result.filter(own, pl.col("scope") == "gap").row(0, named=True)


# --- laws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", [pf.LARGEST, pf.BEST, pf.REST, pf.OVERALL, {"sex": "F"}])
@pytest.mark.parametrize("weight", [None, "w"])
def test_a_slice_is_a_filter(ref: Any, weight: str | None) -> None:
    asked: dict[str, Any] = {"group": ["sex", "race"], "metrics": METRICS, "ref": ref, **ROLES}
    sliced = pf.audit(ROWS, by="city", weight=weight, **asked)
    for city in ("A", "B", None):
        one = ROWS.filter(pl.col("city").eq_missing(city))
        own = sliced.filter(pl.col("city").eq_missing(city)).drop("city")
        assert_frame_equal(own, pf.audit(one, weight=weight, **asked), rel_tol=1e-12)


@pytest.mark.parametrize("ref", [pf.LARGEST, pf.REST, {"race": "a"}])
def test_an_audit_of_stored_tables_is_that_of_the_rows(ref: Any) -> None:
    asked: dict[str, Any] = {"group": ["sex", "race"], "metrics": METRICS, "ref": ref, "by": "city"}
    slices = ["sex", "race", "city"]
    days = [ROWS[:700], ROWS[700:710], ROWS[710:]]
    tables = [fairness.decisions(day, by=[*slices, "age"], **ROLES) for day in days]
    whole = pf.audit(ROWS, **asked, **ROLES)
    assert_frame_equal(pf.audit_table(tables, **asked), whole, rel_tol=1e-12)
    assert_frame_equal(pf.audit_table(pl.concat(tables), **asked), whole, rel_tol=1e-12)
    lazy = pf.audit_table([table.lazy() for table in tables], **asked)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), whole, rel_tol=1e-12)


def test_rows_of_groups_are_those_of_by_group() -> None:
    for attribute in ("sex", "race"):
        asked: dict[str, Any] = {"metrics": METRICS[:2], **ROLES, "by": "city"}
        ours = pf.audit(ROWS, group=["sex", "race"], ref={attribute: ROWS[attribute][0]}, **asked)
        theirs = pf.by_group(ROWS, group=attribute, ref=ROWS[attribute][0], **asked)
        for metric in ("selection_rate", "true_positive_rate"):
            keys = ["city", "group"]
            columns = [*keys, "n", "value", "difference", "ratio"]
            assert_frame_equal(
                groups(ours, attribute, metric).select(columns).sort(keys),
                theirs.filter(pl.col("metric") == metric).select(columns).sort(keys),
                rel_tol=1e-12,
            )


@pytest.mark.parametrize("ref", [pf.OVERALL, pf.REST])
def test_comparisons_with_everyone_are_those_of_by_group(ref: Any) -> None:
    asked: dict[str, Any] = {"metrics": [RATE, fairness.f1], **ROLES, "weight": "w"}
    ours = pf.audit(ROWS, group=["race"], ref=ref, **asked)
    theirs = pf.by_group(ROWS, group="race", ref=ref, **asked)
    columns = ["group", "n", "value", "ref", "difference", "ratio"]
    for name in ("selection_rate", "f1"):
        own = groups(ours, "race", name).select(columns)
        assert_frame_equal(
            own, theirs.filter(pl.col("metric") == name).select(columns), rel_tol=1e-12
        )


def test_row_order_chunks_and_engine_do_not_matter() -> None:
    asked: dict[str, Any] = {"group": ["sex", "race"], "metrics": METRICS, **ROLES, "by": "city"}
    expected = pf.audit(ROWS, **asked)
    shuffled = ROWS.sample(fraction=1, shuffle=True, seed=3)
    chunked = pl.concat([shuffled[:10], shuffled[10:2000], shuffled[2000:]], rechunk=False)
    assert_frame_equal(pf.audit(chunked, **asked), expected, rel_tol=1e-12)
    lazy = pf.audit(shuffled.lazy(), **asked)
    assert_frame_equal(lazy.collect(engine="streaming"), expected, rel_tol=1e-12)
    assert_frame_equal(lazy.collect(engine="in-memory"), expected, rel_tol=1e-12)


def test_values_of_comparisons_are_those_of_evaluate() -> None:
    known = ROWS.filter(pl.col("race") != "d")
    compared = [
        *(fairness.stat_parity, fairness.disparate_impact, fairness.equalized_odds),
        *(fairness.average_abs_odds, pf.group_min(RATE), pf.group_max(RATE)),
        *(fairness.average_odds, fairness.treatment_equality),
    ]
    ours = pf.audit(known, group="race", metrics=compared, draws=0, **ROLES)
    theirs = pf.evaluate(known, compared, group="race", counts=True, **ROLES)
    for metric in compared:
        row = gap(ours, "race", metric.name)
        assert row["value"] == pytest.approx(theirs[metric.name].item(), rel=1e-12)
        assert row["n"] == theirs[f"{metric.name}_n"].item()
    named = [metric for metric in compared if "ref" in metric.option_names]
    ours = pf.audit(known, group="race", metrics=named, ref="b", draws=0, **ROLES)
    theirs = pf.evaluate(known, named, group="race", ref="b", **ROLES)
    for metric in named:
        row = gap(ours, "race", metric.name)
        assert row["value"] == pytest.approx(theirs[metric.name].item(), rel=1e-12)
        assert row["ref"] == "b"


def test_an_intersection_is_the_audit_of_its_text() -> None:
    known = ROWS.drop_nulls("sex").with_columns(
        both=pl.format("{} & {}", pl.col("sex"), pl.col("race"))
    )
    two = groups(pf.audit(known, group=["sex", "race"], metrics=RATE, **ROLES), "sex & race")
    one = groups(pf.audit(known, group="both", metrics=RATE, adjust="none", **ROLES), "both")
    drop = ["attribute", "p_adjusted"]
    assert_frame_equal(two.drop(drop), one.drop(drop), rel_tol=1e-12)


def test_a_row_of_unknown_race_counts_under_sex() -> None:
    rows = pl.DataFrame({"sex": ["F", "M"], "race": [None, "a"], "hired": [1, 0]})
    found = pf.audit(rows, group=["sex", "race"], pred="hired")
    assert groups(found, "sex")["n"].to_list() == [1, 1]
    both = groups(found, "sex & race")
    assert both["group"].to_list() == [None, "M & a"]
    assert both["status"].to_list() == ["unknown_group", "small"]


# --- what is in the rows ----------------------------------------------------------------------


def test_rows_stand_in_order() -> None:
    found = pf.audit(ROWS, group=["sex", "race"], metrics=METRICS, **ROLES, by="city")
    assert found.columns[:6] == ["city", "metric", "attribute", "scope", "group", "ref"]
    assert found["city"].unique(maintain_order=True).to_list() == [None, "A", "B"]
    one = found.filter(pl.col("city") == "A")
    assert one["metric"].unique(maintain_order=True).to_list() == [m.name for m in METRICS]
    rates = one.filter(pl.col("metric") == "selection_rate")
    sexes = [(None, "overall", None), ("sex", "gap"), ("sex", "group", None)]
    shown = rates.select("attribute", "scope", "group").rows()
    assert [row[: len(want)] for row, want in zip(shown, sexes, strict=False)] == sexes
    assert [row[2] for row in shown[3:5]] == ["F", "M"]
    assert rates["attribute"].unique(maintain_order=True).to_list() == [
        *(None, "sex", "race", "sex & race")
    ]
    assert one.filter(pl.col("metric") == "stat_parity")["scope"].to_list() == ["gap"] * 3


def test_groups_stand_in_the_order_of_their_dtype() -> None:
    rows = pl.DataFrame({"age": [10, 9, 100, None], "hired": [1, 0, 1, 0]})
    found = pf.audit(rows, group="age", pred="hired")
    assert groups(found, "age")["group"].to_list() == [None, "9", "10", "100"]
    sizes = pl.Enum(["small", "large"])
    rows = pl.DataFrame(
        {"size": ["large", "small"], "hired": [1, 0]}, schema_overrides={"size": sizes}
    )
    found = pf.audit(rows, group="size", pred="hired")
    assert groups(found, "size")["group"].to_list() == ["small", "large"]


def test_limits_and_tests_are_those_of_the_two_shares() -> None:
    found = pf.audit(counted({"F": (12, 40), "M": (48, 80)}), group="sex", pred="hired")
    women, men = groups(found, "sex").rows(named=True)
    q = limits.quantile(0.95)
    own, other = (
        limits.wilson(np.array([v]), np.array([n]), q) for v, n in ((0.3, 40.0), (0.6, 80.0))
    )
    difference, ratio = limits.difference(own, other), limits.ratio(own, other)
    assert (women["ci_low"], women["ci_high"]) == (own.low[0], own.high[0])
    assert women["difference_low"] == pytest.approx(difference.low[0], rel=1e-12)
    assert (women["ratio_low"], women["ratio_high"]) == pytest.approx(
        (0.295203, 0.795331), abs=1e-6
    )
    assert women["ratio_high"] == pytest.approx(ratio.high[0], rel=1e-12)
    test = p_values.two_shares(*(np.array([one]) for one in (0.3, 40.0, 0.6, 80.0)))
    assert women["p_value"] == women["p_adjusted"] == pytest.approx(test[0], rel=1e-12)
    assert (men["ref"], men["difference"], men["ratio"]) == ("M", 0.0, 1.0)
    assert [men[n] for n in ("difference_low", "ratio_high", "p_value", "p_adjusted")] == [None] * 4
    row = gap(found, "sex", "selection_rate")
    assert (row["group"], row["ref"], row["value"], row["ref_value"]) == ("F", "M", 0.3, 0.6)
    assert (row["difference"], row["ratio"]) == (pytest.approx(-0.3), pytest.approx(0.5))
    assert row["difference_low"] == pytest.approx(women["difference_low"], rel=1e-12)
    assert row["difference_high"] == pytest.approx(women["difference_high"], rel=1e-12)
    assert (row["ratio_low"], row["ratio_high"]) == pytest.approx(
        (women["ratio_low"], women["ratio_high"])
    )
    assert row["p_value"] == pytest.approx(women["p_value"], rel=1e-12)


def test_p_values_are_adjusted_over_all_groups_of_a_metric() -> None:
    found = pf.audit(ROWS, group=["sex", "race"], metrics=RATE, adjust="holm", min_n=60, **ROLES)
    tested = found.filter(pl.col("scope") == "group", pl.col("status") == "ok")
    expected = p_values.adjusted(tested["p_value"].fill_null(np.nan).to_numpy(), "holm")
    assert tested["p_adjusted"].fill_null(np.nan).to_list() == pytest.approx(
        expected.tolist(), nan_ok=True
    )
    assert tested["p_adjusted"].count() == 1 + 2 + 5
    gaps = found.filter(pl.col("scope") == "gap")
    assert gaps["p_adjusted"].to_list() == pytest.approx(
        p_values.adjusted(gaps["p_value"].to_numpy(), "holm").tolist()
    )
    plain = pf.audit(ROWS, group="race", metrics=RATE, adjust="none", **ROLES)
    own = plain.filter(pl.col("status") == "ok")
    assert own["p_value"].to_list() == own["p_adjusted"].to_list()


def test_small_groups_keep_numbers_and_take_no_part() -> None:
    counts = {"a": (20, 100), "b": (50, 90), "c": (19, 20), "d": (0, 5)}
    found = pf.audit(counted(counts, "race"), group="race", pred="hired", ref=pf.BEST)
    shown = groups(found, "race")
    assert shown["status"].to_list() == ["ok", "ok", "small", "small"]
    assert shown["ref"].unique().to_list() == ["b"]
    assert shown["ratio"].to_list()[2] == pytest.approx(0.95 / (50 / 90))
    assert shown["p_adjusted"].is_null().to_list() == [False, True, True, True]
    row = gap(found, "race", "selection_rate")
    assert (row["group"], row["ref"], row["n"]) == ("a", "b", 190)


def test_a_share_of_the_rows_can_be_too_small() -> None:
    rows = counted({"a": (50, 500), "b": (50, 490), "c": (19, 19)}, "race")
    kept = groups(pf.audit(rows, group="race", pred="hired", min_n=0), "race")
    assert kept["status"].to_list() == ["ok", "ok", "ok"]
    found = pf.audit(rows, group="race", pred="hired", min_n=0, min_share=0.02)
    assert groups(found, "race")["status"].to_list() == ["ok", "ok", "small"]


def test_the_status_is_the_first_that_holds() -> None:
    rows = pl.DataFrame({"sex": ["F", None, None, "M"], "hired": [None, None, 1, 1]})
    found = groups(pf.audit(rows, group="sex", pred="hired"), "sex")
    assert found["status"].to_list() == ["unknown_group", "undefined", "small"]
    assert found["value"].to_list() == [1.0, None, 1.0]


def test_the_largest_group_is_one_for_all_metrics_and_the_first_of_equal_ones() -> None:
    rows = counted({"b": (20, 40), "a": (10, 40), "c": (9, 39)}, "race")
    found = pf.audit(rows, group="race", pred="hired")
    assert groups(found, "race")["ref"].unique().to_list() == ["a"]


def test_a_reference_of_an_intersection_is_put_together_from_its_parts() -> None:
    found = pf.audit(ROWS, group=["sex", "race"], metrics=RATE, ref={"race": "c"}, **ROLES)
    assert groups(found, "race")["ref"].unique().to_list() == ["c"]
    assert groups(found, "sex")["ref"].drop_nulls().unique().to_list() == ["M"]
    assert groups(found, "sex & race")["ref"].drop_nulls().unique().to_list() == ["M & c"]


def test_best_has_limits_that_hold_for_all_pairs() -> None:
    counts = {"a": (20, 100), "b": (50, 90), "c": (30, 80)}
    rows = counted(counts, "race")
    best = groups(pf.audit(rows, group="race", pred="hired", ref=pf.BEST), "race")
    named = groups(
        pf.audit(rows, group="race", pred="hired", ref="b", confidence=1 - 0.05 / 3), "race"
    )
    columns = ["difference_low", "difference_high", "ratio_low", "ratio_high"]
    assert_frame_equal(best.select(columns), named.select(columns), rel_tol=1e-12)
    plain = groups(pf.audit(rows, group="race", pred="hired", ref="b"), "race")
    assert_frame_equal(best.select("ci_low", "ci_high"), plain.select("ci_low", "ci_high"))


def test_overall_is_the_difference_from_the_rest_by_the_share_of_the_rest() -> None:
    rows = counted({"a": (20, 100), "b": (50, 90), "c": (30, 80)}, "race")
    rest = groups(pf.audit(rows, group="race", pred="hired", ref=pf.REST), "race")
    everyone = groups(pf.audit(rows, group="race", pred="hired", ref=pf.OVERALL), "race")
    share = rest["n"] / rest["n"].sum()
    for name in ("difference", "difference_low", "difference_high"):
        assert everyone[name].to_list() == pytest.approx((rest[name] * (1 - share)).to_list())
    for name in ("ratio", "ratio_low", "ratio_high"):
        ratio = rest[name]
        expected = ratio / (share * ratio + 1 - share)
        assert everyone[name].to_list() == pytest.approx(expected.to_list())
    assert everyone["p_value"].to_list() == rest["p_value"].to_list()
    assert everyone["ref_value"].to_list() == pytest.approx([100 / 270] * 3)


def test_comparisons_have_limits_of_the_named_group() -> None:
    rows = counted({"a": (20, 100), "b": (50, 90), "c": (30, 80)}, "race")
    found = pf.audit(rows, group="race", pred="hired", metrics=fairness.stat_parity, ref="b")
    row = gap(found, "race", "stat_parity")
    named = pf.audit(
        rows, group="race", pred="hired", metrics=RATE, ref="b", confidence=1 - 0.05 / 2
    )
    own = groups(named, "race").row(0, named=True)
    assert (row["group"], row["ref"]) == ("a", "b")
    assert (row["value"], row["ci_low"], row["ci_high"]) == pytest.approx(
        (own["difference"], own["difference_low"], own["difference_high"])
    )


def test_without_groups_there_is_everyone() -> None:
    found = pf.audit(ROWS, **ROLES)
    assert found["scope"].unique().to_list() == ["overall"]
    shares = {"selection_rate", "base_rate", "precision", "accuracy", "true_positive_rate"}
    assert shares <= set(found["metric"])
    assert "equalized_odds" not in set(found.filter(pl.col("value").is_not_null())["metric"])


# --- regulators ---------------------------------------------------------------------------------


def test_new_yorks_local_law_144() -> None:
    audited: dict[str, Any] = {"pred": "hired", "ref": pf.BEST, "min_share": 0.02}
    sex = pf.audit(counted({"Male": (50, 92), "Female": (34, 76)}), group="sex", **audited)
    assert groups(sex, "sex")["ratio"].round(2).to_list() == [0.82, 1.0]
    race = counted({"Hispanic": (18, 28), "White": (15, 40)}, "race")
    found = pf.audit(race, group="race", min_n=0, **audited)
    assert groups(found, "race")["ratio"].round(2).to_list() == [1.0, 0.58]


def test_the_four_fifths_of_the_eeoc() -> None:
    counts = {"A": (48, 80), "B": (45, 100), "C": (48, 100), "D": (51, 100)}
    found = pf.audit(
        counted(counts, "race"), group="race", pred="hired", ref=pf.BEST, min_share=0.02
    )
    assert groups(found, "race")["ratio"].round(2).to_list() == [1.0, 0.75, 0.8, 0.85]
    unknown = pl.concat(
        [counted(counts, "race"), pl.DataFrame({"race": [None], "hired": [1]})],
        how="vertical_relaxed",
    )
    found = pf.audit(unknown, group="race", pred="hired", ref=pf.BEST, min_share=0.02)
    assert groups(found, "race")["status"].to_list()[0] == "unknown_group"


# --- one scan, and shrinkage ----------------------------------------------------------------------


def test_all_attributes_and_intersections_are_one_scan() -> None:
    asked: dict[str, Any] = {"group": ["sex", "race", "age"], "intersections": "all", **ROLES}
    for ref in (pf.LARGEST, pf.OVERALL):
        plan = pf.audit(ROWS.lazy(), ref=ref, weight="w", **asked).explain(engine="streaming")
        assert plan.count("DF [") - plan.count('DF ["|') == 1


def test_shrunken_shares_are_those_of_the_moments() -> None:
    counts = {"a": (10, 100), "b": (50, 100), "c": (3, 10), "d": (200, 500)}
    found = pf.audit(counted(counts, "race"), group="race", pred="hired", shrink=True)
    hits, sizes = (np.array(one, dtype=float) for one in zip(*counts.values(), strict=True))
    pooled, share = hits.sum() / sizes.sum(), hits / sizes
    weight = sizes / (pooled * (1 - pooled))
    distance = (weight * (share - pooled) ** 2).sum() - (len(sizes) - 1)
    between = distance / (weight.sum() - (weight**2).sum() / weight.sum())
    prior = pooled * (1 - pooled) / between - 1
    expected = (hits + prior * pooled) / (sizes + prior)
    assert groups(found, "race")["shrunk"].to_list() == pytest.approx(expected.tolist())
    assert found.filter(pl.col("scope") != "group")["shrunk"].null_count() == 2
    assert found.columns[found.columns.index("p_adjusted") + 1] == "shrunk"
    assert "shrunk" not in pf.audit(counted(counts, "race"), group="race", pred="hired").columns


def test_groups_that_differ_by_chance_alone_get_the_pooled_share() -> None:
    rows = counted({"a": (10, 30), "b": (11, 30), "c": (12, 30), "d": (0, 0)}, "race")
    found = groups(pf.audit(rows, group="race", pred="hired", shrink=True), "race")
    assert found["shrunk"].to_list() == pytest.approx([33 / 90] * 3)


def test_draws_are_those_of_the_seed_and_of_the_slice() -> None:
    asked: dict[str, Any] = {"metrics": [fairness.f1], "group": "sex", **ROLES, "draws": 400}
    one = pf.audit(ROWS, by="city", **asked)
    assert_frame_equal(pf.audit(ROWS.reverse(), by="city", **asked), one, rel_tol=1e-9)
    own = pf.audit(ROWS.filter(pl.col("city") == "B"), **asked)
    assert_frame_equal(one.filter(pl.col("city") == "B").drop("city"), own, rel_tol=1e-9)
    other = pf.audit(ROWS, by="city", seed=1, **asked)
    assert not other["ci_low"].equals(one["ci_low"])
    known = other["ci_low"].drop_nulls().to_list()
    assert known == pytest.approx(one["ci_low"].drop_nulls().to_list(), abs=0.02)
    asked["draws"] = 199
    few = pf.audit(ROWS, **asked)
    assert few["ci_low"].null_count() == few.height
    assert set(few["method"]) == {"none"}


def test_limits_from_draws_are_those_of_a_share_where_both_are_known() -> None:
    share = pf.interval(ROWS, fairness.selection_rate, **ROLES)
    drawn = pf.interval(ROWS, fairness.selection_rate, method="draws", draws=4_000, **ROLES)
    assert drawn["method"].to_list() == ["draws"]
    assert drawn["low"].item() == pytest.approx(share["low"].item(), abs=0.003)
    assert drawn["high"].item() == pytest.approx(share["high"].item(), abs=0.003)


def test_other_comparisons_are_as_wide_as_the_draws_of_their_pairs() -> None:
    odds = fairness.average_abs_odds
    asked: dict[str, Any] = {"group": "sex", **ROLES, "min_n": 0}
    found = gap(pf.audit(ROWS, metrics=odds, **asked), "sex", odds.name)
    assert found["method"] == "draws"
    assert found["ci_low"] <= found["value"] <= found["ci_high"]
    rates = [fairness.false_positive_rate, fairness.true_positive_rate]
    one = pf.audit(ROWS, metrics=rates, **asked).filter(pl.col("scope") == "gap")
    widths = one["difference_high"] - one["difference_low"]
    assert 0.01 < found["ci_high"] - found["value"] < widths.max()  # type: ignore[operator]
    named = gap(pf.audit(ROWS, metrics=odds, ref="M", **asked), "sex", odds.name)
    assert (named["group"], named["ref"]) == ("F", "M")
    assert named["value"] == pytest.approx(found["value"], rel=1e-12)
    assert named["ci_high"] == pytest.approx(found["ci_high"], rel=1e-9)
    races = pf.audit(ROWS, metrics=[odds, *rates], by="city", group="race", **ROLES)
    own = races.filter(pl.col("metric") == odds.name)
    assert own["ci_high"].null_count() == 0
    alone = pf.audit(ROWS.filter(pl.col("city") == "A"), metrics=odds, group="race", **ROLES)
    assert_frame_equal(own.filter(pl.col("city") == "A").drop("city"), alone, rel_tol=1e-9)
    methods = races.filter(pl.col("scope") == "group", pl.col("value").is_not_null())["method"]
    assert set(methods) == {"wilson"}
