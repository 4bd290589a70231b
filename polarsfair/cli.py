"""The command line, a thin layer over the Python functions.

`polarsfair._cli._typed` finds what was named, `polarsfair._cli.parse` turns columns and options
into objects, `polarsfair._cli.lakes` opens files, `polarsfair._cli._run` collects and delivers
results, `polarsfair._cli.show` turns them into tables, and `polarsfair._cli.flags` turns the Python
code in error messages into flags.
"""

import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from polars.exceptions import PanicException, PolarsError

import polarsfair as pf
from polarsfair._cli import flags, lakes, output, parse, show, stored
from polarsfair._cli._run import call, caption
from polarsfair._cli._typed import functions, names
from polarsfair._cli._typed import roles as role_flags
from polarsfair._cli._typed.arguments import (
    By,
    Depths,
    FunctionName,
    Lake,
    Metrics,
    Options,
    Out,
    Overwrite,
    Ref,
    SomeMetrics,
    Tables,
    TallyName,
    Word,
)
from polarsfair._cli.demo import run_demo
from polarsfair._engine.frames import fault_message
from polarsfair._engine.request import unread_roles

app = typer.Typer(
    help="Fairness, ranking and clustering metrics over lakes of files.",
    pretty_exceptions_enable=False,
    context_settings={"token_normalize_func": lambda flag: flag.replace("_", "-")},
)

LAST_STREAM = 2
"""The number of standard error; standard input and output come before."""

