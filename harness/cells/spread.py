"""Some releases of a line that stand for all of it: what is asked of each of them would take too long of every one."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from harness.cells.terms import nearest_releases
from harness.errors import ResolveError

__all__ = ["spread"]


def spread(line: Sequence[str], first: str, last: str, *, limit: int | None) -> list[str]:
    """The releases from one to another, both included.

    Args:
        line: Stable releases, oldest first.
        first: The oldest wanted; one of the line.
        last: The newest wanted; one of the line.
        limit: At most so many: the last release of each minor version, evenly thinned out. None for every release.

    Raises:
        ResolveError: The first is newer than the last, or one of them is not in the line.
    """
    for release in (first, last):
        if release not in line:
            what = f"{release} is not a stable release of the line"
            raise ResolveError(what, why=f"near it are {' and '.join(nearest_releases(release, line))}")
    between = list(line[line.index(first) : line.index(last) + 1])
    if not between:
        what = f"{first} is newer than {last}"
        raise ResolveError(what, next_step=f"turn them round: --from {last} --to {first}")
    if limit is None:
        return between
    # The line is ordered, so that the last one of a minor stays.
    minors = {Version(release).release[:2]: release for release in between}
    minors[Version(last).release[:2]] = last
    kept = [first, *(release for release in minors.values() if release != first)]
    return _thinned(kept, limit)


def _thinned(releases: Sequence[str], limit: int) -> list[str]:
    count = len(releases)
    if count <= limit or limit < 2:
        return list(releases)
    return [releases[round(number * (count - 1) / (limit - 1))] for number in range(limit)]
