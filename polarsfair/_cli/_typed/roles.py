"""A flag for every role, and the check that every role that was typed is read."""

from __future__ import annotations

import functools
import inspect
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from polarsfair._cli._typed.functions import extra_columns
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


class FrameCommand(TyperCommand):
    """A command with flags for the columns that functions take and that are no roles.

    They are found in the families, which are imported only when the command is called.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """List the parameters, those that are found included."""
        return [*super().get_params(ctx), *_found_flags()]

    def invoke(self, ctx: Any) -> Any:
        """Run the command; its context holds the columns that were typed for found flags.

        The function of the command was declared without these flags, and Typer does not pass them.
        """
        ctx.obj = {str(one.name): ctx.params.pop(one.name) for one in _found_flags()}
        return super().invoke(ctx)


@functools.cache
def _found_flags() -> tuple[Any, ...]:
    found = [_parameter(name, _option(name, words)) for name, words in extra_columns().items()]

    def taking(**_: object) -> None: ...

    annotations = {one.name: one.annotation for one in found}
    vars(taking).update(__signature__=inspect.Signature(found), __annotations__=annotations)
    other = typer.Typer(add_completion=False)
    other.command()(taking)
    return tuple(typer.main.get_command(other).params)


def with_roles(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, which takes all roles as the mapping `roles`, a flag for each of them."""
    signature = inspect.signature(command)
    own = [parameter for name, parameter in signature.parameters.items() if name != "roles"]
    added = [_parameter(name, _option(name, words)) for name, words in ROLES.items()]
    taken = {parameter.name for parameter in own}
    gone = _parameter("role", typer.Option("--role", hidden=True))
    context = inspect.Parameter("context", gone.kind, annotation=typer.Context)

    @functools.wraps(command)
    def with_flags(context: typer.Context, **given: Any) -> None:
        check_gone(given.pop("role"))
        texts = {name: given.pop(name) for name in [*given] if name not in taken}
        texts |= {name: list(listed) for name, listed in (context.obj or {}).items() if listed}
        command(**given, roles={name: listed for name, listed in texts.items() if listed})

    every = [*own, *added, gone, context]
    shown = signature.replace(parameters=every)
    annotations = {parameter.name: parameter.annotation for parameter in every}
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
        typed = " ".join(f"{flag(name)} {shlex.quote(text)}" for text in roles[name])
        by_group = f"polarsfair by-group LAKE --metrics {what} {typed}"
        instead = f", or write `{by_group}`" if name == "group" and rates else ""
        msg = f"`{flag(name)}` is not read by {what}: leave it out{instead}"
        raise ValueError(msg)
