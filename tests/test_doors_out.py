"""What `--out` writes: never over an input, never half a file (11), and with a record (5)."""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import cli, fairness
from polarsfair._cli import files, output, stored

Run = Callable[..., tuple[int, str, str]]

FRAME = pl.DataFrame({"g": ["F"] * 3 + ["M"] * 3, "p": [0, 1, 0, 1, 1, 0], "y": [1, 1, 0, 1, 1, 1]})
ROLES = ("--group", "g", "--pred", "p", "--label", "y")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two days of the same rows."""
    directory = tmp_path / "lake"
    for day in ("day=1", "day=2"):
        (directory / day).mkdir(parents=True)
        FRAME.write_parquet(directory / day / "rows.parquet")
    return directory


def record_of(path: Path) -> dict[str, Any]:
    return dict(json.loads(pl.read_parquet_metadata(path)["polarsfair"]))


def test_5_a_table_knows_its_request_and_its_files(run: Run, lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    asked = ("--group", "g", "--pred", "p > 0.5", "--label", "y", "--by", "day")
    assert run("tally", lake, *asked, "--by", "p AS q", "--out", out) == (0, "", "")
    found = record_of(out)
    sources = found.pop("sources")
    assert found == {
        "format": 1,
        "polarsfair": pf.__version__,
        "polars": pl.__version__,
        "tally": "fairness.decisions",
        "roles": {"group": "g", "pred": "p > 0.5", "label": "y"},
        "options": {},
        "slices": ["day", "p AS q"],
    }
    paths = sorted(lake.rglob("*.parquet"))
    assert sources == [
        {
            "frame": "rows",
            "path": os.path.realpath(path),
            "size": path.stat().st_size,
            "mtime_ns": path.stat().st_mtime_ns,
        }
        for path in paths
    ]


def test_5_options_intersections_and_second_frames_are_recorded(run: Run, tmp_path: Path) -> None:
    recs = pl.DataFrame({"u": [1, 1], "i": [7, 8], "s": [0.9, 0.4], "a": ["x", "y"]})
    recs.write_parquet(tmp_path / "recs.parquet")
    recs.head(1).write_parquet(tmp_path / "clicks.parquet")
    out = tmp_path / "table.parquet"
    roles = ("--user", "u", "--item", "i", "--score", "s")
    actual = ("--actual", f"{tmp_path / 'clicks.parquet'}")
    asked = ("--tally", "ranking.lists", *roles, *actual)
    assert run("tally", tmp_path / "recs.parquet", *asked, "--out", out) == (0, "", "")
    found = record_of(out)
    assert found["roles"] == {"item": "i", "score": "s", "user": "u"}
    assert [Path(s["path"]).name for s in found["sources"]] == ["recs.parquet", "clicks.parquet"]
    assert [s["frame"] for s in found["sources"]] == ["rows", "actual"]
    asked = ("--tally", "fairness.scores", "--group", "a,i", "--score", "s", "--option", "bins=4")
    run("tally", tmp_path / "recs.parquet", *asked, "--out", out, "--overwrite")
    assert record_of(out)["roles"]["group"] == ["a", "i"]
    assert record_of(out)["options"] == {"bins": "4"}


def test_5_tables_of_one_request_are_merged_without_a_word(
    run: Run, lake: Path, tmp_path: Path
) -> None:
    tables = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for day, table in zip(("day=1", "day=2"), tables, strict=True):
        assert run("tally", lake / day, *ROLES, "--out", table) == (0, "", "")
    out = tmp_path / "values.parquet"
    asked = ("--metrics", "stat_parity", "--out", out)
    assert run("measure", *tables, *asked) == (0, "", "")
    expected = fairness.stat_parity(FRAME, group="g", pred="p")
    assert pl.read_parquet(out)["stat_parity"].to_list() == [pytest.approx(expected)]


OTHERS = [
    (("--group", "g", "--pred", "1 - p", "--label", "y"), "pred is '1 - p' instead of 'p'"),
    (("--group", "g", "--pred", "p"), "label is not given instead of 'y'"),
    ((*ROLES, "--weight", "y"), "weight is 'y' instead of not given"),
    ((*ROLES, "--by", "day"), "slices is 'day' instead of not given"),
    ((*ROLES, "--tally", "fairness.classes"), "tally is 'fairness.classes' instead of"),
]


@pytest.mark.parametrize(("other", "said"), OTHERS)
def test_5_tables_of_other_requests_are_refused(
    run: Run, lake: Path, tmp_path: Path, other: tuple[str, ...], said: str
) -> None:
    tables = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    run("tally", lake / "day=1", *ROLES, "--out", tables[0])
    assert run("tally", lake / "day=2", *other, "--out", tables[1]) == (0, "", "")
    code, out, err = run("measure", *tables, "--metrics", "stat_parity")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    # The command that is advised makes the tables fit.
    command = err.split("`")[1].split()[1:]
    typed = [str(lake / "day=2") if word == "LAKE" else word for word in command[:-1]]
    assert command[-1] == "FILE.parquet"
    assert run(*typed, tables[1], "--overwrite") == (0, "", "")
    assert run("measure", *tables, "--metrics", "stat_parity")[0] == 0


def test_5_a_file_counted_in_two_tables_is_refused(run: Run, lake: Path, tmp_path: Path) -> None:
    tables = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    run("tally", lake, *ROLES, "--out", tables[0])
    (tmp_path / "link").symlink_to(lake / "day=2")
    run("tally", tmp_path / "link", *ROLES, "--out", tables[1])
    code, _, err = run("measure", *tables, "--metrics", "stat_parity")
    assert code == 2
    assert f"{lake}/day=2/rows.parquet' is counted in '{tables[0]}' and in '{tables[1]}'" in err
    assert "changed" not in err

    FRAME.head(4).write_parquet(lake / "day=2" / "rows.parquet")
    run("tally", lake / "day=2", *ROLES, "--out", tables[1], "--overwrite")
    assert "(it changed in between)" in run("measure", *tables, "--metrics", "stat_parity")[2]


def test_5_one_table_under_two_names_counts_once(run: Run, lake: Path, tmp_path: Path) -> None:
    table = tmp_path / "tables" / "1.parquet"
    table.parent.mkdir()
    run("tally", lake, *ROLES, "--out", table)
    once = run("measure", table, "--metrics", "z_test_difference")
    assert run("measure", table, table.parent, "--metrics", "z_test_difference") == once
    copy = table.with_name("copy.parquet")
    copy.write_bytes(table.read_bytes())
    assert "is counted in" in run("measure", table.parent, "--metrics", "z_test_difference")[2]


def test_5_tables_without_a_record_are_taken_with_a_warning(
    run: Run, lake: Path, tmp_path: Path
) -> None:
    run("tally", lake, *ROLES, "--out", tmp_path / "1.parquet")
    for name in ("2", "3"):
        table = fairness.decisions(FRAME, group="g", pred="p", label="y")
        table.write_parquet(tmp_path / f"{name}.parquet")
    names = [tmp_path / f"{name}.parquet" for name in "123"]
    code, out, err = run("measure", *names, "--metrics", "stat_parity")
    assert code == 0
    assert "stat_parity" in out
    assert err.startswith(f"polarsfair: warning: '{names[1]}' and 1 more have no record")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "has a record that cannot be read"),
        ("[]", "has a record that cannot be read"),
        ('{"format": 1}', "has a record that cannot be read"),
        (
            json.dumps(
                {
                    **{key: {} for key in stored.REQUEST},
                    "format": 99,
                    "polarsfair": "9.9",
                    "sources": [{"path": "a", "frame": "rows"}],
                }
            ),
            "was written by polarsfair 9.9: install that version",
        ),
    ],
)
def test_5_a_record_that_cannot_be_read_is_refused(
    run: Run, tmp_path: Path, text: str, said: str
) -> None:
    table = fairness.decisions(FRAME, group="g", pred="p")
    table.write_parquet(tmp_path / "t.parquet", metadata={"polarsfair": text})
    code, _, err = run("measure", tmp_path / "t.parquet", "--metrics", "stat_parity")
    assert (code, err.count("\n")) == (2, 1)
    assert said in err


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_5_other_formats_say_what_they_cannot_carry(
    run: Run, lake: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"table.{suffix}"
    code, _, err = run("tally", lake, *ROLES, "--out", out)
    assert code == 0
    assert err.startswith(f"polarsfair: warning: `--out {out}` cannot carry a record")
    code, _, err = run("measure", out, "--metrics", "stat_parity")
    assert code == 2
    assert "cannot be read as Parquet" in err


def test_5_a_file_that_changes_while_it_is_read_is_an_error(
    run: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = pl.LazyFrame.collect

    def changing(self: pl.LazyFrame, **keywords: Any) -> Any:
        found = collect(self, **keywords)
        FRAME.head(2).write_parquet(lake / "day=1" / "rows.parquet")
        return found

    monkeypatch.setattr(pl.LazyFrame, "collect", changing)
    code, _, err = run("tally", lake, *ROLES, "--out", tmp_path / "t.parquet")
    assert code == 2
    assert "rows.parquet' changed while it was read" in err
    assert not (tmp_path / "t.parquet").exists()


INPUTS = [
    ("{lake}/day=1/rows.parquet", "{lake}/day=1/rows.parquet"),
    ("{lake}", "{lake}/day=1/rows.parquet"),
    ("{lake}", "{lake}/new.parquet"),
    ("{lake}", "{lake}/day=1/new.parquet"),
    ("{lake}/", "{lake}/day=1/../new.PARQUET.parquet"),
    ("{lake}/*/*.parquet", "{lake}/day=1/new.parquet"),
    ("{lake}/**/*.parquet", "{lake}/new.parquet"),
    ("{lake}/day=*", "{lake}/day=1/new.parquet"),
    ("{lake}/day=1/*", "{lake}/day=1/new.csv"),
    ("{lake}", "{link}/new.parquet"),
    ("{link}", "{lake}/new.parquet"),
    ("{link}/*/*.parquet", "{lake}/day=1/new.parquet"),
    ("file://{lake}", "{lake}/new.parquet"),
    ("{lake}", "{outlink}"),
]


@pytest.mark.parametrize(("source", "out"), INPUTS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_11_out_refuses_a_path_among_its_inputs(
    run: Run, lake: Path, tmp_path: Path, source: str, out: str, overwrite: bool
) -> None:
    names = {"lake": lake, "link": tmp_path / "link", "outlink": tmp_path / "outlink.parquet"}
    names["link"].symlink_to(lake)
    names["outlink"].symlink_to(lake / "day=1" / "rows.parquet")
    before = {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()}
    more = ["--overwrite"] if overwrite else []
    for command in ("tally", "evaluate"):
        asked = ["--metrics", "accuracy", *ROLES[2:]] if command == "evaluate" else [*ROLES]
        typed = [source.format(**names), *asked, "--out", out.format(**names), *more]
        code, _, err = run(command, *typed)
        assert (code, err.count("\n")) == (2, 1)
        assert "is read as part of the input" in err
    assert {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()} == before


def test_11_out_refuses_other_inputs_too(run: Run, lake: Path, tmp_path: Path) -> None:
    table = tmp_path / "table.parquet"
    run("tally", lake, *ROLES, "--out", table)
    code, _, err = run("measure", table, "--metrics", "f1", "--out", table, "--overwrite")
    assert code == 2
    asked = ("--metrics", "ndcg", "--user", "g", "--item", "p")
    role = ("--actual", f"{table}", "--out", table, "--overwrite")
    code, _, err = run("evaluate", lake, *asked, *role)
    assert code == 2
    assert "is read as part of the input" in err
    # Through a link inside the lake the path alone does not tell.
    (tmp_path / "other").mkdir()
    FRAME.write_parquet(tmp_path / "other" / "rows.parquet")
    (lake / "day=3").symlink_to(tmp_path / "other")
    out = tmp_path / "other" / "rows.parquet"
    code, _, err = run("tally", lake, *ROLES, "--out", out, "--overwrite")
    assert code == 2
    assert "is one of the inputs" in err


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("{lake}", "{lake}/values.csv"),
        ("{lake}/day=1/rows.parquet", "{lake}/day=1/new.parquet"),
        ("{lake}/*/rows.parquet", "{lake}/day=1/new.parquet"),
        ("{lake}", "{lake}/_tables.parquet"),
        ("{lake}/day=1", "{lake}/day=10.parquet"),
    ],
)
def test_11_out_beside_the_inputs_is_fine(run: Run, lake: Path, source: str, out: str) -> None:
    typed = [source.format(lake=lake), *ROLES, "--out", out.format(lake=lake)]
    assert run("evaluate", typed[0], "--metrics", "accuracy", *typed[3:])[0] == 0
    assert Path(out.format(lake=lake)).is_file()


def test_11_out_keeps_what_is_there_unless_told(run: Run, lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "values.json"
    asked = ("evaluate", lake, "--metrics", "accuracy", *ROLES[2:], "--out", out)
    out.write_text("old")
    out.chmod(0o640)
    said = f"polarsfair: `--out {out}` exists: name another file, or add `--overwrite`\n"
    assert run(*asked) == (2, "", said)
    assert out.read_text() == "old"
    assert run(*asked, "--overwrite") == (0, "", "")
    assert "accuracy" in out.read_text()
    assert out.stat().st_mode & 0o777 == 0o640
    for command in (("metrics",), ("tally", lake, *ROLES)):
        assert run(*command, "--out", out)[0] == 2
    assert "add `--out FILE`" in run("metrics", "--overwrite")[2]


def test_11_out_through_a_link_replaces_what_it_points_to(
    run: Run, lake: Path, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "values.json", tmp_path / "real" / "v.json"
    link.symlink_to(real)
    asked = ("evaluate", lake, "--metrics", "accuracy", *ROLES[2:], "--out", link)
    assert run(*asked)[0] == 2
    assert run(*asked, "--overwrite") == (0, "", "")
    assert link.is_symlink()
    assert "accuracy" in real.read_text()


def test_11_a_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "values.json"
    out.write_text("of another process")
    with pytest.raises(FileExistsError, match="by someone else meanwhile"):
        output.write(FRAME, out)
    assert [path.name for path in tmp_path.iterdir()] == ["values.json"]
    assert out.read_text() == "of another process"


def test_11_file_and_directory_are_on_disk_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(number: int) -> None:
        directory = stat.S_ISDIR(os.fstat(number).st_mode)
        steps.append("directory" if directory else "file")
        real_sync(number)

    def renamed(self: Path, target: Path) -> Path:
        steps.append("rename")
        assert self.parent == target.parent
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", renamed)
    output.write(FRAME, tmp_path / "values.parquet", overwrite=True)
    assert steps == ["file", "rename", "directory"]


def test_11_a_full_disk_is_said_and_leaves_the_old_file(tmp_path: Path) -> None:
    """Polars reports it as an error of its own, and leaves the cut file."""
    code = """
