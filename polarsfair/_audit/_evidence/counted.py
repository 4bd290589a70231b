"""What is counted for an audit: every rate once, in tables whose slices are the attributes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polarsfair._audit._evidence.question import SLICED, UNIT_SLICED
from polarsfair._audit._evidence.units import UNIT, known_units, without_units
from polarsfair._audit.attributes import few_groups
from polarsfair._engine.columns import as_column, check_anywhere
from polarsfair._engine.evaluate import prepare, prepare_stored, stored_tables
from polarsfair._engine.frames import as_lazy, read_once
from polarsfair._engine.metric import as_they_are
from polarsfair._engine.reference import GROUP
from polarsfair._engine.request import check_names, listed_metrics, shared_tally, variant_for
from polarsfair._engine.slices import hidden, hidden_slices
from polarsfair._engine.tables import of_one_kind
from polarsfair._engine.tally import given_roles
from polarsfair._typing import FRAME_ROLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from polarsfair._audit._evidence.question import Question
    from polarsfair._engine.evaluate import Call
    from polarsfair._engine.metric import Metric
    from polarsfair._engine.tally import Tally


@dataclass(frozen=True)
class Asked:
    """A metric of the caller: its place, and the values that it is read from.

    Attributes
    ----------
    metric
        As the caller has it.
    place
        Its place in the order of the call.
    values
        The names of the values that it compares; of a rate its own.
    """

    metric: Metric
    place: int
    values: tuple[str, ...]

    @property
    def count(self) -> str:
        """The name of what the metric counts in one group, if it counts something of its own."""
        return hidden("count", self.place)

    @property
    def compares(self) -> bool:
        """Whether the metric compares groups."""
        return bool(self.metric.bases) or of_all_groups(self.metric)


@dataclass(frozen=True)
class Part:
    """Metrics of one table with the same keys, which are read together.

    Attributes
    ----------
    table
        The table, with hidden names of slices and attributes.
    tally
        The tally whose lines it has.
    values
        The metrics that are read for every group, under the names in `Asked.values`.
    asked
        The metrics of the caller that are made of them.
    everything
        All metrics that are read in the call, for their keys.
    by_unit
        The lines of the table by sampling unit, if there are units.
    """

    table: pl.LazyFrame
    tally: Tally
    values: tuple[Metric, ...]
    asked: tuple[Asked, ...]
    everything: tuple[Metric, ...]
    by_unit: pl.LazyFrame | None = None

    @property
    def counts(self) -> dict[str, Metric]:
        """What comparisons count in one group, as metrics of the lines of their first value."""
        own = {metric.name: metric for metric in self.values}
        return {
            one.count: replace(
                own[one.values[0]], name=one.count, formula=one.metric.n, n=None, check=None
            )
            for one in self.asked
            if one.compares and not of_all_groups(one.metric) and callable(one.metric.n)
        }


@dataclass(frozen=True)
class Counted:
    """All parts of a call, and how its slices are called by the caller."""

    parts: list[Part]
    slices: dict[str, str]
    call: Call


def attribute(number: int) -> str:
    """Name the column of an attribute."""
    return hidden("attribute", number)


def of_all_groups(metric: Metric) -> bool:
    """Return whether a metric is one number of all groups, which no values of groups make."""
    return GROUP in metric.roles and (not metric.bases or metric.view is not as_they_are)


@dataclass(frozen=True)
class Plan:
    """The metrics of a call, taken apart into values that are read for every group."""

    metrics: list[Metric]
    values: list[Metric]
    places: list[tuple[int, ...]]
    """For every metric, the places of its values."""
    forms: list[Metric]
    """The metrics as this call needs them: variants, with its options."""

    def counting(self) -> list[Metric]:
        """Return the values as they are counted: without a group, because attributes are slices."""
        return [replace(one, roles=_but_group(one), bases=()) for one in self.values]


def taken_apart(metrics: Metric | Sequence[Metric], given: Mapping[str, Any]) -> Plan:
    """List the metrics of a call, and the distinct values that they are made of."""
    listed = listed_metrics(metrics)
    values: list[Metric] = []
    places, forms = [], []
    seen: dict[tuple[object, ...], int] = {}
    for metric in listed:
        form = variant_for(metric, given)
        if form.bases or of_all_groups(form):
            _check_free(form)
        form = form.resolve(given) if form.bases else form
        own = []
        for value in (form,) if of_all_groups(form) else form.bases or (form,):
            same = (value.tally, value.formula, value.n, value.view, repr(dict(value.options)))
            if same not in seen:
                seen[same] = len(values)
                values.append(value)
            own.append(seen[same])
        places.append(tuple(own))
        forms.append(form)
    return Plan(listed, values, places, forms)


def _check_free(metric: Metric) -> None:
    if metric.options.get("ref") is not None:
        msg = (
            f"`{metric.name}` has `ref` bound, and an audit sets it for every attribute: write"
            " `ref=...` in the call"
        )
        raise ValueError(msg)


def _but_group(metric: Metric) -> tuple[str, ...]:
    return tuple(role for role in metric.roles if role != GROUP)


def counted_rows(
    frame: Any,
    metrics: Metric | Sequence[Metric],
    by: Sequence[pl.Expr],
    attributes: Sequence[pl.Expr],
    question: Question,
    keywords: Mapping[str, Any],
) -> Counted:
    """Count the rows of a call, once per table."""
    given = {name: read_once(value) for name, value in given_roles(keywords).items()}
    unit = _unit_column(given.pop("unit", None))
    frame = read_once(frame)
    check_anywhere(
        [frame, *(given[role] for role in FRAME_ROLES if role in given)],
        {
            **dict.fromkeys(["unit"] * bool(unit), unit),
            **{"group" if i == 0 else f"group[{i}]": c for i, c in enumerate(attributes)},
        },
    )
    plan = taken_apart(metrics, given)
    columns = [*by, *_sliced(attributes), *unit]
    return _counted(prepare(frame, plan.counting(), columns, given), plan, question)


def counted_tables(
    table: Any,
    metrics: Metric | Sequence[Metric],
    by: Sequence[pl.Expr],
    attributes: Sequence[pl.Expr],
    question: Question,
    options: Mapping[str, Any],
) -> Counted:
    """Merge the stored tables of a call, whose slices are the attributes."""
    options = dict(options)
    unit = _unit_column(options.pop("unit", None))
    _check_unit(unit, stored_tables(table))
    plan = taken_apart(metrics, options)
    columns = [*by, *_sliced(attributes), *unit]
    return _counted(prepare_stored(table, plan.counting(), columns, options), plan, question)


def _unit_column(unit: Any) -> list[pl.Expr]:
    return [] if unit is None else [as_column(unit, "unit").alias(UNIT_SLICED)]


def _check_unit(unit: Sequence[pl.Expr], tables: Sequence[Any]) -> None:
    """Raise if a stored table was not counted by unit."""
    for name in (name for column in unit for name in column.meta.root_names()):
        for table in tables:
            if name not in as_lazy(table).collect_schema():
                msg = (
                    f"the table was not counted by unit: it has no column {name!r}; count it with"
                    f' the unit as a slice, `by=[..., "{name}"]`'
                )
                raise ValueError(msg)


def _sliced(attributes: Sequence[pl.Expr]) -> list[pl.Expr]:
    return [column.alias(SLICED.format(i)) for i, column in enumerate(attributes)]


def _counted(call: Call, plan: Plan, question: Question) -> Counted:
    """Hide the names of slices and attributes, and put metrics together that are read together."""
    many = len(question.attributes)
    inner = hidden_slices(call.slices[: len(call.slices) - many - question.unit])
    check_names(plan.metrics, list(inner))
    for metric in plan.forms:
        _check_rolled(metric, question)
    hiding = {**inner, **{SLICED.format(i): attribute(i) for i in range(many)}}
    hiding |= {UNIT_SLICED: UNIT} if question.unit else {}
    parts = []
    for request in of_one_kind(call.requests):
        table = few_groups(
            request.table.rename(hiding),
            list(inner.values()),
            [attribute(i) for i in range(many)],
            question.max_groups,
            question.attributes,
        )
        here = {
            i: v for i, v in enumerate(call.metrics) if any(v is one for one in request.metrics)
        }
        parts.append(_part(table, here, plan, tuple(call.metrics), question))
    return Counted(parts, inner, call)


def _part(
    table: pl.LazyFrame,
    here: Mapping[int, Metric],
    plan: Plan,
    everything: tuple[Metric, ...],
    question: Question,
) -> Part:
    """Return what is read from one table; `here` are its values, by their place in the plan."""
    tally, by_unit = shared_tally(list(here.values())), None
    if question.unit:
        _check_units(tally)
        by_unit = known_units(table).cache()
        table = without_units(by_unit, tally).cache()
    asked = [
        Asked(metric, place, tuple(hidden("value", i) for i in own))
        for place, (metric, own) in enumerate(zip(plan.forms, plan.places, strict=True))
        if set(own) <= set(here)
    ]
    values = [
        # Their roles and bases were left out while they were counted.
        replace(
            value.alias(hidden("value", i)), roles=plan.values[i].roles, bases=plan.values[i].bases
        )
        for i, value in here.items()
    ]
    return Part(table, tally, tuple(values), tuple(asked), everything, by_unit)


def _check_units(tally: Tally) -> None:
    """Raise if a table cannot be counted by unit."""
    if tally.together or not tally.mergeable:
        own = "users are the units already" if tally.together else "it needs a second pass"
        msg = f"`unit` is not read by metrics of `{tally.name}`, because {own}: leave it out"
        raise TypeError(msg)


def _check_rolled(metric: Metric, question: Question) -> None:
    if GROUP in metric.keys:
        msg = (
            f"`{metric.name}` has a row for every group already: call it with"
            ' `group="<column>"`, and leave it out here'
        )
        raise ValueError(msg)
    if of_all_groups(metric) and question.explicit and "ref" in metric.option_names:
        msg = (
            f"`{metric.name}` compares all groups at once, and an audit has no reference for it:"
            ' call it with `group="<column>", ref=...`'
        )
        raise ValueError(msg)
    if question.attributes and not metric.tally.mergeable:
        msg = (
            f"`{metric.name}` needs a second pass over the rows, so its groups cannot be summed up"
            ' from one table: call `pf.by_group` or the metric with `group="<column>"`'
        )
        raise ValueError(msg)
