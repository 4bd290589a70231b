"""Scanning CSV, NDJSON and Arrow files as one frame, with hive columns.

Parquet brings dtypes and hive columns along. A text file has neither: its dtypes are those that fit
all of its values, so it is read once more before it is counted, and the files of a lake are brought
to common dtypes. Without that, the first rows of the first file would decide.
"""

from __future__ import annotations

import functools
import io
import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl
from polars.datatypes import TemporalType
from polars.exceptions import PolarsError

from polarsfair._cli import files
from polarsfair._cli._formats.kinds import ARROW, CSV, Format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EMPTY_PARTITIONS = ("", "__HIVE_DEFAULT_PARTITION__")
"""How directories write a null."""


def partitions(path: str) -> dict[str, str]:
    """Return the hive partitions in the directories of a path, as text."""
    pairs = (part.partition("=") for part in PurePath(path).parts[:-1] if part.count("=") == 1)
    return {name: text for name, _, text in pairs}


def typed(text: str, dtype: pl.DataType) -> pl.Series:
    """Return the value of a partition in a dtype, as a series of one value."""
    said = pl.Series([None if text in EMPTY_PARTITIONS else unquote(text)], dtype=pl.String)
    if dtype == pl.Boolean:
        return said.str.to_lowercase().replace_strict({"true": True, "false": False})
    return said.str.strptime(dtype) if isinstance(dtype, TemporalType) else said.cast(dtype)


def scan(
    paths: Sequence[str], kind: Format, hive_schema: Mapping[str, pl.DataType] | None = None
) -> pl.LazyFrame:
    """Scan local files of a format other than Parquet, with a column per hive partition."""
    schemas = {path: schema_of(path, kind, files.state(path)) for path in paths}
    columns = _common_columns(schemas, kind)
    hive = inferred(paths) if hive_schema is None else dict(hive_schema)
    groups: dict[tuple[Any, ...], list[str]] = {}
    for path, schema in schemas.items():
        header = () if kind.name == "NDJSON" else tuple(schema.items())
        groups.setdefault((header, *partitions(path).items()), []).append(path)
    parts = []
    for same in groups.values():
        rows = _scanned(same, kind, schemas[same[0]], columns).select(
            name for name in columns if name not in hive
        )
        values = partitions(same[0])
        parts.append(
            rows.with_columns(
                pl.lit(typed(values[name], dtype).item(), dtype=dtype).alias(name)
                for name, dtype in hive.items()
            )
        )
    return pl.concat(parts)


def scan_remote(urls: Sequence[str], kind: Format) -> pl.LazyFrame:
    """Scan URLs. Of text the directories' values are not known; asking for one is an error."""
    if kind is ARROW:
        return pl.scan_ipc(list(urls), hive_partitioning=True)
    if kind is CSV:
        return pl.scan_csv(list(urls), infer_schema_length=None)
    return pl.scan_ndjson(list(urls), infer_schema_length=None)


def _scanned(
    paths: Sequence[str],
    kind: Format,
    own: Mapping[str, pl.DataType],
    columns: Mapping[str, pl.DataType],
) -> pl.LazyFrame:
    """Scan files whose columns are the same, in the dtypes that all files have in common."""
    if kind is ARROW:
        return pl.scan_ipc(list(paths), glob=False, hive_partitioning=False)
    if kind is CSV:
        schema = {name: columns.get(name, pl.String()) for name in own}
        return pl.scan_csv(list(paths), schema=schema, glob=False)
    return pl.scan_ndjson([*map(_as_pattern, paths)], schema=dict(columns))


@functools.lru_cache(maxsize=100_000)
def schema_of(path: str, kind: Format, state: object = None) -> pl.Schema:
    """Read the schema of one local file; `state` tells versions of the file apart."""
    del state
    if kind is ARROW:
        with Path(path).open("rb") as file:
            return pl.Schema(pl.read_ipc_schema(file))
    if kind is CSV:
        return pl.scan_csv(path, infer_schema_length=None, glob=False).collect_schema()
    return pl.scan_ndjson(_as_pattern(path), infer_schema_length=None).collect_schema()


