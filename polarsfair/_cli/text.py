"""Text that is safe to print: names come from data, and a terminal obeys control characters."""

from __future__ import annotations

import unicodedata

UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that move, hide or reorder text instead of showing something."""

JOINERS = "\u200c\u200d"
"""Characters of these categories that Persian, Hindi and emoji are written with."""

SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escaped(text: str) -> str:
    r"""Return `text` with every control character written as an escape, such as ``\x1b``.

    That includes line breaks, the second control block (C1), marks that change the direction of
    writing, and halves of surrogate pairs, which cannot be encoded.

    Examples
    --------
    >>> print(escaped("red \x1b[31m, \u202etxt.exe, two\nlines"))
    red \x1b[31m, \u202etxt.exe, two\nlines
    """
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    if unicodedata.category(character) not in UNSEEN or character in JOINERS:
        return character
    code = ord(character)
    wide = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else wide)
