"""Names and keywords from elsewhere: what is said of them, and that nothing resolves."""

import re
import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

import polarsfair as pf
import polarsfair.namespace
from polarsfair import _aliases, clustering, fairness, ranking
from polarsfair._engine import unknown
from polarsfair._typing import FAMILIES, ROLES

DF = pl.DataFrame({"sex": ["F", "M"], "hired": [0, 1], "s": [0.2, 0.9]})

PENDING = {
    *(f"fairness.{name}" for name in "mae rmse r2 mcc cohen_kappa".split()),
    *(f"fairness.{name}" for name in "multiclass_accuracy macro_f1 macro_recall".split()),
    *(f"ranking.{name}" for name in "dcg surprisal serendipity user_auc".split()),
    *(f"clustering.{name}" for name in "pair_f1 xie_beni ball_hall matching".split()),
}
"""Metrics that other branches of this issue add: empty this set when they are merged."""


def exists(full: str) -> bool:
    family, _, name = full.partition(".")
    return name in (pf.__all__ if family == "pf" else vars(getattr(pf, family)))


def test_every_name_of_ours_exists() -> None:
    assert {full for full in _aliases.NAMES if not exists(full)} <= PENDING
    taken = {name for one in pf.metrics() for name in one.option_names}
    assert set(_aliases.KEYWORDS) <= {*ROLES, *taken, "by", "ref", "recs"}
    known = {name for names in _aliases.NAMES.values() for name in names.split()}
    assert set(_aliases.HINTS) <= known


def test_no_name_elsewhere_is_ours() -> None:
    """In the family of what it means here, a name is not found by `__getattr__`."""
    for full, names in _aliases.NAMES.items():
        family = full.partition(".")[0]
        for name in names.split():
            assert not exists(f"{family}.{name}"), (full, name)
    assert not {name for names in _aliases.KEYWORDS.values() for name in names.split()} & {
        name for name in ROLES if name not in ("predicted", "reference")
    }


