"""The record in a stored table: which request it answers, and which files it counted.

`polarsfair tally --out FILE.parquet` writes the record into the metadata of the file, as JSON under
one key. `polarsfair measure` reads it, and refuses to merge what does not belong together.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._cli import files, flags
from polarsfair._engine.frames import fault_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polarsfair._cli.lakes import Lake

KEY = "polarsfair"
FORMAT = 1
"""The version of the record. A record of a later version is refused."""

REQUEST = ("tally", "roles", "options", "slices")
"""The keys in which tables that are merged must agree."""

COUNTED = ("rows", "actual")
"""The frames whose rows are counted. Others, such as a catalogue of items, serve many tables."""

LONGEST = 3
"""How many tables a message names."""

Record = dict[str, Any]


def record(
    tally: str,
    roles: Mapping[str, str | list[str]],
    options: Mapping[str, object],
    slices: Sequence[str],
    lakes: Mapping[str, Lake],
) -> Record:
    """Return the record of a table, with the files of each frame as they are now."""
    return {
        "format": FORMAT,
        "polarsfair": pf.__version__,
        "polars": pl.__version__,
        "tally": tally,
        "roles": dict(sorted(roles.items())),
        "options": {name: str(value) for name, value in sorted(options.items())},
        "slices": list(slices),
        "sources": sources(lakes),
    }


def sources(lakes: Mapping[str, Lake]) -> list[dict[str, str | int | None]]:
    """List the files of each frame: real path or URL, size in bytes, time of change in ns."""
    return [
        {"frame": frame, **_identity(path)} for frame, lake in lakes.items() for path in lake.files
    ]


def _identity(path: str) -> dict[str, str | int | None]:
    if files.is_url(path):
        return {"path": path, "size": None, "mtime_ns": None}
    status = Path(path).stat()
    return {
        "path": os.path.realpath(path),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
    }


def as_metadata(record: Record) -> dict[str, str]:
    """Return a record as metadata of a Parquet file. Names that are not Unicode are escaped."""
    return {KEY: json.dumps(record)}


def check_unchanged(record: Record, lakes: Mapping[str, Lake]) -> None:
    """Raise if a file changed while it was counted."""
    for old, new in zip(record["sources"], sources(lakes), strict=True):
        if old != new:
            msg = f"{old['path']!r} changed while it was read: run the same command again"
            raise ValueError(msg)


def read(path: str) -> Record | None:
    """Return the record of a stored table, or None if it has none."""
    try:
        text = pl.read_parquet_metadata(path).get(KEY)
    except (PolarsError, OSError):
        if files.is_url(path):
            return None
        raise
    if text is None:
        return None
    found = _parsed(text)
    if found is None:
        msg = f"{path!r} has a record that cannot be read: count it again with `polarsfair tally`"
        raise ValueError(msg)
    if found["format"] > FORMAT:
        msg = (
            f"{path!r} was written by polarsfair {found[KEY]}: install that version or a later one"
        )
        raise ValueError(msg)
    return found


def _parsed(text: str) -> Record | None:
    """Return a record, or None if it is not one. Of a later format only the versions are known."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get(KEY), str):
        return None
    version = found.get("format")
    if type(version) is not int or version < FORMAT:
        return None
    return found if version > FORMAT or _is_record(found) else None


def _is_record(found: Record) -> bool:
    """Return whether every part of a record has the form that `record` gives it."""
    listed, roles, options = (found.get(key) for key in ("sources", "roles", "options"))
    if not (isinstance(roles, dict) and isinstance(options, dict) and isinstance(listed, list)):
        return False
    texts = [found.get("tally"), found.get("slices"), *roles.values(), *options.values()]
    sources = [source if isinstance(source, dict) else {} for source in listed]
    paths = [source.get(key) for source in sources for key in ("frame", "path")]
    named = all(isinstance(text, str) for text in [found.get("tally"), *paths])
    return bool(listed) and named and all(map(_is_text, texts))


