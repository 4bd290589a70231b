"""Columns of any dtype and any name, in any role of any metric: the right number or our words.

Right is what the same call says of the same rows with the column cast to a plain dtype: Float64 for
numbers, text for keys. Our words are an error that this package raises itself, with an advice.
The short run is part of the suite, ``pytest -m slow tests/test_fuzz.py`` is the long one.
"""

from __future__ import annotations

import itertools
import math
import random
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from polars.exceptions import PolarsError

import polarsfair as pf
from polarsfair._engine.frames import FaultError
from tests._samples import SAMPLES, ready
from tests._unusual import DTYPES, NUMBERS, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

METRICS = {f"{metric.family}.{metric.name}": ready(metric) for metric in pf.metrics()}
NAMES = (
    "^x$", "^.*$", "*", "", " ", "a.b", "<b>", "|x", "n", "w", "w2", "group", "pred", "label",
    "user", "rank", "line\nbreak", "it's", 'say "so"', "`tick`", "ж性😀", "{}", "{0}", "%s",
    "metric", "value", "literal", "len", "polarsfair: ", "cluster", "k", "hits", "low", "x" * 300,
)  # fmt: skip
ENGINES = ("eager", "lazy", "streaming", "chunks")
MORE = {"weight": "w", "value": "y", "predicted": "s"}
"""Roles that the laws' samples leave out."""

COLUMNS = {*"dgctpysw", "x", "user", "item", "score", "click", "chance", "maker", "sold"}

Frames = dict[str, pl.DataFrame]
Values = list[Any]


@dataclass(frozen=True)
class Request:
    """One call: which columns become what, and how it is made."""

    metric: str
    seed: int
    dtypes: Mapping[str, str]
    names: Mapping[str, str] = field(default_factory=dict)
    one_frame: bool = False
    height: int = 24
    nulls: bool = False
    sliced: bool = False
    engine: str = "eager"
    options: Mapping[str, Any] = field(default_factory=dict)
    more: tuple[str, ...] = ()


