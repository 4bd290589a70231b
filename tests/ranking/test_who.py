"""Who and what: users of several columns, ids of several dtypes, and nested lists.

Each law is asked of every table of the family, so that a new table is asked too.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polarsfair as pf
from polarsfair import ranking
from tests._samples import SAMPLES
from tests.test_laws import ASKED, draw, equal, few, options_of
from tests.test_plans import in_memory_below_group_by, kind, nodes

if TYPE_CHECKING:
    from pathlib import Path

Frames = dict[str, pl.DataFrame]
SETS = [name for name, metrics in ASKED.items() if metrics[0].family == "ranking"]
every_set = pytest.mark.parametrize("name", SETS)

RECS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "day": ["mon", "tue", "tue", "mon", "mon", None],
        "item": [7, 8, 9, 7, 9, 7],
        "score": [0.5, 0.2, 0.9, 0.4, 0.4, 0.1],
    }
)
ACTUAL = pl.DataFrame(
    {
        "user": [1, 1, 2, 2, 4, 3],
        "day": ["mon", "tue", "mon", "tue", "mon", None],
        "item": [7, 8, 9, 7, 7, 7],
        "click": [1, 1, 0, 1, 1, 1],
    }
)
ROLES: dict[str, Any] = {"user": "user", "item": "item", "score": "score", "relevance": "click"}


def drawn(data: st.DataObject, name: str) -> tuple[Frames, dict[str, Any]]:
    """Draw the frames that a set of metrics reads, and the names of their columns."""
    rows, roles = draw(data, name)
    frames = {role: one for role, one in roles.items() if isinstance(one, pl.DataFrame)}
    return {"recs": rows, **frames}, {k: v for k, v in roles.items() if k not in frames}


def asked(name: str, frames: dict[str, Any], roles: dict[str, Any], by: str | None) -> Any:
    others = {role: frame for role, frame in frames.items() if role != "recs"}
    return pf.evaluate(frames["recs"], ASKED[name], **{**roles, **others}, by=by)


def mapped(frames: Frames, column: str, *values: pl.Expr) -> Frames:
    """Add columns to those frames that have `column`."""
    return {
        role: frame.with_columns(*values) if column in frame.columns else frame
        for role, frame in frames.items()
    }


# --- users of several columns -------------------------------------------------------------------


def test_the_laws_ask_every_table() -> None:
    tables = {ASKED[name][0].tally.name for name in SETS}
    assert tables == {name for name in SAMPLES if name.startswith("ranking.")}


@every_set
@few
@given(data=st.data())
def test_a_key_of_columns_is_their_concatenation(name: str, data: st.DataObject) -> None:
    frames, roles = drawn(data, name)
    user = pl.col("user")
    # A null part leaves a row out, as a null key does.
    parts = [(user % 2).alias("one"), pl.when(user != 4).then(user // 2).alias("two")]
    frames = mapped(frames, "user", *parts)
    frames = mapped(frames, "user", pl.format("{}/{}", "one", "two").alias("both"))
    for by in (None, "d"):
        for options in options_of(name):
            given = roles | options
            joined = asked(name, frames, given | {"user": "both"}, by)
            equal(asked(name, frames, given | {"user": ["one", pl.col("two")]}, by), joined)
    one = asked(name, frames, roles | {"user": ["user"]}, "d")
    equal(one, asked(name, frames, roles, "d"))


def concatenated(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(user=pl.format("{} {}", "user", "day"))


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    "options",
    [
        {"k": [1, None]},
        {"repeats": "drop"},
        {"repeats": "error"},
        {"plan": "window"},
        {"ties": "expected"},
        {"ties": "optimistic"},
        {"average_over": "all", "empty": 0},
        {"gain": "linear", "k": None},
    ],
    ids=str,
)
def test_sessions_under_every_option(options: dict[str, Any], *, lazy: bool) -> None:
    recs, actual = (RECS.lazy(), ACTUAL.lazy()) if lazy else (RECS, ACTUAL)
    found = ranking.ndcg(recs, actual, **ROLES | {"user": ["user", "day"]}, **options)
    wanted = ranking.ndcg(concatenated(RECS), concatenated(ACTUAL), **ROLES, **options)
    found = found.collect(engine="streaming") if isinstance(found, pl.LazyFrame) else found
    if not isinstance(wanted, pl.DataFrame):
        found = found.item() if isinstance(found, pl.DataFrame) else found
        assert found == pytest.approx(wanted, rel=1e-12)
        return
    equal(found, wanted)


def test_users_are_keyed_by_the_parts_they_have() -> None:
    user = ["user", "day"]
    of_user = pl.DataFrame({"user": [1, 2, 4], "sex": ["F", "M", "F"]})
    of_both = RECS.select("user", "day").unique().with_columns(sex=pl.col("day").str.head(1))
    roles = ROLES | {"user": user}
    every = {"F": [(1, "mon"), (1, "tue"), (4, "mon")], "M": [(2, "mon"), (2, "tue")]}
    found = ranking.recall(RECS, ACTUAL, users=of_user, by="sex", k=1, **roles)
    each = ranking.per_user(RECS, ACTUAL, ranking.recall, k=1, **roles)
    wanted = {(u, d): value for u, d, value in each.rows() if value is not None}
    for sex, value in found.rows():
        known = [wanted[key] for key in every[sex] if key in wanted]
        assert value == pytest.approx(sum(known) / len(known))
    by_both = ranking.recall(RECS, ACTUAL, users=of_both, by="sex", k=1, **roles)
    # User 4's and 2's other sessions have no row in `users`: their slice is null.
    assert by_both["sex"].to_list() == [None, "m", "t"]
    shown = ranking.overlaps(RECS, users=of_user, group="sex", user=user, item="item")
    lists = shown.filter(pl.col("item").is_null()).select("group", "lists").sort("group")
    assert lists.rows() == [("F", 2), ("M", 1)]
    twice = pl.concat([of_user, of_user])
    with pytest.raises(ValueError, match="`users` holds a `user` more than once"):
        ranking.recall(RECS, ACTUAL, users=twice, by="sex", **roles)


def test_per_user_has_a_column_per_part() -> None:
    roles = ROLES | {"user": ["user", pl.col("day").alias("when")]}
    found = ranking.per_user(RECS, ACTUAL, [ranking.recall, ranking.mrr], k=[1, 2], **roles)
    assert found.columns == ["user", "when", "k", "recall", "mrr"]
    assert found.rows() == sorted(found.rows())
    whole = concatenated(RECS), concatenated(ACTUAL)
    wanted = ranking.per_user(*whole, [ranking.recall, ranking.mrr], k=[1, 2], **ROLES)
    flat = found.select(pl.format("{} {}", "user", "when").alias("user"), "k", "recall", "mrr")
    equal(flat.sort("user", "k"), wanted.sort("user", "k"))
    sliced = ranking.per_user(RECS.lazy(), ACTUAL, ranking.recall, by="day", **ROLES)
    assert sliced.collect_schema().names() == ["day", "user", "recall"]
    with pytest.raises(ValueError, match="two columns would be called 'day'"):
        ranking.per_user(
            RECS, ACTUAL, ranking.recall, by="day", **ROLES | {"user": ["user", "day"]}
        )


def test_support_counts_sessions() -> None:
    roles = {"user": ["user", "day"], "item": "item", "relevance": "click"}
    counts = ranking.support(RECS, ACTUAL, **roles).row(0, named=True)
    assert (counts["users"], counts["with_both"], counts["with_relevant"]) == (5, 2, 4)


@pytest.mark.parametrize("call", ["metric", "per_user", "support", "table"])
def test_no_column_is_not_a_user(call: str) -> None:
    calls: dict[str, Any] = {
        "metric": lambda: ranking.ndcg(RECS.lazy(), ACTUAL, **ROLES | {"user": []}),
        "per_user": lambda: ranking.per_user(RECS, ACTUAL, ranking.ndcg, **ROLES | {"user": ()}),
        "support": lambda: ranking.support(RECS, ACTUAL, user=[], item="item"),
        "table": lambda: ranking.overlaps(RECS.lazy(), user=[], item="item"),
    }
    with pytest.raises(
        ValueError, match=r"`user` is an empty list: .* `user=\[\"user\", \"day\"\]`"
    ):
        calls[call]()


# --- ids of several dtypes ----------------------------------------------------------------------

WIDER: dict[str, list[Any]] = {
    "narrow": [pl.Int8, pl.Int32, pl.UInt16],
    "signed": [pl.Int64, pl.Int32, pl.Int128],
    "unsigned": [pl.UInt64, pl.UInt8, pl.UInt128],
    "both": [pl.UInt64, pl.Int64, pl.UInt32],
    "decimals": [pl.Decimal(20, 0), pl.Int64, pl.UInt64],
}
NAMED = pl.Categorical(pl.Categories("some"))
TEXTS: list[Any] = [pl.String, pl.Categorical, pl.Enum(list("abcdexy")), NAMED]


@every_set
@few
@given(data=st.data(), kinds=st.sampled_from(sorted(WIDER)), texts=st.permutations(TEXTS))
def test_ids_are_widened_exactly(
    name: str, data: st.DataObject, kinds: str, texts: list[Any]
) -> None:
    frames, roles = drawn(data, name)
    wholes = dict(zip(frames, data.draw(st.permutations(WIDER[kinds])), strict=False))
    other = dict(zip(frames, texts, strict=False))
    cast = {
        role: frame.with_columns(
            pl.col("^user$").cast(wholes[role]), pl.col("^(item|d)$").cast(other[role])
        )
        for role, frame in frames.items()
    }
    for by in (None, "d"):
        found = asked(name, cast, roles, by)
        if by is not None:
            found = found.with_columns(pl.col("d").cast(pl.String)).sort(
                [column for column in found.columns if column in ("d", "k")]
            )
        equal(found, asked(name, frames, roles, by))


def test_ids_beyond_64_bits_do_not_meet() -> None:
    big = pl.DataFrame({"user": [2**63 + 5], "item": [1], "score": [1.0]})
    big = big.cast({"user": pl.UInt64})
    small = pl.DataFrame({"user": [-(2**63) + 5], "item": [1]})
    roles = {"user": "user", "item": "item", "score": "score"}
    assert ranking.support(big, small, user="user", item="item")["users"].item() == 2
    assert ranking.recall(big, small, **roles) == 0
    assert ranking.recall(big, small.with_columns(user=pl.lit(2**63 + 5, pl.UInt64)), **roles) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pl.UInt128, pl.Int64),
        (pl.Int64, pl.Float64),
        (pl.Float32, pl.Float64),
        (pl.Int64, pl.String),
        (pl.Categorical, pl.UInt8),
        (pl.Decimal(9, 2), pl.Int64),
    ],
    ids=str,
)
def test_ids_that_do_not_meet_exactly_are_refused(one: Any, other: Any) -> None:
    text = [pl.String] if one == pl.Categorical else []
    recs, actual = RECS.lazy(), ACTUAL.cast({"user": other}).lazy()
    for dtype in (*text, one):
        recs = recs.cast({"user": dtype})
    with pytest.raises(TypeError, match="so nothing would match: cast one of them"):
        ranking.ndcg(recs, actual, **ROLES)


def test_slices_groups_and_catalogues_are_widened() -> None:
    recs = RECS.with_columns(n=pl.lit(3, pl.Int8))
    actual = ACTUAL.with_columns(n=pl.lit(3, pl.UInt64))
    found = ranking.recall(recs, actual, by="n", **ROLES)
    assert found.schema["n"] == pl.Int128
    assert found["recall"].item() == ranking.recall(RECS, ACTUAL, **ROLES)
    items = pl.DataFrame({"item": [7, 8, 9, 10]}, schema={"item": pl.UInt8})
    assert ranking.coverage(RECS, items=items, user="user", item="item") == 0.75
    wide = items.cast({"item": pl.UInt64}).lazy()
    assert ranking.coverage(RECS, items=wide, user="user", item="item").collect().item() == 0.75
    users = pl.DataFrame({"user": [1, 2, 3], "sex": ["F", "M", "M"]}).cast({"user": pl.Int16})
    roles = {"user": "user", "item": "item", "group": "sex"}
    assert ranking.exposure_total_variation(RECS, users=users, **roles) == pytest.approx(1 / 3)


# --- nested lists -------------------------------------------------------------------------------

PER_ITEM = {"item", "score", "click", "chance"}


def nested(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a row per user (and slice and group), with lists of what belongs to an item."""
    lists = [name for name in frame.columns if name in PER_ITEM]
    keys = [name for name in frame.columns if name not in PER_ITEM]
    return frame.group_by(keys, maintain_order=True).agg(lists)


