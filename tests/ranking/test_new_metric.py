"""A new metric of ranked lists is one decorated formula: nothing else has to name it.

Two metrics are defined here and nowhere else, and compared with a computation by hand.
"""

import itertools
import math
import pickle
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import polarsfair as pf
from polarsfair import ranking
from polarsfair.ranking._lists.conventions import CONVENTIONS, setting
from polarsfair.ranking._lists.list_values import ListValues, quality
from tests.ranking._cases import is_graded, is_linear
from tests.ranking._cases import lists as sample

ROLES = {"user": "user", "item": "item", "score": "score", "relevance": "grade"}
DISCOUNTS = {"log": lambda r: 1 / math.log2(r + 1), "late_log": lambda r: 1 / max(1, math.log2(r))}
GAINS = {None: lambda _: 1.0, "linear": lambda g: g, "exponential": lambda g: 2**g - 1}


@quality(ideal=None, bounds=(0.0, math.inf), average_over={"recommenders": "relevant"})
def gained(
    lists: ListValues,
    *,
    convention: str = "jurity",
    gain: str | None = None,
    discount: str | None = None,
    p: float = 0.8,
) -> pl.Expr:
    """Sum of the discounted gains of the hits: `ranking.dcg`, written again.

    References
    ----------
    Järvelin, Kekäläinen (2002). Cumulated Gain-Based Evaluation of IR Techniques.
    """
    del gain
    return lists.discounted(setting("discount", discount, convention), p)


@quality(in_order=True)
def squared_hits(lists: ListValues) -> pl.Expr:
    """Square of the number of hits."""
    return lists.hits() ** 2


Frames = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture
def frames() -> Frames:
    return sample(3, ties=True, clean=True)


def orders(ranked: list[tuple[float, int]], *, expected: bool) -> Iterator[list[int]]:
    """List the items of a list in its order; in all orders of equal scores if `expected`."""
    blocks = [
        sorted(item for _, item in block)
        for _, block in itertools.groupby(sorted(ranked, reverse=True), key=lambda pair: pair[0])
    ]
    each = [itertools.permutations(block) if expected else [block] for block in blocks]
    for order in itertools.product(*each):
        yield [item for block in order for item in block]


def by_hand(frames: Frames, k: int | None, convention: str, gain: str | None, ties: str) -> float:
    """Average the gains of every user's list over the users that the convention looks at."""
    recs, actual = frames
    shown: dict[int, list[tuple[float, int]]] = {}
    grades: dict[int, dict[int, float]] = {}
    for user, item, score in recs.select("user", "item", "score").iter_rows():
        shown.setdefault(user, []).append((score, item))
    for user, item, grade in actual.select("user", "item", "grade").iter_rows():
        relevant = grade is not None and grade > 0
        grades.setdefault(user, {}).update({item: grade} if relevant else {})
    over = "relevant" if convention == "recommenders" else setting("average_over", None, convention)
    empty, values = setting("empty", None, convention), []
    discount = DISCOUNTS[setting("discount", None, convention)]
    for user in {"all": {*shown, *grades}, "both": {*shown} & {*grades}}.get(over, {*grades}):
        relevant = grades.get(user, {})
        lists = [o[:k] for o in orders(shown.get(user, []), expected=ties == "expected")]
        sums = [
            sum(GAINS[gain](relevant[i]) * discount(r) for r, i in enumerate(o, 1) if i in relevant)
            for o in lists
        ]
        if relevant or empty != "drop":
            values.append(sum(sums) / len(sums) if relevant else float(empty))
    return sum(values) / len(values)


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("gain", [None, "linear", "exponential"])
@pytest.mark.parametrize("ties", ["item", "expected"])
def test_every_convention(frames: Frames, convention: str, gain: str | None, ties: Any) -> None:
    for k in (1, 4, None):
        options = {"k": k, "convention": convention, "gain": gain, "ties": ties}
        found = gained(*frames, **ROLES, **options)
        assert found == pytest.approx(by_hand(frames, k, convention, gain, ties), rel=1e-12)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_public_one_is_the_same(frames: Frames, convention: str) -> None:
    for gain in (None, "linear", "exponential"):
        options = {"k": [1, 4, None], "convention": convention, "gain": gain, "ties": "expected"}
        own, public = (m(*frames, **ROLES, **options) for m in (gained, ranking.dcg))
        assert own["gained"].to_list() == pytest.approx(public["dcg"].to_list(), rel=1e-12)


def test_groups_are_compared(frames: Frames) -> None:
    recs, actual = frames
    odd = pl.DataFrame({"user": range(20), "odd": [user % 2 for user in range(20)]})
    sides = [
        (recs.filter(pl.col("user") % 2 == i), actual.filter(pl.col("user") % 2 == i))
        for i in (1, 0)
    ]
    for gain, ties in ((None, "item"), ("linear", "expected")):
        own, other = (by_hand(side, 3, "jurity", gain, ties) for side in sides)
        more = {"users": odd, "group": "odd", "ref": 0, "gain": gain, "ties": ties, "k": 3}
        found = pf.difference(gained)(recs, actual, **ROLES, **more)
        assert found == pytest.approx(own - other)


def test_facts_are_read_at_the_metric(frames: Frames) -> None:
    assert is_linear(gained)
    assert is_graded(gained)
    assert not is_linear(squared_hits)
    assert not is_graded(squared_hits)
    with pytest.raises(ValueError, match=r"`squared_hits` does not support `ties=\"expected\"`"):
        squared_hits(*frames, ties="expected", **ROLES)
    per_user = ranking.per_user(*frames, [squared_hits, gained], k=3, **ROLES)
    assert per_user["squared_hits"].max() in (1, 4, 9)
    assert gained.bounds == (0.0, math.inf)


def test_options_are_explained() -> None:
    doc = str(gained.__doc__)
    assert doc.index("discount\n    ``log``") < doc.index("References")
    assert "gain\n    ``binary``, ``linear`` or ``exponential``" in doc
    assert "average_over\n" in str(squared_hits.__doc__)


def test_tables_and_other_metrics_are_shared(frames: Frames) -> None:
    recs, actual = frames
    found = pf.evaluate(recs, [gained, ranking.ndcg, squared_hits], actual=actual, k=4, **ROLES)
    table = ranking.lists(recs, actual, **ROLES)
    stored = pf.measure(table, [gained, ranking.ndcg, squared_hits], k=4)
    assert stored.row(0) == pytest.approx(found.row(0))
    compared = ranking.compare_conventions(recs, actual, gained, k=4, **ROLES)
    values = [by_hand(frames, 4, name, None, "item") for name in CONVENTIONS]
    assert compared["gained"].to_list() == pytest.approx(values)


def test_metrics_of_another_package_pickle_by_their_own_module() -> None:
    for metric in (gained, squared_hits):
        stored = pickle.dumps(metric)
        assert pickle.loads(stored) is metric
        assert __name__.encode() in stored
