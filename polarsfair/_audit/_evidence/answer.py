"""From the counted tables of a question to its rows, lazily."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polarsfair._audit._evidence.counted import attribute
from polarsfair._audit._evidence.wide import ROWS, wide_lines
from polarsfair._audit._result.rows import PLACE, POSITION, columns_of_result, rows_of
from polarsfair._audit._result.sheet import Sheet
from polarsfair._audit.attributes import KNOWN, SET
from polarsfair._engine.reference import GROUP, check_reference, raise_unless_found
from polarsfair._engine.request import keys_of
from polarsfair._engine.tables import with_same_dtypes

if TYPE_CHECKING:
    from polarsfair._audit._evidence.counted import Counted, Part
    from polarsfair._audit._evidence.question import Question


def answered(counted: Counted, question: Question) -> pl.LazyFrame:
    """Return the rows of an audit, sorted, as the caller sees them."""
    metric, *others = columns_of_result(shrink=question.shrink)
    keys = keys_of(counted.parts[0].everything)
    result = _sorted_rows(counted, question)
    result = result.select(*counted.slices.values(), metric, *keys, *others)
    return result.rename({name: shown for shown, name in counted.slices.items()})


def _sorted_rows(counted: Counted, question: Question) -> pl.LazyFrame:
    inner = list(counted.slices.values())
    keys = list(keys_of(counted.parts[0].everything))
    parts = [
        _rows(_with_reference(part, question), inner, keys, question) for part in counted.parts
    ]
    shared = [*inner, *keys]
    result = pl.concat(with_same_dtypes(parts, shared) if len(parts) > 1 else parts)
    return result.sort(*inner, PLACE, *keys, POSITION)


def intervals(counted: Counted, question: Question) -> pl.LazyFrame:
    """Return the limits of the metrics of everyone in a slice; comparisons have none here."""
    compared = [
        asked.metric.name for part in counted.parts for asked in part.asked if asked.compares
    ]
    if compared:
        msg = (
            f"`{compared[0]}` compares groups, and its limits need all pairs: write `pf.audit(...,"
            f' group="<column>", metrics=...)`, whose rows of scope "gap" have them'
        )
        raise ValueError(msg)
    keys = list(keys_of(counted.parts[0].everything))
    shown = {"value": "value", "ci_low": "low", "ci_high": "high", "method": "method"}
    names = {name: slice_ for slice_, name in counted.slices.items()}
    result = _sorted_rows(counted, question).select(*names, "metric", *keys, *shown)
    return result.rename({**shown, **names})


def _with_reference(part: Part, question: Question) -> Part:
    """Check the values of attributes that the caller named: their dtypes, and that they exist."""

    def checked(table: pl.LazyFrame, number: int) -> pl.LazyFrame:
        name, value = attribute(number), question.explicit[number]
        check_reference(value, table.collect_schema()[name])
        return raise_unless_found(table.rename({name: GROUP}), value).rename({GROUP: name})

    return replace(part, table=functools.reduce(checked, question.explicit, part.table))


def _rows(part: Part, slices: list[str], keys: list[str], question: Question) -> pl.LazyFrame:
    """Return the rows of one part: one Python function on its small table."""
    wide = wide_lines(part, slices, question)
    schema, shared = wide.collect_schema(), [*slices, *keys]
    result = {
        **{name: schema[name] for name in shared},
        **columns_of_result(shrink=question.shrink),
        PLACE: pl.Int64,
        POSITION: pl.Int64,
    }

    def rows(lines: pl.DataFrame) -> pl.DataFrame:
        if not lines.height and not shared:
            lines = _of_nobody(lines)
        # Undefined numbers are NaN, and stay so.
        with np.errstate(all="ignore"):
            return rows_of(Sheet(lines, shared, question), part).select(*result)

    return wide.map_batches(
        rows,
        schema=pl.Schema(result),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _of_nobody(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the line of everyone where there is nobody."""
    everyone = {SET: pl.lit(0, pl.Int64), KNOWN: pl.lit(value=True), ROWS: pl.lit(0, pl.Int64)}
    return lines.clear(1).with_columns(**everyone)
