"""What the command line can be asked, and that it tells so: frames, groups, names, completion."""

import inspect
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rich.console import Console

import polarsfair as pf
from polarsfair import cli, clustering, fairness, ranking
from polarsfair._cli import show
from polarsfair._cli._typed import completion, functions, names
from polarsfair._typing import FAMILIES, ROLES

Run = Callable[..., tuple[int, str, str]]

PEOPLE = pl.DataFrame(
    {
        "sex": ["F", "F", "F", "M", "M", "M", None],
        "age": [1, 2, 2, 1, 1, 2, 1],
        "p": [0, 1, 0, 1, 1, 1, 0],
        "y": [1, 1, 0, 1, 0, 1, 1],
        "s": [0.25, 0.75, 0.5, 1.0, 0.75, 0.5, 0.0],
    }
)
RECS = pl.DataFrame({"u": [1, 1, 2, 3], "i": [7, 8, 7, 9], "s": [0.9, 0.4, 0.3, 0.2]})
ACTUAL = pl.DataFrame({"u": [1, 2, 4], "i": [8, 7, 9], "r": [1, 0, 1]})
POINTS = pl.DataFrame(
    {"a": [1, 1, 2, 2], "b": [1, 1, 1, 2], "x": [0.0, 1, 5, 7], "y": [0.0, 0, 5, 6]}
)
PLAIN = ("--group", "sex", "--pred", "p")
LISTS = ("--actual", "{actual}", "--user", "u", "--item", "i", "--score", "s")
LIST_ROLES: dict[str, Any] = {"user": "u", "item": "i", "score": "s"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    frames = {"people": PEOPLE, "recs": RECS, "actual": ACTUAL, "points": POINTS}
    paths = {name: tmp_path / f"{name}.parquet" for name in frames}
    for name, frame in frames.items():
        frame.write_parquet(paths[name])
    return {**paths, "out": tmp_path / "out.parquet"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], files: dict[str, Path]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument).format(**files) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def values(run: Run, files: dict[str, Path]) -> Callable[..., pl.DataFrame]:
    def call(*arguments: object) -> pl.DataFrame:
        assert run(*arguments, "--out", "{out}", "--overwrite") == (0, "", "")
        return pl.read_parquet(files["out"])

    return call


# roles


def test_every_role_is_a_flag_with_help() -> None:
    for command in ("evaluate", "by-group", "frame", "tally"):
        assert {f"--{role.replace('_', '-')}" for role in ROLES} <= cli.flags_of(command)
    assert not {"--group", "--role"} & (cli.flags_of("measure") - {"--role"})


