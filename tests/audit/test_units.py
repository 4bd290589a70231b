"""Units: the variance is that of the linearised share, over units in place of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import fairness, ranking
from polarsfair._audit import limits


def households(many: int = 60, seed: int = 5) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    sizes = draw.integers(3, 20, many)
    house = np.repeat(np.arange(many), sizes)
    rate = np.repeat(draw.beta(2, 3, many), sizes)
    return pl.DataFrame(
        {
            "house": house,
            "sex": np.where(house % 3 == 0, "F", "M"),
            "hired": (draw.random(len(house)) < rate).astype(int),
            "fit": draw.integers(0, 2, len(house)),
            "w": draw.integers(1, 4, len(house)) / 2,
        }
    )


ROWS = households()
ASKED: dict[str, Any] = {"pred": "hired", "unit": "house"}


def linearised(rows: pl.DataFrame, weight: str | None) -> tuple[float, float, int]:
    """Return a rate, its variance over houses and their number, by plain sums."""
    rows = rows.with_columns(one=pl.lit(1.0) if weight is None else pl.col(weight))
    house = rows.group_by("house").agg(
        a=(pl.col("one") * pl.col("hired")).sum(), b=pl.col("one").sum()
    )
    a, b = house["a"].to_numpy(), house["b"].to_numpy()
    rate, many = a.sum() / b.sum(), len(a)
    return rate, many / (many - 1) * ((a - rate * b) ** 2).sum() / b.sum() ** 2, many


@pytest.mark.parametrize("weight", [None, "w"])
def test_limits_are_those_of_the_linearised_share(weight: str | None) -> None:
    found = pf.audit(ROWS, group="sex", metrics=fairness.selection_rate, weight=weight, **ASKED)
    for row in found.filter(pl.col("scope") == "group").rows(named=True):
        rate, variance, many = linearised(ROWS.filter(pl.col("sex") == row["group"]), weight)
        assert (row["n"], row["method"]) == (many, "unit")
        assert row["value"] == pytest.approx(rate, rel=1e-12)
        size = np.array([rate * (1 - rate) / variance])
        expected = limits.wilson(
            np.array([rate]), size, limits.quantile(0.95, np.array([many - 1.0]))
        )
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(
            (expected.low[0], expected.high[0]), rel=1e-6
        )


def test_units_of_one_row_are_rows() -> None:
    rows = ROWS.with_row_index("row")
    by_row = pf.interval(rows, fairness.selection_rate, pred="hired", unit="row")
    plain = pf.interval(rows, fairness.selection_rate, pred="hired")
    assert by_row["low"].item() == pytest.approx(plain["low"].item(), abs=1e-3)
    wider = pf.interval(rows, fairness.selection_rate, **ASKED)
    assert wider["low"].item() < plain["low"].item() - 0.01


def test_units_can_be_stored_as_a_slice() -> None:
    half = pl.col("house") < 30
    tables = [
        fairness.decisions(part, pred="hired", label="fit", by=["sex", "house"])
        for part in (ROWS.filter(half), ROWS.filter(~half))
    ]
    stored = pf.audit_table(tables, group="sex", unit="house")
    assert_frame_equal(stored, pf.audit(ROWS, group="sex", label="fit", **ASKED), rel_tol=1e-12)
    lazy = pf.audit(ROWS.lazy(), group="sex", label="fit", **ASKED).collect(engine="streaming")
    assert_frame_equal(lazy, stored, rel_tol=1e-12)


def test_a_slice_is_a_filter() -> None:
    rows = ROWS.with_columns(city=pl.col("house") % 2)
    sliced = pf.audit(rows, group="sex", by="city", **ASKED)
    own = pf.audit(rows.filter(pl.col("city") == 1), group="sex", **ASKED)
    assert_frame_equal(sliced.filter(pl.col("city") == 1).drop("city"), own, rel_tol=1e-12)


def test_a_group_of_few_units_is_small() -> None:
    found = pf.audit(ROWS, group="sex", metrics=fairness.selection_rate, **ASKED)
    groups = found.filter(pl.col("scope") == "group").select("group", "n", "status")
    assert groups.rows() == [("F", 20, "small"), ("M", 40, "ok")]


def test_other_metrics_have_no_limits() -> None:
    found = pf.interval(ROWS, [fairness.f1, fairness.precision], label="fit", **ASKED)
    assert found["method"].to_list() == ["none", "unit"]
    assert found["low"].is_null().to_list() == [True, False]


def test_what_units_cannot_do_is_refused() -> None:
    unknown = ROWS.with_columns(house=pl.when(pl.col("house") > 0).then("house"))
    with pytest.raises(ValueError, match="`unit` is null in some rows"):
        pf.audit(unknown, group="sex", **ASKED)
    table = fairness.decisions(ROWS, pred="hired", by="sex")
    with pytest.raises(ValueError, match="was not counted by unit"):
        pf.audit_table(table, group="sex", unit="house")
    with pytest.raises(ValueError, match="units may be on both sides"):
        pf.audit(ROWS, group="sex", ref=pf.REST, **ASKED)
    recs = pl.DataFrame({"u": [1, 2], "i": [1, 2], "s": [1.0, 2.0]})
    lists: dict[str, Any] = {"actual": recs, "user": "u", "item": "i", "score": "s", "k": 1}
    with pytest.raises(TypeError, match="users are the units already"):
        pf.interval(recs, ranking.recall, unit="u", **lists)


def test_groups_that_share_units_vary_together() -> None:
    rows = ROWS.with_columns(
        sex=pl.when(pl.int_range(ROWS.height) % 2 == 0).then(pl.lit("F")).otherwise(pl.lit("M"))
    )
    found = pf.audit(rows, group="sex", metrics=fairness.selection_rate, ref="M", min_n=0, **ASKED)
    women, men = found.filter(pl.col("scope") == "group").rows(named=True)
    off, rates = [], []
    for sex in ("F", "M"):
        own = pl.when(pl.col("sex") == sex)
        house = (
            rows.group_by("house").agg(a=own.then("hired").sum(), b=own.then(1).sum()).sort("house")
        )
        a, b = house["a"].to_numpy(), house["b"].to_numpy()
        rates.append(a.sum() / b.sum())
        off.append((a - rates[-1] * b) / b.sum())
    rho = (off[0] @ off[1]) / np.sqrt((off[0] @ off[0]) * (off[1] @ off[1]))
    assert rho > 0.2
    both = [
        limits.Limits(
            np.array([row["value"]]), np.array([row["ci_low"]]), np.array([row["ci_high"]])
        )
        for row in (women, men)
    ]
    expected = limits.difference(both[0], both[1], rho)
    assert women["difference_low"] == pytest.approx(expected.low[0], rel=1e-9)
    assert women["difference_high"] == pytest.approx(expected.high[0], rel=1e-9)
    gap = found.filter(pl.col("scope") == "gap").row(0, named=True)
    lowest = min(women["difference_low"], -women["difference_high"])
    assert gap["difference_low"] == pytest.approx(lowest, rel=1e-9)


def test_an_empty_frame_has_no_units() -> None:
    rows = pl.DataFrame(schema={"g": pl.String, "p": pl.Int64, "h": pl.Int64})
    found = pf.audit(rows, group="g", pred="p", unit="h")
    assert found["status"].cast(pl.String).to_list() == ["undefined"] * found.height
    assert found["value"].null_count() == found.height > 0
