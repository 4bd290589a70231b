"""Virtual environments of peers: one per peer, made once in the cache directory."""

from __future__ import annotations

import hashlib
import os
import subprocess
import venv
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks._contest import Contestant, Settings


class NotInstalledError(Exception):
    """Raised if a peer cannot be installed. The message is one line that says why."""


def peer(settings: Settings, contestant: Contestant, *requirements: str) -> Contestant:
    """Return a contestant that runs in its own environment, or that is skipped for a reason.

    The first requirement is the peer itself, the others are what its contestant needs as well.
    """
    try:
        python = environment(settings.directory, contestant.name.lower(), requirements)
    except NotInstalledError as error:
        return replace(contestant, skipped=f"not installed: {error}")
    return replace(contestant, python=python, packages=requirements[:1])


def environment(directory: Path, name: str, requirements: tuple[str, ...]) -> Path:
    """Return the interpreter of a peer's environment, made on first use.

    A marker file is written after the installation. Without it the environment is made again.
    """
    wanted = "\n".join(requirements)
    key = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    root = directory / "environments" / f"{name}-{key}"
    python = root / ("Scripts" if os.name == "nt" else "bin") / "python"
    mark = root / "installed.txt"
    if not mark.exists():
        venv.create(root, clear=True, with_pip=True)
        _install(python, requirements)
        mark.write_text(wanted)
    return python


def _install(python: Path, requirements: tuple[str, ...]) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise NotInstalledError((lines or ["pip failed"])[0])
