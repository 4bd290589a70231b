"""SQL on the command line is an expression over columns: no text of a flag opens a file (12)."""

import random
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from polarsfair import cli
from polarsfair._cli import flags, sql

FILE = "{file}"
"""Stands for a file that does not exist: opening it is a `FileNotFoundError`."""

ATTACKS = [
    "(SELECT a FROM read_csv('{file}'))",
    "x > (SELECT max(a) FROM read_csv('{file}'))",
    "x IN (SELECT a FROM read_parquet('{file}'))",
    "x NOT IN (FROM read_csv('{file}'))",
    "x IN (((FROM read_csv('{file}'))))",
    "x IN (FROM read_csv('{file}') SELECT *)",
    "EXISTS (FROM read_ipc('{file}'))",
    "NOT EXISTS(SELECT 1 FROM read_ndjson('{file}'))",
    "x = ANY(SELECT a FROM read_csv('{file}'))",
    "x > (SeLeCt max(a) fRoM ReAd_CsV('{file}'))",
    "x > (SELECT max(a) FROM \"read_csv\"('{file}'))",
    "x > (SELECT/**/max(a)/**/FROM/* ' */read_csv('{file}'))",
    "x > (/* AS */SELECT max(a) FROM read_csv('{file}'))",
    "x > (-- AS\nSELECT max(a) FROM read_csv('{file}'))",
    "x > (/* /* */ ' */ SELECT max(a) FROM read_csv('{file}') /* ' */)",
    "x > 1 UNION SELECT a FROM read_csv('{file}')",
    "x IN (SELECT 1 UNION ALL SELECT a FROM read_csv('{file}'))",
    "x IN (WITH t AS (FROM read_csv('{file}')) FROM t)",
    "COALESCE(x, (WITH t AS (SELECT * FROM read_csv('{file}')) SELECT * FROM t))",
    "x IN (SELECT 1 FROM t, LATERAL (SELECT a FROM read_csv('{file}')))",
    "x IN (SELECT 1 FROM read_csv('{file}') AS a JOIN read_csv('{file}') AS b ON TRUE)",
    "EXTRACT(year FROM (SELECT d FROM read_csv('{file}')))",
    "EXTRACT(year FROM d) IN (FROM read_csv('{file}'))",
    "SUBSTRING(s FROM (SELECT a FROM read_csv('{file}')) FOR 2)",
    "TRIM(BOTH 'a' FROM (SELECT s FROM read_csv('{file}')))",
    "x IS DISTINCT FROM (SELECT a FROM read_csv('{file}'))",
    "CAST((SELECT a FROM read_csv('{file}')) AS INT)",
    "(SELECT a FROM read_csv('{file}'))::int",
    "CASE WHEN EXISTS (SELECT 1 FROM read_csv('{file}')) THEN 1 END",
    "COUNT(*) FILTER (WHERE x > (SELECT a FROM read_csv('{file}')))",
    "SUM(x) OVER (ORDER BY (SELECT a FROM read_csv('{file}')))",
    "s = 'it''s' OR x > (SELECT a FROM read_csv('{file}'))",
    "s = '\\' OR x > (SELECT a FROM read_csv('{file}')) OR s = '\\'",
    "s = E'\\' OR x > (SELECT a FROM read_csv(''{file}'')) --'",
    "s = $$'$$ OR x > (SELECT a FROM read_csv('{file}')) OR s = $$'$$",
    "s = $q$'$q$ OR x > (SELECT a FROM read_csv('{file}'))",
    "`'` = 1 OR x > (SELECT a FROM read_csv('{file}'))",
    "\"'\" = 1 OR x > (SELECT a FROM read_csv('{file}'))",
    "x > (SELECT a FROM read_csv('http://localhost:1/{file}'))",
    "x > (SELECT a FROM read_parquet('s3://bucket{file}'))",
    "x > 1; SELECT a FROM read_csv('{file}')",
    "SELECT a FROM read_csv('{file}')",
    "FROM read_csv('{file}')",
    "read_csv('{file}')",
    "\"read_csv\"('{file}')",
    "x IN (VALUES (1))",
]
EXPRESSIONS = [
    ("x > 1", [False, False, True]),
    ("EXTRACT(year FROM d)", [2024, 2025, 2026]),
    ("SUBSTRING(s FROM 2 FOR 2)", ["bc", "yz", "wi"]),
    ("TRIM(BOTH 'a' FROM s)", ["bc", "xyz", "wit"]),
    ("x IS DISTINCT FROM 2", [True, True, True]),
    ("x IS NOT DISTINCT FROM 3", [False, False, True]),
    ("EXTRACT(day FROM d) IS DISTINCT FROM EXTRACT(year FROM d)", [True] * 3),
    ("s IN ('select', 'from', 'awit')", [False, False, True]),
    ("s = '(SELECT a FROM read_csv(1))'", [False] * 3),
    ('"read_csv"', [7, 8, 9]),
    ("read_csv > 7", [False, True, True]),
    ('"select" + 1', [5, 6, 7]),
    ("x /* a comment /* in a comment */ */ + 1 -- and one more", [1, 2, 4]),
    ("CAST(d AS TIMESTAMP WITH TIME ZONE) IS NULL", [False] * 3),
    ("CASE WHEN s ~ '^\\w{{4}}$' THEN 'four' ELSE '' END", ["four", "", "four"]),
    ('x AS "from"', [0, 1, 3]),
    ("x AS from", [0, 1, 3]),
    ("DATE'2025-05-05' = d", [False, True, False]),
    ("SUM(x) OVER (PARTITION BY s)", [0, 1, 3]),
]


