"""Every metric, as a list and as a frame. Metrics are found in the families, not registered."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import polars as pl

from polarsfair import _aliases
from polarsfair._engine.metric import Metric
from polarsfair._typing import FAMILIES

_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "metric": pl.String,
    "family": pl.String,
    "name": pl.String,
    "tally": pl.String,
    "roles": pl.List(pl.String),
    "options": pl.List(pl.String),
    "ideal": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "better": pl.String,
    "fair_low": pl.Float64,
    "fair_high": pl.Float64,
    "kind": pl.String,
    "reference": pl.String,
    "summary": pl.String,
    "also_known_as": pl.List(pl.String),
}


def family_members(family: str) -> dict[str, Metric]:
    """Return the metrics of one family by name."""
    module = importlib.import_module(f"polarsfair.{family}")
    return {
        name: value
        for name, value in sorted(vars(module).items())
        if isinstance(value, Metric) and not name.startswith("_")
    }


def metrics() -> list[Metric]:
    """Return every metric of every family.

    Examples
    --------
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> fairness.stat_parity in pf.metrics()
    True
    """
    return [metric for family in FAMILIES for metric in family_members(family).values()]


def catalog() -> pl.DataFrame:
    """Return the catalogue: one row per metric, with roles, options, bounds and other names.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> pf.catalog().filter(pl.col("name") == "four_fifths").select("metric", "ideal", "better")
    shape: (1, 3)
    ┌──────────────────────┬───────┬────────┐
    │ metric               ┆ ideal ┆ better │
    │ ---                  ┆ ---   ┆ ---    │
    │ str                  ┆ f64   ┆ str    │
    ╞══════════════════════╪═══════╪════════╡
    │ fairness.four_fifths ┆ 1.0   ┆ higher │
    └──────────────────────┴───────┴────────┘
    """
    rows = [
        _row(family, metric) for family in FAMILIES for metric in family_members(family).values()
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _row(family: str, metric: Metric) -> dict[str, Any]:
    low, high = metric.fair if metric.fair is not None else (None, None)
    doc = inspect.cleandoc(metric.__doc__ or "")
    return {
        "metric": f"{family}.{metric.name}",
        "family": family,
        "name": metric.name,
        "tally": metric.tally.name,
        "roles": list(metric.roles),
        "options": [name for name in metric.option_names if name not in metric.options],
        "ideal": metric.ideal,
        "lower": metric.bounds[0],
        "upper": metric.bounds[1],
        "better": metric.better,
        "fair_low": low,
        "fair_high": high,
        "kind": metric.kind,
        "reference": _section(doc, "References"),
        "summary": doc.partition("\n\n")[0].replace("\n", " "),
        "also_known_as": list(_aliases.also_known_as(f"{family}.{metric.name}")),
    }


def _section(doc: str, title: str) -> str | None:
    """Return the text of one section of a docstring on one line."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n[^\n]+\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    return " ".join(found.group(1).split()) if found else None
