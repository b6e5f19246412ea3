from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from harness.cells.cell import parse_cell_id
from harness.cells.wheels import OfferedFile, Target
from harness.errors import ConfigurationError, ResolveError
from harness.releases import locks as module
from harness.releases.lock import Lock, LockedFile
from harness.releases.lockfile import StoredLock, lock_path, read_lock, write_lock
from harness.releases.locks import LockState, check_lock, differences, lock_for, misfits, orphans, update_lock
from harness.releases.resolve import RUNNER, Request
from harness.releases.uv import Uv

TODAY = date(2026, 11, 29)
WHEEL = "torch-1.12.1-cp310-cp310-manylinux1_x86_64.whl"
OFFER = OfferedFile(
    filename=WHEEL, version="1.12.1", source="default", url="", uploaded=datetime(2022, 8, 5, tzinfo=UTC)
)


def locked(name: str, version: str, filename: str = "", sha: str = "a") -> LockedFile:
    return LockedFile(
        name=name, version=version, filename=filename or f"{name}-{version}-py3-none-any.whl", sha256=sha * 64
    )


LOCK = Lock(
    python="3.10",
    platform="x86_64-manylinux_2_36",
    index="default",
    as_of="2022-09-04",
    slim=False,
    files=(locked("numpy", "1.23.2"), locked("torch", "1.12.1", WHEEL)),
)
CELL = "torch1.12.1-py3.10-default"
STORED = StoredLock(cell=CELL, requirements=(RUNNER, "numpy"), lock=LOCK)


def request(
    cell: str = CELL, *, glibc=(2, 36), requirements=("numpy",), offers=(OFFER,), days_after: int = 30
) -> Request:
    parsed = parse_cell_id(cell)
    target = Target(python=parsed.python_minor, glibc=glibc, machine="x86_64")
    return Request(cell=parsed, target=target, offers=offers, requirements=requirements, days_after=days_after)


@pytest.fixture
def uv(tmp_path: Path) -> Uv:
    return Uv(sources=(), cache=tmp_path / "cache", environ={})


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Stands in for uv's resolver and keeps what it was asked; integration tests use the real one."""
    calls: list[dict] = []

    def answer(request: Request, _: Uv, *, as_of: str | None = None, today: date | None = None) -> Lock:
        calls.append({"request": request, "as_of": as_of, "today": today})
        return replace(LOCK, as_of="2022-09-04" if as_of is None else as_of)

    monkeypatch.setattr(module, "resolve", answer)
    return calls


class TestMisfits:
    @pytest.mark.parametrize(
        ("asked", "reason"),
        [
            (request("torch1.13.0-py3.10-default"), "it does not install torch 1.13.0"),
            (request("torch1.12.1-py3.11-default"), "it is for Python 3.10, wanted is 3.11"),
            (request("torch1.12.1-py3.10-default+slim"), "it is not slim"),
            (request(requirements=("numpy", "setuptools<70")), "it is now asked with setuptools<70"),
            (request(requirements=()), "it is now asked without numpy"),
            (request("torch1.12.1-py3.10-default+@2022-09-05"), "as of 2022-09-04, wanted is 2022-09-05"),
            (request(days_after=20), "as of 2022-09-04, wanted is 2022-08-25"),
            (request(glibc=(2, 4)), f"{WHEEL} does not run on this target"),
        ],
    )
    def test_reasons(self, asked: Request, reason: str):
        assert any(reason in found for found in misfits(STORED, asked, TODAY)), misfits(STORED, asked, TODAY)

    @pytest.mark.parametrize(
        "asked",
        [
            request(),
            request(glibc=(2, 17)),
            request(glibc=(2, 40)),
            request("torch1.12.1-py3.10-default+OMP_NUM_THREADS=1"),
            request(offers=()),
        ],
    )
    def test_what_it_serves(self, asked: Request):
        assert misfits(STORED, asked, TODAY) == []

    def test_a_lock_made_in_the_first_days_stays(self):
        young = replace(STORED, lock=replace(LOCK, as_of="2022-08-10"))
        assert misfits(young, request(), TODAY) == []

    def test_a_lock_without_a_date_is_old_once_the_release_has_one(self):
        undated = replace(STORED, lock=replace(LOCK, as_of=""))
        assert misfits(undated, request(), TODAY) == ["its packages are as of no date, wanted is 2022-09-04"]

    def test_a_check_may_be_done_on_another_machine(self):
        assert misfits(STORED, request(glibc=(2, 4)), TODAY, anywhere=True) == []


class TestDifferences:
    def test_each_is_named(self):
        new = replace(
            LOCK,
            index="cpu",
            files=(locked("numpy", "1.23.3"), locked("torch", "1.12.1", WHEEL, "b"), locked("z", "1")),
        )
        assert differences(LOCK, new) == [
            "numpy 1.23.2 is now 1.23.3",
            f"torch 1.12.1 is another file: {WHEEL}, now {WHEEL}",
            "z 1 is new",
            "index 'default' is now 'cpu'",
        ]
        assert "z 1 is gone" in differences(new, LOCK)

    def test_equal_locks_have_none(self):
        assert differences(LOCK, LOCK) == []


