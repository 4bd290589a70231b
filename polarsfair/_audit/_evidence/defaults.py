"""The metrics of an audit that names none: shares, equalized odds and the area under the curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polarsfair._engine.catalog import family_members
from polarsfair._engine.evaluate import stored_tables
from polarsfair._engine.frames import as_lazy
from polarsfair._engine.tally import given_roles
from polarsfair._formula import Share

if TYPE_CHECKING:
    from collections.abc import Collection

    from polarsfair._engine.metric import Metric


def default_metrics(keywords: Mapping[str, Any]) -> list[Metric]:
    """Return every share whose roles are given, equalized odds and the AUC: none needs draws."""
    given = given_roles(keywords)
    if not {"pred", "score"} & set(given):
        msg = (
            'an audit of decisions needs `pred="<column>"` or `score="<column>"`; name the metrics'
            " of anything else, `metrics=[...]`"
        )
        raise TypeError(msg)
    return _served(given)


def _served(given: Collection[str]) -> list[Metric]:
    """Return the default metrics whose roles are among those given."""
    fairness = family_members("fairness")
    shares = [metric for metric in fairness.values() if isinstance(metric.formula, Share)]
    chosen = [*shares, fairness["equalized_odds"], fairness["auc"]]
    return [metric for metric in chosen if set(metric.roles) <= {*given, "group"}]


def metrics_of_tables(table: Any) -> list[Metric]:
    """Return the default metrics that stored tables can serve."""
    tables = [as_lazy(one) for one in stored_tables(table)]
    columns = {name for one in tables for name in one.collect_schema().names()}
    tallies = set(table) if isinstance(table, Mapping) else None
    found = [
        metric
        for metric in _served(["pred", "label", "score"])
        if (tallies is None or metric.tally in tallies)
        and not metric.tally.lacks(list(columns), [c for c in metric.cells_read if c != "group"])
    ]
    if not found:
        msg = (
            "no metric is named, and the table is none of decisions or scores: add `metrics=[...]`"
        )
        raise ValueError(msg)
    return found
