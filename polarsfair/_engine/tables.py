"""The tables of one call, and the values of all of them in one frame.

Every table is counted and read apart; the values are joined on slices and keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from polars.exceptions import PolarsError

from polarsfair._engine.columns import common_dtype, shown
from polarsfair._engine.read import arranged, beside, read, read_sorted
from polarsfair._engine.request import keys_of
from polarsfair._engine.slices import hidden, hidden_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polarsfair._engine.metric import Metric
    from polarsfair._engine.request import Served


class Request(NamedTuple):
    """One table of a call, and the metrics to compute from it."""

    table: pl.LazyFrame
    metrics: list[Metric]


def count_each(served: Sequence[Served], count: Callable[[int, Served], Request]) -> list[Request]:
    """Count or merge the tables of a call; `count` takes the number of a table.

    An error that not every table has names the metrics whose table has it.
    """
    if len(served) == 1:
        return [count(0, served[0])]
    requests, errors = [], []
    for number, one in enumerate(served):
        try:
            requests.append(count(number, one))
        except (TypeError, ValueError, PolarsError) as error:
            errors.append((error, one.metrics))
    if errors:
        first, metrics = errors[0]
        everywhere = not requests and len({str(error) for error, _ in errors}) == 1
        raise first if everywhere else _naming(first, metrics)
    return requests


def _naming(error: Exception, metrics: Sequence[Metric]) -> Exception:
    """Return the error with the names of the metrics before its message, if it has none of them."""
    message = str(error)
    if any(f"`{metric.name}`" in message for metric in metrics):
        return error
    names = ", ".join(f"`{metric.name}`" for metric in metrics)
    return type(error)(f"{names}: {message}")


_TABLE = hidden("table")


def spelled(frame: Any, number: int) -> Any:
    """Return a lazy frame in another spelling for every table, so that no two plans are equal.

    Polars finds equal parts of a plan, reads them once, and keeps their rows in memory until the
    slower table has taken them. It adds and drops nothing here when the query runs.
    """
    if not isinstance(frame, pl.LazyFrame) or number == 0:
        return frame
    return frame.with_columns(pl.lit(number).alias(_TABLE)).drop(_TABLE)


def of_one_kind(requests: Sequence[Request]) -> Iterator[Request]:
    """Split every request into metrics that are requested at several k, and others."""
    for table, metrics in requests:
        for keys in dict.fromkeys(metric.result_keys for metric in metrics):
            yield Request(table, [metric for metric in metrics if metric.result_keys == keys])


def only(requests: Sequence[Request], metrics: Sequence[Metric]) -> list[Request]:
    """Return the requests for some of their metrics."""
    chosen = {id(metric) for metric in metrics}
    parts = [Request(table, [m for m in own if id(m) in chosen]) for table, own in requests]
    return [part for part in parts if part.metrics]


def read_tables(
    requests: Sequence[Request],
    metrics: Sequence[Metric],
    slices: Sequence[str],
    *,
    counts: bool = False,
) -> pl.LazyFrame:
    """Evaluate, in the order of the call: slices, keys, then a column per metric, sorted.

    A slice that only some tables have is a row with null for the metrics of the others.
    """
    keys, parts = keys_of(metrics), list(of_one_kind(requests))
    if len(parts) == 1:
        return read_sorted(parts[0].table, metrics, slices, counts=counts)
    inner = hidden_slices(slices)
    hidden_keys = list(inner.values())
    read_apart = [
        at_every_k(read(table.rename(inner), own, hidden_keys, counts=counts), own, metrics)
        for table, own in parts
    ]
    all_keys = [*hidden_keys, *keys]
    joined = beside(with_same_dtypes(read_apart, all_keys), all_keys, "full")
    return arranged(joined, metrics, inner, keys, counts=counts)


def at_every_k(
    lines: pl.LazyFrame, own: Sequence[Metric], metrics: Sequence[Metric]
) -> pl.LazyFrame:
    """Repeat values that are requested at one k, or at none, at every k of the call.

    They are repeated before they are joined, because a null k is a whole list.
    """
    several = [metric for metric in metrics if metric.result_keys != metric.keys]
    if not several or own[0].result_keys != own[0].keys:
        return lines
    ks = dict.fromkeys(k for metric in several for k in metric.fixed["k"])
    depths = [None if k is None else int(k) for k in ks]
    return lines.join(pl.LazyFrame({"k": depths}, schema={"k": pl.Int64}), how="cross")


def with_same_dtypes(parts: Sequence[pl.LazyFrame], keys: Sequence[str]) -> list[pl.LazyFrame]:
    """Cast the keys of several frames to dtypes in which equal values are equal."""
    schemas = [part.collect_schema() for part in parts]
    wanted = {}
    for name in keys:
        dtype = schemas[0][name]
        for schema in schemas[1:]:
            dtype = _common(name, dtype, schema[name])
        wanted[name] = dtype
    return [
        part.with_columns(
            pl.col(name).cast(dtype) for name, dtype in wanted.items() if schema[name] != dtype
        )
        for part, schema in zip(parts, schemas, strict=True)
    ]


def _common(name: str, one: Any, other: Any) -> pl.DataType:
    """Return the common dtype of two keys; of intersections part by part."""
    if not isinstance(one, pl.Struct) or not isinstance(other, pl.Struct):
        return common_dtype((shown(name), shown(name)), one, other)
    parts = {field.name: field.dtype for field in other.fields}
    found = {f.name: _common(f.name, f.dtype, parts[f.name]) for f in one.fields}
    return pl.Struct(found)
