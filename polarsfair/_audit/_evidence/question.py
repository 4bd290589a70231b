"""What an audit is asked: its arguments, checked before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from polarsfair._audit._evidence.chosen import LARGEST, Chosen
from polarsfair._audit.attributes import Intersections, Sets, attribute_sets
from polarsfair._engine.columns import columns_of
from polarsfair._engine.reference import Everyone
from polarsfair._engine.slices import distinct_names

if TYPE_CHECKING:
    import polars as pl

    from polarsfair._typing import IntoGroup

Adjust: TypeAlias = Literal["holm", "bh", "none"]

SLICED = "attribute {} of the audit"
"""What an attribute is called while it is counted: any name is free, `group` and `label` too."""


UNIT_SLICED = "unit of the audit"
"""What the sampling unit is called while it is counted."""


@dataclass(frozen=True)
class Question:
    """The arguments of an audit that need no data.

    Attributes
    ----------
    attributes
        The names of the attributes, as the caller has them.
    sets
        The sets of attributes, as numbers of attributes; the first is everyone.
    ref
        How the reference is chosen where `explicit` does not name it.
    explicit
        The value of the reference's attribute, by the attribute's number.
    """

    attributes: tuple[str, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ((),)
    ref: Chosen | Everyone = LARGEST
    explicit: Mapping[int, Any] = field(default_factory=dict)
    min_n: float = 0.0
    min_share: float = 0.0
    confidence: float = 0.95
    adjust: Adjust = "holm"
    shrink: bool = False
    max_groups: int = 10_000
    draws: int = 2_000
    seed: int = 0
    unit: bool = False
    """Whether rows come in units."""

    all_drawn: bool = False
    """Whether limits are from draws even where a rule fits."""

    @property
    def named(self) -> Sets:
        """The sets, by the names of their attributes."""
        return [tuple(self.attributes[i] for i in one) for one in self.sets]


def attribute_columns(group: IntoGroup | None) -> list[pl.Expr]:
    """Return the attributes as expressions, named as the caller has them."""
    if isinstance(group, Mapping):
        msg = (
            "`group` as a mapping from classes to probabilities is not an attribute: pass a column,"
            " such as `group=fairness.most_likely({...})`"
        )
        raise TypeError(msg)
    columns = columns_of(group, "group")
    if group is not None and not columns:
        msg = '`group` is empty: name at least one column, such as `group=["sex", "race"]`'
        raise ValueError(msg)
    distinct_names(columns, "attributes in `group`")
    return columns


def check_confidence(confidence: object) -> None:
    """Raise if a confidence is not between 0 and 1."""
    if not isinstance(confidence, (int, float)) or not 0 < confidence < 1:
        msg = f"`confidence` is a number between 0 and 1, such as 0.95; got {confidence!r}"
        raise ValueError(msg)


def check_draws(draws: object, seed: object) -> None:
    """Raise if the number of draws, or where they start, is not a whole number."""
    for name, value in (("draws", draws), ("seed", seed)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            msg = f"`{name}` is a whole number of at least 0; got {value!r}"
            raise ValueError(msg)


def question_of(
    columns: Sequence[pl.Expr],
    *,
    ref: Any,
    intersections: Intersections,
    min_n: float,
    min_share: float,
    confidence: float,
    adjust: Adjust,
    shrink: bool,
    max_groups: int,
    draws: int,
    seed: int,
    unit: object = None,
) -> Question:
    """Check the arguments of an audit."""
    check_confidence(confidence)
    check_draws(draws, seed)
    _one_of("intersections", intersections, ("none", "pairs", "all"))
    _one_of("adjust", adjust, ("holm", "bh", "none"))
    _number("min_n", min_n)
    _number("min_share", min_share, most=1.0)
    _number("max_groups", max_groups)
    if unit is not None and isinstance(ref, Everyone):
        msg = (
            f"`unit` with `ref={ref!r}` is not answered, because units may be on both sides: name a"
            " group, or leave out `ref`"
        )
        raise ValueError(msg)
    names = tuple(column.meta.output_name() for column in columns)
    chosen, explicit = _reference(ref, names)
    sets = attribute_sets([str(i) for i in range(len(names))], intersections)
    numbers = tuple(tuple(map(int, one)) for one in sets)
    settings = (min_n, min_share, confidence, adjust, shrink, max_groups, draws, seed)
    return Question(names, numbers, chosen, explicit, *settings, unit is not None)


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f"`{name}` is one of {', '.join(map(repr, choices))}; got {value!r}"
        raise ValueError(msg)


def _number(name: str, value: object, most: float = float("inf")) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value <= most:
        above = f" and at most {most:g}" if most < float("inf") else ""
        msg = f"`{name}` is a number of at least 0{above}; got {value!r}"
        raise ValueError(msg)


def _reference(ref: Any, names: Sequence[str]) -> tuple[Chosen | Everyone, dict[int, Any]]:
    """Return how references are chosen, and those values of attributes that the caller names."""
    if isinstance(ref, (Chosen, Everyone)):
        return ref, {}
    if not names:
        msg = '`ref` is a group, and there are none: add `group="<column>"`'
        raise ValueError(msg)
    if isinstance(ref, Mapping):
        unknown = [name for name in ref if name not in names]
        if unknown:
            msg = (
                f"`ref` names the attribute {unknown[0]!r}, and `group` has {list(names)}: write"
                " one of these, or leave it out"
            )
            raise ValueError(msg)
        values = {names.index(name): value for name, value in ref.items() if value is not LARGEST}
    elif len(names) > 1:
        example = f"ref={{{names[0]!r}: {ref!r}}}"
        msg = f"`ref={ref!r}` could be a value of any of {list(names)}: name it, `{example}`"
        raise ValueError(msg)
    else:
        values = {0: ref}
    for at, value in values.items():
        if value is None or isinstance(value, (Chosen, Everyone)):
            msg = (
                f"`ref` of {names[at]!r} is a value of that column, or pf.LARGEST; got {value!r}:"
                " leave it out"
            )
            raise ValueError(msg)
    return LARGEST, values
