"""Rewriting error messages for the command line: flags and SQL instead of Python.

The library's messages show in backticks what to type in Python. Only that code is rewritten; the
prose around it may change.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import polarsfair as pf
from polarsfair._aliases import keyword
from polarsfair._cli import sql
from polarsfair._cli._typed import roles
from polarsfair._cli._typed.functions import extra_columns
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from collections.abc import Collection

OWN_FLAGS = frozenset("by ref option metrics tally out overwrite dir rows".split())
"""Names with a flag of their own, as every role has. Options are passed by `--option`."""

DEPTH = "k"
"""The option that has a flag of one letter."""

SQL = (
    (r'"(\w+)"', r"\1"),
    (r"\(\.\.\.\)(.*)", r"...\1"),
    (r'(.+) == "([^"]*)"', r"\1 = '\2'"),
    (r"(.+) == (\d+)", r"\1 = \2"),
    (r"(.+)\.is_not_null\(\)", r"\1 IS NOT NULL"),
    (r"(.+)\.fill_null\(0\)", r"COALESCE(\1, 0)"),
    (r"(.+)\.fill_nan\(None\)", r"CASE WHEN ABS(\1) < 1e308 THEN \1 END"),
    (r"(.+)\.cast\(pl\.Float64\)", r"CAST(\1 AS DOUBLE)"),
    (r"(.+)\.cast\(pl\.Int64\)", r"CAST(\1 AS BIGINT)"),
    (r"(.+)\.cast\(pl\.String\)", r"CAST(\1 AS VARCHAR)"),
    (r"(.+)\.cast\(pl\.(\w+)\)", r"CAST(\1 AS \2)"),
    (r'(.+)\.alias\("([^"]+)"\)', r"\1 AS \2"),
)
"""Expressions as messages write them in Python, and the same in SQL."""

BARE = (
    (r"\w+\.with_columns\((?:\w+=)?(.+)\)", r"\1"),
    (r"(pl\.col\(.+\)\.fill_nan\(None\))", r"features=\1"),
    (r'\.alias\("\.\.\."\)', "AS name"),
    (r'\w+\.unique\("([^"]+)"\)', r"DISTINCT ON (\1)"),
)
"""Python that is not a keyword of a call, and what to use instead."""

PLACEHOLDERS = ("", "...", "[...]", '"<column>"', "<frame>")
"""How messages write a value that the caller has to fill in."""


def as_flags(message: str) -> str:
    """Rewrite the Python code in the backticks of a message as flags."""
    same_dtype = ": a column must have the same dtype in all files of a lake"
    message = re.sub(r", hint: pass cast_options=.*", same_dtype, message)
    return re.sub(r"`([^`]+)`", lambda code: f"`{_typed(code[1])}`", message)


def _typed(code: str) -> str:
    """Return what to type instead of Python code. Names and flags stay as they are."""
    if code.startswith(("--", "polarsfair ", "python -c ")):
        return code
    if call := re.fullmatch(r"(\w+\.\w+)\(frame, ([^)]*)\)", code):
        return _command(call[1], re.findall(r"(\w+)=", call[2]))
    for python, instead in BARE:
        code = re.sub(f"^{python}$", instead, code)
    keywords = [re.fullmatch(r"(\w+)=(?!=)(.*)", part) for part in re.split(r", (?=\w+=)", code)]
    found = [_flag(one[1], _value(*one.groups())) for one in keywords if one and _is_flag(one[1])]
    return "` and `".join(found) if len(found) == len(keywords) else _sql(code)


def _command(tally: str, names: list[str]) -> str:
    """Return the command that makes the table of a tally."""
    typed = " ".join(_flag(role, _placeholder(role)) for role in names)
    return f"polarsfair tally LAKE --tally {tally} {typed} --out FILE"


def _is_flag(name: str) -> bool:
    return name in OWN_FLAGS or name in _columns() or name in _options()


def _columns() -> set[str]:
    """Return the roles, and the columns that functions take."""
    return {*ROLES, *extra_columns()}


def _options() -> set[str]:
    return {name for metric in pf.metrics() for name in metric.option_names}


def _placeholder(name: str) -> str:
    return "LAKE" if name in FRAME_ROLES else "COLUMN" if name in {*_columns(), "by"} else "VALUE"


def _value(name: str, python: str) -> str:
    """Return the value of a keyword as the command line reads it."""
    if python in PLACEHOLDERS and (name in ROLES or python != "[...]"):
        return _placeholder(name)
    if text := re.fullmatch(r"'([^']*)'|\"([^\"]*)\"", python):
        return text[1] or text[2] or ""
    if name == "ref" and python.startswith("{"):
        parts = re.findall(r"""['"]([^'"]+)['"]: ('[^']*'|[^,}]+)""", python)
        return ",".join(f"{part}={group.strip(chr(39))}" for part, group in parts)
    if name == DEPTH:
        return re.sub(r"[\[\] ]", "", python).replace("None", "all")
    if name not in ROLES and name != "by":
        return python
    # A list of columns is written with commas.
    parts = re.split(r", (?![^(]*\))", re.sub(r"^\[(.*)\]$", r"\1", python))
    return ",".join(_sql(part) for part in parts if part != "..." or len(parts) == 1)


