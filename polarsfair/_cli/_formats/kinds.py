"""Which format a file has: its suffix says it. A lake has one format."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Format(NamedTuple):
    """A format of lakes, and the suffixes that say so."""

    name: str
    suffixes: tuple[str, ...]


PARQUET = Format("Parquet", (".parquet",))
CSV = Format("CSV", (".csv",))
NDJSON = Format("NDJSON", (".ndjson", ".jsonl"))
ARROW = Format("Arrow", (".arrow", ".ipc", ".feather"))

FORMATS = (PARQUET, CSV, NDJSON, ARROW)
SUFFIXES = tuple(suffix for one in FORMATS for suffix in one.suffixes)


def format_of(path: str) -> Format:
    """Return the format of a file or URL; one without a known suffix is taken for Parquet."""
    suffix = PurePath(path).suffix.lower()
    return next((one for one in FORMATS if suffix in one.suffixes), PARQUET)


def format_of_all(paths: Sequence[str]) -> Format:
    """Return the one format of all files of a lake; raise if there are two."""
    first = format_of(paths[0])
    for path in paths:
        other = format_of(path)
        if other is not first:
            msg = (
                f"{path!r} is {other.name} and {paths[0]!r} is {first.name}, and a lake has one"
                f" format: name the files of one, such as 'DIRECTORY/**/*{first.suffixes[0]}'"
            )
            raise ValueError(msg)
    return first
