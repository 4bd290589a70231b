"""Calls over as many tables as there are: every metric with one of each tally that goes with it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.request import HONEST, unread_roles
from tests._samples import SAMPLES, empty

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from hypothesis import strategies as st

EVERY = tuple(pf.metrics())


@dataclass(frozen=True)
class Mixed:
    """Metrics that go into one call, with its rows, frames and roles."""

    metrics: tuple[pf.Metric, ...]
    rows: st.SearchStrategy[pl.DataFrame]
    frames: dict[str, st.SearchStrategy[pl.DataFrame]]
    roles: dict[str, Any]

    def without_rows(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """Give the frame and roles of a call in which every frame of the sample is empty."""
        return _empty(self.rows), {**self.roles, **{k: _empty(v) for k, v in self.frames.items()}}

    def tables(self) -> list[list[pf.Metric]]:
        """Group the metrics by the table that serves them."""
        rows, roles = self.without_rows()
        return [one.metrics for one in prepare(rows, list(self.metrics), "d", roles).requests]


@functools.cache
def _empty(strategy: st.SearchStrategy[pl.DataFrame]) -> pl.DataFrame:
    return empty(strategy)


def apart(metric: pf.Metric, keywords: dict[str, Any]) -> dict[str, Any]:
    """Give the keywords of a call of one metric: those that only others may read are left out."""
    unread = set(unread_roles([metric], keywords))
    kept = {name: value for name, value in keywords.items() if name not in unread & {*HONEST}}
    return {k: v for k, v in kept.items() if k != "k" or "k" in metric.option_names}


@functools.cache
def mixed(metric: pf.Metric) -> Mixed:
    """Build the call that has the metric first, and one of every tally that can join it."""
    sample, number = SAMPLES[metric.tally.name], EVERY.index(metric)
    found = Mixed((metric,), sample.rows, sample.frames, sample.roles)
    for name, other in SAMPLES.items():
        members = [m for m in EVERY if m.tally.name == name and m.keys == metric.keys]
        if not members:
            continue
        member = members[number % len(members)]
        if member.name in {one.name for one in found.metrics}:
            continue
        wider = replace(
            found,
            metrics=(*found.metrics, member),
            frames={**other.frames, **found.frames},
            roles={**other.roles, **found.roles},
        )
        if _works(wider):
            found = wider
    return found


def _works(call: Mixed) -> bool:
    rows, roles = call.without_rows()
    try:
        pf.evaluate(rows.lazy(), list(call.metrics), by="d", **roles)
        for metric in call.metrics:
            pf.evaluate(rows.lazy(), metric, by="d", **apart(metric, roles))
    except (TypeError, ValueError, PolarsError):
        return False
    return True


def values(frame: pl.DataFrame, names: tuple[str, ...]) -> dict[tuple[Any, ...], list[Any]]:
    """Give the values of some columns by those before the first metric."""
    keys = [name for name in frame.columns if name in ("d", "group", "class", "cluster", "k")]
    rows: Iterator[dict[str, Any]] = frame.iter_rows(named=True)
    return {tuple(row[k] for k in keys): [row[name] for name in names] for row in rows}
