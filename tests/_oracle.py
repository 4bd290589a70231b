"""Asking DuckDB: tables in, one statement of `queries/` run, values out by key.

A `Case` is one generated input as both sides see it: a call for the package, tables for DuckDB.
Every family has a module of cases; `test_queries` asks them all.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import polarsfair as pf

QUERIES = Path(__file__).parents[1] / "queries"
KINDS = {pf.OVERALL: "overall", pf.REST: "rest"}

Values = dict[tuple[Any, ...], float | None]


@dataclass(frozen=True, eq=False)
class Case:
    """One input, and what may be asked of it.

    Attributes
    ----------
    name
        Says what is special about it; part of the test's name.
    frame, roles, by
        The package's side: ``evaluate(frame, [metric], by=by, **roles)``.
    tables
        DuckDB's side: the same rows under the names that `queries/README.md` gives.
    serves
        Which metrics can be asked.
    options
        The values to try of every option, beside the default.
    """

    name: str
    frame: pl.DataFrame
    roles: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame]
    serves: Callable[[pf.Metric], bool]
    by: str | None = None
    options: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def requests(self, metric: pf.Metric) -> Iterator[dict[str, Any]]:
        """Combine the values of all options that the metric takes.

        None leaves an option out, except for ``k``, of which it is a value: the whole list.
        """
        names = [name for name in self.options if name in metric.option_names]
        for values in itertools.product(*(self.options[name] for name in names)):
            given = zip(names, values, strict=True)
            yield {name: value for name, value in given if value is not None or name == "k"}

    @functools.cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The tables, loaded once."""
        connection = duckdb.connect(config={"threads": 1})
        # For so few rows, planning costs more than any plan could save.
        connection.execute("PRAGMA disable_optimizer")
        for name, table in self.tables.items():
            connection.register("given", table)
            connection.execute(f"CREATE TABLE {name} AS FROM given")
            connection.unregister("given")
        return connection

    @functools.cached_property
    def _defined(self) -> set[Path]:
        return set()

    def define_views(self, file: Path) -> None:
        """Define the views of a shared file, once per case."""
        if file not in self._defined:
            self.database.execute(file.read_text(encoding="utf-8"))
            self._defined.add(file)


def path_of(metric: pf.Metric) -> str:
    """Say where in `queries/` a metric's statement belongs, without the suffix."""
    return f"{metric.family}/{metric.name}"


def views_of(statement: str) -> list[str]:
    """List the shared files that a statement names in lines such as ``-- views: _lists.sql``."""
    return re.findall(r"^-- views: (_\w+\.sql)$", statement, re.MULTILINE)


def expected(case: Case, metric: pf.Metric, options: Mapping[str, Any]) -> Values:
    """Run the metric's statement on the case's tables."""
    variables, database = _variables({"k": _default_k(metric), **options}), case.database
    for name, value in variables.items():
        database.execute(f"SET VARIABLE {name} = ?", [value])
    file = QUERIES / f"{path_of(metric)}.sql"
    statement = file.read_text(encoding="utf-8")
    for name in views_of(statement):
        case.define_views(file.with_name(name))
    database.execute(statement)
    columns = [column[0] for column in database.description]
    lines = [dict(zip(columns, line, strict=True)) for line in database.fetchall()]
    for name in variables:
        database.execute(f"RESET VARIABLE {name}")
    if not lines and case.by is None and not metric.keys:
        # A statement has no line to give where there is no row; the package has one.
        lines = [{"slice": None, "value": None}]
    return _by_key(lines, "slice", "value")


def actual(case: Case, metric: pf.Metric, options: Mapping[str, Any]) -> Values:
    """Ask the package the same."""
    result = pf.evaluate(case.frame, [metric], by=case.by, **case.roles, **options)
    sliced = result.with_columns(slice=pl.lit(None)) if case.by is None else result
    return _by_key(sliced.to_dicts(), case.by or "slice", metric.name)


def differences(ours: Values, theirs: Values) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """List by key where two answers differ, as (ours, theirs); a line that is missing is "none"."""
    keys = {**ours, **theirs}
    pairs = {key: (ours.get(key, "none"), theirs.get(key, "none")) for key in keys}
    return {key: pair for key, pair in pairs.items() if not _same(*pair)}


def _same(x: Any, y: Any) -> bool:
    if not isinstance(x, float) or not isinstance(y, float):
        return x == y
    return math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)


def _default_k(metric: pf.Metric) -> int | None:
    """Say where a metric cuts lists when it is not told: statements have no default."""
    asked = metric.bases[0] if metric.bases else metric
    return asked.option("k") if "k" in asked.option_names else None


def _variables(options: Mapping[str, Any]) -> dict[str, Any]:
    """Spell options as the statements read them."""
    given = {name: value for name, value in options.items() if value is not None}
    ref = given.pop("ref", None)
    if isinstance(ref, type(pf.OVERALL)):
        return {**given, "ref_kind": KINDS[ref]}
    return given if ref is None else {**given, "ref_kind": "value", "ref": ref}


def _by_key(lines: Iterable[dict[str, Any]], slices: str, value: str) -> Values:
    """Order values by slice, then by the other key columns in the order of their names."""
    values: Values = {}
    for line in lines:
        names = [slices, *sorted(line.keys() - {slices, value})]
        key = tuple(_plain(line[name]) for name in names)
        assert key not in values, f"two lines for {key}"
        values[key] = line[value]
    return values


def _plain(part: Any) -> Any:
    return tuple(part.items()) if isinstance(part, dict) else part
