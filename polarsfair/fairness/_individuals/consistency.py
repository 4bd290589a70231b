"""Whether people who are alike are decided alike: decisions beside those of the nearest rows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import polars as pl

from polarsfair._engine.columns import columns_of
from polarsfair._engine.frames import as_lazy, collect, is_lazy
from polarsfair._engine.legacy import fault, resolve_columns, row_key
from polarsfair._engine.metric import define
from polarsfair._engine.tally import Tally, slice_names
from polarsfair._formula import quotient
from polarsfair.clustering._internal.points import FEATURE, features_of
from polarsfair.fairness._types import FairnessMetric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polarsfair._typing import EagerFrame, IntoColumn, IntoFeatures, IntoFrame, IntoSlices

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]

__all__ = ["consistency", "consistency_estimate", "neighbours"]

LIMIT = 50_000
"""Rows a slice up to which the neighbours of every row are looked for."""

_SPARE = 16
"""Rows beyond the neighbours that are fetched to see whether the last of them are tied."""

_SAME = 1e-12
"""Distances that differ by less, relative to themselves, are equal."""

_BLOCK = 4_000_000
"""Distances that are held at once where ties have to be looked at in full."""


def _count_neighbours(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    *,
    pred: IntoColumn | None = None,
    features: IntoFeatures | None = None,
    n_neighbors: int = 5,
) -> pl.LazyFrame:
    """Sum over rows how far each decision is from the mean of its nearest rows.

    The table has the slices, ``n`` rows and ``apart``, the sum of the distances between a row's
    decision and the mean of the ``n_neighbors`` nearest rows of its slice; null where the slice
    has fewer rows. Rows without a decision or a feature are left out. Tables do not add up.

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
    points, slices = _points(rows, by, pred, features, n_neighbors)
    guarded = _guarded(points, slices, limit=LIMIT)

    def summed(frame: pl.DataFrame) -> pl.DataFrame:
        known = frame.filter(pl.col("|pred").is_not_null())
        values = distances_to_neighbours(known, n_neighbors)
        total = None if values is None else float(values.sum())
        line = {"n": [known.height], "apart": [total]}
        schema = {"n": pl.Int64(), "apart": pl.Float64()}
        return pl.concat(
            [frame.select(slices).head(1), pl.DataFrame(line, schema=schema)], how="horizontal"
        )

    return _per_slice(guarded, slices, summed, {"n": pl.Int64(), "apart": pl.Float64()})


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
    """How alike the decisions of near rows are.

    One less the mean distance between a row's decision and the mean decision of the rows nearest
    to it by its features.

    Formula: ``1 - mean over rows of |y_i - mean of y over the n_neighbors rows nearest to i|``.

    Range 0 to 1; ideal 1; higher is better.

    Parameters
    ----------
    features
        Columns of numbers, compared by Euclidean distance as they are: scale them first.
    n_neighbors
        How many, the row itself among them, so that with 1 the value is 1.

    Notes
    -----
    Rows at the same distance (to twelve digits) share the places that are left equally, so that
    the value does not depend on the order of rows; HolisticAI and AIF360 take any of them.
    AIF360's ``consistency`` also counts the row itself. A slice with fewer rows than
    ``n_neighbors`` has none. Decisions may be chances from 0 to 1.

    Every row is compared with all of its slice: at most 50,000 rows a slice, more are an error
    that names `consistency_estimate`.

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


@overload
def consistency_estimate(
    frame: pl.LazyFrame,
    *,
    pred: IntoColumn,
    features: IntoFeatures,
    n_neighbors: int = ...,
    sample: int = ...,
    seed: int = ...,
    by: IntoSlices | None = ...,
) -> pl.LazyFrame: ...
@overload
def consistency_estimate(
    frame: EagerFrame,
    *,
    pred: IntoColumn,
    features: IntoFeatures,
    n_neighbors: int = ...,
    sample: int = ...,
    seed: int = ...,
    by: IntoSlices | None = ...,
) -> pl.DataFrame: ...
def consistency_estimate(
    frame: IntoFrame,
    *,
    pred: IntoColumn,
    features: IntoFeatures,
    n_neighbors: int = 5,
    sample: int = 2_000,
    seed: int = 0,
    by: IntoSlices | None = None,
) -> pl.DataFrame | pl.LazyFrame:
    """Estimate `consistency` from a sample of rows, each beside its true neighbours.

    Neighbours are looked for among all rows of the slice, so that the estimate is unbiased; only
    the rows that are asked are sampled.

    Parameters
    ----------
    frame
        Eager or lazy. Features and decisions of a slice have to fit in memory.
    pred, features, n_neighbors
        As in `consistency`.
    sample
        Rows a slice that are asked; all of them where there are no more.
    seed
        Seed of the sample, which depends on the content of the rows and not on their order.
    by
        Slices.

    Returns
    -------
    pl.DataFrame or pl.LazyFrame
        The slices, ``consistency``, its ``standard_error`` (0 where all rows were asked),
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
    for name in slice_names(columns, neighbours):
        if name in _ESTIMATE:
            msg = f'a slice may not be called {name!r} here: rename it with `.alias("...")`'
            raise ValueError(msg)
    points, slices = _points(as_lazy(frame), columns, pred, features, n_neighbors)

    def estimated(frame: pl.DataFrame) -> pl.DataFrame:
        known = frame.filter(pl.col("|pred").is_not_null())
        line = pl.DataFrame([_estimate(known, n_neighbors, sample, seed)], schema=_ESTIMATE)
        return pl.concat([frame.select(slices).head(1), line], how="horizontal")

    points = _guarded(points, slices, limit=None)
    result = _per_slice(points, slices, estimated, _ESTIMATE)
    result = result.sort(slices) if slices else result
    return result if is_lazy(frame) else collect(result, frame)


