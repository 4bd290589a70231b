"""Surprisal and serendipity: RecTools' own examples, edges, faults, merged tables, dtypes."""

import itertools
import math
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError
from polars.testing import assert_frame_equal

import polarsfair as pf
from polarsfair import ranking

ROLES: dict[str, Any] = {"user": "user", "item": "item", "rank": "rank", "popularity": "users"}
N_USERS = "`surprisal` needs the number of users"


def popularity(history: pl.DataFrame, catalogue: list[Any] | None = None) -> pl.DataFrame:
    """Count the users of every item of the history; items without one have 0."""
    counted = history.group_by("item").agg(users=pl.col("user").n_unique().cast(pl.Int64))
    if catalogue is None:
        return counted
    return pl.DataFrame({"item": catalogue}).join(counted, on="item", how="left").fill_null(0)


# --- RecTools' examples -------------------------------------------------------------------------

MIUF_RECS = pl.DataFrame(
    {"user": [1, 2, 2, 3, 3], "item": [3, 2, 3, 1, 2], "rank": [1, 1, 2, 1, 2]}
)
MIUF_HISTORY = pl.DataFrame({"user": [1, 1, 2, 3], "item": [1, 2, 1, 1]})
"""The frames of the docstring of `rectools.metrics.MeanInvUserFreq`."""


@pytest.mark.parametrize(("k", "last"), [(1, 0.0), (3, 0.79248125)])
def test_mean_inverse_user_frequency_of_rectools(k: int, last: float) -> None:
    roles = {**ROLES, "items": popularity(MIUF_HISTORY), "n_users": 3, "normalized": False, "k": k}
    found = MIUF_RECS.pipe(ranking.surprisal, by=pl.col("user").alias("whose"), **roles)
    # RecTools prints eight digits of these.
    assert found["surprisal"].to_list() == pytest.approx([1.5849625, 1.5849625, last], abs=1e-8)
    log = math.log2(3)
    exact = [log, log, 0.0 if k == 1 else log / 2]
    assert found["surprisal"].to_list() == pytest.approx(exact, abs=1e-12)
    mean = MIUF_RECS.pipe(ranking.surprisal, **roles)
    assert mean == pytest.approx(sum(exact) / 3, abs=1e-12)
    normalized = MIUF_RECS.pipe(ranking.surprisal, **(roles | {"normalized": True}))
    assert normalized == pytest.approx(sum(exact) / 3 / log, abs=1e-12)


RECS = pl.DataFrame(
    {
        "user": ["u1", "u1", "u2", "u2", "u3", "u4", "u4"],
        "item": ["i1", "i2", "i2", "i3", "i3", "i2", "i3"],
        "rank": [1, 2, 1, 2, 1, 1, 2],
    }
)
ACTUAL = pl.DataFrame(
    {
        "user": ["u1", "u1", "u2", "u2", "u3", "u4"],
        "item": ["i1", "i2", "i2", "i3", "i2", "i2"],
    }
)
HISTORY = pl.DataFrame(
    {"user": ["u1", "u1", "u2", "u2", "u3"], "item": ["i1", "i2", "i1", "i2", "i1"]}
)
ITEMS = popularity(HISTORY, ["i1", "i2", "i3", "i4"])
"""The frames of the docstring of `rectools.metrics.Serendipity`."""


@pytest.mark.parametrize(("k", "users"), [(1, [0.0, 0.25, 0.0, 0.25]), (2, [0.0, 0.5, 0.0, 0.125])])
def test_serendipity_of_rectools(k: int, users: list[float]) -> None:
    roles = {**ROLES, "items": ITEMS, "k": k}
    per_user = ranking.per_user(RECS, ACTUAL, ranking.serendipity, **roles)
    assert per_user["serendipity"].to_list() == pytest.approx(users, abs=1e-12)
    assert RECS.pipe(ranking.serendipity, ACTUAL, **roles) == pytest.approx(sum(users) / 4, 1e-12)
    cold = {**roles, "items": ITEMS.filter(pl.col("users") > 0)}
    # An item that the catalogue lacks is as far down as one of popularity 0, but N is smaller.
    assert RECS.pipe(ranking.serendipity, ACTUAL, **cold) != pytest.approx(sum(users) / 4)


# --- against a computation by hand --------------------------------------------------------------


