"""Runs uv's resolver: a clean environment, a scratch folder, and its errors in a sentence."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from harness import proc
from harness.errors import ResolveError
from harness.releases.sources import Source, index_environment, scrub
from harness.scratch import scratch

__all__ = ["Meaning", "Uv", "compile_pylock", "meaning_of", "uv_environment", "without_choices"]

#: Seconds for one resolution; a cold cache and a slow index take a minute.
TIMEOUT = 900.0

# Variables that change what uv chooses or installs: the cell and its lock alone say these things, whoever builds them.
# What says where files come from (indexes, folders, proxies, certificates, offline) stays.
_CHOICES = re.compile(
    r"(UV_(PYTHON|SYSTEM_PYTHON|BREAK_SYSTEM_PACKAGES|VENV_\w+|CONSTRAINT|BUILD_CONSTRAINT|OVERRIDE|EXCLUDE|EXCLUDE_NEWER\w*"
    r"|NO_BINARY\w*|NO_BUILD\w*|ONLY_BINARY|REQUIRE_HASHES|NO_VERIFY_HASHES|LINK_MODE|COMPILE_BYTECODE|TORCH_BACKEND"
    r"|RESOLUTION|PRERELEASE|FORK_STRATEGY|PROJECT|PROJECT_ENVIRONMENT|WORKING_DIR|WORKING_DIRECTORY|NO_CACHE"
    r"|INDEX_STRATEGY)|VIRTUAL_ENV|CONDA_PREFIX|CONDA_DEFAULT_ENV|PYTHON(PATH|HOME))"
)
_MARK = re.compile(r"^\W*(?P<kind>error|cause|hint|warning)?:?\s*(?P<text>.*)$")
_NETWORK = ("Failed to fetch", "Request failed", "error sending request", "client error", "HTTP status")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What it means when uv says something.

    Attributes:
        pattern: What it says.
        why: What that means.
        next_step: What helps.
        of_cache: Whether it is about the place where uv keeps its files, whatever it was asked.
    """

    pattern: str
    why: str
    next_step: str
    of_cache: bool = False


# The first that fits is taken, so the more precise ones come first.
_MEANINGS = (
    Meaning(
        r"No space left on device|os error 28|Disk quota exceeded",
        "the disk is full",
        "harness env prune --max-size 20GB, or point HARNESS_CACHE to a larger disk",
        of_cache=True,
    ),
    Meaning(
        r"Read-only file system|Permission denied|os error 13\b|os error 30\b",
        "the cache cannot be written",
        "point HARNESS_CACHE to a folder that you own",
        of_cache=True,
    ),
    Meaning(
        r"Not a directory|File exists|os error 20\b|os error 17\b",
        "the cache, or a folder above it, is a file",
        "point HARNESS_CACHE to a folder that you own",
        of_cache=True,
    ),
    Meaning(
        r"Failed to initialize cache",
        "there can be no cache at that place",
        "point HARNESS_CACHE to a folder that you own",
        of_cache=True,
    ),
    Meaning(
        r"[Hh]ash mismatch",
        "a file is not the one that was locked: it was replaced on the index, or damaged on its way",
        "look at the address that was asked; harness lock makes a new lock",
    ),
    Meaning(
        r"(?i:404 Not Found|410 Gone)|was not found in the package registry|no versions? of|not available at",
        "no index that was asked has a file of the lock any more, or not the right index was asked",
        "harness lock --check; UV_INDEX and UV_FIND_LINKS add places to look",
    ),
    Meaning(
        (
            r"only .* (?:is|are) available|no matching|no wheels? with a matching"
            r"|doesn't have a source distribution or wheel"
        ),
        "no file that was found has the hash of the lock and fits this Python and platform",
        "harness lock --check; UV_INDEX and UV_FIND_LINKS add places to look",
    ),
    Meaning(
        r"network was disabled|offline",
        "the network is switched off for uv, and its cache does not hold the file",
        "unset UV_OFFLINE",
    ),
    Meaning(
        (
            r"dns error|Connection refused|error sending request|client error \(Connect\)|timed out|unreachable"
            r"|tcp connect"
        ),
        "the index cannot be reached",
        "look at the network and the proxy, then run the same command again: finished downloads are kept",
    ),
    Meaning(
        (
            r"HTTP status \w* ?error|50\d (?:Internal|Bad|Service|Gateway)|status code|connection reset|incomplete"
            r"|body error"
        ),
        "the index failed while it answered",
        "run the same command again in a while: finished downloads are kept",
    ),
    Meaning(
        r"Failed to build|build backend|Call to `[\w.]+` failed",
        "a package that is only there as source could not be built",
        "read its log above; a compiler or a header may be missing",
    ),
    Meaning(
        r"zip|archive|Failed to (?:extract|unpack)|invalid (?:wheel|filename)",
        "a downloaded file is damaged",
        "harness env prune, or uv cache clean for the package, then run the same command again",
    ),
)


