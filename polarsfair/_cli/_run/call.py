"""Opening the lakes of a call, collecting its result, and printing or writing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from polars.exceptions import PanicException, PolarsError

from polarsfair._cli import lakes, output, show
from polarsfair._engine.frames import fault_message
from polarsfair._typing import FRAME_ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from polarsfair._cli.lakes import Lake


def sources(lake: Sequence[str], texts: Mapping[str, list[str]]) -> list[str]:
    """List every source of a request, as typed: the lake and the frames of roles."""
    return [*lake, *(source for name in FRAME_ROLES for source in texts.get(name, []))]


def opened(
    lake: Sequence[str], texts: Mapping[str, list[str]], out: Path | None
) -> dict[str, Lake]:
    """Open the lake, called "rows", and the frames of roles."""
    asked = {"rows": lake, **{name: texts[name] for name in FRAME_ROLES if name in texts}}
    found = dict(zip(asked, lakes.open_lakes(asked.values()), strict=True))
    output.check_inputs(out, [path for one in found.values() for path in one.files])
    return found


def frames(found: Mapping[str, Lake]) -> dict[str, pl.LazyFrame]:
    """Return the frames of roles."""
    return {name: lake.rows for name, lake in found.items() if name != "rows"}


def collect(result: pl.LazyFrame, opened: Iterable[Lake], out: Path | None) -> pl.DataFrame:
    """Collect on the streaming engine. If a file stops the query, the error names it."""
    if out is not None:
        output.check_storable(result.collect_schema(), out)
    opened = list(opened)
    try:
        with show.working("reading"):
            found = result.collect(engine="streaming")
    except (PolarsError, PanicException) as error:
        lakes.check_unchanged(opened)
        if fault_message(error):
            raise
        blamed = lakes.blamed(opened, error)
        if blamed is None and isinstance(error, PanicException):
            raise
        raise ValueError(blamed or f"this request cannot be computed: {_reason(error)}") from None
    lakes.check_unchanged(opened)
    return found


def _reason(error: BaseException) -> str:
    """Return what Polars says of an expression, without its query plan."""
    first, *more = str(error).splitlines() or [type(error).__name__]
    # A pattern that is not one is shown over several lines; what is wrong with it comes last.
    wrong = next((line for line in more if line.startswith("error: ")), "").removeprefix("error")
    return first.rstrip(":") + wrong


def deliver(
    frame: pl.DataFrame,
    out: Path | None,
    render: Callable[[pl.DataFrame], show.Sheet],
    metadata: Mapping[str, str] | None = None,
    *,
    overwrite: bool,
) -> None:
    """Print the result or write it to `out`."""
    if out is None:
        show.put(frame, render)
        return
    output.check_storable(frame.schema, out)
    carried = metadata if out.suffix == ".parquet" else None
    output.write(frame, out, carried, overwrite=overwrite)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    typer.echo(f"polarsfair: warning: {show.escaped(message)}", err=True)
