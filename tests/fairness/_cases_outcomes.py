"""Generated outcomes and strata: the situations of the decisions, with numbers for predictions."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

import polarsfair as pf
from tests._oracle import Case

EDGES = [-9.0, -1.0, 0.0, 0.5, 2.0, 9.0]


def _numbers(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Put real numbers in the place of decisions: some equal, some constant in a slice."""
    draw = random.Random(seed)
    noise = [pl.Series([round(draw.gauss(0, 1), 1) for _ in range(frame.height)]) for _ in "xy"]
    constant = pl.col("part").is_in(["all selected", "perfect"])
    return frame.with_columns(
        said=pl.when(constant).then(pl.col("said")).otherwise(pl.col("said") + noise[0]),
        was=pl.when(constant).then(pl.col("was")).otherwise(pl.col("was") * 2 + noise[1]),
    )


def _rows(frame: pl.DataFrame, roles: dict[str, Any], by: str | None) -> pl.DataFrame:
    """Give the table `rows` that the statements on outcomes and strata read."""
    number = pl.Float64 if "pred" in roles else pl.Boolean
    weight = pl.col(roles["weight"]) if "weight" in roles else pl.lit(1)
    return frame.with_columns(pl.selectors.float().fill_nan(None)).select(
        (pl.lit(None, pl.String) if by is None else pl.col(by)).alias("slice"),
        pl.col("who").alias("group"),
        pl.col("said").cast(pl.Float64).alias("pred"),
        pl.col("was").cast(number).alias("label"),
        weight.cast(pl.Float64).alias("weight"),
        strata=pl.col("town"),
        edges=pl.lit(roles.get("bins"), dtype=pl.List(pl.Float64)),
    )


def _case(
    name: str,
    frame: pl.DataFrame,
    serves: Callable[[pf.Metric], bool],
    *,
    by: str | None = "part",
    options: dict[str, Any],
    **roles: Any,
) -> Case:
    roles = {"group": "who", "label": "was", **roles}
    return Case(name, frame, roles, {"rows": _rows(frame, roles, by)}, serves, by, options)


def _outcomes(metric: pf.Metric) -> bool:
    return metric.tally.name in ("fairness.outcomes", "fairness.outcome_bins")


def _binned(metric: pf.Metric) -> bool:
    return _outcomes(metric) and "bins" in metric.option_names


def _stratified(metric: pf.Metric) -> bool:
    return "strata" in metric.roles


def cases(decisions: Callable[[Sequence[Any], int], pl.DataFrame]) -> list[Case]:
    """Give the cases; `decisions` makes a frame of all situations for some groups and a seed."""
    town = (pl.col("times") % 3).replace(2, None).alias("town")
    strata = decisions(["M", "Frau", "ж"], 31).with_columns(town)
    text = _numbers(strata, 1)
    whole = _numbers(decisions([3, -7, 0], 32).with_columns(town), 2)
    nan = pl.col("said").fill_null(float("nan"))

    def tried(refs: Sequence[Any], bins: Sequence[Any] = (None,)) -> dict[str, Any]:
        return {"ref": refs, "q": (None, 0.3), "bins": bins}

    every = (None, pf.OVERALL, pf.REST, "M")
    thorough = {**tried(every), "q": (None, 0.3, 0.85), "levels": (None, 7)}
    binned = {"ref": (None, "ж"), "q": (None, 0.3)}
    stratified = {"serves": _stratified, "strata": "town", "options": {"ref": every}}
    return [
        _case("outcomes in bins", text, _binned, pred="said", bins=EDGES, options=binned),
        _case("outcomes", text, _outcomes, pred="said", options=thorough),
        _case(
            "outcomes weighted",
            whole,
            _outcomes,
            pred="said",
            weight="mass",
            options=tried((3, pf.REST)),
        ),
        _case(
            "outcomes repeated",
            whole.with_columns(nan),
            _outcomes,
            pred="said",
            weight="times",
            by=None,
            options=tried((None, -7), (None, EDGES)),
        ),
        _case("no outcomes", text.clear(), _outcomes, pred="said", by=None, options={}),
        _case("no outcomes sliced", text.clear(), _outcomes, pred="said", options={}),
        _case("strata", strata, **stratified),
        _case("strata weighted", strata, weight="mass", **stratified),
        _case("strata without slices", strata, weight="times", by=None, **stratified),
        _case("no strata", strata.clear(), by=None, **stratified),
    ]
