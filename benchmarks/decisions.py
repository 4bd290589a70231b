"""Fairness of decisions: all metrics from one lake, compared with other ways to compute them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import lakes
from benchmarks._contest import Benchmark, Contest, Contestant, Figures, Goal, Settings, Work
from benchmarks._environments import peer

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    import polarsfair as pf

_OURS = "polarsfair, all metrics"
_BARE = "bare group_by"
_EAGER = "polarsfair, eager frame"
_PEER_ROWS = 1_000_000
_COLUMNS = ["group", "label", "pred"]
_NULLS = 0.01
_SQL = Path(__file__).with_name("decisions.sql")


def decision_metrics() -> list[pf.Metric]:
    """Return every metric that is computed from the table of decisions."""
    import polarsfair as pf

    return [metric for metric in pf.metrics() if metric.tally is pf.fairness.decisions]


def numbers(frame: pl.DataFrame) -> Figures:
    """Return the only row of a frame of values."""
    return frame.row(0, named=True)


def ours(lake: str) -> Work:
    """Evaluate all decision metrics lazily, on the streaming engine."""
    import polars as pl

    import polarsfair as pf

    metrics = decision_metrics()

    def work() -> Figures:
        scan = pl.scan_parquet(lake)
        values = pf.evaluate(scan, metrics, group="group", pred="pred", label="label")
        return numbers(values.collect(engine="streaming"))

    return work


def bare(lake: str) -> Work:
    """Count rows per cell and nothing else: the cost of any method that uses counts."""
    import polars as pl

    def work() -> Figures:
        cells = pl.scan_parquet(lake).group_by(_COLUMNS).len().collect(engine="streaming")
        return {"cells": cells.height}

    return work


def floor(lake: str) -> Work:
    """Decode the same columns and reduce each to one number: the cost of reading."""
    import polars as pl

    def work() -> Figures:
        sums = pl.col("label", "pred").sum()
        scan = pl.scan_parquet(lake).select(pl.col("group").null_count(), sums)
        return {"read": scan.collect(engine="streaming").height}

    return work


def duckdb_sql(lake: str) -> Work:
    """Compute counts and rates in DuckDB, with SQL written by hand for this benchmark."""
    import duckdb

    def work() -> Figures:
        answer = duckdb.connect().execute(_SQL.read_text(), {"lake": f"{lake}/*.parquet"})
        names = [column[0] for column in answer.description or []]
        return dict(zip(names, answer.fetchone() or [], strict=True))

    return work


def eager(lake: str) -> Work:
    """Evaluate all decision metrics on a frame that is already in memory."""
    import polars as pl

    import polarsfair as pf

    frame = pl.read_parquet(lake)
    metrics = decision_metrics()

    def work() -> Figures:
        return numbers(pf.evaluate(frame, metrics, group="group", pred="pred", label="label"))

    return work


def fairlearn(lake: str) -> Work:
    """Compute nine rates with Fairlearn's MetricFrame, with differences and ratios, in memory."""
    frames, metrics, scores = map(import_module, ("pandas", "fairlearn.metrics", "sklearn.metrics"))
    frame = frames.read_parquet(lake, columns=_COLUMNS)
    rates = {
        "selection_rate": metrics.selection_rate,
        "true_positive_rate": metrics.true_positive_rate,
        "false_positive_rate": metrics.false_positive_rate,
        "true_negative_rate": metrics.true_negative_rate,
        "false_negative_rate": metrics.false_negative_rate,
        "precision": scores.precision_score,
        "accuracy": scores.accuracy_score,
        "balanced_accuracy": scores.balanced_accuracy_score,
        "f1": scores.f1_score,
    }

    def work() -> Figures:
        found = metrics.MetricFrame(
            metrics=rates,
            y_true=frame["label"],
            y_pred=frame["pred"],
            sensitive_features=frame["group"],
        )
        return {**found.overall, **_gaps(found.difference(), found.ratio())}

    return work


def _gaps(differences: Mapping[str, float], ratios: Mapping[str, float]) -> Figures:
    """Rename differences and ratios of rates to the names of polarsfair."""
    return {
        "stat_parity": differences["selection_rate"],
        "disparate_impact": ratios["selection_rate"],
        "equal_opportunity": differences["true_positive_rate"],
        "predictive_equality": differences["false_positive_rate"],
        "fnr_difference": differences["false_negative_rate"],
        "tnr_difference": differences["true_negative_rate"],
        "predictive_parity": differences["precision"],
        "accuracy_difference": differences["accuracy"],
    }


def aequitas(lake: str) -> Work:
    """Compute the twelve rates of Aequitas' Audit and their disparities, in memory."""
    frames, audits = map(import_module, ("pandas", "aequitas"))
    frame = frames.read_parquet(lake, columns=_COLUMNS).astype({"group": object})

    def work() -> Figures:
        audit = audits.Audit(
            frame,
            score_column="pred",
            label_column="label",
            sensitive_attribute_column=["group"],
        )
        audit.audit()
        groups = audit.metrics
        return {
            "stat_parity": float(groups["pprev"].max() - groups["pprev"].min()),
            "equal_opportunity": float(groups["tpr"].max() - groups["tpr"].min()),
            "for_difference": float(groups["for"].max() - groups["for"].min()),
        }

    return work


def decisions_lake(settings: Settings, rows: int, nulls: float = _NULLS) -> Path:
    """Return a lake of decisions."""
    return lakes.lake(
        settings.directory,
        lakes.decisions,
        rows=rows,
        seed=settings.seed,
        nulls=nulls,
        file_rows=settings.file_rows,
    )


def _lake_contest(settings: Settings, rows: int) -> Contest:
    """Compare polarsfair with the bare query, with reading only, and with DuckDB."""
    where = {"lake": str(decisions_lake(settings, rows))}
    return Contest(
        f"decisions, {rows:,} rows from Parquet",
        (
            Contestant(_BARE, bare, where),
            Contestant(_OURS, ours, where),
            # The same query again: the difference between the two is the noise of this run.
            Contestant(f"{_BARE}, again", bare, where),
            Contestant("decode only", floor, where),
            Contestant("DuckDB, SQL by hand", duckdb_sql, where, packages=("duckdb",)),
        ),
        baseline=_BARE,
        goals=(
            Goal("ours over the bare group_by", lambda o: o[_OURS].wall / o[_BARE].wall, 1.15),
            Goal("peak memory of ours", lambda o: o[_OURS].peak / 1e6, 1000, "MB"),
        ),
    )


def _peer_contest(settings: Settings) -> Contest:
    """Compare polarsfair with Fairlearn and Aequitas, which need rows in memory without nulls."""
    where = {"lake": str(decisions_lake(settings, _PEER_ROWS, nulls=0))}
    return Contest(
        f"decisions, {_PEER_ROWS:,} rows, peers",
        (
            Contestant(_EAGER, eager, where),
            Contestant("polarsfair, from Parquet", ours, where),
            peer(settings, Contestant("Aequitas", aequitas, where), "aequitas", "pyarrow"),
            peer(settings, Contestant("Fairlearn", fairlearn, where), "fairlearn", "pyarrow"),
        ),
        baseline=_EAGER,
    )


def contests(settings: Settings) -> list[Contest]:
    """Return the contests of this benchmark; those with peers if requested."""
    found = [_lake_contest(settings, rows) for rows in settings.rows]
    return [*found, _peer_contest(settings)] if settings.peers else found


BENCHMARK = Benchmark(
    "decisions",
    "all decision metrics over a Parquet lake",
    contests,
    rows=(100_000_000,),
    peers=True,
)
