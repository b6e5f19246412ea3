"""Whether the files of an environment are those that its packages say they installed."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from packaging.utils import canonicalize_name

__all__ = ["Fault", "Row", "faults", "installed", "records", "site_packages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One file that is not as its package says.

    Attributes:
        package: The package.
        file: The file, from the folder of site-packages.
        reason: What is wrong with it.
    """

    package: str
    file: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file} ({self.package}) {self.reason}"


class Row(NamedTuple):
    """One line of a RECORD: path from site-packages, `ALGORITHM=HASH`, bytes; the latter two may be empty."""

    path: str
    digest: str
    size: str


def site_packages(environment: Path) -> Path:
    """The folder of an environment's packages.

    Raises:
        FileNotFoundError: There is none.
    """
    for folder in environment.glob("lib/python3.*/site-packages"):
        return folder
    what = f"{environment} has no site-packages"
    raise FileNotFoundError(what)


def installed(folder: Path) -> set[tuple[str, str]]:
    """Normalised name and version of each package in a site-packages folder."""
    found = set()
    for info in folder.glob("*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        found.add((str(canonicalize_name(name)), version))
    return found


def records(folder: Path) -> Iterator[tuple[str, list[Row]]]:
    """What each package of a site-packages folder says that it installed: its name, and the rows of its RECORD.

    Raises:
        ValueError: A RECORD cannot be read; names it.
    """
    for record in sorted(folder.glob("*.dist-info/RECORD")):
        try:
            with record.open(encoding="utf-8", newline="") as file:
                rows = [Row(*row) for row in csv.reader(file) if len(row) == 3]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            what = f"{record.parent.name}/RECORD cannot be read: {error}"
            raise ValueError(what) from error
        yield record.parent.name.removesuffix(".dist-info").rpartition("-")[0], rows


def faults(folder: Path, *, deep: bool = False) -> Iterator[Fault]:
    """The files of a site-packages folder that are missing or not what their package's RECORD says.

    Args:
        folder: The folder.
        deep: Read every file and compare its hash; otherwise only sizes are compared.

    Raises:
        ValueError: A RECORD cannot be read; names it.
    """
    for package, rows in records(folder):
        for row in rows:
            # RECORD should be listed without a size; whoever rewrites it does not always think of that. And byte code
            # is made anew for the environment's interpreter, also where a wheel brings its own (numpy's does).
            if not row.size.isdigit() or row.path.endswith((".dist-info/RECORD", ".pyc")):
                continue
            if reason := _wrong(folder / row.path, row.digest, int(row.size), deep):
                yield Fault(package=package, file=row.path, reason=reason)


def _wrong(path: Path, digest: str, size: int, deep: bool) -> str:
    try:
        found = path.stat().st_size
        if found != size:
            return f"has {found} bytes instead of {size}"
        algorithm, _, expected = digest.partition("=")
        if not deep or algorithm not in hashlib.algorithms_guaranteed:
            return ""
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, algorithm).digest()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return "" if base64.urlsafe_b64encode(actual).rstrip(b"=").decode() == expected else "has other contents"
