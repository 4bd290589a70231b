"""The metric of this family: only the types of its call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polarsfair._typing import ArrowStream, IntoColumn, IntoGroup, IntoSlices

    IntoFeatures: TypeAlias = str | pl.Expr | Sequence[str | pl.Expr]


class ClusteringMetric(Metric):
    """A clustering measure: a float, or a frame with a row per slice."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        cluster: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        other: IntoColumn | None = ...,
        features: IntoFeatures | None = ...,
        group: IntoGroup | None = ...,
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
        cluster: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        other: IntoColumn | None = ...,
        features: IntoFeatures | None = ...,
        group: IntoGroup | None = ...,
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
        cluster: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        other: IntoColumn | None = ...,
        features: IntoFeatures | None = ...,
        group: IntoGroup | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> float: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the measure."""
        return super().__call__(frame, *frames, **keywords)


class ClusteringFrame(Metric):
    """A clustering table: always a frame, with a ``cluster`` column beside the slices."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        cluster: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        features: IntoFeatures | None = ...,
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
        cluster: IntoColumn | None = ...,
        label: IntoColumn | None = ...,
        features: IntoFeatures | None = ...,
        weight: IntoColumn | None = ...,
        **more: Any,
    ) -> pl.DataFrame: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the table."""
        return super().__call__(frame, *frames, **keywords)
