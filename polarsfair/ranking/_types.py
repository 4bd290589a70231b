"""The types of this family's calls."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Unpack, overload

from polarsfair._engine.frames import as_given, as_lazy
from polarsfair._engine.metric import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from polarsfair._typing import EagerFrame, IntoFrame, IntoSlices, ListKeywords, RankingRoles

P = ParamSpec("P")


class FrameOfLists(Protocol[P]):
    """A function of recommendations and ground truth, whose result is lazy if one of them is."""

    @overload
    def __call__(
        self, recs: pl.LazyFrame, actual: IntoFrame, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, recs: EagerFrame, actual: pl.LazyFrame, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, recs: EagerFrame, actual: EagerFrame, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame: ...


def lazy_if_any(
    function: Callable[Concatenate[pl.LazyFrame, IntoFrame, P], pl.LazyFrame], /
) -> FrameOfLists[P]:
    """Let a function of two frames take any frames; its result is lazy if one of them is."""

    @functools.wraps(function)
    def any_frames(recs: IntoFrame, actual: IntoFrame, *args: P.args, **kwargs: P.kwargs) -> Any:
        result = function(as_lazy(recs), actual, *args, **kwargs)
        return as_given(result, recs, actual, *kwargs.values())

    return any_frames


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
        **roles: Unpack[ListKeywords],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        actual: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[ListKeywords],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        actual: EagerFrame | None = ...,
        /,
        *,
        by: IntoSlices,
        **roles: Unpack[ListKeywords],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        actual: EagerFrame | None = ...,
        /,
        *,
        by: None = ...,
        k: Sequence[int | None],
        **roles: Unpack[RankingRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        actual: EagerFrame | None = ...,
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
    """A metric of recommendations alone: a float, or a frame with a row per slice and k."""

    @overload
    def __call__(
        self,
        recs: pl.LazyFrame,
        /,
        *,
        by: IntoSlices | None = ...,
        **roles: Unpack[ListKeywords],
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        /,
        *,
        by: IntoSlices,
        **roles: Unpack[ListKeywords],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        /,
        *,
        by: None = ...,
        k: Sequence[int | None],
        **roles: Unpack[RankingRoles],
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self,
        recs: EagerFrame,
        /,
        *,
        by: None = ...,
        k: int | None = ...,
        **roles: Unpack[RankingRoles],
    ) -> float: ...
    def __call__(self, recs: Any, /, *frames: Any, **keywords: Any) -> Any:
        """Evaluate the metric."""
        return super().__call__(recs, *frames, **keywords)
