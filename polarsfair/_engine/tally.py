"""Tallies: how rows are counted into a small table, and how tables merge."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import polars as pl
import polars.selectors as cs
from polars.exceptions import SchemaError

from polarsfair._engine.columns import columns_of
from polarsfair._engine.faults import large_squares_fault
from polarsfair._engine.frames import as_lazy, collect, is_lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, Sums

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


def by_reference(module: str, name: str) -> object:
    """Find a metric or tally again by where it lives: how they are unpickled."""
    return getattr(importlib.import_module(module), name)


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