@every_set
@few
@given(data=st.data())
def test_nested_lists_are_exploded_ones(name: str, data: st.DataObject) -> None:
    frames, roles = drawn(data, name)
    frames = {
        role: frame.filter(pl.col("item").is_not_null()) if "item" in frame.columns else frame
        for role, frame in frames.items()
    }
    folded = {r: nested(f) if r in ("recs", "actual") else f for r, f in frames.items()}
    for by in (None, "d"):
        wanted = asked(name, frames, roles, by)
        for chosen in (folded, frames | {"recs": folded["recs"]}):
            equal(asked(name, chosen, roles, by), wanted)
        lazy = asked(name, {role: frame.lazy() for role, frame in folded.items()}, roles, by)
        equal(lazy.collect(), wanted)
        equal(lazy.collect(engine="streaming"), wanted)


@pytest.mark.parametrize(
    "options", [{}, {"repeats": "drop"}, {"k": None, "gain": "linear"}], ids=str
)
def test_the_order_of_a_list_is_its_rank(options: dict[str, Any]) -> None:
    ordered = RECS.sort("user", "score", descending=[False, True])
    ranked = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
    lists = ordered.group_by("user", maintain_order=True).agg("item")
    roles = {"user": "user", "item": "item", "relevance": "click"}
    wanted = ranking.ndcg(ranked, ACTUAL, rank="rank", **roles, **options)
    assert ranking.ndcg(lists, ACTUAL, **roles, **options) == wanted
    assert ranking.exposure_ratio(
        lists, items=ITEMS, item_group="by", user="user", item="item", k=2
    ) == ranking.exposure_ratio(
        ranked, items=ITEMS, item_group="by", user="user", item="item", rank="rank", k=2
    )
    with pytest.raises(TypeError, match="the order of the lists is missing"):
        ranking.ndcg(ordered, ACTUAL, **roles)


