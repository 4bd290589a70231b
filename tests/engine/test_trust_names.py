"""Names are names (6), and columns that roles name exist (8)."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from polars.exceptions import ColumnNotFoundError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import cli, clustering, fairness, ranking
from tests._samples import SAMPLES, ready

NAMES = ["^x$", "^.*$", "*", "^embed_.*$", "<b>", "", "a.b", "ж"]
BOTH = pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
ROWS = pl.DataFrame(
    {
        "g": ["a", "a", "b", "b", "b"],
        "p": [1, 0, 1, 1, 0],
        "y": [1, 0, 0, 1, 1],
        "s": [0.9, 0.2, 0.4, 0.8, 0.3],
        "c": [1, 1, 2, 2, 2],
        "x": [0.0, 1.0, 5.0, 6.0, 6.5],
    }
)
ROLES: dict[str, str] = {"group": "g", "pred": "p", "label": "y", "score": "s", "by": "c"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("role", ROLES)
def test_6_a_name_is_no_pattern_in_any_role(role: str, name: str) -> None:
    metrics = [fairness.brier] if role == "score" else [fairness.equal_opportunity]
    plain = pf.evaluate(ROWS, metrics, **ROLES)
    renamed = ROWS.rename({ROLES[role]: name})
    found = pf.evaluate(renamed, metrics, **{**ROLES, role: name})
    assert_frame_equal(found.rename({name: "c"}) if role == "by" else found, plain)
    if name != "":
        with pytest.raises(ColumnNotFoundError, match=f"`{role}` names the column"):
            pf.evaluate(ROWS, metrics, **{**ROLES, role: name})


@pytest.mark.parametrize("name", NAMES)
def test_6_a_name_is_no_pattern_among_features_and_parts(name: str) -> None:
    renamed = ROWS.rename({"x": name})
    both = clustering.silhouette(ROWS, cluster="c", features=["x", "s"])
    assert clustering.silhouette(renamed, cluster="c", features=[name, "s"]) == both
    with pytest.raises(ColumnNotFoundError, match="`features` names the column"):
        clustering.silhouette(ROWS, cluster="c", features=["x", name])
    parts = fairness.stat_parity(ROWS, group=["g", "c"], pred="p")
    assert fairness.stat_parity(ROWS.rename({"c": name}), group=["g", name], pred="p") == parts


@BOTH
@pytest.mark.parametrize("name", NAMES)
def test_6_a_name_is_no_pattern_among_parts_of_structs(name: str, make: Any) -> None:
    """A reference read the other part, -0.667 for -0.5, and "*" was a panic of Polars."""
    renamed = make(ROWS.rename({"c": name}))
    plain = fairness.stat_parity(ROWS, group=["g", "c"], pred="p", ref={"g": "b", "c": 2})
    metric = fairness.stat_parity.bind(ref={"g": "b", name: 2})
    for group in (["g", name], pl.struct("g", cs.by_name(name))):
        found = pf.evaluate(renamed, [metric], group=group, pred="p")
        assert found.lazy().collect().item() == plain
    absent = fairness.stat_parity.bind(ref={"g": "b", name: 7})
    with pytest.raises(ValueError, match=re.escape(f"{{'g': a, {name!r}: 1}}, {{'g': b")):
        pf.evaluate(renamed, [absent], group=["g", name], pred="p").lazy().collect()
    several = cs.by_name("x", name) * 2
    features = make(ROWS.rename({"s": name}))
    both = clustering.silhouette(ROWS, cluster="c", features=["x", "s"])
    found = pf.evaluate(features, [clustering.silhouette], cluster="c", features=several)
    assert found.lazy().collect().item() == pytest.approx(both)


@pytest.mark.parametrize("name", NAMES)
def test_6_a_name_is_no_pattern_in_rankings(name: str) -> None:
    recs = pl.DataFrame({"u": [1, 1, 2], "i": [7, 8, 9], "s": [0.9, 0.4, 0.5]})
    actual = pl.DataFrame({"u": [1, 2, 2], "i": [8, 7, 9]})
    plain = ranking.ndcg(recs, actual, user="u", item="i", score="s")
    for role, column in {"user": "u", "item": "i", "score": "s"}.items():
        roles = {"user": "u", "item": "i", "score": "s", role: name}
        frames = [frame.rename({column: name}, strict=False) for frame in (recs, actual)]
        assert ranking.ndcg(*frames, **roles) == plain


def test_6_patterns_stay_possible_as_expressions() -> None:
    frame = ROWS.with_columns(embed_1=pl.col("x"), embed_2=pl.col("s"))
    both = clustering.silhouette(frame, cluster="c", features=["embed_1", "embed_2"])
    for features in (cs.matches("^embed_"), pl.col("^embed_.*$"), [cs.starts_with("embed")]):
        assert clustering.silhouette(frame, cluster="c", features=features) == both
    for nothing in (cs.matches("^zzz"), pl.col("^zzz.*$")):
        with pytest.raises(ColumnNotFoundError, match="matches no column"):
            clustering.silhouette(frame, cluster="c", features=["x", nothing])


def test_6_a_name_is_no_pattern_on_the_command_line(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ROWS.write_parquet(tmp_path / "d.parquet")
    lake = str(tmp_path / "d.parquet")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["evaluate", lake, "--pred", "p", "--by", "*", "--metrics", "selection_rate"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("polarsfair: ")


FAIRNESS_ROLES = ["weight", "strata", "cluster", "unit", "features", "score", "label", "user"]


@BOTH
@pytest.mark.parametrize("role", FAIRNESS_ROLES)
def test_8_a_column_that_a_role_names_exists_read_or_not(role: str, make: Any) -> None:
    with pytest.raises((ColumnNotFoundError, TypeError), match=f"`{role}`"):
        fairness.stat_parity(make(ROWS), group="g", pred="p", **{role: "zzz"})


TALLIES = sorted({metric.tally.name: ready(metric) for metric in pf.metrics()}.items())


@pytest.mark.parametrize(("name", "metric"), TALLIES, ids=[name for name, _ in TALLIES])
def test_8_in_every_table(name: str, metric: pf.Metric) -> None:
    from tests._samples import empty

    sample = SAMPLES[name]
    rows = empty(sample.rows)
    frames = {role: empty(strategy) for role, strategy in sample.frames.items()}
    for role in ("cluster", "popularity", "predicted", "rank", "other"):
        if role in sample.roles:
            continue
        with pytest.raises(
            (ColumnNotFoundError, TypeError), match=r"zzz|needs|`items=|only one|pass one of them"
        ):
            pf.evaluate(rows, metric, **{**sample.roles, **frames, role: "zzz"})


def test_8_a_column_may_be_in_any_of_the_frames() -> None:
    recs = pl.DataFrame({"u": [1, 1], "i": [7, 8], "s": [0.9, 0.4]})
    actual = pl.DataFrame({"u": [1], "i": [8], "click": [1]})
    roles: dict[str, Any] = {"user": "u", "item": "i", "score": "s"}
    assert ranking.recall(recs, actual, **roles, relevance="click") == 1
    assert ranking.recall(recs, actual, **roles, label="click") == 1
    with pytest.raises(ColumnNotFoundError, match="`label` names the column 'clicks'"):
        ranking.recall(recs, actual, **roles, label="clicks")


@BOTH
@pytest.mark.parametrize("name", ["^c$", "*", "^.*$", "<b>"])
def test_6_a_name_is_no_pattern_among_slices_of_stored_tables(name: str, make: Any) -> None:
    """A slice called "^c$" was not found again."""
    table = make(fairness.decisions(ROWS.rename({"c": name}), group="g", pred="p", by=name))
    plain = fairness.stat_parity(ROWS, group="g", pred="p", by="c")
    for tables in (table, [table, table]):
        found = pf.measure(tables, [fairness.stat_parity], by=name).lazy().collect()
        assert_frame_equal(found.rename({name: "c"}), plain)


@BOTH
def test_8_a_role_that_is_not_read_is_a_column_too(make: Any) -> None:
    with pytest.raises(TypeError, match=r"`strata` takes a column name or a `pl.Expr`, got int: 3"):
        fairness.stat_parity(make(ROWS), group="g", pred="p", strata=3)