@pytest.fixture
def frame() -> pl.DataFrame:
    columns = {
        "x": [0, 1, 3],
        "s": ["abca", "xyz", "awit"],
        "d": ["2024-05-05", "2025-05-05", "2026-05-05"],
        "read_csv": [7, 8, 9],
        "select": [4, 5, 6],
    }
    return pl.DataFrame(columns).with_columns(pl.col("d").str.to_date())


@pytest.mark.parametrize("text", ATTACKS)
def test_12_queries_are_refused_before_anything_is_opened(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"columns|SQL expression|single quotes"):
        sql.expression(text.format(file=tmp_path / "none.csv"))


def test_12_the_attacks_would_work(tmp_path: Path) -> None:
    """The test above means something only if Polars itself opens the file."""
    opened = 0
    for text in ATTACKS:
        if "://" in text:
            continue
        try:
            pl.sql_expr(text.format(file=tmp_path / "none.csv"))
        except FileNotFoundError:
            opened += 1
        except Exception:
            pass
    assert opened > 20


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS)
def test_12_expressions_still_work(frame: pl.DataFrame, text: str, expected: list[object]) -> None:
    got = frame.select(sql.expression(text.replace("{{", "{").replace("}}", "}")))
    assert got.to_series().to_list() == expected


def test_12_no_random_text_opens_a_file(tmp_path: Path) -> None:
    """Words and quotes in any order: what passes the check never makes Polars open the file."""
    file = tmp_path / "none.csv"
    attacks = [
        *(f"x IN (SELECT a FROM read_csv('{file}'))", f"EXISTS (FROM read_csv('{file}'))"),
        *(f"x > (SELECT a FROM read_csv('{file}'))", f"x IN ((FROM read_csv('{file}')))"),
    ]
    pieces = [
        *("x", "x =", "x OR", "'", "''", "'a'", '"', '"a"', "`", "`a`", "\\", "--", "\n", "\r"),
        *("/*", "*/", "/*'*/", "$$", "$a$", "E'", "E'\\'", "U&'", "N'", "AS", ".", "DISTINCT", "("),
        *(
            ")",
            "OR",
            "=",
            "EXTRACT(year FROM",
            "TRIM(BOTH 'a' FROM",
            "--'\n",
            "{",
            "[",
            "q'[",
            "]'",
        ),
    ]
    draw = random.Random(12)
    passed = opened = 0
    for _ in range(10_000):
        around = [
            draw.choice(["", " "]).join(draw.choices(pieces, k=k)) for k in (draw.randint(0, 4), 2)
        ]
        text = f"{around[0]} {draw.choice(attacks)} {draw.choice(['', around[1]])}"
        try:
            sql.check_expression(text)
        except ValueError:
            try:
                pl.sql_expr(text)
            except FileNotFoundError:
                opened += 1
            except Exception:
                pass
            continue
        passed += 1
        try:
            pl.sql_expr(text)
        except FileNotFoundError:
            pytest.fail(f"opens the file: {text!r}")
        except Exception:
            pass
    assert passed > 100
    assert opened > 20


@pytest.mark.parametrize("flag", ["--pred", "--group", "--by", "--weight", "--score="])
def test_12_every_flag_refuses(
    flag: str, tmp_path: Path, frame: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    lake, secret = tmp_path / "lake.parquet", tmp_path / "secret.csv"
    frame.write_parquet(lake)
    secret.write_text("a\n1\n")
    text = f"x IN (SELECT a FROM read_csv('{secret}'))"
    given = [flag + text] if flag.endswith("=") else [flag, text]
    with pytest.raises(SystemExit, match="2"):
        cli.main(["evaluate", str(lake), "--metrics", "selection_rate", "--pred", "x > 1", *given])
    said = capsys.readouterr().err
    assert "is not an expression over the columns of the lake" in said
    assert said.count("\n") == 1


def test_12_a_column_named_like_a_query_is_a_name(tmp_path: Path) -> None:
    """Messages quote names of columns; quoting must not parse the name as SQL."""
    name = f"x IN (SELECT a FROM read_csv('{tmp_path / 'none.csv'}'))"
    said = flags.as_flags(f'write `pred=pl.col("{name}") > 0.5`')
    quoted = shlex.quote(f'"{name}" > 0.5')
    assert said == f"write `--pred {quoted}`"


@pytest.mark.parametrize("text", ["x" + " + x" * 50_000, "(" * 50_000 + "x" + ")" * 50_000])
def test_12_a_very_long_expression_is_refused_not_a_crash(text: str) -> None:
    code = "import sys; from polarsfair._cli import sql; sql.expression(sys.stdin.read())"
    done = subprocess.run(
        [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "words and signs is too long" in done.stderr.splitlines()[-1]