def meaning_of(text: str) -> Meaning | None:
    """What a failure of uv means, where that is known."""
    return next((meaning for meaning in _MEANINGS if re.search(meaning.pattern, text)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Uv:
    """How uv is run.

    Attributes:
        sources: What it asks for packages.
        cache: The user's cache folder; uv's own lies in it unless `UV_CACHE_DIR` says otherwise.
        environ: The environment from which it takes proxies, certificates and credentials.
        offline: Whether it may use only what is in its cache.
    """

    sources: Sequence[Source]
    cache: Path
    environ: Mapping[str, str]
    offline: bool = False


def without_choices(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for uv without the variables that would make two builds of one lock differ."""
    kept = {name: value for name, value in environ.items() if not _CHOICES.fullmatch(name)}
    return kept | {"UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def uv_environment(uv: Uv) -> dict[str, str]:
    """The environment of a uv process: this machine's access to the network, and nothing that changes its choices."""
    kept = index_environment(uv.sources, without_choices(uv.environ))
    kept.setdefault("UV_CACHE_DIR", str(uv.cache / "uv"))
    return kept


def compile_pylock(
    uv: Uv,
    requirements: Sequence[str],
    *,
    label: str,
    python: str,
    platform: str,
    as_of: str = "",
    undated: Sequence[str] = (),
    excludes: Sequence[str] = (),
) -> str:
    """Resolves requirements for one Python and platform into the text of a `pylock.toml`.

    Args:
        uv: How uv is run.
        requirements: What is wanted.
        label: What errors call the whole: the id of a cell.
        python: `3.11`, `3.11.7` or `3.13t`.
        platform: As uv names it.
        as_of: The last day (UTC) whose uploads are seen; empty for all.
        undated: Packages that are seen whatever their date.
        excludes: Packages that are left out, with what only they need.

    Raises:
        ResolveError: There is no solution, or the indexes cannot be asked.
    """
    from uv import find_uv_bin  # noqa: PLC0415

    with scratch(uv.cache, "harness-lock-") as folder:
        output = folder / "pylock.toml"
        arguments = ["pip", "compile", "-", "--format", "pylock.toml", "-o", str(output), "--no-header"]
        arguments += ["--no-annotate", "--python-platform", platform]
        # uv resolves for a free-threaded Python only with one in hand; for the others any interpreter serves.
        arguments += ["--python", python] if python.endswith("t") else ["--python", sys.executable]
        arguments += [] if python.endswith("t") else ["--python-version", python]
        if as_of:
            arguments += ["--exclude-newer", _end_of_day(as_of)]
            for name in sorted(set(undated)):
                arguments += ["--exclude-newer-package", f"{name}=false"]
        if excludes:
            list_of_excludes = folder / "excludes.txt"
            list_of_excludes.write_text("".join(f"{name}\n" for name in sorted(excludes)), encoding="utf-8")
            arguments += ["--excludes", str(list_of_excludes)]
        if uv.offline:
            arguments.append("--offline")
        try:
            proc.run(
                [find_uv_bin(), *arguments],
                env=uv_environment(uv),
                cwd=Path(folder.anchor),  # the cache may lie in a project, whose settings uv would take
                stdin="".join(f"{requirement}\n" for requirement in requirements),
                timeout=TIMEOUT,
            )
        except proc.CommandError as error:
            raise _explained(error, label, uv.offline) from None
        return output.read_text(encoding="utf-8")


def _end_of_day(day: str) -> str:
    # A bare date would mean midnight in the zone of this machine, and another lock on another continent.
    return f"{date.fromisoformat(day) + timedelta(days=1)}T00:00:00Z"


def _explained(error: proc.CommandError, label: str, offline: bool) -> ResolveError:
    told: dict[str, list[str]] = {"error": [], "cause": [], "hint": [], "warning": []}
    kind = "error"
    for line in scrub(error.stderr).splitlines():
        match = _MARK.match(line)
        if match is None or not match["text"]:
            continue
        if match["kind"] or not told[kind]:
            kind = match["kind"] or kind
            told[kind].append(match["text"])
        else:
            told[kind][-1] += f" {match['text']}"
    causes = told["error"] + told["cause"]
    text = " ".join(causes)
    if (meaning := meaning_of(text)) and meaning.of_cache:  # a download fails on a full disk too
        return ResolveError(f"{label}: uv failed: {_short(text)}", why=meaning.why, next_step=meaning.next_step)
    if any(sign in text for sign in _NETWORK):
        shown = next((cause for cause in causes if cause.startswith("Failed to fetch")), causes[0])
        what = f"{label}: uv could not ask an index: {_short(shown)}"
        return ResolveError(
            what, why=_short(causes[-1]), next_step="try again when the index can be reached; what was read is kept"
        )
    if "No solution found" in text:
        reason = (told["cause"] or [text])[0]
        what = f"{label}: its packages do not fit together: {_short(reason.partition(', we can conclude')[0])}"
        next_step = "`harness plan` says which cells exist; `+@DATE` in a cell's id moves the date of its packages"
        if offline:
            next_step = "run the same command once with the network, which fills uv's cache"
        return ResolveError(what, why=_short(" ".join(told["hint"])), next_step=next_step)
    what = f"{label}: uv failed: {_short(text) or error.reason}"
    return ResolveError(what, why=_short(" ".join(told["hint"])), next_step="-v shows the command that was run")


def _short(text: str, limit: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
