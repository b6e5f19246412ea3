"""A cache that belongs to another user."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.environments.locking import is_free, shared
from harness.environments.store import Store
from harness.errors import InstallError

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not below the folder of the tests, which nobody else may enter.
    path = Path(tempfile.mkdtemp(prefix="harness-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@contextmanager
def another_user() -> Iterator[None]:
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_lock_of_another_user(folder: Path) -> None:
    path = folder / "x.lock"
    path.touch(mode=0o644)
    with another_user():
        assert is_free(path)
        assert is_free(folder / "none.lock")
    with shared(path), another_user():
        assert not is_free(path)
    path.chmod(0o600)
    with another_user():
        assert not is_free(path), "nobody can say"


def test_a_store_of_another_user(folder: Path) -> None:
    store = Store(folder / "environments")
    store.prepare()
    closed = store.root / ("0" * 32)
    closed.mkdir(mode=0o700)
    store.lock(closed.name).touch(mode=0o600)
    with another_user():
        [entry] = store.list()
        [health] = store.check()
        with pytest.raises(InstallError, match="Permission denied"):
            store.prune(0)
    assert "cannot be read" in entry.why_ill
    assert "cannot be read" in (health.reason or "")
    store.root.chmod(0o700)
    with another_user(), pytest.raises(InstallError, match="cannot be read: Permission denied"):
        store.list()
