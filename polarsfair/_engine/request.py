"""What a call requests: variants, the table that serves all metrics, options, and checks.

These checks need only the arguments and the schema. They raise before any data is read.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polarsfair._engine.metric import Metric, Variant, leaves
from polarsfair._engine.slices import shown_n
from polarsfair._engine.tally import Tally, check_distinct

if TYPE_CHECKING:
    import polars as pl


def listed_metrics(metrics: object) -> list[Metric]:
    listed: list[Any] = [metrics]
    if isinstance(metrics, Iterable) and not isinstance(metrics, str):
        listed = list(metrics)
    if not listed:
        msg = "`metrics` is empty: name at least one, such as `[fairness.stat_parity]`"
        raise ValueError(msg)
    for metric in listed:
        if not isinstance(metric, Metric):
            msg = (
                f"`metrics` takes metric objects, got {metric!r}: pass the object"
                ' `fairness.stat_parity`, not the string "stat_parity" or a number'
            )
            raise TypeError(msg)
    return listed


def variant_for(metric: Metric, given: Mapping[str, Any]) -> Metric:
    """Return the variant that the caller's roles or options need, else the metric itself."""
    options = {**given, **metric.fixed}
    needed = (variant.metric for variant in metric.variants if variant.when(options))
    return next(needed, metric)


def on_one_table(metrics: list[Metric], given: Mapping[str, Any]) -> list[Metric]:
    """If some metrics need a variant's table, let the others read that table too."""
    tallies = {metric.tally for metric in metrics}
    moved = [
        next((v.metric for v in _equal(metric, given) if v.metric.tally in tallies), metric)
        for metric in metrics
    ]
    return moved if len(tallies) > 1 and len({m.tally for m in moved}) == 1 else metrics


def _equal(metric: Metric, options: Mapping[str, Any]) -> list[Variant]:
    """List the variants that would return the same value."""
    return [variant for variant in metric.variants if variant.answers(metric, options)]


def variant_on(metric: Metric, columns: Sequence[str], options: Mapping[str, Any]) -> Metric:
    """Return the metric, or the variant of it, that a table with these columns can serve."""
    for candidate in (metric, *(variant.metric for variant in _equal(metric, options))):
        if not candidate.tally.lacks(columns, candidate.cells_read):
            return candidate
    return metric


def shared_tally(metrics: Sequence[Metric]) -> Tally:
    """Return the tally whose table all metrics can read."""
    tallies = list(dict.fromkeys(metric.tally for metric in metrics))
    for candidate in tallies:
        if all(candidate is other or other in candidate.contains for other in tallies):
            return candidate
    named = {tally.name: [m.name for m in metrics if m.tally is tally] for tally in tallies}
    msg = (
        "these metrics are computed from different tables; call `evaluate` once for each group of"
        f" metrics: {named}"
    )
    raise ValueError(msg)


def all_options(metrics: Sequence[Metric]) -> list[str]:
    """List every option that any of the metrics takes."""
    return list(dict.fromkeys(name for metric in metrics for name in metric.option_names))


def tally_options(
    tally: Tally, metrics: Sequence[Metric], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return, per option of the tally, the distinct values that the metrics need."""
    asked: dict[str, Any] = {}
    for name in tally.option_names:
        values = [m.option(name) for m in leaves(metrics) if name in m.option_names]
        distinct = [v for i, v in enumerate(values) if v not in values[:i]]
        if len(distinct) > 1 and name in tally.single:
            msg = (
                f"these metrics need different values of `{name}`, {distinct}, and one call"
                " supports only one: split the call"
            )
            raise ValueError(msg)
        if distinct:
            asked[name] = distinct[0] if len(distinct) == 1 else distinct
        elif name in given:
            asked[name] = given[name]
    return asked


def check_roles(
    metrics: Sequence[Metric], given: Mapping[str, Any], frames: Collection[str]
) -> None:
    """Raise for the first role that a metric needs and the caller did not pass.

    `frames` are the roles that are frames, not columns.
    """
    for metric in metrics:
        for role in metric.roles:
            if role not in given:
                example = "<frame>" if role in frames else '"<column>"'
                msg = f"`{metric.name}` needs the role `{role}`: add `{role}={example}`"
                raise TypeError(msg)


def check_class(ref: Any, group: object) -> None:
    """Raise if the reference is not a class of a group that is given as probabilities."""
    if not isinstance(group, Mapping) or ref is None or isinstance(ref, enum.Enum):
        return
    if ref not in list(group):
        msg = f"`ref={ref!r}` is not among the classes of `group`, which are: {list(group)}"
        raise ValueError(msg)


def check_names(metrics: Sequence[Metric], slices: Sequence[str], *, counts: bool = False) -> None:
    """Raise if two columns of the result would have the same name, or metrics differ in keys."""
    if not isinstance(counts, bool):
        msg = f"`counts` is True or False, got {counts!r}"
        raise TypeError(msg)
    columns = [*(metric.name for metric in metrics), *slices, *check_one_kind(metrics)]
    columns += [shown_n(metric.name) for metric in metrics if counts]
    if len(set(columns)) < len(columns):
        check_distinct(columns)


def check_one_kind(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the key columns that all metrics have; raise if they differ."""
    keys = {metric.result_keys for metric in metrics}
    if len(keys) > 1:
        msg = (
            f"these metrics return frames with different key columns, {sorted(keys)}: evaluate each"
            " kind in its own call"
        )
        raise ValueError(msg)
    return keys.pop()


def check_table(metrics: Sequence[Metric], schema: pl.Schema) -> None:
    """Raise if a stored table cannot serve the metrics."""
    columns = schema.names()
    for metric in metrics:
        if not metric.tally.mergeable:
            msg = (
                f"`{metric.name}` cannot be read from a stored table, because it needs a second"
                " pass over the rows: call `evaluate` on the rows"
            )
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
            msg = (
                f"{size!r} of a `{metric.tally.name}` table must be a number: it is {schema[size]}"
            )
            raise TypeError(msg)
