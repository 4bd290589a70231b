"""Counts beyond 2**32 and what they would be if anything wrapped."""

import subprocess
import sys

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polarsfair as pf
from polarsfair import fairness
from polarsfair._engine.stored import merge, stack

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
    summed = stacked.group_by("group", "pred", "label").agg(fairness.decisions.sums_of(["n"])["n"])
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


@pytest.mark.parametrize("count", [1, 3, 4, 16])
def test_weights_whose_squares_pass_even_128_bits(count: int) -> None:
    for weight in (2**62, 2**63 - 1):
        rows = pl.DataFrame({"g": ["a"] * count, "p": [1] * count, "w": [weight] * count})
        with pytest.raises(ValueError, match=r"does not fit in 64 bits"):
            fairness.decisions(rows, group="g", pred="p", weight="w")
        group = {"a": pl.lit(0.5), "b": pl.lit(0.5)}
        uncertain = fairness.decisions(rows, group=group, pred="p", weight="w")
        assert uncertain["w2"].to_list() == pytest.approx([count * (weight / 2.0) ** 2] * 2)


def merged_table(lines: pl.DataFrame) -> pl.LazyFrame:
    return merge(stack([lines.lazy()], fairness.decisions), fairness.decisions, [], lines.columns)


def test_squares_of_stored_tables_do_not_wrap() -> None:
    day = table().with_columns(w=pl.lit(3 * 10**9), w2=pl.lit(9 * 10**18))
    merged = merged_table(pl.concat([day, day]))
    with pytest.raises(InvalidOperationError, match=r"does not fit in 64 bits.*pl\.Float64"):
        merged.collect()
    once = merged_table(day).collect()
    assert once.schema["w2"] == pl.Int64
    assert once["w2"].to_list() == [9 * 10**18] * 4
    floats = pl.concat([day, day]).with_columns(pl.col("w2").cast(pl.Float64))
    summed = merged_table(floats).collect()
    assert summed["w2"].to_list() == [18.0 * 10**18] * 4


def test_importing_loads_polars_alone() -> None:
    code = (
        "import sys; from polarsfair import fairness, ranking, clustering;"
        " heavy = {'numpy', 'pyarrow', 'scipy', 'pandas', 'rich', 'typer'};"
        " print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
