"""What a call requests: variants, the tables that serve the metrics, options, and checks.

These checks need only the arguments and the schema. They raise before any data is read.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from polarsfair._engine.metric import Metric, Variant, leaves
from polarsfair._engine.slices import shown_n
from polarsfair._engine.tally import Tally, check_distinct, given_roles
from polarsfair._engine.unknown import is_frame, metric_error
from polarsfair._typing import ROLES

if TYPE_CHECKING:
    import polars as pl


def listed_metrics(metrics: object) -> list[Metric]:
    listed: list[Any] = [metrics]
    if isinstance(metrics, Mapping):
        msg = '`metrics` takes a list, got a mapping: rename a metric by `.alias("...")`'
        raise TypeError(msg)
    if isinstance(metrics, Iterable) and not isinstance(metrics, str) and not is_frame(metrics):
        listed = list(metrics)
    if not listed:
        msg = "`metrics` is empty: name at least one, such as `[fairness.stat_parity]`"
        raise ValueError(msg)
    for metric in listed:
        if not isinstance(metric, Metric):
            raise metric_error(metric)
    return listed


def variant_for(metric: Metric, given: Mapping[str, Any]) -> Metric:
    """Return the variant that the caller's roles or options need, else the metric itself."""
    options = {**given, **metric.fixed}
    needed = (variant.metric for variant in metric.variants if variant.when(options))
    return next(needed, metric)


class Served(NamedTuple):
    """Metrics that read one table, and the tally that counts it."""

    tally: Tally
    metrics: list[Metric]


def tables_for(metrics: Sequence[Metric], *, lists_split: bool = False) -> list[Served]:
    """Group metrics by the table that serves them, in the order of the call.

    A table holds one value of an option that is `Tally.single`. If the group splits lists, metrics
    that read it have a table apart from those that do not: their lists are other ones.
    """
    found: list[Served] = []
    tallies = list(dict.fromkeys(metric.tally for metric in metrics))
    for metric in metrics:
        tally = _richest(metric.tally, tallies)
        for one in found:
            like = not lists_split or _by_group(one.metrics[0]) == _by_group(metric)
            if one.tally is tally and like and _fit(tally, [*one.metrics, metric]):
                one.metrics.append(metric)
                break
        else:
            found.append(Served(tally, [metric]))
    return [Served(_plainest(one), one.metrics) for one in found]


def _richest(tally: Tally, tallies: Sequence[Tally]) -> Tally:
    """Return the one of the tallies whose table serves the metrics of `tally` and of others."""
    richest = [one for one in tallies if not any(one in other.contains for other in tallies)]
    return next((one for one in richest if tally in one.contains), tally)


def _plainest(served: Served) -> Tally:
    """Return the poorest tally whose table serves the metrics, which may be a richer one's."""
    own = list(dict.fromkeys(metric.tally for metric in served.metrics))
    enough = (one for one in own if all(other is one or other in one.contains for other in own))
    return next(enough, served.tally)


def _by_group(metric: Metric) -> bool:
    """Return whether a list of the metric's table is that of a user's group."""
    return metric.tally.group_splits and "group" in metric.roles


def _fit(tally: Tally, metrics: Sequence[Metric]) -> bool:
    """Return whether one table can hold what all of the metrics request."""
    return all(len(_values_of(name, metrics)) < 2 for name in tally.single)


def _values_of(option: str, metrics: Sequence[Metric]) -> list[Any]:
    """List the distinct values that the metrics need of an option."""
    values = [m.option(option) for m in leaves(metrics) if option in m.option_names]
    return [value for i, value in enumerate(values) if value not in values[:i]]


def on_few_tables(metrics: list[Metric], given: Mapping[str, Any]) -> list[Metric]:
    """If some metrics need a variant's table, let others read that table too, if it saves theirs.

    A metric takes the table of a variant only if the variant answers the same question.
    """
    for tally in dict.fromkeys(metric.tally for metric in metrics):
        others = {metric.tally for metric in metrics} - {tally}
        if not others:
            return metrics
        moved = [
            next((v.metric for v in _equal(one, given) if v.metric.tally in others), one)
            if one.tally is tally
            else one
            for one in metrics
        ]
        if len(tables_for(moved)) < len(tables_for(metrics)):
            metrics = moved
    return metrics


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
    """Return the tally whose stored table all metrics can read."""
    tallies = list(dict.fromkeys(metric.tally for metric in metrics))
    for candidate in tallies:
        if all(candidate is other or other in candidate.contains for other in tallies):
            return candidate
    named = {tally.name: [m.name for m in metrics if m.tally is tally] for tally in tallies}
    msg = (
        f"these metrics read tables of different tallies, {named}: pass a mapping from each tally"
        f" to its tables, `{{{', '.join(f'{tally.name}: ...' for tally in tallies)}}}`"
    )
    raise ValueError(msg)