def test_help_shows_roles_apart(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    out = run("evaluate", "--help")[1]
    assert "Roles" in out
    assert "--item-group" in out
    assert "--role " not in out
    out = run("frame", "--help")[1]
    assert "Columns of clustering.choose_k, clustering.gap" in out
    assert "ranking.support" in out


@pytest.mark.parametrize("spelt", ["--item-group", "--item_group"])
def test_hyphens_and_underscores_are_one_flag(
    values: Callable[..., pl.DataFrame], tmp_path: Path, spelt: str
) -> None:
    items = pl.DataFrame({"i": [7, 8, 9], "maker": ["a", "b", "b"]})
    items.write_parquet(tmp_path / "items.parquet")
    asked = ("--user", "u", "--item", "i", "--score", "s", "--items", tmp_path / "items.parquet")
    found = values("evaluate", "{recs}", "--metrics", "exposure_parity", *asked, spelt, "maker")
    roles = {**LIST_ROLES, "item_group": "maker"}
    expected = ranking.exposure_parity(RECS, items=items, **roles)
    assert found.item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            ("evaluate", "{people}", "--metrics", "selection_rate", *PLAIN),
            (
                "`--group` is not read by selection_rate: leave it out, or write"
                " `polarsfair by-group LAKE --metrics selection_rate --group sex`"
            ),
        ),
        (
            ("evaluate", "{people}", "--metrics", "stat_parity", *PLAIN, "--label", "y"),
            "`--label` is not read by stat_parity: leave it out",
        ),
        (
            ("evaluate", "{recs}", "--metrics", "ndcg,map", *LISTS, "--strata", "s"),
            "`--strata` is not read by ndcg,map",
        ),
        (("by-group", "{people}", "--metrics", "selection_rate", *PLAIN, "--score", "s"), "--sc"),
        (("by-group", "{people}", "--metrics", "selection_rate", "--pred", "p"), "--group COLUMN"),
        (("by-group", "{people}", "--metrics", "stat_parity", *PLAIN), "stat_parity"),
        (("tally", "{people}", *PLAIN, "--score", "s"), "not read by tables of fairness.decisions"),
        (("frame", "roc", "{people}", "--score", "s", "--user", "sex"), "not read by fairness.roc"),
        (("frame", "support", "{recs}", *LISTS), "`--score` is not read by ranking.support"),
        (
            ("frame", "per_user", "{recs}", "--metrics", "ndcg", *LISTS, "--weight", "s"),
            "`--weight` is not read by ranking.per_user",
        ),
    ],
)
def test_every_role_flag_is_read(run: Run, typed: tuple[str, ...], said: str) -> None:
    code, out, err = run(*typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_role_may_be_read_by_one_metric_of_many(values: Callable[..., pl.DataFrame]) -> None:
    asked = ("--metrics", "stat_parity,fairness.auc", *PLAIN, "--score", "s", "--label", "y")
    found = values("evaluate", "{people}", *asked)
    roles = {"group": "sex", "pred": "p", "score": "s", "label": "y"}
    assert_frame_equal(found, pf.evaluate(PEOPLE, [fairness.stat_parity, fairness.auc], **roles))


@pytest.mark.parametrize(("typed", "k"), [("2", 2), ("1,2", [1, 2]), ("1,all", [1, None])])
def test_depths(values: Callable[..., pl.DataFrame], typed: str, k: Any) -> None:
    found = values("evaluate", "{recs}", "--metrics", "ndcg,hit_rate", *LISTS, "-k", typed)
    metrics = [ranking.ndcg, ranking.hit_rate]
    assert_frame_equal(found, pf.evaluate(RECS, metrics, actual=ACTUAL, k=k, **LIST_ROLES))


# by-group


def test_by_group(values: Callable[..., pl.DataFrame]) -> None:
    asked = ("--metrics", "selection_rate,precision", *PLAIN, "--label", "y", "--by", "age")
    found = values("by-group", "{people}", *asked, "--ref", "overall")
    expected = pf.by_group(
        PEOPLE,
        [fairness.selection_rate, fairness.precision],
        group="sex",
        pred="p",
        label="y",
        by="age",
        ref=pf.OVERALL,
    )
    assert_frame_equal(found, expected)


# functions that return a frame

FRAMES: list[tuple[tuple[str, ...], pl.DataFrame]] = [
    (
        ("roc", "{people}", "--score", "s", "--label", "y", "--group", "sex", "--option", "bins=4"),
        fairness.roc(PEOPLE, score="s", label="y", group="sex", bins=4),
    ),
    (
        ("fairness.calibration", "{people}", "--score", "s", "--label", "y", "--by", "age"),
        fairness.calibration(PEOPLE, score="s", label="y", by="age"),
    ),
    (
        ("thresholds", "{people}", "--metrics", "f1", "--score", "s", "--label", "y"),
        fairness.thresholds(PEOPLE, fairness.f1, score="s", label="y"),
    ),
    (
        (
            *("thresholds", "{people}", "--metrics", "stat_parity", "--score", "s", "--group"),
            *("sex", "--ref", "M", "--option", "at=[0.5]"),
        ),
        fairness.thresholds(
            PEOPLE, fairness.stat_parity, score="s", group="sex", ref="M", at=[0.5]
        ),
    ),
    (
        ("support", "{recs}", "--actual", "{actual}", "--user", "u", "--item", "i"),
        ranking.support(RECS, ACTUAL, user="u", item="i"),
    ),
    (
        ("per_user", "{recs}", "--metrics", "ndcg,precision", *LISTS, "-k", "1,2"),
        ranking.per_user(RECS, ACTUAL, [ranking.ndcg, ranking.precision], k=[1, 2], **LIST_ROLES),
    ),
    (
        ("compare_conventions", "{recs}", "--metrics", "map", *LISTS, "-k", "2"),
        ranking.compare_conventions(RECS, ACTUAL, ranking.map, k=2, **LIST_ROLES),
    ),
    (
        ("choose_k", "{points}", "--clusters", "a,b", "--features", "x,y"),
        clustering.choose_k(POINTS, clusters=["a", "b"], features=["x", "y"]),
    ),
    (
        (
            "stability",
            "{points}",
            "--clusters",
            "a",
            "--clusters",
            "b",
            "--option",
            "agreement=nmi",
        ),
        pl.DataFrame(
            {
                "stability": clustering.stability(
                    POINTS, clusters=["a", "b"], agreement=clustering.nmi
                )
            }
        ),
    ),
    (
        ("pair_counts", "{points}", "--cluster", "a", "--label", "b"),
        clustering.pair_counts(POINTS, cluster="a", label="b"),
    ),
    (
        ("silhouette_samples", "{points}", "--cluster", "a", "--features", "x,y"),
        clustering.silhouette_samples(POINTS, cluster="a", features=["x", "y"]),
    ),
]


@pytest.mark.parametrize(
    ("typed", "expected"), FRAMES, ids=lambda x: x[0] if isinstance(x, tuple) else ""
)
def test_a_frame_is_what_the_function_returns(
    values: Callable[..., pl.DataFrame], typed: tuple[str, ...], expected: pl.DataFrame
) -> None:
    found = values("frame", *typed)
    assert_frame_equal(found, expected, check_row_order="threshold" in expected.columns)


def test_every_function_that_gives_a_frame_is_found() -> None:
    found = functions.functions()
    asked = {name.partition(".")[2] for name in found}
    assert {"cluster_shares", "gap", "hopkins", "precision_recall", "surrogate_rates"} <= asked
    for family in FAMILIES:
        for name, member in vars(getattr(pf, family)).items():
            if inspect.isfunction(member) and "Frame" in str(
                inspect.signature(member).return_annotation
            ):
                first = next(iter(inspect.signature(member).parameters))
                assert (f"{family}.{name}" in found) == (first in ("frame", "recs")), name
    for one in found.values():
        assert all(said for said in one.annotations.values())
        assert {*one.needed} <= {*one.annotations}


def test_every_parameter_of_a_function_has_a_flag() -> None:
    for one in functions.functions().values():
        flags = {f"--{name.replace('_', '-')}" for name in one.columns}
        assert flags <= cli.flags_of("frame"), one.name


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("rocc", "{people}"), "no function called 'rocc' returns a frame: did you mean 'roc'?"),
        (("elbow", "{points}"), "did you mean 'clustering.choose_k'?"),
        (("ndcg", "{recs}"), "no function called 'ndcg' returns a frame: "),
        (("choose_k", "{points}", "--features", "x"), "`clustering.choose_k` needs `--clusters C"),
        (("support", "{recs}", "--user", "u", "--item", "i"), "needs `--actual LAKE`"),
        (
            ("thresholds", "{people}", "--score", "s"),
            "`fairness.thresholds` needs `--metrics NAME`",
        ),
        (
            ("roc", "{people}", "--option", "binz=3"),
            "takes no `binz`: did you mean `--option bins=",
        ),
        (("roc", "{people}", "--metrics", "f1"), "`fairness.roc` takes no `metrics`: "),
        (("roc", "{people}", "-k", "3"), "`fairness.roc` takes no `k`: "),
        (
            ("surrogate_rates", "{people}", "--pred", "p", "--by", "age"),
            "`fairness.surrogate_rates`",
        ),
        (("roc", "{people}", "--clusters", "age"), "`--clusters` is not read by fairness.roc"),
        (("roc", "{people}", "--score", "s", "--label", "y", "--out", "{recs}"), "recs.parquet"),
    ],
)
def test_frames_that_cannot_be_made(run: Run, typed: tuple[str, ...], said: str) -> None:
    code, out, err = run("frame", *typed)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


