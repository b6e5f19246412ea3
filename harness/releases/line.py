"""The release line: the ordered builds of a subject, in the file that ASV's commit axis is read from.

A commit id depends on nothing but the package and the version, so that results of any two machines merge. The file only
grows: a release that left its index keeps its place, for results that were measured on it are still there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.errors import ConfigurationError, ResolveError, StorageError
from harness.jsonio import write_json
from harness.releases.catalog import Catalog

__all__ = [
    "Branch",
    "Line",
    "LineRelease",
    "branch_of",
    "commit_id",
    "merge",
    "read_line",
    "refresh_line",
    "set_aside_damaged",
    "write_line",
]

# 1: first form.
SCHEMA = 1


class Branch(StrEnum):
    """Which part of the line a build belongs to."""

    RELEASES = "releases"
    CANDIDATES = "candidates"
    NIGHTLIES = "nightlies"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRelease:
    """One build of the line.

    Attributes:
        version: Its public version, normalised.
        date: When its first file was uploaded, to the second, in UTC.
        branch: Stable release, candidate or nightly.
    """

    version: str
    date: datetime
    branch: Branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The builds of a subject, oldest first by version."""

    subject: str
    releases: tuple[LineRelease, ...] = ()

    def stable(self) -> list[str]:
        """The versions of stable releases, oldest first."""
        return [release.version for release in self.releases if release.branch is Branch.RELEASES]

    def get(self, version: str) -> LineRelease | None:
        """A build by its version, or None."""
        return next((release for release in self.releases if release.version == version), None)


def commit_id(subject: str, version: str) -> str:
    """The commit id of a build on ASV's axis: 40 hexadecimal digits of its name and version alone."""
    # A name and no secret: SHA-1 has the length that ASV expects of a commit.
    return hashlib.sha1(f"{subject} {version}".encode(), usedforsecurity=False).hexdigest()


def branch_of(version: str) -> Branch:
    """The part of the line that a version belongs to."""
    parsed = Version(version)
    if parsed.is_devrelease:
        return Branch.NIGHTLIES
    return Branch.CANDIDATES if parsed.is_prerelease else Branch.RELEASES


def merge(line: Line, found: Iterable[LineRelease]) -> Line:
    """The line with further builds; a date already in the line stays, since results are ordered by it."""
    known = {release.version: release for release in found}
    known |= {release.version: release for release in line.releases}
    return Line(subject=line.subject, releases=tuple(sorted(known.values(), key=lambda r: Version(r.version))))


def refresh_line(path: Path, catalog: Catalog, *, pre: bool = True) -> tuple[str, ...]:
    """Adds what a catalogue offers to the file of the line, and returns the new versions, oldest first.

    A build that nobody dates is left out, for it has no place on the axis.

    Raises:
        ConfigurationError: The file is not a release line, or belongs to another subject.
        ResolveError: No file exists, and the catalogue dates no release to begin one with.
    """
    old = read_line(path) if path.exists() else Line(subject=catalog.subject)
    if old.subject != catalog.subject:
        what = f"{path} is the line of {old.subject}, not of {catalog.subject}"
        raise ConfigurationError(what, next_step="give each subject a file of its own")
    found = []
    for version in catalog.releases(pre=pre):
        date = catalog.date_of(version)
        if date is not None:
            found.append(
                LineRelease(
                    version=version, date=date.astimezone(UTC).replace(microsecond=0), branch=branch_of(version)
                )
            )
    new = merge(old, found)
    if not new.releases:
        what = f"no release of {catalog.subject} has a date"
        raise ResolveError(
            what, why="the index lists files in HTML, which carries no dates", next_step="use an index that serves JSON"
        )
    if new != old:
        write_line(path, new)
    before = {release.version for release in old.releases}
    return tuple(release.version for release in new.releases if release.version not in before)


def set_aside_damaged(path: Path) -> Path | None:
    """Moves a file that is no release line out of the way, so that `refresh_line` begins a new one.

    Returns:
        Where it lies now; None where the line is good, or there is none.

    Raises:
        StorageError: It cannot be moved.
    """
    try:
        read_line(path)
    except ConfigurationError:
        if not path.exists():
            return None
    else:
        return None
    aside = path.with_name(path.name + ".corrupt")
    try:
        path.replace(aside)
    except OSError as error:
        what = f"{path} cannot be set aside: {error.strerror or error}"
        raise StorageError(what, next_step="mend the folder's permissions, then run the same command again") from error
    return aside


def write_line(path: Path, line: Line) -> None:
    """Writes the line; the same line gives the same bytes."""
    write_json(
        path,
        {
            "schema": SCHEMA,
            "subject": line.subject,
            "releases": [
                {"version": r.version, "date": r.date.strftime("%Y-%m-%dT%H:%M:%SZ"), "branch": r.branch.value}
                for r in line.releases
            ],
        },
    )


def read_line(path: Path) -> Line:
    """Reads the line.

    Raises:
        ConfigurationError: The file is missing or is not a release line; every fault is listed.
    """
    next_step = "run `harness releases refresh`, or take the file from version control again"
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        what = f"{path} does not exist"
        raise ConfigurationError(what, next_step="run `harness releases refresh`") from None
    except (OSError, ValueError) as error:
        what = f"{path} cannot be read: {error}"
        raise ConfigurationError(what, next_step=next_step) from None
    faults: list[str] = []
    releases: list[LineRelease] = []
    subject = ""
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        faults.append(f"schema is not {SCHEMA}")
    else:
        subject = document.get("subject") or ""
        if not isinstance(subject, str) or not subject or canonicalize_name(subject) != subject:
            faults.append(f"subject: {subject!r} is not the normalised name of a package")
        releases = _releases(document.get("releases"), faults)
    if faults:
        what = "\n".join(f"{path}: {fault}" for fault in faults)
        raise ConfigurationError(what, next_step=next_step)
    return Line(subject=subject, releases=tuple(sorted(releases, key=lambda r: Version(r.version))))


def _releases(rows: Any, faults: list[str]) -> list[LineRelease]:
    if not isinstance(rows, list):
        faults.append("releases is not a list")
        return []
    found: dict[str, LineRelease] = {}
    for number, row in enumerate(rows):
        try:
            version = str(Version(row["version"]))
            date = datetime.fromisoformat(row["date"])
            if date.tzinfo is None:
                faults.append(f"releases[{number}]: {row['date']} has no time zone")
                continue
            release = LineRelease(version=version, date=date.astimezone(UTC), branch=Branch(row["branch"]))
        except (KeyError, TypeError, ValueError, InvalidVersion) as error:
            faults.append(f"releases[{number}]: {error!r}")
            continue
        if found.setdefault(version, release) is not release:
            faults.append(f"releases[{number}]: {version} is there twice")
    return list(found.values())
