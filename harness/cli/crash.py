"""The log of a bug: everything a report needs, in one file to paste."""

from __future__ import annotations

import platform
import shlex
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from harness import __version__

__all__ = ["write_log"]

_LIBRARIES = ("asv", "asv-runner", "cattrs", "click", "numpy", "packaging", "pypi-simple", "rich", "scipy", "uv")


def write_log(error: BaseException, args: Sequence[str]) -> Path:
    """Writes what is known of an unexpected error and returns the file.

    Variables of the environment are left out: they may hold secrets.
    """
    lines = [
        "```",
        f"harness {__version__}, {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"command: harness {shlex.join(args)}",
        f"Python {sys.version.split()[0]} on {platform.platform()}",
        ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
        "",
        *traceback.format_exception(error),
        "```",
    ]
    with tempfile.NamedTemporaryFile(
        "w", prefix="harness-crash-", suffix=".md", delete=False, encoding="utf-8"
    ) as file:
        file.write("\n".join(line.rstrip("\n") for line in lines) + "\n")
    return Path(file.name)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"
