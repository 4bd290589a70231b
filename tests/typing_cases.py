"""What type checkers must see of the public surface; run by mypy and basedpyright, not pytest."""

from typing import assert_type

import polars as pl

import polarsfair as pf
from polarsfair import clustering, fairness, ranking
from polarsfair.fairness import mitigation

df = pl.DataFrame({"g": ["a", "b"], "p": [0, 1], "s": [0.2, 0.9], "y": [0, 1], "d": [1, 2]})
lf = df.lazy()


def cases() -> None:
    """Never called: the checkers read it."""
    # A metric called: the frame and `by` decide.
    assert_type(fairness.stat_parity(df, group="g", pred="p"), float)
    assert_type(fairness.stat_parity(df, group="g", pred="p", ref="a"), float)
    assert_type(fairness.stat_parity(df, group="g", pred="p", by="d"), pl.DataFrame)
    assert_type(fairness.stat_parity(df, group="g", pred="p", by=["d", pl.col("p")]), pl.DataFrame)
    assert_type(fairness.stat_parity(lf, group=["g", "d"], pred=pl.col("p") > 0), pl.LazyFrame)
    assert_type(fairness.stat_parity(lf, group="g", pred="p", by="d"), pl.LazyFrame)

    # A plain dictionary of columns may be passed.
    columns = {"group": "g", "pred": "p"}
    assert_type(fairness.stat_parity(lf, **columns), pl.LazyFrame)
    assert_type(pf.evaluate(lf, fairness.stat_parity, **columns), pl.LazyFrame)

    # The same through `pipe`.
    assert_type(df.pipe(fairness.stat_parity, group="g", pred="p"), float)
    assert_type(df.pipe(fairness.stat_parity, group="g", pred="p", by="d"), pl.DataFrame)
    assert_type(lf.pipe(fairness.stat_parity, group="g", pred="p"), pl.LazyFrame)

    # Bound, renamed and combined metrics keep their type.
    assert_type(
        fairness.generalized_entropy.bind(alpha=1).alias("ge1")(df, pred="p", label="y"), float
    )
    assert_type(pf.difference(fairness.f1)(df, group="g", pred="p", label="y"), float)
    assert_type(
        fairness.ratio(fairness.precision)(lf, group="g", pred="p", label="y"), pl.LazyFrame
    )

    # Tables by class are always frames.
    assert_type(fairness.stat_parity_by_class(df, group="g", pred="p"), pl.DataFrame)
    assert_type(fairness.stat_parity_by_class(lf, group="g", pred="p"), pl.LazyFrame)

    # The verbs and tallies give the kind of frame that they are given.
    assert_type(pf.evaluate(df, [fairness.stat_parity], group="g", pred="p"), pl.DataFrame)
    assert_type(pf.evaluate(lf, fairness.stat_parity, group="g", pred="p"), pl.LazyFrame)
    assert_type(pf.evaluate(lf, fairness.f1, pred="p", label="y", counts=True), pl.LazyFrame)
    assert_type(fairness.decisions(df, group="g", pred="p"), pl.DataFrame)
    assert_type(fairness.decisions(lf, group="g", pred="p"), pl.LazyFrame)
    both = [fairness.f1, fairness.auc]
    assert_type(pf.measure(fairness.decisions(df, group="g", pred="p"), fairness.f1), pl.DataFrame)
    assert_type(pf.measure([fairness.decisions(df, pred="p")], [fairness.f1]), pl.DataFrame)
    assert_type(lf.pipe(pf.measure, [fairness.f1], by="d"), pl.LazyFrame)
    assert_type(pf.measure({fairness.decisions: df, fairness.scores: [df]}, both), pl.DataFrame)
    assert_type(pf.measure({fairness.decisions: [lf], fairness.scores: lf}, both), pl.LazyFrame)
    assert_type(pf.by_group(lf, fairness.f1, group="g", pred="p", label="y"), pl.LazyFrame)
    assert_type(pf.by_group(df, [fairness.f1], group="g", ref=pf.OVERALL), pl.DataFrame)
    assert_type(pf.metrics(), list[pf.Metric])
    assert_type(pf.catalog(), pl.DataFrame)

    # Evidence is a frame, lazy if the rows or tables are.
    assert_type(pf.audit(df, group="g", pred="p"), pl.DataFrame)
    assert_type(pf.audit(lf, group=["g", "d"], pred="p", ref=pf.BEST, unit="d"), pl.LazyFrame)
    assert_type(pf.audit_table(df, group="g", shrink=True), pl.DataFrame)
    assert_type(pf.audit_table([lf, lf], group="g", metrics=fairness.f1), pl.LazyFrame)
    assert_type(pf.interval(df, fairness.f1, pred="p", label="y"), pl.DataFrame)
    assert_type(pf.interval_table([lf], [fairness.f1], method="draws"), pl.LazyFrame)

    # Frames read off a table of scores.
    assert_type(fairness.roc(df, score="s", label="y"), pl.DataFrame)
    assert_type(fairness.roc(lf, score="s", label="y", by="d"), pl.LazyFrame)
    assert_type(df.pipe(fairness.roc, score="s", label="y", bins=None), pl.DataFrame)
    assert_type(lf.pipe(fairness.roc, score="s", label="y", group="g"), pl.LazyFrame)
    assert_type(df.pipe(fairness.precision_recall, score="s", label="y"), pl.DataFrame)
    assert_type(lf.pipe(fairness.precision_recall, score="s", label="y"), pl.LazyFrame)
    assert_type(df.pipe(fairness.calibration, score="s", label="y"), pl.DataFrame)
    assert_type(lf.pipe(fairness.calibration, score="s", calibration_bins=5), pl.LazyFrame)
    assert_type(df.pipe(fairness.thresholds, [fairness.f1], score="s", label="y"), pl.DataFrame)
    assert_type(lf.pipe(fairness.thresholds, metrics=fairness.f1, score="s"), pl.LazyFrame)
    assert_type(fairness.thresholds(df, fairness.stat_parity, score="s", ref="a"), pl.DataFrame)

    # A repair transforms a frame into one of its kind.
    goal = mitigation.EqualizedOdds()
    fair = goal.fit(df, label="y", pred="p", group="g")
    assert_type(fair, mitigation.Mitigation)
    assert_type(fair.rates, pl.DataFrame)
    assert_type(fair.transform(df, key="d"), pl.DataFrame)
    assert_type(lf.pipe(fair.transform, key="d"), pl.LazyFrame)
    assert_type(fair.transform(lf, key="d", name="repaired"), pl.LazyFrame)
    assert_type(fairness.r2(df, pred="p", label="y"), float)
    disparity = fairness.conditional_demographic_disparity
    assert_type(disparity(lf, group="g", label="y", strata="d", ref="a"), pl.LazyFrame)
    assert_type(clustering.matching(df, cluster="d", label="y"), pl.DataFrame)
    assert_type(clustering.matching(lf, cluster="d", label="y", by="g"), pl.LazyFrame)
    chances: dict[str, str | pl.Expr] = {"a": "s", "b": 1 - pl.col("s")}
    assert_type(fairness.stat_parity(df, group=chances, pred="p"), float)
    assert_type(
        lf.pipe(fairness.surrogate_rates, surrogate="d", group=chances, pred="p"), pl.LazyFrame
    )
    assert_type(df.pipe(fairness.consistency, pred="p", features=["s"]), float)
    assert_type(df.pipe(fairness.consistency_estimate, pred="p", features=["s"]), pl.DataFrame)

    # Reports on lists are lazy if one of their two frames is.
    recs, actual = df.rename({"s": "score"}), df.select("d", "g")
    assert_type(ranking.per_user(recs, actual, ranking.ndcg, user="d", item="g"), pl.DataFrame)
    assert_type(ranking.per_user(recs, actual.lazy(), [ranking.ndcg], user="d"), pl.LazyFrame)
    assert_type(lf.pipe(ranking.per_user, actual, ranking.ndcg, user="d", k=[1, 2]), pl.LazyFrame)
    assert_type(ranking.support(recs, actual, user="d", item="g", by="p"), pl.DataFrame)
    assert_type(ranking.support(recs.lazy(), actual, user="d", item="g"), pl.LazyFrame)
    assert_type(recs.pipe(ranking.support, actual, user="d", item="g"), pl.DataFrame)
    assert_type(ranking.compare_conventions(recs, actual, ranking.map, k=2, user="d"), pl.DataFrame)
    assert_type(ranking.compare_conventions(recs, actual.lazy(), ranking.map), pl.LazyFrame)
    assert_type(ranking.ndcg(recs, actual, user="d", item="g", score="score"), float)
    assert_type(ranking.ndcg(recs, actual, user="d", item="g", k=[1, 5]), pl.DataFrame)
    assert_type(ranking.ndcg(recs, actual.lazy(), user="d", item="g"), pl.LazyFrame)
    sessions: list[str | pl.Expr] = ["d", pl.col("g")]
    assert_type(ranking.ndcg(recs, actual, user=sessions, item="g", score="score"), float)
    assert_type(ranking.ndcg(recs, actual, user=["d", "g"], item="g", score="score"), float)
    assert_type(recs.pipe(ranking.coverage, user=("d", "g"), item="g"), float)
    assert_type(ranking.overlaps(recs, user=["d", "g"], item="g"), pl.DataFrame)
    assert_type(ranking.per_user(recs, actual, ranking.ndcg, user=["d", "g"]), pl.DataFrame)
    assert_type(ranking.support(recs, actual, user=["d", "g"], item="g"), pl.DataFrame)
    assert_type(ranking.scan_run("model.run"), pl.LazyFrame)
    assert_type(ranking.scan_qrels(["a.qrels", "b.qrels"]), pl.LazyFrame)

    # Evidence.
    assert_type(pf.ledger(df, group="g", pred="p", by="d"), pl.DataFrame)
    assert_type(pf.ledger(lf, **columns), pl.LazyFrame)
    assert_type(pf.ledger_table([df, df], group=["g"], by="d"), pl.DataFrame)
    assert_type(pf.ledger_table({fairness.decisions: lf}, group="g"), pl.LazyFrame)
    assert_type(df.pipe(pf.parity_test, fairness.f1, group="g", strata="d", pred="p"), pl.DataFrame)
    assert_type(pf.parity_test(lf, [fairness.precision], group="g", method="exact"), pl.LazyFrame)
    assert_type(pf.compare(df, fairness.f1, pred="p", other="s", label="y"), pl.DataFrame)
    assert_type(pf.compare(lf, [fairness.f1], pred="p", other=pl.col("s") > 0), pl.LazyFrame)
    assert_type(pf.compare(recs, ranking.ndcg, other=recs, actual=actual, k=[1, 2]), pl.DataFrame)
    assert_type(pf.compare(recs, ranking.ndcg, other=recs.lazy(), actual=actual), pl.LazyFrame)


