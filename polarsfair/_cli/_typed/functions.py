"""The functions of the families that return a frame, such as `fairness.roc`, and what they take.

They are found in the families, and what each of their parameters is, is read off its annotation.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polarsfair._engine import unknown
from polarsfair._typing import FAMILIES, ROLES

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = ("IntoColumn", "IntoFeatures", "IntoGroup", "IntoSlices")
"""What annotations of columns contain."""

SEVERAL = ("Sequence", "IntoFeatures", "IntoGroup", "IntoSlices")
"""What annotations of lists of columns contain."""


class Function(NamedTuple):
    """A public function that returns a frame.

    Attributes
    ----------
    name
        With its family: ``fairness.roc``.
    call
        The function.
    annotations
        What each parameter after the frame is.
    needed
        The parameters without a default.
    open
        Whether it passes further roles or options on.
    """

    name: str
    call: Callable[..., Any]
    annotations: dict[str, str]
    needed: tuple[str, ...]
    open: bool

    @property
    def columns(self) -> list[str]:
        """The parameters that are columns, roles or not."""
        return [name for name, said in self.annotations.items() if said.startswith(COLUMNS)]

    @property
    def takes_metrics(self) -> bool:
        """Whether metrics are evaluated."""
        return "metrics" in self.annotations

    @property
    def roles(self) -> set[str]:
        """The roles that are parameters of its own."""
        return {name for name in self.annotations if name in ROLES}

    def is_list(self, name: str) -> bool:
        """Return whether a parameter takes several columns."""
        return any(word in self.annotations.get(name, "") for word in SEVERAL)


@functools.cache
def functions() -> dict[str, Function]:
    """Return every function of the families that takes and returns a frame, by its full name."""
    found = (
        _described(f"{family}.{name}", member)
        for family in FAMILIES
        for name, member in unknown.public(family).items()
        if inspect.isfunction(member)
    )
    return {one.name: one for one in found if one is not None}


def _described(name: str, function: Callable[..., Any]) -> Function | None:
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values() or [None]
    if first is None or not all("Frame" in str(x) for x in (first.annotation, _returned(signature))):
        return None
    named = [one for one in rest if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    return Function(
        name=name,
        call=function,
        annotations={one.name: str(one.annotation) for one in named},
        needed=tuple(one.name for one in named if one.default is one.empty),
        open=len(named) < len(rest),
    )


def _returned(signature: inspect.Signature) -> object:
    return signature.return_annotation


def function(text: str) -> Function:
    """Find a function by its name, with or without its family."""
    known = functions()
    found = [one for name, one in known.items() if text in (name, name.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    names = [*known, *(name.partition(".")[2] for name in known)]
    same = [name for name in unknown.elsewhere(text) if name in known]
    close = same or difflib.get_close_matches(text, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    if found:
        hint = f"write {' or '.join(one.name for one in found)}; "
    msg = f"no function called {text!r} returns a frame: {hint}they are {', '.join(known)}"
    raise ValueError(msg)


def extra_columns() -> list[str]:
    """List the columns that functions take and that are no roles, such as `clusters`."""
    names = (name for one in functions().values() for name in one.columns if name != "by")
    return list(dict.fromkeys(name for name in names if name not in ROLES))


def catalog() -> pl.DataFrame:
    """Return the functions as rows of a catalogue: name, family and summary."""
    rows = [
        {
            "metric": name,
            "family": name.partition(".")[0],
            "name": name.partition(".")[2],
            "summary": (inspect.getdoc(one.call) or "").partition("\n\n")[0].replace("\n", " "),
        }
        for name, one in functions().items()
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("metric", "family", "name", "summary"), pl.String))
