"""Canonical JSON, digests, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from harness.errors import StorageError

__all__ = ["canonical", "digest", "write_atomic", "write_json"]


def canonical(value: Any) -> str:
    """One text per value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes a file beside its place, syncs it, and renames it there.

    What is no text in a text, such as half of a file's name that an error quotes, is written as an escape.

    Raises:
        StorageError: The folder cannot be written or the disk is full; what stood there before still stands.
    """
    data = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        what = f"{path} cannot be written: {error.strerror or error}"
        raise StorageError(
            what, next_step="free some space or mend the folder's permissions, then run the same command again"
        ) from error


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON with sorted keys, whole or not at all."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
