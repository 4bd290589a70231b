"""What to say of a name that is not ours, or of a call that is written as elsewhere.

Nothing is resolved: every message names what to write. Families are imported only when a message is
made, and so is the table of names elsewhere.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from polarsfair._typing import FAMILIES, FRAME_ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

CLOSE = 0.7
"""How similar a name must be to be suggested, from 0 to 1."""


def public(family: str) -> dict[str, Any]:
    """Return the public functions, metrics and tallies of a family by name."""
    members = vars(importlib.import_module(f"polarsfair.{family}"))
    return {
        name: member
        for name, member in sorted(members.items())
        if not name.startswith("_") and str(getattr(member, "__module__", "")).startswith("polars")
    }


def homes(text: str) -> list[str]:
    """List our names, with their families, for a name of ours or one from elsewhere."""
    family, _, name = text.rpartition(".")
    own = [f"{one}.{name}" for one in FAMILIES if name in public(one) and family in ("", one)]
    return own or elsewhere(name)


def elsewhere(name: str) -> list[str]:
    """List our names for a name from elsewhere, or those that differ from it in case alone."""
    from polarsfair import _aliases

    listed = [full for full in _aliases.ours(name) if _exists(full)]
    folded = _aliases.fold(name)
    own = [f"{f}.{one}" for f in FAMILIES for one in public(f) if _aliases.fold(one) == folded]
    return listed or own


def _exists(full: str) -> bool:
    family, _, name = full.partition(".")
    if family == "pf":
        return hasattr(importlib.import_module("polarsfair"), name)
    return name in vars(importlib.import_module(f"polarsfair.{family}"))


def near(text: str, families: Iterable[str] = FAMILIES) -> list[str]:
    """Return the most similar name of ours, of these families, or what it is here; else nothing."""
    import difflib

    from polarsfair import _aliases

    own = {name: f"{family}.{name}" for family in families for name in public(family)}
    other = {
        name: full
        for full, names in _aliases.NAMES.items()
        for name in names.split()
        if full.partition(".")[0] in families and _exists(full)
    }
    known = {**other, **own}
    close = difflib.get_close_matches(text.rpartition(".")[2], known, n=1, cutoff=CLOSE)
    return [known[name] for name in close]


def advice(text: str, family: str | None = None) -> str:
    """Return what to write for a name, its own family first; empty if nothing is like it."""
    from polarsfair import _aliases

    found = [*elsewhere(text), *homes(text)]
    found = [full for full in found if full.startswith(f"{family}.")] or homes(text)
    if not found:
        close = near(text, FAMILIES if family is None else [family])
        return f"did you mean `{close[0]}`?" if close else ""
    more = "" if text in [full.partition(".")[2] for full in found] else _aliases.hint(text)
    return f"write {' or '.join(f'`{full}`' for full in found)}{f' ({more})' if more else ''}"


def getattr_of(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a family, which says what a name that it lacks is here."""

    def refuse(name: str) -> NoReturn:
        raise attribute_error(module, name)

    return refuse


def attribute_error(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks."""
    msg = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(msg)
    family = module.partition(".")[2] or None
    said = advice(name, family) or "`pf.catalog()` lists every metric"
    return AttributeError(f"{msg}: {said}")


def keyword_advice(name: str, options: Collection[str], roles: Collection[str]) -> str:
    """Return what to write for a keyword that is not taken: its role here, or the nearest one."""
    import difflib

    from polarsfair import _aliases

    own = _aliases.keyword(name)
    if own is not None and own in {*options, *roles, "by"}:
        return f"write `{own}=`; "
    if close := difflib.get_close_matches(name, [*options, *roles], n=1):
        return f"did you mean `{close[0]}=`? "
    if own == "recs":
        return "recommendations are the first frame; "
    return "" if own is None else f"`{own}` is its name here, and it is not taken; "


def check_parameters(function: Callable[..., object], given: Collection[str]) -> None:
    """Raise for a keyword that a function which returns a frame does not take."""
    names = _parameters(function)
    for name in given if names else ():
        if name not in names:
            asked = keyword_advice(name, names, ())
            msg = (
                f"`{name}` is not a role or an option of `{function.__name__}`: {asked}"
                f"it takes {', '.join(sorted(names))}"
            )
            raise TypeError(msg)


@functools.cache
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    """Return the names of the parameters after the frame; none if there may be any others."""
    first, *parameters = inspect.signature(function).parameters.values()
    taken = frozenset(() if first.kind is first.POSITIONAL_ONLY else (first.name,))
    others = {p.name for p in parameters}
    return taken | others if all(p.kind is not p.VAR_KEYWORD for p in parameters) else frozenset()


def text_advice(text: str) -> str:
    """Return what to write for a metric that is given as text: the object, with its roles."""
    found = [full for full in homes(text) or near(text) if not full.startswith("pf.")]
    if not found:
        return 'pass the object `fairness.stat_parity`, not the string "stat_parity" or a number'
    metrics = {full: public(full.partition(".")[0]).get(full.partition(".")[2]) for full in found}
    shown = [f"`{full}`{_taking(metric)}" for full, metric in metrics.items()]
    return f"pass the object {' or '.join(shown)}, not a string"


def _taking(metric: Any) -> str:
    roles = getattr(metric, "roles", ())
    return f", which takes {', '.join(f'`{role}=`' for role in roles)}" if roles else ""


def is_frame(value: object) -> bool:
    """Return whether a value is a frame of any library; a column of one is not."""
    if isinstance(value, (pl.DataFrame, pl.LazyFrame)):
        return True
    column = type(value).__name__ in ("Series", "ChunkedArray", "Index")
    return hasattr(value, "__arrow_c_stream__") and not column


def call_error(metric: Any, given: Sequence[object]) -> TypeError:
    """Return the error for a metric that is called with arrays, names, or too many frames."""
    own = public(metric.family).get(metric.name) is metric
    name = f"{metric.family}.{metric.name}" if own else metric.name
    frames = ["df"] if not metric.tally.frames else ["recs", *metric.tally.frames]
    roles = [role for role in metric.roles if role not in frames]
    values = ("<frame>" if role in FRAME_ROLES else '"<column>"' for role in roles)
    named = [f"{role}={value}" for role, value in zip(roles, values, strict=True)]
    example = f"`{name}({', '.join([*frames, *named])})`"
    kinds = ", ".join(type(value).__name__ for value in given)
    what = "a frame" if len(frames) == 1 else f"{len(frames)} frames"
    msg = (
        f"`{name}` takes {what} by position and columns by name, got {kinds}: {_wrap(given[0])}"
        f"write {example}"
    )
    return TypeError(msg)


def _wrap(first: object) -> str:
    """Return how the first argument becomes a frame, if it is not one."""
    if is_frame(first):
        return ""
    if isinstance(first, str) or hasattr(first, "__fspath__"):
        return f"read the file with `pl.scan_parquet({str(first)!r})` and "
    return "wrap the data in `pl.DataFrame({...})`, a column each, and "
