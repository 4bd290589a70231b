"""Consistency: recorded values, worked cases, the tie rule, the sample and its error, bad input."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import fairness

RECORDED = json.loads(
    (Path(__file__).parents[1] / "vectors" / "holisticai_consistency.json").read_text(
        encoding="utf-8"
    )
)
LINE = pl.DataFrame({"x": [0.0, 1.0, 3.0, 7.0, 15.0], "said": [1, 0, 1, 1, 0]})


def consistency(frame: pl.DataFrame, **more: Any) -> float:
    features = [name for name in frame.columns if name != "said"]
    return fairness.consistency(frame, pred="said", features=features, **more)


def refused(call: Callable[[Any], Any], frame: pl.DataFrame, words: str) -> None:
    """Eager frames are refused at the call, lazy ones in the same words by `collect`."""
    with pytest.raises(ValueError, match=words):
        call(frame)
    query = call(frame.lazy())
    with pytest.raises(InvalidOperationError, match=words):
        query.collect()


@pytest.mark.parametrize("vector", RECORDED["vectors"], ids=lambda v: v["id"])
def test_recorded_values(vector: dict[str, Any]) -> None:
    data = RECORDED["data"][vector["data"]]
    points = pl.DataFrame(data["X"], orient="row").with_columns(
        said=pl.Series([int(digit) for digit in data["y_pred"]])
    )
    value = consistency(points, n_neighbors=vector["n_neighbors"])
    if vector["value"] is None:  # more neighbours than rows: undefined here, an error there
        assert math.isnan(value)
    elif vector["tie"]:  # the peer takes either of two rows, one row's fifth neighbour
        assert value != vector["value"]
        assert abs(value - vector["value"]) < 1 / 5 / points.height
    else:
        assert value == pytest.approx(vector["value"], abs=1e-12)


def test_worked_case() -> None:
    # With 3: (0,1,3), (1,0,3), (3,1,0), (7,3,1), (15,7,3): means 2/3, 2/3, 2/3, 2/3, 2/3.
    assert consistency(LINE, n_neighbors=3) == pytest.approx(1 - (1 / 3 * 3 + 2 / 3 * 2) / 5)


def test_rows_at_one_distance_share_the_places() -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, -1.0, 50.0, 51.0], "said": [0, 1, 0, 0, 0]})
    # The second place of row 0 is shared by rows 1 and 2: mean (0 + 1/2) / 2; row 1 has 0: 1/2.
    assert consistency(frame, n_neighbors=2) == pytest.approx(1 - (1 / 4 + 1 / 2) / 5)


def test_a_row_is_its_own_neighbour_however_many_copies_it_has() -> None:
    copies = pl.DataFrame({"x": [2.0] * 60, "said": [1] + [0] * 59})
    # Of five places the row itself has one; the other 59 share four.
    others = 4 / 59 / 5
    assert consistency(copies) == pytest.approx(1 - (4 / 5 + 59 * others) / 60)


def test_order_changes_nothing() -> None:
    grid = pl.DataFrame({"x": [i % 4 for i in range(80)], "y": [i % 3 for i in range(80)]})
    grid = grid.with_columns(said=pl.Series([(i * i) % 7 < 3 for i in range(80)]))
    assert consistency(grid) == pytest.approx(consistency(grid.reverse()), abs=1e-14)


def test_chances_are_decisions_too() -> None:
    assert consistency(LINE.with_columns(said=pl.lit(0.3))) == 1.0
    soft = consistency(LINE.with_columns(said=pl.col("said") * 0.5), n_neighbors=3)
    assert soft == pytest.approx((1 + consistency(LINE, n_neighbors=3)) / 2)


def test_slices_have_their_own_neighbours() -> None:
    frame = pl.concat([LINE.with_columns(d=pl.lit(d)) for d in ("a", "b")])
    frame = pl.concat([frame, pl.DataFrame({"x": [1.0], "said": [1], "d": ["c"]})])
    found = fairness.consistency(frame, pred="said", features=["x"], n_neighbors=3, by="d")
    alone = consistency(LINE, n_neighbors=3)
    assert found["d"].to_list() == ["a", "b", "c"]
    assert found["consistency"].to_list() == [alone, alone, None]


def test_stored_tables_are_refused() -> None:
    table = fairness.neighbours(LINE, pred="said", features=["x"])
    with pytest.raises(ValueError, match="second pass"):
        pf.measure(table, [fairness.consistency])


# the estimate


def estimate(frame: pl.DataFrame, **more: Any) -> dict[str, Any]:
    found = fairness.consistency_estimate(frame, pred="said", features=["x", "y"], **more)
    return found.row(0, named=True)


GRID = pl.DataFrame({"i": range(900)}).select(
    x=pl.col("i") % 30 * 1.0, y=pl.col("i") // 30 * 1.1, said=(pl.col("i") ** 2 % 17 < 8).cast(int)
)


def test_a_sample_of_everything_is_exact() -> None:
    found = estimate(GRID, sample=5000)
    assert found["consistency"] == pytest.approx(consistency(GRID), abs=1e-12)
    assert (found["standard_error"], found["sample"], found["n"]) == (0.0, 900, 900)


def test_estimates_scatter_as_their_error_says() -> None:
    exact = consistency(GRID)
    found = [estimate(GRID, sample=100, seed=seed) for seed in range(40)]
    misses = [(one["consistency"] - exact) / one["standard_error"] for one in found]
    assert abs(sum(misses)) / len(misses) < 0.6
    assert 0.6 < math.sqrt(sum(miss * miss for miss in misses) / len(misses)) < 1.5


def test_the_sample_depends_on_content_and_seed() -> None:
    first = estimate(GRID, sample=50)
    assert estimate(GRID.reverse(), sample=50) == first
    assert estimate(GRID, sample=50, seed=1) != first
    lazy = fairness.consistency_estimate(GRID.lazy(), pred="said", features=["x", "y"], sample=50)
    assert lazy.collect().row(0, named=True) == first


# bad input


def test_too_many_rows_name_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polarsfair.fairness._individuals.consistency.LIMIT", 4)
    refused(
        lambda df: fairness.consistency(df, pred="said", features=["x"]),
        LINE,
        "consistency_estimate",
    )


def test_decisions_and_features_that_are_none() -> None:
    wrong = LINE.with_columns(said=pl.col("said") * 2)
    for call in (fairness.consistency, fairness.consistency_estimate):
        refused(lambda df, call=call: call(df, pred="said", features=["x"]), wrong, "from 0 to 1")
        refused(
            lambda df, call=call: call(df, pred="said", features=["x"]),
            LINE.with_columns(x=pl.Series([math.inf, 1, 2, 3, 4])),
            "infinite",
        )


@pytest.mark.parametrize("make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"n_neighbors": 2.5}, ValueError, "n_neighbors"),
        ({"features": []}, ValueError, "`features` is empty"),
        ({"features": None}, TypeError, "features"),
        ({"pred": pl.lit("yes")}, TypeError, "`pred`"),
    ],
)
def test_said_at_the_call(
    make: Callable[[pl.DataFrame], Any], given: dict[str, Any], error: type[Exception], words: str
) -> None:
    roles = {"pred": "said", "features": ["x"], **given}
    with pytest.raises(error, match=re.escape(words)):
        fairness.consistency(make(LINE), **roles)


def test_rows_with_unknown_parts_are_left_out() -> None:
    frame = pl.DataFrame({"x": [0.5, None, math.nan, 2.0], "said": [None, 1, 1, 0]})
    holes = pl.concat([LINE, frame.with_columns(pl.col("said").cast(pl.Int64))])
    full = pl.concat([LINE, pl.DataFrame({"x": [2.0], "said": [0]})])
    assert consistency(holes, n_neighbors=3) == consistency(full, n_neighbors=3)
    assert math.isnan(consistency(LINE.clear()))


@pytest.mark.parametrize("taken", ["n", "pred", "consistency", "standard_error", "sample"])
def test_a_slice_may_not_be_called_like_a_column_of_the_estimate(taken: str) -> None:
    df = pl.DataFrame({"x": [0.0, 1.0], "hired": [1, 0], "d": [1, 1]})
    with pytest.raises(ValueError, match=r"cannot be named|would be called"):
        fairness.consistency_estimate(df, pred="hired", features=["x"], by=pl.col("d").alias(taken))


def test_messages_say_what_to_write() -> None:
    df = pl.DataFrame({"x": [0.0, 1.0], "hired": ["yes", "no"], "level": [3, 4]})
    with pytest.raises(TypeError, match=r'`pred=pl.col\("hired"\) == "yes"`'):
        fairness.consistency(df.lazy(), pred="hired", features=["x"])
    with pytest.raises(ValueError, match=r"from 0 to 1: write .*`pred=pl.col"):
        fairness.consistency(df, pred="level", features=["x"])
    with pytest.raises(ValueError, match="`sample` is a whole number"):
        fairness.consistency_estimate(df, pred="level", features=["x"], sample=2.5)  # type: ignore[call-overload]
