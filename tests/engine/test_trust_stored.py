"""Stored tables that no counting can have made, or that do not fit together (1, 2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from polars.exceptions import SchemaError

import polarsfair as pf
from polarsfair import cli, clustering, fairness

if TYPE_CHECKING:
    from pathlib import Path

D = pl.DataFrame(
    {
        "g": ["F"] * 3 + ["M"] * 3,
        "p": [0, 1, 0, 1, 1, 0],
        "y": [1, 1, 0, 1, 1, 1],
        "s": [0.1, 0.6, 0.3, 0.7, 0.9, 0.2],
    }
)
T = fairness.decisions(D, group="g", pred="p", label="y")
WOMEN = pl.col("group") == "F"
BOTH = pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame], ids=["eager", "lazy"])


def parity(tables: Any, **options: Any) -> float:
    found = pf.measure(tables, [fairness.stat_parity], **options)
    value = (found.collect() if isinstance(found, pl.LazyFrame) else found).item()
    assert isinstance(value, float)
    return value


@BOTH
@pytest.mark.parametrize(
    "dtype",
    [pl.Decimal(38, 0), pl.Decimal(20, 4), pl.Int128, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64],
    ids=str,
)
def test_1_counts_of_any_number_are_counts(make: Any, dtype: Any) -> None:
    assert parity(make(T.with_columns(pl.col("n").cast(dtype)))) == pytest.approx(1 / 3)
    weighted = fairness.decisions(D.with_columns(w=2), group="g", pred="p", weight="w")
    sums = weighted.with_columns(pl.col("n", "w", "w2").cast(dtype))
    assert parity(make(sums)) == pytest.approx(1 / 3)


def test_1_sums_of_duckdb() -> None:
    rows = D.to_arrow()
    found = duckdb.sql('select g as "group", p = 1 as pred, sum(1) as n from rows group by all')
    assert parity(found) == pytest.approx(1 / 3)
    assert len(rows) == 6


def test_1_decimal_counts_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    T.with_columns(pl.col("n").cast(pl.Decimal(38, 0))).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SystemExit):
        cli.main(["measure", str(tmp_path / "t.parquet"), "--metrics", "stat_parity"])
    assert "0.3333" in capsys.readouterr().out


@BOTH
@pytest.mark.parametrize("bad", [-1.0, None, float("nan"), 1.5, 2.0**63], ids=str)
def test_2_counts_that_are_none(make: Any, bad: float | None) -> None:
    n = pl.when(WOMEN).then(pl.lit(bad, dtype=pl.Float64)).otherwise("n")
    broken = T.with_columns(n=n)
    words = r"^'n' is not a count in 3 row\(s\), of table 2: count the table again"
    with pytest.raises(ValueError, match=words):
        parity([make(T), make(broken)])
    with pytest.raises(ValueError, match=r"of table 1: "):
        parity(make(broken))


def test_2_counts_that_are_none_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    T.with_columns(n=-pl.col("n")).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SystemExit) as stopped:
        cli.main(["measure", str(tmp_path / "t.parquet"), "--metrics", "stat_parity"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert f"'n' is not a count in {T.height} row(s), of '{tmp_path}/t.parquet'" in said


@BOTH
def test_2_sums_that_pass_64_bits(make: Any) -> None:
    large = make(T.with_columns(n=pl.lit(2**60)))
    assert parity(large) == pytest.approx(1 / 6)
    with pytest.raises(ValueError, match="the sum of 'n' does not fit in 64 bits"):
        parity([large, large])


@BOTH
def test_2_sums_that_are_lacking(make: Any) -> None:
    scores = fairness.scores(D, group="g", score="s", label="y")
    broken = scores.with_columns(s=pl.when(pl.col("label")).then("s"))
    words = r"'s' is null although there are rows in 1 row\(s\), of table 1"
    with pytest.raises(ValueError, match=words):
        pf.measure(make(broken), [fairness.brier]).lazy().collect()
    weighted = fairness.decisions(D.with_columns(w=2), group="g", pred="p", weight="w")
    unweighted = fairness.decisions(D, group="g", pred="p")
    assert parity([make(weighted), make(unweighted)]) == pytest.approx(1 / 3)
    negative = weighted.with_columns(w=-pl.col("w"))
    with pytest.raises(ValueError, match=r"'w' is negative or NaN in 4 row\(s\), of table 2"):
        parity([make(weighted), make(negative)])


@BOTH
@pytest.mark.parametrize("name", ["w", "w2"])
@pytest.mark.parametrize("bad", [-0.5, float("nan")])
def test_2_weights_that_are_none(make: Any, name: str, bad: float) -> None:
    weighted = fairness.decisions(D.with_columns(w=0.5), group="g", pred="p", weight="w")
    assert weighted.schema[name] == pl.Float64
    broken = weighted.with_columns(pl.when(WOMEN).then(bad).otherwise(name).alias(name))
    words = rf"'{name}' is negative or NaN in 2 row\(s\), of table 2"
    with pytest.raises(ValueError, match=words):
        pf.measure([make(weighted), make(broken)], [fairness.z_test_difference]).lazy().collect()


@BOTH
def test_2_weights_whose_sum_is_infinite(make: Any) -> None:
    """One infinite weight made a rate 0 (0.375 for 0.425); four of 1e308 made it 0 as well."""
    words = "^the sum of the weights is infinite: divide all of them, such as"
    weighted = D.with_columns(w=pl.Series([0.5, 1.5, 2.0, 1.0, 3.0, 1.0]))
    table = fairness.decisions(weighted, group="g", pred="p", weight="w")
    line = WOMEN & ~pl.col("pred")
    for broken in (
        table.with_columns(w=pl.when(line).then(math.inf).otherwise("w")),
        table.with_columns(w=pl.when(line).then("w").otherwise(1e308)),
    ):
        with pytest.raises(ValueError, match=words):
            parity([make(broken), make(table)])
    rows = make(weighted.with_columns(w=pl.lit(1e308)))
    for metric in (fairness.stat_parity, fairness.selection_rate, fairness.brier):
        with pytest.raises(ValueError, match=words) as found:
            pf.evaluate(
                rows, [metric], group="g", pred="p", score="s", label="y", weight="w"
            ).lazy().collect()
        assert 'pl.col("w") / 1e300' in str(found.value)
    divided = pf.evaluate(
        rows, [fairness.stat_parity], group="g", pred="p", weight=pl.col("w") / 1e300
    )
    assert divided.lazy().collect().item() == pytest.approx(1 / 3)


POINTS = pl.DataFrame({"c": [1, 1, 2, 2], "x": [0.0, 1, 5, 6], "z": [1.0, 2, 3, 4]})


@BOTH
def test_2_moments_of_other_features(make: Any) -> None:
    one = clustering.moments(make(POINTS), cluster="c", features=["x"])
    two = clustering.moments(make(POINTS), cluster="c", features=["x", "z"])
    with pytest.raises(SchemaError, match="table 1 of 2 has no column 'mean_z'"):
        pf.measure([one, two], [clustering.calinski_harabasz])
    stacked = pl.concat([one, two], how="diagonal")
    with pytest.raises(ValueError, match=r"'mean_z' is null although there are rows in 2 row"):
        pf.measure(stacked, [clustering.calinski_harabasz]).lazy().collect()


@BOTH
def test_2_groups_of_other_kinds(make: Any) -> None:
    rows = make(D.with_columns(r=pl.col("g"), q=pl.col("g")))
    one = fairness.decisions(rows, group=["g", "r"], pred="p")
    two = fairness.decisions(rows, group=["g", "q"], pred="p")
    with pytest.raises(SchemaError, match=r"'group' is Struct.* in table 1 and .* in table 2"):
        parity([one, two])
    numbers = fairness.decisions(rows, group="y", pred="p")
    with pytest.raises(SchemaError, match="'group' is String in table 1 and Int64 in table 2"):
        parity([fairness.decisions(rows, group="g", pred="p"), numbers])
    text = fairness.decisions(rows, group=pl.col("g").cast(pl.Categorical), pred="p")
    assert parity([fairness.decisions(rows, group="g", pred="p"), text]) == pytest.approx(1 / 3)


@BOTH
def test_2_sums_that_pass_64_bits_only_when_all_cells_are_added(make: Any) -> None:
    """Every cell fits, but a rate adds them: -2.0 for 0.4."""
    large = make(T.with_columns(n=pl.lit(2**62)))
    for metric in (fairness.selection_rate, fairness.stat_parity):
        with pytest.raises(ValueError, match=r"^the sum of 'n' does not fit in 64 bits$"):
            pf.measure(large, [metric]).lazy().collect()


@BOTH
@pytest.mark.parametrize("dtype", [pl.Decimal(38, 0), pl.Int128, pl.UInt128], ids=str)
def test_2_weights_beyond_64_bits_are_not_missing_weights(make: Any, dtype: Any) -> None:
    """They became null, which is unweighted: 0.333 for 0.267."""
    weighted = fairness.decisions(
        D.with_columns(w=pl.Series([1, 2, 3, 4, 5, 6])), group="g", pred="p", weight="w"
    )
    assert parity(make(weighted)) == pytest.approx(4 / 15)
    scaled = weighted.with_columns(pl.col("w").cast(pl.Int128) * 2**62).cast({"w": dtype})
    words = r"^the sum of 'w' does not fit in 64 bits: `table.with_columns\(pl.col\(\"w\"\)"
    with pytest.raises(ValueError, match=words):
        parity(make(scaled))
    assert parity(make(scaled.cast({"w": pl.Float64}))) == pytest.approx(4 / 15)


@BOTH
def test_2_a_fault_of_weights_is_raised_by_metrics_that_read_no_counts(make: Any) -> None:
    weighted = fairness.decisions(D.with_columns(w=2), group="g", pred="p", weight="w")
    large = make(weighted.with_columns(w=pl.lit(2**62)))
    with pytest.raises(ValueError, match=r"^the sum of 'w' does not fit in 64 bits"):
        parity([large, large])


@BOTH
def test_2_lacking_sums_of_an_unknown_group(make: Any) -> None:
    rows = D.with_columns(g=pl.when(pl.col("y") > 0).then("g"))
    broken = fairness.scores(rows, group="g", score="s", label="y").with_columns(
        s=pl.when(pl.col("group").is_not_null()).then("s")
    )
    words = r"^'s' is null although there are rows in 1 row\(s\), of table 1"
    with pytest.raises(ValueError, match=words):
        pf.measure(make(broken), [fairness.brier]).lazy().collect()


@BOTH
def test_2_a_table_without_the_slices_that_are_kept(make: Any) -> None:
    sliced = make(fairness.decisions(D, group="g", pred="p", by="y"))
    plain = make(fairness.decisions(D, group="g", pred="p"))
    with pytest.raises(SchemaError, match=r"^table 2 of 2 has no column 'y', which other tables"):
        pf.measure([sliced, plain], [fairness.stat_parity], by="y")
    assert parity([sliced, plain]) == pytest.approx(1 / 3)


@BOTH
def test_2_texts_of_other_dtypes_are_the_same_groups(make: Any) -> None:
    rows = make(D.with_columns(r="g"))
    kinds = [pl.String, pl.Categorical, pl.Enum(["F", "M"]), pl.Enum(["M", "F", "X"])]
    for one in kinds:
        for other in kinds:
            groups = [pl.col("g").cast(one), pl.col("g").cast(other)]
            tables = [fairness.decisions(rows, group=group, pred="p") for group in groups]
            assert parity(tables) == pytest.approx(1 / 3)
            parts = [fairness.decisions(rows, group=[g, "r"], pred="p") for g in groups]
            assert parity(parts) == pytest.approx(1 / 3)


def test_2_whole_numbers_of_other_dtypes_stay_apart() -> None:
    """As floats, 2**53 and 2**53 + 1 would be one group."""
    rows = pl.DataFrame({"g": [2**53, 2**53 + 1], "p": [0, 1]})
    groups = [pl.col("g").cast(dtype) for dtype in (pl.Int64, pl.UInt64, pl.Int128)]
    assert parity([fairness.decisions(rows, group=group, pred="p") for group in groups]) == 1
