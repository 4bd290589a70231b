"""Which files are read (4), and what is said of those that cannot be (16)."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import PanicException

from polarsfair import cli
from polarsfair._cli import files, lakes

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


def part(path: Path, value: int = 1) -> Path:
    """Write a file of one row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"x": [value]}).write_parquet(path)
    return path


def values(*sources: object) -> list[int]:
    return sorted(lakes.scan([str(source) for source in sources]).collect()["x"].to_list())


def test_4_one_file_through_several_arguments_counts_once(tmp_path: Path) -> None:
    a, b = part(tmp_path / "a.parquet", 1), part(tmp_path / "b.parquet", 2)
    (tmp_path / "x").mkdir()
    assert values(a, a) == [1]
    assert values(tmp_path, a, tmp_path / "*.parquet", tmp_path / "[ab].parquet") == [1, 2]
    assert values(f"{tmp_path}/./a.parquet", f"{tmp_path}/x/../b.parquet", a) == [1, 2]
    assert values(f"file://{a}", a, b) == [1, 2]


def test_4_relative_and_absolute_names_are_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    assert values("a.parquet", "./a.parquet", tmp_path / "a.parquet", "*.parquet", ".") == [1]


def test_4_links_count_once_under_the_name_of_the_partition(tmp_path: Path) -> None:
    part(tmp_path / "z" / "day=2026-01-05" / "a.parquet")
    (tmp_path / "a_latest").symlink_to(tmp_path / "z" / "day=2026-01-05")
    (tmp_path / "z" / "day=2026-01-05" / "copy.parquet").symlink_to("a.parquet")
    rows = lakes.scan([str(tmp_path)]).collect()
    assert rows.columns == ["x", "day"]
    assert rows.height == 1


def test_4_links_in_circles_end(tmp_path: Path) -> None:
    part(tmp_path / "a" / "b" / "f.parquet")
    for i in range(3):
        (tmp_path / "a" / "b" / f"up{i}").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to(tmp_path)
    for source in (tmp_path, tmp_path / "**" / "*.parquet", tmp_path / "*"):
        assert values(source) == [1]


def test_4_a_link_to_itself_is_named(tmp_path: Path) -> None:
    part(tmp_path / "a.parquet")
    (tmp_path / "self").symlink_to("self")
    for source in (tmp_path, tmp_path / "self", tmp_path / "**"):
        with pytest.raises(OSError, match="self' is a link that leads back to itself: remove the"):
            values(source)


