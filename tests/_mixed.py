"""Calls over as many tables as there are: all metrics of the registry that go together."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings

import polarsfair as pf
from polarsfair._engine.evaluate import prepare
from polarsfair._engine.request import HONEST, unread_roles
from tests._samples import PEOPLE, SAMPLES, Sample, ready

if TYPE_CHECKING:
    import polars as pl
    from hypothesis import strategies as st


@dataclass(frozen=True)
class Mixed:
    """Metrics with the same keys that go into one call, with its rows, frames and roles."""

    metrics: list[pf.Metric]
    rows: pl.DataFrame
    frames: dict[str, pl.DataFrame]
    roles: dict[str, Any]

    def of(self, metrics: list[pf.Metric], **more: Any) -> dict[str, Any]:
        """Give the keywords of a call of some of the metrics: only roles and options of theirs."""
        given = {**self.roles, **self.frames, **more}
        unread = {*unread_roles(metrics, given)} & {*HONEST}
        if not any("k" in metric.option_names for metric in metrics):
            unread.add("k")
        return {name: value for name, value in given.items() if name not in unread}

    def tables(self, metrics: list[pf.Metric]) -> list[list[pf.Metric]]:
        """Group metrics by the table that serves them."""
        requests = prepare(self.rows, metrics, "d", self.of(metrics)).requests
        return [request.metrics for request in requests]


def drawn(strategy: st.SearchStrategy[pl.DataFrame]) -> pl.DataFrame:
    """Give the longest of some frames of a strategy."""
    found: list[pl.DataFrame] = []

    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(strategy)
    def take(frame: pl.DataFrame) -> None:
        found.append(frame)

    take()
    return max(found, key=len)


@functools.cache
def mixed(kind: str) -> list[Mixed]:
    """Build the calls over the samples of people or of lists, one for each kind of keys."""
    samples = [one for one in SAMPLES.values() if (one.rows is PEOPLE) == (kind == "people")]
    rows = _widest([one.rows for one in samples])
    named = {role for one in samples for role in one.frames}
    frames = {r: _widest([s.frames[r] for s in samples if r in s.frames]) for r in sorted(named)}
    roles = _usual([{**one.roles, **one.merged} for one in samples])
    sampled = [ready(metric) for metric in pf.metrics() if _sample_of(metric) in samples]
    return [
        Mixed([metric for metric in sampled if metric.keys == keys], rows, frames, roles)
        for keys in dict.fromkeys(metric.keys for metric in sampled)
    ]


def _usual(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Give every role as most samples have it."""
    names = dict.fromkeys(name for roles in samples for name in roles)
    given = {name: [roles[name] for roles in samples if name in roles] for name in names}
    counted = {n: Counter(repr(one) for one in found) for n, found in given.items()}
    return {
        name: next(one for one in found if repr(one) == counted[name].most_common(1)[0][0])
        for name, found in given.items()
    }


def _sample_of(metric: pf.Metric) -> Sample:
    return SAMPLES[metric.tally.name]


def _widest(strategies: list[st.SearchStrategy[pl.DataFrame]]) -> pl.DataFrame:
    distinct = {id(one): one for one in strategies}.values()
    return max((drawn(one) for one in distinct), key=lambda frame: frame.width)


CALLS = {
    "-".join([kind, *call.metrics[0].keys]): call
    for kind in ("people", "lists")
    for call in mixed(kind)
}
EVERY = [(name, metric) for name, call in CALLS.items() for metric in call.metrics]