ITEMS = pl.DataFrame({"item": [7, 8, 9], "by": ["men", "women", "women"]})


@pytest.mark.parametrize("repeats", ["once", "drop", "error"])
@pytest.mark.parametrize("k", [2, None])
def test_an_empty_list_is_a_user_without_recommendations(repeats: str, k: int | None) -> None:
    dtypes = {"user": pl.Int64, "item": pl.List(pl.Int64), "score": pl.List(pl.Float64)}
    recs = pl.DataFrame(
        {
            "user": [1, 2, 3, 8, 9, None],
            "item": [[7, 8], [], None, None, [None], [7]],
            "score": [[0.5, 0.4], [], None, [], [0.1], [0.3]],
        },
        schema=dtypes,
    )
    actual = pl.DataFrame(
        {"user": [1, 2, 4, 5], "item": [[7], [8, 9], [], None]},
        schema={"user": pl.Int64, "item": pl.List(pl.Int64)},
    )
    roles = {"user": "user", "item": "item"}
    counts = ranking.support(recs, actual, **roles).row(0, named=True)
    assert counts["users"] == 7
    assert counts["with_relevant"] == 2
    assert counts["only_recommended"] == 3
    roles |= {"score": "score"}
    found = ranking.recall(recs, actual, **roles, k=k, repeats=repeats)
    assert found == 0.5
    everyone = ranking.recall(
        recs, actual, **roles, k=k, repeats=repeats, average_over="all", empty=0
    )
    assert everyone == pytest.approx(1 / 7)
    of_both = ranking.recall(recs, actual, **roles, k=k, repeats=repeats, average_over="both")
    assert of_both == 1
    per_user = ranking.per_user(recs, actual, ranking.recall, k=k, repeats=repeats, **roles)
    assert per_user["user"].to_list() == [1, 2, 3, 4, 5, 8, 9]