_ESTIMATE: dict[str, Any] = {
    "consistency": pl.Float64(),
    "standard_error": pl.Float64(),
    "sample": pl.Int64(),
    "n": pl.Int64(),
}


def _estimate(known: pl.DataFrame, count: int, sample: int, seed: int) -> dict[str, Any]:
    import numpy as np

    size = known.height
    # Equal rows have equal values, so any order among them gives the same estimate.
    ordered = known.sort("|pred", *(n for n in known.columns if n.startswith(FEATURE)))
    asked = np.arange(size)
    if sample < size:
        asked = np.sort(np.random.default_rng(seed).choice(size, sample, replace=False))
    values = distances_to_neighbours(ordered, count, asked)
    if values is None:
        return {"consistency": None, "standard_error": None, "sample": len(asked), "n": size}
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    unseen = max(0.0, 1 - len(asked) / size)
    error = spread * float(np.sqrt(unseen / len(asked)))
    value = 1 - float(values.mean())
    return {"consistency": value, "standard_error": error, "sample": len(asked), "n": size}


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        msg = f"`{name}` is a whole number of at least {least}, got {value!r}"
        raise ValueError(msg)


# --- rows ---------------------------------------------------------------------------------------


def _points(
    rows: pl.LazyFrame,
    by: Sequence[pl.Expr],
    pred: IntoColumn | None,
    features: IntoFeatures | None,
    n_neighbors: int,
) -> tuple[pl.LazyFrame, list[str]]:
    """Give slices, decision and features; no decision where the row cannot be compared."""
    _check_whole("n_neighbors", n_neighbors, 1)
    columns = resolve_columns(rows, by, {"pred": pred})
    decided = columns.pop("pred")
    if not (decided.dtype.is_numeric() or decided.dtype in (pl.Boolean, pl.Null)):
        msg = (
            f"`pred` is {decided.dtype}, not a number from 0 to 1: write what counts as positive as"
            f' an expression, such as `pred={decided.text} == "yes"`'
        )
        raise TypeError(msg)
    given, names = features_of(rows, features)
    keys = {name: row_key(column) for name, column in columns.items()}
    decision = decided.expression.cast(pl.Float64).fill_nan(None)
    named = rows.select(**keys, **{"|pred": decision}, **given)
    read = ["|pred", *(FEATURE + name for name in names)]
    complete = pl.all_horizontal(pl.col(name).fill_nan(None).is_not_null() for name in read)
    return named.with_columns(pl.when(complete).then("|pred").alias("|pred")), list(keys)