# a name that several families have


@pytest.mark.parametrize(
    ("roles", "family"),
    [
        (("pred", "label"), "fairness"),
        (("pred", "label", "group"), "fairness"),
        (("user", "item", "actual", "score"), "ranking"),
        (("user", "item"), "ranking"),
        (("label",), "fairness"),
        ((), None),
        (("pred", "label", "user", "item", "actual"), None),
    ],
)
def test_a_bare_name_is_of_the_family_whose_roles_are_given(
    roles: tuple[str, ...], family: str | None
) -> None:
    given = {key: ["x"] for key in roles}
    for text in ("f1", "precision", "difference(f1)"):
        if family is None:
            with pytest.raises(ValueError, match="several families have a metric called"):
                names.metric(text, names.by_roles(given))
        else:
            assert names.metric(text, names.by_roles(given)).family == family


def test_bare_names_in_commands(run: Run, files: dict[str, Path]) -> None:
    people = ("evaluate", "{people}", "--metrics", "f1,precision", "--pred", "p", "--label", "y")
    assert f"{fairness.f1(PEOPLE, pred='p', label='y'):.4f}" in run(*people)[1]
    lists = ("evaluate", "{recs}", "--metrics", "precision,auc", *LISTS, "--relevance", "r")
    assert f"{ranking.precision(RECS, ACTUAL, relevance='r', **LIST_ROLES):.4f}" in run(*lists)[1]
    auc = ("evaluate", "{people}", "--metrics", "auc", "--score", "s", "--label", "y")
    assert f"{fairness.auc(PEOPLE, score='s', label='y'):.4f}" in run(*auc)[1]
    grouped = ("by-group", "{people}", "--metrics", "precision", *PLAIN, "--label", "y")
    assert run(*grouped)[0] == 0
    fairness.decisions(
        PEOPLE, **dict(zip(("group", "pred", "label"), "sex p y".split(), strict=True))
    )
    table = fairness.decisions(PEOPLE, pred="p", label="y")
    table.write_parquet(files["out"])
    code, out, _ = run("measure", "{out}", "--metrics", "f1,precision")
    assert code == 0
    assert f"{pf.measure(table, fairness.f1).item():.4f}" in out
    ranking.lists(RECS, ACTUAL, user="u", item="i", score="s").write_parquet(files["out"])
    assert run("measure", "{out}", "--metrics", "f1,precision")[0] == 0


