"""The metrics of this family: only the types of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    import polars as pl

    from polarsfair._typing import ClusteringRoles, EagerFrame, IntoSlices


class ClusteringMetric(Metric):
    """A clustering measure: a float, or a frame with a row per slice."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[ClusteringRoles],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: EagerFrame,
        /,
        *,
        by: IntoSlices,
        **roles: Unpack[ClusteringRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        frame: EagerFrame,
        /,
        *,
        by: None = ...,
        **roles: Unpack[ClusteringRoles],
    ) -> float: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the measure."""
        return super().__call__(frame, *frames, **keywords)


class ClusteringFrame(Metric):
    """A clustering table: always a frame, with a ``cluster`` column after the slices."""

    @overload
    def __call__(
        self,
        frame: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[ClusteringRoles],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        frame: EagerFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[ClusteringRoles],
    ) -> pl.DataFrame: ...
    def __call__(self, frame: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the table."""
        return super().__call__(frame, *frames, **keywords)
