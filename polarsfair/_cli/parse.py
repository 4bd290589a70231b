"""What is typed on the command line, made into frames, expressions and metrics.

This is the one place where names become objects. Everything here raises `ValueError` or an
`OSError` with a message that says what to type.
"""

from __future__ import annotations

import ast
import difflib
import glob
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._engine.catalog import FAMILIES
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COMBINATORS = {
    "difference": pf.difference,
    "ratio": pf.ratio,
    "group_min": pf.group_min,
    "group_max": pf.group_max,
}
SEVERAL = ("group", "features")
"""Roles of several columns; every other role is one column."""

SHORTEST = 4
"""Letters of a word that is looked for in the docstrings."""

EVERYONE = {"overall": pf.OVERALL, "rest": pf.REST}


def scan(sources: Sequence[str]) -> pl.LazyFrame:
    """Scan files, globs, directories and object-store URLs as one frame, with hive columns."""
    paths = files(sources)
    remote = any("://" in path for path in paths)
    # Local globs are expanded here; expanding them twice would misread a `[` in a file's name.
    # A column that came later is no concern of a request that does not name it.
    rows = pl.scan_parquet(paths, hive_partitioning=True, glob=remote, extra_columns="ignore")
    try:
        rows.collect_schema()
    except (PolarsError, OSError) as error:
        msg = f"{paths[0]!r} cannot be read as Parquet: {error}"
        raise ValueError(msg) from None
    return rows


def scan_each(sources: Sequence[str]) -> list[pl.LazyFrame]:
    """Scan every file by itself: stored tables may differ in their columns."""
    return [scan([path]) for path in files(sources)]


def files(sources: Sequence[str]) -> list[str]:
    """List the Parquet files that `sources` stand for; URLs stay as they are."""
    return [path for source in sources for path in _files(source)]


def _files(source: str) -> list[str]:
    if "://" in source:
        return [source]
    found = [source] if Path(source).exists() else sorted(glob.glob(source, recursive=True))
    listed = [file for path in found for file in _within(Path(path))]
    if not listed:
        what = "holds no .parquet file" if found else "is no file, directory or glob with a match"
        msg = f"{source!r} {what}"
        raise FileNotFoundError(msg)
    return listed


def _within(path: Path) -> list[str]:
    """List a directory's Parquet files, without those that writers hide by `_` or `.`."""
    if not path.is_dir():
        return [str(path)]
    return sorted(
        str(file)
        for file in path.rglob("*.parquet")
        if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
    )


def metrics(texts: Iterable[str]) -> list[pf.Metric]:
    """Find metrics by names, given one by one or separated by commas."""
    typed = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not typed:
        msg = "`--metrics` is empty: name at least one, such as `--metrics stat_parity`"
        raise ValueError(msg)
    found = {name: metric(name) for name in typed}
    if len(found) < len(typed) or len({m.name for m in found.values()}) < len(found):
        msg = f"`--metrics {','.join(typed)}` would give two columns of one name: ask one a call"
        raise ValueError(msg)
    return list(found.values())


def metric(text: str) -> pf.Metric:
    """Find ``fairness.precision``, ``stat_parity`` where one family has it, ``ratio(accuracy)``."""
    combined = re.fullmatch(r"(\w+)\((.+)\)", text)
    if combined and combined[1] in COMBINATORS:
        return COMBINATORS[combined[1]](metric(combined[2].strip()))
    if combined:
        hint = suggestion(combined[1], list(COMBINATORS))
        msg = f"{combined[1]!r} compares nothing: {hint}there are {', '.join(COMBINATORS)}"
        raise ValueError(msg)
    found = [m for m in pf.metrics() if text in (m.name, full_name(m))]
    if len(found) == 1:
        return found[0]
    if found:
        choice = " or ".join(map(full_name, found))
        msg = f"{text!r} is a metric of several families: write {choice}"
        raise ValueError(msg)
    names = [name for m in pf.metrics() for name in (m.name, full_name(m))]
    hint = mentions(text) or suggestion(text, names)
    msg = f"no metric is called {text!r}: {hint}`polarsfair metrics` lists all"
    raise ValueError(msg)


