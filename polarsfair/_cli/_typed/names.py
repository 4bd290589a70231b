"""Finding metrics, tallies and functions by the names that were typed, or searching for them."""

from __future__ import annotations

import difflib
import inspect
import re
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

import polarsfair as pf
from polarsfair import _aliases
from polarsfair._cli._typed import functions
from polarsfair._engine import unknown
from polarsfair._engine.request import variant_for, variant_on
from polarsfair._typing import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Narrow: TypeAlias = Callable[[Sequence[pf.Metric]], Sequence[pf.Metric]]

COMBINATORS = {
    "difference": pf.difference,
    "ratio": pf.ratio,
    "group_min": pf.group_min,
    "group_max": pf.group_max,
}
SHORTEST = 4
"""The fewest letters of a word that is searched for in docstrings."""

DEEPEST = 9
"""The most comparisons in each other that are parsed. One is all that has a meaning."""


def by_roles(given: Mapping[str, Any]) -> Narrow:
    """Choose, of metrics of one name, those whose roles are given; `given` has options as well."""

    def narrow(found: Sequence[pf.Metric]) -> Sequence[pf.Metric]:
        whole = [one for one in found if set(variant_for(one, given).roles) <= {*given}]
        return whole or [one for one in found if {*given} <= _known_to(one)]

    return narrow


def _known_to(metric: pf.Metric) -> set[str]:
    """Return the roles and options that a metric, or a variant of it, takes."""
    each = (metric, *(variant.metric for variant in metric.variants))
    return {name for one in each for name in (*one.tally.roles, *one.roles, *one.option_names)}


def by_family(function: functions.Function) -> Narrow:
    """Choose, of metrics of one name, that of the family of a function."""
    family = function.name.partition(".")[0]
    return lambda found: [one for one in found if one.family == family]


def by_table(columns: Sequence[str], options: Mapping[str, Any]) -> Narrow:
    """Choose, of metrics of one name, those that a stored table with these columns can serve."""

    def narrow(found: Sequence[pf.Metric]) -> Sequence[pf.Metric]:
        served = [(one, variant_on(one, columns, options)) for one in found]
        return [one for one, on in served if not on.tally.lacks(columns, on.cells_read)]

    return narrow


def metrics(texts: Iterable[str], narrow: Narrow | None = None) -> list[pf.Metric]:
    """Find metrics by name. A text may hold several names, separated by commas.

    Of a name that several families have, `narrow` chooses the metric.
    """
    typed = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    if not typed:
        msg = "`--metrics` is empty: name at least one, such as `--metrics stat_parity`"
        raise ValueError(msg)
    found = {name: metric(name, narrow) for name in typed}
    if len(found) < len(typed) or len({m.name for m in found.values()}) < len(found):
        msg = (
            f"`--metrics {','.join(typed)}` would produce two columns with the same name: request"
            " them in separate calls"
        )
        raise ValueError(msg)
    return list(found.values())


def metric(text: str, narrow: Narrow | None = None) -> pf.Metric:
    """Find a metric: ``stat_parity``, ``ratio(accuracy)``, or with its family ``ranking.f1``."""
    if text.count("(") > DEEPEST:
        msg = f"`--metrics` has {text.count('('):,} comparisons in each other: write only one"
        raise ValueError(msg)
    combined = re.fullmatch(r"(\w+)\((.+)\)", text)
    if combined and combined[1] in COMBINATORS:
        return COMBINATORS[combined[1]](metric(combined[2].strip(), narrow))
    if combined:
        hint = suggestion(combined[1], list(COMBINATORS))
        msg = f"{combined[1]!r} is not a comparison: {hint}use one of {', '.join(COMBINATORS)}"
        raise ValueError(msg)
    found = named(text)
    if len(found) > 1 and narrow is not None and len(chosen := narrow(found)) == 1:
        return chosen[0]
    if len(found) == 1:
        return found[0]
    if found:
        choice = " or ".join(map(full_name, found))
        msg = f"several families have a metric called {text!r}: write {choice}"
        raise ValueError(msg)
    msg = (
        f"there is no metric called {text!r}: {instead(text)}`polarsfair metrics` lists all metrics"
    )
    raise ValueError(msg)


