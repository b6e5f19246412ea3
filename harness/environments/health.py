"""Why an environment of the store is ill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from harness.environments.contents import faults, installed, site_packages
from harness.environments.manifest import Manifest, read_manifest

if TYPE_CHECKING:
    from harness.environments.store import Store

__all__ = ["Health", "check", "why_ill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What was found of one environment.

    Attributes:
        key: Its name in the store.
        path: Where it is.
        cell: The cell that it was built for; empty when its manifest cannot be read.
        reason: Why it is ill, or None.
    """

    key: str
    path: Path
    cell: str
    reason: str | None


def check(store: Store, *, deep: bool = False) -> tuple[Health, ...]:
    """Looks at every environment of a store."""
    found = []
    for path in store.paths():
        try:
            manifest = read_manifest(path)
        except ValueError as error:
            found.append(Health(key=path.name, path=path, cell="", reason=str(error)))
            continue
        reason = why_ill(path, manifest, deep=deep)
        found.append(Health(key=path.name, path=path, cell=manifest.cell, reason=reason))
    return tuple(found)


def why_ill(path: Path, manifest: Manifest, *, deep: bool = False) -> str | None:
    """The first thing that is wrong with an environment, or None; what explains most is looked at first."""
    if manifest.key != path.name:
        return f"its manifest is that of {manifest.key}: the folder was renamed or copied"
    return _interpreter(path, manifest) or _packages(path, manifest) or _files(path, manifest, deep)


def _interpreter(path: Path, manifest: Manifest) -> str | None:
    python = path / "bin" / "python"
    if not python.is_symlink() and not python.exists():
        return "bin/python is missing"
    if not python.exists():
        return f"its interpreter {manifest.python} is gone"
    try:
        lines = (path / "pyvenv.cfg").read_text("utf-8").splitlines()
    except OSError as error:
        return f"pyvenv.cfg cannot be read: {error.strerror or error}"
    settings = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = settings.get("version_info", "").split("+")[0]
    if version != manifest.python_version.rstrip("t"):
        return f"pyvenv.cfg says Python {version or 'nothing'}, and it was built with {manifest.python_version}"
    return None


def _packages(path: Path, manifest: Manifest) -> str | None:
    try:
        found = {name: Version(version) for name, version in installed(site_packages(path))}
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    locked = {str(canonicalize_name(file.name)): Version(file.version) for file in manifest.lock.files}
    if missing := sorted(locked.keys() - found.keys()):
        return f"packages of its lock are missing: {', '.join(missing)}"
    if strangers := sorted(found.keys() - locked.keys()):
        return f"packages were added that its lock does not have: {', '.join(strangers)}"
    for name, version in sorted(locked.items()):
        if found[name] != version:
            return f"{name} is {found[name]} and its lock says {version}"
    return None


def _files(path: Path, manifest: Manifest, deep: bool) -> str | None:
    folder = site_packages(path)
    for name, size in manifest.stubs:
        stub = folder / "torch" / "lib" / name
        if not stub.is_file() or stub.stat().st_size != size:
            return f"the stand-in library {name} is missing or is another"
    try:
        wrong = [fault for fault in faults(folder, deep=deep) if fault.file not in manifest.odd_files]
    except ValueError as error:
        return str(error)
    if not wrong:
        return None
    shown = "; ".join(str(fault) for fault in islice(wrong, 3))
    return shown + (f"; and {len(wrong) - 3} more" if len(wrong) > 3 else "")