def mentions(text: str) -> str:
    """Offer the metrics that explain themselves by `text`: another name of theirs, mostly."""
    words = re.compile(rf"\b{re.escape(text.replace('_', ' '))}\b", re.IGNORECASE)
    docs = {m: (inspect.getdoc(m) or "").partition("References\n")[0] for m in pf.metrics()}
    explained = {m: " ".join(doc.split()) for m, doc in docs.items()}
    places = {m: found.start() for m, doc in explained.items() if (found := words.search(doc))}
    nearest = sorted(places, key=lambda m: places[m])[:3] if len(text) >= SHORTEST else []
    return f"see {', '.join(map(full_name, nearest))}; " if nearest else ""


def member(text: str) -> object:
    """Find a metric, or another public member of a family: a tally, a function, a module."""
    others = [
        member
        for family in FAMILIES
        for name, member in vars(getattr(pf, family)).items()
        if text in (name, f"{family}.{name}") and not isinstance(member, pf.Metric)
    ]
    return others[0] if others and not text.startswith("_") else metric(text)


def full_name(metric: pf.Metric) -> str:
    """Return the name of a metric with its family."""
    return f"{metric.family}.{metric.name}"


def suggestion(text: str, names: Sequence[str]) -> str:
    """Offer the name that looks most like `text`, if any does."""
    close = difflib.get_close_matches(text, names, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def tally(text: str) -> pf.Tally:
    """Find a tally such as ``fairness.decisions``."""
    family, _, name = text.partition(".")
    found = getattr(getattr(pf, family, None), name, None) if name else None
    if isinstance(found, pf.Tally):
        return found
    families = (vars(getattr(pf, family)).values() for family in FAMILIES)
    names = sorted({t.name for members in families for t in members if isinstance(t, pf.Tally)})
    named = [name for name in names if name.partition(".")[2] == text]
    hint = f"did you mean {named[0]!r}? " if named else suggestion(text, names)
    msg = f"no tally is called {text!r}: {hint}there are {', '.join(names)}"
    raise ValueError(msg)


def keys(table: pl.LazyFrame, made_by: pf.Tally) -> list[str]:
    """List the slices and cells of a table: the order to show it in."""
    names = table.collect_schema().names()
    return [name for name in names if name not in made_by.sums_of(names)]


def keywords(
    rows: pl.LazyFrame,
    named: Mapping[str, str | list[str] | None],
    role: list[str] | None,
    option: list[str] | None,
) -> dict[str, Any]:
    """Read roles, with and without a flag of their own, and options."""
    return roles(rows, {**named, **more_roles(role)}) | options(option)


def roles(rows: pl.LazyFrame, texts: Mapping[str, str | list[str] | None]) -> dict[str, Any]:
    """Read roles as columns or SQL expressions over `rows`, or as lakes of their own."""
    given = {name: [text] if isinstance(text, str) else text for name, text in texts.items()}
    return {
        name: scan(text) if name in FRAME_ROLES else role(rows, name, text)
        for name, text in given.items()
        if text
    }


def role(rows: pl.LazyFrame, name: str, texts: list[str]) -> str | pl.Expr | list[str | pl.Expr]:
    """Read a role; a single column is not a list, because a list of groups is an intersection."""
    found = columns(rows, texts)
    if len(found) > 1 and name in ROLES and name not in SEVERAL:
        msg = f"`{name}` takes one column or SQL expression, got {len(found)}: {', '.join(texts)}"
        raise ValueError(msg)
    return found[0] if len(found) == 1 else found


def more_roles(texts: list[str] | None) -> dict[str, list[str]]:
    """Split ``--role user=id``; a role that is repeated is a list of columns."""
    given: dict[str, list[str]] = {}
    for name, text in pairs(texts, "--role"):
        given.setdefault(name, []).append(text)
    return given


def columns(rows: pl.LazyFrame, texts: list[str] | None) -> list[str | pl.Expr]:
    """Read column names, also several with commas between them, and SQL expressions."""
    schema = rows.collect_schema()
    return [column for text in texts or [] for column in _columns(text, schema)]


def _columns(text: str, schema: pl.Schema) -> list[str | pl.Expr]:
    if text in schema:
        return [text]
    # A lone word is a name even when it is not in the schema: the core says what is near it.
    parts = [part.strip() for part in text.split(",")]
    if all(part in schema or part.isidentifier() for part in parts):
        return list(parts)
    try:
        return [pl.sql_expr(text)]
    except PolarsError as error:
        msg = f"{text!r} is neither a column nor a Polars SQL expression: {error}"
        raise ValueError(msg) from None


def reference(text: str, groups: Mapping[str, Any]) -> Any:
    """Read the reference in the dtypes of the group columns, given by name.

    ``M``; ``sex=M,race=white`` for an intersection; ``overall`` and ``rest`` for everyone and
    everyone else. A group that is itself called so is ``sex=overall``.
    """
    parts = _named(text, [*groups, "group"] if len(groups) == 1 else list(groups))
    if not parts and text in EVERYONE:
        return EVERYONE[text]
    if len(groups) == 1:
        ((name, dtype),) = groups.items()
        return value(next(iter(parts.values()), text), dtype, name)
    if set(parts) != set(groups):
        example = ",".join(f"{name}=..." for name in groups)
        msg = f"`--ref {text}` does not name one of the intersections: write `--ref {example}`"
        raise ValueError(msg)
    return {name: value(parts[name], dtype, name) for name, dtype in groups.items()}


def _named(text: str, names: Sequence[str]) -> dict[str, str]:
    """Split ``a=1,b=2`` at the given names, so that values may hold commas and equal signs."""
    pattern = rf"(?:^|,)\s*({'|'.join(map(re.escape, names))})\s*="
    start, *pieces = re.split(pattern, text)
    return {} if start else dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))


