"""Mitigation: finding rates from a table, and repairing a lake into another lake."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import lakes
from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work

if TYPE_CHECKING:
    import polars as pl

_OURS = "polarsfair, transform and sink"
_BARE = "bare scan and sink"
_FIT = "equalised odds"
_ROLES = {"label": "label", "pred": "pred", "group": "group"}
_FIT_CALLS = 20


def people(path: str, rows: int, seed: int, file_rows: int) -> Work:
    """Write a lake of decisions about people, each with a unique number."""

    def write() -> Figures:
        for number, start in enumerate(range(0, rows, file_rows)):
            height = min(file_rows, rows - start)
            part = lakes.decision_rows(height, nulls=0, seed=(seed, number))
            part = part.with_row_index("id", offset=start)
            part.write_parquet(Path(path) / f"part-{number:05}.parquet")
        return {}

    return write


def _sunk(query: pl.LazyFrame, into: str) -> Figures:
    """Write the rows of a query to one file, and delete the file."""
    with tempfile.TemporaryDirectory(dir=into) as directory:
        query.sink_parquet(Path(directory) / "rows.parquet", engine="streaming")
    return {}


def bare(lake: str, into: str) -> Work:
    """Read all columns and write them: the cost of any repair of a lake."""
    import polars as pl

    return lambda: _sunk(pl.scan_parquet(lake), into)


def ours(lake: str, into: str) -> Work:
    """Also add the fair decision. The rates are fitted before the clock starts."""
    import polars as pl

    from polarsfair.fairness import mitigation

    repair = mitigation.EqualizedOdds().fit(pl.scan_parquet(lake).head(100_000), **_ROLES)
    return lambda: _sunk(repair.transform(pl.scan_parquet(lake), key="id"), into)


def fit(lake: str) -> Work:
    """Find the rates from the table of counts, without the scan."""
    import polars as pl

    from polarsfair import fairness
    from polarsfair.fairness import mitigation

    table = fairness.decisions(pl.scan_parquet(lake), **_ROLES).collect(engine="streaming")
    goal = mitigation.EqualizedOdds()
    goal.fit(table, **_ROLES, weight="n")  # imports the solver

    def work() -> Figures:
        found = goal.fit(table, **_ROLES, weight="n")
        return {"keep": found.rates["keep"].sum(), "turn": found.rates["turn"].sum()}

    return work


def _contests(settings: Settings, rows: int) -> list[Contest]:
    made = {"rows": rows, "seed": settings.seed, "file_rows": settings.file_rows}
    lake = str(lakes.lake(settings.directory, people, **made))
    into = settings.directory / "sunk"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    where = {"lake": lake, "into": str(into)}
    repair = Contest(
        f"repair of {rows:,} rows from Parquet into Parquet",
        (Contestant(_BARE, bare, where), Contestant(_OURS, ours, where)),
        baseline=_BARE,
        goals=(
            Goal("ours over the bare copy", lambda o: o[_OURS].wall / o[_BARE].wall, 1.6),
            Goal("its CPU time", lambda o: o[_OURS].cpu / o[_BARE].cpu, 1.6),
            Goal("its peak memory", lambda o: o[_OURS].peak / 1e6, 1000, "MB"),
        ),
    )
    fitting = Contest(
        f"fit from the table of {rows:,} rows",
        (Contestant(_FIT, fit, {"lake": lake}, _FIT_CALLS, packages=("polars", "scipy")),),
        baseline=_FIT,
        goals=(Goal("median of a fit", lambda o: o[_FIT].median * 1e3, 50, "ms"),),
    )
    return [repair, fitting]


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark."""
    return [contest for rows in settings.rows for contest in _contests(settings, rows)]


BENCHMARK = Benchmark(
    "mitigation",
    "fit of equalised odds, and repair of a Parquet lake into another",
    contests,
    rows=(100_000_000,),
)
