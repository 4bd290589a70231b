"""What the schema and the call can tell, said before anything runs."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from polarsfair._engine.evaluate import Metric, Tally

_ROW_SIDE = ("bad",)
"""Columns that tallies make of every row beside its keys and sums."""


def check_keywords(
    given: Collection[str],
    options: Collection[str],
    roles: Collection[str],
    where: str,
    ignored: Collection[str] = (),
) -> None:
    """Raise for a keyword that is neither a role nor an option; `ignored` ones change nothing."""
    for name in given:
        if name in options or name in roles or name in ignored:
            continue
        close = difflib.get_close_matches(name, [*options, *roles], n=1)
        hint = f"did you mean `{close[0]}=`? " if close else ""
        msg = (
            f"{where} take no role or option `{name}`: {hint}"
            f"the roles are {', '.join(sorted(roles)) or 'none'},"
            f" the options {', '.join(sorted(options)) or 'none'}"
        )
        raise TypeError(msg)


def check_roles(
    metrics: Sequence[Metric], given: Mapping[str, Any], frames: Collection[str]
) -> None:
    """Raise for the first role that a metric needs and the caller did not give.

    `frames` are the roles that are no columns but frames.
    """
    for metric in metrics:
        for role in metric.roles:
            if role not in given:
                example = "<frame>" if role in frames else '"<column>"'
                msg = f"`{metric.name}` needs the role `{role}`: add `{role}={example}`"
                raise TypeError(msg)


def check_class(ref: Any, group: object) -> None:
    """Raise for a reference that is none of the classes of a group given as probabilities."""
    if not isinstance(group, Mapping) or ref is None or isinstance(ref, enum.Enum):
        return
    if ref not in list(group):
        msg = f"`ref={ref!r}` is not among the classes of `group`, which are: {list(group)}"
        raise ValueError(msg)


def check_names(metrics: Sequence[Metric], slices: Sequence[str]) -> None:
    """Raise where two columns of the result would have one name, or rows different keys."""
    names = [metric.name for metric in metrics]
    keys = {metric.result_keys() for metric in metrics}
    check_distinct([*names, *slices, *max(keys, key=len)])
    if len(keys) > 1:
        msg = f"these metrics give frames with different keys {sorted(keys)}: ask one kind a call"
        raise ValueError(msg)


def check_distinct(columns: Sequence[str]) -> None:
    """Raise where two columns of the result would have one name."""
    for name in columns:
        if columns.count(name) > 1:
            msg = f'two columns would be called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)


def slice_names(by: Sequence[pl.Expr], tally: Tally) -> list[str]:
    """Name the slices, and raise where a name is taken."""
    sums = tally.sums(()) if callable(tally.sums) else tally.sums
    taken = {*tally.cells, *tally.roles, *tally.optional, *sums, tally.size, *_ROW_SIDE}
    names = [column.meta.output_name() for column in by]
    for name in names:
        if name in taken or name.startswith("|"):
            msg = (
                f"a slice may not be called {name!r}, which {tally.name} uses itself:"
                f' rename it, `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)
        if names.count(name) > 1:
            msg = f'two slices are called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)
    return names


def check_alike(schemas: Sequence[pl.Schema]) -> None:
    """Raise where a column is of another kind in one table: ages beside names become texts."""
    first: dict[str, pl.DataType] = {}
    for schema in schemas:
        for name, dtype in schema.items():
            other = first.setdefault(name, dtype)
            if _kind(other) is None:
                first[name] = dtype
            elif _kind(dtype) not in (None, _kind(other)):
                msg = (
                    f"{name!r} is {other} in one of the tables and {dtype} in another: measure them"
                    " one by one, or cast them alike"
                )
                raise SchemaError(msg)


def _kind(dtype: pl.DataType) -> str | None:
    """Say what dtypes that go together have in common; None goes with all."""
    if dtype == pl.Null:
        return None
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    return "number" if dtype.is_numeric() else str(dtype.base_type())


def check_table(metrics: Sequence[Metric], schema: pl.Schema) -> None:
    """Raise when a stored table cannot serve the metrics."""
    columns = schema.names()
    for metric in metrics:
        if not metric.tally.mergeable:
            msg = f"`{metric.name}` needs a second pass over the rows: use `evaluate` on them"
            raise ValueError(msg)
        missing = metric.tally.lacks(columns, metric.cells_read)
        if missing:
            msg = (
                f"`{metric.name}` reads a table of `{metric.tally.name}`, and this one has no"
                f" column {', '.join(map(repr, missing))} (it has {list(columns)}): make it with"
                f" `{metric.tally.name}(frame, {'=..., '.join(metric.roles)}=...)`"
            )
            raise ValueError(msg)
        size = metric.tally.size
        if not schema[size].is_numeric():
            msg = f"{size!r} of a table of `{metric.tally.name}` is a number; here {schema[size]}"
            raise TypeError(msg)
