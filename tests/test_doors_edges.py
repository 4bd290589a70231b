"""What a second attack found: directories that hide columns, records, names and closed doors."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import cli, fairness, ranking
from polarsfair._cli import lakes, output

Run = Callable[..., tuple[int, str, str]]

FRAME = pl.DataFrame({"g": ["F"] * 3 + ["M"] * 3, "p": [0, 1, 0, 1, 1, 0], "y": [1, 1, 0, 1, 1, 1]})
TABLE = fairness.decisions(FRAME, group="g", pred="p", label="y")
ROLES = ("--group", "g", "--pred", "p", "--label", "y")
ASKED = ("--metrics", "stat_parity", "--group", "g", "--pred", "p")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def put(frame: pl.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(path)
    return path


@pytest.mark.parametrize("part", ["g=X", "p=1"])
def test_4_a_directory_does_not_hide_a_column(run: Run, tmp_path: Path, part: str) -> None:
    """Polars reads the directory's value instead of the column, also above the lake."""
    path = put(FRAME, tmp_path / part / "lake" / "a.parquet")
    code, out, err = run("evaluate", path.parent, *ASKED)
    assert (code, out, err.count("\n")) == (2, "", 1)
    name = part.partition("=")[0]
    assert f"has a column {name!r} with other values than its directory '{part}'" in err


def test_5_a_directory_does_not_hide_a_column_of_a_table(run: Run, tmp_path: Path) -> None:
    """0.1667 for 0.3333 before: every line counted five rows."""
    path = put(TABLE, tmp_path / "n=5" / "a.parquet")
    assert pf.measure(TABLE, [fairness.stat_parity]).item() == pytest.approx(1 / 3)
    code, _, err = run("measure", path, "--metrics", "stat_parity")
    assert code == 2
    assert "has a column 'n' with other values than its directory 'n=5'" in err


@pytest.mark.parametrize(
    "values",
    [
        [date(2026, 1, 5), date(2026, 1, 6), None],
        [
            datetime.fromisoformat("2026-01-05 01:02:03.000456"),
            datetime.fromisoformat("2026-01-05"),
            None,
        ],
        [1.5, 2.0, None],
        [True, False, None],
        ["a b/c", "", "x=y"],
        [1, 2, None],
    ],
)
def test_4_a_partition_that_its_files_repeat_is_read(tmp_path: Path, values: list[Any]) -> None:
    """Polars writes the key into the files too."""
    frame = pl.DataFrame({"k": values, "v": [1, 2, 3]})
    parts = pl.PartitionBy(tmp_path / "lake", key="k", include_key=True)
    frame.lazy().sink_parquet(parts, mkdir=True)
    found = lakes.scan([str(tmp_path / "lake")]).sort("v").collect()
    assert found["k"].to_list() == values


def test_4_a_double_star_leaves_out_what_is_hidden(tmp_path: Path) -> None:
    """Spark's files of a job that has not ended lie in `_temporary`, below the whole ones."""
    put(FRAME, tmp_path / "a" / "part-0.parquet")
    put(FRAME, tmp_path / "a" / "_temporary" / "0" / "part-0.parquet")
    for source in (tmp_path, tmp_path / "**" / "*.parquet", tmp_path / "**"):
        assert lakes.scan([str(source)]).collect().height == FRAME.height


WHOLE = {
    "format": 1,
    "polarsfair": "0.1",
    "tally": "fairness.decisions",
    "roles": {"group": "g", "pred": "p"},
    "options": {},
    "slices": [],
    "sources": [{"frame": "rows", "path": "/a.parquet", "size": 1, "mtime_ns": 1}],
}


@pytest.mark.parametrize(
    "changed",
    [
        {"format": 7, "polarsfair": None},
        {"format": 0},
        {"format": True},
        {"format": "1"},
        {"roles": [1]},
        {"roles": None},
        {"roles": {"group": 1}},
        {"roles": {"group": {"a": 1}}},
        {"options": []},
        {"options": {"k": [1]}},
        {"slices": 1},
        {"slices": [{}]},
        {"tally": ["fairness.decisions"]},
        {"sources": []},
        {"sources": ["a"]},
        {"sources": [{"path": 1, "frame": 2}]},
        {"sources": [{"path": ["a"], "frame": ["rows"]}]},
    ],
)
def test_5_every_part_of_a_record_is_checked(
    run: Run, tmp_path: Path, changed: dict[str, Any]
) -> None:
    one, other = tmp_path / "1.parquet", tmp_path / "2.parquet"
    TABLE.write_parquet(one, metadata={"polarsfair": json.dumps(WHOLE)})
    assert run("measure", one, "--metrics", "stat_parity")[::2] == (0, "")
    TABLE.write_parquet(other, metadata={"polarsfair": json.dumps({**WHOLE, **changed})})
    for tables in ((one, other), (other, one)):
        code, _, err = run("measure", *tables, "--metrics", "stat_parity")
        assert (code, err.count("\n")) == (2, 1)
        assert f"'{other}' has a record that cannot be read: count it again" in err


