"""Every metric and tally explains itself: what it says is complete, agrees with its facts and runs.

Metrics and tallies are values, not functions, so that pytest's own search does not find them.
"""

import doctest
import importlib
import inspect
import math
import re

import polars as pl
import pytest

import polarsfair as pf
from polarsfair._engine.catalog import family_members
from polarsfair._typing import FAMILIES

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
METRICS = {
    f"{family}.{name}": metric
    for family in FAMILIES
    for name, metric in family_members(family).items()
}
TALLIES = {
    value.name: value
    for family in FAMILIES
    for value in vars(importlib.import_module(f"polarsfair.{family}")).values()
    if isinstance(value, pf.Tally)
}
EVERY = {**METRICS, **TALLIES}

NUMBER = r"-?(?:inf|\d+(?:\.\d+)?)"
RANGE = re.compile(
    rf"^Range (?P<low>{NUMBER}) to (?P<high>{NUMBER}); "
    rf"(?:a description, no ideal|"
    rf"(?:ideal (?P<ideal>{NUMBER})|no ideal); (?P<better>nearer|higher|lower) is better)"
    rf"(?:; (?P<fair_low>{NUMBER}) to (?P<fair_high>{NUMBER}) is usually accepted)?\.$",
    re.MULTILINE,
)
"""The line of a docstring that says what to expect of the value."""


def doc_of(name: str) -> str:
    return inspect.cleandoc(EVERY[name].__doc__ or "")


def sections_of(doc: str) -> list[str]:
    return re.findall(r"^(\w[\w ]*)\n-+$", doc, re.MULTILINE)


def examples_of(name: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(doc_of(name), {}, name, None, None)


def failures_of(test: doctest.DocTest) -> str:
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    return "".join(said)


def test_the_families_were_searched() -> None:
    assert list(METRICS.values()) == pf.metrics()
    assert METRICS["fairness.stat_parity"] is pf.fairness.stat_parity
    assert TALLIES["fairness.decisions"] is pf.fairness.decisions


@pytest.mark.parametrize("name", EVERY)
def test_examples_run(name: str) -> None:
    test = examples_of(name)
    assert test.examples, f"{name} shows no example"
    assert name.partition(".")[2] in test.docstring.partition("\nExamples\n")[2]
    assert not failures_of(test)


def test_a_wrong_example_is_noticed() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert "Expected:\n    3" in failures_of(wrong)


@pytest.mark.parametrize("name", EVERY)
def test_summary_is_one_line(name: str) -> None:
    summary = doc_of(name).partition("\n\n")[0]
    assert summary.endswith(".")
    assert "\n" not in summary


@pytest.mark.parametrize("name", EVERY)
def test_sections_are_there_and_in_order(name: str) -> None:
    order = ["Parameters", "Returns", "Notes", "References", "Examples"]
    found = sections_of(doc_of(name))
    assert found == [title for title in order if title in found]
    assert "Examples" in found
    assert "References" in found or name in TALLIES


@pytest.mark.parametrize("name", METRICS)
def test_formula_comes_before_the_range(name: str) -> None:
    before, _, after = doc_of(name).partition("\nRange ")
    assert re.search(r"^Formula\b", before, re.MULTILINE), f"{name} gives no formula"
    assert not sections_of(before)
    assert sections_of(after), "the range stands before all sections"


@pytest.mark.parametrize("name", METRICS)
def test_range_agrees_with_the_facts(name: str) -> None:
    (facts,) = [match.groupdict() for match in RANGE.finditer(doc_of(name))]
    metric = METRICS[name]
    assert (float(facts["low"]), float(facts["high"])) == metric.bounds
    assert (facts["ideal"] and float(facts["ideal"])) == metric.ideal
    assert {"nearer": "ideal"}.get(facts["better"], facts["better"]) == metric.better
    fair = facts["fair_low"] and (float(facts["fair_low"]), float(facts["fair_high"]))
    assert fair == metric.fair


@pytest.mark.parametrize("name", METRICS)
def test_facts_agree_with_each_other(name: str) -> None:
    metric = METRICS[name]
    low, high = metric.bounds
    assert low < high
    if metric.better is None or metric.ideal is None:
        assert (metric.ideal, metric.fair) == (None, None)
        assert metric.better != "ideal"
        return
    assert metric.ideal == {"lower": low, "higher": high}.get(metric.better, metric.ideal)
    fair_low, fair_high = metric.fair or (metric.ideal, metric.ideal)
    assert low <= fair_low <= metric.ideal <= fair_high <= high


@pytest.mark.parametrize("name", METRICS)
def test_options_are_explained(name: str) -> None:
    metric = METRICS[name]
    explained = f"{metric.__doc__} {metric.tally.__doc__}"
    for option in set(metric.option_names) - set(metric.options):
        assert re.search(rf"\b{option}\b", explained), f"{name} does not explain `{option}`"


def test_catalogue_has_a_summary_and_a_reference_for_all() -> None:
    catalogue = pf.catalog()
    assert catalogue.height == len(METRICS)
    said = pl.col("summary", "reference").str.contains(r"\w").fill_null(value=False)
    incomplete = catalogue.filter(~pl.all_horizontal(said))
    assert incomplete["metric"].to_list() == []


def test_references_are_written_alike() -> None:
    """Authors (year). Title. Venue: no ampersand between names, no stars around titles."""
    one = re.compile(r"^[^(]*\((1[89]|20)\d\d\)\. [A-Z].*\.$")
    for metric, reference in pf.catalog().select("metric", "reference").iter_rows():
        assert one.match(reference or ""), metric
        assert "*" not in reference, metric


def test_infinity_is_a_bound_that_can_be_said() -> None:
    said = RANGE.search("Range -inf to inf; ideal 0; nearer is better.")
    assert said is not None
    assert float(said["high"]) == math.inf
