"""Results as tables on the terminal."""

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
"""Metrics that stand side by side; more of them are listed one below the other."""

LONGEST = 200
"""Lines that a terminal is given."""

UNLIMITED = 10_000

ROOMY = 160
"""Columns of a terminal that can show all of the catalogue."""


def console() -> Console:
    """Open standard output; what goes to a file or pipe is not cut to a terminal's width."""
    opened = Console(highlight=False)
    return opened if opened.is_terminal else Console(highlight=False, width=UNLIMITED)


def put(rows: pl.DataFrame, show: Callable[[pl.DataFrame], RenderableType]) -> None:
    """Print a frame; a terminal is given its first lines only."""
    screen = console()
    cut = screen.is_terminal and rows.height > LONGEST
    screen.print(show(rows.head(LONGEST) if cut else rows))
    if cut:
        screen.print(f"... and {rows.height - LONGEST:,} more lines: --out FILE keeps them all")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner and the time on standard error while work goes on, on a terminal only."""
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
    """Write a number with four decimals, a large one with separators."""
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:,.4f}" if abs(value) < 1e6 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def cell(value: Any) -> Text:
    """Write any value of a frame."""
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, dict):
        return Text(", ".join(f"{name}={part}" for name, part in value.items()))
    return Text(number(value)) if isinstance(value, (int, float)) else Text(str(value))


def optional(value: Any) -> Text:
    """Write a value where there is one, and leave the place empty where there is none."""
    return Text("") if value is None else cell(value)


def within(metric: pf.Metric, value: float | None) -> bool | None:
    """Say whether a value lies in the metric's fair band; None where that cannot be said."""
    if metric.fair is None or value is None or math.isnan(value):
        return None
    low, high = metric.fair
    return low <= value <= high


def verdict(metric: pf.Metric, value: float | None) -> Text:
    """Name the verdict, coloured."""
    if value is None:
        return Text("undefined", style="dim")
    words = {None: Text(""), True: Text("within", "green"), False: Text("outside", "bold red")}
    return words[within(metric, value)]


def band(metric: pf.Metric) -> str:
    """Write the fair band."""
    return "" if metric.fair is None else f"{metric.fair[0]:g} to {metric.fair[1]:g}"


def valued(metric: pf.Metric, value: float | None) -> Text:
    """Write a value in the colour of its verdict."""
    styles = {None: "", True: "green", False: "bold red"}
    return Text(number(value), styles[within(metric, value)]) if value is not None else cell(None)


def table(title: str | None = None) -> Table:
    """Start a table in the house style."""
    return Table(title=title, title_justify="left", title_style="bold", header_style="bold")


def frame(rows: pl.DataFrame, title: str | None = None) -> Table:
    """Show any frame as it is."""
    shown = table(title)
    for name, dtype in rows.schema.items():
        shown.add_column(name, justify="right" if dtype.is_numeric() else "left")
    for line in rows.rows():
        shown.add_row(*map(cell, line))
    return shown


def values(rows: pl.DataFrame, metrics: Sequence[pf.Metric], title: str | None = None) -> Table:
    """Show values: side by side if they are few and sliced, else one below the other."""
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
    """Show the catalogue: what each metric is, and where there is room what it needs."""
    room = console().width >= ROOMY
    details = ("roles", "options", "fair band") if room else ()
    shown = table()
    shown.caption = "`polarsfair metrics NAME` explains one"
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
    """Return the docstring of a member of a family, and before it the needs of a metric."""
    doc = inspect.getdoc(member) or ""
    if not isinstance(member, pf.Metric):
        return doc
    more = [role for role in member.tally.roles if role not in member.roles]
    listed = {"roles": member.roles, "also": more, "options": member.option_names}
    facts = [f"{what} {', '.join(names)}" for what, names in listed.items() if names]
    head = f"{full_name(member)}: {'; '.join([*facts, f'table {member.tally.name}'])}"
    return f"{head}\n\n{doc}"
