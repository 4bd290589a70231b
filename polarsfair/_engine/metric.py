"""Metrics: formulas over a tally's table, and what to expect of their values."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from dataclasses import dataclass, field, replace
from operator import methodcaller
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    runtime_checkable,
)

import polars as pl

from polarsfair._engine.tally import (
    Signature,
    Tally,
    by_reference,
    check_keywords,
    keywords_of,
    signature_of,
    with_frames,
)
from polarsfair._engine.unknown import call_error, is_frame
from polarsfair._typing import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polarsfair._typing import Better, Kind

AnyMetric = TypeVar("AnyMetric", bound="Metric")
Origin: TypeAlias = "tuple[Callable[..., Any], tuple[Any, ...]]"
"""A function and its arguments that find a metric, or make it again: how it is unpickled."""


def as_they_are(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """View the lines of the table as they are."""
    del keys
    return table


class Variant(NamedTuple):
    """A metric's form over another table, for other roles or options of the caller.

    Attributes
    ----------
    when
        Whether the roles and options of a call need the variant.
    metric
        The variant.
    equals
        The options with which the variant answers the same question as the metric itself.
    """

    when: Callable[[Mapping[str, Any]], bool]
    metric: Metric
    equals: Mapping[str, Any] = {}

    def answers(self, metric: Metric, options: Mapping[str, Any]) -> bool:
        """Return whether the variant may replace `metric`, called with these options."""
        fixed = {**options, **metric.fixed}
        first = leaves([metric])[0]
        asked = {name: fixed.get(name, first.option(name)) for name in self.equals}
        return asked == dict(self.equals)


@runtime_checkable
class LineFormula(Protocol):
    """A formula that first adds columns to the lines of its view, such as what needs a join."""

    def __call__(self, **options: Any) -> pl.Expr:
        """Return the aggregation over the lines."""
        ...

    def with_values(self, lines: pl.LazyFrame, options: Mapping[str, Any]) -> pl.LazyFrame:
        """Add the columns that the aggregation reads."""
        ...


@dataclass(frozen=True, eq=False)
class OfGroups:
    """What a comparison of groups counts if the lines of its view are not groups, but pairs.

    The value is a value of the rows of all groups that take part, if there are two to compare.

    Attributes
    ----------
    view
        ``(table, keys, *, options) -> lines`` of the table, with their group.
    rows
        The number of rows of one group, an aggregation; None: those with all that the metric reads.
    needs
        Numbers that are not 0 in a group that takes part, aggregations that add up over groups;
        empty: the lines of some weight with all that the metric reads.
    alone
        Whether a group that is alone is compared with ``OVERALL``, which is itself.
    compared
        False if groups are not compared, although the metric takes ``ref``: all rows count then.
    """

    view: Callable[..., pl.LazyFrame] = as_they_are
    rows: pl.Expr | None = None
    needs: tuple[pl.Expr, ...] = ()
    alone: bool = True
    compared: bool = True


@runtime_checkable
class Spread(Protocol):
    """A formula that knows how much its value varies: what intervals are made of.

    Its facts are the ``variance`` of the value, its ``units`` (the independent rows or users behind
    it), and of a mean its ``numerator`` and ``denominator``. `method` is what an interval made of
    them is called.
    """

    @property
    def method(self) -> str:
        """The name of the method."""
        ...

    @property
    def facts(self) -> tuple[str, ...]:
        """The names of the facts."""
        ...

    def spread(self, **options: Any) -> Mapping[str, pl.Expr]:
        """Return the facts, as aggregations over the lines of the formula."""
        ...


class _Docstring:
    """The docstring of a metric with its roles as Parameters; that of the class for the class.

    It is made when it is read, because making all of them would double the time of an import.
    """

    def __init__(self, of_class: str | None) -> None:
        self.of_class = of_class

    def __get__(self, metric: Metric | None, owner: type) -> str | None:
        if metric is None:
            return self.of_class
        return with_role_parameters(metric.doc, metric.all_roles)


@functools.cache
def with_role_parameters(doc: str | None, roles: tuple[str, ...]) -> str | None:
    """Add the roles, and `by`, to the Parameters of a metric's docstring."""
    if doc is None:
        return None
    doc, title = inspect.cleandoc(doc), "Parameters\n----------\n"
    words = {
        **{role: ROLES[role] for role in roles},
        "by": "Slices: the result has one row per slice.",
    }
    new = [f"{name}\n{textwrap.indent(text, '    ')}\n" for name, text in words.items()]
    if title in doc:
        head, _, tail = doc.partition(title)
        named = set(re.findall(r"^(\w+(?:, \w+)*)$", tail.partition("\n\n")[0], re.MULTILINE))
        taken = {name for names in named for name in names.split(", ")}
        new = [text for name, text in zip(words, new, strict=True) if name not in taken]
        return head + title + "".join(new) + tail
    section = re.search(r"^\w+\n-{4,}$", doc, re.MULTILINE)
    at = section.start() if section else len(doc)
    gap = "" if section else "\n\n"
    return doc[:at] + gap + title + "".join(new) + ("\n" if section else "") + doc[at:]