def _sql(python: str) -> str:
    """Return an expression as SQL, if it is of a kind that messages show."""
    python = re.sub(r'(?:pl\.)?col\("([^"]+)"\)', lambda column: _identifier(column[1]), python)
    python = python.replace("pl.col(...)", "...")
    for pattern, written in SQL:
        python = re.sub(f"^{pattern}$", written, python)
    return python


def _identifier(name: str) -> str:
    """Return the name of a column in SQL, in double quotes if it needs them."""
    plain = name == "..." or sql.is_column(name)
    return name if plain else f'"{name}"'


def _flag(name: str, value: str) -> str:
    """Return the flag that passes a role or an option, quoted for a shell if necessary."""
    if name == DEPTH:
        return f"-k {_quoted(value)}"
    if name in OWN_FLAGS or name in _columns():
        return f"{roles.flag(name)} {_quoted(value)}"
    return f"--option {_quoted(f'{name}={value}')}"


def flag(name: str, texts: str | list[str], *, option: bool = False) -> str:
    """Return what to type for a role, for slices, or for an option, with these texts."""
    listed = [texts] if isinstance(texts, str) else texts
    if not option:
        return " ".join(f"{roles.flag(name)} {_quoted(text)}" for text in listed)
    return " ".join(f"--option {_quoted(f'{name}={text}')}" for text in listed)


def _quoted(words: str) -> str:
    if re.fullmatch(r"[\w.,=-]+", words):
        return words
    return shlex.quote(words) if set(words) & set('"$\\') else f'"{words}"'


def unknown(message: str, known: Collection[str], commands: Collection[str]) -> str:
    """Return what to type instead of what a command line does not know."""
    if found := re.fullmatch(r"No such command '(.*)'\.(?: Did you mean .*)?", message, re.DOTALL):
        return f"{found[1]!r} is not a command: use one of {', '.join(commands)}"
    if found := re.fullmatch(r"No such option: (-[^-])", message, re.DOTALL):
        what = f"{found[1]!r} is not an option, which all but -k begin with `--`"
        return f"{what}: write a file whose name begins with - as `./-FILE`"
    return _unknown_flag(message, known).removesuffix(".")


def _unknown_flag(message: str, known: Collection[str]) -> str:
    """Return how to pass an option, or a role by its name elsewhere, that was typed as a flag."""
    found = re.fullmatch(r"No such option: --([\w-]+)(.*)", message)
    name = found[1].replace("-", "_") if found else ""
    if name in ROLES and "--metrics" in known and "--pred" not in known:
        count = where_known(f"`{_flag(name, _placeholder(name))}`", known)
        return f"`--{name}` is not an option, because a table has its roles: count another, {count}"
    # A flag that begins like it, such as `--metrics` for `--metric`, is the better hint.
    guessed = bool(found and f"--{found[1]}" in found[2])
    own = keyword(name)
    if own is not None and own != "recs" and name not in _options():
        name, guessed = own, False
    if name in OWN_FLAGS - {own} or name not in ({own} if guessed else {own, *_options()}):
        return message
    advice = _flag(name, _placeholder(name))
    if advice.split()[0] not in known:
        return message
    return f"`--{found[1] if found else name}` is not an option: write `{advice}`"


def where_known(message: str, known: Collection[str]) -> str:
    """Put flags that a command lacks into the command that has them: a table has its roles."""

    def placed(code: re.Match[str]) -> str:
        if code[2] in known or code[2] not in map(roles.flag, ROLES):
            return code[0]
        return f"`polarsfair tally LAKE {code[1]} --out FILE`"

    return re.sub(r"`((--[\w-]+)[^`]*)`", placed, message)
