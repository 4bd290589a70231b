"""From small tables to rates: the input and the results of the programmes of mitigation."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from polarsfair._engine.columns import binary_of, resolve_columns
from polarsfair._engine.faults import binary_message
from polarsfair._engine.frames import collect
from polarsfair._engine.group_pairs import MOST_PAIRS
from polarsfair._formula import quotient
from polarsfair.fairness._decisions.rates import decisions
from polarsfair.fairness._mitigation.programme import Moment, Programme, solve
from polarsfair.fairness._scores.quality import scores

if TYPE_CHECKING:
    from polarsfair.fairness._mitigation.programme import Floats
    from polarsfair.fairness._scores.bins import Bins

Rate: TypeAlias = Literal["true_positive_rate", "false_positive_rate", "selection_rate"]

PARITIES: Mapping[str, tuple[Rate, ...]] = {
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
    "equal_opportunity": ("true_positive_rate",),
    "demographic_parity": ("selection_rate",),
}
CELLS = {"tn": (False, False), "fp": (False, True), "fn": (True, False), "tp": (True, True)}
"""Label and decision of each cell of a group."""

_TN, _FP, _FN, _TP = (pl.col(cell) for cell in CELLS)
_PROBABILITIES = (-sys.float_info.max, 0.0, math.nextafter(1.0, 2.0), sys.float_info.max)
"""Edges of bins: valid probabilities in the middle bin, anything else outside it."""


def check_cost(cost: Sequence[Sequence[float]]) -> None:
    """Raise unless `cost` is two rows of two finite numbers."""
    try:
        (tn, fp), (fn, tp) = cost
        sound = all(math.isfinite(price) for price in (tn, fp, fn, tp))
    except (TypeError, ValueError):
        sound = False
    if not sound:
        msg = f"`cost` is [[tn, fp], [fn, tp]], four numbers as cost[label][decision]; got {cost!r}"
        raise ValueError(msg)


# --- counts per group ---------------------------------------------------------------------------


def decision_cells(rows: pl.LazyFrame, columns: Mapping[str, Any], *, scored: bool) -> pl.DataFrame:
    """Count every group's four cells and, with `scored`, sum the scores in each."""
    check_group(columns["group"])
    roles = {name: columns[name] for name in ("group", "label", "weight")}
    if not scored:
        table = decisions(rows, pred=columns["pred"], **roles)
        return wide(collect(table, None), ["w"])
    return _scored_cells(rows, columns, roles)


def _scored_cells(
    rows: pl.LazyFrame, columns: Mapping[str, Any], roles: Mapping[str, Any]
) -> pl.DataFrame:
    """Count the cells with their sums of scores, which must be probabilities."""
    if columns["score"] is None:
        msg = '`constraint="expected_score"` needs the role `score`: add `score="<column>"`'
        raise TypeError(msg)
    pred = resolve_columns(rows, {}, {}, {"pred": columns["pred"]})["pred"]
    decided = binary_of(pred).alias("decision")
    table = scores(rows, score=columns["score"], bins=_PROBABILITIES, by=decided, **roles)
    counted = collect(table, None).filter(pl.col("low").is_not_null())
    if (counted["low"] != 0).any():
        msg = (
            '`score` holds a value outside 0 to 1, and `constraint="expected_score"` needs'
            " probabilities: calibrate the score first"
        )
        raise ValueError(msg)
    code = pl.col("decision").cast(pl.Int64)
    if counted.select((~code.is_in([0, 1])).any()).item():
        raise ValueError(binary_message(pred))
    return wide(counted.with_columns(pred=code == 1), ["w", "s"])


def check_group(group: object) -> None:
    """Raise if the group of a row is not known, but only its probabilities."""
    if isinstance(group, Mapping):
        msg = "mitigation needs the group of every row: pass a column, not probabilities"
        raise TypeError(msg)


