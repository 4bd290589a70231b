"""`ledger`: what every row was used for, or which role it lacked. `ledger_table`: of stored tables.

One number per row is found on the row side, the place of the first role that it lacks, and counted.
Lists are counted as their tally counts them, because a user lacks what no single row can tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

import polars as pl

from polarsfair._audit._ledger.tables import LEFT_OUT, finished, first_lacking, of_table, tally_of
from polarsfair._engine.columns import as_column, check_anywhere, check_columns, columns_of
from polarsfair._engine.faults import raise_faults
from polarsfair._engine.frames import as_given, as_lazy, read_once
from polarsfair._engine.rows import Rows, key, number
from polarsfair._engine.slices import MARK, hidden, summed
from polarsfair._engine.stored import merge, stack
from polarsfair._engine.tally import check_distinct, check_keywords, given_roles, slice_names
from polarsfair._typing import FRAME_ROLES, ROLES

if TYPE_CHECKING:
    from polarsfair._engine.rows import Role
    from polarsfair._engine.tally import Tally
    from polarsfair._typing import EagerFrame, GroupKeywords, IntoFrame, IntoGroup, IntoSlices

    EagerTables = EagerFrame | Sequence[EagerFrame]
    LazyTables = pl.LazyFrame | Sequence[pl.LazyFrame]

_NUMBERS = ("score", "features", "rank", "relevance", "propensity", "predicted", "popularity")
"""Roles that hold numbers, in which NaN is unknown."""

_COLUMNS = [role for role in ROLES if role not in (*FRAME_ROLES, "group", "weight")]
"""Roles that a row can lack. A weight that is unknown is an error."""


@overload
def ledger(
    frame: pl.LazyFrame,
    *,
    group: IntoGroup | None = ...,
    by: IntoSlices | None = ...,
    **roles: Unpack[GroupKeywords],
) -> pl.LazyFrame: ...
@overload
def ledger(
    frame: EagerFrame,
    *,
    group: IntoGroup | None = ...,
    by: IntoSlices | None = ...,
    **roles: Unpack[GroupKeywords],
) -> pl.DataFrame: ...
def ledger(
    frame: IntoFrame,
    *,
    group: IntoGroup | None = None,
    by: IntoSlices | None = None,
    **roles: Any,
) -> pl.DataFrame | pl.LazyFrame:
    """Count the rows that are used, and those that are left out because they lack a role.

    Every row is counted once: it is used, or it stands under the first role that it lacks. The
    order of the roles is ``group``, then the order of the call. A row lacks a role if its value is
    null or NaN; of several columns (an intersection, features), if it lacks one of them.

    Parameters
    ----------
    frame
        Eager, lazy, or anything with the Arrow C stream interface.
    group
        Column, expression, or several of them (their intersection).
    by
        Slices: column names or expressions.
    **roles
        The roles of the metrics, as in `evaluate`: ``pred=``, ``label=``, ``score=``, ... With
        ``actual=`` the frame holds recommendations, and users are counted instead of rows.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``left_out`` (the role; null: used), ``n`` rows and ``w``, the sum of their
        weights (``n``, if there are no weights). Sorted by slice, the rows that are used first,
        then the roles in order. A role that no row lacks has no line.

    Notes
    -----
    Of ranked lists, a user without relevant items stands under ``actual``, and one with relevant
    items but without recommendations under ``recs``. Some metrics leave the latter out, such as
    `ranking.precision`; others count them as 0, such as `ranking.recall`. Rows without a user or
    an item belong to no list and are not counted.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> df = pl.DataFrame(
    ...     {"sex": ["F", "M", "M", None], "hired": [0, 1, None, 1], "fit": [1, None, None, 1]}
    ... )
    >>> pf.ledger(df, group="sex", pred="hired", label="fit")
    shape: (4, 3)
    ┌──────────┬─────┬─────┐
    │ left_out ┆ n   ┆ w   │
    │ ---      ┆ --- ┆ --- │
    │ str      ┆ i64 ┆ f64 │
    ╞══════════╪═════╪═════╡
    │ null     ┆ 1   ┆ 1.0 │
    │ group    ┆ 1   ┆ 1.0 │
    │ pred     ┆ 1   ┆ 1.0 │
    │ label    ┆ 1   ┆ 1.0 │
    └──────────┴─────┴─────┘
    """
    given = {name: read_once(value) for name, value in given_roles(roles).items()}
    check_keywords(given, (), ROLES, "`pf.ledger`")
    frame, columns = read_once(frame), columns_of(by)
    names = [column.meta.output_name() for column in columns]
    _check_names(names)
    count = _of_lists if "actual" in given else _of_rows
    result = count(as_lazy(frame), columns, group, given)
    return as_given(result, frame, *given.values())


def _check_names(slices: Sequence[str]) -> None:
    check_distinct(slices)
    for name in slices:
        if name in (LEFT_OUT, "n", "w") or name.startswith(MARK):
            msg = (
                f"a slice cannot be named {name!r} here, because the ledger uses that name:"
                f' rename it, `by=pl.col("{name}").alias("{name}_slice")`'
            )
            raise ValueError(msg)


# --- rows ---------------------------------------------------------------------------------------


def _of_rows(
    frame: pl.LazyFrame, by: list[pl.Expr], group: IntoGroup | None, given: Mapping[str, Any]
) -> pl.LazyFrame:
    """Count rows by the place of the first role that they lack."""
    check_anywhere([frame], {k: v for k, v in given.items() if k not in FRAME_ROLES})
    read = {role: _columns(role, given[role], frame) for role in given if role in _COLUMNS}
    if group is None and not read:
        msg = (
            "`pf.ledger` counts what rows lack: pass at least one role, such as"
            ' `pf.ledger(df, group="sex", pred="hired", label="fit")`'
        )
        raise TypeError(msg)
    columns: dict[str, Any] = {name: one for parts in read.values() for name, one in parts.items()}
    rows = Rows.of(frame, by, group=group, weight=given.get("weight"), **columns)
    names = {"group": list(rows.parts)} if rows.parts else {}
    names |= {role: list(parts) for role, parts in read.items()}
    place = first_lacking(
        {r: pl.all_horizontal(pl.col(n).is_not_null() for n in names[r]) for r in names}
    )
    weight = pl.col("w" if rows.weighted else "n").cast(pl.Float64)
    lines = rows.frame.with_columns(place.alias(LEFT_OUT), weight.alias("w"))
    counted = summed(lines, [*rows.slices.values(), LEFT_OUT], ["n", "w", *rows.bad])
    counted = raise_faults(counted, rows.faults(squares=False), ["n", "w"])
    return finished(counted, rows.slices, list(names))


def _columns(role: str, into: Any, frame: pl.LazyFrame) -> dict[str, Role]:
    """Return the columns of a role, and how they are read; arrays of features as their members."""
    if role == "features":
        from polarsfair.clustering._internal.points import features_of

        return {name: number(one) for name, one in features_of(frame, into)[0].items()}
    columns = columns_of(into, role) if role == "user" else [as_column(into, role)]
    if not columns:
        msg = f'`{role}` is empty: name at least one column, such as `{role}="user"`'
        raise ValueError(msg)
    names = [role, *(hidden(role, i) for i in range(1, len(columns)))]
    read = number if role in _NUMBERS else key
    return {name: read(one) for name, one in zip(names, columns, strict=True)}


# --- lists --------------------------------------------------------------------------------------


def _of_lists(
    frame: pl.LazyFrame, by: list[pl.Expr], group: IntoGroup | None, given: Mapping[str, Any]
) -> pl.LazyFrame:
    """Count users by what they lack: a group, relevant items, recommendations."""
    from polarsfair.ranking._lists.masks import lists

    check_keywords(given, (), lists.roles, "tables of `ranking.lists`")
    frames = [frame, *(given[role] for role in FRAME_ROLES if role in given)]
    named = {role: into for role, into in given.items() if role not in FRAME_ROLES}
    check_anywhere(frames, named if group is None else {**named, "group": group})
    table = lists.count(frame, by, group=group, **given)
    return of_table(table, lists, slice_names(by, lists), ["group"])


# --- stored tables ------------------------------------------------------------------------------


@overload
def ledger_table(
    table: LazyTables | Mapping[Tally, LazyTables],
    *,
    group: IntoSlices | None = ...,
    by: IntoSlices | None = ...,
) -> pl.LazyFrame: ...
@overload
def ledger_table(
    table: EagerTables | Mapping[Tally, EagerTables],
    *,
    group: IntoSlices | None = ...,
    by: IntoSlices | None = ...,
) -> pl.DataFrame: ...
def ledger_table(
    table: IntoFrame | Sequence[IntoFrame] | Mapping[Tally, IntoFrame | Sequence[IntoFrame]],
    *,
    group: IntoSlices | None = None,
    by: IntoSlices | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Count the rows of stored tables that are used, and those that lack a role.

    The roles are those that the table was counted with: ``group`` first, then the order of the
    tally's cells, such as ``pred`` and ``label``.

    Parameters
    ----------
    table
        A table of decisions, classes, scores, outcomes, strata, clusters, labels, edges or lists;
        several stacked in one frame, or a list of them.
    group
        The slices of the table that are attributes: a row of which one is unknown stands under
        ``group``. Without it the table's own group, if it has one.
    by
        The slices to keep (names or expressions); the others are merged.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The same frame as that of `ledger`.

    Examples
    --------
    >>> import polars as pl
    >>> import polarsfair as pf
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"sex": ["F", "M", None], "hired": [0, None, 1], "day": [1, 1, 2]})
    >>> table = fairness.decisions(df, pred="hired", by=["day", "sex"])
    >>> pf.ledger_table(table, group="sex", by="day")
    shape: (3, 4)
    ┌─────┬──────────┬─────┬─────┐
    │ day ┆ left_out ┆ n   ┆ w   │
    │ --- ┆ ---      ┆ --- ┆ --- │
    │ i64 ┆ str      ┆ i64 ┆ f64 │
    ╞═════╪══════════╪═════╪═════╡
    │ 1   ┆ null     ┆ 1   ┆ 1.0 │
    │ 1   ┆ pred     ┆ 1   ┆ 1.0 │
    │ 2   ┆ group    ┆ 1   ┆ 1.0 │
    └─────┴──────────┴─────┴─────┘
    """
    tables = [read_once(one) for one in _listed(table)]
    parts = [as_lazy(one) for one in tables]
    names = list(dict.fromkeys(name for part in parts for name in part.collect_schema()))
    kept, attributes = columns_of(by), columns_of(group, "group")
    _check_names([column.meta.output_name() for column in kept])
    tally = tally_of(names)
    stacked = stack(parts, tally, [*kept, *attributes])
    check_columns(stacked, {"by": kept, "group": attributes})
    slices, inner = slice_names(kept, tally), [hidden("in", i) for i in range(len(attributes))]
    keys = [*kept, *(c.alias(name) for c, name in zip(attributes, inner, strict=True))]
    merged = merge(stacked, tally, keys, names)
    return as_given(of_table(merged, tally, slices, inner or ["group"]), *tables)


def _listed(table: Any) -> list[Any]:
    """List the tables of one tally."""
    if isinstance(table, Mapping):
        if len(table) != 1:
            msg = (
                "a ledger is that of one tally, because each counts the same rows again: pass the"
                " table of one, such as `pf.ledger_table(table)`"
            )
            raise ValueError(msg)
        table = next(iter(table.values()))
    listed = list(table) if isinstance(table, Sequence) else [table]
    if not listed:
        msg = "`pf.ledger_table` needs at least one table"
        raise ValueError(msg)
    return listed
