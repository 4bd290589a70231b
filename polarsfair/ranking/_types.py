"""The metrics of this family: only the types of their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack, overload

from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polarsfair._typing import ArrowStream, IntoFrame, IntoK, IntoSlices, RankingRoles


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
        k: IntoK = ...,
        **roles: Unpack[RankingRoles],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        k: IntoK = ...,
        **roles: Unpack[RankingRoles],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        actual: pl.DataFrame | ArrowStream | None = ...,
        /,
        *,
        by: IntoSlices,
        k: IntoK = ...,
        **roles: Unpack[RankingRoles],
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
        **roles: Unpack[RankingRoles],
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
        **roles: Unpack[RankingRoles],
    ) -> float: ...
    def __call__(self, recs: Any, actual: Any = None, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        given = () if actual is None else (actual, *frames)
        return super().__call__(recs, *given, **keywords)


class ShownMetric(Metric):
    """A metric of what is shown: a float, or a frame with a row per slice and k."""

    @overload
    def __call__(
        self,
        recs: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        k: IntoK = ...,
        **roles: Unpack[RankingRoles],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: IntoSlices,
        k: IntoK = ...,
        **roles: Unpack[RankingRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        k: Sequence[int | None],
        **roles: Unpack[RankingRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: pl.DataFrame | ArrowStream,
        /,
        *,
        by: None = ...,
        k: int | None = ...,
        **roles: Unpack[RankingRoles],
    ) -> float: ...
    def __call__(self, recs: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        return super().__call__(recs, *frames, **keywords)
