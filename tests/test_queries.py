"""Every metric equals its statement in `queries/`, on every case of its family.

No orphan on either side: a metric without a statement fails, and a statement without a metric too.
"""

import pytest

import polarsfair as pf
from tests._oracle import QUERIES, Case, actual, differences, expected, path_of, views_of
from tests._samples import ready
from tests.clustering import _cases as _cases_clustering
from tests.clustering import _cases_geometry
from tests.engine import _cases_uncertain
from tests.fairness import _cases as _cases_fairness
from tests.fairness import _cases_consistency
from tests.ranking import _cases as _cases_ranking
from tests.ranking import _cases_exposure, _cases_finds, _cases_matches

CASES: dict[str, list[Case]] = {
    "fairness": _cases_fairness.CASES
    + _cases_clustering.FAIRNESS
    + _cases_geometry.FAIRNESS
    + _cases_consistency.CASES
    + _cases_uncertain.CASES,
    "ranking": _cases_ranking.CASES
    + _cases_matches.CASES
    + _cases_exposure.CASES
    + _cases_finds.CASES,
    "clustering": _cases_clustering.CASES + _cases_geometry.CASES,
}

WITHOUT_QUERY: dict[str, str] = {
    "clustering/maximum_matching": "an assignment; see test_clustering_references",
}
"""Metrics that no statement can say, with the reason: `{"family/metric": "why"}`."""

METRICS = [metric for metric in pf.metrics() if path_of(metric) not in WITHOUT_QUERY]


def cases_of(metric: pf.Metric) -> list[Case]:
    return [case for case in CASES.get(metric.family, []) if case.serves(metric)]


PAIRS = [
    pytest.param(metric, case, id=f"{path_of(metric)}-{case.name}".replace(" ", "_"))
    for metric in METRICS
    for case in cases_of(metric)
]


@pytest.mark.parametrize(("metric", "case"), PAIRS)
def test_metric_equals_query(metric: pf.Metric, case: Case) -> None:
    wrong = {}
    for options in case.requests(metric):
        ours, theirs = actual(case, metric, options), expected(case, metric, options)
        if found := differences(ours, theirs):
            wrong[str(options)] = found
    assert not wrong, f"by option, then by key: (package, statement) = {wrong}"


def test_no_orphans() -> None:
    metrics = {path_of(metric) for metric in pf.metrics()}
    files = QUERIES.rglob("*.sql")
    queries = {file.relative_to(QUERIES).with_suffix("").as_posix() for file in files}
    assert metrics - queries == set(WITHOUT_QUERY), "metrics without a statement"
    named = {query for query in queries if not query.partition("/")[2].startswith("_")}
    assert named - metrics == set(), "statements without a metric"


def test_every_shared_file_of_views_is_named() -> None:
    files = {file for file in QUERIES.rglob("*.sql") if not file.name.startswith("_")}
    named = {file.with_name(n) for file in files for n in views_of(file.read_text("utf-8"))}
    assert named == set(QUERIES.rglob("_*.sql"))


@pytest.mark.parametrize("metric", METRICS, ids=path_of)
def test_every_option_is_tried(metric: pf.Metric) -> None:
    tried = {name for case in cases_of(metric) for name in case.options}
    assert set(metric.option_names) <= tried


@pytest.mark.parametrize("metric", METRICS, ids=path_of)
def test_every_metric_has_values(metric: pf.Metric) -> None:
    """A metric that is never asked, or never defined, would agree with anything."""
    cases = cases_of(metric)[:1]
    needed = ready(metric).options
    values = {value for case in cases for value in expected(case, metric, needed).values()}
    assert len(values - {None, 0.0, 1.0}) > 2
