from __future__ import annotations

import pytest

from harness.inspection.conditions import Look, between, look


def seen(times, *, throttled=None, load=0.5, megahertz=None):
    return Look(load=load, times=times, processors=4, throttled=throttled, megahertz=megahertz)


def test_what_lies_between_two_looks():
    before = seen((100, 0, 50, 800, 50, 0, 0, 0, 30), throttled=1.0)
    # 100 ticks of user, 40 of system, 40 idle, 20 stolen; guests are among the users.
    after = seen((200, 0, 90, 830, 60, 0, 0, 20, 90), throttled=1.5, load=2.0, megahertz=2400.0)
    found = between(before, after)
    assert found.busy == pytest.approx(4 * 140 / 200)
    assert found.stolen == pytest.approx(0.1)
    assert (found.load, found.throttled, found.megahertz) == (2.0, 0.5, 2400.0)


def test_two_looks_in_one_tick():
    found = between(seen((1, 2, 3, 4, 5, 6, 7, 8)), seen((1, 2, 3, 4, 5, 6, 7, 8)))
    assert (found.busy, found.stolen, found.throttled) == (0, 0, None)


def test_old_kernels_say_less():
    found = between(seen((10, 0, 10, 10)), seen((30, 0, 20, 20)))
    assert found.stolen == 0
    assert found.busy == pytest.approx(4 * 30 / 40)


def test_a_look_at_files(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "loadavg").write_text("1.25 0.50 0.25 1/200 4242\n")
    (tmp_path / "proc" / "stat").write_text("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    (tmp_path / "proc" / "cpuinfo").write_text("processor\t: 0\ncpu MHz\t\t: 2450.5\n")
    found = look(tmp_path)
    assert found.load == 1.25
    assert found.times[:8] == (1, 2, 3, 4, 5, 6, 7, 8)
    assert found.megahertz == 2450.5
    assert found.throttled is None


def test_a_look_where_nothing_can_be_read(tmp_path):
    found = look(tmp_path)
    assert (found.load, found.throttled, found.megahertz) == (0.0, None, None)


def test_a_look_at_this_machine():
    found = look()
    assert found.load >= 0
    assert sum(found.times) > 0
    assert found.processors >= 1