def roles_of(name: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the roles of a call of a metric; those that are frames are left out."""
    tally = METRICS[name].tally
    given = {r: v for r, v in SAMPLES[tally.name].roles.items() if not _is_frame(v)}
    return given | {role: MORE[role] for role in more if role in tally.roles}


def frames_of(request: Request) -> Frames:
    """Return the frames of a call before any column is changed; the first is called `frame`."""
    draw = random.Random(request.seed)
    sample = SAMPLES[METRICS[request.metric].tally.name]
    kept = {role: value for role, value in sample.roles.items() if _is_frame(value)}
    drawn = ["frame", *sample.frames]
    made = {role: _rows(draw, request, role == "actual") for role in drawn}
    return made | {role: _fixed(role) for role in kept}


def _is_frame(value: object) -> bool:
    return isinstance(value, pl.DataFrame)


def _rows(draw: random.Random, request: Request, truth: bool) -> pl.DataFrame:
    """Draw rows; a user and an item meet once, and a user has one group and one slice."""
    pairs = draw.sample([(user, item) for user in range(5) for item in range(6)], 24)
    unit = [0.0, 0.25, 0.5, 0.75, 1.0]
    columns: dict[str, list[Any]] = {
        "user": [user for user, _ in pairs],
        "item": [item for _, item in pairs],
        "g": [user % 3 for user, _ in pairs],
        "d": [user % 2 for user, _ in pairs],
        **{name: draw.choices([0, 1, 2], k=24) for name in ("c", "t")},
        **{name: draw.choices([0, 1], k=24) for name in ("p", "y", "click")},
        **{name: draw.choices(unit, k=24) for name in ("s", "score")},
        "chance": draw.choices(unit[1:], k=24),
        "w": draw.choices([0, 1, 2, 3], k=24),
    }
    if truth:
        columns = {name: columns[name] for name in ("d", "user", "item", "click", "chance")}
    if request.nulls:
        kept = ("user", "item", "d", "w")
        columns = {n: c if n in kept else _holed(draw, c) for n, c in columns.items()}
    return pl.DataFrame(columns, strict=False)[: request.height]


def _holed(draw: random.Random, column: list[Any]) -> list[Any]:
    return [None if draw.random() < 0.2 else value for value in column]


def _fixed(role: str) -> pl.DataFrame:
    if role == "centroids":
        return pl.DataFrame({"s": [0.0, 0.75], "p": [0, 1]})
    items = {"item": range(6), "maker": [0, 0, 1, 1, 2, None], "x": [0, 1, 2, 3, 1, 0], "y": 1}
    return pl.DataFrame({**items, "sold": [1, 0, 1, 2, 1, 0]})


def call(request: Request, frames: Frames) -> pl.DataFrame:
    """Make the call, with all columns renamed, in the way that the request says."""
    metric = METRICS[request.metric]
    roles = roles_of(request.metric, request.more)
    named = {role: _renamed(value, request.names) for role, value in roles.items()}
    by = _renamed("d", request.names) if request.sliced else None
    lazy = request.engine in ("lazy", "streaming")
    given = {
        role: _prepared(frame.rename(request.names, strict=False), request.engine)
        for role, frame in frames.items()
    }
    rows = given.pop("frame")
    result = pf.evaluate(rows, [metric], by=by, **named, **given, **request.options)
    if lazy:
        schema = result.collect_schema()
        result = result.collect(engine="streaming" if request.engine == "streaming" else "auto")
        assert result.schema == schema
    return result


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [names.get(one, one) for one in value]
    return names.get(value, value)


def _prepared(frame: pl.DataFrame, engine: str) -> Any:
    if engine == "chunks" and frame.height > 1:
        return pl.concat([frame[:1], frame[1:2], frame[2:]], rechunk=False)
    return frame.lazy() if engine in ("lazy", "streaming") else frame


def changed(frames: Frames, request: Request) -> Frames:
    """Change the dtypes of columns."""
    return {
        role: frame.with_columns(
            DTYPES[request.dtypes[column]](frame[column].to_list()).alias(column)
            for column in _changing(frames, role, request)
        )
        for role, frame in frames.items()
    }


def plain_forms(frames: Frames, request: Request) -> Iterator[Frames]:
    """Yield the frames with plain columns in place of the changed ones, in all their forms."""
    counts = [len(plain(column, [], dtype)) for column, dtype in request.dtypes.items()]
    for chosen in itertools.product(*map(range, counts)):
        forms = dict(zip(request.dtypes, chosen, strict=True))
        yield {
            role: frame.with_columns(
                plain(c, frame[c].to_list(), request.dtypes[c])[forms[c]].alias(c)
                for c in _changing(frames, role, request)
            )
            for role, frame in frames.items()
        }


def _changing(frames: Frames, role: str, request: Request) -> list[str]:
    """List the columns of one frame that change: of all frames or, if it is so, the first alone."""
    earlier = {
        n for other in itertools.takewhile(role.__ne__, frames) for n in frames[other].columns
    }
    left_out = earlier if request.one_frame else set()
    return [c for c in request.dtypes if c in frames[role].columns and c not in left_out]


def outcome(request: Request, frames: Frames) -> Values | BaseException:
    """Return the values in ascending order, or the error."""
    try:
        result = call(request, frames)
    except (KeyboardInterrupt, AssertionError):
        raise
    except BaseException as error:  # a panic is not an Exception
        return error
    return sorted(result[METRICS[request.metric].name], key=lambda v: (v is None, v or 0.0))


def is_ours(error: BaseException) -> bool:
    """Check whether an error is one that this package words: raised by its code, with advice."""
    if not isinstance(error, (TypeError, ValueError, PolarsError)):
        return False
    if isinstance(error, FaultError):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = Path(pf.__file__).parent in Path(last.filename).parents
    return ours and "`" in str(error)


def check(request: Request) -> None:
    """Raise unless a call is right or refused in our words."""
    frames = frames_of(request)
    found = outcome(request, changed(frames, request))
    if isinstance(found, BaseException) and not is_ours(found):
        msg = f"{request}: {type(found).__name__}: {found}"
        raise AssertionError(msg) from found
    simple = replace(request, names={}, engine="eager")
    forms = [outcome(simple, form) for form in plain_forms(frames, request)]
    right = [form for form in forms if not isinstance(form, BaseException)]
    if isinstance(found, BaseException):
        mild = all(dtype in NUMBERS for dtype in request.dtypes.values())
        assert not (mild and not request.names and right == forms), f"{request}: {found}"
        return
    assert any(same(found, form) for form in right), f"{request}: {found} instead of {forms}"


def same(left: Values, right: Values) -> bool:
    """Check whether values are equal up to rounding, and null together."""
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(
        x == y or (None not in (x, y) and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9))
        for x, y in pairs
    )


def columns_of(name: str, more: tuple[str, ...]) -> list[str]:
    """List the columns that the roles of a call name, and the slice."""
    values = roles_of(name, more).values()
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return sorted({*flat, "d"})


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Draw a call."""
    name = draw(st.sampled_from(list(METRICS)))
    more = tuple(draw(st.sets(st.sampled_from(list(MORE))))) if draw(st.booleans()) else ()
    columns = columns_of(name, tuple(sorted(more)))
    chosen = st.lists(st.sampled_from(columns), unique=True, min_size=1, max_size=2)
    dtypes = {column: draw(st.sampled_from(list(DTYPES))) for column in draw(chosen)}
    hostile = draw(chosen) if draw(st.booleans()) else []
    words = draw(
        st.lists(st.sampled_from(NAMES), unique=True, min_size=len(hostile), max_size=len(hostile))
    )
    # A column whose own word is taken keeps its name, so no other may have it.
    names = {c: w for c, w in zip(hostile, words, strict=True) if w not in COLUMNS}
    refs: list[dict[str, Any]] = [{}]
    if "ref" in METRICS[name].option_names and SAMPLES[METRICS[name].tally.name].refs:
        refs += [{"ref": pf.OVERALL}, {"ref": pf.REST}]
    return Request(
        metric=name,
        seed=draw(st.integers(0, 50)),
        dtypes=dtypes,
        names=names,
        one_frame=draw(st.booleans()),
        height=draw(st.sampled_from([24, 24, 24, 1, 0])),
        nulls=draw(st.booleans()),
        sliced=draw(st.booleans()) or "d" in dtypes or "d" in names,
        engine=draw(st.sampled_from(ENGINES)),
        options=draw(st.sampled_from(refs)),
        more=tuple(sorted(more)),
    )


fuzz = settings(
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@settings(fuzz, max_examples=300, derandomize=True)
@given(request=requests())
def test_any_column_is_read_right_or_refused(request: Request) -> None:
    check(request)


@pytest.mark.slow
@settings(fuzz, max_examples=20_000, phases=[Phase.generate, Phase.shrink])
@given(request=requests())
def test_any_column_is_read_right_or_refused_at_length(request: Request) -> None:
    check(request)
