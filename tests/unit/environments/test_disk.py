from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.environments.disk import added, format_bytes, usage, want_free
from harness.errors import InstallError


def write(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))
    return path


def test_a_hard_link_is_counted_once_and_a_symbolic_link_is_not_followed(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    shared = write(one / "deep" / "shared", 1 << 20)
    (one / "again").hardlink_to(shared)
    write(one / "own", 2 << 20)
    two.mkdir()
    (two / "shared").hardlink_to(shared)
    (two / "link").symlink_to(write(tmp_path / "elsewhere", 4 << 20))
    assert usage(one).disk == 3 << 20
    both = usage(one, two)
    assert 3 << 20 <= both.disk <= (3 << 20) + 4096  # a long symbolic link takes a block
    assert both.only == 2 << 20
    assert usage(two, one).only <= 4096
    assert usage(tmp_path / "missing").disk == 0


def test_what_an_environment_adds(tmp_path: Path):
    environment = tmp_path / "environment"
    free = 1 << 40
    write(environment / "own", 1 << 20)
    for name, links in {"cached": 1, "in other environments": 2}.items():
        file = write(environment / name, 2 << 20)
        for number in range(links):
            (tmp_path / f"{name} {number}").hardlink_to(file)
    size, new = added(environment, free)
    assert size == 5 << 20
    # As far as the disk tells, all of it may be new, but for the file that others have too.
    assert new == 3 << 20
    # Nothing became less free: only what is the environment's alone can be new.
    assert added(environment, 0)[1] == 1 << 20


def test_disk_without_room(tmp_path: Path):
    want_free(tmp_path, 1, "this")
    # A thousand times a terabyte: no disk of a machine that runs tests has it.
    with pytest.raises(InstallError, match=r"this needs [\d.]+ .B of free disk, and .* has \d") as caught:
        want_free(tmp_path, 10**15, "this")
    assert "harness env prune" in caught.value.next_step


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (48_000, "48 kB"),
        (541e6, "541 MB"),
        (5.5e9, "5.5 GB"),
        (4e13, "40000.0 GB"),
    ],
)
def test_sizes_for_people(size: float, text: str):
    assert format_bytes(size) == text
