"""Why an environment of the store is ill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from harness.environments.contents import Fault, faults, installed, site_packages
from harness.environments.manifest import Manifest, read_manifest

__all__ = ["Health", "examine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What was found of one environment.

    Attributes:
        key: Its name in the store.
        path: Where it is.
        cell: The cell that it was built for; empty when its manifest cannot be read.
        reason: Why it is ill, or None.
        damaged: Packages whose files are damaged; uv's cache may have the same files.
    """

    key: str
    path: Path
    cell: str
    reason: str | None
    damaged: tuple[str, ...] = ()


def examine(path: Path, *, deep: bool = False) -> Health:
    """Looks at one environment; what explains most is looked at first.

    Args:
        path: The environment.
        deep: Read every file and compare its hash: as slow as the disk. Otherwise sizes are compared.
    """
    try:
        manifest = read_manifest(path)
    except ValueError as error:
        return Health(key=path.name, path=path, cell="", reason=str(error))
    damaged: list[Fault] = []
    try:
        reason = (
            _name(path, manifest) or _interpreter(path, manifest) or _packages(path, manifest) or _stubs(path, manifest)
        )
        if reason is None:
            found = faults(site_packages(path), deep=deep)
            damaged = [fault for fault in found if fault.file not in manifest.odd_files]
            reason = _listed(damaged)
    except PermissionError as error:
        reason = f"{error.filename or path} cannot be read: {error.strerror or error}"
    except ValueError as error:
        reason = str(error)
    names = tuple(sorted({fault.package for fault in damaged}))
    return Health(key=path.name, path=path, cell=manifest.cell, reason=reason, damaged=names)


def _name(path: Path, manifest: Manifest) -> str | None:
    if manifest.key == path.name:
        return None
    return f"its manifest is that of {manifest.key}: the folder was renamed or copied"


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


def _stubs(path: Path, manifest: Manifest) -> str | None:
    folder = site_packages(path) / "torch" / "lib"
    for name, size in manifest.stubs:
        if not (folder / name).is_file() or (folder / name).stat().st_size != size:
            return f"the stand-in library {name} is missing or is another"
    return None


def _listed(damaged: list[Fault]) -> str | None:
    if not damaged:
        return None
    shown = "; ".join(str(fault) for fault in islice(damaged, 3))
    return shown + (f"; and {len(damaged) - 3} more" if len(damaged) > 3 else "")
