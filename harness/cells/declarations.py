"""What `matrix.toml` may say: the one declaration from which it is read, checked, and given a JSON schema."""

from __future__ import annotations

from datetime import date
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.cells.select import pattern_fault
from harness.cells.shapes import Boolean, Either, Entry, Integer, ListOf, MappingOf, Number, OneOrMany, Table, Text
from harness.cells.terms import term_fault

__all__ = ["AUTO", "AXIS_KEYS", "SETTING_KEYS", "matrix_table"]

#: The word that leaves a choice to the harness.
AUTO: Final = "auto"
AXIS_KEYS: Final = ("python", "release", "backend", "image")
SETTING_KEYS: Final = ("packages", "build", "env", "flags")


def _version_fault(text: str) -> str:
    if not text:
        return ""
    try:
        Version(text)
    except InvalidVersion:
        return f"{text!r} is not an exact version; a range belongs under [[resolve.require]]"
    return ""


def _name_fault(text: str) -> str:
    canonical = canonicalize_name(text)
    return "" if canonical == text else f"write the name of the package as {canonical!r}"


def _date_fault(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        return f"{text!r} is not a date like 2026-11-01"
    return ""


def _range_fault(text: str) -> str:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return f"{text!r} is not a range of versions like '>=1.8,<2'"
    return ""


def _requirement_fault(text: str) -> str:
    try:
        Requirement(text)
    except InvalidRequirement:
        return f"{text!r} is not a requirement like 'setuptools<70'"
    return ""


_PACKAGE = Text(name="the name of a package", pattern=r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", check=_name_fault)
_VARIABLE = Text(name="the name of a variable", pattern=r"[A-Za-z_][A-Za-z0-9_]*")
_PYTHON = Text(name="a Python like 3.11, 3.11.7 or 3.13t", pattern=r"auto|3\.(?:0|[1-9][0-9]*)(?:\.[0-9]+)?t?")
_BACKEND = Text(name="a backend like cpu, cu126 or default", pattern=r"[a-z0-9][a-z0-9._]*")
_IMAGE = Text(name="the name of an image", pattern=r"[a-z0-9][a-z0-9._-]*")
_RELEASE = Text(name="a version, a range or a word", check=term_fault)
_DATE = Text(name="a date like 2026-11-01", pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}", check=_date_fault)
_RANGE = Text(name="a range of versions", check=_range_fault)
_PATTERN = OneOrMany(item=Text(name="a value, a glob or a range", check=pattern_fault))
_WORD = Text(name="a name", pattern=r"[a-z0-9][a-z0-9_-]*")
_NAMES = ListOf(item=Text(name="a name or a glob", pattern=r"[A-Za-z0-9_*?.\[\]-]+"), empty=True)
_SLIM = Either(Boolean(), Text(name="true, false or 'auto'", words=(AUTO,)))
# `false` takes a variable away, or, in a list, is the case without it.
_UNSET = Boolean(only=False)
_VALUES = OneOrMany(item=Either(_UNSET, Text(name="a value, or false for none")))
_VERSIONS = OneOrMany(item=Either(_UNSET, Text(name="an exact version, or false for none", check=_version_fault)))


def _axes(subject: str) -> dict[str, Entry]:
    release = OneOrMany(item=_RELEASE, unique=False)
    doc = "Releases: versions, ranges like '>=1.8,<2', or newest, previous, minors. One version twice is an A/A run."
    axes = {
        "python": Entry(
            shape=OneOrMany(item=_PYTHON),
            doc="Pythons (3.11, 3.11.7, 3.13t), or auto: the newest installed one that every release has a wheel for.",
        ),
        "release": Entry(shape=release, doc=doc),
        "backend": Entry(
            shape=OneOrMany(item=_BACKEND),
            doc="Which build: default (the default index), cpu, cu126, rocm6.4, ..., or auto: cpu where its index can "
            "be reached, else default.",
        ),
        "image": Entry(
            shape=OneOrMany(item=_IMAGE), doc="host (this machine), or container images of images/images.toml."
        ),
    }
    return axes if subject in axes else axes | {subject: Entry(shape=release, doc=f"{doc} The same as release.")}


_SETTINGS = {
    "packages": Entry(
        shape=MappingOf(key=_PACKAGE, value=_VERSIONS),
        doc="Extra packages, name to exact version; an empty version leaves it to the resolver; a list is an axis.",
    ),
    "build": Entry(
        shape=MappingOf(key=_VARIABLE, value=_VALUES), doc="Variables for building a subject that is given as source."
    ),
    "env": Entry(
        shape=MappingOf(key=_VARIABLE, value=_VALUES),
        doc="Variables of the measured process; a list is an axis, false in it the case without the variable.",
    ),
    "flags": Entry(
        shape=MappingOf(key=_VARIABLE, value=_VALUES),
        doc="Switches set inside the measured process before it measures.",
    ),
    "slim": Entry(
        shape=_SLIM,
        doc="Whether CUDA wheels run on generated stub libraries instead of their CUDA packages; auto: where the "
        "machine has no GPU and only the default index can be reached.",
    ),
}
_AS_OF = {"as_of": Entry(shape=_DATE, doc="Resolve dependencies as of this date instead of one near the release.")}


def _profile(subject: str) -> Table:
    return Table(
        entries={
            "description": Entry(shape=Text(), doc="What the profile is for, in one line.", required=True),
            **_axes(subject),
            **_SETTINGS,
            **_AS_OF,
            "cells": Entry(
                shape=ListOf(item=Text(name="a cell id or a selector"), unique=False),
                doc="Ids of cells to measure instead of the product of the axes, or selectors that narrow it.",
            ),
            "metrics": Entry(shape=_NAMES, doc="Names or globs of metrics. With tags: either may hold. Neither: all."),
            "tags": Entry(shape=_NAMES, doc="Tags of metrics; core marks the small set that answers first."),
            "rounds": Entry(
                shape=Integer(minimum=2, maximum=1000), doc="Rounds before a verdict is first looked at (5)."
            ),
            "max_rounds": Entry(
                shape=Integer(minimum=2, maximum=1000), doc="Rounds after which an open verdict is undecided (20)."
            ),
            "samples": Entry(
                shape=Integer(minimum=3, maximum=100_000), doc="Samples of one benchmark in one process (60)."
            ),
            "floor": Entry(
                shape=Number(minimum=0.001, maximum=1.0),
                doc="The smallest change that matters, as a share of the value (0.03), unless the metric says its own.",
            ),
        }
    )


def _match(subject: str) -> Table:
    doc = "a value, a glob or a range like '>=1.8,<2'; of several, any may hold."
    named = MappingOf(key=_VARIABLE, value=_PATTERN)
    names = dict.fromkeys(("python", "release", subject, "backend", "image", "as_of"))
    return Table(
        entries={
            **{name: Entry(shape=_PATTERN, doc=f"The cell's {name}: {doc}") for name in names},
            "slim": Entry(shape=Boolean(), doc="Whether the cell is slim."),
            "packages": Entry(shape=MappingOf(key=_PACKAGE, value=_PATTERN), doc=f"Versions of extra packages: {doc}"),
            "build": Entry(shape=named, doc=f"Build-time variables: {doc}"),
            "env": Entry(shape=named, doc=f"Variables of the measured process: {doc}"),
            "flags": Entry(shape=named, doc=f"In-process switches: {doc}"),
        }
    )


def _rules(subject: str) -> dict[str, Entry]:
    profiles = {"profiles": Entry(shape=ListOf(item=_WORD), doc="The profiles that this is for; all when left out.")}
    match = {"match": Entry(shape=_match(subject), doc="Which cells: every key must hold.", required=True)}
    reason = Entry(
        shape=Text(name="a reason", pattern=r"(?:.|\n)*[^\s](?:.|\n)*"), doc="Why, for the plan.", required=True
    )
    exclude = Table(entries={**match, "reason": reason, **profiles})
    include = Table(entries={**_axes(subject), **_SETTINGS, **_AS_OF, **profiles})
    override = Table(entries={**match, **_SETTINGS, **_AS_OF, **profiles})
    return {
        "exclude": Entry(shape=ListOf(item=exclude, unique=False), doc="Cells that are planned but never built."),
        "include": Entry(
            shape=ListOf(item=include, unique=False),
            doc="More cells: the profile's product again, with these axes and settings in place of its own.",
        ),
        "override": Entry(shape=ListOf(item=override, unique=False), doc="Settings of single cells, in order."),
    }


def _resolve() -> Table:
    require = Table(
        entries={
            "release": Entry(shape=_RANGE, doc="The releases that it is for; all when left out."),
            "requires": Entry(
                shape=ListOf(item=Text(name="a requirement", check=_requirement_fault)),
                doc="Requirements that are installed beside the subject.",
                required=True,
            ),
            "reason": Entry(shape=Text(), doc="Why."),
        }
    )
    return Table(
        entries={
            "days_after_release": Entry(
                shape=Integer(minimum=0, maximum=3650),
                doc="Dependencies are resolved as of this many days after the release (30).",
            ),
            "slim_for": Entry(
                shape=_RANGE, doc="The releases whose CUDA wheels need CUDA packages, so that slim means something."
            ),
            "require": Entry(shape=ListOf(item=require, unique=False), doc="Further requirements by release."),
        }
    )


def matrix_table(subject: str) -> Table:
    """The declaration of `matrix.toml` for a subject, whose name is a key of it."""
    index = Table(
        entries={
            "base": Entry(
                shape=Text(name="an address", pattern=r"(?:https?|file)://[^\s?#]+[^\s?#/]"),
                doc="Its address; each backend is a folder under it.",
                required=True,
            ),
            "backends": Entry(shape=ListOf(item=Text()), doc="Globs of the backends that it offers.", required=True),
        }
    )
    return Table(
        entries={
            "schema": Entry(shape=Integer(minimum=1, maximum=1), doc="The version of this format.", required=True),
            "subject": Entry(
                shape=Text(
                    name="the normalised name of a package",
                    pattern=r"[a-z0-9]+(?:-[a-z0-9]+)*",
                ),
                doc="The package whose releases are compared.",
                required=True,
            ),
            "default_profile": Entry(shape=_WORD, doc="The profile that is meant when none is named."),
            "slim": _SETTINGS["slim"],
            "axes": Entry(shape=Table(entries=_axes(subject)), doc="What profiles take that say nothing else."),
            **{key: _SETTINGS[key] for key in SETTING_KEYS},
            "resolve": Entry(shape=_resolve(), doc="How dependencies are resolved."),
            "indexes": Entry(
                shape=MappingOf(key=_WORD, value=index), doc="Package indexes beside the default one, by name."
            ),
            **_rules(subject),
            "profiles": Entry(
                shape=MappingOf(key=_WORD, value=_profile(subject)),
                doc="Named selections of the matrix.",
                required=True,
            ),
        }
    )
