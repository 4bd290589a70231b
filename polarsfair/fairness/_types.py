"""The metric of this family: only the types of its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    import polars as pl

    from polarsfair._typing import ArrowStream, IntoColumn, IntoGroup, IntoSlices


class FairnessMetric(Metric):
    """A fairness metric: a float, or a frame with a row per slice."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        group: IntoGroup | None = ...,
        pred: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices,
        group: IntoGroup | None = ...,
        pred: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        group: IntoGroup | None = ...,
        pred: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        score: IntoColumn | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> float: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        return super().__call__(frame, *frames, **keywords)


class FairnessFrame(Metric):
    """A fairness table: always a frame, with key columns such as ``class`` beside the slices."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        group: IntoGroup | None = ...,
        pred: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices | None = ...,
        group: IntoGroup | None = ...,
        pred: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the table."""
        return super().__call__(frame, *frames, **keywords)
