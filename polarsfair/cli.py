"""The command line: lakes in, tables out.

A thin layer over the Python functions. `polarsfair._cli.parse` makes objects of what is typed,
`polarsfair._cli.show` makes tables of what comes out.
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
    list[str], typer.Argument(metavar="TABLE", help="Tables that `polarsfair tally` stored.")
]
Metrics: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help="Metrics, repeated or with commas: stat_parity, fairness.precision, ratio(accuracy)."
    ),
]
Column: TypeAlias = Annotated[str | None, typer.Option(help="A column or a Polars SQL expression.")]
Group: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="The group column; several (repeated, or with commas) are an intersection."),
]
Pred: TypeAlias = Annotated[
    str | None, typer.Option(help='The decision: a column or an SQL expression, "score > 0.5".')
]
Roles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        help="Any other role: NAME=COLUMN, NAME=SQL, and actual=LAKE, items=LAKE for frames.",
    ),
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help='Slices, repeated or with commas; expressions as "CAST(time AS DATE) AS day".'
    ),
]
Ref: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The reference group: M; sex=M,race=white for an intersection; overall; rest"
        " (a group that is really called so: sex=rest)."
    ),
]
Options: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the metrics: k=10, alpha=1, reduce=max."),
]
Out: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write to FILE.parquet, .csv or .json instead.", metavar="FILE")
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
    asked = parse.metrics(metrics)
    rows = parse.scan(lake)
    named = {"group": group, "pred": pred, "label": label, "score": score, "weight": weight}
    keywords = parse.keywords(rows, named, role, option)
    if ref is not None:
        keywords["ref"] = parse.reference(ref, parse.groups(rows, keywords.get("group")))
    result = pf.evaluate(rows, asked, by=parse.columns(rows, by), **keywords)
    _deliver(result, out, lambda frame: show.values(frame, asked))


@app.command()
def tally(
    lake: Lake,
    tally: Annotated[
        str, typer.Option(help="Which table: `polarsfair metrics NAME` says what a metric reads.")
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
    """Count the rows of a lake into a small table, to be stored and added up later."""
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
    """Read metrics off stored tables, adding them up."""
    _check_destination(out)
    asked = parse.metrics(metrics)
    parts = parse.scan_each(tables)
    keywords = parse.options(option)
    if ref is not None:
        keywords["ref"] = parse.reference(ref, parse.groups(parts[0], "group"))
    result = pf.measure(parts, asked, by=parse.columns(parts[0], by), **keywords)
    _deliver(result, out, lambda frame: show.values(frame, asked))


@app.command("metrics")
def catalogue(
    name: Annotated[
        str | None, typer.Argument(help="Explain this one, or a function: ndcg, fairness.roc.")
    ] = None,
    out: Out = None,
) -> None:
    """List every metric, or explain one."""
    _check_destination(out)
    if name is not None:
        if out is not None:
            msg = f"`--out` is for the whole catalogue: leave out {name!r}"
            raise ValueError(msg)
        show.console().print(show.explanation(parse.member(name)), markup=False)
        return
    _deliver(pf.catalog().lazy(), out, show.catalogue)


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=1000, help="Rows of the sample lake.")] = 1_000_000,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Where to write it: a new or empty directory.")
    ] = None,
) -> None:
    """Make a sample lake of loan decisions and look at its fairness."""
    run_demo(rows, directory)


def _check_destination(out: Path | None) -> None:
    """Refuse what could not be written before any work is done."""
    if out is None:
        return
    if out.suffix not in WRITERS:
        msg = f"`--out {out}`: the suffix says the format, {', '.join(WRITERS)}"
        raise ValueError(msg)
    if not out.parent.is_dir():
        msg = f"`--out {out}`: there is no directory {str(out.parent)!r}"
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
    """Collect with the streaming engine, then print, or write to `out`."""
    if out is not None and out.suffix == ".csv":
        _check_flat(result.collect_schema(), out)
    with show.working("reading"):
        frame = result.collect(engine="streaming")
    if out is None:
        show.put(frame, render)
        return
    # A reader of `out` sees the old file or the new one, never half of one.
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
        msg = f"CSV cannot hold the nested column {nested[0]!r}: write {out.stem}.parquet or .json"
        raise ValueError(msg)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a bad request ends with exit code 2 and one line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A group's name may hold letters that a pipe or an old terminal has no code for.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = app(arguments, standalone_mode=False)
    except (typer.TyperException, ValueError, TypeError, PolarsError, OSError) as error:
        typer.echo(f"polarsfair: {_one_line(error)}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(code or 0)


def _one_line(error: Exception) -> str:
    """Say what is wrong in one line, in our own words where rows raised them."""
    said = str(error)
    if isinstance(error, typer.TyperException):
        said = flags.unknown_flag(error.format_message())
    lines = (fault_message(error) or said).strip().splitlines()
    return flags.as_flags(lines[0]) if lines else type(error).__name__
