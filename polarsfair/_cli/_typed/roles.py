"""A flag for every role, and the check that every role that was typed is read."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

PANEL = "Roles"
"""What the help puts the flags of roles under."""

HELP = {
    "group": "The group column; several, separated by commas, form an intersection.",
    "pred": 'The decision: a column or an SQL expression such as "score > 0.5".',
    "features": "Columns of features, separated by commas.",
}
"""Help of roles that the command line takes in a form of its own."""


def flag(name: str) -> str:
    """Return the flag of a role."""
    return f"--{name.replace('_', '-')}"


def with_roles(
    more: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, which takes all roles as the mapping `roles`, a flag for each of them.

    `more` are columns that are no roles and have a flag as well, with its help.
    """
    return functools.partial(_with_roles, {} if more is None else more)


def _with_roles(more: Mapping[str, str], command: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "roles"]
    added = [_parameter(name, _option(name, words)) for name, words in {**ROLES, **more}.items()]
    gone = _parameter("role", typer.Option("--role", hidden=True))

    @functools.wraps(command)
    def with_flags(**given: Any) -> None:
        check_gone(given.pop("role"))
        texts = {parameter.name: given.pop(parameter.name) for parameter in added}
        command(**given, roles={name: listed for name, listed in texts.items() if listed})

    shown = signature.replace(parameters=[*own, *added, gone])
    annotations = {parameter.name: parameter.annotation for parameter in [*own, *added, gone]}
    vars(with_flags).update(__signature__=shown, __annotations__=annotations)
    return with_flags


def _parameter(name: str, option: Any) -> inspect.Parameter:
    texts = Annotated[list[str] | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=texts)


def _option(name: str, words: str) -> Any:
    said = " ".join(words.split()).replace("or expression", "or SQL")
    metavar = "LAKE" if name in FRAME_ROLES else "COLUMN"
    return typer.Option(
        flag(name), help=HELP.get(name, said), metavar=metavar, rich_help_panel=PANEL
    )


def check_gone(typed: Sequence[str] | None) -> None:
    """Raise for the flag that once passed any role: every role has its own."""
    for text in typed or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if name in ROLES:
            instead = f"{flag(name)} {value or 'COLUMN'}"
            msg = f"every role has a flag of its own: write `{instead}` for `--role {text}`"
        else:
            listed = ", ".join(map(flag, ROLES))
            msg = f"`--role {name}{equals}` names no role: every role has a flag, {listed}"
        raise ValueError(msg)


def check_read(
    roles: Mapping[str, Sequence[str]], unread: Collection[str], what: str, *, rates: bool = False
) -> None:
    """Raise for a role that was typed and is not read: nothing is shared between commands.

    Of `rates`, there is a command that reads a group.
    """
    for name in unread:
        by_group = f"polarsfair by-group LAKE --metrics {what} --group {','.join(roles[name])}"
        instead = f", or write `{by_group}`" if name == "group" and rates else ""
        msg = f"`{flag(name)}` is not read by {what}: leave it out{instead}"
        raise ValueError(msg)
