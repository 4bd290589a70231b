"""
Every check of the project, the quick ones first.

``python -m tests`` is what the README and ``.ci/run`` call. All checks run, whatever the first ones
say, so that one run shows everything that is wrong.
"""

import subprocess
import sys

CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("basedpyright", "--pythonpath", sys.executable),
    ("pytest", "-n", "auto", "-q"),
)


def run(check: tuple[str, ...]) -> bool:
    """Run one tool with this interpreter and tell whether it was content."""
    print(f"\n$ {' '.join(check)}", flush=True)
    return subprocess.run([sys.executable, "-m", *check], check=False).returncode == 0


def main() -> None:
    """Run all checks; the exit code is 0 when all of them passed."""
    failed = [" ".join(check) for check in CHECKS if not run(check)]
    print("\n" + (f"failed: {'; '.join(failed)}" if failed else "all checks passed"), flush=True)
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
