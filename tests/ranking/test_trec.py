"""Runs and qrels of TREC: blanks, empty lines, quotes, several files, and what is malformed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from polarsfair import ranking
from polarsfair._engine.frames import FaultError, collect
from tests.test_plans import nodes

if TYPE_CHECKING:
    from pathlib import Path

RUN = (
    b'q1 Q0 d1 1 0.5 tag\r\n\n  \t \nq1\tQ0   "d2 2\t-1e-3 "a b"\n'.replace(b'"a b"', b"'t")
    + b"\xc3\xa9 Q0 d\xc2\xa03 3 inf tag"
)
ROWS = [
    ("q1", "d1", 1, 0.5, "tag"),
    ("q1", '"d2', 2, -0.001, "'t"),
    ("é", "d\u00a03", 3, float("inf"), "tag"),
]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_run(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.run"
    path.write_bytes(RUN)
    found = ranking.scan_run(path)
    assert isinstance(found, pl.LazyFrame)
    dtypes = [pl.String, pl.String, pl.Int64, pl.Float64, pl.String]
    names = ["user", "item", "rank", "score", "tag"]
    assert found.collect_schema() == dict(zip(names, dtypes, strict=True))
    assert found.collect(engine=engine).rows() == ROWS
    assert found.select("tag").collect(engine=engine).height == 3
    assert not [one for one in nodes(found)[0].values() if one.startswith("in-memory")]


def test_qrels() -> None:
    found = ranking.scan_qrels(b"\xef\xbb\xbfq1 0 d1 2\nq1  0\td2 0\n\nq2 0 d1 -1\n")
    schema = {"user": pl.String, "item": pl.String, "relevance": pl.Int64}
    assert found.collect_schema() == schema
    assert found.collect().rows() == [("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d1", -1)]


@pytest.mark.parametrize("text", [b"", b"\n\n", b" \n"])
def test_files_without_a_line(text: bytes) -> None:
    assert ranking.scan_run(text).collect().shape == (0, 5)


def test_sources(tmp_path: Path) -> None:
    for number in (1, 2):
        path = tmp_path / f"{number}.qrels"
        path.write_text(f"q{number} 0 d 1\n", encoding="utf-8")
    whole = [("q1", "d", 1), ("q2", "d", 1)]
    for source in (
        tmp_path,
        str(tmp_path),
        tmp_path / "*.qrels",
        f"{tmp_path}/[12].qrels",
        sorted(tmp_path.iterdir()),
        [str(one) for one in sorted(tmp_path.iterdir())],
    ):
        assert ranking.scan_qrels(source).collect().rows() == whole
    with pytest.raises(FileNotFoundError):
        ranking.scan_qrels(tmp_path / "none.qrels").collect()
    with pytest.raises(ValueError, match="`source` is an empty list"):
        ranking.scan_run([])


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize(
    "line",
    ["q1 Q0 d2 2 0.4", "q1 Q0 d2 2 0.4 my tag", "q1 Q0 d2 2.5 0.4 tag", "q1 Q0 d2 2 high tag", "x"],
)
def test_a_malformed_line_is_named(line: str, engine: Any, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.run", tmp_path / "bad.run"
    good.write_text("q1 Q0 d1 1 0.5 tag\n", encoding="utf-8")
    bad.write_text(f"q1 Q0 d1 1 0.5 tag\n\n{line}\nq Q0 d 1 1 t\n", encoding="utf-8")
    words = re.escape(
        f"line 3 of {bad} is not a line of a run file, `user Q0 item rank score tag`: correct it or"
        f" leave it out: {line}"
    )
    for source in (bad, [good, bad], tmp_path / "*.run"):
        lazy = ranking.scan_run(source)
        with pytest.raises(pl.exceptions.InvalidOperationError, match=words):
            lazy.select("user").collect(engine=engine)
        with pytest.raises(pl.exceptions.InvalidOperationError, match=words):
            lazy.select(pl.len()).collect(engine=engine)
    with pytest.raises(FaultError, match=f"^{words}$"):
        collect(ranking.scan_run(bad))


@pytest.mark.parametrize("line", ["q1 0 d1", "q1 0 d1 1 1", "q1 0 d1 yes", "q1 0 d1 1.0"])
def test_a_malformed_judgement_is_named(line: str) -> None:
    lazy = ranking.scan_qrels(f"q1 0 d1 1\n{line}\n".encode())
    with pytest.raises(pl.exceptions.InvalidOperationError, match="line 2 of in-mem is not"):
        lazy.collect()


def test_a_run_is_evaluated(tmp_path: Path) -> None:
    run = tmp_path / "model.run"
    run.write_text("q1 Q0 d2 0 2.5 m\nq1 Q0 d1 1 0.5 m\nq2 Q0 d1 0 1 m\n", encoding="utf-8")
    qrels = ranking.scan_qrels(b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq3 0 d1 0\n")
    roles: dict[str, Any] = {"user": "user", "item": "item", "relevance": "relevance"}
    found = ranking.mrr(ranking.scan_run(run), qrels, score="score", **roles)
    assert found.collect().item() == 0.75
    found = ranking.mrr(ranking.scan_run(run), qrels, rank=pl.col("rank") + 1, **roles)
    assert found.collect().item() == 0.75
