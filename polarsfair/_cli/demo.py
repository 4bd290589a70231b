"""`polarsfair demo`: write the sample lake, evaluate it lazily, and show the results."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

import polarsfair as pf
from polarsfair import fairness
from polarsfair._cli import parse, sample, show

if TYPE_CHECKING:
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
    """Write the lake, evaluate it and print rates, metrics and commands to try next."""
    where = _prepared(directory)
    with show.working(f"writing {rows:,} loan decisions"):
        files = list(sample.write_lake(where, rows))
    lake = parse.scan([str(where)])
    queries: list[pl.LazyFrame] = [
        pf.by_group(lake, RATES, ref=REFERENCE, **ROLES),
        pf.evaluate(lake, NAMED, ref=REFERENCE, **ROLES),
        pf.evaluate(lake, SLICED, ref=REFERENCE, by="country", **ROLES),
    ]
    with show.working("counting"):
        rates, named, sliced = pl.collect_all(queries, engine="streaming")
    screen = show.console()
    screen.print(f"{rows:,} made-up loan decisions in {len(files)} files under {where}\n")
    screen.print(_rates(rates), "")
    screen.print(show.values(named, NAMED, f"Women against men (reference {REFERENCE})"), "")
    screen.print(show.values(sliced, SLICED, "The same by country"))
    screen.print(_next_steps(where), markup=False, soft_wrap=True)


def _prepared(directory: Path | None) -> Path:
    if directory is None:
        return Path(tempfile.mkdtemp(prefix="polarsfair-demo-"))
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        msg = f"`--dir {directory}` is not an empty directory: name a new one"
        raise FileExistsError(msg)
    return directory


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
                show.cell(line["n"]),
                show.cell(line["value"]),
                block * round(BAR * (line["value"] or 0)),
                show.optional(None if line["group"] == REFERENCE else line["difference"]),
            )
        shown.add_section()
    return shown


def _next_steps(where: Path) -> str:
    # The program as it was typed, so that the commands can be copied as they are.
    program = sys.argv[0] if Path(sys.argv[0]).name == "polarsfair" else "polarsfair"
    program = "polarsfair" if shutil.which("polarsfair") == program else program
    lake = shlex.quote(str(where))
    columns = "--group sex --pred approved --label repaid"
    return f"""
Try next (the last command also lists the metrics for rankings and clusterings):
  {program} evaluate {lake} --metrics stat_parity,equal_opportunity {columns} --ref M --by day
  {program} evaluate {lake} --metrics stat_parity --group sex,age --pred "score > 0.6"
  {program} tally {lake} {columns} --by day,country --out table.parquet
  {program} measure table.parquet --metrics disparate_impact,equalized_odds --by country
  {program} metrics
"""