def value(text: str, dtype: Any, name: str) -> Any:
    """Read `text` as a value of `dtype`."""
    written = pl.Series([text])
    try:
        if dtype == pl.Boolean:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        if dtype.is_temporal():
            return written.str.strptime(dtype, strict=True).item()
        return written.cast(dtype, strict=True).item()
    except (KeyError, PolarsError):
        msg = f"`--ref {text}` is no value of the group column {name!r}, which is {dtype}"
        raise ValueError(msg) from None


def groups(rows: pl.LazyFrame, group: Any) -> dict[str, Any]:
    """Give the dtype of each group column: one, or one per part of an intersection."""
    if group is None:
        msg = "`--ref` names a group: add `--group COLUMN`"
        raise ValueError(msg)
    schema = rows.select(group).collect_schema()
    ((name, dtype), *others) = schema.items()
    if not others and isinstance(dtype, pl.Struct):
        return {field.name: field.dtype for field in dtype.fields}
    return {name: dtype, **dict(others)}


def pairs(texts: list[str] | None, flag: str) -> list[tuple[str, str]]:
    """Split texts of the form ``name=value``."""
    split = [text.partition("=") for text in texts or []]
    for name, equals, rest in split:
        if not (name.strip() and rest.strip()):
            msg = f"`{flag}` takes NAME=VALUE, got {name + equals + rest!r}"
            raise ValueError(msg)
    return [(name.strip(), rest.strip()) for name, _, rest in split]


def options(texts: list[str] | None) -> dict[str, Any]:
    """Read options, ``alpha=1`` or ``k=[5, 10]``; what is no Python literal is text."""
    return {name: _literal(text) for name, text in pairs(texts, "--option")}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
