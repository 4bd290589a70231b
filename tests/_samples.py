"""Random frames for the laws, one kind per tally; a tally without one fails `test_laws`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import polarsfair as pf


@dataclass(frozen=True)
class Sample:
    """How a law gets rows for a tally and how the call names them.

    `kept_whole` names the column whose rows must not be split when tables are merged, and `merged`
    are roles without which tables of parts are refused. `options` are those that have no default.
    """

    rows: st.SearchStrategy[pl.DataFrame]
    roles: dict[str, Any]
    frames: dict[str, st.SearchStrategy[pl.DataFrame]] = field(default_factory=dict)
    kept_whole: str | None = None
    merged: dict[str, Any] = field(default_factory=dict)
    refs: bool = True
    options: dict[str, Any] = field(default_factory=dict)


def ready(metric: pf.Metric) -> pf.Metric:
    """Bind the options without which a metric has no value."""
    needed = SAMPLES[metric.tally.name].options if metric.tally.name in SAMPLES else {}
    own = {name: value for name, value in needed.items() if name in metric.option_names}
    return metric.bind(**own) if own else metric


def empty(strategy: st.SearchStrategy[pl.DataFrame]) -> pl.DataFrame:
    """Give a frame of the strategy's columns without a row."""
    found: list[pl.DataFrame] = []

    @settings(max_examples=1, deadline=None, derandomize=True, database=None)
    @given(strategy)
    def take(frame: pl.DataFrame) -> None:
        found.append(frame)

    take()
    return found[0].clear()


def _frame(columns: dict[str, tuple[pl.DataType, st.SearchStrategy[Any]]]) -> Any:
    schema = {name: dtype for name, (dtype, _) in columns.items()}
    row = st.tuples(*(values for _, values in columns.values()))
    return st.lists(row, max_size=40).map(
        lambda rows: pl.DataFrame(rows, schema=schema, orient="row")
    )


def _maybe(values: list[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from([*values, *values, *values, None])


_PEOPLE: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "d": (pl.String, _maybe(["x", "y"])),
    "g": (pl.String, _maybe(["a", "b", "c"])),
    "p": (pl.Int64, _maybe([0, 1])),
    "y": (pl.Int64, _maybe([0, 1])),
    "c": (pl.String, _maybe(["red", "green", "blue"])),
    "t": (pl.String, _maybe(["red", "green", "blue"])),
    "s": (pl.Float64, _maybe([0.0, 0.125, 0.25, 0.5, 0.7, 0.875, 1.0])),
    "w": (pl.Int64, st.integers(0, 3)),
}

_LISTS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "d": (pl.String, _maybe(["x", "y"])),
    "user": (pl.Int64, _maybe([1, 2, 3, 4])),
    "item": (pl.String, _maybe(["a", "b", "c", "d", "e"])),
    "score": (pl.Float64, _maybe([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])),
    "click": (pl.Int64, _maybe([0, 1])),
    "chance": (pl.Float64, _maybe([0.25, 0.5, 1.0])),
}
_RECS = _frame({name: _LISTS[name] for name in ("d", "user", "item", "score")})
_ACTUAL = _frame({name: _LISTS[name] for name in ("d", "user", "item", "click")})
_RANKED = {"user": "user", "item": "item", "score": "score", "relevance": "click"}


def _of_users(names: list[str]) -> st.SearchStrategy[pl.DataFrame]:
    """Draw rows whose slice and group are the user's, so that slices split no list."""
    user = pl.col("user")
    days, groups = {1: "x", 2: "x", 3: "y", 4: "y", 5: "x"}, {1: "a", 2: "b", 3: "a", 4: "c"}
    told = {
        "d": user.replace_strict(days, default=None, return_dtype=pl.String),
        "g": user.replace_strict(groups, default=None, return_dtype=pl.String),
    }
    # A slice of rows that have no user or item is none: the rows are left out.
    more: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
        "user": (pl.Int64, st.sampled_from([1, 2, 3, 4, 5, 6])),
        "item": (pl.String, st.sampled_from(["a", "b", "c", "d", "e"])),
    }
    frames = _frame({name: (_LISTS | more)[name] for name in names})
    return frames.map(lambda frame: frame.with_columns(**told))


