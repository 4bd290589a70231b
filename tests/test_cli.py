"""The command line returns what the functions return, and reports errors in one line."""

import datetime as dt
import inspect
import io
import os
import shlex
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
from polarsfair import cli, fairness
from polarsfair._cli import flags, lakes, output, parse, sample, show

Run = Callable[..., tuple[int, str, str]]

COLUMNS = ("--group", "sex", "--pred", "approved", "--label", "repaid")
ROLES: dict[str, Any] = {"group": "sex", "pred": "approved", "label": "repaid"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sample lake, one directory per day."""
    directory = tmp_path_factory.mktemp("lake")
    assert len(list(sample.write_lake(directory, 3000))) == sample.FILES
    return directory


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the command line: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return int(stopped.value.code or 0), captured.out, captured.err

    return call


@pytest.fixture
def values(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., pl.DataFrame]:
    """Call the command line with `--out` and read the file that it wrote."""

    def call(*arguments: object) -> pl.DataFrame:
        out = tmp_path_factory.mktemp("out") / "values.parquet"
        code, text, said = run(*arguments, "--out", out)
        # The tables of these tests were written from Python, and carry no record.
        unknown = arguments[0] == "measure" and "no record of" in said
        assert (code, text, said.count("\n")) == (0, "", int(unknown))
        return pl.read_parquet(out)

    return call


def rows(lake: Path) -> pl.DataFrame:
    return pl.read_parquet(lake, hive_partitioning=True)


def test_evaluate_prints_value_band_and_verdict(run: Run, lake: Path) -> None:
    code, out, err = run("evaluate", lake, "--metrics", "stat_parity,accuracy", *COLUMNS)
    value = fairness.stat_parity(rows(lake), **ROLES)
    printed = next(line for line in out.splitlines() if "stat_parity" in line)
    assert (code, err) == (0, "")
    assert f"{value:.4f}" in printed
    assert "-0.1 to 0.1" in printed
    assert ("outside" in printed) == (abs(value) > 0.1)


def test_evaluate_gives_what_the_function_gives(
    values: Callable[..., pl.DataFrame], lake: Path
) -> None:
    asked = [
        "stat_parity",
        "fairness.precision",
        "ratio(fairness.f1)",
        "group_max(true_positive_rate)",
    ]
    metrics = [
        fairness.stat_parity,
        fairness.precision,
        pf.ratio(fairness.f1),
        pf.group_max(fairness.true_positive_rate),
    ]
    by = ("--by", "day,country")
    got = values(
        "evaluate", lake, "--metrics", ",".join(asked), *COLUMNS, *by, "--weight", "weight"
    )
    expected = pf.evaluate(rows(lake), metrics, by=["day", "country"], weight="weight", **ROLES)
    assert_frame_equal(got, expected)


def test_many_metrics_by_slice_are_listed_one_below_the_other(run: Run, lake: Path) -> None:
    names = [m.name for m in pf.metrics() if m.tally is fairness.decisions and not m.keys]
    asked = ",".join(f"fairness.{name}" for name in names)
    code, out, _ = run("evaluate", lake, "--metrics", asked, *COLUMNS, "--by", "country")
    assert code == 0
    assert all(f" {name} " in out for name in names)
    assert len(out.splitlines()) == 1 + len(names) * len(sample.COUNTRIES)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_out_is_read_by_its_suffix(run: Run, lake: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"values.{suffix}"
    out.write_text("what was there before")
    metrics = "stat_parity,disparate_impact"
    asked = ("evaluate", lake, "--metrics", metrics, *COLUMNS[:4], "--by", "country", "--out", out)
    code = run(*asked, "--overwrite")
    reader = getattr(pl, f"read_{suffix}")
    expected = pf.evaluate(
        rows(lake), [fairness.stat_parity, fairness.disparate_impact], by="country", **ROLES
    )
    assert code == (0, "", "")
    assert_frame_equal(reader(out), expected)
    assert list(tmp_path.iterdir()) == [out]


def test_out_keeps_the_old_file_when_writing_fails(
    run: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(frame: pl.DataFrame, path: Path) -> None:
        path.write_text("half")
        msg = "no space left on device"
        raise OSError(msg)

    monkeypatch.setitem(output.WRITERS, ".json", full)
    out = tmp_path / "values.json"
    out.write_text("old")
    asked = ("evaluate", lake, "--metrics", "stat_parity", *COLUMNS[:4], "--out", out)
    code, _, err = run(*asked, "--overwrite")
    said = f"polarsfair: `--out {out}` cannot be written: no space left on device\n"
    assert (code, err) == (2, said)
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("sources", "days"),
    [
        (["{lake}"], 7),
        (["{lake}/day=2026-01-06"], 1),
        (["{lake}/day=2026-01-06", "{lake}/day=2026-01-07/"], 2),
        (["{lake}/**/*.parquet"], 7),
        (["{lake}/day=2026-01-*/part-1.parquet"], 7),
        (["{lake}/day=2026-01-0[56]"], 2),
        (["{lake}/day=2026-01-11/part-0.parquet"], 1),
    ],
)
def test_lakes_are_files_globs_and_hive_directories(
    values: Callable[..., pl.DataFrame], lake: Path, sources: list[str], days: int
) -> None:
    paths = [source.format(lake=lake) for source in sources]
    got = values(
        "evaluate", *paths, "--metrics", "selection_rate", "--pred", "approved", "--by", "day"
    )
    expected = fairness.selection_rate(rows(lake), pred="approved", by="day")
    assert got.height == days
    assert got["day"].dtype == pl.Date
    if not any("part-" in source for source in sources):
        assert_frame_equal(got, expected.filter(pl.col("day").is_in(got["day"].implode())))


def test_directories_hide_what_writers_hide(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1]})
    for name in ("a.parquet", "_temporary/b.parquet", ".c.parquet", "[d].parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        frame.write_parquet(tmp_path / name)
    (tmp_path / "_SUCCESS").touch()
    assert lakes.scan([str(tmp_path)]).collect().height == 2


def test_columns_that_came_later_do_no_harm(
    values: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    pl.DataFrame({"hired": [0, 1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"new": ["x", "y"], "hired": [1, 1]}).write_parquet(tmp_path / "b.parquet")
    got = values("evaluate", tmp_path, "--metrics", "selection_rate", "--pred", "hired")
    assert got["selection_rate"].to_list() == [0.75]


def test_roles_are_sql_expressions(values: Callable[..., pl.DataFrame], lake: Path) -> None:
    got = values(
        *("evaluate", lake, "--metrics", "stat_parity,selection_rate"),
        *("--group", "CASE WHEN country = 'SE' THEN 'corrected' ELSE 'other' END"),
        *("--pred", "score > 0.7", "--by", "EXTRACT(day FROM day) AS date"),
    )
    expected = pf.evaluate(
        rows(lake),
        [fairness.stat_parity, fairness.selection_rate],
        group=pl.when(pl.col("country") == "SE")
        .then(pl.lit("corrected"))
        .otherwise(pl.lit("other")),
        pred=pl.col("score") > 0.7,
        by=pl.col("day").dt.day().alias("date"),
    )
    assert_frame_equal(got, expected, check_dtypes=False)


def test_a_column_wins_over_the_expression_of_the_same_words(
    values: Callable[..., pl.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "odd.parquet"
    pl.DataFrame({"score": [0.1, 0.2], "score > 0.5": [1, 1]}).write_parquet(path)
    got = values("evaluate", path, "--metrics", "selection_rate", "--pred", "score > 0.5")
    assert got["selection_rate"].to_list() == [1.0]


GROUPS = [
    pytest.param(["F", "M"], pl.String, "M", "M", id="text"),
    pytest.param(["F", "M"], pl.Categorical, "M", "M", id="categorical"),
    pytest.param(["F", "M"], pl.Enum(["F", "M"]), "M", "M", id="enum"),
    pytest.param([1, 2], pl.Int8, "2", 2, id="integer"),
    pytest.param([0.5, 1.5], pl.Float64, "1.5", 1.5, id="float"),
    pytest.param([False, True], pl.Boolean, "true", True, id="Boolean"),
    pytest.param(
        [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
        pl.Date,
        "2026-01-02",
        dt.date(2026, 1, 2),
        id="date",
    ),
    pytest.param(["rest", "M"], pl.String, "group=rest", "rest", id="a group called rest"),
    pytest.param(["a,b", "g=1"], pl.String, "group=g=1", "g=1", id="equal sign"),
    pytest.param(["a,b", "c"], pl.String, "a,b", "a,b", id="comma"),
    pytest.param(["F", "M"], pl.String, "overall", pf.OVERALL, id="overall"),
    pytest.param(["rest", "M"], pl.String, "rest", pf.REST, id="rest"),
]


@pytest.mark.parametrize(("pair", "dtype", "text", "ref"), GROUPS)
def test_ref_is_read_in_the_dtype_of_the_group(
    values: Callable[..., pl.DataFrame],
    tmp_path: Path,
    pair: list[Any],
    dtype: pl.DataType,
    text: str,
    ref: Any,
) -> None:
    path, table = tmp_path / "rows.parquet", tmp_path / "table.parquet"
    groups = pl.Series("g", [pair[0]] * 3 + [pair[1]] * 4, dtype=dtype)
    frame = pl.DataFrame([groups, pl.Series("hired", [1, 0, 0, 1, 1, 1, 0])])
    frame.write_parquet(path)
    expected = fairness.stat_parity(frame, group="g", pred="hired", ref=ref)
    asked = ("--metrics", "stat_parity", "--ref", text)
    got = values("evaluate", path, "--group", "g", "--pred", "hired", *asked)
    assert got["stat_parity"].to_list() == [expected]

    fairness.decisions(frame, group="g", pred="hired").write_parquet(table)
    assert values("measure", table, *asked)["stat_parity"].to_list() == [expected]


@pytest.mark.parametrize("group", [("--group", "sex,age"), ("--group", "sex", "--group", "age")])
def test_intersections_and_their_reference(
    values: Callable[..., pl.DataFrame], lake: Path, tmp_path: Path, group: tuple[str, ...]
) -> None:
    ref = ("--ref", "age=30-44, sex=M")
    got = values("evaluate", lake, "--metrics", "stat_parity", *group, "--pred", "approved", *ref)
    expected = fairness.stat_parity(
        rows(lake), group=["sex", "age"], pred="approved", ref={"sex": "M", "age": "30-44"}
    )
    assert got["stat_parity"].to_list() == [pytest.approx(expected)]
    values("tally", lake, *group, "--pred", "approved").write_parquet(tmp_path / "table.parquet")
    got = values("measure", tmp_path / "table.parquet", "--metrics", "stat_parity", *ref)
    assert got["stat_parity"].to_list() == [pytest.approx(expected)]


def test_options_reach_the_metrics(values: Callable[..., pl.DataFrame], lake: Path) -> None:
    asked = ("--metrics", "generalized_entropy", "--option", "alpha=0.5")
    got = values("evaluate", lake, *asked, *COLUMNS[2:])
    expected = fairness.generalized_entropy(rows(lake), alpha=0.5, **ROLES)
    assert got["generalized_entropy"].to_list() == [pytest.approx(expected)]


def test_options_that_are_no_literal_are_text() -> None:
    assert parse.options(["reduce=max", "k=[5, 10]", "base=2", "name='a b'"]) == {
        "reduce": "max",
        "k": [5, 10],
        "base": 2,
        "name": "a b",
    }


def test_any_role_can_be_named(values: Callable[..., pl.DataFrame], lake: Path) -> None:
    got = values(
        "evaluate",
        lake,
        "--metrics",
        "fairness.precision",
        "--pred",
        "approved",
        "--label",
        "repaid",
    )
    expected = fairness.precision(rows(lake), pred="approved", label="repaid")
    assert got["precision"].to_list() == [pytest.approx(expected)]


def test_tables_of_parts_measure_like_the_whole(
    values: Callable[..., pl.DataFrame], lake: Path, tmp_path: Path
) -> None:
    for day in sorted(lake.iterdir()):
        stored = tmp_path / "tables" / day.name
        stored.mkdir(parents=True)
        values("tally", day, *COLUMNS, "--by", "country").write_parquet(stored / "table.parquet")
    metrics = [fairness.stat_parity, fairness.equal_opportunity, fairness.f1]
    names = ",".join(f"fairness.{metric.name}" for metric in metrics)
    for by in ("day", "country"):
        got = values("measure", tmp_path / "tables", "--metrics", names, "--by", by)
        assert_frame_equal(got, pf.evaluate(rows(lake), metrics, by=by, **ROLES))


def test_tables_with_and_without_weights_add_up(
    values: Callable[..., pl.DataFrame], lake: Path, tmp_path: Path
) -> None:
    first, *others = (str(path) for path in sorted(lake.iterdir()))
    values("tally", first, *COLUMNS, "--weight", "weight").write_parquet(tmp_path / "a.parquet")
    values("tally", *others, *COLUMNS).write_parquet(tmp_path / "b.parquet")
    got = values("measure", tmp_path / "[ab].parquet", "--metrics", "selection_rate")
    weight = pl.when(pl.col("day") == sample.DAYS[0]).then("weight").otherwise(1.0)
    expected = fairness.selection_rate(rows(lake), pred="approved", weight=weight)
    assert got["selection_rate"].to_list() == [pytest.approx(expected)]


def test_tally_prints_a_sorted_table(run: Run, lake: Path) -> None:
    code, out, _ = run("tally", lake, "--group", "sex", "--pred", "approved", "--by", "country")
    table = fairness.decisions(rows(lake), group="sex", pred="approved", by="country")
    head, *lines = [line.split() for line in out.splitlines()]
    assert (code, head) == (0, ["country", "group", "pred", "n"])
    assert len(lines) == table.height
    assert [line[0] for line in lines] == sorted(table["country"])
    assert sum(int(line[3].replace(",", "")) for line in lines) == 3000


def test_tally_of_another_kind(values: Callable[..., pl.DataFrame], lake: Path) -> None:
    got = values("tally", lake, "--tally", "fairness.classes", "--group", "sex", "--pred", "age")
    assert set(got["pred"]) == set(sample.AGES)


def test_metrics_lists_the_catalogue(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("metrics")
    assert code == 0
    assert all(name in out for name in pf.catalog()["metric"])
    assert run("metrics", "--out", tmp_path / "catalogue.json")[0] == 0
    assert pl.read_json(tmp_path / "catalogue.json")["metric"].equals(pf.catalog()["metric"])


@pytest.mark.parametrize(("width", "details"), [(80, False), (200, True)])
def test_the_catalogue_fits_a_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, details: bool
) -> None:
    screen = Console(force_terminal=True, width=width, record=True, file=io.StringIO())
    monkeypatch.setattr(show, "console", lambda: screen)
    show.put(pf.catalog().head(20), show.catalogue)
    text = screen.export_text()
    assert "fairness.abroca_error" in text
    assert "…" not in text
    assert ("roles" in text) == details


def test_metrics_explains_one(run: Run) -> None:
    code, out, _ = run("metrics", "fairness.equal_opportunity")
    assert code == 0
    asked = "roles group, pred, label; also weight; options ref; table fairness.decisions"
    assert out.startswith(f"fairness.equal_opportunity: {asked}; elsewhere ")
    assert "tpr_difference" in out.partition("\n")[0]
    assert out.strip().splitlines()[-1].strip() in str(fairness.equal_opportunity.__doc__)


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("choose_k", pf.clustering.choose_k),
        ("fairness.thresholds", fairness.thresholds),
        ("mitigation", fairness.mitigation),
        ("ranking.lists", pf.ranking.lists),
        ("difference", pf.difference),
    ],
)
def test_metrics_explains_what_gives_frames_too(run: Run, name: str, member: object) -> None:
    doc = inspect.getdoc(member)
    assert doc
    assert run("metrics", name) == (0, f"{doc}\n", "")


def test_examples_of_the_help_run(
    run: Run, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").symlink_to(lake)
    recs = pl.DataFrame({"user": [1, 1], "item": [7, 8], "score": [0.9, 0.4]})
    recs.write_parquet("recs.parquet")
    recs.head(1).select("user", "item").write_parquet("clicks.parquet")
    pl.DataFrame({"c": [1, 2, 2], "x": [0, 4, 5], "y": [0, 4, 4]}).write_parquet("points.parquet")
    assert "Examples" in run("evaluate", "--help")[1]
    for example in cli.EXAMPLES[1:]:
        code, out, err = run(*shlex.split(example)[1:])
        assert (code, err) == (0, "")
        assert any(metric in out for metric in ("stat_parity", "ndcg", "silhouette"))


def test_output_without_unicode_has_other_letters(lake: Path) -> None:
    asked = ["evaluate", str(lake), "--metrics", "accuracy", *COLUMNS[2:], "--by", "'é' AS café"]
    for arguments, seen in [(asked, "caf?"), (["demo", "--rows", "1000"], "| #####")]:
        done = subprocess.run(
            [sys.executable, "-m", "polarsfair", *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONIOENCODING": "ascii", "TMPDIR": str(lake.parent)},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert seen in done.stdout.decode("ascii")


def test_demo_shows_the_disparity(run: Run, tmp_path: Path) -> None:
    directory = tmp_path / "lake"
    code, out, err = run("demo", "--rows", 20_000, "--dir", directory)
    assert (code, err) == (0, "")
    assert len(list(directory.glob("day=*/part-*.parquet"))) == sample.FILES
    for metric, verdict in [("stat_parity", "outside"), ("accuracy_difference", "within")]:
        assert verdict in next(line for line in out.splitlines() if f" {metric} " in line)
    assert f"evaluate {directory}" in out


def test_sample_lake_is_the_same_every_time(lake: Path, tmp_path: Path) -> None:
    for seed, same in [(0, True), (1, False)]:
        list(sample.write_lake(tmp_path / str(seed), 3000, seed=seed))
        assert rows(tmp_path / str(seed)).equals(rows(lake)) == same


def test_sample_lake_has_its_disparity_in_the_score_alone() -> None:
    frame = sample.loans(50_000, day=3, seed=[7])
    gap = {"group": "sex", "ref": "M"}
    corrected = frame.filter(pl.col("country") == sample.CORRECTED)
    assert abs(fairness.difference(fairness.base_rate)(frame, label="repaid", **gap)) < 0.02
    assert fairness.stat_parity(frame, pred="approved", **gap) < -0.1
    assert abs(fairness.stat_parity(corrected, pred="approved", **gap)) < 0.05


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"polarsfair {pf.__version__}\n", "")
    for arguments in ((), ("--help",)):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert all(
            command in out for command in ("evaluate", "tally", "measure", "metrics", "demo")
        )


EVALUATE = ("evaluate", "{lake}", "--metrics")
GROUPED = (*EVALUATE, "stat_parity", "--group", "sex")
STAT_PARITY = (*GROUPED, "--pred", "approved")
BAD = [
    pytest.param(["nonsense"], "nonsense", id="command"),
    pytest.param(["evaluate"], "LAKE", id="no lake"),
    pytest.param(["evaluate", "{lake}"], "--metrics", id="no metrics"),
    pytest.param(
        ["evaluate", "{lake}/none", "--metrics", "accuracy"], "none' is not a file", id="lake"
    ),
    pytest.param(
        ["evaluate", "{empty}", "--metrics", "accuracy"],
        "contains no .parquet, .csv, ",
        id="empty lake",
    ),
    pytest.param(["evaluate", __file__, "--metrics", "accuracy"], "as Parquet", id="not Parquet"),
    pytest.param([*EVALUATE, "stat_party"], "did you mean 'stat_parity'?", id="metric"),
    pytest.param([*EVALUATE, "ratio(stat_parity)"], "compares groups already", id="comparison"),
    pytest.param([*EVALUATE, "stat_parity", "--pred", "approved"], "--group COLUMN", id="role"),
    pytest.param([*GROUPED, "--pred", "aproved"], "--pred approved", id="column"),
    pytest.param([*GROUPED, "--pred", "score >"], "SQL expression", id="SQL"),
    pytest.param([*GROUPED, "--pred", "country"], "\"country = 'yes'\"", id="text pred"),
    pytest.param([*GROUPED, "--pred", "score"], '"score > 0.5"', id="pred of 0.3"),
    pytest.param([*GROUPED, "--pred", "CAST(score * 9 AS INT)"], ' = 1"`', id="pred of 2"),
    pytest.param([*STAT_PARITY, "--weight", "score - 2"], '"COALESCE(', id="weight"),
    pytest.param([*STAT_PARITY, "--weight", "age"], '"CAST(age AS DOUBLE)"', id="text as weight"),
    pytest.param([*STAT_PARITY, "--by", "day AS n"], '"n AS n_slice"', id="name of a slice"),
    pytest.param(
        [*EVALUATE, "stat_parity", "--group", "sexx", "--pred", "approved", "--ref", "M"],
        "`--group sex`",
        id="group of a ref",
    ),
    pytest.param([*STAT_PARITY, "--ref", "X"], "are: F, M", id="ref"),
    pytest.param(
        [*EVALUATE, "accuracy_difference", "--group", "score > 0.5", "--ref", "M"],
        "Boolean",
        id="ref dtype",
    ),
    pytest.param([*STAT_PARITY, "--group", "age", "--ref", "M"], "sex=...,age=...", id="ref part"),
    pytest.param(
        [*EVALUATE, "selection_rate", "--pred", "approved", "--ref", "M"], "--group", id="ref alone"
    ),
    pytest.param([*STAT_PARITY, "--option", "alpha"], "NAME=VALUE", id="option"),
    pytest.param([*STAT_PARITY, "--option", "alpha=1"], "alpha", id="option not taken"),
    pytest.param(
        [*STAT_PARITY, "--role", "sexe"], "names no role: every role has a flag", id="gone flag"
    ),
    pytest.param(
        [*STAT_PARITY, "--role", "label=repaid"],
        "write `--label repaid`",
        id="role by the gone flag",
    ),
    pytest.param([*STAT_PARITY, "--grp", "sex"], "grp", id="unknown role"),
    pytest.param(
        [*STAT_PARITY, "--sensitive-features", "sex"], "write `--group COLUMN`", id="foreign flag"
    ),
    pytest.param([*STAT_PARITY, "--y_pred", "sex"], "write `--pred COLUMN`", id="foreign flag _"),
    pytest.param([*STAT_PARITY, "-k", "5,x"], "`-k 5,10`", id="depths"),
    pytest.param([*STAT_PARITY, "-k", "5", "--option", "k=5"], "set the same option", id="k twice"),
    pytest.param([*STAT_PARITY, "-k", "5"], "`k` is not a role or an option", id="k not taken"),
    pytest.param(
        [*EVALUATE, "selection_rate", "--pred", "approved", "--group", "sex"],
        "`polarsfair by-group LAKE --metrics selection_rate --group sex`",
        id="group that is not read",
    ),
    pytest.param(
        [*STAT_PARITY, "--cluster", "sex"], "`--cluster` is not read by stat_parity", id="not read"
    ),
    pytest.param(
        ["tally", "{lake}", "--user", "sex"],
        "`--user` is not read by tables of fairness.decisions",
        id="not read by a tally",
    ),
    pytest.param(
        [*STAT_PARITY, "--out", "{empty}/values.xlsx"], ".parquet, .csv, .json", id="suffix"
    ),
    pytest.param(
        [*STAT_PARITY, "--out", "{empty}/no/values.csv"], "no' does not exist", id="directory"
    ),
    pytest.param([*STAT_PARITY, "--nonsense"], "--nonsense", id="flag"),
    pytest.param([*STAT_PARITY, "--k", "5"], "`-k VALUE`", id="k as a long flag"),
    pytest.param([*STAT_PARITY, "--alpha", "1"], "`--option alpha=VALUE`", id="option as a flag"),
    pytest.param(["evaluate", "{lake}", "--metric", "f1"], "--metrics", id="flag that is near"),
    pytest.param([*EVALUATE, ","], "`--metrics stat_parity`", id="metrics without a name"),
    pytest.param([*EVALUATE, "f1"], "write fairness.f1 or ranking.f1", id="two families"),
    pytest.param(
        [*EVALUATE, "accuracy,accuracy"], "two columns with the same name", id="metric twice"
    ),
    pytest.param([*EVALUATE, "diff(accuracy)"], "use one of difference, ratio", id="combinator"),
    pytest.param([*EVALUATE, "sensitivity"], "write fairness.true_positive_rate", id="other name"),
    pytest.param(
        [*EVALUATE, "silhouette", "--cluster", "sex"],
        "`--features COLUMN`",
        id="role without a flag",
    ),
    pytest.param(
        [*EVALUATE, "ndcg", "--user", "sex", "--item", "age"],
        "`--actual LAKE`",
        id="frame",
    ),
    pytest.param(
        [*EVALUATE, "fairness.auc", "--score", "score + 1", "--label", "repaid"],
        "`--option bins=None`",
        id="what an option should be",
    ),
    pytest.param(
        [*EVALUATE, "silhouette", "--cluster", "sex", "--features", "score / 0"],
        '`--features "CASE WHEN ABS(score) < 1e308 THEN score END"`',
        id="infinite feature",
    ),
    pytest.param(
        [*GROUPED, "--pred", "approved,repaid"], "got 2: approved,repaid", id="two columns"
    ),
    pytest.param([*STAT_PARITY, "--pred", "repaid"], "got 2: approved, repaid", id="pred twice"),
    pytest.param([*STAT_PARITY, "--by", "day,day"], "with `AS name`", id="slices of one name"),
    pytest.param(
        ["metrics", "auprc", "--out", "{empty}/f1.json"], "leave out 'auprc'", id="out of one"
    ),
    pytest.param(["tally", "{lake}", "--tally", "lists"], "'ranking.lists'?", id="family of tally"),
    pytest.param(["tally", "{lake}", "--tally", "decisions"], "fairness.decisions", id="tally"),
    pytest.param(
        ["metrics", "--out", "{empty}/t.csv"],
        "t.parquet",
        id="nested",
    ),
    pytest.param(["measure", "{lake}", "--metrics", "stat_parity"], "no column", id="not a table"),
    pytest.param(["metrics", "stat_party"], "stat_parity", id="metric to explain"),
    pytest.param(["demo", "--rows", "3"], "--rows", id="too few rows"),
    pytest.param(["demo", "--dir", "{lake}"], "not an empty directory", id="demo in a full place"),
]


@pytest.mark.parametrize(("arguments", "said"), BAD)
def test_bad_requests_end_with_2_and_one_line(
    run: Run, lake: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    typed = [argument.format(lake=lake, empty=tmp_path) for argument in arguments]
    code, out, err = run(*typed)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("polarsfair: ")
    assert err.count("\n") == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ('`rank="<column>"` or `score="<column>"`', "`--rank COLUMN` or `--score COLUMN`"),
        ("`relevance='liked'`", "`--relevance liked`"),
        ('`relevance=pl.col("r") == "yes"`', "`--relevance \"r = 'yes'\"`"),
        (
            '`items=<frame>, item_group="<column>"`',
            "`--items LAKE` and `--item-group COLUMN`",
        ),
        ('`features=["x", "y"]`', "`--features x,y`"),
        ("`k=[5, 10]`", "`-k 5,10`"),
        ('`metric="sqeuclidean"`', "`--option metric=sqeuclidean`"),
        ('`key="id"`', '`key="id"`'),
        ("`group=`", "`--group COLUMN`"),
        ("`alpha=`", "`--option alpha=VALUE`"),
        ("`value=...`", "`--value COLUMN`"),
        ("`ref='New York'`", '`--ref "New York"`'),
        ("`ref={'sex': 'M', 'age': 30}`", "`--ref sex=M,age=30`"),
        ('`ref={"sex": ..., "age": ...}`', "`--ref sex=...,age=...`"),
        ('`pred=pl.col("my col") > 0.5`', "`--pred '\"my col\" > 0.5'`"),
        ('`pred=pl.col("user") == 1`', "`--pred '\"user\" = 1'`"),
        ('`target={"a": 0.5, ...}`', "`--option 'target={\"a\": 0.5, ...}'`"),
        ('`rank=col("r").cast(pl.Int64)`', '`--rank "CAST(r AS BIGINT)"`'),
        ("`weight=(...).fill_null(0)`", '`--weight "COALESCE(..., 0)"`'),
        (
            '`cluster="<column>", other="<column>"`',
            "`--cluster COLUMN` and `--other COLUMN`",
        ),
        *[
            (python, '`--features "CASE WHEN ABS(x) < 1e308 THEN x END"`')
            for python in (
                '`pl.col("x").fill_nan(None)`',
                '`features=pl.col("x").fill_nan(None)`',
                '`features=[pl.col("x").fill_nan(None), ...]`',
            )
        ],
        ("`actual.with_columns(pl.col(...).cast(pl.Int32))`", "`CAST(... AS Int32)`"),
        ('`items.unique("item")`', "`DISTINCT ON (item)`"),
        ("`fairness.decisions`", "`fairness.decisions`"),
        ("`--out values.csv`", "`--out values.csv`"),
        (
            "`ranking.lists(frame, actual=...)`",
            "`polarsfair tally LAKE --tally ranking.lists --actual LAKE --out FILE`",
        ),
    ],
)
def test_python_of_messages_becomes_flags(python: str, typed: str) -> None:
    assert flags.as_flags(f"add {python}, please") == f"add {typed}, please"


def test_out_names_a_file(run: Run, lake: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    out.mkdir()
    code, _, err = run("tally", lake, "--group", "sex", "--out", out)
    assert (code, list(out.iterdir())) == (2, [])
    assert f"such as {out / 'values.parquet'}" in err


def test_files_of_two_kinds_are_said_without_python(run: Run, tmp_path: Path) -> None:
    for dtype in (pl.Int8, pl.Int16):
        pl.DataFrame({"y": [0, 1]}, schema={"y": dtype}).write_parquet(
            tmp_path / f"{dtype}.parquet"
        )
    code, _, err = run("evaluate", tmp_path, "--metrics", "base_rate", "--label", "y")
    assert code == 2
    assert err.endswith(": a column must have the same dtype in all files of a lake\n")


def test_a_process_of_its_own(lake: Path) -> None:
    asked = ["evaluate", str(lake), "--metrics", "stat_parity", *COLUMNS[:4]]
    for more, code, lines in [([], 0, 0), (["--ref", "X"], 2, 1)]:
        command = [sys.executable, "-m", "polarsfair", *asked, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (code, lines)
        assert ("stat_parity" in done.stdout) == (code == 0)