def test_a_model_without_recommendations_is_a_slice() -> None:
    recs = pl.DataFrame(
        {"model": ["a", "b"], "user": [1, 1], "item": [[7], []]},
        schema={"model": pl.String, "user": pl.Int64, "item": pl.List(pl.Int64)},
    )
    found = ranking.recall(recs, ACTUAL, by="model", user="user", item="item", relevance="click")
    assert found.rows() == [("a", pytest.approx(0.5 / 4)), ("b", 0.0)]


def test_arrays_are_lists_of_one_length() -> None:
    arrays = pl.DataFrame(
        {"user": [1, 2], "item": [[7, 8], [9, 7]], "score": [[0.2, 0.4], [0.3, 0.1]]},
        schema={"user": pl.Int64, "item": pl.Array(pl.Int64, 2), "score": pl.Array(pl.Float32, 2)},
    )
    flat = arrays.explode("item", "score")
    for score in ("score", pl.col("score").arr.to_list()):
        found = ranking.ndcg(arrays, ACTUAL, **ROLES | {"score": score}, k=1)
        assert found == ranking.ndcg(flat, ACTUAL, **ROLES, k=1)
    mixed = arrays.with_columns(pl.col("item").arr.to_list())
    assert ranking.ndcg(mixed, ACTUAL, **ROLES) == ranking.ndcg(flat, ACTUAL, **ROLES)


