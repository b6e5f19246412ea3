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
        python: `3.11`; None when no Python will do.
        why: One line for the plan, or, without a Python, for the error.
    """

    python: str | None
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
        known = {tuple(map(int, python.split(".")[:2])) for python in installed if not python.endswith("t")}
        candidates = sorted({*index.pythons, *known}, reverse=True)
        names = ", ".join(dict.fromkeys(releases))
        for here, kind in ((True, "installed Python"), (False, "Python (none that is installed will do)")):
            for major, minor in candidates:
                if ((major, minor) in known) is not here or (major, minor) < OLDEST_PYTHON:
                    continue
                wanted = replace(target, python=(major, minor), free_threaded=False)
                if all(index.best(release, backend, wanted) for release in releases):
                    why = f"Python {major}.{minor}: the newest {kind} that {subject} {names} has a wheel for"
                    return PythonChoice(python=f"{major}.{minor}", why=why)
        return PythonChoice(python=None, why=_why_none(releases, backend, index, target, subject))

    return choose


def _why_none(releases: Sequence[str], backend: str, offers: Offers, target: Target, subject: str) -> str:
    offered = []
    for release in dict.fromkeys(releases):
        pythons = pythons_of(release, backend, offers, target)
        offered.append(f"{subject} {release} for {ranges(pythons) if pythons else 'none'}")
    return f"no Python has a wheel of every release ({backend}): {'; '.join(offered)}"
