"""Counts beyond 2**32 and what they would be if anything wrapped."""

import subprocess
import sys

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import fairness

HUGE = 4_000_000_000


def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": ["a", "a", "b", "b"],
            "pred": [True, False, True, False],
            "label": [True, True, True, False],
            "n": [HUGE, HUGE, HUGE, 3 * HUGE],
        }
    )


def test_merging_two_tables_of_four_billion_rows_a_cell() -> None:
    merged = pf.measure([table(), table()], [fairness.selection_rate, fairness.stat_parity])
    assert merged.row(0) == (1 / 3, 0.25)
    by_group = pf.measure([table(), table().lazy()], [fairness.stat_parity]).collect()
    assert by_group.item() == 0.25


def test_merged_counts_stay_64_bit() -> None:
    stacked = pl.concat([table(), table()])
    assert stacked.schema["n"] == pl.Int64
    summed = stacked.group_by("group", "pred", "label").agg(fairness.decisions.merging(["n"])["n"])
    assert summed["n"].max() == 6 * HUGE
    assert summed.schema["n"] == pl.Int64


def test_counts_are_summed_ones_not_lengths() -> None:
    """`pl.len()` is UInt32 and stops at 2**32; the plan must not use it for `n`."""
    rows = pl.LazyFrame({"g": ["a"], "p": [1]})
    counted = fairness.decisions(rows, group="g", pred="p")
    assert counted.collect_schema()["n"] == pl.Int64
    assert "len()" not in counted.explain()


def test_one_pass_beyond_32_bits() -> None:
    """A weight of 2**30 in seven rows passes 2**32 in one cell, exactly, in any integer type."""
    rows = pl.DataFrame({"g": ["a"] * 7, "p": [1] * 7, "w": [2**30] * 7})
    for dtype in (pl.Int64, pl.UInt32, pl.Int32):
        typed = rows.with_columns(pl.col("w").cast(dtype))
        counted = fairness.decisions(typed, group="g", pred="p", weight="w")
        assert counted.row(0) == ("a", True, 7, 7 * 2**30, 7 * 2**60)


def test_squares_beyond_64_bits_are_refused_not_wrapped() -> None:
    rows = pl.DataFrame({"g": ["a"] * 9, "p": [1] * 9, "w": [2**30] * 9})
    with pytest.raises(ValueError, match=r"cast\(pl.Float64\)"):
        fairness.decisions(rows, group="g", pred="p", weight="w")
    floats = fairness.decisions(rows, group="g", pred="p", weight=pl.col("w").cast(pl.Float64))
    assert floats["w2"].item() == 9 * 2.0**60


def test_importing_loads_polars_alone() -> None:
    code = (
        "import sys; from polarsfair import fairness, ranking, clustering;"
        " heavy = {'numpy', 'pyarrow', 'scipy', 'pandas', 'rich', 'typer'};"
        " print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
