"""Opening lakes: schemas first, so that a broken file is named, and one type per hive column."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import ColumnNotFoundError, PanicException, PolarsError, SchemaError

from polarsfair._cli import files
from polarsfair._cli._formats import scans
from polarsfair._cli._formats.kinds import CSV, PARQUET, format_of, format_of_all
from polarsfair._cli._formats.scans import EMPTY_PARTITIONS, partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polarsfair._cli._formats.kinds import Format
    from polarsfair._cli.files import State

MAGIC = b"PAR1"
LONGEST = 200
"""How many letters of what an object store says are shown."""

SAMPLE = 4096
"""How many bytes of a file are looked at to say what it is instead of Parquet."""

TEXTS = (
    (r"\.(ndjson|jsonl)", r"\s*\{.*\}\s*\n\s*\{", "JSON", "read_ndjson"),
    (r"\.json", r"\s*[\[{]", "JSON", "read_json"),
    (r"\.(csv|tsv|txt)", r"[^\n]*[,;\t|]", "CSV", "read_csv"),
)
"""What a text file may be, by its name or its first line, and the function that reads it."""


@dataclass(frozen=True)
class Lake:
    """Files that are read as one frame.

    Attributes
    ----------
    files
        Paths, each real file once, or URLs.
    rows
        The lazy frame, with a column per hive partition.
    states
        What each local file was when its footer was read, to tell whether it changed since.
    """

    files: tuple[str, ...]
    rows: pl.LazyFrame
    states: Mapping[str, State | None]


def scan(sources: Sequence[str]) -> pl.LazyFrame:
    """Scan files, globs, directories and object-store URLs as one frame, with hive columns."""
    return open_lakes([sources])[0].rows


def open_lakes(requested: Iterable[Sequence[str]]) -> list[Lake]:
    """Open the lakes of one request; a hive column has the same dtype in all of them."""
    return _with_common_hive([_opened(files.find(sources)) for sources in requested])


def open_each(sources: Sequence[str]) -> list[Lake]:
    """Open every file as a lake of its own, because stored tables may differ in their columns."""
    return _with_common_hive([_opened([path]) for path in files.find(sources, PARQUET.suffixes)])


def check_unchanged(lakes: Iterable[Lake]) -> None:
    """Raise if a file is not the one whose footer was read: its columns would be mistaken."""
    for lake in lakes:
        for path, state in lake.states.items():
            if files.state(path) != state:
                msg = f"{path!r} changed while it was read: run the command again"
                raise ValueError(msg)


def _opened(paths: Sequence[str]) -> Lake:
    states = {path: files.state(path) for path in paths if not files.is_url(path)}
    format_of_all(paths)
    for path in paths:
        check_readable(path)
    _check_partitions(paths)
    _check_hidden(paths)
    try:
        rows = _scanned(paths)
        rows.collect_schema()
    except (PolarsError, OSError, PanicException) as error:
        # The schemas of local files are sound: only an object store gets here.
        reason = str(error).partition("\n")[0][:LONGEST]
        msg = f"{paths[0]!r} cannot be read, check the address and the credentials: {reason}"
        raise ValueError(msg) from None
    return Lake(tuple(paths), rows, states)


def _scanned(
    paths: Sequence[str], hive_schema: Mapping[str, pl.DataType] | None = None
) -> pl.LazyFrame:
    kind = format_of_all(paths)
    if kind is not PARQUET:
        return _other_format(paths, kind, hive_schema)
    # Local globs are already expanded; expanding them again would misread a `[` in a file's name.
    remote = any(map(files.is_url, paths))
    if remote:
        paths = [
            path if files.is_url(path) else re.sub(r"([*?\[])", r"[\1]", path) for path in paths
        ]
    # Some files may have columns that the first file lacks: ignore them unless they are requested.
    return pl.scan_parquet(
        list(paths),
        hive_partitioning=True,
        hive_schema=dict(hive_schema) if hive_schema else None,
        glob=remote,
        extra_columns="ignore",
    )


def _other_format(
    paths: Sequence[str], kind: Format, hive_schema: Mapping[str, pl.DataType] | None
) -> pl.LazyFrame:
    remote = [path for path in paths if files.is_url(path)]
    if remote and len(remote) < len(paths):
        msg = f"{remote[0]!r} and {paths[0]!r}: read {kind.name} from URLs and disk separately"
        raise ValueError(msg)
    if remote:
        return scans.scan_remote(paths, kind)
    return scans.scan(paths, kind, hive_schema)


def _check_partitions(paths: Sequence[str]) -> None:
    """Raise if the files of one lake lie in different kinds of partitions."""
    names = {path: sorted(partitions(path)) for path in paths if not files.is_url(path)}
    first = next(iter(names), "")
    for path, own in names.items():
        if own != names[first]:
            listed = [", ".join(columns) or "none" for columns in (own, names[first])]
            msg = (
                f"{path!r} has other hive partitions ({listed[0]}) than {first!r} ({listed[1]}):"
                " read them in separate calls"
            )
            raise ValueError(msg)


def _check_hidden(paths: Sequence[str]) -> None:
    """Raise if a directory such as ``n=5`` would hide a column of a file that has other values.

    Polars takes the directory's value. Many writers also keep the partition's column in the file:
    only then is that column read, and it must say the same.
    """
    for path in paths:
        parts = {} if files.is_url(path) else partitions(path)
        schema = schema_of(path) if parts else pl.Schema()
        shared = [name for name in parts if name in schema]
        different = next((name for name in shared if not _agrees(path, name, parts[name])), None)
        if different is not None:
            msg = (
                f"{path!r} has a column {different!r} with other values than its directory"
                f" '{different}={parts[different]}', which would replace them: rename the directory"
            )
            raise ValueError(msg)


def _agrees(path: str, name: str, text: str) -> bool:
    """Return whether all values of a column are what the directory of its file says."""
    found = _distinct(path, name)
    if text in EMPTY_PARTITIONS:
        return found.drop_nulls().is_empty() or found.to_list() == [""]
    if found.len() > 1 or found.null_count():
        return False
    try:
        read = scans.typed(text, found.dtype)
    except PolarsError:
        return found.is_empty()
    return found.is_empty() or read.equals(found)


def _distinct(path: str, name: str) -> pl.Series:
    """Return the distinct values of a column of one file."""
    kind = format_of(path)
    if kind is PARQUET:
        with Path(path).open("rb") as file:
            return pl.read_parquet(file, columns=[name], hive_partitioning=False)[name].unique()
    rows = scans.scan([path], kind, {}).select(pl.col(name).unique())
    return rows.collect(engine="streaming").to_series()


def _with_common_hive(lakes: Sequence[Lake]) -> list[Lake]:
    """Give a hive column one dtype in all lakes: 01 is a number only if every value is."""
    dtypes: dict[str, set[pl.DataType]] = {}
    for lake in lakes:
        for name, dtype in _hive_dtypes(lake, known=True).items():
            dtypes.setdefault(name, set()).add(dtype)
    common = {name: _common(found) for name, found in dtypes.items()}
    return [_recast(lake, common) for lake in lakes]


def _recast(lake: Lake, common: Mapping[str, pl.DataType]) -> Lake:
    own = _hive_dtypes(lake)
    wanted = {name: common.get(name, dtype) for name, dtype in own.items()}
    return lake if wanted == own else replace(lake, rows=_scanned(lake.files, wanted))


def _common(dtypes: set[pl.DataType]) -> pl.DataType:
    if len(dtypes) == 1:
        return next(iter(dtypes))
    return pl.Float64() if all(dtype.is_numeric() for dtype in dtypes) else pl.String()


def _hive_dtypes(lake: Lake, *, known: bool = False) -> dict[str, pl.DataType]:
    """Return the dtypes that Polars infers for the partitions; if `known`, of those with values."""
    values: dict[str, set[str]] = {}
    for path in lake.files:
        for name, text in partitions(path).items():
            values.setdefault(name, set()).add(text)
    schema = lake.rows.collect_schema() if values else pl.Schema()
    return {
        name: schema[name]
        for name, texts in values.items()
        if name in schema and not (known and texts <= {*EMPTY_PARTITIONS})
    }


def check_readable(path: str) -> None:
    """Raise if a file is not of its format, by its name. Bytes of the file are not shown."""
    if files.is_url(path):
        return
    kind = format_of(path)
    try:
        schema_of(path)
    except (PolarsError, OSError, PanicException) as error:
        if kind is not PARQUET:
            raise ValueError(scans.said(path, kind, error)) from None
        msg = f"{path!r} cannot be read as Parquet: {_what_it_is(path)}"
        raise ValueError(msg) from None
    if kind is CSV and len(names := schema_of(path).names()) == 1 and set(names[0]) & set(";\t|"):
        msg = f"{path!r} has no commas between its columns: {_what_it_is(path)}"
        raise ValueError(msg)


def schema_of(path: str) -> pl.Schema:
    """Read the schema of one file. Polars would take a path with a `[` for a glob."""
    kind = format_of(path)
    if kind is not PARQUET:
        return scans.schema_of(path, kind, files.state(path))
    with Path(path).open("rb") as file:
        return pl.Schema(pl.read_parquet_schema(file))


def _what_it_is(path: str) -> str:
    """Return what a file is if it is not Parquet, and what to do."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(SAMPLE)
            file.seek(-min(len(start), len(MAGIC)), os.SEEK_END)
            end = file.read()
    except OSError as error:
        return f"{files.reason(error)}; allow reading it, or leave it out"
    if not start:
        return "it is empty (0 bytes); write it again, or leave it out"
    if end == b"PARE":
        return "it is encrypted; decrypt it first"
    if start.startswith(MAGIC):
        damage = "its footer is damaged" if end == MAGIC else "it is cut off"
        return f"{damage}; write it again, or leave it out"
    return _text_kind(start, path)


