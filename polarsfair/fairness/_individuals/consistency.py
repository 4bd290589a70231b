"""Whether similar rows get similar decisions: decisions compared with those of the nearest rows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import polars as pl

from polarsfair._engine.columns import Column, columns_of, is_number, number_of
from polarsfair._engine.faults import Fault, guarded
from polarsfair._engine.frames import lazy_or_eager
from polarsfair._engine.metric import define
from polarsfair._engine.rows import Role, Rows
from polarsfair._engine.slices import hidden, map_slices
from polarsfair._engine.tally import Tally, check_distinct, slice_names
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import features_of
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import IntoColumn, IntoFeatures, IntoSlices

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

__all__ = ["consistency", "consistency_estimate", "neighbours"]

LIMIT = 50_000
"""Rows per slice up to which the neighbours of every row are searched."""

_SPARE = 16
"""Rows fetched beyond the neighbours, to see whether the last neighbours are tied."""

_SAME = 1e-12
"""Distances whose relative difference is smaller are equal."""

_BLOCK = 4_000_000
"""Distances held at once if ties require a comparison with all rows."""


def _count_neighbours(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    pred: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    n_neighbors: int = 5,
) -> pl.LazyFrame:
    """Sum over rows the distance of each decision from the mean of its nearest rows.

    The table has the slices, ``n`` rows and ``apart``: the sum of the distances between a row's
    decision and the mean of the ``n_neighbors`` nearest rows of its slice. It is null if the slice
    has fewer rows. Rows without a decision or a feature are left out. Tables cannot be merged.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"x": [0.0, 1.0, 9.0], "hired": [1, 0, 1]})
    >>> fairness.neighbours(df, pred="hired", features=["x"], n_neighbors=2)
    shape: (1, 2)
    ┌─────┬───────┐
    │ n   ┆ apart │
    │ --- ┆ ---   │
    │ i64 ┆ f64   │
    ╞═════╪═══════╡
    │ 3   ┆ 1.5   │
    └─────┴───────┘
    """
    points = _points(frame, by, pred, features, n_neighbors)

    def line_of(known: pl.DataFrame) -> dict[str, Any]:
        values = distances_to_neighbours(*points.arrays(known), n_neighbors)
        return {"n": known.height, "apart": None if values is None else float(values.sum())}

    return points.one_line_per_slice(line_of, {"n": pl.Int64(), "apart": pl.Float64()}, LIMIT)


neighbours = Tally(
    name="fairness.neighbours",
    count=_count_neighbours,
    cells=(),
    sums={"n": pl.col("n").sum(), "apart": pl.col("apart").sum()},
    defaults={},
    mergeable=False,
    single=("n_neighbors",),
)

_individual = functools.partial(
    define, neighbours, "individual", of=FairnessMetric, bounds=(0.0, 1.0), better="higher"
)


@_individual(("pred", "features"), ideal=1.0)
def consistency() -> pl.Expr:
    """How similar the decisions for similar rows are.

    One minus the mean distance between a row's decision and the mean decision of the rows nearest
    to it by its features.

    Formula: ``1 - mean over rows of |y_i - mean of y over the n_neighbors rows nearest to i|``.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    features
        Columns of numbers, compared by Euclidean distance as they are: scale them first.
    n_neighbors
        The number of neighbours, the row itself among them; with 1 the value is 1.

    Notes
    -----
    Rows at the same distance (to twelve digits) share the remaining ranks equally, so that the
    value does not depend on the order of rows. HolisticAI and AIF360 take any of them. AIF360's
    ``consistency`` also counts the row itself. In a slice with fewer rows than ``n_neighbors`` the
    value is undefined. Decisions may be probabilities from 0 to 1.

    Every row is compared with all rows of its slice, at most 50,000 per slice. More rows are an
    error that names `consistency_estimate`.

    References
    ----------
    Zemel, Wu, Swersky, Pitassi, Dwork (2013). Learning Fair Representations. ICML 2013.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"x": [0.0, 1.0, 9.0, 10.0], "hired": [1, 0, 1, 1]})
    >>> df.pipe(fairness.consistency, pred="hired", features=["x"], n_neighbors=2)
    0.75
    """
    return 1 - quotient(
        pl.col("apart").sum(), pl.col("n").filter(pl.col("apart").is_not_null()).sum()
    )


@lazy_or_eager
def consistency_estimate(
    frame: pl.LazyFrame,
    *,
    pred: IntoColumn,
    features: IntoFeatures,
    n_neighbors: int = 5,
    sample: int = 2_000,
    seed: int = 0,
    by: IntoSlices | None = None,
) -> pl.LazyFrame:
    """Estimate `consistency` from a sample of rows, each with its true neighbours.

    Neighbours are searched among all rows of the slice, so that the estimate is unbiased. Only the
    rows whose neighbours are searched are sampled.

    Parameters
    ----------
    frame
        Eager or lazy. Features and decisions of a slice have to fit in memory.
    pred, features, n_neighbors
        As in `consistency`.
    sample
        Rows sampled per slice; all rows if the slice has fewer.
    seed
        Seed of the sample, which depends on the content of the rows and not on their order.
    by
        Slices.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``consistency``, its ``standard_error`` (0 if all rows were sampled),
        ``sample`` and ``n`` rows.

    Examples
    --------
    >>> import polars as pl
    >>> from polarsfair import fairness
    >>> df = pl.DataFrame({"x": [0.0, 1.0, 9.0, 10.0], "hired": [1, 0, 1, 1]})
    >>> df.pipe(fairness.consistency_estimate, pred="hired", features=["x"], n_neighbors=2)
    shape: (1, 4)
    ┌─────────────┬────────────────┬────────┬─────┐
    │ consistency ┆ standard_error ┆ sample ┆ n   │
    │ ---         ┆ ---            ┆ ---    ┆ --- │
    │ f64         ┆ f64            ┆ i64    ┆ i64 │
    ╞═════════════╪════════════════╪════════╪═════╡
    │ 0.75        ┆ 0.0            ┆ 4      ┆ 4   │
    └─────────────┴────────────────┴────────┴─────┘
    """
    _check_whole("sample", sample, 2)
    columns = columns_of(by)
    slices = slice_names(columns, neighbours)
    check_distinct([*slices, *_ESTIMATE])
    points = _points(frame, columns, pred, features, n_neighbors)

    def line_of(known: pl.DataFrame) -> dict[str, Any]:
        # Equal rows have equal values, so that their order does not change the estimate.
        ordered = points.arrays(known.sort("pred", *points.features))
        return _estimate(*ordered, n_neighbors, sample, seed)

    result = points.one_line_per_slice(line_of, _ESTIMATE, None)
    return result.sort(slices) if slices else result


_ESTIMATE: dict[str, pl.DataType] = {
    "consistency": pl.Float64(),
    "standard_error": pl.Float64(),
    "sample": pl.Int64(),
    "n": pl.Int64(),
}


def _estimate(
    points: Floats, decisions: Floats, count: int, sample: int, seed: int
) -> dict[str, Any]:
    import numpy as np

    size = len(points)
    sampled = np.arange(size)
    if sample < size:
        sampled = np.sort(np.random.default_rng(seed).choice(size, sample, replace=False))
    line: dict[str, Any] = {"sample": len(sampled), "n": size}
    values = distances_to_neighbours(points, decisions, count, sampled)
    if values is None:
        return {"consistency": None, "standard_error": None, **line}
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    unseen = max(0.0, 1 - len(sampled) / size)
    error = deviation * float(np.sqrt(unseen / len(sampled)))
    return {"consistency": 1 - float(values.mean()), "standard_error": error, **line}


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"`{name}` is a whole number of at least {least}, got {value!r}"
        raise ValueError(msg)


# --- rows ---------------------------------------------------------------------------------------


class _Points(NamedTuple):
    """Rows with a decision ``pred``, which is null if the row cannot be compared, and features."""

    rows: Rows
    lines: pl.LazyFrame
    features: list[str]

    def arrays(self, known: pl.DataFrame) -> tuple[Floats, Floats]:
        """Return the features and the decisions of a slice."""
        import numpy as np

        points = known.select(self.features).to_numpy()
        return np.ascontiguousarray(points, dtype=np.float64), known["pred"].to_numpy()

    def one_line_per_slice(
        self,
        line_of: Callable[[pl.DataFrame], dict[str, Any]],
        schema: Mapping[str, pl.DataType],
        limit: int | None,
    ) -> pl.LazyFrame:
        """Compute a line from the comparable rows of every slice, of at most `limit` rows."""
        keys = self.rows.keys

        def with_keys(frame: pl.DataFrame) -> pl.DataFrame:
            known = frame.filter(pl.col("pred").is_not_null())
            line = pl.DataFrame([line_of(known)], schema=dict(schema))
            return pl.concat([frame.select(keys).head(1), line], how="horizontal")

        lines = map_slices(_guarded(self, limit), keys, with_keys, schema)
        return self.rows.table(lines, [], list(schema))


def _points(
    frame: pl.LazyFrame,
    by: Sequence[pl.Expr],
    pred: IntoColumn | None,
    features: IntoFeatures | None,
    n_neighbors: int,
) -> _Points:
    """Resolve slices, decision and features."""
    if pred is None:
        msg = '`fairness.neighbours` needs the role `pred`: add `pred="<column>"`'
        raise TypeError(msg)
    _check_whole("n_neighbors", n_neighbors, 1)
    columns, _ = features_of(frame, features)
    rows = Rows.of(frame, by, pred=Role(pred, _decision_of), more=columns)
    read = ["pred", *columns]
    complete = pl.all_horizontal(pl.col(name).fill_nan(None).is_not_null() for name in read)
    lines = rows.frame.select(*rows.keys, pl.when(complete).then("pred").alias("pred"), *columns)
    return _Points(rows, lines, list(columns))


def _decision_of(column: Column) -> pl.Expr:
    if not is_number(column.dtype):
        msg = (
            f"`pred` is {column.dtype}, not a number from 0 to 1: write what counts as positive as"
            f' an expression, such as `pred={column.text} == "yes"`'
        )
        raise TypeError(msg)
    return number_of(column)


def _guarded(points: _Points, limit: int | None) -> pl.LazyFrame:
    """Return the rows, or raise if a slice has too many or a value cannot be compared."""
    size, outside, infinite = hidden("size"), hidden("outside"), hidden("infinite")
    pred = pl.col("pred")
    of_known = [(pred.is_not_null() & pl.col(name).is_infinite()).any() for name in points.features]
    facts = {
        size: pred.count(),
        outside: (~pred.is_between(0, 1)).any(),
        infinite: pl.any_horizontal(of_known),
    }
    not_a_decision = (
        "`pred` holds a value that is not from 0 to 1: write what counts as positive as an"
        ' expression, such as `pred=pl.col("score") > 0.5`'
    )
    not_finite = "`features` holds an infinite value: make it null to leave the row out"
    faults = [Fault(pl.col(outside), not_a_decision), Fault(pl.col(infinite), not_finite)]
    if limit is not None:
        large = f"`consistency` compares all rows of a slice, and there are more than {limit:,}"
        faults.append(Fault(pl.col(size) > limit, f"{large}: use `consistency_estimate`"))
    return guarded(points.lines, points.rows.keys, facts, faults)


# --- neighbours ---------------------------------------------------------------------------------


def distances_to_neighbours(
    points: Floats, decisions: Floats, count: int, sampled: Integers | None = None
) -> Floats | None:
    """Return, for every sampled row, the distance of its decision from its neighbours' mean."""
    import numpy as np
    from scipy.spatial import KDTree

    if len(points) < count:
        return None
    sampled = np.arange(len(points)) if sampled is None else sampled
    if count == 1:
        return np.zeros(len(sampled))
    wanted = min(len(points), count + _SPARE)
    gaps, near = KDTree(points).query(points[sampled], k=wanted)
    own = near == sampled[:, None]
    # If the last row fetched is tied, or the row itself was not fetched, compare with all rows.
    kth = np.sort(np.where(own, np.inf, gaps), axis=1)[:, count - 2]
    unclear = (gaps[:, -1] <= kth * (1 + _SAME)) & (wanted < len(points)) | ~own.any(axis=1)
    sums = _sum_of_neighbours(np.where(own, np.inf, gaps), decisions[near], count)
    sums[unclear] = _in_full(points, decisions, sampled[unclear], count)
    return np.asarray(np.abs(decisions[sampled] - (decisions[sampled] + sums) / count))


