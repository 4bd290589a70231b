"""The command line, a thin layer over the Python functions.

`polarsfair._cli.parse` turns what was typed into objects, `polarsfair._cli.show` turns results into
tables, and `polarsfair._cli.flags` turns the Python code in error messages into flags.
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import polars as pl
import typer
from polars.exceptions import PolarsError
from rich.console import RenderableType

import polarsfair as pf
from polarsfair._cli import flags, parse, show
from polarsfair._cli.demo import run_demo
from polarsfair._engine.frames import fault_message

app = typer.Typer(
    help="Fairness, ranking and clustering metrics over Parquet lakes.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

Lake: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="LAKE",
        help="Parquet files, globs, directories with hive partitions, or object-store URLs.",
    ),
]
Tables: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="TABLE", help="Tables that `polarsfair tally` has written.")
]
Metrics: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help="Metrics, separated by commas or repeated: stat_parity, fairness.f1, ratio(accuracy)."
    ),
]
Column: TypeAlias = Annotated[str | None, typer.Option(help="A column or a Polars SQL expression.")]
Group: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="The group column; several, separated by commas, form an intersection."),
]
Pred: TypeAlias = Annotated[
    str | None,
    typer.Option(help='The decision: a column or an SQL expression such as "score > 0.5".'),
]
Roles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="Any other role: NAME=COLUMN or NAME=SQL; for frames actual=LAKE, items=LAKE.",
    ),
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help='Slices, separated by commas or repeated; SQL as "CAST(time AS DATE) AS day".'
    ),
]
Ref: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The reference group: M; sex=M,race=white for an intersection; overall; rest"
        " (a group whose name is literally that: sex=rest)."
    ),
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the metrics: k=10, alpha=1, reduce=max."),
]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Write the result to FILE.parquet, .csv or .json.", metavar="FILE"),
]

EXAMPLES = (
    "Examples",
    'polarsfair evaluate lake --metrics stat_parity --group sex --pred "score > 0.5" --ref M',
    (
        "polarsfair evaluate recs.parquet --metrics ndcg,map --role actual=clicks.parquet"
        " --role user=user --role item=item --score score --option k=5,10"
    ),
    "polarsfair evaluate points.parquet --metrics silhouette --role cluster=c --role features=x,y",
)

WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": pl.DataFrame.write_csv,
    ".json": pl.DataFrame.write_json,
}


@app.callback(invoke_without_command=True)
def _about(
    context: typer.Context,
    *,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show_version:
        typer.echo(f"polarsfair {pf.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(epilog="\n\n".join(EXAMPLES))
def evaluate(
    lake: Lake,
    metrics: Metrics,
    group: Group = None,
    pred: Pred = None,
    label: Column = None,
    score: Column = None,
    weight: Column = None,
    role: Roles = None,
    by: By = None,
    ref: Ref = None,
    option: Options = None,
    out: Out = None,
) -> None:
    """Evaluate metrics over the rows of a lake, in one scan."""
    _check_destination(out)
    requested = parse.metrics(metrics)
    rows = parse.scan(lake)
    named = {"group": group, "pred": pred, "label": label, "score": score, "weight": weight}
    keywords = parse.keywords(rows, named, role, option)
    if ref is not None:
        keywords["ref"] = parse.reference(ref, parse.groups(rows, keywords.get("group")))
    result = pf.evaluate(rows, requested, by=parse.columns(rows, by), **keywords)
    _deliver(result, out, lambda frame: show.values(frame, requested))


@app.command()
def tally(
    lake: Lake,
    tally: Annotated[
        str,
        typer.Option(
            help="The kind of table; `polarsfair metrics NAME` shows which one a metric reads."
        ),
    ] = "fairness.decisions",
    group: Group = None,
    pred: Pred = None,
    label: Column = None,
    score: Column = None,
    weight: Column = None,
    role: Roles = None,
    by: By = None,
    option: Options = None,
    out: Out = None,
) -> None:
    """Count the rows of a lake into a small table that can be stored and merged."""
    _check_destination(out)
    counted = parse.tally(tally)
    rows = parse.scan(lake)
    named = {"group": group, "pred": pred, "label": label, "score": score, "weight": weight}
    keywords = parse.keywords(rows, named, role, option)
    table = counted(rows, by=parse.columns(rows, by), **keywords)
    _deliver(table.sort(parse.keys(table, counted)), out, show.frame)


@app.command()
def measure(
    tables: Tables,
    metrics: Metrics,
    by: By = None,
    ref: Ref = None,
    option: Options = None,
    out: Out = None,
) -> None:
    """Compute metrics from stored tables, merging them first."""
    _check_destination(out)
    requested = parse.metrics(metrics)
    parts = parse.scan_each(tables)
    keywords = parse.options(option)
    if ref is not None:
        keywords["ref"] = parse.reference(ref, parse.groups(parts[0], "group"))
    result = pf.measure(parts, requested, by=parse.columns(parts[0], by), **keywords)
    _deliver(result, out, lambda frame: show.values(frame, requested))


@app.command("metrics")
def catalogue(
    name: Annotated[
        str | None, typer.Argument(help="A metric or a function to explain: ndcg, fairness.roc.")
    ] = None,
    out: Out = None,
) -> None:
    """List all metrics, or explain one."""
    _check_destination(out)
    if name is not None:
        if out is not None:
            msg = f"`--out` writes the whole catalogue: leave out {name!r}"
            raise ValueError(msg)
        show.console().print(show.explanation(parse.member(name)), markup=False)
        return
    _deliver(pf.catalog().lazy(), out, show.catalogue)


@app.command()
def demo(
    rows: Annotated[
        int, typer.Option(min=1000, help="Number of rows of the sample lake.")
    ] = 1_000_000,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where to write the lake: a new or empty directory."),
    ] = None,
) -> None:
    """Write a sample lake of loan decisions and show how fair they are."""
    run_demo(rows, directory)


def _check_destination(out: Path | None) -> None:
    """Raise before any work is done if `out` cannot be written."""
    if out is None:
        return
    if out.suffix not in WRITERS:
        msg = f"`--out {out}`: the file extension sets the format; use one of {', '.join(WRITERS)}"
        raise ValueError(msg)
    if not out.parent.is_dir():
        msg = f"`--out {out}`: the directory {str(out.parent)!r} does not exist"
        raise FileNotFoundError(msg)
    if not os.access(out.parent, os.W_OK):
        msg = f"`--out {out}`: no permission to write in {str(out.parent)!r}"
        raise PermissionError(msg)
    if out.is_dir():
        msg = f"`--out {out}` is a directory: name a file, such as {out / ('values' + out.suffix)}"
        raise IsADirectoryError(msg)


def _deliver(
    result: pl.LazyFrame, out: Path | None, render: Callable[[pl.DataFrame], RenderableType]
) -> None:
    """Collect on the streaming engine, then print the result or write it to `out`."""
    if out is not None and out.suffix == ".csv":
        _check_flat(result.collect_schema(), out)
    with show.working("reading"):
        frame = result.collect(engine="streaming")
    if out is None:
        show.put(frame, render)
        return
    # Whoever reads `out` sees the old file or the new one, never an incomplete one.
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        WRITERS[out.suffix](frame, unfinished)
        unfinished.replace(out)
    except OSError as error:
        msg = f"`--out {out}` cannot be written: {str(error).partition(': ')[0]}"
        raise OSError(msg) from None
    finally:
        unfinished.unlink(missing_ok=True)


def _check_flat(schema: pl.Schema, out: Path) -> None:
    nested = [name for name, dtype in schema.items() if dtype.is_nested()]
    if nested:
        msg = (
            f"CSV cannot store the nested column {nested[0]!r}: write {out.stem}.parquet or"
            f" {out.stem}.json"
        )
        raise ValueError(msg)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Invalid input exits with code 2 and a one-line message."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A pipe or an old terminal may not be able to encode every letter of a group's name.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = app(arguments, standalone_mode=False)
    except (typer.TyperException, ValueError, TypeError, PolarsError, OSError) as error:
        typer.echo(f"polarsfair: {_one_line(error)}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(code or 0)


def _one_line(error: Exception) -> str:
    """Return the message of an error in one line, with flags instead of Python."""
    message = str(error)
    if isinstance(error, typer.TyperException):
        message = flags.unknown_flag(error.format_message())
    lines = (fault_message(error) or message).strip().splitlines()
    return flags.as_flags(lines[0]) if lines else type(error).__name__
