"""Folders for a moment, in the cache: what a killed process leaves there is swept by the next one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["scratch"]

#: Longer than anything that uses such a folder may take: an older one is nobody's.
_MAX_AGE = timedelta(days=1)


@contextmanager
def scratch(cache: Path, prefix: str) -> Iterator[Path]:
    """A folder that is gone after the block; in the system's own place where the cache cannot be written.

    Args:
        cache: The user's cache.
        prefix: How its name begins.
    """
    parent = cache / "tmp"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent)
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
    except OSError:
        folder = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


def _sweep(parent: Path) -> None:
    oldest = (datetime.now(UTC) - _MAX_AGE).timestamp()
    for path in parent.iterdir():
        with suppress(OSError):
            if path.lstat().st_mtime < oldest:
                shutil.rmtree(path, ignore_errors=True)
