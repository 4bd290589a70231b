"""Parsing what was typed on the command line into columns, expressions and options.

`polarsfair._cli._typed.names` finds metrics. If it cannot, it raises `ValueError` or an `OSError`
with a message that says what to type.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.datatypes import TemporalType
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._cli import flags, sql
from polarsfair._engine.columns import check_columns, columns_of
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from polarsfair._typing import IntoSlices

SEVERAL = ("group", "features", "user")
"""Roles that may have several columns; every other role has one."""

RESERVED = frozenset(("by", "frame", "metrics", "table"))
"""Parameters of `evaluate` and `measure` that are neither roles nor options."""

REFERENCES = {"overall": pf.OVERALL, "rest": pf.REST}
"""References that are not one of the groups."""


def keys(table: pl.LazyFrame, tally: pf.Tally) -> list[str]:
    """List the columns by which a table is sorted: its slices and cells."""
    names = table.collect_schema().names()
    return [name for name in names if name not in tally.sums_of(names)]


def keywords(
    rows: pl.LazyFrame,
    texts: Mapping[str, list[str]],
    frames: Mapping[str, pl.LazyFrame],
    options: Mapping[str, Any],
    lists: Collection[str] = SEVERAL,
) -> dict[str, Any]:
    """Parse the roles, which are columns or SQL expressions over `rows`, and add the options.

    `lists` are those that may have several columns.
    """
    several = {*SEVERAL, *lists}
    columns = {
        name: role(rows, name, text, several)
        for name, text in texts.items()
        if name not in FRAME_ROLES
    }
    return {**columns, **frames, **options}


def role(
    rows: pl.LazyFrame, name: str, texts: list[str], several: Collection[str] = SEVERAL
) -> str | pl.Expr | list[str | pl.Expr]:
    """Parse a role. A single column is not returned as a list, which would be an intersection."""
    found = columns(rows, texts)
    if len(found) > 1 and name not in several:
        msg = f"`{name}` takes one column or SQL expression, got {len(found)}: {', '.join(texts)}"
        raise ValueError(msg)
    return found[0] if len(found) == 1 else found


def columns(rows: pl.LazyFrame, texts: list[str] | None) -> list[str | pl.Expr]:
    """Parse column names, several of them separated by commas, and SQL expressions."""
    schema = rows.collect_schema()
    return [column for text in texts or [] for column in _columns(text, schema)]


def _columns(text: str, schema: pl.Schema) -> list[str | pl.Expr]:
    parts = split(text, schema)
    plain = len(parts) > 1 or parts[0] in schema or parts[0].isidentifier()
    return list(parts) if plain else [sql.expression(text)]


def split(text: str, schema: pl.Schema) -> list[str]:
    """Split names that are separated by commas. A column or an SQL expression stays whole."""
    if text in schema:
        return [text]
    # A single word is a name even if the schema lacks it: the engine then suggests a similar one.
    parts = [part.strip() for part in text.split(",")]
    return parts if all(part in schema or part.isidentifier() for part in parts) else [text]


def as_typed(
    rows: pl.LazyFrame, texts: Mapping[str, list[str]]
) -> tuple[dict[str, str | list[str]], list[str]]:
    """Return the roles that are columns, and the slices, as text, one per column."""
    schema = rows.collect_schema()
    parts = {
        name: [part for text in listed for part in split(text, schema)]
        for name, listed in texts.items()
        if name not in FRAME_ROLES
    }
    slices = parts.pop("by", [])
    return {name: found[0] if len(found) == 1 else found for name, found in parts.items()}, slices


def reference(text: str, groups: Mapping[str, pl.DataType]) -> object:
    """Parse the reference as a value of the group columns; `groups` maps their names to dtypes.

    The text is ``M``, or ``sex=M,race=white`` for an intersection, or ``overall`` for all rows, or
    ``rest`` for all other rows. A group whose name is literally that is ``sex=overall``.
    """
    parts = _split_at(text, [*groups, "group"] if len(groups) == 1 else list(groups))
    if not parts and text in REFERENCES:
        return REFERENCES[text]
    if len(groups) == 1:
        ((name, dtype),) = groups.items()
        return value(next(iter(parts.values()), text), dtype, name)
    if set(parts) != set(groups):
        example = ",".join(f"{name}=..." for name in groups)
        msg = f"`--ref {text}` is not one of the intersections: write `--ref {example}`"
        raise ValueError(msg)
    return {name: value(parts[name], dtype, name) for name, dtype in groups.items()}


def _split_at(text: str, names: Sequence[str]) -> dict[str, str]:
    """Split ``a=1,b=2`` at the given names. Values may contain commas and equal signs."""
    pattern = rf"(?:^|,)\s*({'|'.join(map(re.escape, names))})\s*="
    start, *pieces = re.split(pattern, text)
    return {} if start else dict(zip(pieces[::2], map(str.strip, pieces[1::2]), strict=True))


def value(text: str, dtype: pl.DataType, name: str) -> object:
    """Parse `text` as a value of the group column `name`."""
    typed = pl.Series([text])
    try:
        if dtype == pl.Boolean:
            return {"true": True, "false": False, "1": True, "0": False}[text.lower()]
        if isinstance(dtype, TemporalType):
            return typed.str.strptime(dtype, strict=True).item()
        return typed.cast(dtype, strict=True).item()
    except (KeyError, PolarsError):
        msg = f"`--ref {text}` is not a value of the group column {name!r} (dtype {dtype})"
        raise ValueError(msg) from None


def groups(rows: pl.LazyFrame, group: IntoSlices | None) -> dict[str, pl.DataType]:
    """Return the dtype of each group column: one, or one per part of an intersection."""
    if group is None:
        msg = "`--ref` needs a group column: add `--group COLUMN`"
        raise ValueError(msg)
    check_columns(rows, {"group": columns_of(group, "group")})
    schema = rows.select(group).collect_schema()
    ((name, dtype), *others) = schema.items()
    if not others and isinstance(dtype, pl.Struct):
        return dict(pl.Schema(dtype.to_schema()))
    return {name: dtype, **dict(others)}


def pairs(texts: list[str] | None, flag: str) -> list[tuple[str, str]]:
    """Split texts of the form ``name=value`` into pairs."""
    split = [text.partition("=") for text in texts or []]
    for name, equals, rest in split:
        if not (name.strip() and rest.strip()):
            msg = f"`{flag}` takes NAME=VALUE, got {name + equals + rest!r}"
            raise ValueError(msg)
        if name.strip() in RESERVED:
            instead = f": write `{flags.flag('by', rest.strip())}`" if name.strip() == "by" else ""
            msg = f"{name.strip()!r} is neither a role nor an option{instead}"
            raise ValueError(msg)
    return [(name.strip(), rest.strip()) for name, _, rest in split]


def options(texts: list[str] | None, k: list[str] | None = None) -> dict[str, Any]:
    """Parse options, ``alpha=1`` or ``k=[5, 10]``. A value that is not a Python literal is text.

    `k` is what ``-k`` was given, ``5,10``.
    """
    found: dict[str, Any] = {} if not k else {"k": depths(k)}
    for name, text in pairs(texts, "--option"):
        if name in ROLES:
            msg = f"{name!r} is a role, not an option: write `{flags.flag(name, text)}`"
            raise ValueError(msg)
        if name in found:
            msg = f"`--option {name}` is given twice: write it once, a list as `{name}=[1, 2]`"
            if k and name == "k":
                msg = "`-k` and `--option k=...` set the same option: write one of them"
            raise ValueError(msg)
        found[name] = _literal(text)
    return found


def depths(texts: list[str]) -> int | list[int | None] | None:
    """Parse depths, ``5,10``; ``all`` is the whole list."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if not all(part == "all" or re.fullmatch(r"[0-9]{1,18}", part) for part in parts):
        msg = f"`-k {','.join(texts)}` is not a list of whole numbers: write `-k 5,10`"
        raise ValueError(msg)
    found = [None if part == "all" else int(part) for part in parts]
    return found[0] if len(found) == 1 else found


def with_reference(
    keywords: Mapping[str, Any], ref: str | None, rows: pl.LazyFrame, group: IntoSlices | None
) -> dict[str, Any]:
    """Add the reference, if one was typed, to the keywords of a call."""
    if ref is None:
        return dict(keywords)
    if "ref" in keywords:
        msg = "`--ref` and `--option ref=...` set the same option: write one of them"
        raise ValueError(msg)
    return {**keywords, "ref": reference(ref, groups(rows, group))}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