_SHOWN = _of_users(["user", "item", "score"])
_LOGGED = _of_users(["user", "item", "click", "chance"]).map(lambda frame: frame.drop("g"))
_SEEN = {"user": "user", "item": "item", "score": "score", "group": "g"}
_ITEMS = pl.DataFrame(
    {
        "item": ["a", "b", "c", "d"],
        "maker": ["a", "a", "b", None],
        "x": [0, 1, 2, -1],
        "y": 1,
        "sold": [5, 2, 2, 0],
    }
)

PEOPLE = _frame(_PEOPLE)

_CENTROIDS = pl.DataFrame({"s": [0.0, 0.75], "p": [0.0, 1.0]})

SAMPLES: dict[str, Sample] = {
    "fairness.decisions": Sample(PEOPLE, {"group": "g", "pred": "p", "label": "y"}),
    "fairness.benefits": Sample(PEOPLE, {"group": "g", "score": "s", "label": "y"}),
    "fairness.classes": Sample(PEOPLE, {"group": "g", "pred": "c", "label": "t"}),
    "fairness.scores": Sample(PEOPLE, {"group": "g", "score": "s", "label": "y"}),
    "fairness.strata": Sample(PEOPLE, {"group": "g", "label": "y", "strata": "c"}),
    **dict.fromkeys(
        ["fairness.outcomes", "fairness.outcome_bins"],
        Sample(PEOPLE, {"group": "g", "pred": "s", "label": "y"}),
    ),
    "fairness.neighbours": Sample(PEOPLE, {"pred": "p", "features": ["s", "y"]}, refs=False),
    "fairness.clusters": Sample(PEOPLE, {"group": "g", "cluster": "c"}),
    "fairness.nearest": Sample(
        PEOPLE, {"group": "g", "features": ["s", "p"], "centroids": _CENTROIDS}
    ),
    "clustering.edges": Sample(PEOPLE, {"group": "g", "cluster": "c", "other": "t"}),
    "clustering.contingency": Sample(PEOPLE, {"group": "g", "cluster": "c", "label": "t"}),
    **dict.fromkeys(
        [
            "clustering.moments",
            "clustering.radii",
            "clustering.scatter",
            "clustering.volumes",
            "clustering.silhouettes",
            "clustering.extremes",
            "clustering.order",
            "fairness.silhouettes",
        ],
        Sample(PEOPLE, {"group": "g", "cluster": "c", "features": ["s", "p"]}),
    ),
    **dict.fromkeys(
        ["ranking.lists", "ranking.gains"],
        Sample(_RECS, _RANKED, frames={"actual": _ACTUAL}, kept_whole="user", refs=False),
    ),
    # Propensities are given: those that are not count the items of each table's ground truth.
    **dict.fromkeys(
        ["ranking.matches", "ranking.match_scores", "ranking.user_matches"],
        Sample(
            _SHOWN,
            {**_SEEN, "relevance": "click", "propensity": "chance"},
            frames={"actual": _LOGGED},
            kept_whole="user",
        ),
    ),
    "ranking.exposure": Sample(
        _SHOWN, _SEEN, frames={"actual": _LOGGED}, kept_whole="user", merged={"items": _ITEMS}
    ),
    **dict.fromkeys(
        ["ranking.overlaps", "ranking.shown_scores"], Sample(_SHOWN, _SEEN, kept_whole="user")
    ),
    "ranking.group_exposure": Sample(
        _SHOWN,
        {"user": "user", "item": "item", "score": "score", "items": _ITEMS, "item_group": "maker"},
        kept_whole="user",
    ),
    "ranking.surprises": Sample(
        _SHOWN,
        {**_SEEN, "items": _ITEMS, "popularity": "sold"},
        kept_whole="user",
        options={"n_users": 7},
    ),
    "ranking.finds": Sample(
        _RECS,
        {**_RANKED, "items": _ITEMS, "popularity": "sold"},
        frames={"actual": _ACTUAL},
        kept_whole="user",
        refs=False,
    ),
    "ranking.spreads": Sample(
        _SHOWN, {**_SEEN, "items": _ITEMS, "features": ["x", "y"]}, kept_whole="user"
    ),
}
