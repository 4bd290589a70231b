"""Parsing what was typed on the command line into frames, expressions and metrics.

Only this module turns names into objects. If it cannot, it raises `ValueError` or an `OSError`
with a message that says what to type.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.datatypes import TemporalType
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._cli import flags, sql
from polarsfair._engine.catalog import FAMILIES
from polarsfair._engine.columns import check_columns, columns_of
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polarsfair._typing import IntoSlices

COMBINATORS = {
    "difference": pf.difference,
    "ratio": pf.ratio,
    "group_min": pf.group_min,
    "group_max": pf.group_max,
}
SEVERAL = ("group", "features")
"""Roles that may have several columns; every other role has one."""

SHORTEST = 4
"""The fewest letters of a word that is searched for in docstrings."""

DEEPEST = 9
"""The most comparisons in each other that are parsed. One is all that has a meaning."""

RESERVED = frozenset(("by", "frame", "metrics", "table"))
"""Parameters of `evaluate` and `measure` that are neither roles nor options."""

REFERENCES = {"overall": pf.OVERALL, "rest": pf.REST}
"""References that are not one of the groups."""


def metrics(texts: Iterable[str]) -> list[pf.Metric]:
    """Find metrics by name. A text may hold several names, separated by commas."""
    typed = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not typed:
        msg = "`--metrics` is empty: name at least one, such as `--metrics stat_parity`"
        raise ValueError(msg)
    found = {name: metric(name) for name in typed}
    if len(found) < len(typed) or len({m.name for m in found.values()}) < len(found):
        msg = (
            f"`--metrics {','.join(typed)}` would produce two columns with the same name: request"
            " them in separate calls"
        )
        raise ValueError(msg)
    return list(found.values())


def metric(text: str) -> pf.Metric:
    """Find a metric: ``stat_parity``, ``ratio(accuracy)``, or with its family ``ranking.f1``."""
    if text.count("(") > DEEPEST:
        msg = f"`--metrics` has {text.count('('):,} comparisons in each other: write only one"
        raise ValueError(msg)
    combined = re.fullmatch(r"(\w+)\((.+)\)", text)
    if combined and combined[1] in COMBINATORS:
        return COMBINATORS[combined[1]](metric(combined[2].strip()))
    if combined:
        hint = suggestion(combined[1], list(COMBINATORS))
        msg = f"{combined[1]!r} is not a comparison: {hint}use one of {', '.join(COMBINATORS)}"
        raise ValueError(msg)
    found = [m for m in pf.metrics() if text in (m.name, full_name(m))]
    if len(found) == 1:
        return found[0]
    if found:
        choice = " or ".join(map(full_name, found))
        msg = f"several families have a metric called {text!r}: write {choice}"
        raise ValueError(msg)
    names = [name for m in pf.metrics() for name in (m.name, full_name(m))]
    hint = mentions(text) or suggestion(text, names)
    msg = f"there is no metric called {text!r}: {hint}`polarsfair metrics` lists all metrics"
    raise ValueError(msg)


def mentions(text: str) -> str:
    """Suggest the metrics whose docstrings contain `text`, often as another name."""
    words = re.compile(rf"\b{re.escape(text.replace('_', ' '))}\b", re.IGNORECASE)
    docs = {m: (inspect.getdoc(m) or "").partition("References\n")[0] for m in pf.metrics()}
    explained = {m: " ".join(doc.split()) for m, doc in docs.items()}
    starts = {m: found.start() for m, doc in explained.items() if (found := words.search(doc))}
    first = sorted(starts, key=lambda m: starts[m])[:3] if len(text) >= SHORTEST else []
    return f"see {', '.join(map(full_name, first))}; " if first else ""


def member(text: str) -> object:
    """Find a metric, or another public member of a family: a tally, a function, a module."""
    others = [
        member
        for family in FAMILIES
        for name, member in vars(getattr(pf, family)).items()
        if text in (name, f"{family}.{name}") and not isinstance(member, pf.Metric)
    ]
    hidden = text.rpartition(".")[2].startswith("_")
    return others[0] if others and not hidden else metric(text)


def full_name(metric: pf.Metric) -> str:
    """Return the name of a metric with its family."""
    return f"{metric.family}.{metric.name}"


def suggestion(text: str, names: Sequence[str]) -> str:
    """Suggest the name that is most similar to `text`, if one is."""
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
    msg = f"there is no tally called {text!r}: {hint}the tallies are {', '.join(names)}"
    raise ValueError(msg)


def keys(table: pl.LazyFrame, tally: pf.Tally) -> list[str]:
    """List the columns by which a table is sorted: its slices and cells."""
    names = table.collect_schema().names()
    return [name for name in names if name not in tally.sums_of(names)]


def keywords(
    rows: pl.LazyFrame,
    texts: Mapping[str, list[str]],
    frames: Mapping[str, pl.LazyFrame],
    option: list[str] | None,
) -> dict[str, Any]:
    """Parse the roles, which are columns or SQL expressions over `rows`, and the options."""
    columns = {
        name: role(rows, name, text) for name, text in texts.items() if name not in FRAME_ROLES
    }
    return {**columns, **frames, **options(option)}


def role_texts(
    named: Mapping[str, str | list[str] | None], role: list[str] | None
) -> dict[str, list[str]]:
    """Return what was typed for each role, with and without a flag of its own."""
    listed = {name: [text] if isinstance(text, str) else text for name, text in named.items()}
    given = {name: texts for name, texts in listed.items() if texts}
    more = more_roles(role)
    twice = next((name for name in more if name in given), None)
    if twice is not None:
        msg = f"`--{twice}` and `--role {twice}=...` name the same role: write one of them"
        raise ValueError(msg)
    return {**given, **more}


def role(rows: pl.LazyFrame, name: str, texts: list[str]) -> str | pl.Expr | list[str | pl.Expr]:
    """Parse a role. A single column is not returned as a list, which would be an intersection."""
    found = columns(rows, texts)
    if len(found) > 1 and name in ROLES and name not in SEVERAL:
        msg = f"`{name}` takes one column or SQL expression, got {len(found)}: {', '.join(texts)}"
        raise ValueError(msg)
    return found[0] if len(found) == 1 else found


def more_roles(texts: list[str] | None) -> dict[str, list[str]]:
    """Parse ``--role user=id``. If a role is repeated, its texts are collected."""
    given: dict[str, list[str]] = {}
    for name, text in pairs(texts, "--role"):
        given.setdefault(name, []).append(text)
    return given


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


def options(texts: list[str] | None) -> dict[str, Any]:
    """Parse options, ``alpha=1`` or ``k=[5, 10]``. A value that is not a Python literal is text."""
    found: dict[str, Any] = {}
    for name, text in pairs(texts, "--option"):
        if name in ROLES:
            msg = f"{name!r} is a role, not an option: write `{flags.flag(name, text)}`"
            raise ValueError(msg)
        if name in found:
            msg = f"`--option {name}` is given twice: write it once, a list as `{name}=[1, 2]`"
            raise ValueError(msg)
        found[name] = _literal(text)
    return found


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