LISTS = nested(RECS.drop("day"))
TRUTH = nested(ACTUAL.drop("day"))
UNEQUAL = "`score` and `item` are lists of different lengths in a row"


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": pl.lit(0.5)}, "`score` is Float64, one value for a whole list of items"),
        ({"score": pl.col("score").cast(pl.List(pl.String))}, "`score` holds lists of String"),
        ({"item": pl.concat_list(pl.col("item").implode())}, "`item` holds lists of List"),
    ],
    ids=["one score", "text", "lists of lists"],
)
def test_what_lists_cannot_be(change: dict[str, pl.Expr], words: str, *, lazy: bool) -> None:
    recs = LISTS.with_columns(**change)
    with pytest.raises(TypeError, match=re.escape(words)):
        ranking.ndcg(recs.lazy() if lazy else recs, TRUTH, **ROLES)


def test_one_value_for_a_whole_list_of_relevant_items() -> None:
    truth = TRUTH.with_columns(click=1, chance=0.5)
    with pytest.raises(TypeError, match="`relevance` is Int32, one value for a whole list"):
        ranking.ndcg(LISTS, truth.lazy(), **ROLES)
    with pytest.raises(TypeError, match="`propensity` is Float64, one value for a whole list"):
        ranking.ctr_ips(LISTS, TRUTH.with_columns(chance=0.5), propensity="chance", **ROLES)


@pytest.mark.parametrize("metric", [ranking.ndcg, ranking.coverage, ranking.ctr, ranking.mad])
@pytest.mark.parametrize("how", ["shorter", "null"])
def test_lists_of_unequal_length_are_refused(metric: Any, how: str) -> None:
    short = pl.col("score").list.head(1)
    scores = short if how == "shorter" else pl.when(pl.col("user") != 1).then(pl.col("score"))
    recs = LISTS.with_columns(scores, sex=pl.lit("F"))
    roles = ROLES if metric in (ranking.ndcg, ranking.ctr) else {**ROLES, "actual": None}
    given = {"user": "user", "item": "item", "score": "score"}
    group = {"group": "sex"} if metric is ranking.mad else {}
    truth = (TRUTH,) if roles is ROLES else ()
    named = ROLES if truth else given
    with pytest.raises(ValueError, match=UNEQUAL):
        metric(recs, *truth, **named, **group)
    with pytest.raises(pl.exceptions.InvalidOperationError, match=UNEQUAL):
        metric(recs.lazy(), *truth, **named, **group).collect(engine="streaming")


def test_arrays_of_other_widths_are_refused_at_the_call() -> None:
    recs = pl.LazyFrame(
        {"user": [1], "item": [[7, 8]], "score": [[0.1, 0.2, 0.3]]},
        schema={"user": pl.Int64, "item": pl.Array(pl.Int64, 2), "score": pl.Array(pl.Float64, 3)},
    )
    with pytest.raises(ValueError, match=UNEQUAL):
        ranking.ndcg(recs, TRUTH, **ROLES)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("by", [None, "d"])
def test_nested_lists_stay_on_the_streaming_engine(name: str, by: str, tmp_path: Path) -> None:
    sample = SAMPLES[ASKED[name][0].tally.name]
    frames: dict[str, Any] = {}
    folded: dict[str, Any] = {}
    for role, strategy in {"recs": sample.rows, **sample.frames}.items():
        frame = first(strategy)
        for lakes, one in ((frames, frame), (folded, nested(frame))):
            path = tmp_path / f"{role}-{len(lakes)}-{one is frame}.parquet"
            one.write_parquet(path)
            lakes[role] = pl.scan_parquet(path)
    flat, lists = (asked(name, one, sample.roles, by) for one in (frames, folded))
    found = in_memory_below_group_by(lists)
    assert Counter(map(kind, found)) == Counter(map(kind, in_memory_below_group_by(flat)))
    memory = [
        Counter(kind(label) for label in nodes(one)[0].values() if label.startswith("in-memory"))
        for one in (flat, lists)
    ]
    assert memory[0] == memory[1]


