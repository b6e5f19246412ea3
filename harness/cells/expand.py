"""From a profile and the release line to cells, in order, with those that a rule excludes kept for their reason."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.cells.cell import Cell, pairs, parse_cell_id
from harness.cells.declarations import AUTO
from harness.cells.images import Capability
from harness.cells.matrix import CUSTOM, Block, Choices, Include, Profile, Slim, Spec
from harness.cells.pythons import ChoosePython
from harness.cells.select import Selector, select
from harness.cells.terms import Term, releases_of
from harness.errors import ResolveError, UsageError

__all__ = ["Candidate", "Expansion", "cells_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A cell that the matrix names.

    Attributes:
        cell: The cell.
        excluded: Why a rule of the matrix leaves it out; empty when none does.
    """

    cell: Cell
    excluded: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The cells of a profile.

    Attributes:
        candidates: In order, baseline first. A cell that stands here twice is the two sides of an A/A run.
        notes: What was decided on the way (which Python, and why), one line each.
    """

    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that no rule excludes."""
        return tuple(candidate.cell for candidate in self.candidates if not candidate.excluded)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    spec: Spec
    line: Sequence[str]
    known: Collection[str]
    backend: str
    slim: bool
    choose_python: ChoosePython | None
    notes: list[str]


def cells_of(
    spec: Spec,
    profile: Profile,
    line: Sequence[str],
    *,
    known: Collection[str] = (),
    backend: str = "default",
    slim: bool = False,
    choose_python: ChoosePython | None = None,
) -> Expansion:
    """The cells of a profile.

    Args:
        spec: The matrix.
        profile: One of its profiles, or one made from command-line options.
        line: The stable releases of the subject, oldest first.
        known: Other releases that exist (candidates, nightlies).
        backend: What the backend `auto` means on this machine now.
        slim: What slim `auto` means on this machine now.
        choose_python: Chooses where the profile says `auto`; without it, `auto` is an error.

    Raises:
        ResolveError: A release does not exist, or `auto` cannot be told without the indexes.
        UsageError: A selector of the profile does not fit.
    """
    context = _Context(
        spec=spec, line=line, known=known, backend=backend, slim=slim, choose_python=choose_python, notes=[]
    )
    ids, selectors = _sorted_texts(profile)
    if profile.cells and not selectors:
        return Expansion(candidates=tuple(Candidate(cell=cell) for cell in ids))
    product = list(_blocks(context, profile.block, profile.name))
    for include in spec.includes:
        if profile.name != CUSTOM and _concerns(include.profiles, profile.name):
            # What a profile already names is not named again.
            seen = {candidate.cell for candidate in product}
            more = _blocks(context, _included(profile.block, include), profile.name)
            product += [candidate for candidate in more if candidate.cell not in seen]
    chosen = set(select([candidate.cell for candidate in product], selectors))
    return Expansion(
        candidates=(
            *(Candidate(cell=cell) for cell in ids),
            *(candidate for candidate in product if candidate.cell in chosen),
        ),
        notes=tuple(dict.fromkeys(context.notes)),
    )


def _sorted_texts(profile: Profile) -> tuple[list[Cell], list[str]]:
    ids: list[Cell] = []
    selectors: list[str] = []
    for text in profile.cells:
        try:
            ids.append(parse_cell_id(text))
        except UsageError:
            # What has neither a glob nor an axis can only be a mistyped id.
            if Selector.parse(text).condition is None and not any(letter in text for letter in "*?["):
                raise
            selectors.append(text)
    return ids, selectors


def _concerns(profiles: tuple[str, ...], name: str) -> bool:
    return not profiles or name in profiles


def _included(block: Block, include: Include) -> Block:
    settings = {kind: _merged(getattr(block, kind), choices) for kind, choices in include.settings}
    return replace(block, **dict(include.axes), **settings)  # type: ignore[arg-type]  # the reader made both


def _merged(old: Choices, new: Choices) -> Choices:
    return tuple(sorted((dict(old) | dict(new)).items()))


def _blocks(context: _Context, block: Block, profile: str) -> Iterator[Candidate]:
    releases = _releases(context, block)
    backends = dict.fromkeys(context.backend if name == AUTO else name for name in block.backends)
    for image, backend in itertools.product(block.images, backends):
        # An `auto` that comes to a Python beside it must not look like an A/A run.
        for python in dict.fromkeys(_python(context, text, releases, backend, image) for text in block.pythons):
            yield from _product(context, block, profile, python, backend, image, releases)


def _releases(context: _Context, block: Block) -> list[str]:
    subject = context.spec.subject
    found = [releases_of(text, context.line, context.known, subject=subject) for text in block.releases]
    releases = [release for named in found for release in named]
    if all(Term.parse(text).single for text in block.releases):
        # Sides in the order they were named, the same one twice if so: an A/A run.
        return releases
    order = {release: number for number, release in enumerate(context.line)}
    return sorted(dict.fromkeys(releases), key=lambda release: order.get(release, len(order)))


def _python(context: _Context, python: str, releases: list[str], backend: str, image: str) -> str:
    if python != AUTO:
        return python
    if context.choose_python is None:
        what = "python = 'auto' needs the indexes, and none was read"
        raise ResolveError(what, next_step="name one: --python 3.11")
    # Where no Python will do for all, the plan of each cell says which of them cannot exist.
    choice = context.choose_python(releases, backend, image)
    context.notes.append(choice.why)
    return choice.python


def _product(
    context: _Context, block: Block, profile: str, python: str, backend: str, image: str, releases: Sequence[str]
) -> Iterator[Candidate]:
    kinds = [list(_settings(choices)) for choices in (block.packages, block.build, block.env, block.flags)]
    for packages, build, env, flags in itertools.product(*kinds):
        # Releases innermost: what is compared stands side by side.
        for release in releases:
            cell = Cell(
                subject=context.spec.subject,
                release=release,
                python=python,
                backend=backend,
                image=image,
                as_of=block.as_of,
                packages=pairs(packages),
                build=pairs(build),
                env=pairs(env),
                flags=pairs(flags),
            )
            yield _ruled(context, cell, block.slim, profile)


def _settings(choices: Choices) -> Iterator[Mapping[str, str]]:
    for values in itertools.product(*(tried for _, tried in choices)):
        named = zip((name for name, _ in choices), values, strict=True)
        yield {name: value for name, value in named if value is not None}


def _ruled(context: _Context, cell: Cell, slim: Slim, profile: str) -> Candidate:
    cell = _with_slim(context, cell, slim)
    for rule in context.spec.overrides:
        if not _concerns(rule.profiles, profile) or not rule.holds(cell):
            continue
        for kind, changes in rule.changes:
            values: dict[str, str | None] = dict(getattr(cell, kind)) | dict(changes)
            cell = cell.but(**{kind: pairs({name: value for name, value in values.items() if value is not None})})
        if rule.as_of:
            cell = cell.but(as_of=rule.as_of)
        if rule.slim is not None:
            cell = _with_slim(context, cell, rule.slim)
    reasons = (rule.reason for rule in context.spec.excludes if _concerns(rule.profiles, profile) and rule.holds(cell))
    return Candidate(cell=cell, excluded=next(reasons, ""))


def _with_slim(context: _Context, cell: Cell, slim: Slim) -> Cell:
    image = context.spec.image(cell.image)
    # Whoever takes an image for NVIDIA GPUs wants to measure on one, and stubs have none.
    gpu = image is not None and Capability.NVIDIA in image.needs
    wanted = slim is Slim.YES or (slim is Slim.AUTO and context.slim and not gpu)
    return cell.but(slim=wanted and context.spec.resolve.slim_means_something(cell))
