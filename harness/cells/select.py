"""Choosing cells: by a glob on their ids, or by the value of an axis.

torch2.*-py3.11-*       a glob on the id
python=3.11             the axis has the value; the value may be a glob
torch>=2.0              the axis, read as a version, is in the range
"""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from harness.cells.cell import Cell, parse_cell_id
from harness.cells.shapes import perhaps
from harness.errors import UsageError

__all__ = ["AXES", "Condition", "Selector", "pattern_fault", "select"]

#: The axes of every cell. A cell also answers to its subject's name, its packages, and `env.X`, `build.X`, `flag.X`.
AXES = ("subject", "release", "python", "backend", "image", "slim", "as_of")

_PREFIXES = ("env.", "build.", "flag.")
_OPERATORS = ("<", ">", "=", "!", "~")
_AXIS = re.compile(
    r"(?P<axis>[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?)\s*(?P<operator>==|>=|<=|!=|~=|=|<|>)(?P<value>.*)",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """An axis, and the values it may have.

    Attributes:
        axis: As `Cell.axes` names it.
        patterns: Globs, or ranges of versions (`>=1.8,<2`); any may hold.
    """

    axis: str
    patterns: tuple[str, ...]

    def holds(self, cell: Cell) -> bool:
        """Whether a cell has this axis with one of the values."""
        value = cell.axes().get(self.axis)
        return value is not None and any(_fits(value, pattern) for pattern in self.patterns)


def pattern_fault(pattern: str) -> str:
    """What is wrong with a pattern for a value, or nothing."""
    if not pattern.startswith(_OPERATORS):
        return ""
    try:
        SpecifierSet(pattern)
    except InvalidSpecifier:
        return f"{pattern!r} is not a range of versions like '>=1.8,<2'"
    return ""


def _fits(value: str, pattern: str) -> bool:
    if not pattern.startswith(_OPERATORS):
        return fnmatchcase(value, pattern)
    try:
        # A free-threaded 3.13t counts as 3.13.
        return SpecifierSet(pattern).contains(Version(value.removesuffix("t")), prereleases=True)
    except InvalidVersion:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """One selection: a glob on ids, or a condition on an axis.

    Attributes:
        glob: For ids; empty when there is a condition.
        condition: On an axis; None when there is a glob.
    """

    glob: str = ""
    condition: Condition | None = None

    @classmethod
    def parse(cls, text: str, *, axes: Collection[str] | None = None) -> Selector:
        """Reads a selector.

        Args:
            text: A glob or `axis=value`.
            axes: The axes that exist; by default none is refused.

        Raises:
            UsageError: The text is empty, names an axis that does not exist, or has a range that is none.
        """
        text = text.strip()
        if not text:
            what = "an empty selector selects nothing"
            raise UsageError(what)
        with contextlib.suppress(UsageError):
            # An id is itself first: those of `lz4==4.0` look like a condition, and values may have brackets.
            return cls(glob=glob.escape(parse_cell_id(text).id))
        match = _AXIS.fullmatch(text)
        if match is None:
            return cls(glob=text)
        axis, operator, value = match["axis"], match["operator"], match["value"]
        if axes is not None and axis not in axes:
            axis = _known(text, axis, axes)
        pattern = value if operator in {"=", "=="} else operator + value
        if fault := pattern_fault(pattern):
            what = f"{text!r}: {fault}"
            raise UsageError(what)
        return cls(condition=Condition(axis=axis, patterns=(pattern,)))

    def matches(self, cell: Cell) -> bool:
        """Whether the selector chooses a cell."""
        return self.condition.holds(cell) if self.condition else fnmatchcase(cell.id, self.glob)


def _known(text: str, axis: str, axes: Collection[str]) -> str:
    canonical = canonicalize_name(axis)
    if canonical in axes:
        return canonical
    # A variable that no cell sets is no mistake: it selects no cell.
    if axis.startswith(_PREFIXES):
        return axis
    bare = next((prefix + axis for prefix in _PREFIXES if prefix + axis in axes), None)
    hint = f"; perhaps you meant {bare!r}" if bare else perhaps(axis, axes)
    what = f"{text!r}: no cell has an axis {axis!r}{hint}"
    raise UsageError(what, next_step=f"the axes are {', '.join(sorted(axes))}")


def select(cells: Sequence[Cell], selectors: Sequence[str]) -> tuple[Cell, ...]:
    """The cells that any of the selectors chooses, in their order; all of them when there is no selector.

    Raises:
        UsageError: A selector names an axis that no cell has, or chooses nothing.
    """
    if not selectors:
        return tuple(cells)
    axes = {axis for cell in cells for axis in cell.axes()} | set(AXES)
    parsed = [(text, Selector.parse(text, axes=axes)) for text in selectors]
    for text, selector in parsed:
        if not any(selector.matches(cell) for cell in cells):
            what = f"{text!r} selects none of {len(cells)} cells"
            near = perhaps(text, [cell.id for cell in cells]).removeprefix("; ")
            raise UsageError(what, why=near, next_step="`harness plan` prints their ids")
    return tuple(cell for cell in cells if any(selector.matches(cell) for _, selector in parsed))
