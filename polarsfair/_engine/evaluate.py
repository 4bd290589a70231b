"""Tallies count rows into a small table; metrics are formulas over that table.

`evaluate` goes from rows to values, `measure` from stored tables to values. Both build one lazy
graph: the table is made (or merged) once, and every metric reads it.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import polars as pl
import polars.selectors as cs
from polars.exceptions import SchemaError

from polarsfair._engine.checks import (
    check_alike,
    check_class,
    check_keywords,
    check_names,
    check_roles,
    check_table,
    slice_names,
)
from polarsfair._engine.frames import (
    EagerFrame,
    IntoFrame,
    IntoSlices,
    as_lazy,
    check_anywhere,
    check_columns,
    collect,
    columns_of,
    is_lazy,
)
from polarsfair._engine.reference import stop_unless_found
from polarsfair._engine.request import (
    all_options,
    fitting,
    leaves,
    on_one_table,
    shared_tally,
    standing_in,
    tally_options,
)
from polarsfair._engine.rows import large_squares_fault

if TYPE_CHECKING:
    from typing import Self

Better: TypeAlias = Literal["lower", "higher", "ideal"] | None
Kind: TypeAlias = Literal["outcome", "opportunity", "individual", "quality"]
Sums: TypeAlias = Mapping[str, pl.Expr]
AnyMetric = TypeVar("AnyMetric", bound="Metric")

UNWEIGHTED: Sums = {"w": pl.col("n"), "w2": pl.col("n")}
"""What the sums of weights are in a table without weights."""

FRAME_ROLES = frozenset({"actual", "items", "users", "reference", "centroids"})
"""Roles that are frames of their own, not columns."""

ROLES = FRAME_ROLES | frozenset(
    "group pred label score weight user item rank relevance cluster features unit"
    " other value propensity predicted item_group popularity strata surrogate".split()
)
"""Every role of every family: one that a metric does not need changes nothing."""


@functools.cache
def keywords_of(function: Callable[..., object]) -> Mapping[str, Any]:
    """Give the keyword-only parameters of `function` with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def as_they_are(
    table: pl.LazyFrame, keys: Sequence[str], members: Sequence[Metric]
) -> pl.LazyFrame:
    """View the lines of the table as they are."""
    del keys, members
    return table


