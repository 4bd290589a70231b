"""Which table serves a request: sisters that stand in, the tally that all share, its options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarsfair._engine.evaluate import Metric, Sister, Tally


def standing_in(metric: Metric, given: Mapping[str, Any]) -> Metric:
    """Give the sister that the caller's roles or options ask for, else the metric itself."""
    options = {**given, **metric.fixed()}
    for sister in metric.sisters:
        asks = sister.given
        asked = asks(options) if callable(asks) else options.get(asks) is not None
        if asked and sister.without not in given:
            return sister.metric
    return metric


def on_one_table(metrics: list[Metric], given: Mapping[str, Any]) -> list[Metric]:
    """Where some metrics need a sister's table, let the others read that table too."""
    tallies = {metric.tally for metric in metrics}
    moved = [
        next((s.metric for s in _able(metric, given) if s.metric.tally in tallies), metric)
        for metric in metrics
    ]
    return moved if len(tallies) > 1 and len({m.tally for m in moved}) == 1 else metrics


def _able(metric: Metric, options: Mapping[str, Any]) -> list[Sister]:
    """List the sisters that would give the same answer."""
    return [sister for sister in metric.sisters if sister.answers(metric, options)]


def fitting(metric: Metric, columns: Sequence[str], options: Mapping[str, Any]) -> Metric:
    """Give the metric or the sister of it that the table can serve."""
    for candidate in (metric, *(sister.metric for sister in _able(metric, options))):
        if not candidate.tally.lacks(columns, candidate.cells_read):
            return candidate
    return metric


def shared_tally(metrics: Sequence[Metric]) -> Tally:
    """Give the tally whose table all metrics can read."""
    tallies = list(dict.fromkeys(metric.tally for metric in metrics))
    for candidate in tallies:
        if all(candidate is other or candidate in other.also for other in tallies):
            return candidate
    named = {tally.name: [m.name for m in metrics if m.tally is tally] for tally in tallies}
    msg = f"these metrics share no table, evaluate them in one call per table: {named}"
    raise ValueError(msg)


def all_options(metrics: Sequence[Metric]) -> list[str]:
    """List every option that any of the metrics takes."""
    return list(dict.fromkeys(name for metric in metrics for name in metric.option_names))


def tally_options(
    tally: Tally, metrics: Sequence[Metric], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect, per option of the tally, the distinct values that the metrics ask for."""
    asked: dict[str, Any] = {}
    for name in tally.option_names:
        values = [m.option(name) for m in leaves(metrics) if name in m.option_names]
        distinct = [v for i, v in enumerate(values) if v not in values[:i]]
        if len(distinct) > 1 and name in tally.alone:
            msg = f"one table has one `{name}`, and these metrics ask for {distinct}: one a call"
            raise ValueError(msg)
        if distinct:
            asked[name] = distinct[0] if len(distinct) == 1 else distinct
        elif name in given:
            asked[name] = given[name]
    return asked


def leaves(metrics: Sequence[Metric]) -> list[Metric]:
    """List the metrics that are compared, and those that compare nothing."""
    return [leaf for m in metrics for leaf in (leaves(m.bases) if m.bases else [m])]
