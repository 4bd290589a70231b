"""Ledgers of small tables: what the rows of a line lack, by the cells that are null."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polarsfair._engine.slices import hidden_slices, summed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.tally import Tally

LEFT_OUT = "left_out"
"""The place of the first role that a row lacks; in the result its name."""

_USED = -1
"""The place of a row that lacks nothing: before all roles."""


def first_lacking(known: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the place of the first role that is not known."""
    places = [
        pl.when(~one.fill_null(value=False)).then(pl.lit(place, pl.Int8))
        for place, one in enumerate(known.values())
    ]
    return pl.coalesce(*places, pl.lit(_USED, pl.Int8))


def finished(
    counted: pl.LazyFrame, slices: Mapping[str, str], roles: Sequence[str]
) -> pl.LazyFrame:
    """Name the roles of counted lines; `slices` maps the names of the caller to hidden ones."""
    named = dict(enumerate(roles))
    role = pl.col(LEFT_OUT).replace_strict(named, default=None, return_dtype=pl.String)
    lines = counted.select(*slices.values(), LEFT_OUT, "n", "w")
    lines = lines.sort(*slices.values(), LEFT_OUT).with_columns(role)
    return lines.rename({name: shown for shown, name in slices.items()})


def tally_of(columns: Sequence[str]) -> Tally:
    """Return the tally whose table has these columns, the first of those that count alike."""
    from polarsfair import clustering, fairness, ranking

    counted = (
        *(ranking.lists, fairness.scores, fairness.outcome_bins, fairness.outcomes),
        *(fairness.classes, fairness.strata, clustering.contingency, clustering.edges),
    )
    fit = [one for one in counted if not one.lacks(columns, ()) and _known_roles(one, columns)]
    if not fit:
        made = ", ".join(f"`{tally.name}`" for tally in counted)
        msg = (
            f"these columns, {list(columns)}, are not those of a table that counts every row once:"
            f" make it with one of {made}, or call `pf.ledger` on the rows"
        )
        raise ValueError(msg)
    return max(fit, key=lambda tally: len({*tally.cells} & {*columns}))


def _known_roles(tally: Tally, columns: Sequence[str]) -> dict[str, pl.Expr]:
    """Return, per role that the table was counted with, whether the rows of a line have it."""
    if tally.together:
        return {"actual": pl.col("n_rel") > 0, "recs": pl.col("n_rec") > 0}
    cells = {role: pl.col(role).is_not_null() for role in tally.cells if role in tally.roles}
    known = {**cells, **tally.known}
    return {
        role: known[role]
        for role in tally.roles
        if role in known and role != "group" and {*known[role].meta.root_names()} <= {*columns}
    }


def of_table(
    table: pl.LazyFrame, tally: Tally, slices: Sequence[str], groups: Sequence[str]
) -> pl.LazyFrame:
    """Sum the lines of a table by the first role that they lack; `groups` hold their group."""
    names, inner = table.collect_schema().names(), hidden_slices(slices)
    of_group = [pl.col(one).is_not_null() for one in groups if one in names]
    known = {"group": pl.all_horizontal(of_group)} if of_group else {}
    known |= _known_roles(tally, names)
    table = table.rename(inner)
    size = pl.col(tally.size)
    weight = pl.coalesce("w", size) if "w" in names else size
    parts = [_counted(table, inner, known, size, weight)]
    if "rows" in names:
        # Rows of several classes count once for each: a row with an empty list counts in `rows`
        # alone, and one without a list in `n` alone.
        unknown = table.filter(pl.col("pred").is_null())
        parts = [
            _counted(unknown, inner, known, size, weight),
            _counted(table, inner, {**known, "pred": pl.lit(value=True)}, *_OF_ROWS),
        ]
    lines = pl.concat(parts).filter(pl.col("n") > 0)
    counted = summed(lines, [*inner.values(), LEFT_OUT], ["n", "w"])
    return finished(counted, inner, list(known))


_OF_ROWS = pl.col("rows"), pl.col("row_w")


def _counted(
    table: pl.LazyFrame,
    slices: Mapping[str, str],
    known: Mapping[str, pl.Expr],
    size: pl.Expr,
    weight: pl.Expr,
) -> pl.LazyFrame:
    """Return the rows and the weight of every line, by the place of what it lacks."""
    place = first_lacking(known).alias(LEFT_OUT)
    sums = {"n": size.cast(pl.Int64), "w": weight.cast(pl.Float64)}
    return table.select(*slices.values(), place, **sums)