def mistakes() -> None:
    """Never called either: each line is an error, and a checker complains if it is not."""
    fairness.stat_parity(df, groop="g")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    df.pipe(fairness.stat_parity, groop="g")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    lf.pipe(fairness.stat_parity, group="g", bye="d")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    pf.evaluate(df, [fairness.stat_parity], groop="g", pred="p")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.evaluate(lf, fairness.stat_parity, group="g", predd="p")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.by_group(df, fairness.f1, group="g", labell="y")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.measure(df, fairness.f1, rref="a")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    fairness.decisions(df, groop="g")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    clustering.purity(df, clusters="d", label="y")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    clustering.silhouette(df, cluster="d", feature=["s"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ranking.ndcg(df, df, usr="d", item="p", score="s")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    df.pipe(ranking.coverage, user="d", itm="p")  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue]
    ranking.per_user(df, df, ranking.ndcg, user="d", itm="p")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ranking.support(df, df, user="d", item="p", relevence="y")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ranking.compare_conventions(df, df, ranking.ndcg, usr="d")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    ranking.ndcg(df, df, user=[1, 2], item="p")  # type: ignore[list-item]  # pyright: ignore[reportCallIssue, reportArgumentType]
    fairness.stat_parity_by_class(lf, groop="g", pred="p")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    fairness.stat_parity(df, group="g", pred=3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    pf.ledger(df, groop="g")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.parity_test(df, fairness.f1, group="g", method="fisher")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    pf.compare(df, fairness.f1, pred="p", label="y")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    pf.compare(df, fairness.f1, pred="p", other="s", adjust="no")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
