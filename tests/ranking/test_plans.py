"""Matched pairs, exposure and diversity of whole lists stay on the streaming engine."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from polarsfair import ranking
from tests.test_plans import in_memory_below_group_by

RECS = pl.DataFrame(
    {"user": [1, 1, 2], "item": [7, 8, 7], "score": [0.9, 0.5, 0.7], "day": ["x", "x", "y"]}
)
ACTUAL = pl.DataFrame({"user": [1, 2], "item": [7, 7], "click": [1, 0], "chance": [0.5, 0.2]})
ITEMS = pl.DataFrame({"item": [7, 8], "x": [1.0, 2.0], "maker": ["a", "b"]})
USERS = pl.DataFrame({"user": [1, 2], "sex": ["F", "M"]})
ROLES: Mapping[str, Any] = {"user": "user", "item": "item", "score": "score", "by": "day"}

Lakes = dict[str, pl.LazyFrame]
TALLIES: dict[str, Callable[[Lakes], pl.LazyFrame]] = {
    "matches": lambda lake: ranking.matches(
        lake["recs"], lake["actual"], relevance="click", propensity="chance", **ROLES
    ),
    "matches without propensities": lambda lake: ranking.matches(
        lake["recs"], lake["actual"], relevance="click", **ROLES
    ),
    "scores of matches": lambda lake: ranking.match_scores(
        lake["recs"], lake["actual"], relevance="click", **ROLES
    ),
    "exposure": lambda lake: ranking.exposure(lake["recs"], items=lake["items"], **ROLES),
    "exposure by sex": lambda lake: ranking.exposure(
        lake["recs"], users=lake["users"], group="sex", **ROLES
    ),
    "overlaps": lambda lake: ranking.overlaps(lake["recs"], **ROLES),
    "overlaps without repeats": lambda lake: ranking.overlaps(
        lake["recs"], repeats="none", **ROLES
    ),
    "spreads": lambda lake: ranking.spreads(
        lake["recs"], items=lake["items"], features="x", **ROLES
    ),
    "Hamming distances": lambda lake: ranking.spreads(
        lake["recs"], items=lake["items"], features=["maker", "x"], metric="hamming", **ROLES
    ),
    "Hamming distances without repeats": lambda lake: ranking.spreads(
        lake["recs"],
        items=lake["items"],
        features=["maker", "x"],
        metric="hamming",
        repeats="none",
        **ROLES,
    ),
    "surprises": lambda lake: ranking.surprises(
        lake["recs"], items=lake["items"], popularity="x", **ROLES
    ),
    "finds": lambda lake: ranking.finds(
        lake["recs"], lake["actual"], items=lake["items"], popularity="x", **ROLES
    ),
    "matches of users": lambda lake: ranking.user_matches(
        lake["recs"], lake["actual"], relevance="click", users=lake["users"], group="sex", **ROLES
    ),
    "scores": lambda lake: ranking.shown_scores(lake["recs"], **ROLES),
}


@pytest.fixture
def lakes(tmp_path: Path) -> Lakes:
    frames = {"recs": RECS, "actual": ACTUAL, "items": ITEMS, "users": USERS}
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
    return {name: pl.scan_parquet(tmp_path / f"{name}.parquet") for name in frames}


@pytest.mark.parametrize("count", TALLIES.values(), ids=TALLIES)
def test_whole_lists_stay_on_the_streaming_engine(
    count: Callable[[Lakes], pl.LazyFrame], lakes: Lakes
) -> None:
    assert in_memory_below_group_by(count(lakes)) == []


def test_places_are_windows_and_no_fall_back(lakes: Lakes) -> None:
    for table in (
        ranking.exposure(lakes["recs"], k=1, **ROLES),
        ranking.matches(lakes["recs"], lakes["actual"], relevance="click", k=1, **ROLES),
        ranking.group_exposure(lakes["recs"], items=lakes["items"], item_group="maker", **ROLES),
    ):
        left = in_memory_below_group_by(table)
        assert left
        assert not [label for label in left if label.startswith("in-memory")]


def test_a_given_rank_needs_no_window(lakes: Lakes) -> None:
    ranked = {**ROLES, "score": None, "rank": pl.col("item") - 6}
    table = ranking.group_exposure(
        lakes["recs"], items=lakes["items"], item_group="maker", **ranked
    )
    assert in_memory_below_group_by(table) == []
