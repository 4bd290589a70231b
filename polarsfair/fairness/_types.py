"""The metrics of this family: only the types of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    import polars as pl

    from polarsfair._typing import ArrowStream, FairnessRoles, IntoSlices


class FairnessMetric(Metric):
    """A fairness metric: a float, or a frame with a row per slice."""

    @overload
    def __call__(
        self, frame: pl.LazyFrame, /, *, by: IntoSlices | None = ..., **roles: Unpack[FairnessRoles]
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices,
        **roles: Unpack[FairnessRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        **roles: Unpack[FairnessRoles],
    ) -> float: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        return super().__call__(frame, *frames, **keywords)


class FairnessFrame(Metric):
    """A fairness table: always a frame, with key columns such as ``class`` after the slices."""

    @overload
    def __call__(
        self, frame: pl.LazyFrame, /, *, by: IntoSlices | None = ..., **roles: Unpack[FairnessRoles]
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[FairnessRoles],
    ) -> pl.DataFrame: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the table."""
        return super().__call__(frame, *frames, **keywords)
