"""What calls take: frames, columns, and the roles and options of every family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeAlias, TypedDict, overload

import polars as pl

FAMILIES = ("fairness", "ranking", "clustering")


class ArrowStream(Protocol):
    """Anything that exports its rows through the Arrow C stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the rows."""
        ...


EagerFrame: TypeAlias = pl.DataFrame | ArrowStream
IntoFrame: TypeAlias = pl.DataFrame | pl.LazyFrame | ArrowStream
IntoColumn: TypeAlias = str | pl.Expr
IntoSlices: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]
IntoGroup: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr] | Mapping[Any, str | pl.Expr]
IntoFeatures: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]
IntoUser: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]
IntoK: TypeAlias = int | Sequence[int | None] | None

Better: TypeAlias = Literal["lower", "higher", "ideal"] | None
Kind: TypeAlias = Literal["outcome", "opportunity", "individual", "quality"]
Sums: TypeAlias = Mapping[str, pl.Expr]

P = ParamSpec("P")


class FrameOf(Protocol[P]):
    """A function from frames to frames, of the kind that it is given."""

    @overload
    def __call__(self, frame: pl.LazyFrame, *args: P.args, **kwargs: P.kwargs) -> pl.LazyFrame: ...
    @overload
    def __call__(self, frame: EagerFrame, *args: P.args, **kwargs: P.kwargs) -> pl.DataFrame: ...


FRAME_ROLES: Mapping[str, str] = {
    "actual": "The relevant items: a frame with a row per user and item.",
    "users": "User attributes, such as a group: a frame with one row per user.",
    "items": "The catalogue: a frame with a row per item.",
    "reference": "A frame to compare with.",
    "centroids": "A frame with a row per centroid and the columns of `features`.",
}
"""Roles that are frames of their own, not columns."""

ROLES: Mapping[str, str] = {
    **FRAME_ROLES,
    "group": (
        "Group of each row: a column or expression; a list of them is their intersection, and a\n"
        "mapping from classes to columns holds probabilities."
    ),
    "pred": "Prediction or decision: a column or expression.",
    "label": "True label: a column or expression.",
    "score": "Score: a column or expression of numbers.",
    "weight": "Weight of each row: a column or expression of numbers of at least 0.",
    "user": (
        "User: a column or expression; a list of them, such as a user and a day, is one key\n"
        "together."
    ),
    "item": (
        "Item: a column or expression. A column of lists is a row per user: `score`, `rank` and\n"
        "`relevance` are then lists of the same length, or the order of the list is the rank."
    ),
    "rank": "Rank of a recommendation in its list, from 1: in place of `score`.",
    "relevance": "Relevance of an item, in `actual`: 0 or null is not relevant.",
    "cluster": "Cluster of each row: a column or expression.",
    "features": "Features: columns or expressions; one of dtype Array holds several of them.",
    "unit": "Sampling unit, such as a household: a column or expression.",
    "other": "Cluster of an edge's other end: a column or expression.",
    "value": "What is averaged over matches, in `actual`, in place of `relevance`.",
    "propensity": "Probability that a pair was shown when `actual` was collected.",
    "predicted": "Outcome that a model expects of a recommendation.",
    "item_group": "Group of an item, in `items`.",
    "popularity": "Popularity of an item, in `items`.",
    "strata": "Stratum of each row: groups are compared within strata.",
    "surrogate": "Column that predicts an unknown group, such as a postcode.",
}
"""Every role of every family, and what it is.

A column that any role names exists. Every metric of a call must read `weight`, and one of them
each of `strata`, `propensity`, `surrogate` and `unit`; other roles may go unread.
"""

if TYPE_CHECKING:  # building them at run time would take longer than all other imports
    # Options and frames are checked when they are used. A type here would also reject a plain
    # dictionary of column names, `metric(df, **roles)`.
    Option: TypeAlias = Any

    class _Groups(TypedDict, total=False):
        group: IntoGroup | None
        ref: Option

    class _Fairness(TypedDict, total=False):
        pred: IntoColumn | None
        label: IntoColumn | None
        score: IntoColumn | None
        weight: IntoColumn | None
        strata: IntoColumn | None
        cluster: IntoColumn | None
        features: IntoFeatures | None
        centroids: Option
        unit: IntoColumn | None
        alpha: Option
        base: Option
        bins: Option
        calibration_bins: Option
        levels: Option
        metric: Option
        n_neighbors: Option
        p: Option
        q: Option
        reduce: Option
        unseen: Option

    class _RankingOptions(TypedDict, total=False):
        score: IntoColumn | None
        rank: IntoColumn | None
        value: IntoColumn | None
        propensity: IntoColumn | None
        predicted: IntoColumn | None
        item_group: IntoColumn | None
        popularity: IntoColumn | None
        features: IntoFeatures | None
        unit: IntoColumn | None
        average: Option
        average_over: Option
        convention: Option
        discount: Option
        empty: Option
        gain: Option
        head: Option
        ideal_over: Option
        map_by: Option
        max_grade: Option
        metric: Option
        n_users: Option
        normalized: Option
        p: Option
        plan: Option
        precision_by: Option
        recall_by: Option
        repeats: Option
        target: Option
        ties: Option
        items: Option

    class _RankingItems(_RankingOptions, total=False):
        item: IntoColumn | None
        relevance: IntoColumn | None
        users: Option

    class _Ranking(_RankingItems, total=False):
        user: IntoUser | None

    class _Clustering(TypedDict, total=False):
        cluster: IntoColumn | None
        label: IntoColumn | None
        features: IntoFeatures | None
        weight: IntoColumn | None
        unit: IntoColumn | None
        average: Option
        base: Option
        beta: Option
        dispersion: Option
        metric: Option
        noise: Option

    class FairnessRoles(_Fairness, _Groups, total=False):
        """Roles and options of fairness metrics."""

    class RankingRoles(_Ranking, _Groups, total=False):
        """Roles and options of ranking metrics, but for `actual` and `k`."""

    class SupportKeywords(_RankingOptions, _Groups, total=False):
        """Keywords of ranking metrics, for a call that has ids, `relevance` and `users` itself."""

        k: IntoK

    class UserKeywords(_RankingItems, _Groups, total=False):
        """Keywords of ranking metrics, for a call that has `user` itself."""

        k: IntoK

    class ListKeywords(RankingRoles, total=False):
        """Keywords of ranking metrics, but for `actual`."""

        k: IntoK

    class ClusteringRoles(_Clustering, _Groups, total=False):
        """Roles and options of clustering measures."""

        other: IntoColumn | None

    class _Every(_Fairness, _Ranking, _Clustering, total=False):
        actual: Option
        surrogate: IntoColumn | None
        k: Option

    class GroupKeywords(_Every, total=False):
        """Roles and options of any family, for calls that have a `group` and `ref` of their own."""

        other: IntoColumn | None

    class CompareKeywords(_Every, _Groups, total=False):
        """Roles and options of any family, for a call in which `other` is what is compared with."""

    class RateKeywords(TypedDict, total=False):
        """Roles of rates, for a test that has a `group` and `strata` of its own."""

        pred: IntoColumn | None
        label: IntoColumn | None
        score: IntoColumn | None
        weight: IntoColumn | None

    class Keywords(GroupKeywords, _Groups, total=False):
        """Roles and options of any family."""
