"""Makes a lock real in a folder: a virtual environment by uv, and the stand-ins of a slim one."""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import harness
from harness.cells.cell import Cell
from harness.environments.bytecode import supply_bytecode
from harness.environments.contents import Fault, faults, site_packages
from harness.environments.disk import MARGIN, UNPACKED, added, format_bytes, same_disk, want_free
from harness.environments.manifest import Manifest, write_manifest
from harness.environments.pythons import Interpreter
from harness.environments.stubs import write_stubs
from harness.environments.uv import run_uv, uv_cache_dir, uv_variables, uv_version
from harness.errors import InstallError
from harness.releases.lock import Lock
from harness.releases.sources import Source, index_environment

__all__ = ["Plan", "build"]

log = logging.getLogger(__name__)

# Backends for which uv itself knows where PyTorch keeps its wheels.
_UV_BACKEND = re.compile(r"cpu|cu\d+|rocm[\d.]+|xpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be built.

    Attributes:
        key: The environment's name in the store.
        cell: For which cell.
        lock: What is installed.
        interpreter: With which Python.
        sources: Where files are asked for; what uv's variables say when None.
        bytecode: Where byte code is kept for the next environment with the same packages.
        cached: Hashes of the files that are unpacked in uv's cache already, as far as is known.
        margin: Bytes of disk to leave free.
    """

    key: str
    cell: Cell
    lock: Lock
    interpreter: Interpreter
    bytecode: Path
    sources: Sequence[Source] | None = None
    cached: frozenset[str] = frozenset()
    margin: int = MARGIN


def build(path: Path, plan: Plan) -> Manifest:
    """Builds an environment in a folder that does not exist yet, and writes its manifest last.

    Raises:
        InstallError: The disk is too small, or uv failed; the folder is left half-built.
    """
    started, free = time.monotonic(), shutil.disk_usage(path.parent).free
    _want_disk(path, plan)
    log.info("building %s: %d packages, %s at most to download", plan.cell, len(plan.lock.files), _download(plan))
    variables = _variables(plan)
    lock_file = path / "requirements.txt"
    # Relocatable: the environment is published by a rename, and its scripts must find their Python then.
    venv = ["venv", "--quiet", "--no-project", "--no-python-downloads", "--relocatable"]
    python = ["--python", str(plan.interpreter.path)]
    doing = f"making a virtual environment for {plan.cell}"
    run_uv([*venv, *python, path], doing, variables=variables, cwd=path.parent)
    lock_file.write_text(plan.lock.requirements(), encoding="utf-8")
    sync = _sync(path, plan, lock_file)
    doing = f"installing {plan.cell}"
    run_uv(sync, doing, variables=variables, cwd=path.parent)
    odd = _odd(path)
    # Wheels of torch up to 1.12 have a METADATA that was rewritten after their RECORD: that is no damage, and fetching
    # 800 MB again would not mend it.
    damaged = [fault for fault in odd if ".dist-info/" not in fault.file]
    if damaged:
        # Files are hard links into uv's cache: what is damaged there is damaged here, until it is unpacked anew.
        names = sorted({fault.package for fault in damaged})
        log.warning("damaged in uv's cache, fetched again: %s (%s)", ", ".join(names), damaged[0])
        run_uv(["cache", "clean", *names], f"cleaning uv's cache of {', '.join(names)}", variables=variables)
        again = [arg for name in names for arg in ("--reinstall-package", name)]
        run_uv([*sync, *again], doing, variables=variables, cwd=path.parent)
        odd = _odd(path)
    packages = site_packages(path)
    supply_bytecode(plan.bytecode, packages, path / "bin" / "python", plan.interpreter, plan.lock)
    stubs = write_stubs(packages).libraries if plan.cell.slim else ()
    return _describe(path, plan, odd, [(s.soname, s.size) for s in stubs], free, started)


def _odd(path: Path) -> list[Fault]:
    try:
        return list(faults(site_packages(path)))
    except (FileNotFoundError, ValueError) as error:
        raise InstallError(str(error), why="uv left a broken environment", next_step="run it again with -v") from error


def _sync(path: Path, plan: Plan, lock_file: Path) -> list[str | Path]:
    args: list[str | Path] = ["pip", "sync", "--quiet", "--python", path / "bin" / "python", "--require-hashes"]
    args += ["--link-mode", "hardlink", "--allow-empty-requirements"]
    # The hashes say which file is meant, so it does not matter which index has it.
    args += ["--index-strategy", "unsafe-best-match"]
    source = [file.name for file in plan.lock.files if not file.filename.endswith(".whl")]
    if not source:
        args.append("--no-build")
    elif plan.cell.build:
        # uv's cache does not know that a build depends on variables.
        args += [arg for name in source for arg in ("--refresh-package", name)]
    if plan.sources is None and _UV_BACKEND.fullmatch(plan.lock.index):
        args += ["--torch-backend", plan.lock.index]
    return [*args, lock_file]


def _variables(plan: Plan) -> Mapping[str, str]:
    variables = uv_variables() | dict(plan.cell.build)
    return variables if plan.sources is None else index_environment(plan.sources, variables)


def _missing(plan: Plan) -> int:
    return sum(file.size for file in plan.lock.files if file.sha256 not in plan.cached)


def _download(plan: Plan) -> str:
    return format_bytes(_missing(plan))


def _want_disk(path: Path, plan: Plan) -> None:
    cache = uv_cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    unpacked = int(_missing(plan) * UNPACKED)
    if same_disk(cache, path.parent):
        want_free(cache, unpacked + plan.margin, f"installing {plan.cell}")
        return
    # No hard links between two disks: everything is there twice.
    log.warning("%s and %s are on two disks: files are copied instead of linked", cache, path.parent)
    want_free(cache, unpacked + plan.margin, f"downloading {plan.cell}")
    want_free(path.parent, int(plan.lock.size * UNPACKED) + plan.margin, f"installing {plan.cell}")


def _describe(
    path: Path, plan: Plan, odd: list[Fault], stubs: list[tuple[str, int]], free: int, started: float
) -> Manifest:
    seconds = time.monotonic() - started
    size, disk = added(path, free)
    manifest = Manifest(
        key=plan.key,
        cell=plan.cell.but(env=(), flags=()).id,
        lock=plan.lock,
        python=str(plan.interpreter.path),
        python_version=plan.interpreter.version,
        image=plan.cell.image,
        build=plan.cell.build,
        stubs=tuple(stubs),
        odd_files=tuple(sorted(fault.file for fault in odd)),
        size=size,
        disk=disk,
        seconds=round(seconds, 3),
        built_at=datetime.now(UTC).isoformat(timespec="seconds"),
        uv=uv_version(),
        harness=harness.__version__,
    )
    write_manifest(path, manifest)
    log.info("built %s in %.1f s: %s, of which %s are new", plan.cell, seconds, format_bytes(size), format_bytes(disk))
    return manifest
