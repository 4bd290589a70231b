"""Generated scores: the situations of the decisions, with chances for predictions."""

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import Case

EDGES = (None, [0.0, 0.3, 0.5, 1.0])
TWENTIETHS = [i / 20 for i in range(21)]


def _rows(frame: pl.DataFrame, roles: dict[str, Any], by: str | None) -> pl.DataFrame:
    """Give the table `rows` that the statements on scores read."""
    weight = pl.col(roles["weight"]) if "weight" in roles else pl.lit(1)
    return frame.select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        pl.col("who").alias("group"),
        pl.col("was").cast(pl.Boolean).alias("label"),
        pl.col(roles["score"]).cast(pl.Float64).fill_nan(None).alias("score"),
        weight.cast(pl.Float64).alias("weight"),
        exact=pl.lit(roles.get("bins", 0) is None),
    )


def _case(
    name: str,
    frame: pl.DataFrame,
    serves: Callable[[pf.Metric], bool],
    *,
    ref: Any = None,
    by: str | None = "part",
    options: dict[str, Any] | None = None,
    **roles: Any,
) -> Case:
    roles = {"group": "who", "score": "chance", "label": "was", **roles}
    tried = {"ref": (None, pf.OVERALL, pf.REST, ref), **(options or {})}
    return Case(name, frame, roles, {"rows": _rows(frame, roles, by)}, serves, by, tried)


def _scores(metric: pf.Metric) -> bool:
    return metric.tally.name == "fairness.scores"


def _ranks(metric: pf.Metric) -> bool:
    return _scores(metric) and "calibration_bins" not in metric.option_names


def _calibrates(metric: pf.Metric) -> bool:
    return _scores(metric) and "calibration_bins" in metric.option_names


def cases(decisions: Callable[[Sequence[Any], int], pl.DataFrame]) -> list[Case]:
    """Give the cases; `decisions` makes a frame of all situations for some groups and a seed."""
    text = decisions(["M", "Frau", "ж"], 21)
    whole = decisions([3, -7, 0], 22)
    coarse = whole.with_columns(pl.col("chance").round(1))
    margin = pl.col("chance") * 8 - 3
    bins = {"options": {"bins": EDGES}}
    wide = {"options": {"bins": (None, TWENTIETHS), "calibration_bins": (None, 5, 20)}}
    nan = pl.col("chance").fill_null(float("nan"))
    return [
        _case("binned scores", text, _ranks, ref="M", **bins),
        _case("binned scores weighted", whole, _ranks, ref=3, weight="mass", **bins),
        _case("coarse scores", coarse, _ranks, ref=-7, weight="times", by=None, **bins),
        _case("exact scores", text, _scores, ref="ж", bins=None),
        _case("exact scores weighted", coarse, _scores, ref=0, bins=None, weight="mass"),
        _case("NaN scores", text.with_columns(nan), _ranks, ref="M", by=None, bins=None),
        _case("margins", text.with_columns(margin), _ranked, bins=None, ref="M"),
        _case("calibrated scores", text, _calibrates, **wide),
        _case("calibrated scores weighted", coarse, _calibrates, weight="mass", by=None, **wide),
        _case("no scores", text.clear(), _scores, by=None),
        _case("no scores sliced", text.clear(), _scores),
    ]


def _ranked(metric: pf.Metric) -> bool:
    """Whether any real number may be the score."""
    return _ranks(metric) and metric.name not in ("brier", "log_loss")
