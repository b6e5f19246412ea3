"""A lock: the exact files, with hashes, that a cell installs."""

from __future__ import annotations

from dataclasses import dataclass

from harness.jsonio import digest

__all__ = ["Lock", "LockedFile"]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LockedFile:
    """One file of a lock.

    Attributes:
        name: The normalised name of the package.
        version: Its version, with the local part.
        filename: The wheel, or the source archive when there is no wheel.
        sha256: Hexadecimal.
        size: Bytes; 0 where the index did not say.
    """

    name: str
    version: str
    filename: str
    sha256: str
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The exact files that a cell installs; the order is that of names.

    Attributes:
        python: The `major.minor` it was resolved for.
        platform: The platform it was resolved for, as uv names it (`x86_64-manylinux_2_36`).
        index: Where the subject comes from: `default`, `cpu`, `cu126`, `find-links`.
        as_of: The date as of which dependencies were resolved; empty for today's.
        slim: Whether CUDA packages were left out.
        files: What to install.
    """

    python: str
    platform: str
    index: str
    as_of: str
    slim: bool
    files: tuple[LockedFile, ...]

    @property
    def digest(self) -> str:
        """Names the content: two locks that install the same have the same digest."""
        return digest(
            {"python": self.python, "slim": self.slim, "files": [[f.name, f.version, f.sha256] for f in self.files]}
        )

    @property
    def size(self) -> int:
        """Bytes to download into an empty cache."""
        return sum(file.size for file in self.files)

    def version_of(self, name: str) -> str | None:
        """The locked version of a package, or None."""
        return next((file.version for file in self.files if file.name == name), None)

    def requirements(self) -> str:
        """The lock as the requirements that `uv pip sync --require-hashes` takes."""
        # Only `===` tells 1.0 from 1.0+cpu, which a folder of wheels may offer beside it.
        return "".join(f"{f.name}==={f.version} --hash=sha256:{f.sha256}\n" for f in self.files)
