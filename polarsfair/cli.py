"""The command line, a thin layer over the Python functions.

`polarsfair._cli.parse` turns what was typed into objects, `polarsfair._cli.lakes` opens files,
`polarsfair._cli.output` writes them, `polarsfair._cli.show` turns results into tables, and
`polarsfair._cli.flags` turns the Python code in error messages into flags.
"""

import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
import typer
from polars.exceptions import PanicException, PolarsError

import polarsfair as pf
from polarsfair._cli import flags, lakes, output, parse, show, stored
from polarsfair._cli.demo import run_demo
from polarsfair._cli.lakes import Lake as Opened
from polarsfair._engine.frames import fault_message
from polarsfair._typing import FRAME_ROLES

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
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file of --out if it exists.")
]

LAST_STREAM = 2
"""The number of standard error; standard input and output come before."""

EXAMPLES = (
    "Examples",
    'polarsfair evaluate lake --metrics stat_parity --group sex --pred "score > 0.5" --ref M',
    (
        "polarsfair evaluate recs.parquet --metrics ndcg,map --role actual=clicks.parquet"
        " --role user=user --role item=item --score score --option k=5,10"
    ),
    "polarsfair evaluate points.parquet --metrics silhouette --role cluster=c --role features=x,y",
)


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
    *,
    overwrite: Overwrite = False,
) -> None:
    """Evaluate metrics over the rows of a lake, in one scan."""
    named = {"group": group, "pred": pred, "label": label, "score": score, "weight": weight}
    texts = parse.role_texts(named, role)
    _check_destination(out, _sources(lake, texts), overwrite=overwrite)
    requested = parse.metrics(metrics)
    opened = _open(lake, texts, out)
    rows = opened["rows"].rows
    given = parse.keywords(rows, texts, _frames(opened), option)
    keywords = parse.with_reference(given, ref, rows, given.get("group"))
    result = pf.evaluate(rows, requested, by=parse.columns(rows, by), **keywords)
    frame = _collect(result, opened.values(), out)
    _deliver(frame, out, lambda rows: show.values(rows, requested), overwrite=overwrite)


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
    *,
    overwrite: Overwrite = False,
) -> None:
    """Count the rows of a lake into a small table that can be stored and merged."""
    named = {"group": group, "pred": pred, "label": label, "score": score, "weight": weight}
    texts = parse.role_texts(named, role)
    _check_destination(out, _sources(lake, texts), overwrite=overwrite)
    counted = parse.tally(tally)
    opened = _open(lake, texts, out)
    rows = opened["rows"].rows
    keywords = parse.keywords(rows, texts, _frames(opened), option)
    typed, slices = parse.as_typed(rows, {**texts, "by": by or []})
    record = stored.record(counted.name, typed, parse.options(option), slices, opened)
    table = counted(rows, by=parse.columns(rows, by), **keywords)
    frame = _collect(table.sort(parse.keys(table, counted)), opened.values(), out)
    stored.check_unchanged(record, opened)
    if out is not None and out.suffix != ".parquet":
        _warn(
            f"`--out {out}` cannot carry a record of the request, and `polarsfair measure` reads"
            f" only Parquet: write `--out {out.with_suffix('.parquet')}` to measure it later"
        )
    _deliver(frame, out, show.frame, stored.as_metadata(record), overwrite=overwrite)


@app.command()
def measure(
    tables: Tables,
    metrics: Metrics,
    by: By = None,
    ref: Ref = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
) -> None:
    """Compute metrics from stored tables, merging them first."""
    _check_destination(out, tables, overwrite=overwrite)
    requested = parse.metrics(metrics)
    opened = lakes.open_each(tables)
    output.check_inputs(out, [path for lake in opened for path in lake.files])
    unchecked = stored.check([path for lake in opened for path in lake.files])
    parts = [lake.rows for lake in opened]
    keywords = parse.with_reference(parse.options(option), ref, parts[0], "group")
    with stored.naming([path for lake in opened for path in lake.files]):
        result = pf.measure(parts, requested, by=parse.columns(parts[0], by), **keywords)
        frame = _collect(result, opened, out)
    if unchecked:
        _warn(unchecked)
    _deliver(frame, out, lambda rows: show.values(rows, requested), overwrite=overwrite)


