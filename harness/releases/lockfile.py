"""Locks on disk: small TOML files that are the same for everyone, without an address or a path of a machine."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.cells.cell import Cell
from harness.errors import ConfigurationError
from harness.jsonio import write_atomic
from harness.releases.lock import Lock, LockedFile

__all__ = ["StoredLock", "format_lock", "lock_path", "parse_lock", "read_lock", "write_lock"]

# 1: first form.
SCHEMA = 1

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("cell", "python", "platform", "index", "as_of")
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLock:
    """A lock with what it was asked for.

    Attributes:
        cell: The id of the cell it was resolved for.
        requirements: What was asked for beside the subject, sorted: a change makes the lock stale.
        lock: The files.
    """

    cell: str
    requirements: tuple[str, ...]
    lock: Lock


def lock_path(locks: Path, cell: Cell) -> Path:
    """Where the lock of a cell lies; cells that differ in run-time variables and flags alone share one."""
    name = cell.but(env=(), flags=()).id.replace("/", "%2F")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}-{sha256(name.encode()).hexdigest()[:12]}"
    return locks / f"{name}.lock"


def write_lock(path: Path, stored: StoredLock) -> None:
    """Writes a lock; the same lock gives the same bytes.

    Raises:
        StorageError: The folder cannot be written.
    """
    write_atomic(path, format_lock(stored))


def read_lock(path: Path) -> StoredLock:
    """Reads a lock.

    Raises:
        ConfigurationError: The file is missing or is not a lock; every fault is listed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"{path} cannot be read: {error.strerror if isinstance(error, OSError) else 'it is not text'}"
        raise ConfigurationError(what, next_step="run `harness lock`") from None
    return parse_lock(text, place=str(path))


def format_lock(stored: StoredLock) -> str:
    """The text of a lock file."""
    lock = stored.lock
    lines = [
        "# Written by `harness lock`; an edit would be found by `harness lock --check`.",
        f"schema = {SCHEMA}",
        f"cell = {_text(stored.cell)}",
        f"python = {_text(lock.python)}",
        f"platform = {_text(lock.platform)}",
        f"index = {_text(lock.index)}",
        f"as_of = {_text(lock.as_of)}",
        f"slim = {str(lock.slim).lower()}",
        f"requirements = [{', '.join(_text(r) for r in sorted(stored.requirements))}]",
    ]
    for file in sorted(lock.files):
        lines += [
            "",
            "[[files]]",
            f"name = {_text(file.name)}",
            f"version = {_text(file.version)}",
            f"filename = {_text(file.filename)}",
            f"sha256 = {_text(file.sha256)}",
            f"size = {file.size}",
        ]
    return "\n".join(lines) + "\n"


def parse_lock(text: str, *, place: str) -> StoredLock:
    """The lock in a text.

    Raises:
        ConfigurationError: It is not a lock; every fault is listed with `place`.
    """
    faults: list[str] = []
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        document, faults = {}, [f"not TOML: {error}"]
    else:
        faults += _head_faults(document)
        faults += _file_faults(document.get("files"))
    if faults:
        what = "\n".join(f"{place}: {fault}" for fault in faults)
        raise ConfigurationError(
            what,
            why="the file was edited, cut short, or merged with conflicts",
            next_step="run `harness lock`, or take the file from version control again",
        )
    lock = Lock(
        python=document["python"],
        platform=document["platform"],
        index=document["index"],
        as_of=document["as_of"],
        slim=document["slim"],
        files=tuple(sorted(LockedFile(**row) for row in document["files"])),
    )
    return StoredLock(cell=document["cell"], requirements=tuple(sorted(document["requirements"])), lock=lock)


def _text(value: str) -> str:
    # A JSON string is a TOML string, but for DEL, which names, versions and cell ids do not have.
    return json.dumps(value, ensure_ascii=False)


def _head_faults(document: dict[str, Any]) -> list[str]:
    if document.get("schema") != SCHEMA:
        return [f"schema is {document.get('schema')!r}, and this harness reads {SCHEMA}"]
    faults = [f"{key}: a text is missing" for key in _TEXTS if not isinstance(document.get(key), str)]
    if not isinstance(document.get("slim"), bool):
        faults.append("slim: true or false is missing")
    if not _is_texts(document.get("requirements")):
        faults.append("requirements: a list of texts is missing")
    if unknown := sorted(document.keys() - {*_TEXTS, "schema", "slim", "requirements", "files"}):
        faults.append(f"unknown keys: {', '.join(unknown)}")
    return faults


def _is_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value)


def _file_faults(rows: object) -> list[str]:
    if not isinstance(rows, list) or not rows:
        return ["files: there is none"]
    faults: list[str] = []
    names: set[str] = set()
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or row.keys() != {"name", "version", "filename", "sha256", "size"}:
            faults.append(f"files[{number}]: wants name, version, filename, sha256, size and nothing else")
            continue
        place = f"files[{number}] ({row['name']})"
        if not all(isinstance(row[key], str) and row[key] for key in ("name", "version", "filename", "sha256")):
            faults.append(f"{place}: an empty text")
        elif not _SHA256.fullmatch(row["sha256"]):
            faults.append(f"{place}: sha256 is not 64 hexadecimal digits")
        elif "/" in row["filename"]:
            faults.append(f"{place}: filename is a path")
        if not isinstance(row["size"], int) or isinstance(row["size"], bool) or row["size"] < 0:
            faults.append(f"{place}: size is not a number of bytes")
        if row["name"] in names:
            faults.append(f"{place}: is there twice")
        names.add(str(row["name"]))
    return faults