# measure: several tallies


def test_tables_of_several_tallies(run: Run, files: dict[str, Path]) -> None:
    roles: dict[str, Any] = {"group": "sex", "label": "y"}
    tables = {
        fairness.decisions: fairness.decisions(PEOPLE, pred="p", **roles),
        fairness.scores: fairness.scores(PEOPLE, score="s", **roles),
    }
    where = files["out"].parent / "tables"
    where.mkdir()
    for tally, table in tables.items():
        table.head(2).write_parquet(where / f"{tally.name}-1.parquet")
        table.slice(2).write_parquet(where / f"{tally.name}-2.parquet")
    typed = [f"{tally.name}={where}/{tally.name}-*.parquet" for tally in tables]
    asked = ("--metrics", "stat_parity,auc,f1", "--ref", "M")
    code, out, err = run("measure", *typed, *asked)
    expected = pf.evaluate(
        PEOPLE,
        [fairness.stat_parity, fairness.auc, fairness.f1],
        pred="p",
        score="s",
        ref="M",
        **roles,
    )
    assert (code, err.count("no record of")) == (0, 2)
    assert all(f"{value:.4f}" in out for value in expected.row(0))
    paths = [f"{where}/{tally.name}-1.parquet" for tally in tables]
    for tables_typed, said in [
        ([typed[0], paths[1]], "has no tally and others have: write `fairness.decisions="),
        ([f"fairness.score={paths[1]}"], "there is no tally called 'fairness.score'"),
        ([f"{typed[0]}", f"fairness.scores={paths[0]}"], "fairness"),
        ([f"fairness.scores={where}/none.parquet"], "is not a file or a directory"),
    ]:
        code, _, err = run("measure", *tables_typed, *asked)
        assert (code, said in err) == (2, True), err
    code, _, err = run("measure", *typed, "--metrics", "stat_parity")
    assert code == 2
    assert "no metric reads the table of `fairness.scores`" in err


