"""Lakes by suffix, one format each, with the same rules for files as Parquet (4, 16)."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import cli, fairness
from polarsfair._cli import files, lakes
from polarsfair._cli._formats import kinds, scans

Run = Callable[..., tuple[int, str, str]]

ROWS = pl.DataFrame(
    {"g": ["F", "F", "M", None], "p": [0, 1, 1, 0], "s": [0.5, None, 0.25, 1.0], "y": [1, 0, 1, 1]}
)
WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": pl.DataFrame.write_csv,
    ".ndjson": pl.DataFrame.write_ndjson,
    ".jsonl": pl.DataFrame.write_ndjson,
    ".arrow": pl.DataFrame.write_ipc,
    ".ipc": pl.DataFrame.write_ipc,
    ".feather": pl.DataFrame.write_ipc,
}
OTHERS = [suffix for suffix in WRITERS if suffix != ".parquet"]
READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".json": pl.read_json,
    **dict.fromkeys(kinds.NDJSON.suffixes, pl.read_ndjson),
    **dict.fromkeys(kinds.ARROW.suffixes, pl.read_ipc),
}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def write(path: Path, rows: pl.DataFrame = ROWS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[path.suffix.lower()](rows, path)
    return path


def read(*sources: object) -> pl.DataFrame:
    return lakes.scan([str(source) for source in sources]).collect()


def refused(*sources: object) -> str:
    with pytest.raises((ValueError, OSError)) as raised:
        read(*sources)
    return str(raised.value)


def test_every_suffix_is_written_and_read() -> None:
    assert set(WRITERS) == set(kinds.SUFFIXES)


@pytest.mark.parametrize("suffix", WRITERS)
def test_4_a_lake_of_every_format_is_the_same(tmp_path: Path, suffix: str) -> None:
    """Names with brackets, hive columns, hidden files, links and suffixes in capitals."""
    for day in ("2026-01-05", "2026-01-06"):
        write(tmp_path / f"day={day}" / "k=01" / f"[a] b{suffix}")
    write(tmp_path / "day=2026-01-06" / "k=02" / f"c{suffix.upper()}", ROWS.head(1))
    write(tmp_path / "day=2026-01-06" / "k=02" / f".hidden{suffix}")
    (tmp_path / "again").symlink_to(tmp_path / "day=2026-01-05")
    found = read(tmp_path)
    assert found.height == 9
    assert found.schema == {**ROWS.schema, "day": pl.Date(), "k": pl.Int64()}
    assert found.filter(pl.col("k") == 2).height == 1
    first = found.filter(pl.col("day") == pl.date(2026, 1, 5)).select(ROWS.columns)
    assert_frame_equal(first, ROWS, check_row_order=False)
    assert read(tmp_path / "day=*" / "k=02").height == 1


@pytest.mark.parametrize("suffix", OTHERS)
def test_values_are_those_of_parquet(run: Run, tmp_path: Path, suffix: str) -> None:
    asked = ("--metrics", "stat_parity,fairness.auc", "--group", "g", "--pred", "p")
    roles = (*asked, "--score", "s", "--label", "y", "--ref", "M")
    lines = {
        one: run("evaluate", write(tmp_path / f"rows{one}"), *roles) for one in (".parquet", suffix)
    }
    assert lines[suffix] == lines[".parquet"]
    assert lines[suffix][0] == 0


@pytest.mark.parametrize("suffix", OTHERS)
def test_a_frame_of_a_role_may_have_another_format(run: Run, tmp_path: Path, suffix: str) -> None:
    recs = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9], "score": [0.9, 0.4, 0.1]})
    actual = write(tmp_path / f"actual{suffix}", recs.head(1).select("user", "item"))
    asked = ("--metrics", "ndcg", "--user", "user", "--item", "item", "--score", "score")
    code, out, err = run(
        "evaluate", write(tmp_path / "r.parquet", recs), *asked, "--actual", actual
    )
    assert (code, err) == (0, "")
    assert "1.0000" in out


@pytest.mark.parametrize("suffix", OTHERS)
def test_4_two_formats_are_two_lakes(run: Run, tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "a.parquet")
    other = write(tmp_path / f"b{suffix}")
    said = refused(tmp_path)
    assert f"{str(other)!r} is {kinds.format_of(str(other)).name} and " in said
    assert "a lake has one format: name the files of one, such as" in said
    code, _, err = run("evaluate", tmp_path, "--metrics", "base_rate", "--label", "y")
    assert (code, err.count("\n")) == (2, 1)
    assert read(tmp_path / "*.parquet").height == read(other).height == ROWS.height


def test_a_table_is_parquet(run: Run, tmp_path: Path) -> None:
    """Other files beside stored tables are no tables."""
    table = fairness.decisions(ROWS, group="g", pred="p")
    write(tmp_path / "t.parquet", table)
    write(tmp_path / "values.csv")
    code, out, _ = run("measure", tmp_path, "--metrics", "stat_parity")
    assert code == 0
    assert f"{pf.measure(table, fairness.stat_parity).item():.4f}" in out


def test_text_has_the_dtype_that_all_values_fit(tmp_path: Path) -> None:
    """The first hundred rows of the first file would decide otherwise."""
    (tmp_path / "a.csv").write_text("x,y,z\n" + "1,2,\n" * 500 + "2.5,3,\n")
    (tmp_path / "b.csv").write_text("z,x,y,more\n7,3,a,9\n")
    found = read(tmp_path)
    assert found.schema == {"x": pl.Float64(), "y": pl.String(), "z": pl.Int64()}
    assert found.tail(1).rows() == [(3.0, "a", 7)]
    assert found["y"].to_list()[:2] == ["2", "2"]
    big = 2**80
    (tmp_path / "c.ndjson").write_text('{"x":1}\n\n{"w":true}\n')
    (tmp_path / "d.ndjson").write_text(f'{{"x":{big},"v":"a"}}')
    joined = read(tmp_path / "*.ndjson")
    assert joined.sort("x").to_dict(as_series=False) == {
        "x": [None, 1, big],
        "w": [True, None, None],
        "v": [None, None, "a"],
    }


def test_a_file_without_values_decides_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    (tmp_path / "b.csv").write_text("x,y\n,1\n,0\n")
    (tmp_path / "c.csv").write_text("x,y\n1,0\n")
    assert read(tmp_path).schema == {"x": pl.Int64(), "y": pl.Int64()}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "cannot be read as CSV: it is empty (0 bytes); write it again"),
        ("a.csv", b"y\n1,2\n", "cannot be read as CSV: found more fields"),
        ("a.csv", b"x;y\n1;2\n", "has no commas between its columns: it looks like CSV; convert"),
        ("a.ndjson", b"", "cannot be read as NDJSON: it is empty"),
        ("a.jsonl", b'{"y": 1}\n{"y": \n', "cannot be read as NDJSON: "),
        ("a.ndjson", b"[1, 2]\n", "cannot be read as NDJSON: "),
        ("a.arrow", b"ARROW1", "cannot be read as Arrow: it is damaged, or no Arrow file"),
        ("a.feather", b"", "cannot be read as Arrow: it is empty"),
    ],
)
def test_16_files_that_cannot_be_read_are_named(
    run: Run, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    code, out, err = run("evaluate", path, "--metrics", "selection_rate", "--pred", "y")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"polarsfair: {str(path)!r} {said}" in err


def test_16_text_that_is_not_utf_8(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,y\n\xff,1\n")
    asked = ("--metrics", "selection_rate", "--pred", "y", "--by", "x")
    code, _, err = run("evaluate", tmp_path, *asked)
    assert (code, err.count("\n")) == (2, 1)
    assert "a.csv' cannot be read as CSV: it is not UTF-8; write it again, or leave it out" in err


def test_16_a_stream_is_no_file(tmp_path: Path) -> None:
    ROWS.write_ipc_stream(tmp_path / "a.arrow")
    said = refused(tmp_path)
    assert "it is an Arrow stream, not a file (`pl.read_ipc_stream(" in said


@pytest.mark.parametrize("suffix", [".csv", ".arrow"])
def test_16_files_that_differ_are_named(run: Run, tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"a{suffix}")
    other = write(tmp_path / f"b{suffix}", ROWS.drop("p"))
    code, _, err = run("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "p")
    assert code == 2
    assert f"{str(other)!r} has no column 'p', which " in err


def test_16_nested_columns_that_differ_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"x": [1]}\n')
    (tmp_path / "b.ndjson").write_text('{"x": 1}\n')
    assert "'x' is Int64 in" in refused(tmp_path)
    write(tmp_path / "a.arrow")
    write(tmp_path / "b.arrow", ROWS.with_columns(p=pl.col("p").cast(pl.Int8)))
    assert "a column must have the same dtype in all files of a lake" in refused(
        tmp_path / "*.arrow"
    )


@pytest.mark.parametrize("suffix", OTHERS)
def test_7_a_directory_may_not_hide_a_column(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / "y=1" / f"a{suffix}")
    assert "has a column 'y' with other values than its directory 'y=1'" in refused(tmp_path)
    write(tmp_path / "z" / "y=1" / f"a{suffix}", ROWS.filter(y=1))
    assert read(tmp_path / "z")["y"].to_list() == [1, 1, 1]


@pytest.mark.parametrize("suffix", OTHERS)
def test_4_hard_links_and_changed_files(
    run: Run, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / f"a{suffix}")
    os.link(path, tmp_path / f"b{suffix}")
    assert "are one file with two names (hard links)" in refused(tmp_path)
    collect = pl.LazyFrame.collect

    def rewritten(self: pl.LazyFrame, **options: Any) -> pl.DataFrame:
        write(path, ROWS.head(1))
        return collect(self, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect", rewritten)
    code, _, err = run("evaluate", path, "--metrics", "selection_rate", "--pred", "p")
    assert code == 2
    assert "changed while it was read: run the command again" in err


def test_hive_columns_have_one_dtype_in_all_lakes(tmp_path: Path) -> None:
    write(tmp_path / "a" / "k=1" / "a.csv")
    write(tmp_path / "b" / "k=x" / "b.parquet")
    found = lakes.open_lakes([[str(tmp_path / "a")], [str(tmp_path / "b")]])
    assert [lake.rows.collect_schema()["k"] for lake in found] == [pl.String(), pl.String()]


@pytest.mark.parametrize(
    "texts",
    [
        ["1", "02"],
        ["1", "1.5"],
        ["2026-01-05", "__HIVE_DEFAULT_PARTITION__"],
        ["a%20b", "c"],
        ["1", "a"],
        ["__HIVE_DEFAULT_PARTITION__"],
    ],
)
def test_hive_columns_are_those_of_parquet(tmp_path: Path, texts: list[str]) -> None:
    for text in texts:
        write(tmp_path / "p" / f"k={text}" / "a.parquet")
        write(tmp_path / "c" / f"k={text}" / "a.csv")
    assert_frame_equal(read(tmp_path / "c"), read(tmp_path / "p"))


def test_11_out_may_not_fall_into_a_lake(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "lake" / "a.csv")
    asked = ("evaluate", tmp_path / "lake", "--metrics", "selection_rate", "--pred", "p")
    for suffix in (".csv", ".arrow", ".parquet"):
        code, _, err = run(*asked, "--out", tmp_path / "lake" / f"values{suffix}")
        assert code == 2
        assert "is read as part of the input" in err
    assert run(*asked, "--out", tmp_path / "values.csv") == (0, "", "")


@pytest.mark.parametrize("suffix", READERS)
def test_out_writes_every_format(run: Run, tmp_path: Path, suffix: str) -> None:
    lake, out = write(tmp_path / "rows.parquet"), tmp_path / f"values{suffix}"
    asked = ("--metrics", "selection_rate", "--pred", "p", "--by", "g", "--out", out)
    assert run("evaluate", lake, *asked) == (0, "", "")
    assert_frame_equal(READERS[suffix](out), fairness.selection_rate(ROWS, pred="p", by="g"))


def test_csv_writes_the_parts_of_a_struct(run: Run, tmp_path: Path) -> None:
    lake, out = write(tmp_path / "rows.parquet"), tmp_path / "groups.csv"
    asked = ("--metrics", "selection_rate", "--pred", "p", "--group", "g,y", "--ref", "g=F,y=1")
    assert run("by-group", lake, *asked, "--out", out) == (0, "", "")
    expected = pf.by_group(
        ROWS, fairness.selection_rate, pred="p", group=["g", "y"], ref={"g": "F", "y": 1}
    )
    found = pl.read_csv(out)
    assert found.columns[:2] == ["group.g", "group.y"]
    assert {"ref.g", "ref.y"} <= set(found.columns)
    parts = [pl.col("group").struct.field(name).alias(f"group.{name}") for name in ("g", "y")]
    assert_frame_equal(
        found.select("group.g", "group.y", "value"), expected.select(*parts, "value")
    )
    code, _, err = run("metrics", "--out", tmp_path / "metrics.csv")
    assert (code, "CSV cannot store the nested column 'roles'" in err) == (2, True)


def test_csv_names_no_column_twice(run: Run, tmp_path: Path) -> None:
    rows = ROWS.rename({"g": "h"}).with_columns(pl.lit("a").alias("g"))
    lake = write(tmp_path / "rows.parquet", rows)
    asked = ("--metrics", "selection_rate", "--pred", "p", "--group", "g,h")
    code, _, err = run(
        "by-group", lake, *asked, "--by", 'y AS "group.g"', "--out", tmp_path / "groups.csv"
    )
    assert code == 2
    assert "CSV would have two columns 'group.g'" in err
    assert not (tmp_path / "groups.csv").exists()


def test_a_schema_is_read_again_when_the_file_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv")
    before = scans.schema_of(str(path), kinds.CSV, files.state(str(path)))
    write(path, ROWS.select("g"))
    after = scans.schema_of(str(path), kinds.CSV, files.state(str(path)))
    assert (before.names(), after.names()) == (ROWS.columns, ["g"])