def tables_of(
    tables: Mapping[Any, object], metrics: Sequence[Metric], options: Mapping[str, Any]
) -> list[Served]:
    """Group metrics by the stored table that serves them, in the order of the tables."""
    for tally in tables:
        if not isinstance(tally, Tally):
            msg = (
                f"`table` maps tallies to their tables, and {tally!r} is not a tally: pass the"
                " object, such as `{fairness.decisions: table}`"
            )
            raise TypeError(msg)
    found = {tally: Served(tally, []) for tally in tables}
    for metric in metrics:
        found[_table_of(metric, list(tables), options)].metrics.append(metric)
    for tally, served in found.items():
        if not served.metrics:
            msg = (
                f"no metric reads the table of `{tally.name}`: leave it out, or add a metric of it"
            )
            raise ValueError(msg)
    return list(found.values())


def _table_of(metric: Metric, tallies: Sequence[Tally], options: Mapping[str, Any]) -> Tally:
    """Return the tally whose stored table serves a metric: its own, a richer or a variant's."""
    forms = [variant_for(metric, options), metric, *(v.metric for v in _equal(metric, options))]
    for form in forms:
        richer = [tally for tally in tallies if form.tally in tally.contains]
        for tally in [form.tally, *richer]:
            if tally in tallies:
                return tally
    name = forms[0].tally.name
    msg = f"`{metric.name}` reads a table of `{name}`, which is not given: add `{name}: <table>`"
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
        distinct = _values_of(name, metrics)
        if len(distinct) > 1 and name in tally.single:
            msg = (
                f"`{metrics[0].name}` compares values with different `{name}`, {distinct}, and one"
                f" table holds only one: bind one `{name}` in all that it compares"
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
    """Raise for the first metric that needs roles which the caller did not pass.

    `frames` are the roles that are frames, not columns.
    """
    for metric in metrics:
        if missing := [role for role in metric.roles if role not in given]:
            what = "role" if len(missing) == 1 else "roles"
            named = ", ".join(f"`{role}`" for role in missing)
            values = ("<frame>" if role in frames else '"<column>"' for role in missing)
            typed = ", ".join(map("{}={}".format, missing, values))
            msg = f"`{metric.name}` needs the {what} {named}: add `{typed}`"
            raise TypeError(msg)


HONEST = ("strata", "propensity", "surrogate", "unit")
"""Roles that change a value and not its shape: at least one metric must read them."""


def reads(metric: Metric, role: str) -> bool:
    """Return whether a role changes the metric's value.

    Cells that rows may lack, such as the label of a selection rate, do not change it. The cells of
    lists are not columns of the rows, except the group.
    """
    tally = metric.tally
    optional = {"group"} if tally.together else {"group", *tally.cells, *tally.known}
    return role in metric.roles or (role in tally.roles and role not in optional)


def unread_roles(
    metrics: Sequence[Metric], given: Mapping[str, Any], *, grouped: bool = False
) -> list[str]:
    """List the roles of a call that none of its metrics reads; `grouped` if all are by group.

    In Python they may be given, so that one set of keywords serves many calls (see `check_read`).
    """
    given = given_roles(given)
    chosen = [variant_for(metric, given) for metric in metrics]
    roles = [role for role in given if role in ROLES and not (grouped and role == "group")]
    return [role for role in roles if not any(reads(metric, role) for metric in chosen)]


def check_read(metrics: Sequence[Metric], given: Mapping[str, Any]) -> None:
    """Raise if a role that changes a value, and not its shape, is not read.

    Every metric must read `weight`; one of them must read each role of `HONEST`. Other roles may go
    unread.
    """
    if "weight" in given:
        others = [metric.name for metric in metrics if not reads(metric, "weight")]
        if others:
            some = len(others) < len(metrics)
            instead = ", or evaluate these metrics in a call without it" if some else ""
            msg = f"`weight` is not read by {_listed(others)}: leave out `weight=...`{instead}"
            raise TypeError(msg)
    for role in HONEST:
        if role in given and not any(reads(metric, role) for metric in metrics):
            names = _listed([metric.name for metric in metrics])
            msg = f"`{role}` is not read by {names}: leave out `{role}=...`"
            raise TypeError(msg)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


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
    columns = [*(metric.name for metric in metrics), *slices, *keys_of(metrics)]
    columns += [shown_n(metric.name) for metric in metrics if counts]
    if len(set(columns)) < len(columns):
        check_distinct(columns)


def keys_of(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the key columns of the result; raise if metrics have other keys of the data.

    ``k`` is a key if any metric is requested at several: the others are repeated at each.
    """
    if len({metric.keys for metric in metrics}) > 1:
        named = {metric.name: list(metric.keys) for metric in metrics}
        msg = (
            f"these metrics return rows with different key columns, {named}: evaluate metrics with"
            " different keys in separate calls"
        )
        raise ValueError(msg)
    return max((metric.result_keys for metric in metrics), key=len)


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