def test_4_the_directory_of_a_relative_glob_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def shut(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", shut)
    with pytest.raises(PermissionError, match=r"'\.' cannot be read \(permission denied\)"):
        values("*.parquet")


def test_4_a_linked_directory_is_read(tmp_path: Path) -> None:
    """`Path.rglob` leaves it out."""
    part(tmp_path / "elsewhere" / "f.parquet", 2)
    part(tmp_path / "lake" / "g.parquet", 3)
    (tmp_path / "lake" / "link").symlink_to(tmp_path / "elsewhere")
    assert values(tmp_path / "lake") == [2, 3]


def test_4_a_directory_named_like_a_file_counts_once(tmp_path: Path) -> None:
    """Spark writes directories with names such as table.parquet."""
    part(tmp_path / "table.parquet" / "part-0.parquet", 1)
    part(tmp_path / "table.parquet" / "part-1.PARQUET", 2)
    assert values(tmp_path) == [1, 2]
    assert values(tmp_path / "*.parquet") == [1, 2]


def test_4_hard_links_are_refused(tmp_path: Path, run: Run) -> None:
    part(tmp_path / "a.parquet")
    os.link(tmp_path / "a.parquet", tmp_path / "b.parquet")
    code, _, said = run("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "x")
    assert code == 2
    assert "are one file with two names (hard links)" in said
    assert values(tmp_path / "a.parquet") == [1]


@pytest.mark.parametrize(
    ("sources", "same"),
    [
        (["s3://b/a.parquet", "s3://b/*.parquet"], True),
        (["s3://b/day=1/*.parquet", "s3://b/day=2/*.parquet"], False),
        (["s3://b/day=1/*.parquet", "s3://b/day=10/*.parquet"], False),
        (["s3://b/day=*/x.parquet", "s3://b/day=1*/*.parquet"], True),
        (["s3://b/lake", "s3://b/lake/day=1/a.parquet"], True),
        (["s3://b/lake/", "s3://b/lake2/a.parquet"], False),
        (["s3://b/lake/", "s3://b/lake/*/a.parquet"], True),
        (["s3://b/a.parquet", "s3://b/b.parquet"], False),
    ],
)
def test_4_urls_that_overlap_are_refused(sources: Sequence[str], same: bool) -> None:
    assert files.overlap(*sources) == files.overlap(*reversed(sources)) == same
    if same:
        with pytest.raises(ValueError, match="may contain the same file"):
            files.find(sources)
    else:
        assert files.find([*sources, *sources]) == list(sources)


HIDDEN = """
import contextlib, io, os, sys
from polarsfair import cli
if os.geteuid() == 0:
    # What is imported late may lie where only root can read.
    for arguments in (sys.argv[1:], ["evaluate"]):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.suppress(SystemExit):
                cli.main(arguments)
    os.setegid(65534)
    os.seteuid(65534)
cli.main(sys.argv[1:])
"""
"""The command line as a user who may not read everything, also if the tests run as root."""


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that every user may reach. Pytest keeps its own directories private."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("source", ["{0}", "{0}/*/*.parquet", "{0}/**/*.parquet", "{0}/*"])
def test_4_what_may_not_be_read_is_an_error(public: Path, source: str) -> None:
    part(public / "open" / "a.parquet", 0)
    shut = part(public / "shut" / "b.parquet").parent
    asked = ["evaluate", source.format(public), "--metrics", "selection_rate", "--pred", "x"]
    command = [sys.executable, "-c", HIDDEN, *asked]

    def done() -> tuple[int, str]:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    assert done() == (0, "")
    for mode, path in [(0o000, shut), (0o000, shut / "b.parquet"), (0o444, shut)]:
        before = path.stat().st_mode
        path.chmod(mode)
        try:
            code, said = done()
        finally:
            path.chmod(before)
        assert code == 2
        assert f"{path!s}" in said
        assert "permission denied" in said
        assert said.count("\n") == 1


def test_4_an_error_while_listing_is_never_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part(tmp_path / "a" / "f.parquet")
    part(tmp_path / "b" / "f.parquet")
    real = os.scandir

    def failing(path: str) -> object:
        if Path(path).name == "b":
            raise OSError(5, "Input/output error")
        return real(path)

    monkeypatch.setattr(os, "scandir", failing)
    for source in (tmp_path, tmp_path / "*" / "*.parquet", tmp_path / "**" / "f.parquet"):
        with pytest.raises(OSError, match=r"b' cannot be read \(input/output error\)"):
            values(source)


def test_4_hive_types_are_those_of_the_whole_request(tmp_path: Path) -> None:
    for lake, parts in {"recs": ["01", "02"], "clicks": ["01", "x"]}.items():
        for name in parts:
            part(tmp_path / lake / f"h={name}" / "f.parquet")
    alone = lakes.scan([str(tmp_path / "recs")]).collect_schema()["h"]
    both = lakes.open_lakes([[str(tmp_path / "recs")], [str(tmp_path / "clicks")]])
    assert alone == pl.Int64
    assert [lake.rows.collect_schema()["h"] for lake in both] == [pl.String, pl.String]
    assert both[0].rows.collect()["h"].to_list() == ["01", "02"]
    each = lakes.open_each([str(tmp_path / "clicks"), str(tmp_path / "recs")])
    assert {lake.rows.collect_schema()["h"] for lake in each} == {pl.String()}


@pytest.mark.parametrize(
    ("one", "other", "dtype"),
    [("1", "1.5", pl.Float64), ("1", "__HIVE_DEFAULT_PARTITION__", pl.Int64), ("1", "2", pl.Int64)],
)
def test_4_hive_numbers_stay_numbers(
    tmp_path: Path, one: str, other: str, dtype: pl.DataType
) -> None:
    sources = [[str(part(tmp_path / f"h={name}" / "f.parquet"))] for name in (one, other)]
    opened = lakes.open_lakes(sources)
    assert [lake.rows.collect_schema()["h"] for lake in opened] == [dtype, dtype]
    assert [lake.rows.collect().height for lake in opened] == [1, 1]


def test_4_partitions_of_two_kinds_are_named(tmp_path: Path, run: Run) -> None:
    part(tmp_path / "day=1" / "f.parquet")
    part(tmp_path / "day=1" / "hour=2" / "f.parquet")
    code, _, said = run("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "x")
    assert code == 2
    assert "has other hive partitions (day, hour)" in said


def broken(kind: str, path: Path) -> None:
    """Spoil a file in one of several ways; \x1b and `secret` must not be printed."""
    whole = path.read_bytes()
    text = {"csv": "x,secret\x1b[31m\n1,2\n" * 50, "json": '{"x": "secret\x1b[31m"}\n'}
    spoilt = {
        "empty": b"",
        "cut off": whole[: len(whole) // 2],
        "footer": whole[:-40] + b"\xff\x1b" * 16 + whole[-8:],
        "binary": b"\x1bsecret\xff\x00" * 200,
        **{name: words.encode() for name, words in text.items()},
    }
    path.write_bytes(spoilt[kind])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("empty", "it is empty (0 bytes)"),
        ("cut off", "it is cut off"),
        ("footer", "its footer is damaged"),
        ("binary", "it is another kind of file"),
        ("csv", "it looks like CSV; convert it, `python -c 'import polars as pl; pl.read_csv("),
        ("json", "it looks like JSON"),
    ],
)
def test_16_a_broken_file_among_many_is_named(
    tmp_path: Path, run: Run, kind: str, said: str
) -> None:
    for i in range(20):
        part(tmp_path / f"{i:02}.parquet")
    broken(kind, tmp_path / "13.parquet")
    for command in ("evaluate", "measure"):
        roles = ("--pred", "x") if command == "evaluate" else ()
        code, out, err = run(command, tmp_path, "--metrics", "selection_rate", *roles)
        assert (code, out) == (2, "")
        assert f"{tmp_path}/13.parquet' cannot be read as Parquet: {said}" in err
        assert "secret" not in err
        assert err[:-1].isprintable()


def test_16_the_conversion_that_is_advised_works(tmp_path: Path, run: Run) -> None:
    (tmp_path / "rows.csv").write_text("x\n1\n0\n")
    code, _, said = run("evaluate", tmp_path / "rows.csv", "--metrics", "base_rate", "--label", "x")
    command = said.split("`")[1].replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert code == 2
    assert pl.read_parquet(tmp_path / "rows.parquet")["x"].to_list() == [1, 0]


def test_16_damage_behind_a_sound_footer_is_named(tmp_path: Path, run: Run) -> None:
    for name in "ab":
        path = tmp_path / f"{name}.parquet"
        pl.DataFrame({"x": [0, 1] * 5000}).write_parquet(path)
    spoilt = bytearray(path.read_bytes())
    spoilt[4:24] = b"\xde\xad\x1b[" * 5
    path.write_bytes(spoilt)
    code, _, said = run("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "x")
    assert (code, said) == (
        2,
        f"polarsfair: '{path}' is damaged: write it again, or leave it out\n",
    )


def test_16_a_panic_of_polars_is_no_traceback(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some damage makes Polars panic: the file is named, or there is a line without a trace."""
    part(tmp_path / "a.parquet")

    def panic(*_: object, **__: object) -> None:
        raise PanicException

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    asked = ("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "x")
    assert "a.parquet' is damaged" in run(*asked)[2]
    monkeypatch.setattr(lakes, "blamed", lambda *_: None)
    code, _, said = run(*asked)
    assert (code, said.count("\n")) == (1, 1)
    assert "internal error" in said


def test_16_files_that_differ_are_named(tmp_path: Path, run: Run) -> None:
    part(tmp_path / "a.parquet")
    for frame, said in [
        (pl.DataFrame({"x": ["1"]}), f"'x' is String in '{tmp_path}/b.parquet' and Int64 in"),
        (pl.DataFrame({"y": [1]}), f"'{tmp_path}/b.parquet' has no column 'x', which"),
    ]:
        frame.write_parquet(tmp_path / "b.parquet")
        code, _, err = run("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "x")
        assert code == 2
        assert said in err


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_16_the_conversion_keeps_the_columns(tmp_path: Path, run: Run, separator: str) -> None:
    """Read with commas, a file of semicolons has one column."""
    rows = pl.DataFrame({"x": ["a,b", "c"], "y": [1, 0]})
    rows.write_csv(tmp_path / "rows.csv", separator=separator)
    said = run("tally", tmp_path / "rows.csv", "--pred", "y")[2]
    command = said.split("`")[1].replace("python", sys.executable, 1)
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(rows)


@pytest.mark.parametrize("name", ["", "none.parquet", "none/*.parquet", "none/**"])
def test_16_what_does_not_exist_is_said(tmp_path: Path, run: Run, name: str) -> None:
    source = f"{tmp_path}/{name}" if name else ""
    code, _, said = run("evaluate", source, "--metrics", "selection_rate", "--pred", "x")
    assert (code, said.count("\n")) == (2, 1)
    assert "is not a file or a directory, and no file matches it" in said


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_16_pipes_and_dangling_links_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(ValueError, match="is not a regular file"):
        values(tmp_path)
    (tmp_path / "pipe.parquet").unlink()
    (tmp_path / "link.parquet").symlink_to(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match="is a link to a file that does not exist"):
        values(tmp_path)


def test_16_names_with_pattern_letters_are_names(tmp_path: Path) -> None:
    for i, name in enumerate(
        ["[d].parquet", "a*b.parquet", "q?.parquet", "d.parquet", "%20.parquet"]
    ):
        part(tmp_path / name, i)
    assert values(tmp_path) == [0, 1, 2, 3, 4]
    assert values(tmp_path / "[d].parquet") == [0]
    shutil.rmtree(tmp_path)
