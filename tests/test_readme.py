"""The README is run, not believed."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import cli
from polarsfair._cli import sample

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    list(sample.write_lake(tmp_path / "sample", 2000))
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec("\n".join(blocks), names)
    assert len(blocks) == 4
    assert len(list(tmp_path.glob("tables/*.parquet"))) == 2
    values = names["values"].collect()
    assert values.columns == ["day", "stat_parity", "equal_opportunity"]


def test_numbers_in_comments_are_what_the_lines_give() -> None:
    notebook = README.split("## On a lake")[0]
    names: dict[str, Any] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", notebook, re.DOTALL)), names)
    lines = re.findall(r"^(\w+\.pipe\(.*\))  # (-?\d\.\d+)\.\.\.", notebook, re.MULTILINE)
    assert len(lines) == 5
    for line, number in lines:
        assert str(eval(line, names)).startswith(number)


def test_shell_lines_of_the_lake_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(polarsfair .*?)```", README, re.DOTALL)
    commands = "".join(blocks).replace("\\\n", " ").strip().splitlines()
    assert len(commands) == 9
    for command in (f"{commands[0]} --rows 2000", *commands[1:]):
        words = [word.strip('"') for word in re.findall(r'".*?"|\S+', command)]
        with pytest.raises(SystemExit, match="0"):
            cli.main(words[1:])
    assert pl.read_parquet("values.parquet").height == len(sample.DAYS)
    assert pl.read_csv("roc.csv")["group"].unique().drop_nulls().sort().to_list() == ["F", "M"]


def test_ci_runs_the_checks_that_the_readme_names() -> None:
    for words in ("-c constraints.txt -e '.[dev]'", "-m tests"):
        assert words in README.split("```")[1]
        assert words in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_catalogue_names_what_there_is() -> None:
    table = re.findall(r"^\|.*\|.*\|(.*)\|$", README, re.MULTILINE)
    listed = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert "stat_parity" in listed
    families = (pf.fairness, pf.ranking, pf.clustering)
    assert listed <= {name for family in families for name in vars(family)}


def test_the_picture_is_what_the_demo_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (picture,) = re.findall(r"```\n(Women.*?)```", README, re.DOTALL)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["demo", "--dir", str(tmp_path / "lake")])
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert picture.strip() in "\n".join(printed)
