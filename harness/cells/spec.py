"""Reads `matrix.toml` and `images/images.toml`: every fault at once, each with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from harness.cells.cell import HOST, parse_cell_id
from harness.cells.declarations import AUTO, SETTING_KEYS, matrix_table
from harness.cells.images import IMAGES, images_from
from harness.cells.matrix import (
    DEFAULT_ROUNDS,
    Block,
    Choices,
    Exclude,
    Include,
    Index,
    Override,
    Profile,
    Requirement,
    Resolve,
    Slim,
    Spec,
)
from harness.cells.select import Condition, Selector
from harness.cells.shapes import Faults, perhaps
from harness.errors import ConfigurationError, UsageError

__all__ = [
    "Block",
    "Choices",
    "Exclude",
    "Include",
    "Index",
    "Override",
    "Profile",
    "Requirement",
    "Resolve",
    "Slim",
    "Spec",
    "load_spec",
]

_BLOCK_KEYS = {"python": "pythons", "release": "releases", "backend": "backends", "image": "images"}
_RUN_KEYS = ("description", "cells", "metrics", "tags", "rounds", "max_rounds", "samples", "floor")


def load_spec(path: Path) -> Spec:
    """Reads the matrix, and the images beside it.

    Args:
        path: `matrix.toml`; the images are in `images/images.toml` beside it, and may be missing.

    Raises:
        ConfigurationError: The files cannot be read or have faults; `what` has one line for each, with its place.
    """
    faults = Faults(_shown(path))
    raw = _toml(path, faults)
    images_path = path.parent / "images" / "images.toml"
    image_faults = Faults(_shown(images_path))
    raw_images = _toml(images_path, image_faults) if images_path.is_file() else None
    found_images = IMAGES.read(raw_images, "", image_faults) if raw_images is not None else {"images": {}}

    subject = raw.get("subject") if raw is not None and isinstance(raw.get("subject"), str) else "torch"
    matrix = matrix_table(str(subject)).read(raw, "", faults) if raw is not None else {}
    _one_name_for_releases(matrix, str(subject), faults)
    image_names = None if image_faults.lines else [HOST, *found_images.get("images", {})]
    _check(matrix, image_names, faults)
    if lines := faults.lines + image_faults.lines:
        raise ConfigurationError("\n".join(lines))
    return replace(_spec(matrix), images=images_from(found_images))


def _shown(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _toml(path: Path, faults: Faults) -> dict[str, Any] | None:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        faults.add("", f"is not TOML: {error}")
    except UnicodeDecodeError as error:
        faults.add("", f"is not UTF-8: byte {error.start} cannot be read")
    except OSError as error:
        faults.add("", f"cannot be read: {error.strerror or error}")
    return None


def _tables(matrix: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    # Everything that has axes, with its place.
    yield "axes", matrix.get("axes", {})
    for name, profile in matrix.get("profiles", {}).items():
        yield f"profiles.{name}", profile
    for number, include in enumerate(matrix.get("include", ())):
        yield f"include[{number}]", include


def _one_name_for_releases(matrix: Mapping[str, Any], subject: str, faults: Faults) -> None:
    rules = [
        (f"{key}[{number}].match", rule.get("match", {}))
        for key in ("exclude", "override")
        for number, rule in enumerate(matrix.get(key, ()))
    ]
    for place, table in [*_tables(matrix), *rules]:
        if subject in _BLOCK_KEYS or subject not in table:
            continue
        if "release" in table:
            faults.add(f"{place}.release", f"says the same as {subject}: keep one of them")
        table["release"] = table.pop(subject)


def _check(matrix: Mapping[str, Any], images: list[str] | None, faults: Faults) -> None:
    profiles = matrix.get("profiles", {})
    globs = [glob for index in matrix.get("indexes", {}).values() for glob in index.get("backends", ())]
    for place, table in _tables(matrix):
        _check_images(place, table, images, faults)
        _check_backends(place, table, globs, faults)
    if "profiles" in matrix and not profiles:
        faults.add("profiles", "is empty: declare at least one")
    default = matrix.get("default_profile")
    if default is not None and default not in profiles:
        faults.add("default_profile", f"no profile {default!r}{perhaps(default, profiles)}")
    for name, profile in profiles.items():
        _check_profile(f"profiles.{name}", profile, matrix, faults)
    for key in ("include", "exclude", "override"):
        for number, rule in enumerate(matrix.get(key, ())):
            _check_rule(f"{key}[{number}]", key, rule, profiles, faults)


def _check_images(place: str, table: Mapping[str, Any], images: list[str] | None, faults: Faults) -> None:
    for image in table.get("image", ()) if images is not None else ():
        if image not in images:  # type: ignore[operator]  # not None: see the line above
            faults.add(f"{place}.image", f"no image {image!r} in images/images.toml{perhaps(image, images or ())}")


def _check_backends(place: str, table: Mapping[str, Any], globs: list[str], faults: Faults) -> None:
    index = Index(name="", base="", backends=tuple(globs))
    for backend in table.get("backend", ()):
        if backend not in (AUTO, "default") and not index.offers(backend):
            known = perhaps(backend, [AUTO, "default", *globs])
            faults.add(f"{place}.backend", f"no index under [indexes] offers the backend {backend!r}{known}")


def _check_profile(place: str, profile: Mapping[str, Any], matrix: Mapping[str, Any], faults: Faults) -> None:
    ids = profile.get("cells", ())
    for number, text in enumerate(ids):
        try:
            Selector.parse(text)
        except UsageError as error:
            faults.add(f"{place}.cells[{number}]", error.what)
    named = "release" in profile or "release" in matrix.get("axes", {}) or any(map(_is_id, ids))
    if not named and not faults.under(place) and not faults.under("axes"):
        faults.add(place, "names no releases, and neither does [axes]")
    rounds = profile.get("rounds", DEFAULT_ROUNDS)
    if "max_rounds" in profile and profile["max_rounds"] < rounds:
        faults.add(f"{place}.max_rounds", f"{profile['max_rounds']} is less than rounds ({rounds})")


def _is_id(text: str) -> bool:
    try:
        parse_cell_id(text)
    except UsageError:
        return False
    return True


def _check_rule(place: str, key: str, rule: Mapping[str, Any], profiles: Mapping[str, Any], faults: Faults) -> None:
    for name in rule.get("profiles", ()):
        if name not in profiles:
            faults.add(f"{place}.profiles", f"no profile {name!r}{perhaps(name, profiles)}")
    if faults.under(place):
        return
    if "match" in rule and not any(rule["match"].values()) and "slim" not in rule["match"]:
        faults.add(f"{place}.match", "is empty: it would be about every cell")
    if key == "override":
        _check_override(place, rule, faults)
    elif key == "include" and not rule.keys() - {"profiles"}:
        faults.add(place, "says nothing: name at least one axis or setting")


def _check_override(place: str, rule: Mapping[str, Any], faults: Faults) -> None:
    if not rule.keys() - {"match", "profiles"}:
        faults.add(place, "changes nothing")
    for kind in SETTING_KEYS:
        for name, values in rule.get(kind, {}).items():
            if len(values) > 1:
                faults.add(f"{place}.{kind}.{name}", "an override sets one value; a list belongs in a profile")


def _choices(values: Mapping[str, tuple[Any, ...]]) -> Choices:
    return tuple(sorted((name, tuple(None if v is False else v for v in tried)) for name, tried in values.items()))


def _slim(value: object) -> Slim:
    return Slim(str(value).lower())


def _block(table: Mapping[str, Any], base: Block) -> Block:
    changes: dict[str, Any] = {field: table[key] for key, field in _BLOCK_KEYS.items() if key in table}
    for kind in SETTING_KEYS:
        if kind in table:
            # A profile adds to the defaults, name by name.
            changes[kind] = tuple(sorted((dict(getattr(base, kind)) | dict(_choices(table[kind]))).items()))
    if "slim" in table:
        changes["slim"] = _slim(table["slim"])
    if "as_of" in table:
        changes["as_of"] = table["as_of"]
    return replace(base, **changes)


def _conditions(match: Mapping[str, Any]) -> tuple[Condition, ...]:
    found = []
    for key, value in match.items():
        match key:
            case "slim":
                found.append(Condition(axis=key, patterns=(str(value).lower(),)))
            case "packages" | "build" | "env" | "flags":
                prefix = {"packages": "", "build": "build.", "env": "env.", "flags": "flag."}[key]
                found += [Condition(axis=prefix + name, patterns=patterns) for name, patterns in value.items()]
            case _:
                found.append(Condition(axis=key, patterns=value))
    return tuple(found)


def _include(rule: Mapping[str, Any]) -> Include:
    axes: dict[str, object] = {field: rule[key] for key, field in _BLOCK_KEYS.items() if key in rule}
    if "slim" in rule:
        axes["slim"] = _slim(rule["slim"])
    if "as_of" in rule:
        axes["as_of"] = rule["as_of"]
    settings = tuple((kind, _choices(rule[kind])) for kind in SETTING_KEYS if kind in rule)
    return Include(profiles=rule.get("profiles", ()), axes=tuple(axes.items()), settings=settings)


def _override(rule: Mapping[str, Any]) -> Override:
    return Override(
        match=_conditions(rule["match"]),
        profiles=rule.get("profiles", ()),
        changes=tuple(
            (kind, tuple((name, tried[0]) for name, tried in _choices(rule[kind])))
            for kind in SETTING_KEYS
            if kind in rule
        ),
        slim=_slim(rule["slim"]) if "slim" in rule else None,
        as_of=rule.get("as_of", ""),
    )


def _resolve(table: Mapping[str, Any]) -> Resolve:
    days = {key: table[key] for key in ("days_after_release",) if key in table}
    return Resolve(
        **days,
        slim_for=SpecifierSet(table["slim_for"]) if "slim_for" in table else None,
        require=tuple(
            Requirement(
                requires=rule["requires"], release=SpecifierSet(rule.get("release", "")), reason=rule.get("reason", "")
            )
            for rule in table.get("require", ())
        ),
    )


def _spec(matrix: Mapping[str, Any]) -> Spec:
    defaults = {key: matrix[key] for key in (*SETTING_KEYS, "slim") if key in matrix}
    axes = _block(matrix.get("axes", {}) | defaults, Block())
    profiles = tuple(
        Profile(name=name, block=_block(table, axes), **{key: table[key] for key in _RUN_KEYS if key in table})
        for name, table in matrix["profiles"].items()
    )
    return Spec(
        subject=matrix["subject"],
        axes=axes,
        profiles=profiles,
        default_profile=matrix.get("default_profile", profiles[0].name),
        includes=tuple(_include(rule) for rule in matrix.get("include", ())),
        excludes=tuple(
            Exclude(match=_conditions(rule["match"]), reason=rule["reason"], profiles=rule.get("profiles", ()))
            for rule in matrix.get("exclude", ())
        ),
        overrides=tuple(_override(rule) for rule in matrix.get("override", ())),
        resolve=_resolve(matrix.get("resolve", {})),
        indexes=tuple(
            Index(name=name, base=table["base"], backends=table["backends"])
            for name, table in matrix.get("indexes", {}).items()
        ),
    )