@pytest.mark.parametrize("full", [full for full in _aliases.NAMES if exists(full)])
def test_every_name_elsewhere_says_ours(full: str) -> None:
    for name in _aliases.also_known_as(full):
        for module in (fairness, ranking, clustering):
            if name in vars(module):
                continue
            with pytest.raises(AttributeError) as raised:
                getattr(module, name)
            said = re.findall(r"`([\w.]+)`", str(raised.value))
            own = module.__name__.partition(".")[2]
            others = [other for other in _aliases.ours(name) if other.startswith(own)]
            homes = [f"{family}.{name}" for family in FAMILIES if name in unknown.public(family)]
            assert set(said) & {full, *others, *homes}, str(raised.value)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        (fairness, "tpr", "write `fairness.true_positive_rate`"),
        (fairness, "recall", "write `fairness.true_positive_rate`"),
        (fairness, "demographic_parity_difference", "write `fairness.stat_parity`"),
        (fairness, "EqualOpportunity", "write `fairness.equal_opportunity`"),
        (fairness, "Stat_Parity", "write `fairness.stat_parity`"),
        (fairness, "stat_partiy", "did you mean `fairness.stat_parity`?"),
        (fairness, "ndcg", "write `ranking.ndcg`"),
        (fairness, "error_rate", "(an error rate is 1 - accuracy)"),
        (fairness, "qqqq", "`pf.catalog()` lists every metric"),
        (ranking, "sensitivity", "write `fairness.true_positive_rate`"),
        (ranking, "AP", "write `ranking.map`"),
        (fairness, "ap", "write `fairness.average_precision`"),
        (clustering, "ARI", "write `clustering.adjusted_rand`"),
        (pf, "MetricFrame", "write `pf.by_group`"),
        (pf, "stat_parity", "write `fairness.stat_parity`"),
        (pf, "roc_auc_score", "write `fairness.auc`"),
    ],
)
def test_an_attribute_that_is_not_there(module: Any, name: str, said: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(module, name)
    assert str(raised.value).startswith(f"module {module.__name__!r} has no attribute {name!r}: ")
    assert said in str(raised.value)


def test_private_names_are_not_explained() -> None:
    for name in ("__path_of_nothing__", "_tpr"):
        with pytest.raises(AttributeError, match=r"has no attribute '\w+'$"):
            getattr(fairness, name)


def test_the_namespace_says_it_too() -> None:
    frame: Any = DF
    with pytest.raises(AttributeError, match=r"write `fairness\.true_positive_rate`"):
        _ = frame.fair.tpr


def test_the_catalogue_has_other_names() -> None:
    catalogue = pf.catalog()
    assert catalogue.schema["also_known_as"] == pl.List(pl.String)
    line = catalogue.row(by_predicate=pl.col("metric") == "fairness.true_positive_rate", named=True)
    assert {"tpr", "recall", "sensitivity"} <= set(line["also_known_as"])
    assert catalogue["also_known_as"].null_count() == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fairness.stat_parity(DF, sensitive_features="sex"), "write `group=`; "),
        (lambda: fairness.stat_parity(DF, group="sex", y_pred="hired"), "write `pred=`; "),
        (lambda: fairness.stat_parity(DF, group="sex", pred="hired", privileged="M"), "`ref=`; "),
        (lambda: fairness.stat_parity(DF, group="sex", prd="hired"), "did you mean `pred=`? "),
        (lambda: fairness.accuracy(DF, Y_True="hired", pred="hired"), "write `label=`; "),
        (lambda: fairness.accuracy(DF, pred="hired", label="hired", slice="sex"), "write `by=`; "),
        (
            lambda: ranking.ndcg(DF, DF, user="sex", item="hired", sample_weight="s"),
            "`weight` is its name here, and it is not taken; ",
        ),
        (lambda: ranking.ndcg(DF, DF, run=DF), "recommendations are the first frame; "),
        (lambda: ranking.ndcg(DF, DF, query_id="sex", item="hired"), "write `user=`; "),
        (lambda: clustering.silhouette(DF, cluster="sex", X=["s"]), "write `features=`; "),
        (lambda: fairness.decisions(DF, y_pred="hired"), "write `pred=`; "),
        (lambda: pf.by_group(DF, fairness.f1, group="sex", y_true="hired"), "write `label=`; "),
        (lambda: fairness.roc(DF, y_true="hired", score="s"), "of `roc`: write `label=`; "),
        (lambda: clustering.choose_k(DF, clusters="sex", X=["s"]), "write `features=`; "),
        (lambda: fairness.f1.bind(y_pred=1), "`y_pred` is not a role or an option of `f1`"),
    ],
)
def test_a_keyword_from_elsewhere_names_the_role(call: Any, said: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert said in str(raised.value)


ARRAYS = ([0, 1], [1, 0])


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (ARRAYS, "list, list"),
        (tuple(map(np.array, ARRAYS)), "ndarray, ndarray"),
        ((DF["hired"], DF["s"]), "Series, Series"),
        ((DF["hired"].to_pandas(), DF["s"].to_pandas()), "Series, Series"),
        ((DF["hired"].to_arrow(),), "Int64Array"),
        ((DF, "sex", "hired"), "DataFrame, str, str"),
        ((DF, DF), "DataFrame, DataFrame"),
        ((None,), "NoneType"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_positional_use_gets_a_message_about_the_metric(given: Any, kinds: str) -> None:
    metric: Any = fairness.stat_parity
    with pytest.raises(TypeError) as raised:
        metric(*given)
    said = str(raised.value)
    assert said.startswith("`fairness.stat_parity` takes a frame by position and columns by name")
    assert f"got {kinds}: " in said
    assert '`fairness.stat_parity(df, group="<column>", pred="<column>")`' in said
    assert ("wrap the data in `pl.DataFrame({...})`" in said) == (given[0] is not DF)


def test_positional_use_of_other_metrics() -> None:
    metric: Any = ranking.ndcg
    for given in (ARRAYS, (DF, DF, DF), (DF, [1])):
        with pytest.raises(TypeError, match=r"`ranking\.ndcg\(recs, actual, user=\"<column>\""):
            metric(*given)
    combined: Any = fairness.difference(fairness.f1)
    with pytest.raises(TypeError, match=r"`f1_difference\(df, group="):
        combined(*ARRAYS)
    shown: Any = ranking.coverage
    with pytest.raises(TypeError, match=r"`ranking\.coverage` takes"):
        shown(*ARRAYS)
    with pytest.raises(TypeError, match=r"read the file with `pl\.scan_parquet\('a\.parquet'\)`"):
        combined("a.parquet")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("accuracy", "pass the object `fairness.accuracy`, which takes `pred=`, `label=`"),
        (["demographic_parity"], "`fairness.stat_parity`, which takes `group=`, `pred=`, not a"),
        ("f1", "`fairness.f1`, which takes `pred=`, `label=` or `ranking.f1`, which takes"),
        (["stat_parti"], "pass the object `fairness.stat_parity`"),
        ("qqqq", 'pass the object `fairness.stat_parity`, not the string "stat_parity"'),
    ],
)
def test_metrics_as_text_name_the_object_and_its_roles(given: Any, said: str) -> None:
    for call in (pf.evaluate, pf.measure, fairness.thresholds):
        with pytest.raises(TypeError) as raised:
            call(DF, given)
        assert said in str(raised.value)
    reports: Any = ranking.compare_conventions
    with pytest.raises(TypeError, match="takes metric objects"):
        reports(DF, DF, "ndcg", user="sex", item="hired")


def test_names_elsewhere_are_read_when_they_are_needed() -> None:
    """Importing the package compares no names, and imports no family."""
    code = """
import sys
import polarsfair
print(sorted({name for name in sys.modules if name == "difflib" or "polarsfair.fair" in name}))
try:
    polarsfair.tpr
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "[]"
    assert second.endswith("write `fairness.true_positive_rate`")
