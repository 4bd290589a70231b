"""Bad input, eager and lazy: the error says what to type, or the value is undefined.

What the schema can tell is raised at the call for both kinds of frame. What only rows can tell is
a `ValueError` at the call for eager frames and stops `collect` of lazy ones with the same words.
"""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.exceptions import ColumnNotFoundError, InvalidOperationError, SchemaError

import polarsfair as pf
from polarsfair import clustering, fairness, ranking

Make = Callable[[pl.DataFrame], pl.DataFrame | pl.LazyFrame]
BOTH = pytest.mark.parametrize(
    "make", [pl.DataFrame.clone, pl.DataFrame.lazy], ids=["eager", "lazy"]
)

ROWS = pl.DataFrame(
    {
        "sex": ["F", "F", "M", "M"],
        "race": ["x", "y", "x", "y"],
        "country": ["DE", "FR", "DE", "FR"],
        "hired": [0, 1, 1, 1],
        "fit": [1, 1, 0, 1],
        "importance": [1.0, 2.0, 1.0, 1.0],
    }
)
ROLES: dict[str, Any] = {"group": "sex", "pred": "hired", "label": "fit"}


def number(result: float | pl.DataFrame | pl.LazyFrame) -> float:
    """The one value of a result of either kind, nan where it is null."""
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    value = result.item() if isinstance(result, pl.DataFrame) else result
    return math.nan if value is None else float(value)


def refused_by_rows(call: Callable[[Any], Any], frame: pl.DataFrame, *words: str) -> None:
    """Check the two ways in which rows refuse, and that both use the same words."""
    with pytest.raises(ValueError, match=re.escape(words[0])) as eager:
        call(frame)
    query = call(frame.lazy())  # nothing has been read yet
    assert isinstance(query, pl.LazyFrame)
    with pytest.raises(InvalidOperationError) as lazy:
        query.collect()
    assert str(eager.value) in str(lazy.value).replace('\\"', '"')
    for word in words:
        assert word in str(eager.value)


# misspelt column


@BOTH
@pytest.mark.parametrize(
    ("keyword", "typed", "meant"),
    [
        ("group", "sexx", "sex"),
        ("pred", "hierd", "hired"),
        ("label", "fitt", "fit"),
        ("weight", "importanse", "importance"),
        ("by", "contry", "country"),
    ],
)
def test_misspelt_column(make: Make, keyword: str, typed: str, meant: str) -> None:
    with pytest.raises(ColumnNotFoundError) as error:
        fairness.equal_opportunity(make(ROWS), **ROLES | {keyword: typed})
    assert f"`{keyword}`" in str(error.value)
    assert repr(typed) in str(error.value)
    assert f"{keyword}={meant!r}" in str(error.value)


@BOTH
def test_misspelt_column_inside_an_expression(make: Make) -> None:
    with pytest.raises(ColumnNotFoundError, match=r"`pred`.*'scores'"):
        fairness.selection_rate(make(ROWS), pred=pl.col("scores") > 0.5)


@BOTH
def test_misspelt_part_of_an_intersection(make: Make) -> None:
    with pytest.raises(ColumnNotFoundError, match=r"group='race'"):
        fairness.stat_parity(make(ROWS), group=["sex", "rase"], pred="hired")


# missing role


@BOTH
@pytest.mark.parametrize("role", ["group", "pred", "label"])
def test_missing_role(make: Make, role: str) -> None:
    given = {name: column for name, column in ROLES.items() if name != role}
    with pytest.raises(TypeError, match=rf'`equal_opportunity`.*`{role}`.*`{role}="'):
        fairness.equal_opportunity(make(ROWS), **given)


@BOTH
def test_missing_role_of_one_metric_among_several(make: Make) -> None:
    with pytest.raises(TypeError, match=r'`base_rate`.*`label="'):
        pf.evaluate(make(ROWS), [fairness.selection_rate, fairness.base_rate], pred="hired")


