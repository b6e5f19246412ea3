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
from harness.releases.uv import without_choices

__all__ = ["explain", "run_uv", "uv_cache_dir", "uv_program", "uv_variables", "uv_version"]

# What uv says, what that means, what helps. The first that fits is taken, so the more precise ones come first.
_MEANINGS: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|os error 28|Disk quota exceeded",
        "the disk is full",
        "harness env prune --max-size 20GB, or point HARNESS_CACHE to a larger disk",
    ),
    (
        r"Read-only file system|Permission denied|os error 13\b",
        "the cache cannot be written",
        "point HARNESS_CACHE to a folder that you own",
    ),
    (
        r"[Hh]ash mismatch",
        "a file is not the one that was locked: it was replaced on the index, or damaged on its way",
        "look at the address that was asked; harness lock makes a new lock",
    ),
    (
        r"(?i:404 Not Found|410 Gone)|was not found in the package registry|no versions? of|not available at",
        "no index that was asked has a file of the lock any more, or not the right index was asked",
        "harness lock --check; UV_INDEX and UV_FIND_LINKS add places to look",
    ),
    (
        (
            r"only .* (?:is|are) available|no matching|no wheels? with a matching"
            r"|doesn't have a source distribution or wheel"
        ),
        "no file that was found has the hash of the lock and fits this Python and platform",
        "harness lock --check; UV_INDEX and UV_FIND_LINKS add places to look",
    ),
    (
        r"network was disabled|offline",
        "the network is switched off for uv, and its cache does not hold the file",
        "unset UV_OFFLINE",
    ),
    (
        (
            r"dns error|Connection refused|error sending request|client error \(Connect\)|timed out|unreachable"
            r"|tcp connect"
        ),
        "the index cannot be reached",
        "look at the network and the proxy, then run the same command again: finished downloads are kept",
    ),
    (
        (
            r"HTTP status \w* ?error|50\d (?:Internal|Bad|Service|Gateway)|status code|connection reset|incomplete"
            r"|body error"
        ),
        "the index failed while it answered",
        "run the same command again in a while: finished downloads are kept",
    ),
    (
        r"Failed to build|build backend|Call to `[\w.]+` failed",
        "a package that is only there as source could not be built",
        "read its log above; a compiler or a header may be missing",
    ),
    (
        r"zip|archive|Failed to (?:extract|unpack)|invalid (?:wheel|filename)",
        "a downloaded file is damaged",
        "harness env prune, or uv cache clean for the package, then run the same command again",
    ),
)


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
    for pattern, why, next_step in _MEANINGS:
        if re.search(pattern, text):
            return InstallError(what, why=why, next_step=next_step)
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
