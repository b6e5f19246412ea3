from __future__ import annotations

from pathlib import Path

import pytest

from harness.environments.pythons import installed_pythons
from harness.errors import UsageError
from harness.paths import cache_dir, home_dir


def test_a_user_whom_the_system_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.delenv("PYENV_ROOT")
    assert home_dir() == Path("/")
    assert installed_pythons() is not None


def test_no_home_and_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_CACHE")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(UsageError) as error:
        cache_dir()
    assert "HARNESS_CACHE" in error.value.next_step