def _sum_of_neighbours(gaps: Floats, decisions: Floats, count: int) -> Floats:
    """Sum the decisions of the other neighbours; rows that are tied share the remaining ranks."""
    import numpy as np

    kth = np.partition(gaps, count - 2, axis=1)[:, count - 2 : count - 1]
    closer = gaps < kth * (1 - _SAME)
    tied = ~closer & (gaps <= kth * (1 + _SAME))
    left = count - 1 - closer.sum(axis=1)
    shared = left * (tied * decisions).sum(axis=1) / tied.sum(axis=1)
    total: Floats = (closer * decisions).sum(axis=1) + shared
    return total


def _in_full(points: Floats, decisions: Floats, sampled: Integers, count: int) -> Floats:
    """Compare with all rows, for the few sampled rows that have more ties."""
    import numpy as np
    from scipy.spatial.distance import cdist

    step = max(1, _BLOCK // len(points))
    parts = [np.empty(0)]
    for start in range(0, len(sampled), step):
        rows = sampled[start : start + step]
        gaps: Floats = np.asarray(cdist(points[rows], points), dtype=np.float64)
        gaps[np.arange(len(rows)), rows] = np.inf
        parts.append(_sum_of_neighbours(gaps, np.broadcast_to(decisions, gaps.shape), count))
    return np.concatenate(parts)
