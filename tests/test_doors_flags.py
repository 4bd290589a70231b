"""What was typed is what is computed (16): no flag replaces another in silence."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from polarsfair import cli, fairness

Run = Callable[..., tuple[int, str, str]]

FRAME = pl.DataFrame({"g": ["F"] * 3 + ["M"] * 3, "p": [0, 1, 0, 1, 1, 0], "y": [1, 1, 0, 1, 1, 1]})
TABLE = fairness.decisions(FRAME, group="g", pred="p", label="y")
EVALUATE = ("evaluate", "{rows}", "--metrics", "stat_parity", "--group", "g", "--pred", "p")
MEASURE = ("measure", "{table}", "--metrics", "stat_parity")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Call the command line on rows and on their table: exit code, output, errors."""
    paths = {"rows": tmp_path / "rows.parquet", "table": tmp_path / "table.parquet"}
    FRAME.write_parquet(paths["rows"])
    TABLE.write_parquet(paths["table"])

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([argument.format(**paths) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((*EVALUATE, "--pred", "y"), "`pred` takes one column or SQL expression, got 2: p, y"),
        ((*EVALUATE, "--role", "pred=y"), "write `--pred y` for `--role pred=y`"),
        ((*EVALUATE, "--option", "group=y"), "'group' is a role, not an option: write `--group y`"),
        ((*EVALUATE, "--option", "items=a b"), 'write `--items "a b"`'),
        ((*EVALUATE, "--option", "by=y"), "'by' is neither a role nor an option: write `--by y`"),
        ((*EVALUATE, "--option", "by=y + 1"), 'write `--by "y + 1"`'),
        ((*MEASURE, "--option", "by=y"), "'by' is neither a role nor an option: write `--by y`"),
        ((*EVALUATE, "--option", "metrics=f1"), "'metrics' is neither a role nor an option"),
        ((*EVALUATE, "--option", "frame=y"), "'frame' is neither a role nor an option"),
        ((*MEASURE, "--option", "table=y"), "'table' is neither a role nor an option"),
        ((*EVALUATE, "--ref", "M", "--option", "ref=F"), "`--ref` and `--option ref=...` set"),
        ((*MEASURE, "--ref", "M", "--option", "ref=F"), "`--ref` and `--option ref=...` set"),
        ((*EVALUATE, "--option", "k=5", "--option", "k=9"), "`--option k` is given twice"),
    ],
)
def test_16_no_flag_replaces_another(run: Run, typed: tuple[str, ...], said: str) -> None:
    """The last one was taken: 0.6 for 0.3333, or Python's own words about `evaluate()`."""
    code, out, err = run(*typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize("typed", [EVALUATE, MEASURE])
def test_16_a_reference_may_be_an_option(run: Run, typed: tuple[str, ...]) -> None:
    assert run(*typed, "--option", "ref=M")[1] == run(*typed, "--ref", "M")[1]


def test_16_a_flag_that_is_repeated(run: Run) -> None:
    """The README says which flags collect their values; a role of one column refuses a second."""
    rate = ("evaluate", "{rows}", "--metrics", "selection_rate", "--pred", "p")
    assert "0.5000" in run(*rate)[1]
    assert "got 2: p, y" in run(*rate, "--pred", "y")[2]
    assert "0.8333" in run("evaluate", "{rows}", *rate[2:4], "--pred", "y")[1]
    assert run(*rate, "--by", "g", "--by", "y")[1].startswith("g  y  selection_rate\n")
    assert "accuracy" in run(*rate, "--metrics", "fairness.accuracy", "--label", "y")[1]
    assert "0.3333" in run(*EVALUATE)[1]
    assert "0.6667" in run(*EVALUATE, "--group", "y")[1]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("-x.parquet",),
            "'-x' is not an option, which all but -k begin with `--`: write a file whose",
        ),
        (("tally", "-x.parquet", "--pred", "p"), "name begins with - as `./-FILE`"),
        (
            ("tell",),
            "'tell' is not a command: use one of evaluate, by-group, frame, tally, ",
        ),
        (
            (*MEASURE, "--pred", "p"),
            "count another, `polarsfair tally LAKE --pred COLUMN --out FILE`",
        ),
        (
            (*MEASURE, "--cluster", "p"),
            "`polarsfair tally LAKE --cluster COLUMN --out FILE`",
        ),
        (("evaluate",), "polarsfair: Missing argument 'LAKE'\n"),
    ],
)
def test_16_what_is_unknown_is_advised(run: Run, typed: tuple[str, ...], said: str) -> None:
    code, out, err = run(*typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_16_names_that_begin_with_a_dash(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.write_parquet("-x.parquet")
    roles = ("--group", "g", "--pred", "p", "--label", "y")
    for source in (("./-x.parquet", *roles), (*roles, "--", "-x.parquet")):
        assert run("tally", "--out", "-o.parquet", "--overwrite", *source) == (0, "", "")
        assert pl.read_parquet("-o.parquet").height == TABLE.height


def test_11_out_is_not_an_address(run: Run) -> None:
    for address in ("s3://bucket/values.csv", "file:///tmp/values.csv"):
        code, _, err = run(*EVALUATE, "--out", address)
        assert (code, err.count("\n")) == (2, 1)
        assert "is an address: name a local file, and copy it from there" in err


def test_11_what_to_name_instead_of_an_input(run: Run, tmp_path: Path) -> None:
    out = ("--out", "{rows}", "--overwrite")
    assert run(*EVALUATE, *out)[2].endswith("rows.parquet': name another file\n")
    assert run("evaluate", str(tmp_path), *EVALUATE[2:], *out)[2].endswith(
        f"{tmp_path}': name another directory\n"
    )


def test_16_the_catalogue_is_not_flat(run: Run, tmp_path: Path) -> None:
    code, _, err = run("metrics", "--out", str(tmp_path / "metrics.csv"))
    assert code == 2
    assert "CSV cannot store the nested column" in err
    assert "write metrics.parquet or metrics.json" in err
    assert run("metrics", "--out", str(tmp_path / "metrics.json")) == (0, "", "")