@app.command("metrics")
def catalogue(
    name: Annotated[
        str | None, typer.Argument(help="A metric or a function to explain: ndcg, fairness.roc.")
    ] = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
) -> None:
    """List all metrics, or explain one."""
    _check_destination(out, [], overwrite=overwrite)
    if name is not None:
        if out is not None:
            msg = f"`--out` writes the whole catalogue: leave out {name!r}"
            raise ValueError(msg)
        show.explain(parse.member(name))
        return
    rows = pf.catalog()
    _check_flat(rows.schema, out)
    _deliver(rows, out, show.catalogue, overwrite=overwrite)


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


def _check_destination(out: Path | None, sources: Sequence[str], *, overwrite: bool) -> None:
    output.check(out, sources, overwrite=overwrite)


def _sources(lake: Sequence[str], texts: Mapping[str, list[str]]) -> list[str]:
    """List every source of a request, as typed: the lake and the frames of roles."""
    return [*lake, *(source for name in FRAME_ROLES for source in texts.get(name, []))]


def _open(
    lake: Sequence[str], texts: Mapping[str, list[str]], out: Path | None
) -> dict[str, Opened]:
    """Open the lake, called "rows", and the frames of roles."""
    sources = {"rows": lake, **{name: texts[name] for name in FRAME_ROLES if name in texts}}
    opened = dict(zip(sources, lakes.open_lakes(sources.values()), strict=True))
    output.check_inputs(out, [path for lake in opened.values() for path in lake.files])
    return opened


def _frames(opened: Mapping[str, Opened]) -> dict[str, pl.LazyFrame]:
    return {name: lake.rows for name, lake in opened.items() if name != "rows"}


def _collect(result: pl.LazyFrame, opened: Iterable[Opened], out: Path | None) -> pl.DataFrame:
    """Collect on the streaming engine. If a file stops the query, the error names it."""
    _check_flat(result.collect_schema(), out)
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


def _deliver(
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
    else:
        carried = metadata if out.suffix == ".parquet" else None
        output.write(frame, out, carried, overwrite=overwrite)


def _warn(message: str) -> None:
    typer.echo(f"polarsfair: warning: {show.escaped(message)}", err=True)


def _check_flat(schema: pl.Schema, out: Path | None) -> None:
    """Raise if a CSV file cannot store the columns."""
    if out is None or out.suffix != ".csv":
        return
    nested = [name for name, dtype in schema.items() if dtype.is_nested()]
    if nested:
        msg = (
            f"CSV cannot store the nested column {nested[0]!r}: write {out.stem}.parquet or"
            f" {out.stem}.json"
        )
        raise ValueError(msg)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Invalid input exits with code 2 and a one-line message."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A pipe or an old terminal may not be able to encode every letter of a group's name.
            stream.reconfigure(errors="replace" if stream is sys.stdout else "backslashreplace")
    try:
        code = app(arguments, standalone_mode=False)
    except PanicException:
        typer.echo("polarsfair: Polars failed with an internal error, described above", err=True)
        raise SystemExit(1) from None
    except (typer.TyperException, ValueError, TypeError, PolarsError, OSError) as error:
        known = flags_of(*(sys.argv[1:] if arguments is None else arguments)[:1])
        typer.echo(f"polarsfair: {_one_line(error, known)}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(code or 0)


def _open_closed() -> None:
    """Open what the shell closed (``>&-``): files would get these numbers, and be written to."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= LAST_STREAM:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)


def _commands() -> dict[str, Any]:
    return dict(getattr(typer.main.get_command(app), "commands", {}))


def flags_of(command: str = "") -> set[str]:
    """Return the flags of a command; of all commands if there is no such command."""
    commands = _commands()
    chosen = [commands[command]] if command in commands else list(commands.values())
    return {"--help", *(flag for one in chosen for param in one.params for flag in param.opts)}


def _one_line(error: Exception, known: set[str]) -> str:
    """Return the message of an error in one line, with flags instead of Python."""
    message = str(error)
    if isinstance(error, typer.TyperException):
        return show.escaped(flags.unknown(error.format_message(), known, _commands()))
    fault = fault_message(error)
    found = fault or message.strip()
    if isinstance(error, PolarsError) and fault is None:
        # Polars adds its query plan; a line break in our own messages is part of a name.
        found = found.partition("\n")[0]
    typed = flags.where_known(flags.as_flags(found), known)
    return show.escaped(typed) if found else type(error).__name__
