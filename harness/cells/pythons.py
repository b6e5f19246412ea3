"""Which Python a profile gets that leaves it open: one for which every release of the comparison has a wheel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from harness.cells.offers import Offers
from harness.cells.wheels import OfferedFile, Target

__all__ = ["OLDEST_PYTHON", "ChoosePython", "PythonChoice", "python_chooser", "pythons_of", "ranges"]

#: The oldest Python that the benchmarks run on.
OLDEST_PYTHON = (3, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonChoice:
    """A choice and its reason.

    Attributes:
        python: `3.11`.
        complete: Whether every release has a wheel for it; else it is the one that most have.
        why: One line for the plan.
    """

    python: str
    complete: bool
    why: str


#: Chooses for these releases, backend and image.
ChoosePython = Callable[[Sequence[str], str, str], PythonChoice]


def pythons_of(release: str, backend: str, offers: Offers, target: Target) -> list[str]:
    """The Pythons that a release has a wheel for on a target whose own Python is of no account, oldest first."""
    return [
        f"{major}.{minor}"
        for major, minor in sorted({*offers.pythons, target.python})
        if (major, minor) >= OLDEST_PYTHON
        and offers.best(release, backend, replace(target, python=(major, minor), free_threaded=False))
    ]


def ranges(pythons: Sequence[str]) -> str:
    """`3.8 to 3.11 and 3.13`: Pythons in order, neighbours joined."""
    spans: list[list[str]] = []
    for python in pythons:
        if spans and int(python.split(".")[1]) == int(spans[-1][-1].split(".")[1]) + 1:
            spans[-1].append(python)
        else:
            spans.append([python])
    texts = [span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def python_chooser(
    offers: Offers | Sequence[OfferedFile],
    target_of: Callable[[str], Target],
    installed: Collection[str],
    *,
    subject: str,
) -> ChoosePython:
    """Makes the function that chooses Pythons.

    Args:
        offers: What the indexes offer.
        target_of: What an image (`host` for this machine) can run; its Python is of no account.
        installed: The Pythons that are on this machine (`3.11`), which need no download.
        subject: For messages.
    """
    index = Offers.of(offers)

    def choose(releases: Sequence[str], backend: str, image: str) -> PythonChoice:
        target = target_of(image)
        known = {_minor(python) for python in installed if not python.endswith("t")}
        candidates = [python for python in {*index.pythons, *known} if python >= OLDEST_PYTHON] or [OLDEST_PYTHON]
        # Installed ones first, then the newest.
        candidates.sort(key=lambda python: (python in known, python), reverse=True)
        served = {
            python: sum(
                index.best(release, backend, replace(target, python=python, free_threaded=False)) is not None
                for release in releases
            )
            for python in candidates
        }
        # max gives the first of equals.
        best = max(candidates, key=served.__getitem__)
        name = f"{best[0]}.{best[1]}"
        if served[best] < len(releases):
            return PythonChoice(python=name, complete=False, why=_why_none(releases, backend, index, target, subject))
        kind = "the newest installed one" if best in known else "none that is installed will do; the newest"
        versions = " and ".join(dict.fromkeys(releases)) if len(releases) < 4 else "every release"
        why = f"Python {name} for {backend} on {image}: {kind} that has a wheel of {subject} {versions}"
        return PythonChoice(python=name, complete=True, why=why)

    return choose


def _minor(python: str) -> tuple[int, int]:
    major, minor = python.split(".")[:2]
    return int(major), int(minor)


def _why_none(releases: Sequence[str], backend: str, offers: Offers, target: Target, subject: str) -> str:
    offered = []
    for release in dict.fromkeys(releases):
        pythons = pythons_of(release, backend, offers, target)
        offered.append(f"{subject} {release} for {ranges(pythons) if pythons else 'none'}")
    return f"no Python has a wheel of every release ({backend}): {'; '.join(offered)}"
