"""uv, as environments use it: where it is, what it sees of this process's environment, what its failures mean."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from harness import proc
from harness.errors import InstallError
from harness.paths import cache_dir
from harness.releases.sources import scrub
from harness.releases.uv import meaning_of, without_choices

__all__ = ["explain", "run_uv", "uv_cache_dir", "uv_program", "uv_variables", "uv_version"]


@cache
def uv_program() -> str:
    """The path of uv: the one installed with the harness, else the one on PATH.

    Raises:
        InstallError: There is none.
    """
    beside = Path(sys.executable).parent / "uv"
    if beside.is_file():
        return str(beside)
    found = shutil.which("uv")
    if found is None:
        what = "uv is not installed"
        raise InstallError(what, next_step="python -m pip install uv")
    return found


@cache
def uv_version() -> str:
    """The version of uv, such as `0.13.9`."""
    return run_uv(["--version"], "asking uv for its version").stdout.split()[1]


def uv_cache_dir() -> Path:
    """Where uv keeps what it downloads: beside the environments, unless `UV_CACHE_DIR` says otherwise."""
    configured = os.environ.get("UV_CACHE_DIR")
    return Path(configured).resolve() if configured else cache_dir() / "uv"


def uv_variables() -> dict[str, str]:
    """The environment of a uv process: this one's, without what would make two builds of one lock differ."""
    return without_choices(os.environ) | {"UV_CACHE_DIR": str(uv_cache_dir())}


def run_uv(
    args: Sequence[str | Path],
    doing: str,
    *,
    variables: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> proc.Completed:
    """Runs uv.

    Args:
        args: Its arguments.
        doing: What for, as it stands after "failed while" in an error.
        variables: Its whole environment; `uv_variables()` when None.
        cwd: Where; uv looks there and above for a configuration.

    Raises:
        InstallError: It failed; with the cause in plain words, and the ends of uv's own chain of causes.
    """
    try:
        return proc.run([uv_program(), *args], env=uv_variables() if variables is None else variables, cwd=cwd)
    except proc.CommandError as error:
        raise explain(error, doing) from None


def explain(error: proc.CommandError, doing: str) -> InstallError:
    """A failure of uv as an error that a user can act on."""
    chain = _chain(scrub(error.stderr))
    text = " ".join(chain)
    what = f"uv failed while {doing}: {_ends(chain) or error.reason}"
    if meaning := meaning_of(text):
        return InstallError(what, why=meaning.why, next_step=meaning.next_step)
    return InstallError(what, next_step="run the same command with -v to see all that uv says")


def _chain(text: str) -> list[str]:
    """What uv says, one reason an entry: `error: what`, then `cause: why` as often as needed, the root last.

    uv wraps its lines and indents what follows.
    """
    chain: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if re.match(r"(error|warning|hint):|  cause:", line) or not chain:
            chain.append(stripped)
        elif stripped:
            chain[-1] += f" {stripped}"
    kept = [entry for entry in chain if not entry.startswith(("warning:", "hint:"))]
    return [re.sub(r"^(error|cause): ", "", entry) for entry in kept]


def _ends(chain: Sequence[str]) -> str:
    if not chain:
        return ""
    shown = chain[0] if len(chain) == 1 or chain[-1] in chain[0] else f"{chain[0]} ({chain[-1]})"
    return shown if len(shown) <= 400 else f"{shown[:397]}..."
