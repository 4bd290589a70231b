"""Tallies: how rows are counted into a small table, and how tables merge."""

from __future__ import annotations

import functools
import importlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_given, as_lazy
from polarsfair._engine.slices import MARK, distinct_names
from polarsfair._engine.unknown import keyword_advice
from polarsfair._typing import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from polarsfair._engine.faults import Fault
    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, Keywords, Sums

UNWEIGHTED: Sums = {"w": pl.col("n"), "w2": pl.col("n")}
"""What the sums of weights are in a table without weights."""


class Fact(NamedTuple):
    """What must be equal in all lines that are merged, for some of the sums."""

    sums: tuple[str, ...]
    instead: str
    """Why it can differ, and what to type, for the error."""


class Drawn(NamedTuple):
    """How the weights of lines can be drawn anew.

    Attributes
    ----------
    cells
        Cells of which every combination can be seen, with their values.
    whole
        Whether rows are counted one by one, so that no weight may be a fraction.
    """

    cells: Mapping[str, tuple[object, ...]] = {}
    whole: bool = False


@functools.cache
def keywords_of(function: Callable[..., object]) -> Mapping[str, Any]:
    """Return the keyword-only parameters of `function` with their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


class Signature:
    """The signature of one metric or tally, for editors; the class has its constructor's."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if instance is None:
            raise AttributeError(owner.__name__)
        signature: inspect.Signature = instance.signature()
        return signature


def signature_of(frames: Mapping[str, Any], keywords: Mapping[str, Any]) -> inspect.Signature:
    """Return the signature of a call: the frame, further frames, then keywords with defaults."""
    either, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter("frame", inspect.Parameter.POSITIONAL_ONLY),
            *(inspect.Parameter(n, either, default=d) for n, d in frames.items()),
            *(inspect.Parameter(n, only, default=d) for n, d in keywords.items()),
        ]
    )


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """How a frame is counted into a small table of sums.

    Call it with a frame and roles to get the table. Tables of one tally can be merged.

    Attributes
    ----------
    name
        Family and name, such as ``fairness.decisions``.
    count
        ``(rows, by, *, roles and options) -> lazy table``. Its keyword-only parameters are the
        roles and options that the tally takes.
    cells
        Key columns of the table after the slices.
    sums
        Value columns, each with the expression that merges lines of one cell; or a function of
        the table's column names if the columns depend on the data.
    defaults
        Sums that a table may lack, with what they are then.
    contains
        Poorer tallies, whose metrics can read this tally's tables as well.
    mergeable
        False if values need a second pass over the rows: stored tables cannot be measured.
    single
        Options of which one table can hold only one value, such as ``bins``.
    known
        For roles that are not cells themselves: whether a line's rows have a value for them.
    passed_on
        Options of formulas that the tally needs as well.
    together
        Roles whose rows must be counted in one table, such as ``user``: lists cannot be split.
    whole
        ``(roles and options) -> str | None``: see `whole_only`.
    facts
        Columns that merged lines must agree on, if a metric reads sums that rest on them.
    apart
        ``(kept slices and group, whether others are dropped) -> sum and fault``: of lines that were
        counted apart from each other, so that the sum cannot be read.
    drawn
        How the weight of a line can be drawn anew, if it holds ``n`` rows that are alike; None: it
        does not.
    """

    name: str
    count: Callable[..., pl.LazyFrame]
    cells: tuple[str, ...]
    sums: Sums | Callable[[Sequence[str]], Sums]
    defaults: Sums = field(default_factory=lambda: dict(UNWEIGHTED))
    contains: tuple[Tally, ...] = ()
    mergeable: bool = True
    single: tuple[str, ...] = ()
    known: Sums = field(default_factory=dict)
    passed_on: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    whole: Callable[[Mapping[str, Any]], str | None] | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    apart: Callable[[Sequence[str], bool], tuple[str, Fault]] | None = None
    drawn: Drawn | None = None

    __signature__ = Signature()

    def signature(self) -> inspect.Signature:
        """Return the roles and options with their defaults."""
        given = {**keywords_of(self.count), "by": None}
        frames = {name: given.pop(name) for name in self.frames}
        return signature_of(frames, given)

    def __repr__(self) -> str:
        return f"<Tally {self.name}{self.signature()}>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.count.__doc__)
        object.__setattr__(self, "__module__", f"polarsfair.{self.name.partition('.')[0]}")

    @functools.cached_property
    def roles(self) -> tuple[str, ...]:
        """Every role that the tally takes."""
        return tuple(name for name in keywords_of(self.count) if name in ROLES)

    @functools.cached_property
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
        **keywords: Unpack[Keywords],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: EagerFrame,
        /,
        *frames: IntoFrame,
        by: IntoSlices | None = ...,
        **keywords: Unpack[Keywords],
    ) -> pl.DataFrame: ...
    def __call__(
        self, frame: IntoFrame, /, *frames: IntoFrame, by: IntoSlices | None = None, **keywords: Any
    ) -> pl.DataFrame | pl.LazyFrame:
        """Count `frame` into the table; eager in, eager out, lazy in, lazy out."""
        given = with_frames(self, frames, keywords)
        check_keywords(given, self.option_names, self.roles, f"tables of `{self.name}`")
        rows, by_columns = as_lazy(frame), columns_of(by)
        slice_names(by_columns, self)
        table = self.count(
            rows, by_columns, **{k: v for k, v in given.items() if k in keywords_of(self.count)}
        )
        return as_given(table, frame, *given.values())

    @functools.cached_property
    def frames(self) -> tuple[str, ...]:
        """The roles that may be given as further positional frames."""
        return ("actual",) if "actual" in self.roles else ()

    @functools.cached_property
    def group_splits(self) -> bool:
        """Whether a group changes what is counted; it is then ignored unless a metric reads it."""
        return bool(self.together)

    def whole_only(self, given: Mapping[str, Any]) -> str | None:
        """Return why tables of parts cannot answer a request with these roles, None if they can."""
        if not self.mergeable:
            return f"`{self.name}` needs a second pass over all rows"
        return None if self.whole is None else self.whole(given)

    def sums_of(self, columns: Sequence[str]) -> Sums:
        """Return the sums of a table with these columns, and how each of them merges."""
        return self.sums(columns) if callable(self.sums) else self.sums

    def lacks(self, columns: Sequence[str], cells: Sequence[str]) -> list[str]:
        """List which of the sums and the given cells a table with these columns lacks."""
        needed = [*cells, *self.sums_of(columns)]
        return [name for name in needed if name not in self.defaults and name not in columns]

    def with_defaults(self, table: pl.LazyFrame, *, stacked: bool = False) -> pl.LazyFrame:
        """Add what a table may lack: sums without weights, cells whose role was not given.

        In a table of `stacked` ones some lines may lack a sum that others have; if none has it,
        it is not added.
        """
        names = table.collect_schema().names()
        if stacked and not any(name in names for name in self.defaults):
            return table
        sums = self.sums_of(names)
        if not stacked:
            table = self._with_cells(table)
            names = table.collect_schema().names()
        for name, default in self.defaults.items():
            if name not in sums or not set(default.meta.root_names()) <= set(names):
                continue  # a cell that this default reads has no role: there is nothing to add
            if stacked and name in names:
                table = table.with_columns(pl.coalesce(name, default).alias(name))
            elif name not in names:
                table = table.with_columns(default.alias(name))
                # Later defaults may read this one.
                names = [*names, name]
        return table

    def _with_cells(self, table: pl.LazyFrame) -> pl.LazyFrame:
        columns = table.collect_schema()
        of_roles = {*ROLES, *(name for e in self.known.values() for name in e.meta.root_names())}
        cells = [name for name in self.cells if name != "group" and name in of_roles]
        dtype = next((columns[name] for name in cells if name in columns), pl.Boolean())
        absent = {name: pl.lit(None, dtype=dtype) for name in cells if name not in columns}
        return table.with_columns(**absent) if absent else table

    @functools.cached_property
    def size(self) -> str:
        """The sum that counts rows (or users): the first."""
        return next(iter(self.sums_of(())))

    def __reduce__(self) -> str:
        """Pickle by family and name."""
        return self.name.partition(".")[2]