class TestLockFor:
    def test_the_committed_lock_is_taken_without_resolving(self, tmp_path, uv, resolver):
        write_lock(lock_path(tmp_path, parse_cell_id(CELL)), STORED)
        assert lock_for(request(), uv, locks=tmp_path, today=TODAY) == LOCK
        assert lock_for(request(f"{CELL}+OMP_NUM_THREADS=1"), uv, locks=tmp_path, today=TODAY) == LOCK
        assert resolver == []

    def test_a_committed_lock_that_does_not_fit_is_passed_over(self, tmp_path, uv, resolver):
        path = lock_path(tmp_path, parse_cell_id(CELL))
        write_lock(path, replace(STORED, requirements=(RUNNER, "pandas")))
        lock_for(request(), uv, locks=tmp_path, today=TODAY)
        assert len(resolver) == 1
        assert read_lock(path).requirements == (RUNNER, "pandas")

    @pytest.mark.usefixtures("resolver")
    def test_a_damaged_committed_lock_is_an_error(self, tmp_path, uv):
        path = lock_path(tmp_path, parse_cell_id(CELL))
        path.write_text("schema = 1")
        with pytest.raises(ConfigurationError, match=path.name):
            lock_for(request(), uv, locks=tmp_path, today=TODAY)

    def test_a_new_lock_is_kept_in_the_cache(self, tmp_path, uv, resolver):
        for _ in range(2):
            assert lock_for(request(), uv, locks=tmp_path, today=TODAY) == LOCK
        assert len(resolver) == 1
        lock_for(request(glibc=(2, 17)), uv, locks=tmp_path, today=TODAY)
        assert len(resolver) == 2
        assert not list(tmp_path.glob("*.lock"))

    def test_a_damaged_cached_lock_is_resolved_again(self, tmp_path, uv, resolver):
        lock_for(request(), uv, locks=tmp_path, today=TODAY)
        (cached,) = uv.cache.rglob("*.lock")
        cached.write_text("rubbish")
        assert lock_for(request(), uv, locks=tmp_path, today=TODAY) == LOCK
        assert len(resolver) == 2
        assert read_lock(cached).lock == LOCK

    @pytest.mark.usefixtures("resolver")
    def test_a_cache_that_cannot_be_written_does_not_matter(self, tmp_path, uv):
        uv.cache.write_text("a file")
        assert lock_for(request(), uv, locks=tmp_path, today=TODAY) == LOCK


class TestUpdateAndCheck:
    @pytest.mark.usefixtures("resolver")
    def test_an_update_writes_each_lock_once(self, tmp_path, uv):
        asked = [request(), request(f"{CELL}+OMP_NUM_THREADS=1")]
        updated = [update_lock(one, uv, locks=tmp_path, today=TODAY) for one in asked]
        path = lock_path(tmp_path, parse_cell_id(CELL))
        assert updated == [(path, True), (path, False)]
        assert read_lock(lock_path(tmp_path, parse_cell_id(CELL))).cell == CELL

    def test_an_update_keeps_date_and_platform_of_a_lock_that_fits(self, tmp_path, uv, resolver):
        young = replace(STORED, lock=replace(LOCK, as_of="2022-08-10", platform="x86_64-manylinux_2_31"))
        write_lock(lock_path(tmp_path, parse_cell_id(CELL)), young)
        update_lock(request(), uv, locks=tmp_path, today=TODAY)
        assert resolver[0]["as_of"] == "2022-08-10"
        assert resolver[0]["request"].target.glibc == (2, 31)

    @pytest.mark.usefixtures("resolver")
    def test_an_update_replaces_damage(self, tmp_path, uv):
        path = lock_path(tmp_path, parse_cell_id(CELL))
        path.write_text("rubbish")
        assert update_lock(request(), uv, locks=tmp_path, today=TODAY) == (path, True)

    @pytest.mark.usefixtures("resolver")
    def test_a_check_tells_every_state(self, tmp_path, uv, monkeypatch):
        path = lock_path(tmp_path, parse_cell_id(CELL))
        orphan = tmp_path / "torch1.0.0-py3.8-default.lock"

        def check(*asked: Request) -> list[tuple[LockState, str]]:
            checks = [check_lock(one, uv, locks=tmp_path, today=TODAY) for one in asked]
            return [(c.state, " ".join(c.details)) for c in (*checks, *orphans(tmp_path, checks))]

        assert check(request()) == [(LockState.MISSING, f"{CELL} has no lock")]
        write_lock(path, STORED)
        write_lock(orphan, STORED)
        assert check(request()) == [
            (LockState.CURRENT, ""),
            (LockState.ORPHAN, "no profile has a cell with this lock"),
        ]
        orphan.unlink()
        assert check(request(requirements=()))[0] == (LockState.STALE, "it is now asked without numpy")
        changed = replace(LOCK, files=(locked("numpy", "1.0"), *LOCK.files[1:]))
        write_lock(path, replace(STORED, lock=changed))
        assert check(request())[0] == (LockState.STALE, "numpy 1.0 is now 1.23.2")

        def fail(*_, **__):
            what = "no index answers"
            raise ResolveError(what)

        monkeypatch.setattr(module, "resolve", fail)
        assert check(request())[0] == (LockState.UNKNOWN, "no index answers")

    def test_a_check_resolves_for_the_platform_of_the_lock(self, tmp_path, uv, resolver):
        write_lock(lock_path(tmp_path, parse_cell_id(CELL)), STORED)
        found = check_lock(request(glibc=(2, 17)), uv, locks=tmp_path, today=TODAY)
        assert found.state is LockState.CURRENT
        assert resolver[0]["request"].target.glibc == (2, 36)
