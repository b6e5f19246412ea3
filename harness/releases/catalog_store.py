"""The last catalogue of each source on disk: small JSON that loads in milliseconds, without the parser of pages."""

from __future__ import annotations

import contextlib
import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.cells.wheels import OfferedFile
from harness.errors import StorageError
from harness.jsonio import canonical, write_atomic
from harness.releases.sources import Source

__all__ = [
    "FAILURE_AGE",
    "Stored",
    "read_failure",
    "read_stored",
    "stored_path",
    "write_failure",
    "write_stored",
]

log = logging.getLogger(__name__)

# 1: first form.
SCHEMA = 1

#: How long an index that could not be read is left alone, so that a dead one does not delay every command.
FAILURE_AGE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Stored:
    """What a source offered, and when it was read."""

    files: tuple[OfferedFile, ...]
    read_at: datetime


def stored_path(cache: Path, subject: str, source: Source) -> Path:
    """Where the catalogue of a source is kept."""
    return cache / "catalogues" / subject / f"{source.label}-{source.key}.json"


def write_stored(cache: Path, subject: str, source: Source, stored: Stored) -> None:
    """Keeps a catalogue; a cache that cannot be written is a warning, for the catalogue is in memory all the same."""
    document = {
        "schema": SCHEMA,
        "subject": subject,
        "label": source.label,
        "read_at": stored.read_at.isoformat(),
        "files": [_row(file) for file in stored.files],
    }
    try:
        write_atomic(stored_path(cache, subject, source), canonical(document) + "\n")
    except StorageError as error:
        log.warning("the catalogue of %s is not kept for the next time: %s", subject, error.what)


def read_stored(cache: Path, subject: str, source: Source) -> Stored | None:
    """The catalogue kept for a source; None where there is none, or where the file is not what was written."""
    path = stored_path(cache, subject, source)
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read and is left aside: %s", path, error)
        return None
    try:
        if document["schema"] != SCHEMA or document["subject"] != subject:
            log.warning("%s is of another version of the harness and is left aside", path)
            return None
        read_at = datetime.fromisoformat(document["read_at"]).astimezone(UTC)
        return Stored(tuple(_file(row, source.label) for row in document["files"]), read_at)
    except (KeyError, TypeError, ValueError) as error:
        log.warning("%s is damaged and is left aside: %r", path, error)
        return None


def write_failure(cache: Path, subject: str, source: Source, cause: str, moment: datetime) -> None:
    """Remembers why a source could not be read."""
    path = stored_path(cache, subject, source).with_suffix(".failure.json")
    with contextlib.suppress(StorageError):
        write_atomic(path, canonical({"cause": cause, "at": moment.isoformat()}) + "\n")


def read_failure(cache: Path, subject: str, source: Source, moment: datetime) -> str | None:
    """Why a source could not be read a moment ago; None when it was not tried lately."""
    path = stored_path(cache, subject, source).with_suffix(".failure.json")
    try:
        document = json.loads(path.read_bytes())
        age = moment - datetime.fromisoformat(document["at"])
        return str(document["cause"]) if timedelta(0) <= age < FAILURE_AGE else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _row(file: OfferedFile) -> list[Any]:
    return [
        file.filename,
        file.version,
        file.url,
        file.size,
        file.uploaded.isoformat() if file.uploaded else None,
        file.sha256,
        file.requires_python,
        file.yanked,
    ]


def _file(row: list[Any], label: str) -> OfferedFile:
    filename, version, url, size, uploaded, sha256, requires_python, yanked = row
    if not (isinstance(filename, str) and isinstance(version, str) and isinstance(url, str)):
        msg = f"not a file: {row!r}"
        raise TypeError(msg)
    return OfferedFile(
        filename=filename,
        version=version,
        source=label,
        url=url,
        size=size,
        uploaded=datetime.fromisoformat(uploaded) if uploaded else None,
        sha256=sha256,
        requires_python=requires_python,
        yanked=yanked,
    )
