"""The catalogue: every file that the sources offer for a subject, from the network or from the last time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path

from packaging.version import Version

from harness.cells.wheels import OfferedFile
from harness.errors import ResolveError
from harness.releases.catalog_store import Stored, read_failure, read_stored, write_failure, write_stored
from harness.releases.fetch import SourceError, fetch_files
from harness.releases.sources import DEFAULT, Source, SourceKind

__all__ = ["MAX_AGE", "Catalog", "age_text", "load_catalog", "release_date"]

#: How old a catalogue may be before the network is asked again.
MAX_AGE = timedelta(hours=6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What is offered for a subject.

    Attributes:
        subject: The normalised name of the package.
        files: Every file, in the order of the sources.
        read_at: When the oldest part of it was read.
        fresh: Whether every source was read lately enough.
        notes: Sentences about sources that could not be read, and about what is used instead.
    """

    subject: str
    files: tuple[OfferedFile, ...]
    read_at: datetime
    fresh: bool
    notes: tuple[str, ...] = ()
    _by_release: dict[str, list[OfferedFile]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for file in self.files:
            self._by_release.setdefault(_parsed(file.version).public, []).append(file)

    def releases(self, *, pre: bool = False, yanked: bool = False) -> list[str]:
        """The releases on offer, oldest first by version.

        Args:
            pre: Also release candidates and nightlies.
            yanked: Also releases whose every file was withdrawn.
        """
        chosen = [
            release
            for release, files in self._by_release.items()
            if (pre or not _parsed(release).is_prerelease) and (yanked or any(f.yanked is None for f in files))
        ]
        return sorted(chosen, key=_parsed)

    def files_of(self, release: str) -> tuple[OfferedFile, ...]:
        """The files of a release, from every source; none when it is not on offer."""
        return tuple(self._by_release.get(release, ()))

    def date_of(self, release: str) -> datetime | None:
        """When the first file of a release was uploaded; of a nightly, the day in its version; None if nobody says."""
        return release_date(release, self.files_of(release))


def release_date(release: str, files: Iterable[OfferedFile]) -> datetime | None:
    """When a release came out: its earliest upload, or the day that a nightly carries in its version."""
    version = _parsed(release)
    uploads = [file.uploaded for file in files if file.uploaded and _parsed(file.version).public == release]
    if uploads:
        return min(uploads)
    try:
        return datetime.strptime(str(version.dev), "%Y%m%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def load_catalog(
    subject: str,
    sources: Sequence[Source],
    *,
    cache: Path,
    offline: bool = False,
    max_age: timedelta = MAX_AGE,
    timeout: float = 15.0,
    now: datetime | None = None,
) -> Catalog:
    """What the sources offer: from disk while that is fresh, else from the network, else from disk with a note.

    Args:
        subject: The normalised name of a package.
        sources: Where to ask, in order.
        cache: The user's cache folder.
        offline: Whether the network must not be asked.
        max_age: How old a catalogue on disk may be without asking again; zero asks always.
        timeout: Seconds for each source's answer.
        now: The time that ages are counted from.

    Raises:
        ResolveError: Nobody offers the subject, or nothing could be read at all.
    """
    moment = now or datetime.now(UTC)
    read = partial(_read_source, subject, cache=cache, offline=offline, max_age=max_age, timeout=timeout, moment=moment)
    if len(sources) > 1:
        # Side by side: an index that does not answer costs its timeout once.
        with ThreadPoolExecutor(max_workers=8) as pool:
            parts = list(pool.map(read, sources))
    else:
        parts = [read(source) for source in sources]
    parts = _preferred(parts)
    files = tuple(file for part in parts if part.stored for file in part.stored.files)
    notes = tuple(part.note for part in parts if part.note)
    if not files:
        raise _nothing(subject, parts, offline)
    return Catalog(
        subject=subject,
        files=files,
        read_at=min(part.stored.read_at for part in parts if part.stored),
        fresh=all(part.fresh for part in parts),
        notes=notes,
    )


def age_text(age: timedelta) -> str:
    """An age as people say it: `20 minutes`, `3 hours`, `12 days`."""
    minutes = max(0, int(age.total_seconds() // 60))
    for unit, size in (("day", 1440), ("hour", 60)):
        if minutes >= 2 * size:
            return f"{minutes // size} {unit}s"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


@dataclass(frozen=True, slots=True)
class _Part:
    """What one source gave."""

    source: Source
    stored: Stored | None
    fresh: bool
    note: str = ""


def _read_source(
    subject: str,
    source: Source,
    *,
    cache: Path,
    offline: bool,
    max_age: timedelta,
    timeout: float,
    moment: datetime,
) -> _Part:
    if source.kind is SourceKind.FOLDER:
        try:
            return _Part(source, Stored(fetch_files(source, subject), moment), fresh=True)
        except SourceError as error:
            return _Part(source, None, fresh=False, note=f"{error}.")
    stored = read_stored(cache, subject, source)
    # A date in the future is a clock that was set back: ask again.
    if stored and timedelta(0) <= moment - stored.read_at < max_age:
        return _Part(source, stored, fresh=True)
    lately = read_failure(cache, subject, source, moment) if max_age else None
    cause = "not asked, for the network is not to be used" if offline else lately
    if cause is None:
        try:
            stored = Stored(fetch_files(source, subject, timeout=timeout), moment)
        except SourceError as error:
            cause = error.cause
            write_failure(cache, subject, source, cause, moment)
        else:
            write_stored(cache, subject, source, stored)
            return _Part(source, stored, fresh=True)
    if stored is None:
        return _Part(
            source, None, fresh=False, note=f"{source.name}: {cause}, and there is no earlier catalogue of it."
        )
    age = age_text(moment - stored.read_at)
    return _Part(source, stored, fresh=False, note=f"{source.name}: {cause}; its catalogue of {age} ago is used.")


def _preferred(parts: list[_Part]) -> list[_Part]:
    """Leaves out the indexes that uv would not come to, since an earlier one has the package."""
    kept: list[_Part] = []
    closed = False
    for part in parts:
        index = part.source.kind is SourceKind.INDEX and part.source.label == DEFAULT
        if index and closed:
            continue
        kept.append(part)
        closed = closed or bool(index and part.source.exclusive and part.stored and part.stored.files)
    return kept


def _nothing(subject: str, parts: list[_Part], offline: bool) -> ResolveError:
    if all(part.stored for part in parts):
        names = ", ".join(part.source.name for part in parts)
        what = f"nobody offers a package named {subject} (asked: {names})"
        return ResolveError(
            what,
            why="a slip in the name, or an index of your own that uv's variables do not name",
            next_step="mend `subject` in matrix/matrix.toml, or set UV_INDEX to your index",
        )
    causes = " ".join(part.note for part in parts if part.note)
    what = f"what is offered for {subject} is not known. {causes}"
    if offline:
        return ResolveError(
            what,
            why="no catalogue was ever read here",
            next_step="run `harness releases refresh` once while the network can be reached",
        )
    return ResolveError(
        what,
        why="the network or the index is down, or a proxy is needed",
        next_step="try again; UV_DEFAULT_INDEX names another index, UV_FIND_LINKS a folder of wheels",
    )


@lru_cache(maxsize=4096)
def _parsed(version: str) -> Version:
    return Version(version)
