"""Scores: all score metrics from one lake, compared with a bare count of the same bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work
from benchmarks.decisions import decisions_lake, numbers

if TYPE_CHECKING:
    import polarsfair as pf

_OURS = "polarsfair, all score metrics"
_BARE = "bare group_by of the bins"
_BINS = 1000


def score_metrics() -> list[pf.Metric]:
    """Return every metric that is computed from the table of scores."""
    import polarsfair as pf

    return [metric for metric in pf.metrics() if metric.tally is pf.fairness.scores]


def ours(lake: str) -> Work:
    """Evaluate all score metrics lazily, on the streaming engine."""
    import polars as pl

    import polarsfair as pf

    metrics = score_metrics()

    def work() -> Figures:
        scan = pl.scan_parquet(lake)
        values = pf.evaluate(scan, metrics, group="group", score="score", label="label", bins=_BINS)
        return numbers(values.collect(engine="streaming"))

    return work


def bare(lake: str) -> Work:
    """Count rows per group, label and bin: the cost of any method that uses bins."""
    import polars as pl

    def work() -> Figures:
        number = (pl.col("score").cast(pl.Float64) * _BINS).cast(pl.Int32)
        cells = pl.scan_parquet(lake).group_by("group", "label", number.alias("bin")).len()
        return {"bins": cells.collect(engine="streaming").height}

    return work


def table_alone(lake: str) -> Work:
    """Make the table of scores, without computing metrics from it."""
    import polars as pl

    from polarsfair import fairness

    def work() -> Figures:
        scan = pl.scan_parquet(lake)
        table = fairness.scores(scan, group="group", score="score", label="label", bins=_BINS)
        return {"lines": table.collect(engine="streaming").height}

    return work


def curves(lake: str) -> Work:
    """Compute ten decision metrics at every threshold."""
    import polars as pl

    from polarsfair import fairness

    metrics = [
        fairness.stat_parity,
        fairness.disparate_impact,
        fairness.equal_opportunity,
        fairness.predictive_equality,
        fairness.equalized_odds,
        fairness.predictive_parity,
        fairness.accuracy,
        fairness.f1,
        fairness.precision,
        fairness.selection_rate,
    ]

    def work() -> Figures:
        scan = pl.scan_parquet(lake)
        frame = fairness.thresholds(scan, metrics, group="group", score="score", label="label")
        return {"thresholds": frame.collect(engine="streaming").height}

    return work


def _contest(settings: Settings, rows: int) -> Contest:
    where = {"lake": str(decisions_lake(settings, rows))}
    return Contest(
        f"scores in {_BINS:,} bins, {rows:,} rows from Parquet",
        (
            Contestant(_BARE, bare, where),
            Contestant(_OURS, ours, where),
            # The same query again: the difference between the two is the noise of this run.
            Contestant(f"{_BARE}, again", bare, where),
            Contestant("polarsfair, the table alone", table_alone, where),
            Contestant("polarsfair, ten metrics at every threshold", curves, where),
        ),
        baseline=_BARE,
        goals=(
            Goal("ours over the bare group_by", lambda o: o[_OURS].wall / o[_BARE].wall, 1.4),
            Goal("its CPU time", lambda o: o[_OURS].cpu / o[_BARE].cpu, 1.4),
            Goal("peak memory of ours", lambda o: o[_OURS].peak / 1e6, 1000, "MB"),
        ),
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark."""
    return [_contest(settings, rows) for rows in settings.rows]


BENCHMARK = Benchmark(
    "scores", "all score metrics over a Parquet lake", contests, rows=(100_000_000,)
)