@dataclass(frozen=True, eq=False)
class Metric:
    """A formula over a tally's table, and what to expect of its value.

    Call it with a frame and roles, or pipe a frame through it.

    Attributes
    ----------
    name
        The name of the value column.
    tally
        The tally whose table the formula reads.
    formula
        ``(*, options) -> pl.Expr``, an aggregation over the lines of the view. Its keyword-only
        parameters are options of the metric.
    roles
        The roles that a caller has to pass.
    ideal, bounds, better, fair, kind
        The best value; its smallest and largest value; which direction is better; the band that
        practice accepts; what it measures.
    view
        ``(table, keys, *, options) -> lines``, the lazy step before the formula.
    keys
        Key columns of the result after the slices, such as ``class``.
    options
        The options that `bind` has fixed.
    bases
        For a comparison: the metrics that it compares.
    variants
        Forms of this metric over other tables, for other roles or options.
    check
        ``(metric, schema of the table) -> None``: raises if its options do not fit the table.
    n
        ``(*, options) -> pl.Expr``, an aggregation over the lines of the view: the number of rows
        (users, items) in the value's denominator, unweighted. None: the rows that have all that the
        metric reads. If the metric has bases, it is that of one group, over the lines of a base;
        None: the largest of those of the bases. If its view compares groups: see `OfGroups`, which
        is the default of views with the option ``ref``.
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
    options: Mapping[str, Any] = field(default_factory=dict)
    bases: tuple[Metric, ...] = ()
    variants: tuple[Variant, ...] = ()
    check: Callable[[Metric, pl.Schema], None] | None = None
    n: Callable[..., pl.Expr] | OfGroups | None = None
    doc: str | None = field(default=None, repr=False)
    origin: Origin | None = field(default=None, repr=False)

    fixed: dict[str, Any] = field(init=False, repr=False)
    """The options that are fixed, in the metric or in what it compares."""

    result_keys: tuple[str, ...] = field(init=False, repr=False)
    """The key columns of the result after the slices."""

    answer: ClassVar[Callable[[Metric, Any, dict[str, Any]], Any]]
    """Evaluates one metric; `evaluate`, which is built on this module, puts it here."""

    __signature__ = Signature()

    def signature(self) -> inspect.Signature:
        """Return the roles and options with their defaults; what is needed has none."""
        required = set(self.roles)
        for variant in self.variants:
            required &= set(variant.metric.roles)
        empty = inspect.Parameter.empty
        given: dict[str, Any] = {r: empty if r in required else None for r in self.all_roles}
        frames = {name: given.pop(name) for name in self.tally.frames if name in given}
        options = {name: self.option(name) for name in self.option_names}
        return signature_of(frames, {**given, "by": None, **options})

    def __post_init__(self) -> None:
        object.__setattr__(self, "__name__", self.name)
        fixed = {k: v for metric in (*self.bases, self) for k, v in metric.options.items()}
        object.__setattr__(self, "fixed", fixed)
        listed = isinstance(fixed.get("k"), (list, tuple, range))
        object.__setattr__(self, "result_keys", (*self.keys, *["k"] * listed))
        if self.origin is not None and self.origin[0] is by_reference:
            object.__setattr__(self, "__module__", self.origin[1][0])

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__doc__ = _Docstring(cls.__doc__)  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]

    def __repr__(self) -> str:
        return f"<Metric {self.family}.{self.name}{self.signature()}>"

    def __reduce__(self) -> str | tuple[Callable[..., object], tuple[Any, ...]]:
        """Pickle by public names: of a family and metric, a combinator, `bind` or `alias`."""
        if self.origin is None:
            msg = f"`{self.name}` was made outside a module and cannot be pickled by reference"
            raise TypeError(msg)
        make, args = self.origin
        source: Metric = make(*args)
        if self is source:
            return self.name
        if self.options != source.options:
            bound = source.bind(**self.options)
            if self.name == source.name:
                return methodcaller("bind", **self.options), (source,)
            return methodcaller("alias", self.name), (bound,)
        if self.name != source.name or make is by_reference:
            return methodcaller("alias", self.name), (source,)
        return self.origin

    @property
    def family(self) -> str:
        """The family whose table the metric reads."""
        return self.tally.name.partition(".")[0]

    @functools.cached_property
    def all_roles(self) -> tuple[str, ...]:
        """The roles that change the value: those that are needed, then the others."""
        cells = {*self.tally.cells, *self.tally.known}
        others = [role for role in self.tally.roles if role not in cells]
        of_variants = (role for one in self.variants for role in one.metric.all_roles)
        return tuple(dict.fromkeys([*self.roles, *others, *of_variants]))

    @functools.cached_property
    def option_names(self) -> tuple[str, ...]:
        """Every option that the metric takes, those of its tally and bases included."""
        names = dict.fromkeys([*keywords_of(self.formula), *keywords_of(self.view)])
        for base in self.bases:
            names |= dict.fromkeys(base.option_names)
        if not self.bases:
            names |= dict.fromkeys(self.tally.option_names)
        own = {name for one in (*self.bases, self) for name in keywords_of(one.formula)}
        unread = {*self.tally.passed_on} - own
        for variant in self.variants:
            names |= dict.fromkeys(variant.metric.option_names)
        return tuple(name for name in names if name not in unread)

    @property
    def cells_read(self) -> list[str]:
        """The cells of the table that the metric's roles fill."""
        known = [self.tally.known[role] for role in self.roles if role in self.tally.known]
        names = {*self.roles, *(name for cell in known for name in cell.meta.root_names())}
        return [cell for cell in self.tally.cells if cell in names]

    @property
    def usable(self) -> pl.Expr:
        """Whether the rows of a line have all that the metric reads."""
        cells = {cell: pl.col(cell).is_not_null() for cell in self.tally.cells}
        known = {**cells, **self.tally.known}
        return pl.all_horizontal(pl.lit(value=True), *(known[r] for r in self.roles if r in known))

    def bind(self, **options: Any) -> Self:
        """Fix options in a new metric of the same type; what is bound wins over the call."""
        check_keywords(options, self.option_names, (), f"`{self.name}`")
        return self._bound(options)

    def _bound(self, options: Mapping[str, Any]) -> Self:
        """Fix those of the options that the metric takes, in it and in what it is made of."""
        own = {name: value for name, value in options.items() if name in self.option_names}
        return replace(
            self,
            options={**self.options, **own},
            bases=tuple(base._bound(options) for base in self.bases),
            variants=self._each_variant(lambda one: one._bound(options)),
        )

    def alias(self, name: str) -> Self:
        """Rename the value column in a new metric of the same type."""
        return replace(self, name=name, variants=self._each_variant(lambda one: one.alias(name)))

    def _each_variant(self, change: Callable[[Metric], Metric]) -> tuple[Variant, ...]:
        return tuple(one._replace(metric=change(one.metric)) for one in self.variants)

    def resolve(self, options: Mapping[str, Any]) -> Metric:
        """Bind those of the call's options that the metric, or what it compares, has not fixed."""
        free = {k: v for k, v in options.items() if k not in self.fixed and k in self.option_names}
        return self._bound(free) if free else self

    def option(self, name: str) -> Any:
        """Return the value of one option, bound or default."""
        if name in self.options:
            return self.options[name]
        for holder in (self.formula, self.view):
            if name in keywords_of(holder):
                return keywords_of(holder)[name]
        for base in self.bases:
            if name in base.option_names:
                return base.option(name)
        if name in keywords_of(self.tally.count):
            return keywords_of(self.tally.count)[name]
        variants = (variant.metric for variant in self.variants)
        return next(one.option(name) for one in variants if name in one.option_names)

    def __call__(self, *frames: Any, **keywords: Any) -> Any:
        """Evaluate this one metric: a float, or a frame if there are slices or keys.

        The subclasses of the families add the types of frames and keywords.
        """
        if not frames:
            msg = f"`{self.name}` needs a frame: `df.pipe({self.name}, ...)`"
            raise TypeError(msg)
        if len(frames) > 1 + len(self.tally.frames) or not all(map(is_frame, frames)):
            raise call_error(self, frames)
        return type(self).answer(self, frames[0], with_frames(self.tally, frames[1:], keywords))