@dataclass(frozen=True, eq=False)
class Tally:
    """How a frame is counted into a small table of sums.

    Call it with a frame and roles to get the table; tables of one tally add up.

    Attributes
    ----------
    name
        Family and name, such as ``fairness.decisions``.
    count
        ``(rows, by, *, roles and options) -> lazy table``. Its keyword-only parameters are the
        roles and options that the tally takes.
    cells
        Key columns of the table beside the slices.
    sums
        Value columns, each with the expression that merges lines of one cell; or a function of
        the table's column names where the columns depend on the data.
    optional
        Sums that a table may lack, with what they are then.
    also
        Other tallies whose tables this tally's metrics read as well.
    frames
        Roles that may be given as further positional frames.
    mergeable
        False where values need a second pass over the rows: stored tables cannot be measured.
    alone
        Options of which one table can hold only one value, such as ``bins``.
    splits
        Roles that split what is counted, as a group does lists: left out unless asked for.
    """

    name: str
    count: Callable[..., pl.LazyFrame]
    cells: tuple[str, ...]
    sums: Sums | Callable[[Sequence[str]], Sums]
    optional: Mapping[str, pl.Expr] = field(default_factory=lambda: dict(UNWEIGHTED))
    also: tuple[Tally, ...] = ()
    frames: tuple[str, ...] = ()
    mergeable: bool = True
    alone: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.count.__doc__)

    @property
    def roles(self) -> tuple[str, ...]:
        """Every role that the tally takes."""
        return tuple(name for name in keywords_of(self.count) if name in ROLES)

    @property
    def option_names(self) -> tuple[str, ...]:
        """Every option that the tally takes."""
        return tuple(name for name in keywords_of(self.count) if name not in ROLES)

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *frames: IntoFrame,
        by: IntoSlices | None = ...,
        **keywords: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, frame: EagerFrame, /, *frames: IntoFrame, by: IntoSlices | None = ..., **keywords: Any
    ) -> pl.DataFrame: ...
    def __call__(
        self, frame: IntoFrame, /, *frames: IntoFrame, by: IntoSlices | None = None, **keywords: Any
    ) -> pl.DataFrame | pl.LazyFrame:
        """Count `frame` into the table; eager in, eager out, lazy in, lazy out."""
        keywords = _with_frames(self, frames, keywords)
        given = _given(keywords)
        check_keywords(given, self.option_names, self.roles, f"tables of `{self.name}`")
        rows, by_columns = as_lazy(frame), columns_of(by)
        slice_names(by_columns, self)
        table = self.count(
            rows, by_columns, **{k: v for k, v in given.items() if k in keywords_of(self.count)}
        )
        return table if is_lazy(frame, *given.values()) else collect(table, frame)

    def merging(self, columns: Sequence[str]) -> Sums:
        """Give the expressions that merge lines, for a table with these columns."""
        sums = self.sums(columns) if callable(self.sums) else self.sums
        return {name: merge for name, merge in sums.items() if name in columns}

    def lacks(self, columns: Sequence[str], cells: Sequence[str]) -> list[str]:
        """List what a table with these columns lacks of the sums and the given cells."""
        sums = self.sums(columns) if callable(self.sums) else self.sums
        needed = [*cells, *(name for name in sums if name not in self.optional)]
        return [name for name in needed if name not in columns]

    def fill(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Fill sums that some lines lack, as where tables with and without weights are stacked."""
        names = table.collect_schema().names()
        if not any(name in names for name in self.optional):
            return table
        # One that no line has is there as well, for the stand-ins after it that read it.
        for name, stand_in in self.optional.items():
            if not set(stand_in.meta.root_names()) <= set(names):
                continue  # a cell whose role was not given: there is nothing to stand in for
            known = pl.coalesce(name, stand_in) if name in names else stand_in
            table = table.with_columns(known.alias(name))
            names = [*names, name]
        return table

    def complete(self, table: pl.LazyFrame) -> pl.LazyFrame:
        """Add what a table may lack: sums without weights, cells whose role was not given."""
        columns = table.collect_schema()
        cells = [name for name in self.cells if name != "group"]
        dtype = next((columns[name] for name in cells if name in columns), pl.Boolean())
        absent = {name: pl.lit(None, dtype=dtype) for name in cells if name not in columns}
        table = table.with_columns(**absent) if absent else table
        sums = self.sums(columns.names()) if callable(self.sums) else self.sums
        for name, stand_in in self.optional.items():
            if name in sums and name not in columns:
                table = table.with_columns(stand_in.alias(name))
        return table

    @property
    def size(self) -> str:
        """The sum that counts rows (or users): the first."""
        sums = self.sums(()) if callable(self.sums) else self.sums
        return next(iter(sums))

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        family, name = self.name.split(".")
        return by_reference, (f"polarsfair.{family}", name)


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
        keywords = _with_frames(self.tally, frames[1:], keywords)
        result = evaluate(frames[0], [self], **keywords)
        if isinstance(result, pl.LazyFrame) or result.width > 1:
            return result
        value = result.item()
        return float("nan") if value is None else float(value)


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


@overload
def evaluate(
    frame: pl.LazyFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    **keywords: Any,
) -> pl.LazyFrame: ...
@overload
def evaluate(
    frame: EagerFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    **keywords: Any,
) -> pl.DataFrame: ...
def evaluate(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    **keywords: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Count rows once and read every metric off the table.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    metrics
        Metrics that read the same table; each becomes a value column.
    by
        Slices: column names or expressions. One result row per slice, sorted.
    **keywords
        Roles (``group=``, ``pred=``, ...: column names or expressions) and options (``ref=``,
        ``alpha=``, ...), which reach every metric that takes them.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
    >>> pf.evaluate(df, [fairness.selection_rate, fairness.stat_parity], group="sex", pred="hired")
    shape: (1, 2)
    ┌────────────────┬─────────────┐
    │ selection_rate ┆ stat_parity │
    │ ---            ┆ ---         │
    │ f64            ┆ f64         │
    ╞════════════════╪═════════════╡
    │ 0.75           ┆ 0.5         │
    └────────────────┴─────────────┘
    """
    request = prepare(frame, metrics, by, keywords)
    check_names(request.metrics, request.slices)
    result = read_sorted(request.table, request.metrics, request.slices)
    if is_lazy(frame, *request.given.values()):
        return result
    # A second pass sets rows beside lines of the table, which the in-memory engine holds at once.
    two_passes = any(not metric.tally.mergeable for metric in request.metrics)
    return collect(result, frame, flat=two_passes)


class Request(NamedTuple):
    """What a caller asked for, resolved: the table to read and the metrics to read off it."""

    table: pl.LazyFrame
    metrics: list[Metric]
    slices: list[str]
    given: dict[str, Any]


def prepare(
    frame: IntoFrame,
    metrics: Metric | Sequence[Metric],
    by: IntoSlices | None,
    keywords: Mapping[str, Any],
    *,
    grouped: bool = False,
) -> Request:
    """Check a request and count its rows, lazily; `grouped` where all is asked by group."""
    given = _given(keywords)
    chosen = on_one_table([standing_in(metric, given) for metric in _as_list(metrics)], given)
    tally = shared_tally(chosen)
    names = set(all_options(chosen))
    check_keywords(given, names, tally.roles, "these metrics", ignored=ROLES)
    resolved = [metric.resolve(given) for metric in chosen]
    check_roles(resolved, given, FRAME_ROLES)
    for metric in resolved:
        check_class(metric.options.get("ref"), given.get("group"))
    asked = {"group"} if grouped else {role for metric in resolved for role in metric.roles}
    unread = {role: given[role] for role in tally.splits if role in given and role not in asked}
    if unread:
        check_anywhere([frame, *(given[role] for role in FRAME_ROLES if role in given)], unread)
    given = {name: value for name, value in given.items() if name not in unread}
    table, slices = tabulate(as_lazy(frame), tally, resolved, columns_of(by), given)
    return Request(table, resolved, slices, given)


@overload
def measure(
    table: pl.LazyFrame | Sequence[pl.LazyFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    **options: Any,
) -> pl.LazyFrame: ...
@overload
def measure(
    table: EagerFrame | Sequence[EagerFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = ...,
    **options: Any,
) -> pl.DataFrame: ...
def measure(
    table: IntoFrame | Sequence[IntoFrame],
    metrics: Metric | Sequence[Metric],
    *,
    by: IntoSlices | None = None,
    **options: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Read metrics off stored tables, one or many, adding up what belongs together.

    Parameters
    ----------
    table
        A table that a tally made, several stacked in one frame, or a list of them.
    metrics
        Metrics that read such a table.
    by
        The table's slice columns to keep (names or expressions); all others are added up.
    **options
        Options (``ref=``, ``alpha=``, ...), which reach every metric that takes them.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The kind of frame that was given.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> monday = pl.DataFrame({"sex": ["F", "M"], "hired": [0, 1]})
    >>> tuesday = pl.DataFrame({"sex": ["F", "M"], "hired": [1, 1]})
    >>> tables = [fairness.decisions(day, group="sex", pred="hired") for day in (monday, tuesday)]
    >>> pf.measure(tables, [fairness.stat_parity])
    shape: (1, 1)
    ┌─────────────┐
    │ stat_parity │
    │ ---         │
    │ f64         │
    ╞═════════════╡
    │ 0.5         │
    └─────────────┘
    """
    tables = list(table) if isinstance(table, Sequence) else [table]
    parts = [as_lazy(part) for part in tables]
    stacked = stack(parts)
    schema = stacked.collect_schema()
    chosen = [fitting(metric, schema.names(), options) for metric in _as_list(metrics)]
    for part in parts:
        check_table(chosen, part.collect_schema())
    tally = shared_tally(chosen)
    check_keywords(options, all_options(chosen), (), "stored tables of these metrics")
    resolved = [metric.resolve(options) for metric in chosen]
    columns = columns_of(by)
    check_columns(stacked, {"by": columns})
    slices = slice_names(columns, tally)
    merged = merge(stacked, tally, columns, schema.names())
    check_names(resolved, slices)
    result = read_sorted(completed(merged, tally, resolved), resolved, slices)
    return result if is_lazy(*tables) else collect(result, *tables)


def tabulate(
    rows: pl.LazyFrame,
    tally: Tally,
    metrics: Sequence[Metric],
    by: list[pl.Expr],
    given: Mapping[str, Any],
) -> tuple[pl.LazyFrame, list[str]]:
    """Count the rows once, for all metrics; give the table, ready to read, and its slices."""
    slices = slice_names(by, tally)
    roles = {role: given[role] for role in tally.roles if role in given}
    table = tally.count(rows, by, **roles, **tally_options(tally, metrics, given))
    # Without the cache, filters and projections of the views are pushed into the table, the
    # views stop looking alike, and the rows are scanned once per view.
    return completed(table.cache(), tally, metrics), slices


def completed(table: pl.LazyFrame, tally: Tally, metrics: Sequence[Metric]) -> pl.LazyFrame:
    """Fill in what a table may lack and check what the metrics' options say of it."""
    schema = table.collect_schema()
    for metric in [part for asked in metrics for part in (asked, *asked.bases)]:
        if metric.check is not None:
            metric.check(metric, schema)
    for kind in dict.fromkeys([tally, *(metric.tally for metric in metrics)]):
        table = kind.complete(table)
    references = {repr(ref): ref for ref in (metric.options.get("ref") for metric in metrics)}
    return functools.reduce(stop_unless_found, references.values(), table)


def stack(tables: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """Stack tables, with and without weights, into one frame."""
    if not tables:
        msg = "`measure` needs at least one table"
        raise ValueError(msg)
    if len(tables) == 1:
        return tables[0]
    check_alike([table.collect_schema() for table in tables])
    stacked = pl.concat(tables, how="diagonal_relaxed")
    try:
        stacked.collect_schema()
    except SchemaError as error:
        reason = str(error).partition("\n")[0]
        msg = f"these tables have columns of different dtypes, cast them alike: {reason}"
        raise SchemaError(msg) from None
    return stacked


def merge(
    table: pl.LazyFrame, tally: Tally, by: Sequence[pl.Expr], columns: Sequence[str]
) -> pl.LazyFrame:
    """Add up the lines of one cell, within the slices that are kept."""
    cells = [cell for cell in tally.cells if cell in columns]
    sums = tally.merging(columns)
    # Tables made elsewhere may count in 32 bits, whose sums would wrap.
    wide = cs.by_name(*sums) & cs.integer()
    named = tally.fill(table).select(*by, *cells, *sums).with_columns(wide.cast(pl.Int64))
    keys = [column.meta.output_name() for column in by] + cells
    # Squares of weights are the first sums to pass 64 bits.
    whole = named.collect_schema().get("w2") == pl.Int64
    named = named.with_columns(pl.col("w2").cast(pl.Int128)) if whole else named
    merged = named.group_by(keys).agg(**sums) if keys else named.select(**sums)
    if whole:
        stop = large_squares_fault('`table.with_columns(pl.col("w2").cast(pl.Float64))` holds more')
        merged = merged.with_columns(pl.coalesce(stop, "w2").cast(pl.Int64).alias("w2"))
    return merged.cache()


def read(table: pl.LazyFrame, metrics: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    """Evaluate metrics whose options are resolved: a line per key, a column per metric."""
    parts = [
        _aggregate(_lines(table, members, keys), members, [*keys, *members[0].result_keys()])
        for members in map(_numbered, _sharing_a_view(metrics))
    ]
    all_keys = [*keys, *metrics[0].result_keys()]
    if len(parts) > 1 and not all_keys:
        return pl.concat(parts, how="horizontal")
    # Views of one table have the same slices, but may name more or fewer classes.
    how: Literal["left", "full"] = "left" if all_keys == list(keys) else "full"
    return functools.reduce(
        lambda left, right: left.join(right, on=all_keys, how=how, nulls_equal=True, coalesce=True),
        parts,
    )


def read_sorted(
    table: pl.LazyFrame, metrics: Sequence[Metric], slices: Sequence[str]
) -> pl.LazyFrame:
    """Evaluate, in the order of the call: slices, keys, then a column per metric, sorted."""
    inner = inner_names(slices)
    keys = [*inner.values(), *metrics[0].result_keys()]
    result = read(table.rename(inner) if inner else table, metrics, list(inner.values()))
    result = result.select(*keys, *(metric.name for metric in metrics))
    result = result.sort(keys) if keys else result
    return result.rename({name: shown for shown, name in inner.items()}) if inner else result


def inner_names(slices: Sequence[str]) -> dict[str, str]:
    """Give slices names that no column of a view has, such as its counts ``tp`` or ``size``."""
    return {name: f"|by {name}" for name in slices}


def _lines(table: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    view = members[0].view
    return view(table, keys, members, **_taken_by(view, members[0]))


def _aggregate(lines: pl.LazyFrame, members: Sequence[Metric], keys: Sequence[str]) -> pl.LazyFrame:
    values = {
        # A comparison's formula reads the columns of its bases; other metrics have none.
        m.name: m.formula(*(base.name for base in m.bases), **_taken_by(m.formula, m)).cast(
            pl.Float64
        )
        for m in members
    }
    found = lines.group_by(keys).agg(**values) if keys else lines.select(**values)
    # Negative zero, such as an entropy's, would make a quotient by it infinite on the wrong side.
    return found.with_columns(
        pl.when(pl.col(name) == 0).then(0.0).otherwise(name).alias(name) for name in values
    )


def _taken_by(function: Callable[..., object], metric: Metric) -> dict[str, Any]:
    return {k: metric.options[k] for k in keywords_of(function) if k in metric.options}


def _sharing_a_view(metrics: Sequence[Metric]) -> list[list[Metric]]:
    """Put metrics together that read the same lines, so that the lines are made once."""
    shared: dict[tuple[object, str], list[Metric]] = {}
    for metric in metrics:
        same = (metric.view, repr(_taken_by(metric.view, metric)))
        shared.setdefault(same, []).append(metric)
    return list(shared.values())


def _numbered(members: Sequence[Metric]) -> list[Metric]:
    """Number what is compared, and how: the columns of a view are named by these numbers.

    Numbers are the same in every process, so that two runs make the same plan.
    """
    bases: dict[tuple[object, str, str], str] = {}
    formulas: dict[object, int] = {}
    for member in members:
        formulas.setdefault(member.formula, len(formulas))
        for base in member.bases:
            same = (base.formula, base.name, repr(dict(base.options)))
            bases.setdefault(same, f"{base.name}|{len(bases)}")

    def numbered(member: Metric) -> Metric:
        if not member.bases:
            return member
        named = tuple(
            base.alias(bases[base.formula, base.name, repr(dict(base.options))])
            for base in member.bases
        )
        formula = functools.partial(member.formula, formulas[member.formula])
        return replace(member, bases=named, formula=formula)

    return [numbered(member) for member in members]


def _as_list(metrics: object) -> list[Metric]:
    listed: list[Any] = [metrics]
    if isinstance(metrics, Iterable) and not isinstance(metrics, str):
        listed = list(metrics)
    if not listed:
        msg = "`metrics` is empty: name at least one, such as `[fairness.stat_parity]`"
        raise ValueError(msg)
    for metric in listed:
        if not isinstance(metric, Metric):
            msg = (
                f"`metrics` takes metric objects, got {metric!r}: write"
                " `fairness.stat_parity`, not its name or its value"
            )
            raise TypeError(msg)
    return listed


def _given(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Drop roles that are None, and make frames among the roles lazy or leave them eager."""
    return {k: v for k, v in keywords.items() if not (k in ROLES and v is None)}


def _with_frames(
    tally: Tally, frames: Sequence[IntoFrame], keywords: dict[str, Any]
) -> dict[str, Any]:
    if len(frames) > len(tally.frames):
        msg = (
            f"tables of `{tally.name}` take {1 + len(tally.frames)} positional argument(s), the"
            f' frame(s), got {1 + len(frames)}: give roles by keyword, such as `group="sex"`'
        )
        raise TypeError(msg)
    return {**keywords, **dict(zip(tally.frames, frames, strict=False))}


def _taken(metric: Metric, options: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k in metric.option_names}


def by_reference(module: str, name: str) -> object:
    """Find a metric or tally again by where it lives: how they are unpickled."""
    return getattr(importlib.import_module(module), name)


def _bound(metric: Metric, options: Mapping[str, Any]) -> Metric:
    return metric.bind(**options)


def _aliased(metric: Metric, name: str) -> Metric:
    return metric.alias(name)
