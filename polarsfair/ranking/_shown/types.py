"""The metric of lists by themselves: only the types of its call, which needs no ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polarsfair._typing import ArrowStream, IntoColumn, IntoFrame, IntoGroup, IntoSlices


class ShownMetric(Metric):
    """A metric of what is shown: a float, or a frame with a row per slice and k."""

    @overload
    def __call__(
        self,
        recs: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        k: int | Sequence[int | None] | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        items: IntoFrame | None = ...,
        **more: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices,
        k: int | Sequence[int | None] | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        items: IntoFrame | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        k: Sequence[int | None],
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        items: IntoFrame | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        k: int | None = ...,
        user: IntoColumn | None = ...,
        item: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        rank: IntoColumn | None = ...,
        group: IntoGroup | None = ...,
        users: IntoFrame | None = ...,
        items: IntoFrame | None = ...,
        **more: Any,
    ) -> float: ...
    def __call__(self, recs: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        return super().__call__(recs, *frames, **keywords)
