"""`polarsfair demo`: write the sample lake, evaluate it lazily, and show the results."""

from __future__ import annotations

import secrets
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair import fairness
from polarsfair._cli import lakes, sample, show
from polarsfair._cli.files import reason
from polarsfair._cli.output import undoing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

REFERENCE = "M"
ROLES = {"group": "sex", "pred": "approved", "label": "repaid"}
RATES = [
    fairness.base_rate,
    fairness.selection_rate,
    fairness.true_positive_rate,
    fairness.precision,
]
NAMED = [
    fairness.stat_parity,
    fairness.disparate_impact,
    fairness.equal_opportunity,
    fairness.predictive_equality,
    fairness.average_odds,
    fairness.predictive_parity,
    fairness.accuracy_difference,
]
SLICED = [fairness.stat_parity, fairness.disparate_impact, fairness.equal_opportunity]
BAR = 14
"""The length, in characters, of the bar of a rate of 1."""

ASCII_BLOCK = "#"
"""The character of bars if the output cannot show blocks."""


def run_demo(rows: int, directory: Path | None) -> None:
    """Write the lake, evaluate it and print rates, metrics and commands to try next.

    If that is interrupted or fails, the lake is removed again.
    """
    made: list[Path] = []
    with undoing(lambda: _remove(made)):
        where = _prepared(directory, made)
        try:
            with show.working(f"writing {rows:,} loan decisions"):
                files = list(sample.write_lake(where, rows))
        except (OSError, PolarsError) as error:
            msg = (
                f"the sample lake cannot be written to {str(where)!r}: {reason(error)}; name"
                " another directory with `--dir DIR`, or write fewer rows with `--rows N`"
            )
            raise OSError(msg) from None
        try:
            with show.writing():
                _show(rows, where, len(files))
        except BrokenPipeError:
            # Whoever reads the output has seen enough: a lake that was asked for is whole.
            made[:] = made if directory is None else []
            raise


def _show(rows: int, where: Path, files: int) -> None:
    lake = lakes.scan([str(where)])
    queries: list[pl.LazyFrame] = [
        pf.by_group(lake, RATES, ref=REFERENCE, **ROLES),
        pf.evaluate(lake, NAMED, ref=REFERENCE, **ROLES),
        pf.evaluate(lake, SLICED, ref=REFERENCE, by="country", **ROLES),
    ]
    with show.working("counting"):
        rates, named, sliced = pl.collect_all(queries, engine="streaming")
    screen = show.console()
    shown = show.escaped(str(where))
    screen.print(f"{rows:,} made-up loan decisions in {files} files under {shown}\n", markup=False)
    screen.print(_rates(rates), "")
    title = f"Women against men (reference {REFERENCE})"
    screen.print(show.values(named, NAMED, title).drawn(), "")
    screen.print(show.values(sliced, SLICED, "The same by country").drawn())
    screen.print(_next_steps(where), markup=False, soft_wrap=True)


def _prepared(directory: Path | None, made: list[Path]) -> Path:
    """Make the directory of the lake; `made` lists what to remove if the demo does not finish."""
    if directory is None:
        # The name is chosen before the directory exists: a signal in between loses nothing.
        directory = Path(tempfile.gettempdir()) / f"polarsfair-demo-{secrets.token_hex(6)}"
        made.append(directory)
        directory.mkdir(mode=0o700)
        return directory
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        msg = f"`--dir {directory}` is not an empty directory: name a new one"
        raise FileExistsError(msg)
    parts = [directory / f"day={day}" for day in sample.DAYS]
    made += [*parts, *(path for path in (directory, *directory.parents) if not path.exists())]
    return directory


def _remove(made: list[Path]) -> None:
    """Remove the directories of the lake, and then those around it that are empty."""
    for path in made:
        if path.name.startswith(("day=", "polarsfair-demo-")):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.rmdir()


def _rates(rates: pl.DataFrame) -> Table:
    shown = show.table("Women repay as often as men, but the score marks them down")
    for name in ("rate", "sex"):
        shown.add_column(name)
    for name in ("rows", "value"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    shown.add_column(f"to {REFERENCE}", justify="right")
    ordered = rates.sort("group", nulls_last=True)
    block = ASCII_BLOCK if show.console().options.ascii_only else "█"
    for metric in RATES:
        for i, line in enumerate(ordered.filter(metric=metric.name).rows(named=True)):
            shown.add_row(
                metric.name if i == 0 else "",
                line["group"] or "unknown",
                show.number(line["n"]),
                "null" if line["value"] is None else show.number(line["value"]),
                block * round(BAR * (line["value"] or 0)),
                _difference(line),
            )
        shown.add_section()
    return shown


def _difference(line: Mapping[str, Any]) -> str:
    own = line["group"] == REFERENCE or line["difference"] is None
    return "" if own else show.number(line["difference"])


def _quoted(path: str) -> str:
    """Quote a path for a shell, with control characters as escapes."""
    if show.escaped(path) == path:
        return shlex.quote(path)
    inside = path.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{show.escaped(inside)}'"


def _next_steps(where: Path) -> str:
    # The program as it was typed, so that the commands can be copied as they are.
    program = sys.argv[0] if Path(sys.argv[0]).name == "polarsfair" else "polarsfair"
    program = "polarsfair" if shutil.which("polarsfair") == program else program
    lake = _quoted(str(where))
    columns = "--group sex --pred approved --label repaid"
    return f"""
Try next (the last command also lists the metrics for rankings and clusterings):
  {program} evaluate {lake} --metrics stat_parity,equal_opportunity {columns} --ref M --by day
  {program} evaluate {lake} --metrics stat_parity --group sex,age --pred "score > 0.6"
  {program} tally {lake} {columns} --by day,country --out table.parquet
  {program} measure table.parquet --metrics disparate_impact,equalized_odds --by country
  {program} metrics
"""
