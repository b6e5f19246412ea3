"""Keeps environments and downloads within a size, by last use."""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.environments.bytecode import unused_bytecode
from harness.environments.disk import usage
from harness.environments.uv import run_uv, uv_cache_dir
from harness.paths import cache_dir

if TYPE_CHECKING:
    from harness.environments.store import Entry, Store

__all__ = ["PruneReport", "prune"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """What pruning did.

    Attributes:
        before: Bytes on the disk, hard links counted once.
        after: Bytes that are left.
        max_size: Bytes that were allowed.
        removed: The environments that are gone.
        kept_in_use: Those that were spared because a process uses them.
        cache_cleaned: Whether uv's cache lost files that no environment has; they are downloaded again when needed.
        cache: uv's cache, where it was counted; None where it is shared with other projects by `UV_CACHE_DIR`.
    """

    before: int
    after: int
    max_size: int
    removed: tuple[Entry, ...]
    kept_in_use: tuple[Entry, ...]
    cache_cleaned: bool
    cache: Path | None

    @property
    def fits(self) -> bool:
        """Whether what is left is within the size."""
        return self.after <= self.max_size


def prune(store: Store, max_size: int) -> PruneReport:
    """Removes environments by last use, and downloads that none of the others has, until all fits.

    A file of an environment is a hard link into uv's cache, so it leaves the disk when it has left both.

    Raises:
        InstallError: The store's folder was not made by the harness, or uv failed.
    """
    if not store.root.is_dir():
        return PruneReport(
            before=0, after=0, max_size=max_size, removed=(), kept_in_use=(), cache_cleaned=False, cache=None
        )
    store.must_be_ours()
    cache = _own_cache()
    before = after = _size(store, cache)
    removed: list[Entry] = []
    kept: list[Entry] = []
    waiting = list(store.list())
    if after > max_size:
        _drop_bytecode(store)
        if cache:
            run_uv(["cache", "prune", "--quiet"], "pruning uv's cache")
        after = _size(store, cache)
    cleaned = just_cleaned = False
    while after > max_size:
        spare = usage(cache, store.root).only if cache and not just_cleaned else 0
        # What only the cache holds goes first, if that is enough: an environment is worth more, being ready to use.
        if spare and (spare >= after - max_size or not waiting):
            log.info("cleaning %s: files that environments use stay with them", cache)
            run_uv(["cache", "clean", "--quiet"], "cleaning uv's cache")
            cleaned = just_cleaned = True
        elif waiting:
            entry = waiting.pop()
            if store.remove(entry.key):
                log.info("removed %s, last used %s", entry.cell or entry.key, entry.last_used.date())
                removed.append(entry)
                _drop_bytecode(store)
                just_cleaned = False
            else:
                kept.append(entry)
        else:
            break
        after = _size(store, cache)
    return PruneReport(
        before=before,
        after=after,
        max_size=max_size,
        removed=tuple(removed),
        kept_in_use=tuple(kept),
        cache_cleaned=cleaned,
        cache=cache,
    )


def _own_cache() -> Path | None:
    # A cache that UV_CACHE_DIR points to elsewhere serves other projects too: it is neither counted nor cleaned.
    cache = uv_cache_dir()
    return cache if cache == cache_dir() / "uv" and cache.is_dir() else None


def _drop_bytecode(store: Store) -> None:
    for folder in unused_bytecode(store.bytecode):
        shutil.rmtree(folder, ignore_errors=True)


def _size(store: Store, cache: Path | None) -> int:
    return usage(store.root, *([cache] if cache else [])).disk
