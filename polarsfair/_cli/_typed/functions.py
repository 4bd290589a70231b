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
from polarsfair._engine.request import unread_roles
from polarsfair._typing import FAMILIES, ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from polarsfair._engine.metric import Metric

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
    def lists(self) -> list[str]:
        """The parameters that take several columns."""
        return [n for n in self.columns if any(w in self.annotations[n] for w in SEVERAL)]


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
    parameters = list(signature.parameters.values())
    if not parameters or "Frame" not in str(parameters[0].annotation) or not _is_frame(signature):
        return None
    rest = parameters[1:]
    named = [one for one in rest if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    return Function(
        name=name,
        call=function,
        annotations={one.name: str(one.annotation) for one in named},
        needed=tuple(one.name for one in named if one.default is one.empty),
        open=len(named) < len(rest),
    )


def _is_frame(signature: inspect.Signature) -> bool:
    return "Frame" in str(signature.return_annotation)


def function(text: str) -> Function:
    """Find a function by its name, with or without its family."""
    known = functions()
    found = [one for name, one in known.items() if text in (name, name.partition(".")[2])]
    if len(found) == 1:
        return found[0]
    names = [*known, *(name.partition(".")[2] for name in known)]
    same = [name for name in unknown.elsewhere(text) if name in known]
    close = same or difflib.get_close_matches(text, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"they are {', '.join(known)}"
    if found:
        hint = f"write {' or '.join(one.name for one in found)}"
    msg = f"no function called {text!r} returns a frame: {hint}"
    raise ValueError(msg)


def check(function: Function, given: Collection[str], *, metrics: bool, by: bool) -> None:
    """Raise for what a function needs and was not typed, and for options that it does not take."""
    typed = {*given, *["metrics"] * metrics, *["by"] * by}
    for name in function.needed:
        if name not in typed:
            msg = f"`{function.name}` needs `{_as_python(function, name)}`"
            raise ValueError(msg)
    for name in typed:
        known = name in {*function.annotations, *ROLES, *extra_columns()}
        if not known and not (function.open and name not in ("metrics", "by")):
            advice = unknown.keyword_advice(name, function.annotations, ())
            msg = (
                f"`{function.name}` takes no `{name}`: {advice}"
                f"it takes {', '.join(function.annotations)}"
            )
            raise ValueError(msg)


def unread(function: Function, metrics: Sequence[Metric], given: Mapping[str, Any]) -> list[str]:
    """List the roles that neither a function nor the metrics that it evaluates read."""
    found = unread_roles(metrics, given)
    named = {*ROLES, *extra_columns()} & {*given} if not function.open else found
    return [name for name in given if name in named and name not in function.annotations]


def _as_python(function: Function, name: str) -> str:
    """Return a parameter as messages write it; the command line makes a flag of it."""
    if name == "metrics":
        return "--metrics NAME"
    return f'{name}="<column>"' if name in function.columns else f"{name}=<frame>"


@functools.cache
def extra_columns() -> dict[str, str]:
    """Return the columns that functions take and that are no roles, each with who takes it."""
    found: dict[str, list[str]] = {}
    for one in functions().values():
        for name in one.columns:
            if name != "by" and name not in ROLES:
                found.setdefault(name, []).append(one.name)
    return {name: f"Columns of {', '.join(takers)}." for name, takers in found.items()}


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
    return pl.DataFrame(
        rows, schema=dict.fromkeys(("metric", "family", "name", "summary"), pl.String)
    )
