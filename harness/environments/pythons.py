"""Interpreters: found by uv on this machine, or fetched by it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.environments.uv import run_uv, uv_variables
from harness.errors import InstallError, UsageError
from harness.paths import home_dir

__all__ = ["Interpreter", "find_python", "installed_pythons"]

_REQUEST = re.compile(r"(?P<minor>3\.\d+)(?:\.\d+)?(?P<threads>t?)")
# pyenv's folders are `3.10.13` and `3.13.0t`, uv's `cpython-3.13.18+freethreaded-linux-x86_64-gnu`.
_PYENV_FOLDER = re.compile(r"(3)\.(\d+)\.(\d+)(t?)")
_UV_FOLDER = re.compile(r"cpython-(3\.\d+)(?:\.\d+)?(\+freethreaded)?-.*")
# Signs of a uv that could not even look, which says nothing of what is here.
_CANNOT_ASK = re.compile(
    r"initialize cache|No space left|quota exceeded|Read-only file system|cannot be started|not installed"
)
_PROGRAM = re.compile(r"python(3\.\d+t?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python of this machine.

    Attributes:
        path: Its program, with links resolved, so that an update beside it does not change it.
        version: Exact, `3.11.7` or `3.13.2t` for a free-threaded build.
    """

    path: Path
    version: str


def find_python(request: str, *, fetch: bool = True) -> Interpreter:
    """The interpreter for a cell's `3.10`, `3.11.7` or `3.13t`. Found once in the life of this process.

    Args:
        request: As cells name it.
        fetch: Whether uv may download it when this machine has none.

    Raises:
        InstallError: It is not here and cannot be had; names the Python, the cause and what to do.
        UsageError: The request is not a version of Python 3.
    """
    if not _REQUEST.fullmatch(request):
        what = f"{request!r} is not a Python that a cell can name"
        raise UsageError(what, next_step="write one like 3.11, 3.11.7 or 3.13t")
    found = _find(request, fetch, _search_path(request))
    if isinstance(found, InstallError):
        raise InstallError(found.what, why=found.why, next_step=found.next_step)
    return found


# The path is an argument so that a changed PATH or PYENV_ROOT is another question. A failure is kept like an answer:
# planning asks for many cells, and an attempt to download takes its time.
@cache
def _find(request: str, fetch: bool, search_path: str) -> Interpreter | InstallError:
    try:
        return _ask(request, search_path)
    except InstallError as absent:
        if _CANNOT_ASK.search(absent.what):
            return absent
        if not fetch:
            what = f"this machine has no Python {request}"
            return InstallError(what, why=absent.why, next_step=f"uv python install {request}")
    try:
        variables = uv_variables() | {"PATH": search_path}
        run_uv(["python", "install", "--no-config", request], f"fetching Python {request}", variables=variables)
        return _ask(request, search_path)
    except InstallError as error:
        what = f"this machine has no Python {request}, and it cannot be fetched"
        why = "; ".join(part for part in (error.what, error.why) if part)
        next_step = f"install it: pyenv install {request}, or uv python install {request} where there is a network"
        return InstallError(what, why=why, next_step=next_step)


def _ask(request: str, search_path: str) -> Interpreter:
    variables = uv_variables() | {"PATH": search_path}
    # `--system` passes over virtual environments: the harness itself often runs in one.
    ask = ["python", "find", "--system", "--no-project", "--no-config", "--no-python-downloads", request]
    path = run_uv([*ask, "--resolve-links"], f"looking for Python {request}", variables=variables).stdout.strip()
    version = run_uv([*ask, "--show-version"], f"looking at Python {request}", variables=variables).stdout.split()[0]
    threads = "t" if request.endswith("t") else ""
    return Interpreter(path=Path(path), version=version.partition("+")[0].rstrip("t") + threads)


def installed_pythons() -> set[str]:
    """The Pythons that are here, as `3.11` and `3.13t`, by the names of files and folders: no process is started."""
    found = {f"3.{minor}{threads}" for (minor, _, threads), _ in _pyenv_versions()}
    for folder in _children(_managed_root()):
        if match := _UV_FOLDER.fullmatch(folder.name):
            found.add(match[1] + ("t" if match[2] else ""))
    for entry in _path_without_shims():
        for program in _children(Path(entry)):
            if (match := _PROGRAM.fullmatch(program.name)) and os.access(program, os.X_OK):
                found.add(match[1])
    return found


def _search_path(request: str) -> str:
    # pyenv's shims fail for every version that is not selected, and uv gives up at the first failure. So they are
    # left out, and the folders behind them are put in front, newest first, as far as they fit the request.
    match = _REQUEST.fullmatch(request)
    assert match is not None
    minor, threads = int(match["minor"].removeprefix("3.")), match["threads"]
    fitting = [(key, folder) for key, folder in _pyenv_versions() if key[0] == minor and key[2] == threads]
    return os.pathsep.join(
        [*(str(folder / "bin") for _, folder in sorted(fitting, reverse=True)), *_path_without_shims()]
    )


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or home_dir() / ".pyenv")


def _pyenv_versions() -> Iterator[tuple[tuple[int, int, str], Path]]:
    for folder in _children(_pyenv_root() / "versions"):
        match = _PYENV_FOLDER.fullmatch(folder.name)
        if match and (folder / "bin" / "python").exists():
            yield (int(match[2]), int(match[3]), match[4]), folder


def _managed_root() -> Path:
    configured = os.environ.get("UV_PYTHON_INSTALL_DIR")
    data = Path(os.environ.get("XDG_DATA_HOME") or home_dir() / ".local" / "share")
    return Path(configured) if configured else data / "uv" / "python"


def _path_without_shims() -> list[str]:
    shims = str(_pyenv_root() / "shims")
    return [entry for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry and entry != shims]


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