EXAMPLES = (
    "Examples",
    'polarsfair evaluate lake --metrics stat_parity --group sex --pred "score > 0.5" --ref M',
    (
        "polarsfair evaluate recs.parquet --metrics ndcg,map --actual clicks.parquet"
        " --user user --item item --score score -k 5,10"
    ),
    "polarsfair evaluate points.parquet --metrics silhouette --cluster c --features x,y",
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
@role_flags.with_roles()
def evaluate(
    lake: Lake,
    metrics: Metrics,
    by: By = None,
    ref: Ref = None,
    k: Depths = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
    roles: dict[str, list[str]],
) -> None:
    """Evaluate metrics over the rows of a lake."""
    output.check(out, call.sources(lake, roles), overwrite=overwrite)
    options = parse.options(option, k)
    asked = {**roles, **options}
    requested = names.metrics(metrics, names.by_roles(asked))
    role_flags.check_read(roles, unread_roles(requested, asked), ",".join(metrics), rates=True)
    opened = call.opened(lake, roles, out)
    rows = opened["rows"].rows
    given = parse.keywords(rows, roles, call.frames(opened), options)
    keywords = parse.with_reference(given, ref, rows, given.get("group"))
    counts = out is None and caption.is_needed(requested)
    by_columns = parse.columns(rows, by)
    result = pf.evaluate(rows, requested, by=by_columns, counts=counts, **keywords)
    frame = call.collect(result, opened.values(), out)
    frame, said = caption.split(frame, requested) if counts else (frame, None)
    call.deliver(frame, out, _values(requested, ref, keywords, said), overwrite=overwrite)


@app.command("by-group")
@role_flags.with_roles()
def by_group(
    lake: Lake,
    metrics: Metrics,
    by: By = None,
    ref: Ref = None,
    k: Depths = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
    roles: dict[str, list[str]],
) -> None:
    """Show the value of every group, and how it compares with a reference."""
    if "group" not in roles:
        msg = "`polarsfair by-group` needs a group column: add `--group COLUMN`"
        raise ValueError(msg)
    output.check(out, call.sources(lake, roles), overwrite=overwrite)
    options = parse.options(option, k)
    asked = {**roles, **options}
    requested = names.metrics(metrics, names.by_roles(asked))
    unread = unread_roles(requested, asked, grouped=True)
    role_flags.check_read(roles, unread, ",".join(metrics))
    opened = call.opened(lake, roles, out)
    rows = opened["rows"].rows
    given = parse.keywords(rows, roles, call.frames(opened), options)
    keywords = parse.with_reference(given, ref, rows, given["group"])
    result = pf.by_group(rows, requested, by=parse.columns(rows, by), **keywords)
    frame = call.collect(result, opened.values(), out)
    call.deliver(frame, out, show.frame, overwrite=overwrite)


@app.command("frame", epilog=f"Functions: {', '.join(functions.functions())}.")
@role_flags.with_roles(functions.extra_columns())
def frame_of(
    name: FunctionName,
    lake: Lake,
    metrics: SomeMetrics = None,
    by: By = None,
    ref: Ref = None,
    k: Depths = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
    roles: dict[str, list[str]],
) -> None:
    """Write the frame of a function, such as a curve, a row per user, or counts of users."""
    output.check(out, call.sources(lake, roles), overwrite=overwrite)
    function = functions.function(name)
    options = names.options(function, parse.options(option, k))
    asked = {**roles, **options}
    requested = names.metrics(metrics, names.by_family(function)) if metrics else []
    functions.check(function, asked, metrics=bool(requested), by=bool(by))
    role_flags.check_read(roles, functions.unread(function, requested, asked), function.name)
    opened = call.opened(lake, roles, out)
    rows = opened["rows"].rows
    given = parse.keywords(rows, roles, call.frames(opened), options, function.lists)
    keywords = parse.with_reference(given, ref, rows, given.get("group"))
    keywords |= {"metrics": requested} if requested else {}
    keywords |= {"by": parse.columns(rows, by)} if by else {}
    frame = call.collect(function.call(rows, **keywords), opened.values(), out)
    call.deliver(frame, out, show.frame, overwrite=overwrite)


@app.command()
@role_flags.with_roles()
def tally(
    lake: Lake,
    tally: TallyName = "fairness.decisions",
    by: By = None,
    k: Depths = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
    roles: dict[str, list[str]],
) -> None:
    """Count the rows of a lake into a small table that can be stored and merged."""
    output.check(out, call.sources(lake, roles), overwrite=overwrite)
    counted, options = names.tally(tally), parse.options(option, k)
    unread = [name for name in roles if name not in counted.roles]
    role_flags.check_read(roles, unread, f"tables of {counted.name}")
    opened = call.opened(lake, roles, out)
    rows = opened["rows"].rows
    keywords = parse.keywords(rows, roles, call.frames(opened), options)
    typed, slices = parse.as_typed(rows, {**roles, "by": by or []})
    record = stored.record(counted.name, typed, options, slices, opened)
    table = counted(rows, by=parse.columns(rows, by), **keywords)
    frame = call.collect(table.sort(parse.keys(table, counted)), opened.values(), out)
    stored.check_unchanged(record, opened)
    if out is not None and out.suffix != ".parquet":
        call.warn(
            f"`--out {out}` cannot carry a record of the request, and `polarsfair measure` reads"
            f" only Parquet: write `--out {out.with_suffix('.parquet')}` to measure it later"
        )
    call.deliver(frame, out, show.frame, stored.as_metadata(record), overwrite=overwrite)


@app.command()
def measure(
    tables: Tables,
    metrics: Metrics,
    by: By = None,
    ref: Ref = None,
    k: Depths = None,
    option: Options = None,
    out: Out = None,
    *,
    overwrite: Overwrite = False,
) -> None:
    """Compute metrics from stored tables, merging those of one tally first."""
    grouped = names.by_tally(tables)
    output.check(out, [path for paths in grouped.values() for path in paths], overwrite=overwrite)
    opened = {tally: lakes.open_each(paths) for tally, paths in grouped.items()}
    every = [lake for found in opened.values() for lake in found]
    paths = [path for lake in every for path in lake.files]
    output.check_inputs(out, paths)
    unchecked = [
        stored.check([path for lake in found for path in lake.files]) for found in opened.values()
    ]
    parts = {tally: [lake.rows for lake in found] for tally, found in opened.items()}
    first = next(iter(parts.values()))[0]
    options = parse.options(option, k)
    columns = {name for lake in every for name in lake.rows.collect_schema()}
    requested = names.metrics(metrics, names.by_table(list(columns), options))
    keywords = parse.with_reference(options, ref, first, "group")
    counts = out is None and caption.is_needed(requested)
    with stored.naming(paths):
        given: Any = {key: value for key, value in parts.items() if key} or parts[None]
        by_columns = parse.columns(first, by)
        result = pf.measure(given, requested, by=by_columns, counts=counts, **keywords)
        frame = call.collect(result, every, out)
    frame, said = caption.split(frame, requested) if counts else (frame, None)
    for warning in filter(None, unchecked):
        call.warn(warning)
    call.deliver(frame, out, _values(requested, ref, keywords, said), overwrite=overwrite)


@app.command("metrics")
def catalogue(word: Word = None, out: Out = None, *, overwrite: Overwrite = False) -> None:
    """List all metrics, explain one, or search for a word."""
    output.check(out, [], overwrite=overwrite)
    if word is None:
        call.deliver(pf.catalog(), out, show.catalogue, overwrite=overwrite)
        return
    found = names.member(word)
    listed = names.search(word) if found is None else pl.DataFrame()
    if found is None and listed.is_empty():
        raise ValueError(names.unknown_word(word))
    if listed.height == 1:
        found = names.member(listed["metric"].item())
    if found is None:
        call.deliver(listed, out, show.catalogue, overwrite=overwrite)
        return
    if out is not None:
        msg = f"`--out` writes the catalogue, or what a word finds: leave out {word!r}"
        raise ValueError(msg)
    show.explain(found, names.said_elsewhere(word, found))


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


def _values(
    metrics: Sequence[pf.Metric],
    ref: str | None,
    keywords: Mapping[str, Any],
    said: str | None = None,
) -> Callable[[pl.DataFrame], show.Sheet]:
    """Return how values are shown. A band is meant for pairs of groups, not for everyone."""
    pairs = ref is None or keywords["ref"] not in (pf.OVERALL, pf.REST)
    judged = [metric for metric in metrics if pairs or "ref" not in metric.option_names]
    return lambda rows: show.values(rows, metrics, judged=judged, caption=said)


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