def _is_text(value: object) -> bool:
    listed = value if isinstance(value, list) else [value]
    return all(isinstance(text, str) for text in listed)


def check(tables: Sequence[str]) -> str | None:
    """Raise if tables do not belong together; return a warning if some cannot be checked."""
    records = {path: read(path) for path in tables}
    known = {path: found for path, found in records.items() if found is not None}
    unknown = [path for path in tables if path not in known]
    for path, found in known.items():
        _check_request(path, found, *next(iter(known.items())))
    _check_sources(known)
    if not unknown:
        return None
    more = f" and {len(unknown) - 1:,} more have" if len(unknown) > 1 else " has"
    return (
        f"{unknown[0]!r}{more} no record of request and source files, so nothing shows"
        " whether tables fit together: `polarsfair tally` with `--out FILE.parquet` writes one"
    )


def _check_request(path: str, found: Record, first: str, expected: Record) -> None:
    differences = list(_differences(found, expected))
    if differences:
        msg = (
            f"{path!r} answers another request than {first!r} ({'; '.join(differences)}): measure"
            f" them separately, or count both with `{_command(expected)}`"
        )
        raise ValueError(msg)


def _differences(found: Record, expected: Record) -> Iterator[str]:
    for key in REQUEST:
        one, other = found[key], expected[key]
        if isinstance(one, dict) and isinstance(other, dict):
            for name in sorted({*one, *other}):
                if one.get(name) != other.get(name):
                    yield f"{name} is {_said(one.get(name))} instead of {_said(other.get(name))}"
        elif one != other:
            yield f"{key} is {_said(one)} instead of {_said(other)}"


def _said(value: object) -> str:
    texts = value if isinstance(value, list) else [] if value is None else [value]
    return ", ".join(map(repr, texts)) or "not given"


def _command(found: Record) -> str:
    """Return the command that makes tables of the same request."""
    frames = {source["frame"] for source in found["sources"]} - {"rows"}
    given = {**dict.fromkeys(sorted(frames), "LAKE"), **found["roles"], "by": found["slices"]}
    typed = [flags.flag(name, texts) for name, texts in given.items() if texts]
    typed += [flags.flag(name, text, option=True) for name, text in found["options"].items()]
    return " ".join(["polarsfair tally LAKE --tally", found["tally"], *typed, "--out FILE.parquet"])


def _check_sources(records: Mapping[str, Record]) -> None:
    """Raise if two tables have counted the same file."""
    seen: dict[tuple[str, str], tuple[str, Record]] = {}
    for table, found in records.items():
        for source in found["sources"]:
            if source["frame"] not in COUNTED:
                continue
            other, same = seen.setdefault((source["frame"], source["path"]), (table, source))
            if other != table:
                changed = " (it changed in between)" if same != source else ""
                msg = (
                    f"{source['path']!r} is counted in {other!r} and in {table!r}{changed}: leave"
                    f" one table out, or count the files of both with `{_command(found)}`"
                )
                raise ValueError(msg)
    urls = {path: table for (_, path), (table, _) in seen.items() if files.is_url(path)}
    files.check_urls(list(urls))


@contextmanager
def naming(tables: Sequence[str]) -> Iterator[None]:
    """Name the files of tables in errors, which number them: only Python has them in a list."""
    try:
        yield
    except (ValueError, PolarsError) as error:
        said = fault_message(error) or str(error)
        named = re.sub(r"\btable (\d+(?:, \d+)*)(?: of \d+)?\b", _names(tables), said)
        if named == said:
            raise
        raise ValueError(named) from None


def _names(tables: Sequence[str]) -> Callable[[re.Match[str]], str]:
    def named(found: re.Match[str]) -> str:
        numbers = [int(number) - 1 for number in found[1].split(", ")]
        listed = [repr(tables[number]) for number in numbers if number < len(tables)]
        more = f" and {len(listed) - LONGEST:,} more" if len(listed) > LONGEST else ""
        return ", ".join(listed[:LONGEST]) + more or found[0]

    return named
