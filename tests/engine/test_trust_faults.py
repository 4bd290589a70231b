"""What is said of data that cannot be used (16), and of files that change (15)."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError, ShapeError

import polarsfair as pf
from polarsfair import cli, fairness, ranking
from polarsfair._cli import lakes
from polarsfair._engine.frames import FaultError
from polarsfair.fairness import mitigation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

D = pl.DataFrame(
    {
        "g": ["F"] * 3 + ["M"] * 3,
        "p": [0, 1, 0, 1, 1, 0],
        "y": [1, 1, 0, 1, 1, 1],
        "s": [0.1, 0.6, 0.3, 0.7, 0.9, 0.2],
    }
)
ENGINES: list[Literal["in-memory", "streaming"]] = ["in-memory", "streaming"]


class Thing:
    """A value that Polars can only hold as an object."""


NOT_BINARY = (
    "`pred` holds a value other than 0 and 1: write what counts as positive as an expression, such"
    ' as `pred=pl.col("p") == 1`'
)
NO_GROUP = "`ref='Q'` is not among the groups, which are: F, M"
NO_WEIGHT = (
    "`weight` holds a value that is not a number of at least 0 (negative, null, NaN or infinite):"
    ' leave those rows out or fill them, `weight=pl.col("w").fill_null(0)`'
)


def bad_rows(make: Callable[[pl.DataFrame], Any]) -> dict[str, Callable[[], Any]]:
    """Return calls whose fault only the rows can show, by the words that they must raise."""
    two = D.with_columns(p=pl.Series([0, 1, 0, 1, 1, 2]))
    negative = D.with_columns(w=pl.Series([1, 1, 1, 1, 1, -1]))
    roles: dict[str, Any] = {"group": "g", "pred": "p"}
    parity = fairness.stat_parity
    return {
        NOT_BINARY: lambda: parity(make(two), **roles),
        NO_GROUP: lambda: parity(make(D), **roles, ref="Q"),
        NO_WEIGHT: lambda: parity(make(negative), **roles, weight="w", by="y"),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_16_a_lazy_fault_is_one_sentence_and_nothing_else(engine: Any) -> None:
    for words, call in bad_rows(pl.DataFrame.lazy).items():
        with pytest.raises(FaultError) as raised:
            call().collect(engine=engine)
        assert str(raised.value) == words
        assert isinstance(raised.value, ValueError)
        assert isinstance(raised.value, InvalidOperationError)


def test_16_an_eager_fault_is_the_same_sentence() -> None:
    for words, call in bad_rows(lambda frame: frame).items():
        with pytest.raises(FaultError) as raised:
            call()
        assert str(raised.value) == words


def test_16_a_fault_stops_a_sink_before_a_file_is_whole(tmp_path: Path) -> None:
    rows = D.lazy().with_columns(p=pl.col("p") * 2)
    with pytest.raises(FaultError, match=r"^`pred` holds a value"):
        fairness.decisions(rows, group="g", pred="p").sink_parquet(tmp_path / "t.parquet")


def test_16_faults_and_their_plans_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(FaultError("words")))
    assert isinstance(error, FaultError)
    assert str(error) == "words"
    plan = pickle.loads(pickle.dumps(fairness.stat_parity(D.lazy(), group="g", pred="p")))
    assert plan.collect().item() == fairness.stat_parity(D, group="g", pred="p")


SHORT: dict[str, pl.Expr] = {
    "head": pl.col("p").head(2),
    "filter": pl.col("p").filter(pl.col("y") > 0),
    "unique": pl.col("p").unique(),
    "drop_nulls": pl.col("p").drop_nulls(),
    "explode": pl.concat_list("p", "y").explode(),
    "gather": pl.col("p").gather([0, 1]),
}


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", SHORT)
def test_16_expressions_that_change_the_number_of_rows(name: str, make: Any) -> None:
    frame, short = make(D), SHORT[name]
    words = "does not return a value for every row: filter the frame first"
    with pytest.raises(TypeError, match=f"`pred` is .*{words}"):
        fairness.selection_rate(frame, pred=short)
    with pytest.raises(TypeError, match=f"`group` is .*{words}"):
        fairness.stat_parity(frame, group=short, pred="p")
    with pytest.raises(TypeError, match=words):
        fairness.stat_parity(frame, group="g", pred="p", by=short.alias("slice"))
    with pytest.raises(TypeError, match=f"`user` is .*{words}"):
        ranking.coverage(frame, user=short, item="g")


def test_16_lengths_that_only_the_rows_show() -> None:
    some = pl.col("p").map_batches(lambda p: p.head(3) if len(p) == 6 else p)
    with pytest.raises(FaultError, match="does not return a value for every row"):
        fairness.selection_rate(D, pred=some)
    with pytest.raises(FaultError, match="does not return a value for every row"):
        fairness.stat_parity(D, group="g", pred=some)
    with pytest.raises(ShapeError):
        fairness.selection_rate(D.lazy(), pred=some).collect()


def test_16_expressions_of_the_whole_column_stay_possible() -> None:
    above = pl.col("s") > pl.col("s").mean()
    assert fairness.selection_rate(D, pred=above) == 0.5
    assert fairness.selection_rate(D, pred=pl.col("s").rank() > 2) == pytest.approx(4 / 6)
    assert fairness.selection_rate(D, pred=pl.lit(1)) == 1
    assert fairness.selection_rate(D, pred=pl.col("p").max()) == 1
    assert fairness.selection_rate(D, pred=pl.col("p").shift(1).is_not_null()) == 5 / 6


def test_16_whole_numbers_beyond_64_bits() -> None:
    table = fairness.decisions(D, group="g", pred="p").with_columns(
        n=pl.lit(2**63, dtype=pl.UInt64)
    )
    with pytest.raises(FaultError, match=r"'n' is not a count in 4 row\(s\), of table 1"):
        pf.measure(table, [fairness.stat_parity])
    large = D.with_columns(p=pl.lit(2**63, dtype=pl.UInt64))
    with pytest.raises(FaultError, match="`pred` holds a value other than 0 and 1"):
        fairness.stat_parity(large, group="g", pred="p")
    with pytest.raises(FaultError, match="`weight` holds a value"):
        fairness.stat_parity(large, group="g", pred="y", weight="p")


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])
@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Int128])
def test_16_ranks_beyond_64_bits(dtype: Any, make: Any) -> None:
    """Polars said "conversion from `u64` to `i64` failed"."""
    recs = make(pl.DataFrame({"u": [1, 1], "i": [7, 8], "r": pl.Series([1, 2**63], dtype=dtype)}))
    actual = make(pl.DataFrame({"u": [1], "i": [7], "y": [1]}))
    roles = {"user": "u", "item": "i", "rank": "r", "relevance": "y"}
    for metric in (ranking.ndcg, ranking.ndcg.bind(gain="exponential"), ranking.coverage.bind(k=1)):
        with pytest.raises(ValueError, match=r"^`rank` holds a value that is not a whole number"):
            pf.evaluate(recs, [metric], actual=actual, **roles).lazy().collect()


def test_16_the_lowest_scores_come_before_unknown_ones() -> None:
    """A null came before a score of -2**101, at rank 2 for 3."""
    scores = pl.Series([5, -(2**101), None], dtype=pl.Int128)
    recs = pl.DataFrame({"u": [1, 1, 1], "i": [7, 8, 9], "s": scores})
    found = ranking.mrr(recs, pl.DataFrame({"u": [1], "i": [9]}), user="u", item="i", score="s")
    assert found == pytest.approx(1 / 3)


def test_16_text_scores_of_a_repair_are_refused() -> None:
    rows = D.with_columns(y=pl.Series([1, 0, 1, 1, 0, 1]))
    with pytest.warns(UserWarning, match="parity is trivial"):
        fitted = mitigation.GroupThresholds().fit(rows, group="g", score="s", label="y")
    text = rows.with_columns(pl.col("s").cast(pl.String))
    for frame in (text, text.lazy()):
        with pytest.raises(TypeError, match="`score` is String, not a number"):
            fitted.transform(frame, group="g", score="s", key="p")


def objects(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    things = pl.Series(name, [Thing() for _ in range(frame.height)], dtype=pl.Object)
    return frame.with_columns(things)


def test_16_objects_are_refused() -> None:
    items = objects(pl.DataFrame({"i": [7, 8]}), "maker")
    recs = pl.DataFrame({"u": [1, 1], "i": [7, 8], "s": [0.5, 0.4]})
    roles: dict[str, Any] = {"user": "u", "item": "i", "score": "s"}
    for metric in (ranking.ndkl, ranking.awrf, ranking.exposure_parity):
        with pytest.raises(TypeError, match="`item_group` is Object, which cannot be grouped by"):
            metric(recs, items=items, item_group="maker", **roles)
    for role in ("group", "pred", "label"):
        call = {"group": "g", "pred": "p", "label": "y", role: "thing"}
        with pytest.raises(TypeError, match=f"`{role}` is Object"):
            fairness.equal_opportunity(objects(D, "thing"), **call)


def test_16_hidden_columns_are_not_listed() -> None:
    table = fairness.decisions(D, group="g", pred="p")
    with pytest.raises(ColumnNotFoundError, match=r"the columns are \['group', 'pred', 'n'\]$"):
        pf.measure(table, [fairness.stat_parity], by="zzz")


def test_16_a_flag_that_does_not_exist_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    D.write_parquet(tmp_path / "d.parquet")
    with pytest.raises(SystemExit):
        cli.main(["evaluate", str(tmp_path / "d.parquet"), "--item-grup", "x"])
    said = capsys.readouterr().err
    assert said.startswith("polarsfair: No such option: --item-grup")
    assert "tally" not in said


# --- 15: files that change ----------------------------------------------------------------------


def test_15_a_file_that_changed_since_it_was_opened_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.parquet"
    D.write_parquet(path)
    opened = lakes.open_lakes

    def rewritten(requested: Any) -> list[lakes.Lake]:
        found = opened(requested)
        D.select("y", "s", "p", "g").write_parquet(path)
        return found

    arguments = ["evaluate", str(path), "--group", "g", "--pred", "p", "--metrics", "stat_parity"]
    with monkeypatch.context() as patched:
        patched.setattr(lakes, "open_lakes", rewritten)
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said == f"polarsfair: '{path}' changed while it was read: run the command again\n"
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert not stopped.value.code


def test_16_python_functions_are_not_called_with_made_up_rows() -> None:
    seen: list[int] = []

    def flipped(values: pl.Series) -> pl.Series:
        seen.append(len(values))
        return 1 - values

    rate = fairness.selection_rate(D, pred=pl.col("p").map_batches(flipped, return_dtype=pl.Int64))
    assert rate == 0.5
    assert seen == [6]
