"""A cell: one complete environment to measure, and the id that names it everywhere.

The grammar of an id, with optional parts in brackets:

    SUBJECT RELEASE -py PYTHON - BACKEND [-IMAGE] [+MODIFIER]...

    torch2.13.0-py3.11-cpu
    torch1.12.1-py3.10-default-centos7+OMP_NUM_THREADS=1
    torch2.15.0-py3.12-default+slim+numpy==1.26.4+build.DEBUG=1+flag.mkldnn=off+@2026-11-01

A subject with a digit in its name is set off by `==` (`lz4==4.0`). Characters of a value that the grammar uses are
percent-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Self
from urllib.parse import quote, unquote

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.errors import UsageError

__all__ = ["HOST", "Cell", "pairs", "parse_cell_id"]

#: The image of a cell that runs on this machine itself.
HOST = "host"

Pairs = tuple[tuple[str, str], ...]

# A release is a normalised PEP 440 version without local part: the backend carries that.
_RELEASE = r"(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?"
_SUBJECT = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_WORD = r"[a-z0-9][a-z0-9._]*"
# A backend has no hyphen, so an image may: `default-rocm-wsl`.
_IMAGE = r"[a-z0-9][a-z0-9._]*(?:-[a-z0-9._]+)*"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Digits in a subject would run into the release (`torch12.0`: torch 12.0, or torch1 2.0?), hence the two forms.
_HEAD = re.compile(
    rf"(?:(?P<set_off>{_SUBJECT})==|(?P<plain>[a-z]+(?:-[a-z]+)*))(?P<release>{_RELEASE})"
    rf"-py(?P<python>3\.(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*))?t?)-(?P<backend>{_WORD})(?:-(?P<image>{_IMAGE}))?",
    re.ASCII,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Cell:
    """One complete environment to measure. Frozen, hashable, ordered; `id` and `parse_cell_id` are inverse.

    Attributes:
        subject: The package whose releases are compared, by its normalised name.
        release: Its version, public part only (`2.13.0`, `2.14.0.dev20260701`).
        python: `3.11`, exact (`3.11.7`) or free-threaded (`3.13t`).
        backend: `cpu`, `cu126`, `rocm6.4`, ... or `default` for the default index.
        image: `host`, or the name of a container image in `matrix/images/images.toml`.
        slim: Whether a CUDA wheel runs on generated stub libraries instead of its CUDA packages.
        as_of: The date (`YYYY-MM-DD`) as of which dependencies are resolved; empty for one near the release.
        packages: Extra packages, name to exact version; an empty version leaves it to the resolver.
        build: Variables for building a subject that is given as source.
        env: Variables of the measured process.
        flags: Switches set inside the measured process before it measures (`mkldnn` to `off`).
    """

    subject: str
    release: str
    python: str
    backend: str = "default"
    image: str = HOST
    slim: bool = False
    as_of: str = ""
    packages: Pairs = field(default=())
    build: Pairs = field(default=())
    env: Pairs = field(default=())
    flags: Pairs = field(default=())

    def __post_init__(self) -> None:
        head = _HEAD.fullmatch(self._head())
        if (
            head is None
            or (head["set_off"] or head["plain"], head["release"]) != (self.subject, self.release)
            or (head["image"] or HOST) != self.image
            or _normalised(self.release) != self.release
        ):
            what = f"no cell can be named {self._head()!r}"
            raise UsageError(
                what,
                why="a name, version, backend or image has characters that ids cannot carry, or is not normalised",
            )
        if self.as_of and not _is_date(self.as_of):
            what = f"{self.as_of!r} is not a date like 2026-11-01"
            raise UsageError(what)
        for name, pairs, key in (
            ("packages", self.packages, lambda k: canonicalize_name(k) == k and re.fullmatch(_SUBJECT, k)),
            ("build", self.build, _VARIABLE.fullmatch),
            ("env", self.env, _VARIABLE.fullmatch),
            ("flags", self.flags, _VARIABLE.fullmatch),
        ):
            self._check_pairs(name, pairs, key)

    def _check_pairs(self, name: str, pairs: Pairs, valid: Callable[[str], object]) -> None:
        keys = [key for key, _ in pairs]
        if keys != sorted(set(keys)):
            what = f"{name} of a cell must be sorted by name, each named once: {keys}"
            raise UsageError(what)
        for key, value in pairs:
            if not valid(key):
                what = f"{key!r} is not a name for {name} of a cell"
                raise UsageError(what)
            if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
                what = f"the value of {key} in {name} has characters that no variable can carry: {value!r}"
                raise UsageError(what)
            if name == "packages" and value and not _is_version(value):
                what = f"{value!r} is not a version of {key}"
                raise UsageError(what, why="a cell names exact versions; an empty one leaves it to the resolver")

    def _head(self) -> str:
        set_off = "==" if re.search(r"[0-9]", self.subject) else ""
        image = "" if self.image == HOST else f"-{self.image}"
        return f"{self.subject}{set_off}{self.release}-py{self.python}-{self.backend}{image}"

    @property
    def id(self) -> str:
        """The readable name of the cell; `parse_cell_id` gives the cell back."""
        parts = [self._head()]
        if self.slim:
            parts.append("slim")
        parts += [f"{name}=={_quote(version)}" for name, version in self.packages]
        parts += [f"build.{name}={_quote(value)}" for name, value in self.build]
        parts += [f"flag.{name}={_quote(value)}" for name, value in self.flags]
        parts += [f"{name}={_quote(value)}" for name, value in self.env]
        if self.as_of:
            parts.append(f"@{self.as_of}")
        return "+".join(parts)

    def __str__(self) -> str:
        return self.id

    @property
    def version(self) -> Version:
        """The release as a comparable version."""
        return Version(self.release)

    @property
    def python_minor(self) -> tuple[int, int]:
        """`(3, 11)` for Python 3.11.7."""
        major, minor = self.python.rstrip("t").split(".")[:2]
        return int(major), int(minor)

    def axes(self) -> dict[str, str]:
        """The cell as axis names and values, for `axis=value` selection and for reports."""
        # The axes of every cell come last: a package that is called `image` must not hide one of them.
        axes = dict(self.packages)
        axes |= {f"build.{name}": value for name, value in self.build}
        axes |= {f"env.{name}": value for name, value in self.env}
        axes |= {f"flag.{name}": value for name, value in self.flags}
        axes[self.subject] = self.release
        return axes | {
            "subject": self.subject,
            "release": self.release,
            "python": self.python,
            "backend": self.backend,
            "image": self.image,
            "slim": str(self.slim).lower(),
            "as_of": self.as_of,
        }

    def but(self, **changes: object) -> Self:
        """The same cell with some attributes changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # names and types are checked by the dataclass itself