import resource, signal, sys
from pathlib import Path
import polars as pl
from polarsfair._cli import output
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
frame = pl.DataFrame({"x": [str(i ** 3) for i in range(100_000)]})
output.write(frame, Path(sys.argv[1]), {"a": "b"}, overwrite=True)
"""
    pytest.importorskip("resource")
    out = tmp_path / "table.parquet"
    out.write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", code, out], capture_output=True, text=True, check=False
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"OSError: `--out {out}` cannot be written: file too large")
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
    assert out.read_text() == "old"


WRITING = """
import os, signal, sys
from pathlib import Path
import polars as pl
from polarsfair import cli
from polarsfair._cli import output

def half(frame, path):
    frame.write_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))

output.WRITERS[".parquet"] = half
cli.main(sys.argv[2:])
"""
"""The command line with a writer that is stopped in the middle of the file."""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "left"), [("SIGKILL", 1), ("SIGTERM", 0), ("SIGINT", 0)])
def test_11_a_kill_inside_the_write_leaves_the_old_file_whole(
    lake: Path, tmp_path: Path, name: str, left: int
) -> None:
    out = tmp_path / "tables" / "values.parquet"
    out.parent.mkdir()
    FRAME.write_parquet(out)
    asked = ["evaluate", lake, "--metrics", "accuracy", *ROLES[2:], "--out", out, "--overwrite"]
    command = [sys.executable, "-c", WRITING, name, *map(str, asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    number = getattr(signal, name)
    assert done.returncode == (-number if name == "SIGKILL" else 128 + number)
    assert pl.read_parquet(out).equals(FRAME)
    leftovers = [path for path in out.parent.iterdir() if path != out]
    assert len(leftovers) == left
    assert all(files.LEFTOVER.fullmatch(path.name) for path in leftovers)
    # What is left is not read, neither in the directory nor by a glob.
    for source in (out.parent, out.parent / "*"):
        assert [Path(path).name for path in files.find([str(source)])] == ["values.parquet"]
    with pytest.raises(FileNotFoundError):
        files.find([f"{out.parent}/.*"])


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_11_many_kills_leave_the_old_or_the_new_file(tmp_path: Path) -> None:
    """One process writes two small tables in turn; it is killed again and again."""
    code = """
import sys
from pathlib import Path
import polars as pl
from polarsfair._cli import output
frames = [pl.DataFrame({"x": [i] * 1000}) for i in (0, 1)]
print("ready", flush=True)
while True:
    for frame in frames:
        output.write(frame, Path(sys.argv[1]), {"k": "v"}, overwrite=True)
"""
    out = tmp_path / "table.parquet"
    pl.DataFrame({"x": [0] * 1000}).write_parquet(out)
    draw = random.Random(11)
    inside = 0
    for _ in range(25):
        writer = subprocess.Popen([sys.executable, "-c", code, out], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(draw.random() * 0.02)
        writer.kill()
        writer.communicate()
        values = pl.read_parquet(out)["x"]
        assert (values.len(), values.n_unique()) == (1000, 1)
        leftovers = [path for path in tmp_path.iterdir() if path != out]
        assert all(files.LEFTOVER.fullmatch(path.name) for path in leftovers)
        inside += len(leftovers)
        for path in leftovers:
            path.unlink()
    assert inside > 0
