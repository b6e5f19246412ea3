"""Byte code of installed packages, compiled once and hard-linked ever after.

Compiling torch's 5,000 modules takes ten times longer than linking all of its files, and gives the same byte code in
every environment with the same Python. It is kept per wheel and interpreter version, and marked as valid whatever the
date of its source (PEP 552, unchecked): the sources of an environment never change, but uv may unpack them anew.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from harness import proc
from harness.environments.contents import records
from harness.environments.pythons import Interpreter
from harness.environments.uv import uv_variables
from harness.errors import InstallError
from harness.releases.lock import Lock

__all__ = ["supply_bytecode", "unused_bytecode"]


def supply_bytecode(kept: Path, packages: Path, python: Path, interpreter: Interpreter, lock: Lock) -> None:
    """Puts byte code beside all modules of an environment.

    Args:
        kept: Where byte code is kept; on the same disk as the environment.
        packages: The environment's site-packages.
        python: The environment's program.
        interpreter: What it is.
        lock: Names the wheel of each package.

    Raises:
        InstallError: The compiler cannot be run.
    """
    # What is built from source depends on more than its hash: variables, the compiler, the day.
    wheels = {str(canonicalize_name(f.name)): f.sha256 for f in lock.files if f.filename.endswith(".whl")}
    fresh: list[tuple[Path | None, list[str]]] = []
    for package, rows in records(packages):
        modules = [row.path for row in rows if row.path.endswith(".py") and not row.path.startswith("..")]
        wheel = wheels.get(str(canonicalize_name(package)))
        folder = kept / interpreter.version / wheel if wheel else None
        if folder is None or not _link_all(folder, packages):
            fresh.append((folder, modules))
    _compile(packages, python, [module for _, modules in fresh for module in modules])
    for folder, modules in fresh:
        if folder is not None:
            _keep(folder, packages, modules)


def unused_bytecode(kept: Path) -> list[Path]:
    """The folders of byte code that no environment has any more: every file has one name only."""
    return [folder for folder in kept.glob("*/*") if all(path.stat().st_nlink == 1 for path in folder.rglob("*.pyc"))]


def _link_all(folder: Path, packages: Path) -> bool:
    if not folder.is_dir():
        return False
    for place, _, names in os.walk(folder):
        target = packages / Path(place).relative_to(folder)
        for name in names:
            target.mkdir(parents=True, exist_ok=True)
            try:
                _link(Path(place, name), target / name)
            except FileNotFoundError:  # pruned meanwhile
                return False
    return True


def _compile(packages: Path, python: Path, modules: Sequence[str]) -> None:
    if not modules:
        return
    options = ["-q", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-i", "-"]
    command: list[str | Path] = [python, "-I", "-m", "compileall", *options]
    try:
        # Some packages ship modules that no Python of this version can read, as test data: the status says nothing.
        proc.run(command, env=uv_variables(), cwd=packages, stdin="".join(f"{m}\n" for m in modules), check=False)
    except proc.CommandError as error:
        what = f"byte code cannot be compiled: {error.reason}"
        raise InstallError(what, next_step="harness env check") from None


def _keep(folder: Path, packages: Path, modules: Sequence[str]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    try:
        for module in modules:
            path = packages / module
            for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
                place = aside / compiled.relative_to(packages)
                place.parent.mkdir(parents=True, exist_ok=True)
                _link(compiled, place)
        # Another process may have been faster: its byte code is the same.
        with contextlib.suppress(OSError):
            aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:  # no hard links here, or too many of this file
        shutil.copy2(source, target)