def _text_kind(start: bytes, path: str) -> str:
    try:
        text = start.decode("utf-8") if len(start) < SAMPLE else start[:-4].decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    for suffix, pattern, kind, reader in TEXTS:
        name = PurePath(path)
        if "\0" not in text and (re.fullmatch(suffix, name.suffix) or re.match(pattern, text)):
            stem = f"{name.stem}-converted" if name.suffix == ".parquet" else name.stem
            names = [json.dumps(one) for one in (path, f"{stem}.parquet")]
            more = _separated(text) if reader == "read_csv" else ""
            code = f"import polars as pl; pl.{reader}({names[0]}{more}).write_parquet({names[1]})"
            return f"it looks like {kind}; convert it, `python -c {shlex.quote(code)}`"
    return "it is another kind of file; convert it to Parquet, or leave it out"


def _separated(text: str) -> str:
    """Return the argument for what separates the columns of a CSV file, unless it is a comma."""
    first = text.partition("\n")[0]
    separator = max(",;\t|", key=first.count)
    return "" if separator == "," else f", separator={json.dumps(separator)}"


def blamed(lakes: Sequence[Lake], error: BaseException) -> str | None:
    """Return a message that names the file which stopped a query, None if no file did."""
    paths = [path for lake in lakes for path in lake.files if not files.is_url(path)]
    if isinstance(error, (SchemaError, ColumnNotFoundError)):
        found = re.search(
            r"mismatch for column (.+?): incoming|did not find column (.+?),", str(error)
        )
        return _odd_file(lakes, found[1] or found[2]) if found else None
    parquet = "parquet" in str(error) or isinstance(error, PanicException)
    for path in paths:
        kind = format_of(path)
        if kind is PARQUET and not parquet:
            continue
        try:
            _scanned([path]).select(pl.all().null_count()).collect(engine="streaming")
        except (PolarsError, PanicException) as own:
            if kind is not PARQUET:
                return scans.said(path, kind, own)
            return f"{path!r} is damaged: write it again, or leave it out"
    return None


def _odd_file(lakes: Sequence[Lake], column: str) -> str | None:
    """Return which file lacks a column, or has it with another dtype than the first file."""
    for lake in lakes:
        first, *others = (path for path in lake.files if not files.is_url(path))
        expected = schema_of(first).get(column)
        for path in others if expected is not None else []:
            dtype = schema_of(path).get(column)
            if dtype is None:
                return f"{path!r} has no column {column!r}, which {first!r} has: leave one out"
            if dtype != expected:
                return (
                    f"{column!r} is {dtype} in {path!r} and {expected} in {first!r}: a column must"
                    " have the same dtype in all files of a lake"
                )
    return None