def options(function: functions.Function, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's options, with metrics for those that are metrics, such as `agreement`."""
    return {
        name: metric(str(value)) if function.annotations.get(name) == "Metric" else value
        for name, value in typed.items()
    }


def named(text: str) -> list[pf.Metric]:
    """List the metrics of a name, with or without its family."""
    return [one for one in pf.metrics() if text in (one.name, full_name(one))]


def instead(text: str) -> str:
    """Return what to write for a name that is not ours."""
    if same := unknown.elsewhere(text.rpartition(".")[2]):
        more = _aliases.hint(text)
        return f"write {' or '.join(same)}{f' ({more})' if more else ''}; "
    return mentions(text) or _nearest(text)


def _nearest(text: str) -> str:
    """Suggest the most similar name, of ours or of those elsewhere."""
    own = [name for one in pf.metrics() for name in (one.name, full_name(one))]
    other = {name for names in _aliases.NAMES.values() for name in names.split()}
    close = difflib.get_close_matches(text, [*own, *sorted(other)], n=1)
    if not close or close[0] in own:
        return suggestion(text, own)
    return "".join(f"did you mean {name!r}? " for name in unknown.elsewhere(close[0])[:1])


def mentions(text: str) -> str:
    """Suggest the metrics whose docstrings contain `text`, often as another name."""
    words = re.compile(rf"\b{re.escape(text.replace('_', ' '))}\b", re.IGNORECASE)
    docs = {m: (inspect.getdoc(m) or "").partition("References\n")[0] for m in pf.metrics()}
    explained = {m: " ".join(doc.split()) for m, doc in docs.items()}
    starts = {m: found.start() for m, doc in explained.items() if (found := words.search(doc))}
    first = sorted(starts, key=lambda m: starts[m])[:3] if len(text) >= SHORTEST else []
    return f"see {', '.join(map(full_name, first))}; " if first else ""


def member(text: str) -> object:
    """Find a public member of a family, or None: a metric, a tally, a function, a module."""
    if text.rpartition(".")[2].startswith("_"):
        return None
    found = {
        id(member): member
        for family in FAMILIES
        for name, member in vars(getattr(pf, family)).items()
        if text in (name, f"{family}.{name}")
    }
    return next(iter(found.values())) if len(found) == 1 else None


def search(word: str) -> pl.DataFrame:
    """List metrics and functions: those of a family, of a name, or that a word finds.

    A word is looked for in names, names elsewhere and summaries.
    """
    listed = pl.concat([pf.catalog(), functions.catalog()], how="diagonal")
    if word in FAMILIES:
        return listed.filter(family=word)
    if found := unknown.homes(word):
        return listed.filter(pl.col("metric").is_in(found))
    words = word.replace("_", " ").replace("-", " ").lower().split()
    text = pl.concat_str(
        pl.col("metric", "summary"),
        pl.col("also_known_as").list.join(" ").fill_null(""),
        separator=" ",
    )
    folded = text.str.to_lowercase().str.replace_all("_", " ", literal=True)
    any_word = pl.lit(value=bool(words))
    return listed.filter(any_word, *(folded.str.contains(one, literal=True) for one in words))


def unknown_word(word: str) -> str:
    """Return the message for a word that nothing is found for."""
    return f"nothing is called {word!r}, or says it: {instead(word)}`polarsfair metrics` lists all"


def by_tally(tables: Sequence[str]) -> dict[pf.Tally | None, list[str]]:
    """Group tables by the tally that was typed before them, ``fairness.scores=FILES``, or none."""
    found: dict[pf.Tally | None, list[str]] = {}
    for text in tables:
        name, equals, path = text.partition("=")
        is_named = bool(equals) and name.partition(".")[0] in FAMILIES
        found.setdefault(tally(name) if is_named else None, []).append(path if is_named else text)
    if None in found and len(found) > 1:
        one = next(one.name for one in found if one is not None)
        msg = f"{found[None][0]!r} has no tally and others have: write `{one}={found[None][0]}`"
        raise ValueError(msg)
    return found


def said_elsewhere(word: str, found: object) -> str:
    """Return what to say first of a metric that was found by its name elsewhere; else nothing."""
    if not isinstance(found, pf.Metric) or word in (found.name, full_name(found)):
        return ""
    more = _aliases.hint(word)
    return f"{word!r} is {full_name(found)} here{f' ({more})' if more else ''}.\n\n"


def full_name(metric: pf.Metric) -> str:
    """Return the name of a metric with its family."""
    return f"{metric.family}.{metric.name}"


def suggestion(text: str, names: Sequence[str]) -> str:
    """Suggest the name that is most similar to `text`, if one is."""
    close = difflib.get_close_matches(text, names, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def tallies() -> dict[str, pf.Tally]:
    """Return every tally by its name, such as ``fairness.decisions``."""
    members = [one for family in FAMILIES for one in vars(getattr(pf, family)).values()]
    return {one.name: one for one in members if isinstance(one, pf.Tally)}


def tally(text: str) -> pf.Tally:
    """Find a tally such as ``fairness.decisions``."""
    known = tallies()
    if text in known:
        return known[text]
    names = sorted(known)
    same = [name for name in names if name.partition(".")[2] == text]
    hint = f"did you mean {same[0]!r}? " if same else suggestion(text, names)
    msg = f"there is no tally called {text!r}: {hint}the tallies are {', '.join(names)}"
    raise ValueError(msg)
