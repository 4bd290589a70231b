"""Metrics: formulas over a tally's table, and what to expect of their values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import polars as pl

from polarsfair._engine.tally import Tally, _with_frames, by_reference, check_keywords, keywords_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import Better, Kind

AnyMetric = TypeVar("AnyMetric", bound="Metric")


def as_they_are(
    table: pl.LazyFrame, keys: Sequence[str], members: Sequence[Metric]
) -> pl.LazyFrame:
    """View the lines of the table as they are."""
    del keys, members
    return table


class Sister(NamedTuple):
    """Which metric stands in when the caller gives another role or option.

    `given` names the role or option, or says of all that was given whether it asks for the sister.
    `needs` are the options without which the sister would answer another question.
    """

    given: str | Callable[[Mapping[str, Any]], bool]
    without: str | None
    metric: Metric
    needs: Mapping[str, Any] = {}

    def answers(self, metric: Metric, options: Mapping[str, Any]) -> bool:
        """Say whether the sister may take the place of `metric`, asked with these options."""
        fixed = {**options, **metric.fixed()}
        first = leaves([metric])[0]
        asked = {name: fixed.get(name, first.option(name)) for name in self.needs}
        return asked == dict(self.needs)


@dataclass(frozen=True, eq=False)
class Metric:
    """A formula over a tally's table, and what to expect of its value.

    Call it with a frame and roles, or pipe a frame through it.

    Attributes
    ----------
    name
        What the value column is called.
    tally
        The tally whose table the formula reads.
    formula
        ``(*, options) -> pl.Expr``, an aggregation over the lines of the view. Its keyword-only
        parameters are options of the metric.
    roles
        The roles that a caller has to give.
    ideal, bounds, better, fair, kind
        The best value; what it can never leave; which direction is better; the band that
        practice accepts; what it speaks of.
    view
        ``(table, keys, members, *, options) -> lines``, the lazy step before the formula.
    keys
        Key columns that the result has beside the slices, such as ``class``.
    many
        Options that may be lists and then become a key column, such as ``k``.
    options
        The options that `bind` has fixed.
    bases
        For a comparison: the metrics that it compares.
    sisters
        Metrics that stand in for this one when another role or option is given.
    check
        ``(metric, schema of the table) -> None``: raises when its options do not fit the table.
    """

    name: str
    tally: Tally
    formula: Callable[..., pl.Expr]
    roles: tuple[str, ...] = ()
    ideal: float | None = None
    bounds: tuple[float, float] = (float("-inf"), float("inf"))
    better: Better = None
    fair: tuple[float, float] | None = None
    kind: Kind = "quality"
    view: Callable[..., pl.LazyFrame] = as_they_are
    keys: tuple[str, ...] = ()
    many: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    bases: tuple[Metric, ...] = ()
    sisters: tuple[Sister, ...] = ()
    check: Callable[[Metric, pl.Schema], None] | None = None
    doc: str | None = field(default=None, repr=False)
    origin: tuple[Callable[..., object], tuple[Any, ...]] | None = field(default=None, repr=False)

    answer: ClassVar[Callable[[Metric, Any, dict[str, Any]], Any]]
    """Evaluates one metric; `evaluate`, which is built on this module, puts it here."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.doc)
        object.__setattr__(self, "__name__", self.name)

    def __repr__(self) -> str:
        bound = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"<Metric {self.family}.{self.name}{bound}>"

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Any, ...]]:
        if self.origin is None:
            msg = f"`{self.name}` was made outside a module and cannot be pickled by reference"
            raise TypeError(msg)
        return self.origin

    @property
    def family(self) -> str:
        """The family whose table the metric reads."""
        return self.tally.name.partition(".")[0]

    @property
    def option_names(self) -> tuple[str, ...]:
        """Every option that the metric takes, those of its tally and bases included."""
        names = dict.fromkeys(keywords_of(self.formula))
        names |= dict.fromkeys(keywords_of(self.view))
        for base in self.bases:
            names |= dict.fromkeys(base.option_names)
        if not self.bases:
            names |= dict.fromkeys(self.tally.option_names)
        for sister in self.sisters:
            names |= dict.fromkeys(sister.metric.option_names)
        return tuple(names)

    @property
    def cells_read(self) -> list[str]:
        """The cells of the table that the metric's roles fill."""
        return [cell for cell in self.tally.cells if cell in self.roles]

    @property
    def usable(self) -> pl.Expr:
        """Say whether the rows of a line have all that the metric reads."""
        known = (pl.col(cell).is_not_null() for cell in self.cells_read)
        return pl.all_horizontal(pl.lit(value=True), *known)

    def bind(self, **options: Any) -> Self:
        """Fix options in a new metric of the same type; what is bound wins over the call."""
        check_keywords(options, self.option_names, (), f"bound values of `{self.name}`")
        origin = (_bound, (self, options))
        return replace(
            self,
            options={**self.options, **options},
            bases=tuple(base.bind(**_taken(base, options)) for base in self.bases),
            sisters=tuple(
                sister._replace(metric=sister.metric.bind(**_taken(sister.metric, options)))
                for sister in self.sisters
            ),
            origin=origin,
        )

    def alias(self, name: str) -> Self:
        """Rename the value column in a new metric of the same type."""
        sisters = tuple(s._replace(metric=s.metric.alias(name)) for s in self.sisters)
        return replace(self, name=name, sisters=sisters, origin=(_aliased, (self, name)))

    def resolve(self, options: Mapping[str, Any]) -> Metric:
        """Bind those of the call's options that the metric, or what it compares, has not fixed."""
        fixed = self.fixed()
        free = {k: v for k, v in _taken(self, options).items() if k not in fixed}
        return self.bind(**free) if free else self

    def option(self, name: str) -> Any:
        """Give the value of one option, bound or default."""
        for holder in (self.formula, self.view, self.tally.count):
            if name in self.options:
                return self.options[name]
            if name in keywords_of(holder):
                return keywords_of(holder)[name]
        raise KeyError(name)

    def fixed(self) -> dict[str, Any]:
        """Give the options that are fixed, in the metric or in what it compares."""
        return {k: v for metric in (*self.bases, self) for k, v in metric.options.items()}

    def result_keys(self) -> tuple[str, ...]:
        """Give the key columns of the result beside the slices."""
        fixed = self.fixed()
        lists = (o for o in self.many if isinstance(fixed.get(o), (list, tuple, range)))
        return (*self.keys, *lists)

    def __call__(self, *frames: Any, **keywords: Any) -> Any:
        """Evaluate this one metric: a float, or a frame where there are slices or keys.

        The families' subclasses say with types which frames and keywords there are.
        """
        if not frames:
            msg = f"`{self.name}` needs a frame: `df.pipe({self.name}, ...)`"
            raise TypeError(msg)
        return type(self).answer(self, frames[0], _with_frames(self.tally, frames[1:], keywords))


def define(
    tally: Tally, kind: Kind, roles: Sequence[str] = (), *, of: type[AnyMetric], **facts: Any
) -> Callable[[Callable[..., pl.Expr]], AnyMetric]:
    """Make a metric of the decorated formula: its name and docstring become the metric's."""

    def made(formula: Callable[..., pl.Expr]) -> AnyMetric:
        return of(
            name=formula.__name__,
            tally=tally,
            formula=formula,
            kind=kind,
            roles=tuple(roles),
            doc=formula.__doc__,
            origin=(by_reference, (formula.__module__, formula.__name__)),
            **facts,
        )

    return made


def _taken_by(function: Callable[..., object], metric: Metric) -> dict[str, Any]:
    return {k: metric.options[k] for k in keywords_of(function) if k in metric.options}


def _taken(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k in metric.option_names}


def _bound(metric: Metric, options: Mapping[str, Any]) -> Metric:
    return metric.bind(**options)


def _aliased(metric: Metric, name: str) -> Metric:
    return metric.alias(name)


def leaves(metrics: Sequence[Metric]) -> list[Metric]:
    """List the metrics that are compared, and those that compare nothing."""
    return [leaf for m in metrics for leaf in (leaves(m.bases) if m.bases else [m])]