Metric.__doc__ = _Docstring(Metric.__doc__)  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]


def define(
    tally: Tally, kind: Kind, roles: Sequence[str] = (), *, of: type[AnyMetric], **facts: Any
) -> Callable[[Callable[..., pl.Expr]], AnyMetric]:
    """Make a metric of the decorated formula, whose name and docstring become the metric's."""

    def defined(formula: Callable[..., pl.Expr]) -> AnyMetric:
        return of(
            name=formula.__name__,
            tally=tally,
            formula=formula,
            kind=kind,
            roles=tuple(roles),
            doc=formula.__doc__,
            origin=home_of(formula),
            **facts,
        )

    return defined


def home_of(function: Callable[..., object]) -> Origin:
    """Return how a metric called like `function` is found again: a public one by its family.

    The name of a family and of a metric are public, so that no move of a module breaks a pickle.
    """
    module, name = function.__module__, function.__name__
    if module.startswith("polarsfair.") and not name.startswith("_"):
        module = ".".join(module.split(".")[:2])
    return by_reference, (module, name)


def leaves(metrics: Sequence[Metric]) -> list[Metric]:
    """List the metrics that are compared, and those that compare nothing."""
    return [leaf for m in metrics for leaf in (leaves(m.bases) if m.bases else [m])]
