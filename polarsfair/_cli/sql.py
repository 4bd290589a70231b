r"""SQL on the command line: expressions over the columns of a frame, and nothing else.

Polars opens the file of ``(SELECT ... FROM read_csv('...'))`` while it parses the text, so a query
must be found before Polars sees it. A second parser would read another grammar than Polars does,
and the difference would be a gap. This module reads words only, which is enough: every query
contains SELECT, FROM, WITH or VALUES outside quotes, and in an expression these words have few
uses. Text whose quotes Polars might read in another way (``E'\''``, ``$$``) is refused.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl
from polars.exceptions import PolarsError

LONGEST = 2000
"""The most words and signs of an expression. Polars overflows its stack at about 15,000."""

TOKENS = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<string>'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`[^`]*`)
    |(?P<word>(?:[^\W\d]|[@\#])[\w@$\#]*)
    |(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    |(?P<sign>[-+*/%<>=!~|&^()\[\]{},.:;?])""",
    re.VERBOSE,
)
PREFIXES = frozenset("e n r u q nq rb br".split())
"""Letters before a quote that change where the text ends; Polars has no such literals."""

WITH_FROM = frozenset("extract substring substr trim overlay".split())
"""Functions that are written with FROM: ``EXTRACT(year FROM day)``."""

QUERIES = frozenset("select from with values".split())
"""Words that every query contains one of."""

READERS = re.compile(r"(read|scan)_\w+|glob", re.IGNORECASE)
"""Functions that read files."""


class Token(NamedTuple):
    """A word, sign or literal of the text; `text` of a word is in lower case."""

    kind: str
    text: str


def expression(text: str) -> pl.Expr:
    """Parse an SQL expression over columns. Nothing is opened, whatever the text is."""
    check_expression(text)
    try:
        return pl.sql_expr(text)
    except (PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        msg = f"{text!r} is neither a column nor a Polars SQL expression: {reason}"
        raise ValueError(msg) from None


def is_column(name: str) -> bool:
    """Return whether SQL reads `name`, without quotes, as the column of that name."""
    if re.fullmatch(r"[^\W\d]\w*", name) is None:
        return False
    try:
        return pl.sql_expr(name).meta.eq(pl.col(name))
    except PolarsError:
        return False


def check_expression(text: str) -> None:
    """Raise if the text could be more than an expression: a subquery, or a read of a file."""
    tokens = _tokens(text)
    if len(tokens) > LONGEST:
        msg = (
            f"an SQL expression of {len(tokens):,} words and signs is too long (at most"
            f" {LONGEST:,}): store it as a column of the lake"
        )
        raise ValueError(msg)
    for at, found in enumerate(_refused(tokens)):
        if found:
            word = tokens[at].text.strip('"`')
            msg = (
                f"{text!r} is not an expression over the columns of the lake ({word.upper()} starts"
                " a query or reads a file): name a column, or write an expression such as"
                ' "score > 0.5"'
            )
            raise ValueError(msg)


def _tokens(text: str) -> list[Token]:
    """Split the text as Polars does, and raise where Polars might split it otherwise."""
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = TOKENS.match(text, at)
        kind = found.lastgroup if found else None
        if found is None or kind is None:
            msg = (
                f"{text!r} is not an SQL expression: {text[at]!r} is unexpected; write text in"
                " single quotes, and names with special characters in double quotes"
            )
            raise ValueError(msg)
        if kind == "comment":
            at = _after_comment(text, at)
            continue
        if kind == "string" and at and _prefix(tokens, text, at):
            msg = f"{text!r} has a letter before a quote: write text in plain single quotes"
            raise ValueError(msg)
        if kind != "space":
            tokens.append(Token(kind, found[0].lower()))
        at = found.end()
    return tokens


def _after_comment(text: str, at: int) -> int:
    """Return where a comment ends; comments may be nested."""
    depth = 0
    for found in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if found[0] == "/*" else -1
        if not depth:
            return at + found.end()
    msg = f"{text!r} is not an SQL expression: its comment does not end"
    raise ValueError(msg)


def _prefix(tokens: list[Token], text: str, at: int) -> bool:
    touching = re.search(r"([\w@$#]+)&?$", text[:at])
    return bool(tokens) and touching is not None and touching[1].lower() in PREFIXES


def _refused(tokens: list[Token]) -> list[bool]:
    """Mark the words that make more of the text than an expression."""
    around: list[str] = []
    """For every open bracket, the function that it belongs to, or nothing."""
    marks = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        after = tokens[at + 1].text if at + 1 < len(tokens) else ""
        if token.text == "(":
            around.append(before if at and tokens[at - 1].kind == "word" else "")
        elif token.text == ")" and around:
            around.pop()
        marks.append(_starts_query(token, before, after, around) or _reads(token, after))
    return marks


def _starts_query(token: Token, before: str, after: str, around: list[str]) -> bool:
    if token.kind != "word" or before in (".", "as"):
        return False
    if token.text == "from" and before != "(":
        return before != "distinct" and not (around and around[-1] in WITH_FROM)
    return token.text in QUERIES and not (token.text == "with" and after == "time")


def _reads(token: Token, after: str) -> bool:
    """Return whether a token is the call of a function that reads files."""
    called = token.kind in ("word", "name") and after == "("
    return called and READERS.fullmatch(token.text.strip('"`')) is not None
