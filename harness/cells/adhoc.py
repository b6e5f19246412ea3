"""A profile from command-line options: what `--from --to --python --backend --image --cell --metric --tag` change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from packaging.version import Version

from harness.cells.cell import HOST, parse_cell_id
from harness.cells.matrix import CUSTOM, Profile, Spec
from harness.cells.select import Selector
from harness.cells.terms import term_fault
from harness.errors import UsageError

__all__ = ["Selection", "profile_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Options in place of, or on top of, a profile. Empty ones leave it as it is.

    Attributes:
        from_release: A term of the release axis: the baseline.
        to_release: A term of the release axis: the candidate.
        pythons: `3.11`, ...
        backends: `cpu`, ...
        images: `host`, `centos7`, ...
        cells: Ids, which replace all axes, or selectors, which narrow the profile.
        metrics: Globs of metrics.
        tags: Tags of metrics.
    """

    from_release: str = ""
    to_release: str = ""
    pythons: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


def profile_of(spec: Spec, selection: Selection, profile: Profile) -> Profile:
    """The profile with the options applied.

    Without `--to`, the candidate is the newest stable release; without `--from`, the baseline is the stable release
    before `--to`.

    Raises:
        UsageError: An option names nothing that exists, or two of them contradict each other.
    """
    changes: dict[str, Any] = {}
    if selection.from_release or selection.to_release:
        changes["releases"] = _sides(selection)
    for name in ("pythons", "backends", "images"):
        if values := getattr(selection, name):
            changes[name] = values
    _check(spec, selection, changes)
    if changes:
        block = replace(profile.block, **changes)
        profile = replace(profile, name=CUSTOM, description="", block=block, cells=())
    if selection.cells:
        profile = replace(profile, cells=selection.cells)
        if _any_id(selection):
            profile = replace(profile, name=CUSTOM, description="")
    if selection.metrics or selection.tags:
        profile = replace(profile, metrics=selection.metrics, tags=selection.tags)
    return profile


def _sides(selection: Selection) -> tuple[str, str]:
    for option, text in (("--from", selection.from_release), ("--to", selection.to_release)):
        if text and (fault := term_fault(text)):
            what = f"{option}: {fault}"
            raise UsageError(what)
    if not selection.to_release:
        return selection.from_release, "newest"
    if not selection.from_release:
        if not selection.to_release[0].isdigit():
            what = f"--to {selection.to_release} needs a --from beside it"
            raise UsageError(what, why="only a version has a release before it")
        return f"newest<{Version(selection.to_release).public}", selection.to_release
    return selection.from_release, selection.to_release


def _any_id(selection: Selection) -> bool:
    for text in selection.cells:
        try:
            parse_cell_id(text)
        except UsageError:
            continue
        return True
    return False


def _check_subject(spec: Spec, text: str) -> None:
    try:
        cell = parse_cell_id(text)
    except UsageError:
        return
    if cell.subject != spec.subject:
        what = f"--cell {text}: this project compares releases of {spec.subject}, not of {cell.subject}"
        raise UsageError(what, next_step="change `subject` in matrix/matrix.toml, or use another project")


def _check(spec: Spec, selection: Selection, changes: dict[str, Any]) -> None:
    for text in selection.cells:
        Selector.parse(text)
        _check_subject(spec, text)
    if _any_id(selection) and changes:
        what = "--cell with an id says everything: leave out --from, --to, --python, --backend and --image"
        raise UsageError(what)
    for image in selection.images:
        if image != HOST:
            spec.image(image)
    for backend in selection.backends:
        if backend not in ("auto", "default") and spec.index_of(backend) is None:
            globs = [glob for index in spec.indexes for glob in index.backends]
            what = f"--backend {backend}: no index of the matrix offers it"
            raise UsageError(what, next_step=f"known are auto, default, {', '.join(globs)}")
