"""What is printed: control characters escaped (13), plain text in pipes, no lake left over (17)."""

import ast
import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from polarsfair import cli, fairness
from polarsfair._cli import flags, parse, sample, show
from tests.test_cli import BAD

Run = Callable[..., tuple[int, str, str]]

EVIL = {
    "colour": "\x1b[31mred",
    "line": "two\nlines",
    "return": "safe\rEVIL",
    "tab": "a\tb",
    "C1": "a\x9b31mb",
    "delete": "a\x7fb",
    "bidi": "a\u202egnp.exe",
    "isolate": "a\u2066b\u2069",
    "separator": "a\u2028b\u2029c",
    "title": "\x1b]0;owned\x07",
    "markup": "[bold red]x[/]",
    "null": "a\0b",
    "mark": "a\u200eb\ufeffc",
}
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("lake")
    list(sample.write_lake(directory, 1000))
    return directory


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    """Let the command line believe that it writes to a terminal, without colours."""
    screen = Console(force_terminal=True, width=300, color_system=None, file=io.StringIO())
    monkeypatch.setattr(show, "console", lambda: screen)
    return screen


def written(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
@pytest.mark.parametrize("terminal", [False, True])
def test_13_values_and_column_names_are_escaped_in_tables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, terminal: bool
) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({text: [text, "b"], "p": [0, 1]}).write_parquet(path)
    screen = on_terminal(monkeypatch) if terminal else None
    for asked in (
        ("tally", path, "--group", text, "--pred", "p"),
        ("evaluate", path, "--metrics", "selection_rate", "--pred", "p", "--by", text),
        ("tally", path, "--group", text, "--group", "p", "--pred", "p"),
    ):
        code, out, err = run(*asked)
        assert (code, err) == (0, "")
        shown = written(screen) if screen else out
        assert not CONTROLS.search(shown)
        assert show.escaped(text) in shown
        assert screen or len(out.splitlines()) == 3


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_13_names_are_escaped_in_messages(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({text: ["a", "b"], "p": [0, 1], "q": [text, text]}).write_parquet(path)
    asked = ("evaluate", path, "--metrics", "selection_rate")
    for bad in (
        (*asked, "--pred", text),
        (*asked, "--pred", f"{text} >"),
        (*asked, "--pred", "q"),
        (*asked, "--pred", "p", "--by", f"zz{text}"),
        (*asked, "--pred", "p", "--option", f"{text}=1"),
        (*asked, "--pred", "p", f"--{text}"),
        ("evaluate", path, "--metrics", text),
        (
            "evaluate",
            path,
            "--metrics",
            "stat_parity",
            "--group",
            "q",
            "--pred",
            "p",
            "--ref",
            text,
        ),
        (*asked, "--pred", "p", "--out", tmp_path / f"{text.replace(chr(0), '')}.xlsx"),
        ("tally", path, "--tally", text),
    ):
        code, _, err = run(*bad)
        if bad[-2] != "--ref":
            assert code == 2
        assert not CONTROLS.search(err)
        assert err.count("\n") == (1 if code else 0)


@pytest.mark.parametrize("text", [v for v in EVIL.values() if "\0" not in v])
def test_13_file_names_are_escaped(run: Run, tmp_path: Path, text: str) -> None:
    directory = tmp_path / text.replace("/", "_")
    directory.mkdir()
    (directory / "rows.parquet").write_bytes(b"\x1b[31m\xff\x00")
    for source in (directory, directory / "none.parquet", directory / "rows.parquet"):
        code, _, err = run("evaluate", source, "--metrics", "selection_rate", "--pred", "p")
        assert (code, err.count("\n")) == (2, 1)
        assert not CONTROLS.search(err)
    (directory / "rows.parquet").unlink()
    code, out, err = run("demo", "--rows", 1000, "--dir", directory / "lake")
    assert code == 0
    assert not CONTROLS.search(out)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_13_names_that_are_not_unicode_are_escaped(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\x1b.parquet"
    Path(os.fsdecode(name)).write_bytes(b"")
    command = [sys.executable, "-m", "polarsfair", "evaluate", str(tmp_path), "--metrics", "f1"]
    command[-1] = "accuracy"
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"\\udcff\\x1b.parquet' cannot be read as Parquet: it is empty" in done.stderr


def test_13_letters_of_all_scripts_stay() -> None:
    for text in ("Zoë", "日本", "می‌خواهم", "👩‍👩‍👧", "C:\\new\\table", "a b"):
        assert show.escaped(text) == text


def test_16_every_flag_in_a_message_exists() -> None:
    """Flags in the strings of the command line, and those that Python is rewritten to."""
    named: set[str] = set()
    for file in [Path(cli.__file__), *Path(show.__file__).parent.glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", node.value))
    assert {"--group", "--out", "--overwrite", "--role"} <= named
    assert named - {"--version"} <= cli.flags_of()
    assert {f"--{name}" for name in flags.OWN_FLAGS} <= cli.flags_of()


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_16_advice_names_flags_of_its_command(
    run: Run, lake: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    typed = [argument.format(lake=lake, empty=tmp_path) for argument in arguments]
    _, _, err = run(*typed)
    advised = [code for code in re.findall(r"`([^`]+)`", err) if code.startswith("--")]
    unknown = set(re.findall(r"--[a-z]+", " ".join(advised))) - cli.flags_of(typed[0])
    assert unknown <= {word for word in typed if word.startswith("--")}


def test_16_roles_of_a_table_are_advised_where_they_are_given() -> None:
    advice = flags.where_known("add `--pred COLUMN` or `--ref M`", cli.flags_of("measure"))
    assert advice == "add `polarsfair tally LAKE --pred COLUMN --out FILE` or `--ref M`"
    for command in ("demo", "metrics"):
        said = "No such option: --cluster"
        assert flags.unknown(said, cli.flags_of(command), []) == said


def test_16_deep_requests_are_refused(run: Run, tmp_path: Path) -> None:
    pl.DataFrame({"p": [0, 1]}).write_parquet(tmp_path / "a.parquet")
    nested = "difference(" * 3000 + "accuracy" + ")" * 3000
    code, _, err = run("evaluate", tmp_path, "--metrics", nested)
    assert (code, err.count("\n")) == (2, 1)
    assert "3,000 comparisons" in err
    assert parse.options(["k=" + "[" * 5000 + "]" * 5000])["k"].startswith("[[")


def test_17_a_pipe_gets_plain_text(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"g": ["a", "bb", None], "p": [0, 1, 1], "y": [0, 1, 0]})
    frame.write_parquet(path)
    _, out, _ = run("tally", path, "--group", "g", "--pred", "p")
    assert out.splitlines() == [
        "group  pred   n",
        "null   True   1",
        "a      False  1",
        "bb     True   1",
    ]
    asked = ("--metrics", "stat_parity,fairness.accuracy", "--group", "g", "--pred", "p")
    _, out, _ = run("evaluate", path, *asked, "--label", "y")
    assert out.splitlines() == [
        "metric        value  ideal    fair band  verdict",
        "stat_parity  1.0000      0  -0.1 to 0.1  outside",
        "accuracy     0.6667      1",
    ]


def test_17_the_terminal_keeps_its_tables(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"g": [str(i) for i in range(300)], "p": [1] * 300}).write_parquet(path)
    screen = on_terminal(monkeypatch)
    assert run("tally", path, "--group", "g", "--pred", "p") == (0, "", "")
    shown = written(screen)
    assert shown.count("│") == 200 * 4
    assert "... and 100 more rows: --out FILE writes all of them" in shown


def test_17_long_tables_do_not_pass_through_rich(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rich takes a minute for 200,000 rows. Time is not measured here; its tables are forbidden."""
    monkeypatch.setattr(show, "Table", None)
    monkeypatch.setattr(show, "Text", None)
    rows = 200_000
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"g": range(rows), "p": [0, 1] * (rows // 2)}).write_parquet(path)
    _, out, _ = run("tally", path, "--group", "g", "--pred", "p")
    assert out.count("\n") == rows + 1


@pytest.mark.benchmark
def test_17_long_tables_take_less_than_two_seconds(tmp_path: Path) -> None:
    rows = 200_000
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"g": range(rows), "p": [0, 1] * (rows // 2)}).write_parquet(path)
    command = [sys.executable, "-m", "polarsfair", "tally", path, "--group", "g", "--pred", "p"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True)
    assert time.perf_counter() - start < 2
    assert done.stdout.count(b"\n") == rows + 1


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("SIGINT", None), ("SIGINT", "new/er"), ("SIGTERM", None), ("SIGTERM", "empty")),
        ("SIGHUP", "new"),
    ],
)
def test_17_an_interrupted_demo_leaves_nothing(
    tmp_path: Path, name: str, place: str | None
) -> None:
    (tmp_path / "empty").mkdir()
    asked = [] if place is None else ["--dir", str(tmp_path / place)]
    command = [sys.executable, "-m", "polarsfair", "demo", "--rows", "2000000", *asked]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    draw = random.Random(f"{name} {place}")
    for _ in range(2):
        demo = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        while demo.poll() is None and not list(tmp_path.rglob("*.parquet")):
            time.sleep(0.002)
        time.sleep(draw.random() * 0.3)
        demo.send_signal(getattr(signal, name))
        _, said = demo.communicate()
        assert demo.returncode == 128 + getattr(signal, name)
        assert "Traceback" not in said
        assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_17_a_demo_that_fails_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl, "collect_all", full)
    code, _, err = run("demo", "--rows", 1000, "--dir", tmp_path / "a" / "b")
    assert (code, err.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []
    keep = tmp_path / "kept.txt"
    keep.touch()
    assert run("demo", "--rows", 1000, "--dir", tmp_path)[0] == 2
    assert list(tmp_path.iterdir()) == [keep]


def test_17_a_demo_that_ends_keeps_its_lake(run: Run, tmp_path: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    assert run("demo", "--rows", 1000, "--dir", tmp_path / "a")[0] == 0
    assert len(list((tmp_path / "a").rglob("*.parquet"))) == sample.FILES
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)] == handlers
    assert fairness.selection_rate(pl.read_parquet(tmp_path / "a"), pred="approved") > 0