# captions and verdicts


def test_averages_over_different_users_are_said(run: Run) -> None:
    asked = ("evaluate", "{recs}", "--metrics", "ndcg,precision,coverage", *LISTS)
    counts = pf.evaluate(
        RECS, [ranking.ndcg, ranking.precision], counts=True, actual=ACTUAL, **LIST_ROLES
    )
    ndcg, precision = counts["ndcg_n"].item(), counts["precision_n"].item()
    assert ndcg != precision
    for more in ((), ("-k", "1,2"), ("--by", "1 AS one")):
        code, out, err = run(*asked, *more)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == (
            f"averages over different numbers of users (ndcg {ndcg}, precision {precision}):"
            " `--option average_over=relevant` makes them one"
        )
        assert "_n" not in out
    assert "averages" not in run(*asked, "--option", "average_over=relevant")[1]
    assert "averages" not in run("evaluate", "{recs}", "--metrics", "ndcg,recall", *LISTS)[1]


def test_out_has_no_counts(values: Callable[..., pl.DataFrame]) -> None:
    found = values("evaluate", "{recs}", "--metrics", "ndcg,precision", *LISTS)
    assert found.columns == ["ndcg", "precision"]


@pytest.mark.parametrize(
    ("ref", "judged"), [("M", True), ("overall", False), ("rest", False), ("sex=M", True)]
)
def test_no_verdict_where_groups_are_not_paired(run: Run, ref: str, *, judged: bool) -> None:
    asked = ("evaluate", "{people}", "--metrics", "stat_parity,consistency", *PLAIN)
    asked = ("evaluate", "{people}", "--metrics", "stat_parity,four_fifths", *PLAIN)
    out = run(*asked, "--ref", ref)[1]
    assert ("-0.1 to 0.1" in out) == judged
    assert ("outside" in out or "within" in out) or not judged
    wide = Console(force_terminal=True, width=120, record=True, file=io.StringIO())
    rows = pf.evaluate(PEOPLE, fairness.stat_parity, group="sex", pred="p", by="age")
    wide.print(show.values(rows, [fairness.stat_parity], judged=[]).drawn())
    assert "\x1b[1;31m" not in wide.export_text(styles=True)


# searching


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("ndcg", "ranking.ndcg: roles actual, user, item;"),
        ("tpr", "'tpr' is fairness.true_positive_rate here.\n\nfairness.true_positive_rate: roles"),
        ("error_rate", "'error_rate' is fairness.accuracy here (an error rate is 1 - accuracy)."),
        ("ClusteringEvaluator", "'ClusteringEvaluator' is clustering.silhouette here."),
        ("roc_curve", "Compute the ROC curve of every group"),
        ("four-fifths", "'four-fifths' is fairness.four_fifths here."),
    ],
)
def test_a_name_is_explained(run: Run, word: str, first: str) -> None:
    code, out, err = run("metrics", word)
    assert (code, err) == (0, "")
    assert out.startswith(first)


