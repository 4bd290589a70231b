"""The metric of this family: only the types of its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFrame, IntoGroup, IntoSlices


class RankingMetric(Metric):
    """A metric of ranked lists: a float, or a frame with a row per slice and k."""

    @overload
    def __call__(
        self,
        recs: pl.LazyFrame,
        actual: IntoFrame | None = ...,
        /,
        *,
        by: IntoSlices | None = ...,
        k: int | Sequence[int | None] | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        relevance: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        **more: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        k: int | Sequence[int | None] | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        relevance: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        **more: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.DataFrame | ArrowStream | None = ...,
        /,
        *,
        by: IntoSlices,
        k: int | Sequence[int | None] | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        relevance: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: pl.DataFrame | ArrowStream | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.DataFrame | ArrowStream | None = ...,
        /,
        *,
        by: None = ...,
        k: Sequence[int | None],
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        relevance: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: pl.DataFrame | ArrowStream | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.DataFrame | ArrowStream | None = ...,
        /,
        *,
        by: None = ...,
        k: int | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        relevance: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: pl.DataFrame | ArrowStream | None = ...,
        **more: Any,
    ) -> float: ...
    def __call__(self, recs: Any, actual: Any = None, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        given = () if actual is None else (actual, *frames)
        return super().__call__(recs, *given, **keywords)