def with_frames(
    tally: Tally, frames: Sequence[IntoFrame], keywords: dict[str, Any]
) -> dict[str, Any]:
    """Return the keywords with further positional frames, and without roles that are None."""
    if len(frames) > len(tally.frames):
        msg = (
            f"tables of `{tally.name}` take {1 + len(tally.frames)} positional argument(s), the"
            f' frame(s), got {1 + len(frames)}: pass roles by keyword, such as `group="sex"`'
        )
        raise TypeError(msg)
    return given_roles({**keywords, **dict(zip(tally.frames, frames, strict=False))})


def given_roles(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords without roles that are None."""
    return {k: v for k, v in keywords.items() if v is not None or k not in ROLES}


def by_reference(module: str, name: str) -> object:
    """Return the metric or tally of this name in a module: how they are unpickled."""
    return getattr(importlib.import_module(module), name)


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
        msg = (
            f"`{name}` is not a role or an option of {where}: "
            f"{keyword_advice(name, options, roles)}"
            f"the roles are {', '.join(sorted(roles)) or 'none'},"
            f" the options {', '.join(sorted(options)) or 'none'}"
        )
        raise TypeError(msg)


def check_distinct(columns: Sequence[str]) -> None:
    """Raise if two columns of the result would have the same name."""
    for name in columns:
        if columns.count(name) > 1:
            msg = f'two columns would be called {name!r}: rename one with `.alias("...")`'
            raise ValueError(msg)


def slice_names(by: Sequence[pl.Expr], tally: Tally) -> list[str]:
    """Return the names of the slices, and raise if one cannot be used."""
    taken = {*tally.cells, *tally.roles, *tally.defaults, *tally.sums_of(())}
    names = [column.meta.output_name() for column in by]
    if len(set(names)) < len(names):
        distinct_names(by, "slices")
    for name in names:
        if name in taken or name.startswith(MARK):
            msg = (
                f"a slice cannot be named {name!r}, because `{tally.name}` uses that name:"
                f' rename it, `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)
    return names
