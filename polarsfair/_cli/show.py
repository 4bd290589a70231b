"""Printing results: tables with lines and colours on a terminal, plain text elsewhere.

Plain text is a header and a line per row. Columns are padded to one width and separated by two
spaces; numbers are written as on the terminal. It takes a second for 200,000 rows. Names come from
data, and a terminal obeys control characters: both kinds of output show them as escapes.
"""

from __future__ import annotations

import errno
import inspect
import math
import os
import sys
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import polarsfair as pf
from polarsfair._aliases import also_known_as
from polarsfair._cli.files import reason

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import polars as pl

WIDEST = 6
"""The most metrics that are shown in columns; more metrics are shown in rows."""

LONGEST = 200
"""The most rows that are printed to a terminal."""

UNLIMITED = 10_000
"""The width of output to a file or pipe."""

ROOMY = 160
"""The width of a terminal, in characters, from which the catalogue shows all columns."""

GAP = "  "
"""What separates the columns of plain text."""


UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that move, hide or reorder text instead of showing something."""

JOINERS = "\u200c\u200d"
"""Characters of these categories that Persian, Hindi and emoji are written with."""

SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


class Styled(NamedTuple):
    """A cell in a colour."""

    text: str
    style: str


@dataclass
class Column:
    """A column of a sheet. Numbers stand on the right."""

    name: str
    cells: Sequence[str | Styled]
    right: bool = False
    whole: bool = False
    """Whether its words are never broken into lines."""


@dataclass
class Sheet:
    """A table that can be printed with lines or as plain text. Its text is escaped."""

    columns: list[Column]
    title: str | None = None
    caption: str | None = None

    def drawn(self) -> Table:
        """Return the table with lines and colours."""
        drawn = table(self.title)
        drawn.caption = self.caption
        for column in self.columns:
            drawn.add_column(
                Text(escaped(column.name)),
                justify="right" if column.right else "left",
                no_wrap=column.whole,
            )
        for line in zip(*(column.cells for column in self.columns), strict=True):
            drawn.add_row(*map(_rich, line))
        return drawn

    def plain(self) -> str:
        """Return the table as plain text."""
        padded = [_padded(column) for column in self.columns]
        lines = [GAP.join(line).rstrip() for line in zip(*padded, strict=True)]
        head = [escaped(self.title)] if self.title else []
        return "\n".join([*head, *lines, *([self.caption] if self.caption else [])]) + "\n"


def _rich(cell: str | Styled) -> Text:
    return Text(cell) if isinstance(cell, str) else Text(cell.text, cell.style)


def _padded(column: Column) -> list[str]:
    """Return the name and the cells of a column, all of the same width."""
    texts = [cell if isinstance(cell, str) else cell.text for cell in column.cells]
    texts.insert(0, escaped(column.name))
    width = max(map(len, texts))
    pad = str.rjust if column.right else str.ljust
    return [pad(text, width) for text in texts]


def escaped(text: str) -> str:
    r"""Return `text` with every control character written as an escape, such as ``\x1b``.

    That includes line breaks, the second control block (C1), marks that change the direction of
    writing, and halves of surrogate pairs, which cannot be encoded.

    Examples
    --------
    >>> print(escaped("red \x1b[31m, \u202etxt.exe, two\nlines"))
    red \x1b[31m, \u202etxt.exe, two\nlines
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if unicodedata.category(character) not in UNSEEN or character in JOINERS:
        return character
    code = ord(character)
    wide = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else wide)


class _Screen(Console):
    """Standard output. If nobody reads it any more, that is an error, which callers can catch."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console() -> Console:
    """Open standard output. Output to a file or pipe is not cut to the width of a terminal."""
    opened = _Screen(highlight=False)
    return opened if opened.is_terminal else _Screen(highlight=False, width=UNLIMITED)


def put(rows: pl.DataFrame, show: Callable[[pl.DataFrame], Sheet]) -> None:
    """Print a frame; to a terminal only its first rows."""
    screen = console()
    if not screen.is_terminal:
        say(show(rows).plain())
        return
    screen.print(show(rows.head(LONGEST)).drawn())
    if rows.height > LONGEST:
        screen.print(f"... and {rows.height - LONGEST:,} more rows: --out FILE writes all of them")


def say(text: str) -> None:
    """Write text to standard output as it is."""
    stream: Any = sys.stdout
    if stream is None:
        # The shell closed it.
        msg = "standard output is closed: open it, or name a file with `--out FILE`"
        raise OSError(msg)
    with writing():
        stream.write(text)
        stream.flush()


@contextmanager
def writing() -> Iterator[None]:
    """Word the error of an output that cannot be written. A reader who left is not one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        msg = f"standard output cannot be written: {reason(error)}"
        raise type(error)(msg) from None


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


NULL = Styled("null", "dim")


def cell(value: Any) -> str | Styled:
    """Format any value of a frame."""
    if value is None:
        return NULL
    if isinstance(value, dict):
        return escaped(", ".join(f"{name}={part}" for name, part in value.items()))
    return number(value) if isinstance(value, (int, float)) else escaped(str(value))


def within(metric: pf.Metric, value: float | None) -> bool | None:
    """Return whether a value is in the metric's fair band, or None if the value or band is null."""
    if metric.fair is None or value is None or math.isnan(value):
        return None
    low, high = metric.fair
    return low <= value <= high


