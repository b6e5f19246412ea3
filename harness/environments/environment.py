"""An environment: a lock made real, and how a measured process is started in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.releases.lock import Lock

__all__ = ["Environment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A lock made real.

    Attributes:
        key: Its name in the store: a digest of lock, exact Python, image and build variables.
        path: The virtual environment.
        lock: What it was made from.
        python_version: The exact version of its interpreter (`3.11.7`).
        disk: Bytes that it added to the disk when it was built.
        seconds: How long the build took.
    """

    key: str
    path: Path
    lock: Lock
    python_version: str
    disk: int = 0
    seconds: float = 0.0

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path / "bin" / "python"
