"""What an environment of the store says of itself: the file `harness.json` in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.jsonio import write_json
from harness.releases.lock import Lock, LockedFile

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["FILE", "Manifest", "read_manifest", "write_manifest"]

FILE = "harness.json"
#: 1: the first.
SCHEMA = 1

T = TypeVar("T", bound="DataclassInstance")
_KINDS: dict[Any, type] = {"str": str, "int": int, "float": float, "bool": bool}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """How an environment was made.

    Attributes:
        key: Its name in the store.
        cell: The id of the cell that it was first built for; others may share it.
        lock: What is installed.
        python: The interpreter's program.
        python_version: Its exact version.
        image: `host`, or the digest of a container image.
        build: Variables for what was built from source.
        stubs: Names and bytes of the stand-in libraries of a slim environment.
        odd_files: Files that are not as their package says, even when freshly unpacked.
        size: Bytes of its files, hard links counted in full.
        disk: Bytes that it added to the disk, files that other environments have too not counted.
        seconds: How long the build took.
        built_at: ISO date and time, UTC.
        uv: The version of uv.
        harness: The version of the harness.
        schema: The version of this file's format.
    """

    key: str
    cell: str
    lock: Lock
    python: str
    python_version: str
    image: str
    build: tuple[tuple[str, str], ...]
    stubs: tuple[tuple[str, int], ...]
    odd_files: tuple[str, ...]
    size: int
    disk: int
    seconds: float
    built_at: str
    uv: str
    harness: str
    schema: int = SCHEMA


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Writes the manifest into an environment.

    Raises:
        StorageError: The folder cannot be written.
    """
    write_json(path / FILE, asdict(manifest))


def read_manifest(path: Path) -> Manifest:
    """Reads an environment's manifest.

    Raises:
        ValueError: It is missing, damaged, or of another version of the harness; says which.
    """
    # By hand: planning reads many of these, and a converter takes longer to import than all of them to read.
    try:
        document = json.loads((path / FILE).read_text("utf-8"))
    except FileNotFoundError:
        what = f"{FILE} is missing"
        raise ValueError(what) from None
    except (OSError, ValueError) as error:
        what = f"{FILE} cannot be read: {error}"
        raise ValueError(what) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        what = f"{FILE} is of another version of the harness"
        raise ValueError(what)
    try:
        lock = document.pop("lock")
        files = tuple(_typed(LockedFile(**file)) for file in lock.pop("files"))
        for name, kind in (("build", str), ("stubs", int)):
            document[name] = tuple((_of(str, key), _of(kind, value)) for key, value in document[name])
        document["odd_files"] = tuple(_of(str, file) for file in document["odd_files"])
        return _typed(Manifest(lock=_typed(Lock(files=files, **lock)), **document))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"{FILE} is damaged: {error}"
        raise ValueError(what) from error


def _typed(instance: T) -> T:
    """The same, once its plain fields are seen to have the types that they are declared with."""
    for field in fields(instance):
        if kind := _KINDS.get(field.type):
            _of(kind, getattr(instance, field.name))
    return instance


def _of(kind: type, value: object) -> Any:
    # JSON may have 2 for 2.0, and Python takes true for a number.
    if type(value) is not kind and not (kind is float and type(value) is int):
        what = f"{value!r:.40} is no {kind.__name__}"
        raise TypeError(what)
    return value
