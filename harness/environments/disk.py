"""Disk space: what is used, each hard link once, and whether enough is free."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import InstallError

__all__ = ["MARGIN", "Usage", "added", "format_bytes", "same_disk", "usage", "want_free"]

#: Bytes to keep free beside what an installation is expected to take: byte code, temporary files, other programs.
MARGIN = 300 << 20
#: How much wheels grow when they are unpacked. torch's CUDA wheels grow by 1.4 to 2, small pure ones by 3 to 4.
UNPACKED = 2.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What folders take on the disk.

    Attributes:
        disk: Bytes, each file once however many names it has.
        only: Bytes of files that the first folder shares with no other of those asked for.
    """

    disk: int
    only: int


def usage(first: Path, *others: Path) -> Usage:
    """What folders take together, and what the first takes alone."""
    elsewhere: dict[tuple[int, int], int] = {}
    for folder in others:
        elsewhere |= _files(folder)
    here = dict(_files(first))
    only = sum(size for file, size in here.items() if file not in elsewhere)
    return Usage(disk=sum((elsewhere | here).values()), only=only)


def added(folder: Path, free_before: int) -> tuple[int, int]:
    """Bytes of a new environment's files in all, and those that it added to the disk.

    Args:
        folder: The environment.
        free_before: Bytes that were free on its disk before it was built.
    """
    size = own = new = 0
    for entry in _walk(folder):
        stat = entry.stat(follow_symlinks=False)
        blocks = stat.st_blocks * 512
        size += stat.st_size
        own += blocks if stat.st_nlink == 1 else 0
        # A file with a third name was there before: one is this environment's, one uv's cache's. With two names it may
        # be new or have been waiting in the cache.
        new += blocks if stat.st_nlink <= 2 else 0
    # Other programs write to the disk too, so what became less free is believed between these bounds only.
    return size, max(own, min(new, free_before - shutil.disk_usage(folder).free))


def want_free(folder: Path, size: int, doing: str) -> None:
    """Makes sure that a disk has room.

    Raises:
        InstallError: It has not; names what is needed and what is free.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        what = f"{doing} needs {format_bytes(size)} of free disk, and {folder} has {format_bytes(free)}"
        next_step = "harness env prune --max-size 20GB, or point HARNESS_CACHE to a larger disk"
        raise InstallError(what, next_step=next_step)


def same_disk(one: Path, other: Path) -> bool:
    """Whether two folders lie on one file system, so that files can be hard-linked between them."""
    return one.stat().st_dev == other.stat().st_dev


def format_bytes(size: float) -> str:
    """A size as people read it: `1.4 GB`, in powers of ten as disks and indexes are labelled."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _files(folder: Path) -> dict[tuple[int, int], int]:
    found = {}
    for entry in _walk(folder):
        stat = entry.stat(follow_symlinks=False)
        found[stat.st_dev, stat.st_ino] = stat.st_blocks * 512
    return found


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder but folders, links not followed; what vanishes meanwhile is passed over."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        else:
            yield entry
