"""Every test has its own home, cache and terminal; only the downloads of real packages are shared."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.paths import cache_dir

# A shell starts what it puts into the background with SIGINT ignored, and children inherit that: Ctrl-C could not be
# tested there.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Where real torch environments of the tests live: the user's own cache, so that nothing is downloaded twice.
SHARED_CACHE = cache_dir()


@pytest.fixture(autouse=True)
def isolation(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HARNESS_CACHE", str(home / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    # pyenv lives in the real home
    monkeypatch.setenv("PYENV_ROOT", os.environ.get("PYENV_ROOT", str(Path("~/.pyenv").expanduser())))
    for name in list(os.environ):
        if name.startswith(("OMP_", "MKL_", "XDG_")):
            monkeypatch.delenv(name)


@pytest.fixture
def shared_cache(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, for tests that install real torch."""
    monkeypatch.setenv("HARNESS_CACHE", str(SHARED_CACHE))
    return SHARED_CACHE