def drawn(seed: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Tied scores, users without recommendations, items outside of the catalogue."""
    draw = random.Random(seed)
    rows = [
        (user, item, draw.choice((0.1, 0.5, 0.9)))
        for user in range(1, 9)
        for item in draw.sample(range(9), draw.choice((1, 3, 6)))
    ]
    recs = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    pairs = [(u, i) for u in range(3, 12) for i in draw.sample(range(9), draw.choice((1, 4)))]
    actual = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    sold = [(item, draw.choice((0.0, 1.0, 4.0, 4.0, 8.0))) for item in range(7)]
    return recs, actual, pl.DataFrame(sold, schema=["item", "users"], orient="row")


def orders(ranked: list[tuple[float, int]], *, expected: bool) -> list[list[int]]:
    """List the items in their order; in all orders of equal scores if `expected`."""
    blocks: dict[float, list[int]] = {}
    for score, item in sorted(ranked, key=lambda pair: (-pair[0], pair[1])):
        blocks.setdefault(score, []).append(item)
    each = [itertools.permutations(b) if expected else [tuple(b)] for b in blocks.values()]
    return [[i for block in order for i in block] for order in itertools.product(*each)]


def by_hand(
    recs: pl.DataFrame, actual: pl.DataFrame, items: pl.DataFrame, k: int | None, ties: str
) -> float:
    sold = dict(items.rows())
    levels = sorted({value for value in sold.values() if value > 0}, reverse=True)
    size, values = len(sold), []
    relevant = set(actual.rows())
    for (user,), rows in recs.group_by("user"):
        ranked = [(score, item) for _, item, score in rows.rows()]
        found = []
        for order in orders(ranked, expected=ties == "expected"):
            first = order[:k]
            gaps = [
                max((levels.index(sold[i]) + 1 if sold.get(i, 0) else size + 1) - r, 0)
                for r, i in enumerate(first, 1)
                if (user, i) in relevant
            ]
            found.append(sum(gaps) / size / len(first))
        values.append(sum(found) / len(found))
    return sum(values) / len(values)


@pytest.mark.parametrize("ties", ["item", "expected"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_serendipity_by_hand(seed: int, ties: Any) -> None:
    recs, actual, items = drawn(seed)
    roles = {"user": "user", "item": "item", "score": "score", "popularity": "users"}
    for k in (1, 2, 4, None):
        found = recs.pipe(ranking.serendipity, actual, items=items, k=k, ties=ties, **roles)
        assert found == pytest.approx(by_hand(recs, actual, items, k, ties), rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_slices_and_counts(seed: int) -> None:
    recs, actual, items = drawn(seed)
    roles: dict[str, Any] = {"user": "user", "item": "item", "popularity": "users", "items": items}
    ordered = {**roles, "score": "score"}
    odd = pl.DataFrame({"user": range(12), "odd": [user % 2 for user in range(12)]})
    parts = [recs.filter(pl.col("user") % 2 == i) for i in (0, 1)]
    surprisal, serendipity = ranking.surprisal.bind(n_users=8), ranking.serendipity.bind(k=2)
    for metric, more in ((surprisal, {}), (serendipity, {"actual": actual})):
        each = [metric(part, **ordered, **more) for part in parts]
        given = {**ordered, **more, "users": odd}
        by_odd = pf.evaluate(recs, metric, by="odd", **given)
        of_lists = by_odd.filter(pl.col("odd").is_not_null())
        assert of_lists[metric.name].to_list() == pytest.approx(each)
        gap = pf.evaluate(recs, pf.difference(metric), group="odd", ref=0, **given)
        assert gap.item() == pytest.approx(each[1] - each[0])
        table = pf.by_group(recs, metric, group="odd", **given).filter(
            pl.col("group").is_not_null()
        )
        assert table["value"].to_list() == pytest.approx(each)
        assert table["n"].to_list() == [part["user"].n_unique() for part in parts]
    # A group of items splits the lists.
    maker = pl.when(pl.col("item") < 4).then(pl.lit("a")).otherwise(pl.lit("b")).alias("maker")
    of_makers = pf.by_group(recs.with_columns(maker), surprisal, group="maker", **roles)
    for maker_, value in of_makers.select("group", "value").iter_rows():
        alone = recs.with_columns(maker).filter(pl.col("maker") == maker_)
        assert value == pytest.approx(surprisal(alone, **roles))


def test_counts_are_the_users_averaged_over() -> None:
    recs, actual, items = drawn(4)
    roles = {"user": "user", "item": "item", "score": "score", "popularity": "users"}
    found = pf.evaluate(recs, ranking.surprisal, items=items, n_users=8, counts=True, **roles)
    assert found["surprisal_n"].item() == recs["user"].n_unique()
    found = pf.evaluate(
        recs, ranking.serendipity, actual=actual, items=items, k=[1, 3], counts=True, **roles
    )
    # Users without recommendations are in no mean, users without a relevant item are.
    assert found["serendipity_n"].to_list() == [recs["user"].n_unique()] * 2
    gone = pf.evaluate(
        recs.clear(), ranking.serendipity, actual=actual, items=items, counts=True, **roles
    )
    assert gone.row(0) == (None, 0)


def test_tables_of_parts() -> None:
    recs, actual, items = drawn(5)
    roles = {"user": "user", "item": "item", "score": "score", "popularity": "users"}
    part = pl.col("user") % 3
    finds = [
        ranking.finds(recs.filter(part == i), actual, items=items, k=[2, None], **roles)
        for i in range(3)
    ]
    whole = recs.pipe(ranking.serendipity, actual, items=items, k=[2, None], **roles)
    # The ground truth of users without recommendations in the part adds no list.
    merged = pf.measure(finds, ranking.serendipity, k=[2, None])
    assert merged["serendipity"].to_list() == pytest.approx(whole["serendipity"].to_list())
    tables = [ranking.surprises(recs.filter(part == i), items=items, **roles) for i in range(3)]
    for n_users in (8, 100):
        found = pf.measure(tables, ranking.surprisal, n_users=n_users).item()
        whole_ = recs.pipe(ranking.surprisal, items=items, n_users=n_users, **roles)
        assert found == pytest.approx(whole_)
    other = ranking.surprises(recs, items=items.with_columns(users=pl.lit(1.0)), **roles)
    with pytest.raises(ValueError, match="'largest' differs between tables"):
        pf.measure([tables[0], other], ranking.surprisal, n_users=8)
    fewer = ranking.finds(recs, actual, items=items.head(3), **roles)
    with pytest.raises(ValueError, match="'items' differs between tables"):
        pf.measure([fewer, ranking.finds(recs, actual, items=items, **roles)], ranking.serendipity)
    with pytest.raises(ValueError, match="the table has no rows for k=7"):
        pf.measure(finds, ranking.serendipity, k=7)


def test_several_depths_are_each_alone() -> None:
    recs, actual, items = drawn(6)
    roles = {"user": "user", "item": "item", "score": "score", "popularity": "users"}
    ks = [4, 1, None]
    for metric, more in (
        (ranking.surprisal, {"n_users": 8}),
        (ranking.serendipity, {"actual": actual, "ties": "optimistic"}),
    ):
        given = {"items": items, **roles, **more}
        together = pf.evaluate(recs, metric, k=ks, **given)
        alone = [pf.evaluate(recs, metric, k=k, **given).item() for k in (None, 1, 4)]
        assert together["k"].to_list() == [None, 1, 4]
        assert together[metric.name].to_list() == pytest.approx(alone, rel=1e-15)


# --- edges --------------------------------------------------------------------------------------

SHOWN = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 9]})
SOLD = pl.DataFrame({"item": [7, 8], "users": [4, 1]})
PLAIN = {"user": "user", "item": "item", "popularity": "users", "items": SOLD}


def test_surprisal_between_its_ends() -> None:
    known = SOLD.with_columns(users=pl.lit(4))
    of_known = SHOWN.filter(pl.col("item") < 9)
    assert of_known.pipe(ranking.surprisal, n_users=4, **(PLAIN | {"items": known})) == 0.0
    for nobody in (SOLD.with_columns(users=pl.lit(0)), SOLD.clear()):
        assert SHOWN.pipe(ranking.surprisal, n_users=4, **(PLAIN | {"items": nobody})) == 1.0
    assert SHOWN.pipe(ranking.surprisal, n_users=4, **PLAIN) == 0.75
    assert SHOWN.pipe(ranking.surprisal, n_users=np.int64(4), **PLAIN) == 0.75
    one = PLAIN | {"items": SOLD.with_columns(users=pl.lit(1))}
    assert math.isnan(SHOWN.pipe(ranking.surprisal, n_users=1, **one))
    assert SHOWN.pipe(ranking.surprisal, n_users=1, normalized=False, **one) == 0.0
    # Every row counts, as in `novelty`.
    again = pl.concat([SHOWN, SHOWN.head(1)])
    assert again.pipe(ranking.surprisal, n_users=4, **PLAIN) == pytest.approx((1 / 3 + 1) / 2)


def test_nothing_shown_is_undefined() -> None:
    roles = {**PLAIN, "n_users": 4}
    assert math.isnan(SHOWN.clear().pipe(ranking.surprisal, **roles))
    assert SHOWN.clear().pipe(ranking.surprisal, by=pl.lit(1).alias("d"), **roles).is_empty()
    ranked = SHOWN.with_columns(rank=pl.Series([1, 2, 1]))
    actual = SHOWN.head(1)
    given = {**ROLES, "items": SOLD}
    assert math.isnan(ranked.clear().pipe(ranking.serendipity, actual, **given))
    assert ranked.pipe(ranking.serendipity, actual.clear(), **given) == 0.0
    empty = given | {"items": SOLD.clear()}
    assert math.isnan(ranked.pipe(ranking.serendipity, actual, **empty))


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_more_users_of_an_item_than_users(*, lazy: bool) -> None:
    recs = SHOWN.lazy() if lazy else SHOWN
    words = r"`popularity` holds a value above `n_users=3`: it is the number of those users"
    error = InvalidOperationError if lazy else ValueError

    def ask(**more: Any) -> None:
        found = recs.pipe(ranking.surprisal, **{**PLAIN, "n_users": 3, **more})
        if isinstance(found, pl.LazyFrame):
            found.collect()

    with pytest.raises(error, match=words):
        ask()
    with pytest.raises(error, match=words):
        ask(by=(pl.col("user") > 1).alias("late"), k=[1, 2], score="item")
    ask(n_users=4)
    table = ranking.surprises(SHOWN, **PLAIN)
    with pytest.raises(ValueError, match=words):
        pf.measure(table, ranking.surprisal, n_users=3)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no users": ({"n_users": None}, ValueError, N_USERS),
    "no user": ({"n_users": 0}, ValueError, "a whole number from 1: got 0"),
    "a share": ({"n_users": 0.5}, ValueError, "a whole number from 1: got 0.5"),
    "too many": ({"n_users": 2**63}, ValueError, "a whole number from 1: got 9223"),
    "several": ({"n_users": [4, 8]}, ValueError, r"a whole number from 1: got \[4, 8\]"),
    "true": ({"n_users": True}, ValueError, "a whole number from 1: got True"),
    "normalized": ({"normalized": "no"}, ValueError, "`normalized` is True or False: got 'no'"),
    "no items": ({"items": None}, TypeError, "needs the role `items`"),
    "no popularity": ({"popularity": None}, TypeError, "needs the role `popularity`"),
    "text": ({"popularity": pl.col("users").cast(pl.String)}, TypeError, "pass a numeric column"),
    "column": ({"popularity": "sold"}, ColumnNotFoundError, "`popularity` names the column 'sold'"),
    "no order": ({"k": 2}, TypeError, "the order of the lists is missing"),
    "k": ({"k": 0, "score": "item"}, ValueError, "a whole number from 1"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", BAD)
def test_what_the_call_can_tell_is_refused(name: str, *, lazy: bool) -> None:
    given, error, words = BAD[name]
    recs = SHOWN.lazy() if lazy else SHOWN
    with pytest.raises(error, match=words):
        ranking.surprisal(recs, **{**PLAIN, "n_users": 4, **given})


FAULTS: dict[str, tuple[pl.DataFrame, str]] = {
    "negative": (SOLD.with_columns(users=-pl.col("users")), "`popularity` holds a value that is"),
    "null": (SOLD.with_columns(users=pl.lit(None, pl.Int64)), "`popularity` holds a value that is"),
    "nan": (SOLD.with_columns(users=pl.lit(math.nan)), "`popularity` holds a value that is not"),
    "twice": (pl.concat([SOLD, SOLD]), "`item` more than once"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_only_rows_can_tell_is_refused(name: str) -> None:
    items, words = FAULTS[name]
    ranked = SHOWN.with_columns(rank=pl.Series([1, 2, 1]))
    for metric, more in (
        (ranking.surprisal, {"n_users": 4}),
        (ranking.serendipity, {"actual": SHOWN.head(1)}),
    ):
        roles = {**ROLES, "items": items, **more}
        with pytest.raises(ValueError, match=words):
            pf.evaluate(ranked, metric, **roles)
        with pytest.raises(InvalidOperationError, match=words):
            pf.evaluate(ranked.lazy(), metric, **roles).collect()


def test_faults_of_lists() -> None:
    ranked = SHOWN.with_columns(rank=pl.Series([1, 1, 1]))
    roles = {**ROLES, "items": SOLD}
    with pytest.raises(ValueError, match="holds the same rank for several hits"):
        ranked.pipe(ranking.serendipity, SHOWN, **roles)
    with pytest.raises(ValueError, match="not a whole number from 1"):
        ranked.with_columns(rank=pl.lit(0)).pipe(ranking.serendipity, SHOWN, **roles)
    again = pl.concat([SHOWN, SHOWN]).with_row_index("rank", 1)
    with pytest.raises(ValueError, match="a list holds an item more than once"):
        again.pipe(ranking.serendipity, SHOWN, **roles, repeats="error")
    with pytest.raises(ValueError, match="`ties` is one of 'item'"):
        ranked.pipe(ranking.serendipity, SHOWN, **roles, ties="best")
    with pytest.raises(TypeError, match="needs the role `actual`"):
        ranked.pipe(ranking.serendipity, **roles)


@pytest.mark.parametrize(
    "dtype",
    [pl.Categorical(), pl.Enum(["7", "8", "9"]), pl.String(), pl.UInt64(), pl.Int8()],
    ids=str,
)
@pytest.mark.parametrize("sold", [pl.Decimal(10, 2), pl.Float32(), pl.UInt64()], ids=str)
def test_dtypes(dtype: pl.DataType, sold: pl.DataType) -> None:
    def cast(frame: pl.DataFrame) -> pl.DataFrame:
        text = frame.with_columns(pl.col("item").cast(pl.String))
        return (frame if dtype.is_integer() else text).cast({"item": dtype})

    ranked = SHOWN.with_columns(rank=pl.Series([1, 2, 1]))
    items = SOLD.cast({"users": sold})
    roles = {**ROLES, "items": cast(items)}
    found = cast(ranked).pipe(ranking.surprisal, n_users=4, **roles)
    assert found == 0.75
    plain = ranked.pipe(ranking.serendipity, SHOWN, **(roles | {"items": SOLD}))
    assert cast(ranked).pipe(ranking.serendipity, cast(SHOWN), **roles) == plain
    assert plain > 0


def test_one_call_over_all_tables() -> None:
    recs, actual, items = drawn(7)
    clicks = actual.with_columns(click=pl.col("item") % 2)
    metrics = [
        ranking.ndcg,
        ranking.dcg,
        ranking.surprisal.bind(n_users=8),
        ranking.surprisal.bind(n_users=9, normalized=False).alias("miuf"),
        ranking.serendipity,
        ranking.user_auc,
        ranking.user_auc.bind(average="users").alias("by_user"),
        ranking.intra_list_diversity,
        ranking.intra_list_diversity.bind(metric="hamming").alias("hamming"),
    ]
    roles = {"user": "user", "item": "item", "score": "score", "popularity": "users"}
    given = {**roles, "items": items, "features": ["users", pl.col("item") % 2]}
    given |= {"actual": clicks, "relevance": "click"}
    for k in (3, [1, 4]):
        together = pf.evaluate(recs.lazy(), metrics, k=k, counts=True, **given).collect()
        for metric in metrics:
            alone = pf.evaluate(recs, metric, k=k, counts=True, **given)
            assert_frame_equal(together.select(alone.columns), alone, rel_tol=1e-12, abs_tol=0)


def test_users_of_several_columns_nested_lists_and_wider_ids() -> None:
    recs, actual, items = drawn(8)
    clicks = actual.with_columns(click=pl.col("item") % 2)
    day = (pl.col("user") % 2).alias("day")
    who = pl.format("{} {}", "user", pl.col("user") % 2).alias("user")
    roles = {"item": "item", "score": "score", "popularity": "users", "relevance": "click"}
    given = {**roles, "items": items, "features": ["users"], "k": 3}
    metrics = [
        ranking.dcg,
        ranking.surprisal.bind(n_users=8),
        ranking.serendipity,
        ranking.user_auc,
        ranking.intra_list_diversity.bind(metric="hamming"),
    ]
    wanted = pf.evaluate(recs, metrics, actual=clicks, user="user", **given)
    both = {"actual": clicks.with_columns(day), "user": ["user", "day"]}
    named = {"actual": clicks.with_columns(who), "user": "user"}
    nested = recs.group_by("user", maintain_order=True).agg("item", "score")
    wide = {**given, "items": items.cast({"item": pl.UInt64}), "actual": clicks.cast(pl.Int32)}
    for found in (
        pf.evaluate(recs.with_columns(day), metrics, **both, **given),
        pf.evaluate(recs.with_columns(who), metrics, **named, **given),
        pf.evaluate(nested, metrics, actual=clicks, user="user", **given),
        pf.evaluate(recs, metrics, user="user", **wide),
    ):
        assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=0)
    vectors = items.select("item", "users", both=pl.concat_arr("users", pl.col("item") % 3.0))
    for metric in ("cosine", "hamming"):
        more = {"user": "user", "item": "item", "metric": metric, "items": vectors}
        found_, flat = (
            recs.pipe(ranking.intra_list_diversity, features=features, **more)
            for features in ("both", ["users", pl.col("item") % 3])
        )
        assert found_ == pytest.approx(flat, rel=1e-12)