def pairs(values: Mapping[str, str]) -> Pairs:
    """A mapping in the sorted form that cells carry."""
    return tuple(sorted(values.items()))


def parse_cell_id(text: str) -> Cell:
    """The cell that an id names.

    Raises:
        UsageError: The text is not an id; says which part is not understood.
    """
    head_text, *modifiers = text.split("+")
    head = _HEAD.fullmatch(head_text)
    if head is None:
        what = f"{text!r} is not a cell id"
        raise UsageError(
            what, next_step="write one like torch2.13.0-py3.11-cpu; `harness plan` prints those of a profile"
        )
    release = head["release"]
    if _normalised(release) != release:
        what = f"{text!r}: write the release as {_normalised(release)}"
        raise UsageError(what)
    slim, as_of = False, ""
    found: dict[str, dict[str, str]] = {"packages": {}, "build": {}, "flags": {}, "env": {}}
    for modifier in modifiers:
        if modifier == "slim" and not slim:
            slim = True
        elif modifier.startswith("@") and len(modifier) > 1 and not as_of:
            as_of = modifier[1:]
        else:
            kind, name, value = _modifier(text, modifier)
            if name in found[kind]:
                what = f"{text!r} names {name} twice"
                raise UsageError(what)
            found[kind][name] = value
    return Cell(
        subject=head["set_off"] or head["plain"],
        release=release,
        python=head["python"],
        backend=head["backend"],
        image=head["image"] or HOST,
        slim=slim,
        as_of=as_of,
        **{kind: pairs(values) for kind, values in found.items()},
    )


def _modifier(text: str, modifier: str) -> tuple[str, str, str]:
    name, equals, value = modifier.partition("=")
    if not equals or not name:
        what = f"{text!r}: the part {modifier!r} is not understood"
        raise UsageError(
            what,
            next_step="parts are slim, NAME==VERSION, VARIABLE=value, build.VARIABLE=value, flag.NAME=value, @DATE",
        )
    if value.startswith("=") and "." not in name:
        return "packages", name, unquote(value[1:])
    if name.startswith("build."):
        return "build", name.removeprefix("build."), unquote(value)
    if name.startswith("flag."):
        return "flags", name.removeprefix("flag."), unquote(value)
    return "env", name, unquote(value)


def _quote(value: str) -> str:
    # Spaces go, so that an id is one word in shells, tables and logs. `=` is kept readable except where a leading one
    # would turn a variable into a package.
    quoted = quote(value, safe="!#$&'()*,-./:;<=>?@[\\]^_`{|}~")
    return "%3D" + quoted[1:] if quoted.startswith("=") else quoted


def _normalised(release: str) -> str:
    try:
        return str(Version(release))
    except InvalidVersion:
        return release


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False
