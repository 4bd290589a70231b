"""What a value is a value of, counted by DuckDB: the ``-- n`` lines of a statement as a count.

``-- n:`` is a condition on a row, ``-- n of:`` the relation that has the rows, ``-- compared:``
whether a group takes part in a comparison; `queries/README.md` says what each is without its line.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import QUERIES, Case, _by_key, _default_k, _variables, path_of, views_of

Counts = dict[tuple[Any, ...], float | None]

KNOWN = {
    **{role: f"{role} IS NOT NULL" for role in ("pred", "label", "score", "strata", "cluster")},
    "other": "other IS NOT NULL",
    "group": '"group" IS NOT NULL',
}
"""When a row has what a role names."""


def told(statement: str, name: str) -> str | None:
    """Return what the lines ``-- name:`` of a statement tell, or None."""
    lines = re.findall(rf"^-- {name}: (.+)$", statement, re.MULTILINE)
    return " ".join(lines) or None


def expected_counts(case: Case, metric: pf.Metric, options: Mapping[str, Any]) -> Counts:
    """Count in DuckDB what each value of the metric is a value of."""
    variables, database = _variables({"k": _default_k(metric), **options}), case.database
    statement = (QUERIES / f"{path_of(metric)}.sql").read_text(encoding="utf-8")
    for name in views_of(statement):
        case.define_views((QUERIES / f"{path_of(metric)}.sql").with_name(name))
    for name, value in variables.items():
        database.execute(f"SET VARIABLE {name} = ?", [value])
    keys = ["slice", *(f'"{key}"' for key in metric.keys)]
    sql = _statement(case, metric, statement, ", ".join(keys))
    database.execute(sql)
    columns = [column[0] for column in database.description]
    lines = [dict(zip(columns, line, strict=True)) for line in database.fetchall()]
    for name in variables:
        database.execute(f"RESET VARIABLE {name}")
    return _by_key(lines, "slice", "value")


def _statement(case: Case, metric: pf.Metric, statement: str, keys: str) -> str:
    rows = told(statement, "n of") or next(
        t for t in ("rows", "points", "edges") if t in case.tables
    )
    counted = told(statement, "n") or _all_known(case, metric)
    if isinstance(case.roles.get("group"), Mapping):
        # A row stands once per class, with its probability as weight.
        counted = f"({counted}) AND weight > 0"
    each = told(statement, "n each") or "1"
    number = f"coalesce(round(sum({each}) FILTER ({counted})), 0)::BIGINT"
    if "group" in metric.keys or not _compares(metric, statement):
        return f"SELECT {keys}, {number} AS value FROM {rows} GROUP BY {keys}"
    weighed = f"({counted}) AND weight > 0" if metric.family == "fairness" else counted
    part = told(statement, "compared") or f"bool_or({weighed})"
    same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM g.{key}" for key in keys.split(", "))
    return f"""
        WITH counted AS (SELECT * FROM {rows} WHERE "group" IS NOT NULL),
        groups AS (
            SELECT {keys}, "group", {number} AS n, coalesce({part}, false) AS part
            FROM counted GROUP BY {keys}, "group"
        ),
        rests AS (
            SELECT {keys}, own, coalesce({part}, false) AS rest
            FROM (SELECT o.*, g."group" AS own FROM groups AS g
                  JOIN counted AS o ON {same} AND o."group" <> g."group")
            GROUP BY {keys}, own
        )
        SELECT {keys}, coalesce(CASE
            WHEN getvariable('ref_kind') = 'overall' THEN
                CASE WHEN bool_or(part) THEN sum(n) END
            WHEN getvariable('ref_kind') = 'rest' THEN
                CASE WHEN bool_or(part AND coalesce(rest, false)) THEN sum(n) END
            WHEN count(*) FILTER (part) > 1 AND (
                getvariable('ref_kind') IS NULL OR bool_or(part AND "group" = getvariable('ref'))
            ) THEN sum(n) FILTER (part)
        END, 0)::BIGINT AS value
        FROM (SELECT g.*, o.rest FROM groups AS g
              LEFT JOIN rests AS o ON {same} AND o.own = g."group")
        GROUP BY {keys}
    """


def _compares(metric: pf.Metric, statement: str) -> bool:
    """Whether groups are compared, so that those that take part are counted."""
    return told(statement, "compared") != "not" and "ref" in metric.option_names


def _all_known(case: Case, metric: pf.Metric) -> str:
    """Say when a row has all that the metric reads."""
    table = next(iter(case.tables.values()))
    features = ["features"] if "features" in table.columns else ["x", "y"]
    known = KNOWN | {"features": " AND ".join(f"{name} IS NOT NULL" for name in features)}
    return " AND ".join(known[role] for role in metric.roles if role in known) or "true"


def actual_counts(case: Case, metric: pf.Metric, options: Mapping[str, Any]) -> Counts:
    """Ask the package the same."""
    result = pf.evaluate(case.frame, [metric], by=case.by, counts=True, **case.roles, **options)
    result = result.drop(metric.name)
    sliced = result.with_columns(slice=pl.lit(None)) if case.by is None else result
    return _by_key(sliced.to_dicts(), case.by or "slice", f"{metric.name}_n")


def different_counts(ours: Counts, theirs: Counts) -> dict[tuple[Any, ...], tuple[Any, Any]]:
    """List by key where two counts differ; a line that the statement lacks counts nothing."""
    return {key: (n, theirs.get(key, 0)) for key, n in ours.items() if n != theirs.get(key, 0)}
