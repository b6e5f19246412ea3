"""From uv's `pylock.toml` to the files of a lock: of each package the one that an installer would take."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from harness.cells.wheels import OfferedFile, Target, best_wheel
from harness.errors import ResolveError
from harness.releases.lock import LockedFile

__all__ = ["locked_files"]


def locked_files(text: str, target: Target, *, sizes: Mapping[str, int], label: str) -> tuple[LockedFile, ...]:
    """The files to install, sorted by name.

    Args:
        text: The `pylock.toml` that uv wrote for one Python and platform.
        target: What the files must fit: of several wheels of a package the best is taken.
        sizes: Bytes by file name, for indexes whose pages carry none.
        label: What errors call the whole.

    Raises:
        ResolveError: A package has no file with a SHA-256.
    """
    files = [_locked(package, target, sizes, label) for package in tomllib.loads(text).get("packages", [])]
    return tuple(sorted(files))


def _locked(package: Mapping[str, Any], target: Target, sizes: Mapping[str, int], label: str) -> LockedFile:
    name, version = canonicalize_name(package["name"]), str(package.get("version", ""))
    entry = _best(package, name, version, target)
    if entry is None:
        what = f"{label}: {name} {version} has neither a wheel that fits nor a source archive"
        raise ResolveError(what, next_step="name another version of it in the cell's packages")
    filename = _filename(entry)
    local = _local_path(entry)
    sha256 = entry.get("hashes", {}).get("sha256") or (local and _hash(local))
    if not sha256:
        what = f"{label}: the index gives no SHA-256 for {filename}, and a lock must name exact files"
        raise ResolveError(
            what, next_step="download the file into a folder and name the folder in UV_FIND_LINKS, or use another index"
        )
    size = entry.get("size") or (local.stat().st_size if local else sizes.get(filename, 0))
    return LockedFile(name=name, version=version, filename=filename, sha256=sha256, size=size)


def _best(package: Mapping[str, Any], name: str, version: str, target: Target) -> Mapping[str, Any] | None:
    wheels = {_filename(entry): entry for entry in package.get("wheels", ())}
    offered = [
        OfferedFile(filename=filename, version=version, source=name, url="")
        for filename in sorted(wheels, reverse=True)
    ]
    chosen = best_wheel(offered, target)
    entry: Mapping[str, Any] | None = wheels[chosen.filename] if chosen else package.get("sdist")
    return entry


def _filename(entry: Mapping[str, Any]) -> str:
    if "name" in entry:
        return str(entry["name"])
    return unquote(urlsplit(str(entry.get("url") or entry.get("path"))).path.rpartition("/")[2])


def _local_path(entry: Mapping[str, Any]) -> Path | None:
    url = str(entry.get("url", ""))
    path = Path(unquote(urlsplit(url).path)) if url.startswith("file:") else Path(str(entry.get("path", "")))
    return path if path.is_file() else None


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