def wide(table: pl.DataFrame, sums: Sequence[str]) -> pl.DataFrame:
    """Return a line per known group: the weight in each cell, and other sums as ``s_tp``, ..."""
    known = with_weight(table, ["group", "pred", "label"])
    cells = known.group_by("group").agg(
        pl.col(value)
        .filter(pl.col("label").eq(label) & pl.col("pred").eq(pred))
        .sum()
        .cast(pl.Float64)
        .alias(cell if value == "w" else f"{value}_{cell}")
        for value in sums
        for cell, (label, pred) in CELLS.items()
    )
    check_several(cells.height)
    return cells.sort("group")


def with_weight(table: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the lines with a positive weight in which all of `names` are known."""
    weight = pl.col("w" if "w" in table.columns else "n")
    known = table.with_columns(w=weight).filter(pl.col(name).is_not_null() for name in names)
    return known.filter(pl.col("w") > 0)


def check_several(groups: int) -> None:
    """Raise if there are no two groups to equalise."""
    if groups < 2:
        msg = (
            "fewer than two groups have rows with a known group, label and decision (or score),"
            " so there are no two groups to equalise"
        )
        raise ValueError(msg)


def as_decisions(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells as a table of decisions, with expected counts as weights."""
    return pl.concat(
        cells.select("group", pred=pl.lit(pred), label=pl.lit(label), n=pl.lit(1, pl.Int64), w=cell)
        for cell, (label, pred) in CELLS.items()
    ).with_columns(w2=pl.col("w"))


def mean_cost(cells: pl.DataFrame, cost: Sequence[Sequence[float]]) -> float:
    """Return the mean cost of a row."""
    total = sum(
        float(cells[cell].sum()) * cost[int(label)][int(pred)]
        for cell, (label, pred) in CELLS.items()
    )
    return total / sum(float(cells[cell].sum()) for cell in CELLS)


EVERYONE, NO_ONE, OK = "everyone", "no one", "ok"
"""The status of a group: whether all of its rows are selected, none, or some."""

_NEARLY = 1e-9
"""Shares of rows up to which selecting them, or not, is rounding."""


def achieved(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Return every group's rates after the repair, its status, and the accuracy that it cost."""
    size = _TN + _FP + _FN + _TP
    right = quotient(_TN + _TP, size)
    return after.select(
        "group",
        n=size,
        true_positive_rate=quotient(_TP, _TP + _FN),
        false_positive_rate=quotient(_FP, _FP + _TN),
        selection_rate=quotient(_TP + _FP, size),
        accuracy=right,
    ).with_columns(
        accuracy_cost=before.select(right).to_series() - pl.col("accuracy"),
        status=_status(pl.col("selection_rate")),
    )


def _status(selected: pl.Expr) -> pl.Expr:
    everyone = pl.when(selected >= 1 - _NEARLY).then(pl.lit(EVERYONE))
    return everyone.when(selected <= _NEARLY).then(pl.lit(NO_ONE)).otherwise(pl.lit(OK))


_OF_THE_CALLER = 4
"""The caller of `fit`, counted from `warn_if_trivial`."""


def warn_if_trivial(achieved: pl.DataFrame) -> None:
    """Warn if groups are equal only because all rows of all groups are selected, or none."""
    status, *others = achieved["status"].unique()
    if others or status == OK:
        return
    costs = {EVERYONE: ("positives", "[[0, 5], [1, 0]]"), NO_ONE: ("negatives", "[[0, 1], [5, 0]]")}
    kind, cost = costs[status]
    msg = (
        f"parity is trivial, because every group has the status {status!r} (see `achieved`): try a"
        f" weaker goal, or let false {kind} cost more, such as `cost={cost}`"
    )
    warnings.warn(msg, UserWarning, stacklevel=_OF_THE_CALLER)


def check_few(groups: int, scores: int) -> None:
    """Raise if the cells of every group at every threshold would not fit into memory."""
    if groups * scores > MOST_PAIRS:
        msg = (
            f"{groups:,} groups at {scores:,} thresholds need {groups * scores:,} lines, and the"
            f" limit is {MOST_PAIRS:,}: use fewer bins, such as `bins=1000`, or coarser groups"
        )
        raise ValueError(msg)


# --- flipping decisions -------------------------------------------------------------------------


def flip(
    cells: pl.DataFrame,
    equal: Sequence[Rate],
    cost: Sequence[Sequence[float]],
    *,
    scored: bool,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Find the rates of keeping and turning; return them and the expected cells."""
    import numpy as np

    check_defined(cells, equal)
    # One line per group and decision: (positive, negative), the order of (keep, turn).
    selected, rejected = (cells.select(c).to_numpy() for c in (["fp", "tp"], ["tn", "fn"]))
    joint = np.stack([selected, rejected], axis=1)
    shares = joint / (joint.sum(axis=(1, 2), keepdims=True) if scored else joint.sum())
    steps = np.array([cost[0][1] - cost[0][0], cost[1][1] - cost[1][0]])
    sizes = joint.sum(axis=2) / joint.sum()
    programme = Programme(
        owner=np.repeat(np.arange(cells.height), 2),
        costs=(shares @ steps).ravel(),
        equal=score_moments(cells) if scored else rate_moments(joint, equal),
        # If there is nothing to keep or to turn, the rates are 1 for keeping and 0 for turning.
        later=((sizes + 1e-6) * [-1, 1]).ravel(),
    )
    keep, turn = solve(programme).reshape(-1, 2).T
    rates = cells.select("group", keep=pl.Series(keep), turn=pl.Series(turn))
    return rates, _after(cells, rates["keep"], rates["turn"])


def _after(cells: pl.DataFrame, keep: pl.Series, turn: pl.Series) -> pl.DataFrame:
    """Return the cells that are expected after flipping."""
    fp, tp = keep * _FP + turn * _TN, keep * _TP + turn * _FN
    return cells.select("group", tn=_TN + _FP - fp, fp=fp, fn=_TP + _FN - tp, tp=tp)


def check_defined(cells: pl.DataFrame, equal: Sequence[Rate]) -> None:
    """Raise if a group lacks the labels that a rate needs."""
    needs = {"true_positive_rate": (1, _TP + _FN), "false_positive_rate": (0, _FP + _TN)}
    for rate in equal:
        if rate not in needs:
            continue
        label, size = needs[rate]
        lacking = cells.filter(size <= 0)["group"].to_list()
        if lacking:
            msg = (
                f"the {rate.replace('_', ' ')} of the groups {lacking} is undefined, because none"
                f" of their rows has label {label}: leave these groups out of `fit`"
            )
            raise ValueError(msg)


def rate_moments(joint: Floats, equal: Sequence[Rate]) -> list[Moment]:
    """Return the rates of the decisions after flipping; `joint` is by group, decision, label."""
    import numpy as np

    over = {
        "true_positive_rate": joint[:, :, 1],
        "false_positive_rate": joint[:, :, 0],
        "selection_rate": joint.sum(axis=2),
    }
    start = np.zeros(len(joint))
    return [
        Moment((over[rate] / over[rate].sum(axis=1, keepdims=True)).ravel(), start)
        for rate in equal
    ]


def score_moments(cells: pl.DataFrame) -> list[Moment]:
    """Return the mean score after flipping, given the label: a flip turns a score s into 1 - s."""
    import numpy as np

    moments = []
    for selected, rejected in (("tp", "fn"), ("fp", "tn")):
        kept = cells[f"s_{selected}"].to_numpy()
        left = cells[f"s_{rejected}"].to_numpy()
        flipped = cells[selected].to_numpy() - kept
        turned = cells[rejected].to_numpy() - left
        size = kept + flipped + left + turned
        factors = np.stack([kept - flipped, turned - left], axis=1) / size[:, None]
        moments.append(Moment(factors.ravel(), (left + flipped) / size))
    return moments


# --- thresholds ---------------------------------------------------------------------------------


def score_points(rows: pl.LazyFrame, columns: Mapping[str, Any], bins: Bins) -> pl.DataFrame:
    """Return every group's four cells at every threshold: a line per group and threshold."""
    check_group(columns["group"])
    table = collect(scores(rows, bins=bins, **columns), None)
    known = with_weight(table, ["group", "label", "low"])
    check_several(known["group"].n_unique())
    check_few(known["group"].n_unique(), known["low"].n_unique())
    weight = pl.col("w").cast(pl.Float64)
    points = known.group_by("group", "low").agg(
        pos=weight.filter(pl.col("label")).sum(), neg=weight.filter(~pl.col("label")).sum()
    )
    never = points.group_by("group").agg(low=pl.lit(float("inf")), pos=0.0, neg=0.0)
    points = pl.concat([points, never.select(points.columns)])
    points = points.sort("group", "low", descending=[False, True])
    above = points.with_columns(
        tp=pl.col("pos").cum_sum().over("group"), fp=pl.col("neg").cum_sum().over("group")
    )
    return above.select(
        "group",
        "tp",
        "fp",
        threshold=pl.col("low"),
        fn=pl.col("pos").sum().over("group") - pl.col("tp"),
        tn=pl.col("neg").sum().over("group") - pl.col("fp"),
    )


def thresholds(
    points: pl.DataFrame, equal: Sequence[Rate], cost: Sequence[Sequence[float]]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Find each group's thresholds; also return the cells of the best common one, and after."""
    import numpy as np

    before = one_threshold(points, cost)
    check_defined(before, equal)
    joint = points.select("fp", "tp").to_numpy()
    steps = np.array([cost[0][1] - cost[0][0], cost[1][1] - cost[1][0]])
    owner = points["group"].rle_id().cast(pl.Int64).to_numpy()
    total = {"true_positive_rate": _TP + _FN, "false_positive_rate": _FP + _TN}
    over = {"true_positive_rate": _TP, "false_positive_rate": _FP, "selection_rate": _TP + _FP}
    size = _TN + _FP + _FN + _TP
    values = points.select((over[rate] / total.get(rate, size)).alias(rate) for rate in equal)
    start = np.zeros(int(owner.max()) + 1)
    programme = Programme(
        owner=owner,
        costs=joint @ steps / float(before.select(size.sum()).item()),
        equal=[Moment(values[rate].to_numpy(), start) for rate in equal],
        later=np.zeros(len(owner)),
        shares=True,
    )
    shared = points.with_columns(share=pl.Series(solve(programme)))
    after = shared.group_by("group").agg((pl.col(*CELLS) * pl.col("share")).sum()).sort("group")
    chosen = shared.filter(pl.col("share") > 0).sort("group", "threshold")
    return chosen.select("group", "threshold", "share"), before, after


def one_threshold(points: pl.DataFrame, cost: Sequence[Sequence[float]]) -> pl.DataFrame:
    """Return every group's cells at the cheapest single threshold for all groups."""
    # Groups may be structs, which cannot be joined on: join on their numbers instead.
    numbered = points.lazy().with_columns(number=pl.col("group").rle_id())
    all_at = numbered.select("threshold").unique()
    grid = numbered.select("number").unique().join(all_at, how="cross").sort("threshold")
    # A threshold between two of a group's own selects the same rows as the next one above.
    at = grid.join_asof(
        numbered.sort("threshold"),
        on="threshold",
        by="number",
        strategy="forward",
        check_sortedness=False,
    )
    price = pl.sum_horizontal(
        pl.col(cell) * cost[int(label)][int(pred)] for cell, (label, pred) in CELLS.items()
    )
    best = at.group_by("threshold").agg(price=price.sum()).sort("price", "threshold").head(1)
    return at.join(best, on="threshold", how="semi").select("group", *CELLS).sort("group").collect()