@pytest.mark.parametrize(
    ("word", "found", "others"),
    [
        ("f1", ["fairness.f1", "ranking.f1"], ["fairness.precision"]),
        ("clustering", ["clustering.purity", "clustering.choose_k"], ["fairness.f1"]),
        ("demographic", ["fairness.stat_parity", "fairness.disparate_impact"], ["ranking.ndcg"]),
        ("ROC curve", ["fairness.roc", "fairness.auc"], ["fairness.precision"]),
        ("hit_ratio", ["ranking.hit_rate", "fairness.selection_rate"], ["ranking.map"]),
    ],
)
def test_a_word_is_searched_for(run: Run, word: str, found: list[str], others: list[str]) -> None:
    code, out, err = run("metrics", word)
    assert (code, err) == (0, "")
    listed = [line.split()[0] for line in out.splitlines()]
    assert {*found} <= {*listed}
    assert not {*others} & {*listed}


def test_the_family_is_listed_whole(run: Run, tmp_path: Path) -> None:
    for family in FAMILIES:
        out = tmp_path / f"{family}.json"
        assert run("metrics", family, "--out", out) == (0, "", "")
        listed = set(pl.read_json(out)["metric"])
        known = set(pf.catalog().filter(family=family)["metric"])
        assert listed == known | {n for n in functions.functions() if n.startswith(family)}


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("zzzz", "nothing is called 'zzzz', or says it: `polarsfair metrics` lists all"),
        ("gini_indx", "did you mean 'ranking.gini'?"),
        ("stat_party", "did you mean 'stat_parity'?"),
        ("MetricFrame", "write pf.by_group"),
        ("_lists", "nothing is called '_lists'"),
        ("", "nothing is called ''"),
    ],
)
def test_nothing_is_found(run: Run, word: str, said: str) -> None:
    code, out, err = run("metrics", word)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize("width", [80, 100])
def test_a_narrow_terminal_shows_names_whole(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    screen = Console(force_terminal=True, width=width, record=True, file=io.StringIO())
    monkeypatch.setattr(show, "console", lambda: screen)
    screen.print(show.catalogue(names.search("fairness")).drawn())
    text = screen.export_text()
    assert "ideal" not in text.partition("fairness.abroca")[0]
    known = pf.catalog().filter(family="fairness")["metric"]
    assert all(f" {name} " in text for name in known)
    assert "…" not in text


# completion


@pytest.mark.parametrize(
    ("typed", "found", "others"),
    [
        ("stat_p", "stat_parity", "fairness.stat_parity"),
        ("fairness.f", "fairness.f1", "ranking.f1"),
        ("ndcg,hit", "ndcg,hit_rate", "hit_rate"),
        ("ratio(accu", "ratio(accuracy)", "accuracy"),
        ("rat", "ratio(", "ranking.rbp"),
    ],
)
def test_metrics_are_completed(typed: str, found: str, others: str) -> None:
    listed = completion.metrics(typed)
    assert found in listed
    assert others not in listed
    assert len(listed) == len(set(listed))


def test_what_is_completed_is_understood() -> None:
    for text in completion.metrics(""):
        if not text.endswith("("):
            assert isinstance(names.metric(text), pf.Metric)
    for text in completion.words(""):
        assert text in FAMILIES or names.member(text) is not None
    for text in completion.tallies("fairness."):
        assert names.tally(text).name == text
    for text in completion.functions(""):
        assert functions.function(text).name.endswith(text)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("polarsfair ev", "evaluate"),
        ("polarsfair evaluate lake --metrics stat_p", "stat_parity"),
        ("polarsfair evaluate lake --metrics ndcg,hit_r", "ndcg,hit_rate"),
        ("polarsfair tally lake --tally fairness.dec", "fairness.decisions"),
        ("polarsfair frame choo", "choose_k"),
        ("polarsfair metrics choo", "choose_k"),
        ("polarsfair evaluate lake --item-g", "--item-group"),
    ],
)
def test_a_shell_completes(words: str, found: str) -> None:
    environment = {
        **os.environ,
        "_POLARSFAIR_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    code = "import sys; sys.argv = ['polarsfair']; from polarsfair.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert found in done.stdout.split()