def _as_pattern(path: str) -> str:
    """Return a pattern that matches one path: a `[` in a file's name is none."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _common_columns(schemas: Mapping[str, pl.Schema], kind: Format) -> dict[str, pl.DataType]:
    """Return the columns of a lake: those of the first file; of NDJSON, those of any file."""
    first = next(iter(schemas))
    names = schemas[first].names()
    if kind.name == "NDJSON":
        names = list(dict.fromkeys(name for schema in schemas.values() for name in schema))
    for path, schema in schemas.items():
        missing = [name for name in names if name not in schema and kind.name != "NDJSON"]
        if missing:
            msg = f"{path!r} has no column {missing[0]!r}, which {first!r} has: leave one out"
            raise ValueError(msg)
    return {name: _common_dtype(name, schemas, kind) for name in names}


def _common_dtype(name: str, schemas: Mapping[str, pl.Schema], kind: Format) -> pl.DataType:
    """Return the dtype that a column has in all files; of text, one that all values fit."""
    found: dict[pl.DataType, str] = {}
    for path, schema in schemas.items():
        if name in schema and schema[name] != pl.Null:
            found.setdefault(schema[name], path)
    if len(found) > 1 and kind is CSV and pl.String() in found:
        # A file without a value in the column takes it for text.
        told = {path for path in schemas if _has_values(path, name)}
        found = {schemas[path][name]: path for path in schemas if path in told}
    if len(found) <= 1:
        return next(iter(found), pl.String())
    if kind is not ARROW and all(dtype.is_numeric() for dtype in found):
        whole = all(dtype.is_integer() for dtype in found)
        return pl.Int128() if whole else pl.Float64()
    if kind is not ARROW and not any(dtype.is_nested() for dtype in found):
        return pl.String()
    (one, first), (other, path), *_ = found.items()
    msg = (
        f"{name!r} is {other} in {path!r} and {one} in {first!r}: a column must have the same dtype"
        " in all files of a lake"
    )
    raise ValueError(msg)


def _has_values(path: str, name: str) -> bool:
    column = pl.scan_csv(path, infer_schema=False, glob=False).select(pl.col(name).count())
    try:
        return bool(column.collect(engine="streaming").item())
    except PolarsError as error:
        raise ValueError(said(path, CSV, error)) from None


def inferred(paths: Sequence[str]) -> dict[str, pl.DataType]:
    """Return the dtypes of hive columns: the ones that Polars infers for those of Parquet."""
    texts: dict[str, list[str]] = {}
    for path in paths:
        for name, text in partitions(path).items():
            texts.setdefault(name, []).append(text)
    return {name: _dtype_of(values) for name, values in texts.items()}


def _dtype_of(texts: Sequence[str]) -> pl.DataType:
    known = [unquote(text) for text in dict.fromkeys(texts) if text not in EMPTY_PARTITIONS]
    if not known:
        return pl.String()
    text = pl.DataFrame({"v": known}).write_csv()
    read = pl.read_csv(io.StringIO(text), try_parse_dates=True, infer_schema_length=None)
    return read["v"].dtype


def said(path: str, kind: Format, error: BaseException) -> str:
    """Return what is wrong with a file that cannot be read as its suffix says."""
    reason = str(error).partition("\n")[0]
    if not Path(path).stat().st_size:
        reason = "it is empty (0 bytes)"
    elif kind is ARROW:
        reason = "it is damaged, or no Arrow file"
        if _is_stream(path):
            code = f"pl.read_ipc_stream({path!r}).write_ipc({path!r})"
            reason = f"it is an Arrow stream, not a file (`{code}` makes it one)"
    elif isinstance(error, PolarsError) and "utf-8" in reason.lower():
        reason = "it is not UTF-8"
    return f"{path!r} cannot be read as {kind.name}: {reason}; write it again, or leave it out"


def _is_stream(path: str) -> bool:
    try:
        pl.read_ipc_stream(path, n_rows=0)
    except (PolarsError, OSError):
        return False
    return True
