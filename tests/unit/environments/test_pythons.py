from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.environments import pythons
from harness.environments.pythons import find_python, installed_pythons
from harness.errors import InstallError, UsageError

RUNNING = ".".join(map(str, sys.version_info[:3]))
MINOR = ".".join(map(str, sys.version_info[:2]))


def test_finds_this_python_by_minor_and_by_exact_version():
    by_minor, exact = find_python(MINOR), find_python(RUNNING)
    assert by_minor.version.startswith(f"{MINOR}.")
    assert exact.version == RUNNING
    assert exact.path.is_file()
    assert not exact.path.is_symlink()
    assert find_python(RUNNING) is exact


def test_a_virtual_environment_is_not_taken_for_a_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert Path(sys.prefix) not in find_python(RUNNING).path.parents


@pytest.mark.parametrize("request_", ["3", "2.7", "python3.11", "3.11.x", "", "3.11tt", "--help"])
def test_request_that_is_not_a_python(request_: str):
    with pytest.raises(UsageError, match="not a Python that a cell can name"):
        find_python(request_)


def test_python_that_cannot_be_had_is_named_with_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mirror = tmp_path / "no-such-mirror"
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", mirror.as_uri())
    with pytest.raises(InstallError) as caught:
        find_python("3.8.1")
    assert caught.value.what == "this machine has no Python 3.8.1, and it cannot be fetched"
    assert "uv failed while fetching Python 3.8.1" in caught.value.why
    assert "pyenv install 3.8.1" in caught.value.next_step


def test_without_fetching_nothing_is_tried(monkeypatch: pytest.MonkeyPatch):
    asked = []
    real = pythons.run_uv
    monkeypatch.setattr(pythons, "run_uv", lambda args, *rest, **kw: asked.append(args[1]) or real(args, *rest, **kw))
    for _ in range(2):
        with pytest.raises(InstallError, match=r"^this machine has no Python 3\.8\.2\n"):
            find_python("3.8.2", fetch=False)
    assert asked == ["find"], "asked once, found missing, kept"


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_cache_that_cannot_be_is_not_an_absent_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / place))
    pythons._find.cache_clear()
    with pytest.raises(InstallError, match=rf"^uv failed while looking for Python {re.escape(RUNNING)}") as caught:
        find_python(RUNNING)
    pythons._find.cache_clear()
    assert "is a file" in caught.value.why
    assert "HARNESS_CACHE" in caught.value.next_step


@pytest.fixture
def pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pyenv with shims that fail, as they do for versions that are not selected, and programs that tell on uv."""
    root = tmp_path / "pyenv"
    (root / "shims").mkdir(parents=True)
    for name in ("python3", f"python{MINOR}"):
        (root / "shims" / name).write_text("#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n")
        (root / "shims" / name).chmod(0o755)
    for version in ("2.7.18", "3.6.15", f"{MINOR}.0", "3.13.1t", "pypy3.10-7.3"):
        bin_ = root / "versions" / version / "bin"
        bin_.mkdir(parents=True)
        (bin_ / "python").touch()
    (root / "versions" / "3.7.99").mkdir()  # an installation that failed
    monkeypatch.setenv("PYENV_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{root / 'shims'}:/usr/bin:/bin")
    return root


def test_shims_are_passed_over_and_the_versions_behind_them_are_seen(pyenv: Path):
    real = pyenv / "versions" / f"{MINOR}.0" / "bin" / "python"
    real.unlink()
    real.symlink_to(sys._base_executable if hasattr(sys, "_base_executable") else sys.executable)
    assert find_python(MINOR).version == RUNNING


def test_installed_are_known_by_their_names(pyenv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    managed = tmp_path / "managed"
    for name in ("cpython-3.14.2-linux-x86_64-gnu", "cpython-3.14.2+freethreaded-linux-x86_64-gnu", "pypy-3.9-linux"):
        (managed / name).mkdir(parents=True)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("python3.9", "python3.5-config", "python3.99"):
        (programs / name).touch(mode=0o755 if name != "python3.99" else 0o644)
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(managed))
    monkeypatch.setenv("PATH", f"{pyenv / 'shims'}:{programs}:{tmp_path / 'missing'}")
    assert installed_pythons() == {"3.6", MINOR, "3.13t", "3.14", "3.14t", "3.9"}
