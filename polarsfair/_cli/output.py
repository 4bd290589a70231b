"""Writing `--out`: never over an input, never half a file, and nothing left behind."""

from __future__ import annotations

import os
import re
import secrets
import signal
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl
from polars.exceptions import PolarsError

from polarsfair._cli import files
from polarsfair._cli._formats.kinds import ARROW, NDJSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": lambda frame, path: flattened(frame).write_csv(path),
    ".json": pl.DataFrame.write_json,
    **dict.fromkeys(NDJSON.suffixes, pl.DataFrame.write_ndjson),
    **dict.fromkeys(ARROW.suffixes, pl.DataFrame.write_ipc),
}
STOPS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a process at once unless they are handled."""

LONGEST = 150
"""How many bytes of a file's name its temporary name repeats: names are limited to 255 bytes."""


def check(out: Path | None, sources: Sequence[str], *, overwrite: bool) -> None:
    """Raise before any work is done if `out` cannot be written, or is an input."""
    if out is None:
        if overwrite:
            msg = "`--overwrite` needs a file: add `--out FILE`"
            raise ValueError(msg)
        return
    _check_place(out)
    source = files.source_of(sources, out)
    if source is not None:
        other = "file" if Path(source).is_file() else "directory"
        msg = f"`--out {out}` is read as part of the input {source!r}: name another {other}"
        raise ValueError(msg)
    if os.path.lexists(out) and not overwrite:
        msg = f"`--out {out}` exists: name another file, or add `--overwrite`"
        raise FileExistsError(msg)


def check_storable(schema: pl.Schema, out: Path) -> None:
    """Raise if the file cannot hold a column: CSV has no lists, and names one column once."""
    if out.suffix != ".csv":
        return
    names = flattened(schema.to_frame()).collect_schema()
    nested = [name for name, dtype in names.items() if dtype.is_nested()]
    if nested:
        msg = (
            f"CSV cannot store the nested column {nested[0]!r}: write {out.stem}.parquet or"
            f" {out.stem}.json"
        )
        raise ValueError(msg)


def flattened(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose structs are columns, ``group.sex`` and ``group.race``."""
    structs = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]
    if not structs:
        return frame
    columns: list[pl.Series] = []
    for column in frame:
        parts = column.struct.unnest() if column.name in structs else [column]
        columns += [
            part.alias(f"{column.name}.{part.name}") if part is not column else part
            for part in parts
        ]
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"CSV would have two columns {twice!r}: rename one, or write Parquet"
        raise ValueError(msg)
    return flattened(pl.DataFrame(columns))


def check_inputs(out: Path | None, inputs: Sequence[str]) -> None:
    """Raise if `out` is one of the files that were found, through whatever links."""
    status = None if out is None else files.identity(str(out))
    if status is not None and status in {files.identity(path) for path in inputs}:
        msg = f"`--out {out}` is one of the inputs: name another file"
        raise ValueError(msg)


def _check_place(out: Path) -> None:
    if out.suffix not in WRITERS:
        msg = f"`--out {out}`: the file extension sets the format; use one of {', '.join(WRITERS)}"
        raise ValueError(msg)
    parent = Path(os.path.realpath(out)).parent
    try:
        out.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        # A name that is too long, links in circles, a directory that may not be entered.
        msg = f"`--out {out}`: {files.reason(error)}: name another file"
        raise type(error)(msg) from None
    if re.match(r"\w+:/", str(out)) and not parent.is_dir():
        msg = f"`--out {out}` is an address: name a local file, and copy it from there"
        raise ValueError(msg)
    if not parent.is_dir():
        msg = f"`--out {out}`: the directory {str(out.parent)!r} does not exist"
        raise FileNotFoundError(msg)
    if not os.access(parent, os.W_OK):
        msg = f"`--out {out}`: no permission to write in {str(out.parent)!r}"
        raise PermissionError(msg)
    if out.is_dir():
        msg = f"`--out {out}` is a directory: name a file, such as {out / ('values' + out.suffix)}"
        raise IsADirectoryError(msg)
    if out.exists() and not out.is_file():
        msg = f"`--out {out}` is not a regular file: name another file"
        raise ValueError(msg)


def write(
    frame: pl.DataFrame,
    out: Path,
    metadata: Mapping[str, str] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write a frame in one step: whoever reads `out` sees the old file or the whole new one."""
    target = Path(os.path.realpath(out))
    start = os.fsencode(target.name)[:LONGEST].decode(errors="ignore")
    unfinished = target.with_name(f".{start}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with undoing(lambda: unfinished.unlink(missing_ok=True)):
            _fill(frame, unfinished, out.suffix, metadata)
            _sync(unfinished)
            _publish(unfinished, target, overwrite=overwrite)
            _sync(target.parent)
    except FileExistsError:
        msg = f"`--out {out}` was written by someone else meanwhile: name another file"
        raise FileExistsError(msg) from None
    except (OSError, PolarsError) as error:
        msg = f"`--out {out}` cannot be written: {files.reason(error)}"
        raise OSError(msg) from None


def _fill(frame: pl.DataFrame, path: Path, suffix: str, metadata: Mapping[str, str] | None) -> None:
    if metadata is None:
        WRITERS[suffix](frame, path)
    else:
        frame.write_parquet(path, metadata=dict(metadata))


def _sync(path: Path) -> None:
    """Wait until a file or directory is on disk. Windows cannot do so with directories."""
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _publish(unfinished: Path, target: Path, *, overwrite: bool) -> None:
    """Give the file its name. Without `overwrite`, a file that appeared meanwhile stays."""
    if overwrite:
        with suppress(FileNotFoundError):
            unfinished.chmod(target.stat().st_mode & 0o7777)
        unfinished.replace(target)
        return
    try:
        os.link(unfinished, target)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links, and a rename replaces what is there.
        if os.path.lexists(target):
            raise FileExistsError from None
        unfinished.rename(target)
    else:
        unfinished.unlink()


@contextmanager
def undoing(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if the block does not end: by an error, Ctrl-C, or a signal to terminate."""
    before = _handle(STOPS, _stop)
    try:
        yield
    except BaseException:
        try:
            # Polars raises KeyboardInterrupt a second time: the files must be removed before that.
            before = _handle([*STOPS, signal.SIGINT], signal.SIG_IGN) | before
        finally:
            undo()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handle(
    numbers: Sequence[signal.Signals], handler: Callable[..., object] | signal.Handlers
) -> dict[signal.Signals, Callable[..., object] | int | None]:
    """Set a handler for signals that are not ignored; return the handlers before."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    heeded = [n for n in numbers if signal.getsignal(n) not in (signal.SIG_IGN, None)]
    return {number: signal.signal(number, handler) for number in heeded}


def _stop(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)