def first(strategy: st.SearchStrategy[pl.DataFrame]) -> pl.DataFrame:
    from tests._samples import empty

    return empty(strategy)


# --- columns that are not where they should be --------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize(
    ("frames", "roles", "words"),
    [
        (
            (ACTUAL, RECS),
            {},
            (
                "`score` names the column 'score', which `recs` does not have and `actual` has:"
                " recommendations come first: are the frames swapped?"
            ),
        ),
        (
            (RECS.rename({"user": "user_id"}), ACTUAL),
            {},
            (
                '`recs` does not have and `actual` has: rename its column, `recs.rename({"user_id":'
                ' "user"})`'
            ),
        ),
        (
            (RECS, ACTUAL.rename({"item": "movie"})),
            {},
            (
                "`item` names the column 'item', which `actual` does not have and `recs` has:"
                ' rename its column, `actual.rename({"...": "item"})`; it has'
            ),
        ),
        ((RECS, ACTUAL), {"user": "usr"}, "did you mean `user='user'`?"),
        ((RECS, ACTUAL), {"score": "scor"}, "did you mean `score='score'`?"),
        (
            (RECS, ACTUAL),
            {"user": ["user", "day"], "users": pl.DataFrame({"users": [1], "x": [2]}), "by": "x"},
            '`users.rename({"users": "user"})`',
        ),
        (
            (RECS, ACTUAL.drop("day")),
            {"user": ["user", "day"]},
            '`actual.rename({"...": "day"})`',
        ),
    ],
)
def test_columns_that_another_frame_has(
    frames: tuple[pl.DataFrame, pl.DataFrame], roles: dict[str, Any], words: str, *, lazy: bool
) -> None:
    recs, actual = (frame.lazy() for frame in frames) if lazy else frames
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match=re.escape(words)):
        ranking.ndcg(recs, actual, **ROLES | roles)


def test_a_catalogue_without_the_item() -> None:
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match=r"`items.rename\({\"items\": \"item\""
    ):
        ranking.coverage(RECS, items=ITEMS.rename({"item": "items"}), user="user", item="item")


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_sessions_and_nested_lists_in_a_call_of_several_tables(*, lazy: bool) -> None:
    metrics = [ranking.ndcg, ranking.coverage, ranking.ctr, ranking.inter_list_diversity]
    roles = ROLES | {"user": ["user", "day"], "k": [1, 3], "counts": True}
    wanted = pf.evaluate(
        concatenated(RECS), metrics, actual=concatenated(ACTUAL), **roles | {"user": "user"}
    )
    folded = nested(RECS), nested(ACTUAL)
    for recs, actual in ((RECS, ACTUAL), folded):
        given: Any = recs.lazy() if lazy else recs
        found = pf.evaluate(given, metrics, actual=actual, **roles)
        equal(found.collect() if lazy else found, wanted)
    assert "ndcg_n" in wanted.columns


@pytest.mark.parametrize("name", ["^x$", "*"])
@pytest.mark.parametrize("role", ["by", "group"])
def test_a_column_of_one_frame_may_be_called_like_a_pattern(name: str, role: str) -> None:
    """A name that Polars takes for a pattern is looked for in the frames like any other."""
    recs = pl.DataFrame({"u": [1, 1, 2], "i": [1, 2, 3], "s": [1, 2, 3], "plain": ["a", "b", "b"]})
    actual = pl.DataFrame({"u": [1, 2], "i": [2, 3]})
    roles: dict[str, Any] = {"user": "u", "item": "i", "score": "s", "k": 2}
    metric = ranking.recall if role == "by" else pf.difference(ranking.recall)
    wanted = pf.evaluate(recs, metric, actual=actual, **roles, **{role: "plain"})
    named = recs.rename({"plain": name})
    found = pf.evaluate(named, metric, actual=actual, **roles, **{role: name})
    assert found.rows() == wanted.rows()
