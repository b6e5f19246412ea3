"""The terms of the release axis: exact versions, ranges, and words that are read against the release line.

2.13.0          that release
newest          the newest stable release; `newest<2` is the newest below 2
previous        the stable release before the newest; `previous<=2.13` is the one before the newest up to 2.13
minors          the last stable release of each minor version; `minors>=1.8` leaves out the old ones
>=1.8,<2        every stable release in the range
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from harness.errors import ResolveError, UsageError

__all__ = ["Term", "nearest_releases", "releases_of", "term_fault"]

_WORDS = ("newest", "previous", "minors")
_TERM = re.compile(r"(?P<word>[A-Za-z]*)\s*(?P<range>[<>=!~].*)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term of the release axis.

    Attributes:
        word: `newest`, `previous`, `minors`, `exact`, or empty for a range alone.
        specifiers: The range that the word looks at; empty for all stable releases.
        release: The normalised version of an exact term, without local part.
    """

    word: str
    specifiers: SpecifierSet
    release: str = ""

    @classmethod
    def parse(cls, text: str) -> Term:
        """Reads a term.

        Raises:
            UsageError: It is none of the forms above.
        """
        if fault := term_fault(text):
            raise UsageError(fault)
        match = _TERM.fullmatch(text.strip())
        if match and (match["word"] or match["range"]):
            return cls(word=match["word"], specifiers=SpecifierSet(match["range"] or ""))
        return cls(word="exact", specifiers=SpecifierSet(), release=Version(text).public)

    @property
    def single(self) -> bool:
        """Whether the term always names exactly one release."""
        return self.word in {"newest", "previous", "exact"}


def term_fault(text: str) -> str:
    """What is wrong with a term of the release axis, or nothing."""
    match = _TERM.fullmatch(text.strip())
    if match is None or not (match["word"] or match["range"]):
        try:
            Version(text)
        except InvalidVersion:
            return f"{text!r} is not a version, a range like '>=1.8,<2', or one of {', '.join(_WORDS)}"
        return ""
    if match["word"] and match["word"] not in _WORDS:
        close = difflib.get_close_matches(match["word"], _WORDS, n=1)
        return f"{match['word']!r} is not one of {', '.join(_WORDS)}" + (
            f"; perhaps you meant {close[0]!r}" if close else ""
        )
    try:
        SpecifierSet(match["range"] or "")
    except InvalidSpecifier:
        return f"{match['range']!r} is not a range of versions like '>=1.8,<2'"
    return ""


def releases_of(text: str, line: Sequence[str], known: Collection[str] = (), *, subject: str) -> list[str]:
    """The releases that a term names, oldest first.

    Args:
        text: A term.
        line: The stable releases of the subject, oldest first.
        known: Others that exist (candidates, nightlies); an exact term may name them.
        subject: For messages.

    Raises:
        UsageError: The text is not a term.
        ResolveError: No release is named by it, or it names one that is not offered.
    """
    term = Term.parse(text)
    if term.word == "exact":
        return [_exact(term.release, line, known, subject=subject)]
    stable = [release for release in line if term.specifiers.contains(release, prereleases=True)]
    match term.word:
        case "newest":
            found = stable[-1:]
        case "previous":
            found = stable[-2:-1]
        case "minors":
            # The line is ordered, so that the last one of a minor stays.
            found = list({Version(release).release[:2]: release for release in stable}.values())
        case _:
            found = stable
    if found:
        return found
    what = f"no stable release of {subject} is named by {text!r}"
    why = f"the releases known are {line[0]} to {line[-1]}" if line else "no stable release is known"
    raise ResolveError(what, why=why, next_step="`harness releases list` prints what is known")


def _exact(release: str, line: Sequence[str], known: Collection[str], *, subject: str) -> str:
    wanted = Version(release)
    for offered in (*line, *known):
        # 1.12 and 1.12.0 are one release, and the index decides how it is written.
        if Version(offered) == wanted:
            return offered
    what = f"{subject} {release} is not offered"
    near = nearest_releases(release, [*line, *known])
    raise ResolveError(
        what,
        why=f"perhaps you meant {' or '.join(near)}" if near else "no release is known",
        next_step="`harness releases refresh` reads the indexes again",
    )


def nearest_releases(release: str, known: Collection[str], count: int = 3) -> list[str]:
    """Releases that a mistyped one may have meant: its neighbours on the line first, then those spelled alike."""
    wanted = Version(release)
    ordered = sorted({str(Version(offered)) for offered in known}, key=Version)
    below = [offered for offered in ordered if Version(offered) < wanted][-1:]
    above = [offered for offered in ordered if Version(offered) > wanted][:1]
    alike = difflib.get_close_matches(release, ordered, n=count, cutoff=0.7)
    return list(dict.fromkeys([*below, *above, *alike]))[:count]