def test_5_a_record_of_brackets_is_no_traceback(run: Run, tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "t.parquet", metadata={"polarsfair": "[" * 100_000})
    code, _, err = run("measure", tmp_path, "--metrics", "stat_parity")
    assert code == 2
    assert "has a record that cannot be read" in err


def test_5_advice_to_recount_names_the_second_frame(run: Run, tmp_path: Path) -> None:
    """Without `actual` the command that was advised could not run."""
    shown = put(
        pl.DataFrame({"user": [1], "item": ["a"], "score": [1]}), tmp_path / "shown.parquet"
    )
    bought = put(pl.DataFrame({"user": [1], "item": ["a"]}), tmp_path / "bought.parquet")
    roles = ("--tally", "ranking.lists", "--user", "user", "--item", "item")
    asked = ("tally", shown, *roles, "--actual", f"{bought}", "--score", "score")
    tables = [tmp_path / f"{i}.parquet" for i in range(2)]
    for table in tables:
        assert run(*asked, "--out", table)[0] == 0
    code, _, err = run("measure", *tables, "--metrics", "ndcg")
    assert code == 2
    assert "`polarsfair tally LAKE --tally ranking.lists --actual LAKE --item item" in err


@pytest.mark.parametrize("k", [2**63 - 1, 2**63, 10**20])
def test_16_a_depth_beyond_64_bits_is_refused(k: int) -> None:
    shown = pl.DataFrame({"user": [1], "item": ["a"], "score": [1]})
    bought = pl.DataFrame({"user": [1], "item": ["a"]})

    def value() -> float:
        return ranking.ndcg(shown, bought, user="user", item="item", score="score", k=k)

    if k < 2**63:
        assert value() == 1
    else:
        with pytest.raises(ValueError, match="`k` is the number of ranks to look at"):
            value()


def test_13_hidden_members_are_not_explained(run: Run) -> None:
    for name in ("fairness.__doc__", "ranking.__name__", "__doc__"):
        code, out, err = run("metrics", name)
        assert (code, out) == (2, "")
        assert "there is no metric called" in err


def test_2_errors_name_the_files_of_tables(run: Run, tmp_path: Path) -> None:
    for i in range(7):
        bad = TABLE.with_columns(n=-pl.col("n")) if i in (2, 3, 4, 5, 6) else TABLE
        bad.write_parquet(tmp_path / f"{i}.parquet")
    names = ", ".join(f"'{tmp_path}/{i}.parquet'" for i in (2, 3, 4))
    code, _, err = run("measure", tmp_path, "--metrics", "stat_parity")
    assert code == 2
    assert f"'n' is not a count in 25 row(s), of {names} and 2 more: count the table again" in err
    TABLE.with_columns(group=pl.lit(1)).write_parquet(tmp_path / "1.parquet")
    code, _, err = run("measure", tmp_path, "--metrics", "stat_parity")
    first, second = (f"'{tmp_path}/{i}.parquet'" for i in (0, 1))
    assert f"'group' is String in {first} and Int32 in {second}: cast" in err


@pytest.mark.parametrize("n", [2**61, 2**62])
def test_2_counts_that_pass_64_bits_across_cells(run: Run, tmp_path: Path, n: int) -> None:
    """Each cell fits; the formula adds them and got 0.5 for 0.167."""
    table = TABLE.with_columns(n=pl.lit(n))
    for frame in (table, table.lazy()):
        with pytest.raises(ValueError, match="the sum of 'n' does not fit in 64 bits"):
            pf.measure(frame, [fairness.stat_parity]).lazy().collect()
    table.write_parquet(tmp_path / "t.parquet")
    code, _, err = run("measure", tmp_path, "--metrics", "stat_parity")
    assert code == 2
    assert "the sum of 'n' does not fit in 64 bits" in err
    fits = TABLE.with_columns(n=pl.lit(2**60))
    assert pf.measure(fits, [fairness.stat_parity]).item() == pytest.approx(1 / 6)


