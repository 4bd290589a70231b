"""Messages of the library in the words of the command line: flags instead of Python."""

from __future__ import annotations

import re

import polarsfair as pf
from polarsfair._typing import FRAME_ROLES, ROLES

OWN_FLAGS = frozenset(
    "group pred label score weight by ref role option metrics tally out dir rows".split()
)
"""What has a flag of its own; other roles are given by `--role`, options by `--option`."""

FLAGS = (
    (r"(<frame>|=\.\.\.), (?=\w+=)", r"\1` and `"),
    (r'pl\.col\("([^"]+)"\)', r"\1"),
    (r", hint: pass cast_options=.*", ": the files of a lake have one type a column"),
    (r'`(\w+)="<column>"`', r"`--\1 COLUMN`"),
    (r"`(\w+)=<frame>`", r"`--\1 LAKE`"),
    (r"`(\w+)='([^'`]*)'`", r"`--\1 \2`"),
    (r'`(\w+)=([^`]+) == "([^"`]*)"`', r"""`--\1 "\2 = '\3'"`"""),
    (r"`(\w+)=([^`]+) == (\d+)`", r'`--\1 "\2 = \3"`'),
    (r"`(\w+)=([^`]+) > ([\d.]+)`", r'`--\1 "\2 > \3"`'),
    (r"`(\w+)=([^`]+)\.is_not_null\(\)`", r'`--\1 "\2 IS NOT NULL"`'),
    (r"`(\w+)=([^`]+)\.fill_null\(0\)`", r'`--\1 "COALESCE(\2, 0)"`'),
    (r"`(\w+)=([^`]+)\.cast\(pl\.Float64\)`", r'`--\1 "CAST(\2 AS DOUBLE)"`'),
    (r"`(\w+)=([^`]+)\.cast\(pl\.Int64\)`", r'`--\1 "CAST(\2 AS BIGINT)"`'),
    (r"`(\w+)=([^`]+)\.cast\(pl\.String\)`", r'`--\1 "CAST(\2 AS VARCHAR)"`'),
    (r'`(\w+)=([^`]+)\.alias\("([^"]+)"\)`', r'`--\1 "\2 AS \3"`'),
)
"""How messages write keywords in Python, and the flags that say the same."""


def as_flags(message: str) -> str:
    """Rewrite the Python that a message tells the caller to type as command-line flags."""
    message = re.sub(r"`(\w+\.\w+)\(frame, ([^)`]*)\)`", _as_command, message)
    for python, flag in FLAGS:
        message = re.sub(python, flag, message)
    message = re.sub(r"`--(\w+) ([^`]+)`", lambda found: f"`{_flag(found[1], found[2])}`", message)
    return re.sub(r"`(\w+)=([^`]+)`", _as_option, message)


def _as_command(call: re.Match[str]) -> str:
    """Write the call of a tally as the command that makes its table."""
    names = re.findall(r"(\w+)=", call[2])
    flags = " ".join(_flag(name, "LAKE" if name in FRAME_ROLES else "COLUMN") for name in names)
    return f"`polarsfair tally LAKE --tally {call[1]} {flags} --out FILE`"


def _as_option(keyword: re.Match[str]) -> str:
    """Write `k=[5, 10]` with its flag, and leave alone what only Python has."""
    name, text = keyword[1], keyword[2].replace('"', "")
    if name in ROLES and text != "[...]":
        # A list of columns is written with commas, one of numbers as in Python.
        text = text.strip("[]").replace(", ", ",")
    return f"`{_flag(name, text)}`" if name in (*ROLES, *_options()) else keyword[0]


def _flag(name: str, text: str) -> str:
    if name in OWN_FLAGS or name not in (*ROLES, *_options()):
        return f"--{name} {text}"
    words = f"{name}={text.strip(chr(34))}"
    quoted = words if re.fullmatch(r"[\w.,=-]+", words) else f'"{words}"'
    return f"{'--role' if name in ROLES else '--option'} {quoted}"


def _options() -> set[str]:
    return {name for metric in pf.metrics() for name in metric.option_names}


def unknown_flag(message: str) -> str:
    """Say how a role or an option is given that was written as a flag of its own."""
    found = re.fullmatch(r"No such option: --([\w-]+)(.*)", message)
    name = found[1].replace("-", "_") if found else ""
    # Another flag that looks like it, as `--metrics` does like `--metric`, is the better guess.
    guessed = bool(found and found[2])
    if name in OWN_FLAGS or name not in (ROLES if guessed else {*ROLES, *_options()}):
        return message
    what = "LAKE" if name in FRAME_ROLES else "COLUMN" if name in ROLES else "VALUE"
    return f"`--{name.replace('_', '-')}` is no flag: write `{_flag(name, what)}`"
