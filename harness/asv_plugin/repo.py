"""ASV's repository: the release line in a JSON file, no version control and no network.

ASV imports come at the top here: this module exists to be imported by ASV.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from asv.repo import NoSuchNameError, Repo
from asv.util import UserError

from harness.asv_plugin.history import History
from harness.errors import HarnessError, UsageError
from harness.releases.line import read_line

__all__ = ["ReleaseRepo"]


class ReleaseRepo(Repo):  # type: ignore[misc]  # ASV has no types
    """ASV's view of the release line: a commit is a release, named by its version.

    Args:
        url: The path of `line.releases.json`, ASV's `repo` setting.
        mirror_path: Where a copy would go; there is none.
    """

    dvcs = "releases"
    _default_branch = History.default_branch

    def __init__(self, url: str, mirror_path: str) -> None:  # noqa: ARG002  # ASV passes both
        try:
            self.history = History(read_line(Path(url)))
        except HarnessError as error:
            raise UserError(str(error)) from error

    @classmethod
    def url_match(cls, url: str) -> bool:
        """Whether ASV's `repo` setting names a release line."""
        return url.endswith(".releases.json")

    def get_hash_from_name(self, name: str | None) -> str:
        """The commit id that a version, branch, id or expression stands for; None is the default branch.

        Raises:
            NoSuchNameError: Nothing has that name. ASV's commands report it, each in its way.
        """
        try:
            return self.history.resolve(name or self._default_branch)
        except UsageError as error:
            raise NoSuchNameError(str(error)) from error

    def get_hash_from_parent(self, name: str) -> str:
        """The commit id of the release before one."""
        return self.get_hash_from_name(f"{name}^")

    def get_name_from_hash(self, commit: str) -> str | None:
        """`v1.12.1` for a commit id, None for one that is not in the line."""
        try:
            return f"v{self.history.release(commit).version}"
        except UsageError:
            return None

    def get_tags(self) -> dict[str, str]:
        """The stable releases."""
        return self.history.tags()

    def get_date(self, hash: str) -> int:  # ASV's name
        """When a release came out, as a JavaScript time stamp."""
        return self.history.milliseconds(self.get_hash_from_name(hash))

    def get_date_from_name(self, name: str) -> int:
        """The same for any name."""
        return self.get_date(name)

    def get_branch_commits(self, branch: str | None) -> list[str]:
        """The commit ids of a branch, newest first."""
        try:
            return self.history.branch(branch)
        except UsageError as error:
            raise UserError(str(error)) from error

    def get_revisions(self, commits: Collection[str]) -> dict[str, int]:
        """Commit id to its place on the dashboard's x axis, which has all branches in the order of dates."""
        return {commit: place for place, commit in enumerate(self.history.commits()) if commit in commits}

    def get_range_spec(self, commit_a: str, commit_b: str) -> str:
        """The range after one commit up to another."""
        return f"{commit_a}..{commit_b}"

    def get_new_range_spec(self, latest_result: str, branch: str | None = None) -> str:
        """The range after a commit up to the newest of a branch."""
        return f"{latest_result}..{self.get_branch_name(branch)}"

    def get_hashes_from_range(self, range: str) -> list[str]:  # ASV's name
        """The commit ids of a range, newest first.

        Raises:
            UserError: The range cannot be understood. ASV would show a traceback for `NoSuchNameError` here.
        """
        try:
            return self.history.range(range)
        except UsageError as error:
            raise UserError(str(error)) from error

    def pull(self) -> None:
        """Nothing: `harness releases refresh` brings the line up to date, on purpose only."""

    def checkout(self, path: str, commit_hash: str) -> None:
        """Nothing: releases are installed, not built from a working tree."""
