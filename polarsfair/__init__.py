"""Fairness, ranking and clustering metrics as lazy Polars expression graphs.

A metric is a formula over a small table: a tally counts the rows once, and every metric is computed
from that table. A metric is called with a frame; `evaluate` computes several at once. `by_group`
returns a row per group, `measure` reads stored tables, and `catalog` lists all metrics.

Examples
--------
>>> import polars as pl
>>> import polarsfair as pf
>>> from polarsfair import clustering, fairness, ranking
>>> df = pl.DataFrame({"sex": ["F", "F", "M", "M"], "hired": [0, 1, 1, 1]})
>>> df.pipe(fairness.stat_parity, group="sex", pred="hired", ref="M")
-0.5
>>> shown = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
>>> bought = pl.DataFrame({"user": [1], "item": [8]})
>>> shown.pipe(ranking.mrr, bought, user="user", item="item", score="score", k=2)
0.5
>>> points = pl.DataFrame({"c": [1, 1, 2, 2], "kind": ["a", "b", "b", "b"]})
>>> points.pipe(clustering.purity, cluster="c", label="kind")
0.75
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarsfair._engine.by_group import by_group
from polarsfair._engine.catalog import catalog, metrics
from polarsfair._engine.compare import difference, group_max, group_min, ratio
from polarsfair._engine.evaluate import evaluate, measure
from polarsfair._engine.metric import Metric
from polarsfair._engine.reference import OVERALL, REST
from polarsfair._engine.tally import Tally
from polarsfair._engine.unknown import attribute_error
from polarsfair._typing import FAMILIES

if TYPE_CHECKING:
    from polarsfair import clustering, fairness, ranking
    from polarsfair._audit._compare.compare import compare
    from polarsfair._audit._evidence.chosen import BEST, LARGEST
    from polarsfair._audit._ledger.ledger import ledger, ledger_table
    from polarsfair._audit._parity.parity import parity_test
    from polarsfair._audit.audit import audit, audit_table
    from polarsfair._audit.interval import interval, interval_table

__version__ = "0.1.0"

__all__ = [
    "BEST",
    "LARGEST",
    "OVERALL",
    "REST",
    "Metric",
    "Tally",
    "audit",
    "audit_table",
    "by_group",
    "catalog",
    "clustering",
    "compare",
    "difference",
    "evaluate",
    "fairness",
    "group_max",
    "group_min",
    "interval",
    "interval_table",
    "ledger",
    "ledger_table",
    "measure",
    "metrics",
    "parity_test",
    "ranking",
    "ratio",
]


_EVIDENCE = {
    "BEST": "_evidence.chosen",
    "LARGEST": "_evidence.chosen",
    "audit": "audit",
    "audit_table": "audit",
    "compare": "_compare.compare",
    "interval": "interval",
    "interval_table": "interval",
    "ledger": "_ledger.ledger",
    "ledger_table": "_ledger.ledger",
    "parity_test": "_parity.parity",
}
"""The modules of `_audit` that names are imported from when they are first used."""


def __getattr__(name: str) -> Any:
    """Import a family, or what makes evidence, when it is first used: that takes a while.

    Any other name is an error, which says what it is called here.
    """
    if name in FAMILIES:
        return importlib.import_module(f"polarsfair.{name}")
    if name in _EVIDENCE:
        found = getattr(importlib.import_module(f"polarsfair._audit.{_EVIDENCE[name]}"), name)
        # Kept, because the module of `audit` has the same name in its package.
        globals()[name] = found
        return found
    raise attribute_error(__name__, name)


def __dir__() -> list[str]:
    """List what is public, families that are not imported yet included."""
    return sorted([*__all__, "__version__"])