@BOTH
def test_a_role_is_a_name_or_an_expression(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`pred` takes a column name or a `pl.Expr`"):
        fairness.selection_rate(make(ROWS), pred=1)


@pytest.mark.parametrize(
    "values", [ROWS["hired"], ROWS["hired"].to_list(), ROWS["hired"].to_numpy()]
)
def test_values_for_a_column_are_told_where_they_belong(values: object) -> None:
    with pytest.raises(
        TypeError, match=r'`frame.with_columns\(pl.Series\("pred", ...\)\)`'
    ) as told:
        fairness.stat_parity(ROWS, group="sex", pred=values)
    assert "\n" not in str(told.value)  # not the values themselves, which may be millions


@pytest.mark.parametrize("path", ["day.parquet", Path("day.parquet")])
def test_a_path_is_to_be_scanned(path: Any) -> None:
    with pytest.raises(TypeError, match=r"a file with `pl.scan_parquet\('day.parquet'\)`"):
        fairness.stat_parity(path, group="sex", pred="hired")


@BOTH
def test_a_slice_is_a_name_or_an_expression(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`by` takes"):
        fairness.selection_rate(make(ROWS), pred="hired", by=1)


@BOTH
def test_an_intersection_of_nothing(make: Make) -> None:
    with pytest.raises((TypeError, ValueError), match=r"`group`"):
        fairness.stat_parity(make(ROWS), group=[], pred="hired")


@BOTH
def test_misspelt_role(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`grp`"):
        fairness.stat_parity(make(ROWS), grp="sex", pred="hired")


# a pred or label that is not 0/1


@BOTH
@pytest.mark.parametrize("role", ["pred", "label"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["yes", "no"])])
def test_text_shows_the_expression_to_write(make: Make, role: str, dtype: pl.DataType) -> None:
    column = pl.Series("answer", ["yes", "no", "yes", "no"], dtype=dtype)
    with pytest.raises(TypeError) as error:
        fairness.accuracy(make(ROWS.with_columns(column)), **ROLES | {role: "answer"})
    assert f'`{role}=pl.col("answer") == ' in str(error.value)


@BOTH
@pytest.mark.parametrize("dtype", [pl.Date, pl.List(pl.Int64)])
def test_other_dtypes_are_refused_at_the_call(make: Make, dtype: pl.DataType) -> None:
    frame = ROWS.with_columns(other=pl.lit(None, dtype=dtype))
    with pytest.raises(TypeError, match=r'`pred`.*pl.col\("other"\)'):
        fairness.selection_rate(make(frame), pred="other")


@pytest.mark.parametrize("role", ["pred", "label"])
@pytest.mark.parametrize(
    "bad", [[0, 1, 2, 1], [0, 1, -1, 1], [0.0, 1.0, 0.5, 1.0], [0.0, 1.0, math.inf, 1.0]]
)
def test_values_other_than_0_and_1(role: str, bad: list[float]) -> None:
    frame = ROWS.with_columns(score=pl.Series(bad))
    refused_by_rows(
        lambda df: fairness.accuracy(df, **ROLES | {role: "score"}),
        frame,
        f"`{role}`",
        "0 and 1",
        f'`{role}=pl.col("score") {"> 0.5" if isinstance(bad[0], float) else "== 1"}`',
    )


def test_a_bad_value_is_found_in_every_row_set() -> None:
    """Wherever the row is: of unknown group, in another slice, or with weight 0."""
    frame = ROWS.with_columns(sex=pl.lit(None, pl.String), hired=pl.Series([2, 1, 1, 1]), w=0)
    for more in ({}, {"by": "country"}, {"weight": "w"}):
        refused_by_rows(
            lambda df, more=more: fairness.stat_parity(df, group="sex", pred="hired", **more),
            frame,
            "`pred`",
        )


def test_a_bad_value_stops_the_tally_too() -> None:
    frame = ROWS.with_columns(hired=pl.Series([2, 1, 1, 1]))
    refused_by_rows(lambda df: fairness.decisions(df, group="sex", pred="hired"), frame, "`pred`")


@BOTH
@pytest.mark.parametrize("dtype", [pl.Boolean, pl.Int8, pl.UInt64, pl.Float32, pl.Float64])
def test_every_numeric_dtype_with_0_and_1_will_do(make: Make, dtype: pl.DataType) -> None:
    frame = ROWS.with_columns(pl.col("hired").cast(dtype))
    assert number(fairness.stat_parity(make(frame), group="sex", pred="hired")) == 0.5


@BOTH
def test_nan_as_pred_is_null(make: Make) -> None:
    frame = ROWS.with_columns(hired=pl.Series([0.0, math.nan, 1.0, 1.0]))
    # F: 0/1, M: 2/2
    assert number(fairness.stat_parity(make(frame), group="sex", pred="hired", ref="M")) == -1.0
    assert number(fairness.selection_rate(make(frame), pred="hired")) == 2 / 3


# ref


@BOTH
@pytest.mark.parametrize(
    ("group", "ref"),
    [
        ("sex", 1),
        ("sex", True),
        ("sex", {"sex": "M"}),
        ("hired", "1"),
        (pl.col("hired") == 1, "yes"),
        (["sex", "race"], "M"),
        (["sex", "race"], {"sex": "M"}),
        (["sex", "race"], {"sex": "M", "race": 1}),
    ],
)
def test_ref_of_the_wrong_dtype(make: Make, group: Any, ref: Any) -> None:
    with pytest.raises(TypeError, match=r"`ref"):
        fairness.stat_parity(make(ROWS), group=group, pred="hired", ref=ref)


@pytest.mark.parametrize(
    "metric", [fairness.stat_parity, fairness.disparate_impact, fairness.cohen_d]
)
def test_ref_not_among_the_groups(metric: Any) -> None:
    refused_by_rows(
        lambda df: metric(df, group="sex", pred="hired", ref="X"), ROWS, "`ref='X'`", "F, M"
    )


def test_ref_not_among_the_intersections() -> None:
    refused_by_rows(
        lambda df: fairness.stat_parity(
            df, group=["sex", "race"], pred="hired", ref={"sex": "M", "race": "z"}
        ),
        ROWS,
        "`ref=",
        "not among the groups",
    )


def test_ref_not_among_the_groups_of_a_table() -> None:
    table = fairness.decisions(ROWS, group="sex", pred="hired")
    refused_by_rows(lambda t: pf.measure(t, [fairness.stat_parity], ref="X"), table, "`ref='X'`")


def test_ref_not_among_the_groups_by_class() -> None:
    refused_by_rows(
        lambda df: fairness.multiclass_stat_parity(df, group="sex", pred="hired", ref="X"),
        ROWS,
        "`ref='X'`",
    )


@BOTH
def test_ref_missing_in_one_slice_only_is_undefined_there(make: Make) -> None:
    frame = ROWS.filter(~((pl.col("sex") == "M") & (pl.col("country") == "FR")))
    result = fairness.stat_parity(make(frame), group="sex", pred="hired", ref="M", by="country")
    rows = result.lazy().collect()
    assert rows.rows() == [("DE", -1.0), ("FR", None)]


# frames with nothing to compare


@BOTH
def test_empty_frame(make: Make) -> None:
    empty = ROWS.clear()
    metrics = [fairness.stat_parity, fairness.selection_rate, fairness.theil]
    for more in ({}, {"ref": "M"}):
        assert math.isnan(number(fairness.stat_parity(make(empty), **ROLES, **more)))
        whole = pf.evaluate(make(empty), metrics, **ROLES, **({"ref": "M"} if more else {}))
        assert whole.lazy().collect().rows() == [(None, None, None)]
    sliced = fairness.stat_parity(make(empty), by="country", **ROLES).lazy().collect()
    assert sliced.shape == (0, 2)
    assert sliced.schema == {"country": pl.String, "stat_parity": pl.Float64}


@BOTH
@pytest.mark.parametrize("more", [{}, {"ref": "F"}, {"ref": pf.REST}])
def test_one_group(make: Make, more: dict[str, Any]) -> None:
    frame = ROWS.filter(pl.col("sex") == "F")
    for metric in (fairness.stat_parity, fairness.disparate_impact, fairness.equalized_odds):
        assert math.isnan(number(metric(make(frame), **ROLES, **more)))
    # Everyone is the group itself. Its false positive rate, and with it its odds, are undefined.
    roles = {**ROLES, "ref": pf.OVERALL}
    assert number(fairness.stat_parity(make(frame), **roles)) == 0.0
    assert number(fairness.disparate_impact(make(frame), **roles)) == 1.0
    assert math.isnan(number(fairness.equalized_odds(make(frame), **roles)))
    assert number(fairness.group_min(fairness.selection_rate)(make(frame), **ROLES)) == 0.5


@BOTH
@pytest.mark.parametrize("dtype", [pl.String, pl.Float64, pl.Null])
@pytest.mark.parametrize("more", [{}, {"ref": pf.OVERALL}, {"ref": pf.REST}])
def test_all_null_group(make: Make, dtype: pl.DataType, more: dict[str, Any]) -> None:
    frame = ROWS.with_columns(sex=pl.lit(None, dtype=dtype))
    assert math.isnan(number(fairness.stat_parity(make(frame), **ROLES, **more)))
    assert math.isnan(number(fairness.group_max(fairness.selection_rate)(make(frame), **ROLES)))
    assert number(fairness.selection_rate(make(frame), **ROLES)) == 0.75


@BOTH
def test_nan_group_is_unknown_not_a_group(make: Make) -> None:
    frame = ROWS.with_columns(sex=pl.Series([1.0, math.nan, None, 2.0]))
    # 1.0: 0/1 and 2.0: 1/1, the two others are in neither
    assert number(fairness.stat_parity(make(frame), group="sex", pred="hired", ref=2.0)) == -1.0
    table = fairness.decisions(make(frame), group="sex", pred="hired").lazy().collect()
    assert sorted(table["group"].unique().to_list(), key=str) == [1.0, 2.0, None]


# weights


@pytest.mark.parametrize(
    "bad",
    [
        [1, -1, 1, 1],
        [1, None, 1, 1],
        [1.0, math.nan, 1.0, 1.0],
        [1.0, math.inf, 1.0, 1.0],
        pl.Series([1, 2**63, 1, 1], dtype=pl.UInt64),
    ],
    ids=["negative", "null", "NaN", "infinite", "beyond 64 bits"],
)
def test_weights_that_are_no_weights(bad: list[float] | pl.Series) -> None:
    frame = ROWS.with_columns(w=pl.Series(bad))
    refused_by_rows(
        lambda df: fairness.stat_parity(df, group="sex", pred="hired", weight="w"),
        frame,
        "`weight`",
        "at least 0",
    )
    refused_by_rows(
        lambda df: fairness.multiclass_stat_parity(df, group="sex", pred="hired", weight="w"),
        frame,
        "`weight`",
    )
    refused_by_rows(
        lambda df: fairness.theil(df, score="hired", label="fit", weight="w"), frame, "`weight`"
    )


@BOTH
def test_zero_weights_are_no_error(make: Make) -> None:
    frame = ROWS.with_columns(w=pl.Series([0, 2, 1, 1]))
    assert number(fairness.selection_rate(make(frame), pred="hired", weight="w")) == 1.0
    nothing = ROWS.with_columns(w=0.0)
    assert math.isnan(number(fairness.selection_rate(make(nothing), pred="hired", weight="w")))


@BOTH
def test_text_as_weight(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`weight`.*cast"):
        fairness.selection_rate(make(ROWS), pred="hired", weight="country")


# slices


@BOTH
@pytest.mark.parametrize("name", ["group", "pred", "label", "weight", "n", "w", "w2"])
def test_slice_named_like_a_role_or_sum(make: Make, name: str) -> None:
    for call in (fairness.stat_parity, fairness.decisions):
        with pytest.raises(ValueError, match=rf'"{name}"|\'{name}\'.*alias'):
            call(make(ROWS), **ROLES, by=pl.col("country").alias(name))


@BOTH
def test_slice_named_like_a_metric_or_another_slice(make: Make) -> None:
    with pytest.raises(ValueError, match=r"stat_parity.*alias"):
        fairness.stat_parity(make(ROWS), **ROLES, by=pl.col("country").alias("stat_parity"))
    with pytest.raises(ValueError, match=r"country.*alias"):
        fairness.stat_parity(make(ROWS), **ROLES, by=["country", pl.col("race").alias("country")])


# options


@BOTH
def test_unknown_option(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`alpa`.*alpha"):
        fairness.generalized_entropy(make(ROWS), pred="hired", label="fit", alpa=1)
    with pytest.raises(TypeError, match=r"`alpha`"):  # a known option that this one does not take
        fairness.selection_rate(make(ROWS), pred="hired", alpha=1)
    with pytest.raises(TypeError, match=r"`ref`"):
        fairness.group_min(fairness.selection_rate)(make(ROWS), **ROLES, ref="M")
    with pytest.raises(TypeError, match=r"`treshold`"):
        pf.evaluate(make(ROWS), [fairness.selection_rate], pred="hired", treshold=1)
    with pytest.raises(TypeError, match=r"`group`|option"):
        pf.measure(make(fairness.decisions(ROWS, **ROLES)), [fairness.stat_parity], group="sex")


def test_unknown_option_of_bind() -> None:
    with pytest.raises(TypeError, match=r"`alpa`.*alpha"):
        fairness.generalized_entropy.bind(alpa=1)


@BOTH
def test_options_outside_their_values(make: Make) -> None:
    with pytest.raises(ValueError, match=r"`reduce`.*mean.*max"):
        fairness.multiclass_stat_parity(make(ROWS), **ROLES, reduce="median")
    with pytest.raises(ValueError, match=r"`unseen`.*uniform"):
        fairness.multiclass_average_odds(make(ROWS), **ROLES, unseen="zero")
    for alpha in ("two", math.nan, math.inf, [1, 2]):
        for role in ("pred", "score"):
            with pytest.raises((TypeError, ValueError), match=r"`alpha`"):
                fairness.generalized_entropy(
                    make(ROWS), **{role: "hired"}, label="fit", alpha=alpha
                )


# metrics


@BOTH
def test_a_role_that_only_one_of_two_tables_lacks(make: Make) -> None:
    with pytest.raises(TypeError, match=r'`stat_parity` needs the role `pred`: add `pred="'):
        pf.evaluate(
            make(ROWS),
            [fairness.stat_parity, fairness.generalized_entropy],
            group="sex",
            score="importance",
            label="fit",
        )


@BOTH
def test_two_columns_of_one_name(make: Make) -> None:
    with pytest.raises(ValueError, match=r"alias"):
        pf.evaluate(make(ROWS), [fairness.stat_parity, fairness.stat_parity.bind(ref="M")], **ROLES)


@BOTH
def test_metrics_are_objects(make: Make) -> None:
    with pytest.raises(TypeError, match=r"fairness.stat_parity"):
        pf.evaluate(make(ROWS), ["stat_parity"], **ROLES)
    with pytest.raises(ValueError, match=r"at least one"):
        pf.evaluate(make(ROWS), [], **ROLES)


@pytest.mark.parametrize("combine", [pf.difference, pf.ratio, pf.group_min, pf.group_max])
def test_only_rates_can_be_compared(combine: Any) -> None:
    with pytest.raises(ValueError, match=r"rate"):
        combine(fairness.stat_parity)
    with pytest.raises(ValueError, match=r"group"):  # it has a line per group already
        combine(fairness.frequency_by_class)
    compared = (fairness.abroca, fairness.theil_between, ranking.exposure_parity)
    for metric in (*compared, fairness.multiclass_stat_parity):
        with pytest.raises(ValueError, match=r"compares groups already"):
            combine(metric)
    features = {"cluster": "race", "features": "importance", "group": "sex", "pred": "hired"}
    for metric in (clustering.dunn, fairness.consistency):
        with pytest.raises(ValueError, match=r"cannot be split by group.*by="):
            combine(metric)(ROWS.lazy(), **features)
    spread = combine(clustering.davies_bouldin).bind(dispersion="mean")
    with pytest.raises(ValueError, match=r"cannot be split by group.*by="):
        spread(ROWS.lazy(), **features)


@pytest.mark.parametrize("metric", [fairness.stat_parity, fairness.theil_within, fairness.label_kl])
def test_by_group_takes_rates(metric: pf.Metric) -> None:
    with pytest.raises(ValueError, match=r"compares groups already"):
        pf.by_group(ROWS, metric, **ROLES)
    with pytest.raises(ValueError, match=r"cannot be split by group.*by="):
        pf.by_group(ROWS, fairness.consistency, **ROLES, features="importance")


# frames and tables


@pytest.mark.parametrize("thing", [{"hired": [1]}, [1, 0], None, "rows.parquet", pl.Series([1])])
def test_not_a_frame(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"frame"):
        fairness.selection_rate(thing, pred="hired")


@BOTH
def test_a_table_that_is_not_one(make: Make) -> None:
    with pytest.raises(ValueError, match=r"fairness.decisions.*'n'.*fairness.decisions\(frame"):
        pf.measure(make(ROWS.rename({"sex": "group", "hired": "pred"})), [fairness.stat_parity])


@BOTH
def test_a_table_that_lacks_a_cell(make: Make) -> None:
    table = make(fairness.decisions(ROWS, group="sex", pred="hired"))
    with pytest.raises(ValueError, match=r"`equal_opportunity`.*'label'"):
        pf.measure(table, [fairness.equal_opportunity])
    with pytest.raises(ValueError, match=r"`stat_parity`.*'group'"):
        pf.measure(make(fairness.decisions(ROWS, pred="hired")), [fairness.stat_parity])


@BOTH
def test_a_table_without_the_slice_or_alpha_asked_for(make: Make) -> None:
    table = make(fairness.decisions(ROWS, **ROLES))
    with pytest.raises(ColumnNotFoundError, match=r"`by`.*'country'"):
        pf.measure(table, [fairness.stat_parity], by="country")


def test_a_table_of_other_alphas() -> None:
    table = fairness.benefits(ROWS, score="hired", label="fit", alpha=[0, 1])
    refused_by_rows(
        lambda t: pf.measure(t, [fairness.generalized_entropy], alpha=3), table, "`alpha", "3"
    )


@BOTH
@pytest.mark.parametrize("bad", [[0.0, 1.5], [-0.1, 1.0], [0.0, math.inf]])
def test_soft_predictions_lie_between_0_and_1(make: Make, bad: list[float]) -> None:
    frame = pl.DataFrame({"s": bad, "y": [0, 1]})
    with pytest.raises((ValueError, InvalidOperationError), match=r"`score`"):
        number(fairness.theil(make(frame), score="s", label="y"))


@BOTH
def test_no_tables(make: Make) -> None:
    del make
    with pytest.raises(ValueError, match=r"at least one table"):
        pf.measure([], [fairness.stat_parity])


@BOTH
def test_an_option_that_does_not_exist_is_refused_whatever_its_value(make: Make) -> None:
    for value in (None, 1):
        with pytest.raises(
            TypeError,
            match=r"`reff` is not a role or an option of these metrics: did you mean `ref=`\?",
        ):
            fairness.stat_parity(make(ROWS), **ROLES, reff=value)


@BOTH
def test_roles_are_keywords(make: Make) -> None:
    positional: Any = fairness.stat_parity
    with pytest.raises(TypeError, match=r'by keyword, such as `group="sex"`'):
        positional(make(ROWS), "sex", "hired")


@BOTH
def test_a_group_that_is_no_column(make: Make) -> None:
    with pytest.raises(TypeError, match=r"`group` takes a column.*got 3"):
        fairness.stat_parity(make(ROWS), group=3, pred="hired")  # type: ignore[call-overload]


@BOTH
def test_an_expression_that_cannot_be_computed(make: Make) -> None:
    with pytest.raises(InvalidOperationError, match=r"the columns \['group', 'pred'\] cannot"):
        fairness.stat_parity(make(ROWS), group="sex", pred=pl.col("sex") + 1)


@BOTH
def test_texts_of_any_dtype_stack(make: Make) -> None:
    kinds = (pl.Categorical, pl.Enum(["F", "M"]), pl.String)
    rows = [ROWS.with_columns(pl.col("sex").cast(kind)) for kind in kinds]
    tables = [make(fairness.decisions(part, **ROLES)) for part in rows]
    found = pf.measure(tables, fairness.stat_parity)  # type: ignore[arg-type]
    alone = fairness.stat_parity(ROWS, group="sex", pred="hired")
    assert found.lazy().collect().item() == pytest.approx(alone)


@BOTH
def test_tables_of_other_things_are_not_added_up(make: Make) -> None:
    numbered = ROWS.with_columns(sex=pl.int_range(pl.len()))
    table, ages = (make(fairness.decisions(rows, **ROLES)) for rows in (ROWS, numbered))
    with pytest.raises(SchemaError, match=r"'group' is String in table 1 and Int64 in table 2"):
        pf.measure([table, ages], fairness.stat_parity)  # type: ignore[arg-type]
    bare = make(fairness.decisions(ROWS, group="sex", label="fit"))
    with pytest.raises(ValueError, match=r"has no column 'pred'"):
        pf.measure([table, bare], fairness.stat_parity)  # type: ignore[arg-type]


@BOTH
def test_metrics_that_are_none(make: Make) -> None:
    for wrong in ("stat_parity", ["stat_parity"], fairness):
        with pytest.raises(TypeError, match=r"takes metric objects, got .*(stat_parity|module)"):
            pf.evaluate(make(ROWS), wrong, **ROLES)  # type: ignore[arg-type]