def _guarded(points: pl.LazyFrame, slices: list[str], *, limit: int | None) -> pl.LazyFrame:
    """Give the rows, or stop where a slice has too many or a decision is none."""
    features = [n for n in points.collect_schema().names() if n.startswith(FEATURE)]
    outside = (~pl.col("|pred").is_between(0, 1)).any()
    known = pl.col("|pred").is_not_null()
    endless = pl.any_horizontal((known & pl.col(n).is_infinite()).any() for n in features)
    facts = [
        pl.col("|pred").count().alias("|size"),
        outside.alias("|outside"),
        endless.alias("|endless"),
    ]
    sizes = points.group_by(slices).agg(facts) if slices else points.select(facts)
    faults = [
        fault(
            pl.col("|outside"),
            "`pred` holds a value that is not from 0 to 1: write what counts as positive as an"
            ' expression, such as `pred=pl.col("score") > 0.5`',
        ),
        fault(pl.col("|endless"), "`features` hold a value that is infinite: leave the row out"),
    ]
    if limit is not None:
        message = f"`consistency` compares all rows of a slice, and there are more than {limit:,}"
        faults.append(fault(pl.col("|size") > limit, f"{message}: use `consistency_estimate`"))
    size = pl.col("|size").cast(pl.Int64)
    few = sizes.select(*slices, **{"|few": pl.coalesce(*faults, size)})
    if slices:
        joined = points.join(few, on=slices, how="inner", nulls_equal=True)
    else:
        joined = points.join(few, how="cross")
    return joined.filter(pl.col("|few") >= 0).drop("|few")


def _per_slice(
    rows: pl.LazyFrame,
    slices: list[str],
    function: Callable[[pl.DataFrame], pl.DataFrame],
    values: dict[str, Any],
) -> pl.LazyFrame:
    """Call `function` with the rows of every slice; it gives one line."""
    schema = rows.collect_schema()
    result = pl.Schema({name: schema[name] for name in slices} | values)
    if slices:
        return rows.group_by(slices).map_groups(function, schema=result)
    return rows.map_batches(
        function,
        schema=result,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
    )


# --- neighbours ---------------------------------------------------------------------------------


def distances_to_neighbours(
    frame: pl.DataFrame, count: int, asked: Integers | None = None
) -> Floats | None:
    """Give for every row asked the distance of its decision from its neighbours' mean."""
    import numpy as np
    from scipy.spatial import KDTree

    columns = [name for name in frame.columns if name.startswith(FEATURE)]
    points = np.ascontiguousarray(frame.select(columns).to_numpy(), dtype=np.float64)
    decisions: Floats = frame["|pred"].to_numpy()
    if len(points) < count:
        return None
    asked = np.arange(len(points)) if asked is None else asked
    if count == 1:
        return np.zeros(len(asked))
    wanted = min(len(points), count + _SPARE)
    gaps, near = KDTree(points).query(points[asked], k=wanted)
    own = near == asked[:, None]
    # Where the last one fetched is tied, or the row itself was not fetched, look at all rows.
    kth = np.sort(np.where(own, np.inf, gaps), axis=1)[:, count - 2]
    unclear = (gaps[:, -1] <= kth * (1 + _SAME)) & (wanted < len(points)) | ~own.any(axis=1)
    means = _means(np.where(own, np.inf, gaps), decisions[near], count)
    means[unclear] = _in_full(points, decisions, asked[unclear], count)
    return np.asarray(np.abs(decisions[asked] - (decisions[asked] + means) / count))


def _means(gaps: Floats, decisions: Floats, count: int) -> Floats:
    """Give the sum of the decisions in the places beside the row's own; ties share a place."""
    import numpy as np

    kth = np.partition(gaps, count - 2, axis=1)[:, count - 2 : count - 1]
    closer = gaps < kth * (1 - _SAME)
    tied = ~closer & (gaps <= kth * (1 + _SAME))
    left = count - 1 - closer.sum(axis=1)
    shared = left * (tied * decisions).sum(axis=1) / tied.sum(axis=1)
    total: Floats = (closer * decisions).sum(axis=1) + shared
    return total


def _in_full(points: Floats, decisions: Floats, asked: Integers, count: int) -> Floats:
    """Look at all rows, for the few rows asked whose ties go on."""
    import numpy as np
    from scipy.spatial.distance import cdist

    step = max(1, _BLOCK // len(points))
    parts = [np.empty(0)]
    for start in range(0, len(asked), step):
        rows = asked[start : start + step]
        gaps: Floats = np.asarray(cdist(points[rows], points), dtype=np.float64)
        gaps[np.arange(len(rows)), rows] = np.inf
        parts.append(_means(gaps, np.broadcast_to(decisions, gaps.shape), count))
    return np.concatenate(parts)
