"""Finding the files of a lake: each real file once, and none left out in silence.

`glob` and `pathlib` skip directories that they may not read, and follow links in circles. Here a
directory or file that cannot be read is an error, and a file that is found under several names is
read once.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from polarsfair._cli._formats.kinds import SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars.exceptions import PolarsError

State: TypeAlias = tuple[int, int, int]
"""The number, size and time of change (ns) of a file."""

LEFTOVER = re.compile(r"\..+\.part")
"""Names of files that `--out` was writing when it was killed."""


def is_url(source: str) -> bool:
    """Return whether a source is in an object store rather than on disk."""
    return "://" in source


def find(sources: Sequence[str], suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    """List the files of `sources`, each real file once. URLs stay as they are.

    Of directories, the files with one of the `suffixes` are listed.
    """
    typed = [_local(source) for source in sources]
    urls = list(dict.fromkeys(source for source in typed if is_url(source)))
    check_urls(urls)
    found = [path for source in typed if not is_url(source) for path in _files(source, suffixes)]
    return [*_distinct(found), *urls]


def _local(source: str) -> str:
    """Return a ``file://`` URL as the path that it is."""
    return re.sub(r"^file://(localhost(?=/))?", "", source)


def _distinct(paths: Sequence[str]) -> list[str]:
    """Keep one name per real file: the one without links, else the first."""
    names: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real not in names or path == real:
            names[real] = path
    _check_hard_links(list(names.values()))
    return list(names.values())


def _check_hard_links(paths: Sequence[str]) -> None:
    """Raise if two names are one file: whether it counts once or twice, only the caller knows."""
    first: dict[tuple[int, int], str] = {}
    for path in paths:
        status = _status(path)
        if status is None or status.st_nlink == 1:
            continue
        other = first.setdefault((status.st_dev, status.st_ino), path)
        if other != path:
            msg = (
                f"{path!r} and {other!r} are one file with two names (hard links): name the one to"
                " read, or copy it if both count"
            )
            raise ValueError(msg)


def check_urls(urls: Sequence[str]) -> None:
    """Raise if two URLs may name the same file, which would be counted twice."""
    for i, one in enumerate(urls):
        for other in urls[i + 1 :]:
            if overlap(one, other):
                msg = f"{one!r} and {other!r} may contain the same file: name each file once"
                raise ValueError(msg)


def overlap(one: str, other: str) -> bool:
    """Return whether two URLs may name the same file, as far as their text tells."""
    fixed, rest = sorted((one, other), key=_is_pattern)
    if not _is_pattern(fixed):
        inside = (fixed.rstrip("/") + "/").startswith(rest.rstrip("/") + "/")
        return (
            inside or fnmatch.fnmatchcase(fixed, rest) or rest.startswith(f"{fixed.rstrip('/')}/")
        )
    starts = [re.split(r"[*?\[]", url, maxsplit=1)[0] for url in (fixed, rest)]
    return starts[0].startswith(starts[1]) or starts[1].startswith(starts[0])


def _is_pattern(source: str) -> bool:
    return glob.has_magic(source)


def _files(source: str, suffixes: tuple[str, ...]) -> list[str]:
    """List the files of one source: a file, a directory or a glob."""
    found = [source] if source and _status(source) else list(_matches(source))
    listed = [file for path in found for file in _within(path, suffixes)]
    if not listed:
        nothing = "is not a file or a directory, and no file matches it"
        msg = f"{source!r} {f'contains no {_either(suffixes)} file' if found else nothing}"
        raise FileNotFoundError(msg)
    return listed


def _either(suffixes: tuple[str, ...]) -> str:
    *others, last = suffixes
    return f"{', '.join(others)} or {last}" if others else last


def _within(path: str, suffixes: tuple[str, ...]) -> list[str]:
    """List the files of a path: the path itself, or those with a suffix below a directory."""
    status = _status(path)
    if status is None:
        msg = f"{path!r} is a link to a file that does not exist: remove the link"
        raise FileNotFoundError(msg)
    if stat.S_ISDIR(status.st_mode):
        return _below(path, suffixes)
    if not stat.S_ISREG(status.st_mode):
        msg = f"{path!r} is not a regular file: name a file, a directory or a glob"
        raise ValueError(msg)
    return [path]


def _below(directory: str, suffixes: tuple[str, ...]) -> list[str]:
    """List the files with a suffix below a directory. Names that begin with _ or . are hidden.

    Real directories come before links to them, so that files keep the name whose directories are
    partitions. Every real directory is read once, which also ends circles of links.
    """
    files: list[str] = []
    links: list[str] = []
    visited: set[str] = set()
    waiting = [directory]
    while waiting or links:
        at = waiting.pop() if waiting else links.pop(0)
        real = os.path.realpath(at)
        if real in visited:
            continue
        visited.add(real)
        for entry in _entries(at):
            if entry.name.startswith(("_", ".")):
                continue
            if _is_directory(entry):
                (links if entry.is_symlink() else waiting).append(entry.path)
            elif entry.name.lower().endswith(suffixes):
                files.append(entry.path)
    checked = [path for file in sorted(files) for path in _within(file, suffixes)]
    return sorted(checked, key=lambda path: Path(path).is_symlink())


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory or ".") as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        _refuse(directory or ".", error)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        _refuse(entry.path, error)