def test_11_out_refuses_a_hard_link_of_an_input(run: Run, tmp_path: Path) -> None:
    path = put(FRAME, tmp_path / "a.parquet")
    os.link(path, tmp_path / "b.parquet")
    code, _, err = run("evaluate", path, *ASKED, "--out", tmp_path / "b.parquet", "--overwrite")
    assert code == 2
    assert "is one of the inputs" in err
    assert (tmp_path / "b.parquet").samefile(path)


@pytest.mark.parametrize("stem", ["a" * 247, "é" * 123, "😀" * 61])
def test_11_the_longest_names_can_be_written(run: Run, tmp_path: Path, stem: str) -> None:
    path = put(FRAME, tmp_path / "a.parquet")
    out = tmp_path / f"{stem}.parquet"
    assert run("evaluate", path, *ASKED, "--out", out) == (0, "", "")
    assert {found.name for found in tmp_path.iterdir()} == {path.name, out.name}


def test_11_names_that_cannot_be_are_said_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    for name, said in [("x" * 300 + ".csv", "name too long"), ("a.csv", "symbolic links")]:
        code, _, err = run("evaluate", "none", *ASKED, "--out", tmp_path / name, "--overwrite")
        assert (code, err.count("\n")) == (2, 1)
        assert f"{said}: name another file" in err
        assert "Errno" not in err


def test_11_a_file_system_without_links_keeps_what_appeared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    out = tmp_path / "out.csv"
    output.write(FRAME, out)
    before = out.read_bytes()
    with pytest.raises(FileExistsError, match="was written by someone else meanwhile"):
        output.write(FRAME.head(1), out)
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("g ~ '('", "this request cannot be computed: regex error: regex parse error: unclosed"),
        ("NOT g", "this request cannot be computed: casting from"),
    ],
)
def test_16_what_polars_says_of_an_expression_is_whole(
    run: Run, tmp_path: Path, text: str, said: str
) -> None:
    path = put(FRAME, tmp_path / "a.parquet")
    code, _, err = run("evaluate", path, "--metrics", "selection_rate", "--pred", text)
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


def shell(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a shell, where "$@" stands for it and its arguments."""
    typed = [sys.executable, "-m", "polarsfair", *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", command, "sh", *typed], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(sys.platform != "linux", reason="a shell, and the device /dev/full")
@pytest.mark.parametrize(
    ("where", "said"),
    [
        (">&-", "polarsfair: standard output is closed: open it, or name a file"),
        (">/dev/full", "polarsfair: standard output cannot be written: no space left on device"),
    ],
)
def test_16_output_that_cannot_be_written_is_said(tmp_path: Path, where: str, said: str) -> None:
    path = put(FRAME, tmp_path / "a.parquet")
    done = shell(f'"$@" {where}', "tally", path, *ROLES)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(said)


@pytest.mark.skipif(sys.platform != "linux", reason="the device /dev/full")
def test_17_a_demo_that_cannot_be_printed_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    done = shell('"$@" >/dev/full', "demo", "--rows", 1000, "--dir", tmp_path / "sample")
    said = "polarsfair: standard output cannot be written: no space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="a shell")
def test_11_closed_streams_are_not_mixed_up_with_files(tmp_path: Path) -> None:
    """A file that is opened while standard error is closed would get its number."""
    path, out = put(FRAME, tmp_path / "a.parquet"), tmp_path / "out.parquet"
    done = shell('"$@" <&- >&- 2>&-', "tally", path, *ROLES, "--out", out)
    assert done.returncode == 0
    assert pl.read_parquet(out).equals(TABLE.sort("group", "pred", "label"))


@pytest.mark.skipif(os.name == "nt", reason="a shell")
def test_17_a_reader_who_stops_early_leaves_the_lake(tmp_path: Path) -> None:
    """`polarsfair demo --dir sample | head -1` removed the sample."""
    done = shell('"$@" | true', "demo", "--rows", 1000, "--dir", tmp_path / "sample")
    assert done.stderr == ""
    assert len(list((tmp_path / "sample").rglob("*.parquet"))) > 1


def test_17_a_demo_on_a_full_disk_says_what_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        msg = "parquet: File out of specification: IO error: No space left on device (os error 28)"
        raise pl.exceptions.ComputeError(msg)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    code, _, err = run("demo", "--rows", 1000, "--dir", tmp_path / "a")
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be written to" in err
    assert "no space left on device; name another directory with `--dir DIR`" in err
    assert list(tmp_path.iterdir()) == []