def verdict(metric: pf.Metric, value: float | None) -> str | Styled:
    """Format the verdict on a value, in its colour."""
    if value is None:
        return Styled("undefined", "dim")
    fair = within(metric, value)
    if fair is None:
        return ""
    return Styled("within", "green") if fair else Styled("outside", "bold red")


def band(metric: pf.Metric) -> str:
    """Format the fair band."""
    return "" if metric.fair is None else f"{metric.fair[0]:g} to {metric.fair[1]:g}"


def valued(metric: pf.Metric, value: float | None) -> str | Styled:
    """Format a value in the colour of its verdict."""
    styles = {None: "", True: "green", False: "bold red"}
    return NULL if value is None else Styled(number(value), styles[within(metric, value)])


def table(title: str | None = None) -> Table:
    """Build an empty table in the common style."""
    return Table(title=title, title_justify="left", title_style="bold", header_style="bold")


def frame(rows: pl.DataFrame, title: str | None = None) -> Sheet:
    """Build a table of any frame."""
    columns = [_cells(column, right=column.dtype.is_numeric()) for column in rows]
    return Sheet(columns, title)


def _cells(column: pl.Series, *, right: bool = False) -> Column:
    return Column(column.name, list(map(cell, column.to_list())), right=right)


def values(
    rows: pl.DataFrame,
    metrics: Sequence[pf.Metric],
    title: str | None = None,
    *,
    judged: Collection[pf.Metric] | None = None,
    caption: str | None = None,
) -> Sheet:
    """Build a table of values: in columns if they are few and sliced, else in rows.

    Values of `judged` metrics, by default of all, are shown with a verdict.
    """
    shown = metrics if judged is None else [m if m in judged else unjudged(m) for m in metrics]
    return _values_of(rows, shown, title, caption)


def unjudged(metric: pf.Metric) -> pf.Metric:
    """Return a metric without a fair band."""
    return replace(metric, fair=None)


def _values_of(
    rows: pl.DataFrame, metrics: Sequence[pf.Metric], title: str | None, caption: str | None
) -> Sheet:
    keys = [name for name in rows.columns if name not in {m.name for m in metrics}]
    slices = [_cells(rows[name]) for name in keys]
    if keys and len(metrics) <= WIDEST:
        return Sheet([*slices, *(_values(rows, metric) for metric in metrics)], title, caption)
    several = [Column(c.name, [x for x in c.cells for _ in metrics]) for c in slices]
    return Sheet([*several, *_judged(rows, metrics)], title, caption)


def _values(rows: pl.DataFrame, metric: pf.Metric) -> Column:
    found = [valued(metric, value) for value in rows[metric.name].to_list()]
    return Column(metric.name, found, right=True)


def _judged(rows: pl.DataFrame, metrics: Sequence[pf.Metric]) -> list[Column]:
    """Build the columns that say what to think of a value, with a row per slice and metric."""
    columns = [rows[metric.name].to_list() for metric in metrics]
    lines = [
        pair for line in zip(*columns, strict=True) for pair in zip(metrics, line, strict=True)
    ]
    ideals = {metric: "" if metric.ideal is None else f"{metric.ideal:g}" for metric in metrics}
    return [
        Column("metric", [metric.name for metric, _ in lines]),
        Column("value", [valued(*line) for line in lines], right=True),
        Column("ideal", [ideals[metric] for metric, _ in lines], right=True),
        Column("fair band", [band(metric) for metric, _ in lines], right=True),
        Column("verdict", [verdict(*line) for line in lines]),
    ]


def catalogue(rows: pl.DataFrame) -> Sheet:
    """Build a table of the catalogue; on a wide terminal it shows what each metric needs."""
    lines = rows.rows(named=True)
    columns = {
        "metric": [line["metric"] for line in lines],
        "ideal": ["" if line["ideal"] is None else f"{line['ideal']:g}" for line in lines],
        "roles": [", ".join(line["roles"] or ()) for line in lines],
        "options": [", ".join(line["options"] or ()) for line in lines],
        "fair band": [_band(line) for line in lines],
        "summary": [line["summary"] for line in lines],
    }
    details = () if console().width >= ROOMY else ("ideal", "roles", "options", "fair band")
    return Sheet(
        [
            Column(name, cells, whole=name == "metric")
            for name, cells in columns.items()
            if name not in details
        ],
        caption="`polarsfair metrics NAME` explains a metric",
    )


def _band(line: Mapping[str, Any]) -> str:
    low, high = line["fair_low"], line["fair_high"]
    return "" if low is None else f"{low:g} to {high:g}"


def explain(member: object, first: str = "") -> None:
    """Print the explanation of a member of a family, after what is said `first`."""
    screen = console()
    text = first + explanation(member)
    if screen.is_terminal:
        screen.print(text, markup=False)
    else:
        say(f"{text}\n")


def explanation(member: object) -> str:
    """Return the docstring of a member of a family; for a metric, its roles and options first."""
    doc = inspect.getdoc(member) or ""
    if not isinstance(member, pf.Metric):
        return doc
    more = [role for role in member.tally.roles if role not in member.roles]
    listed = {"roles": member.roles, "also": more, "options": member.option_names}
    facts = [f"{what} {', '.join(names)}" for what, names in listed.items() if names]
    name = f"{member.family}.{member.name}"
    other = also_known_as(name)
    facts += [f"table {member.tally.name}", *([f"elsewhere {', '.join(other)}"] if other else [])]
    return f"{name}: {'; '.join(facts)}\n\n{doc}"
