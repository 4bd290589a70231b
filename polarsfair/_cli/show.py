"""Printing results as tables on the terminal."""

from __future__ import annotations

import inspect
import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import polarsfair as pf
from polarsfair._cli.parse import full_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl
    from rich.console import RenderableType

WIDEST = 6
"""The most metrics that are shown in columns; more metrics are shown in rows."""

LONGEST = 200
"""The most rows that are printed to a terminal."""

UNLIMITED = 10_000
"""The width of output to a file or pipe."""

ROOMY = 160
"""The width of a terminal, in characters, from which the catalogue shows all columns."""


def console() -> Console:
    """Open standard output. Output to a file or pipe is not cut to the width of a terminal."""
    opened = Console(highlight=False)
    return opened if opened.is_terminal else Console(highlight=False, width=UNLIMITED)


def put(rows: pl.DataFrame, show: Callable[[pl.DataFrame], RenderableType]) -> None:
    """Print a frame; to a terminal only its first rows."""
    screen = console()
    cut = screen.is_terminal and rows.height > LONGEST
    screen.print(show(rows.head(LONGEST) if cut else rows))
    if cut:
        screen.print(f"... and {rows.height - LONGEST:,} more rows: --out FILE writes all of them")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner and the elapsed time on standard error, if that is a terminal."""
    screen = Console(stderr=True)
    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    with shown:
        shown.add_task(what, total=None)
        yield


def number(value: Any) -> str:
    """Format a number with four decimals, and a large one with separators."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:,.4f}" if abs(value) < 1e6 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def cell(value: Any) -> Text:
    """Format any value of a frame."""
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, dict):
        return Text(", ".join(f"{name}={part}" for name, part in value.items()))
    return Text(number(value)) if isinstance(value, (int, float)) else Text(str(value))


def optional(value: Any) -> Text:
    """Format a value; a null is left empty."""
    return Text("") if value is None else cell(value)


def within(metric: pf.Metric, value: float | None) -> bool | None:
    """Return whether a value is in the metric's fair band, or None if the value or band is null."""
    if metric.fair is None or value is None or math.isnan(value):
        return None
    low, high = metric.fair
    return low <= value <= high


def verdict(metric: pf.Metric, value: float | None) -> Text:
    """Format the verdict on a value, in its colour."""
    if value is None:
        return Text("undefined", style="dim")
    words = {None: Text(""), True: Text("within", "green"), False: Text("outside", "bold red")}
    return words[within(metric, value)]


def band(metric: pf.Metric) -> str:
    """Format the fair band."""
    return "" if metric.fair is None else f"{metric.fair[0]:g} to {metric.fair[1]:g}"


def valued(metric: pf.Metric, value: float | None) -> Text:
    """Format a value in the colour of its verdict."""
    styles = {None: "", True: "green", False: "bold red"}
    return Text(number(value), styles[within(metric, value)]) if value is not None else cell(None)


def table(title: str | None = None) -> Table:
    """Build an empty table in the common style."""
    return Table(title=title, title_justify="left", title_style="bold", header_style="bold")


def frame(rows: pl.DataFrame, title: str | None = None) -> Table:
    """Build a table of any frame."""
    shown = table(title)
    for name, dtype in rows.schema.items():
        shown.add_column(name, justify="right" if dtype.is_numeric() else "left")
    for line in rows.rows():
        shown.add_row(*map(cell, line))
    return shown


def values(rows: pl.DataFrame, metrics: Sequence[pf.Metric], title: str | None = None) -> Table:
    """Build a table of values: in columns if they are few and sliced, else in rows."""
    keys = [name for name in rows.columns if name not in {m.name for m in metrics}]
    if keys and len(metrics) <= WIDEST:
        return _side_by_side(rows, metrics, keys, title)
    shown = table(title)
    for name in keys:
        shown.add_column(name)
    shown.add_column("metric")
    for name in ("value", "ideal", "fair band"):
        shown.add_column(name, justify="right")
    shown.add_column("verdict")
    for line in rows.rows(named=True):
        for metric in metrics:
            shown.add_row(*(cell(line[name]) for name in keys), *_judged(metric, line))
    return shown


def _judged(metric: pf.Metric, line: Mapping[str, Any]) -> list[Text | str]:
    value = line[metric.name]
    ideal = "" if metric.ideal is None else f"{metric.ideal:g}"
    judged = verdict(metric, value)
    return [metric.name, valued(metric, value), ideal, band(metric), judged]


def _side_by_side(
    rows: pl.DataFrame, metrics: Sequence[pf.Metric], keys: Sequence[str], title: str | None
) -> Table:
    shown = table(title)
    for name in keys:
        shown.add_column(name)
    for metric in metrics:
        shown.add_column(metric.name, justify="right")
    for line in rows.rows(named=True):
        judged = (valued(metric, line[metric.name]) for metric in metrics)
        shown.add_row(*(cell(line[name]) for name in keys), *judged)
    return shown


def catalogue(rows: pl.DataFrame) -> Table:
    """Build a table of the catalogue; on a wide terminal it shows what each metric needs."""
    room = console().width >= ROOMY
    details = ("roles", "options", "fair band") if room else ()
    shown = table()
    shown.caption = "`polarsfair metrics NAME` explains a metric"
    for name in ("metric", "ideal", *details, "summary"):
        shown.add_column(name, no_wrap=name == "metric")
    for line in rows.rows(named=True):
        ideal = "" if line["ideal"] is None else f"{line['ideal']:g}"
        needs = (", ".join(line["roles"]), ", ".join(line["options"]), _band(line))
        summary = Text(line["summary"])
        shown.add_row(line["metric"], ideal, *(needs if room else ()), summary)
    return shown


def _band(line: Mapping[str, Any]) -> str:
    low, high = line["fair_low"], line["fair_high"]
    return "" if low is None else f"{low:g} to {high:g}"


def explanation(member: object) -> str:
    """Return the docstring of a member of a family; for a metric, its roles and options first."""
    doc = inspect.getdoc(member) or ""
    if not isinstance(member, pf.Metric):
        return doc
    more = [role for role in member.tally.roles if role not in member.roles]
    listed = {"roles": member.roles, "also": more, "options": member.option_names}
    facts = [f"{what} {', '.join(names)}" for what, names in listed.items() if names]
    head = f"{full_name(member)}: {'; '.join([*facts, f'table {member.tally.name}'])}"
    return f"{head}\n\n{doc}"