def state(path: str) -> State | None:
    """Return what tells one version of a file from another; None if there is no file."""
    status = _status(path)
    return None if status is None else (status.st_ino, status.st_size, status.st_mtime_ns)


def identity(path: str) -> tuple[int, int] | None:
    """Return what all names and links of one file have in common; None if there is no file."""
    status = None if is_url(path) else _status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _status(path: str) -> os.stat_result | None:
    """Return what is at a path, or None if there is nothing. No permission is an error."""
    try:
        return Path(path).stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        _refuse(path, error)


def _refuse(path: str, error: OSError) -> NoReturn:
    """Raise for a file or directory that cannot be read, by its name."""
    if error.errno == errno.ELOOP:
        msg = f"{path!r} is a link that leads back to itself: remove the link"
        raise OSError(msg) from None
    advice = "allow reading it, or name only files to be read"
    msg = f"{path!r} cannot be read ({reason(error)}): {advice}"
    raise type(error)(msg) from None


def reason(error: OSError | PolarsError) -> str:
    """Return what the operating system says. Polars reports a full disk as an error of its own."""
    text = str(error).partition("\n")[0]
    found = re.search(r"([^:]+?) \(os error \d+\)", text)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return found[1].strip().lower() if found else text.partition(": ")[0]


def _matches(pattern: str) -> Iterator[str]:
    """List what a glob matches. A directory on the way that cannot be read is an error."""
    path = PurePath(pattern)
    parts = path.parts[1:] if path.anchor else path.parts
    return _expand(path.anchor, parts) if parts else iter(())


def _expand(at: str, parts: Sequence[str]) -> Iterator[str]:
    if not parts:
        yield at
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        for directory in _directories(at):
            yield from _expand(directory, rest) if rest else [directory]
    elif _is_pattern(part):
        for entry in _entries(at):
            path = _joined(at, entry.name)
            if _is_match(entry.name, part) and (not rest or _is_directory(entry)):
                yield from _expand(path, rest)
    elif _status(_joined(at, part)):
        yield from _expand(_joined(at, part), rest)


def _directories(at: str) -> Iterator[str]:
    """List a directory and all directories below it that are not hidden, each real one once."""
    visited: set[str] = set()
    waiting, links = [at], list[str]()
    while waiting or links:
        directory = waiting.pop() if waiting else links.pop(0)
        if (real := os.path.realpath(directory or ".")) in visited:
            continue
        visited.add(real)
        yield directory
        for entry in _entries(directory):
            if not entry.name.startswith(("_", ".")) and _is_directory(entry):
                (links if entry.is_symlink() else waiting).append(_joined(directory, entry.name))


def _joined(directory: str, name: str) -> str:
    return str(Path(directory) / name) if directory else name


def _is_match(name: str, pattern: str) -> bool:
    """Return whether a name matches; a hidden name needs a pattern that begins with a dot."""
    if LEFTOVER.fullmatch(name) or (name.startswith(".") and not pattern.startswith(".")):
        return False
    return fnmatch.fnmatch(name, pattern)


def source_of(sources: Sequence[str], path: Path) -> str | None:
    """Return the source that a file at `path` belongs to, or would belong to if it existed."""
    real = Path(os.path.realpath(path))
    plain = Path(os.path.abspath(path))  # noqa: PTH100
    for source in map(_local, sources):
        if not is_url(source) and any(_covers(source, name) for name in {real, plain}):
            return source
    return None


def _covers(source: str, path: Path) -> bool:
    if os.path.realpath(source) == os.path.realpath(path):
        return True
    for above in (path, *path.parents):
        below = path.relative_to(above).parts
        hidden = any(name.startswith(("_", ".")) for name in below)
        if below and (hidden or not path.name.lower().endswith(SUFFIXES)):
            continue
        if os.path.realpath(source) == str(above) or _is_covered(source, above):
            return True
    return False


def _is_covered(pattern: str, path: Path) -> bool:
    """Return whether a glob would match an absolute path."""
    if not _is_pattern(pattern):
        return False
    fixed = PurePath(os.path.abspath(pattern))  # noqa: PTH100
    roots = [fixed, PurePath(os.path.realpath(fixed))]
    return any(_parts_match(root.parts, path.parts) for root in roots)


def _parts_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_parts_match(pattern[1:], parts[i:]) for i in range(len(parts) + 1))
    if not parts or not (_is_match(parts[0], pattern[0]) or parts[0] == pattern[0]):
        return False
    return _parts_match(pattern[1:], parts[1:])
