"""The release line as a history of commits: names, parents, branches, ranges. Pure, and free of ASV.

Each branch is a straight line in the order of dates. A release's parent is the one before it in its own branch, so that
a nightly never stands between two stable releases.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from packaging.version import InvalidVersion, Version

from harness.errors import UsageError
from harness.releases.line import Branch, Line, LineRelease, commit_id

__all__ = ["History"]

_STEPS = re.compile(r"\^|~(\d*)")
_NAME = re.compile(r"(?P<base>[^\^~]+)(?P<steps>(?:\^|~\d*)*)")
_ABBREVIATED = re.compile(r"[0-9a-f]{4,40}")


class History:
    """The releases of a line, addressed the way git addresses commits.

    Args:
        line: The release line.
    """

    #: The branch that is meant where none is named: that of stable releases.
    default_branch: str = next(iter(Branch)).value

    def __init__(self, line: Line) -> None:
        self.subject = line.subject
        self._releases: dict[str, LineRelease] = {}
        self._branches: dict[str, list[str]] = {branch.value: [] for branch in Branch}
        for release in sorted(line.releases, key=_place):
            commit = commit_id(line.subject, release.version)
            self._releases[commit] = release
            self._branches[release.branch.value].append(commit)
        self._by_version: dict[Version | None, str] = {
            Version(release.version): commit for commit, release in self._releases.items()
        }

    def commits(self) -> list[str]:
        """Every commit id of every branch, oldest first."""
        return list(self._releases)

    def branch(self, name: str | None = None) -> list[str]:
        """The commit ids of a branch, newest first, as ASV wants them.

        Raises:
            UsageError: There is no such branch.
        """
        name = name or self.default_branch
        if name not in self._branches:
            what = f"{self.subject} has no branch {name!r}, only {', '.join(self._branches)}"
            raise UsageError(what)
        return self._branches[name][::-1]

    def release(self, commit: str) -> LineRelease:
        """The release behind a full commit id.

        Raises:
            UsageError: The id is not in the line.
        """
        try:
            return self._releases[commit]
        except KeyError:
            raise self._unknown(commit) from None

    def milliseconds(self, commit: str) -> int:
        """When a release came out, in milliseconds since 1970, as JavaScript counts."""
        return int(self.release(commit).date.timestamp()) * 1000

    def tags(self) -> dict[str, str]:
        """The stable releases, `v1.12.1` to commit id: what the dashboard writes along its axis."""
        return {f"v{self._releases[commit].version}": commit for commit in self._branches[self.default_branch]}

    def resolve(self, name: str) -> str:
        """The commit id that a name stands for.

        Args:
            name: A version (`1.12.1`, `v1.12.1`), a commit id or its unambiguous beginning, a branch, `HEAD`; followed
                by any number of `^` and `~n` for earlier releases.

        Raises:
            UsageError: Nothing has that name, or several things have; the message suggests near names.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise self._unknown(name)
        commit = self._base(match["base"])
        for step in _STEPS.finditer(match["steps"]):
            for _ in range(int(step[1]) if step[1] else 1):
                commit = self.parent(commit)
        return commit

    def parent(self, commit: str) -> str:
        """The release before one, in its branch.

        Raises:
            UsageError: It is the first.
        """
        release = self.release(commit)
        branch = self._branches[release.branch.value]
        place = branch.index(commit)
        if place == 0:
            what = (
                f"v{release.version} is the first of {self.subject}'s {release.branch.value}: nothing comes before it"
            )
            raise UsageError(what)
        return branch[place - 1]

    def range(self, spec: str) -> list[str]:
        """The commit ids of one or several ranges, newest first in each, without repetition.

        Args:
            spec: Separated by blanks: `A..B` (after A, up to B), `A..`, `..B`, `A^!` (A alone), `A` (up to A).

        Raises:
            UsageError: A name is unknown or a range is not written like that.
        """
        found: dict[str, None] = {}
        for part in spec.split():
            found.update(dict.fromkeys(self._part(part)))
        return list(found)

    def _part(self, part: str) -> Iterator[str]:
        if part.startswith("-") or "..." in part:
            what = f"{part!r} is not a range of releases"
            raise UsageError(what, next_step="write A..B, A.., ..B, A^! or A, with versions such as v1.12.1")
        if part.endswith("^!"):
            yield self.resolve(part.removesuffix("^!"))
            return
        low, dots, high = part.partition("..")
        if not dots:
            low, high = "", low
        after = self.resolve(low) if low else None
        # `A..` goes on to the newest of A's own branch, which need not be the default one.
        last = self.resolve(high or (self.release(after).branch.value if after else self.default_branch))
        branch = self._branches[self.release(last).branch.value]
        newest_first = reversed(branch[: branch.index(last) + 1])
        yield from (
            commit
            for commit in newest_first
            if after is None or _place(self._releases[commit]) > _place(self._releases[after])
        )

    def _base(self, name: str) -> str:
        if name == "HEAD":
            name = self.default_branch
        if name in self._branches:
            # A branch without releases of its own still points at where it left the default one, as a new git branch.
            commits = self._branches[name] or self._branches[self.default_branch]
            if commits:
                return commits[-1]
        if name in self._releases:
            return name
        version = _version(name)
        if version in self._by_version:
            return self._by_version[version]
        if _ABBREVIATED.fullmatch(name):
            match [commit for commit in self._releases if commit.startswith(name)]:
                case [only]:
                    return only
                case [_, *_]:
                    what = f"{name!r} is the beginning of several commit ids of {self.subject}"
                    raise UsageError(what, next_step="write more of it, or the version")
                case _:
                    pass
        raise self._unknown(name)

    def _unknown(self, name: str) -> UsageError:
        known = [f"v{release.version}" for release in self._releases.values()]
        wanted = name if name.startswith("v") else f"v{name}"
        near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.7)
        return UsageError(
            f"{self.subject} has no release, branch or commit id {name!r} in its release line",
            why=f"perhaps you meant {_either(near)}" if near else "",
            next_step="see the line with `harness releases list`, bring it up to date with `harness releases refresh`",
        )


def _place(release: LineRelease) -> tuple[datetime, Version]:
    # Dashboards and periods go by date; two builds of one second by version.
    return release.date, Version(release.version)


def _version(name: str) -> Version | None:
    try:
        return Version(name)
    except InvalidVersion:
        return None


def _either(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
