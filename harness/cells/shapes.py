"""Shapes of a TOML file: one declaration reads a value, says what is wrong with it, and gives its JSON schema.

Reading never stops at the first fault: it notes each with its place and goes on, so that a file is mended in one go.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

__all__ = [
    "INVALID",
    "Boolean",
    "Either",
    "Entry",
    "Faults",
    "Integer",
    "ListOf",
    "MappingOf",
    "Number",
    "OneOrMany",
    "Shape",
    "Table",
    "Text",
    "perhaps",
]

#: What a shape reads from a value that is wrong; the fault has been noted.
INVALID: Final = object()

_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list", dict: "a table"}


def perhaps(word: str, known: Iterable[str]) -> str:
    """`; perhaps you meant 'python'`, or nothing when no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; perhaps you meant {close[0]!r}" if close else ""


class Faults:
    """The faults of a file, each with its place."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: list[str] = []
        self._places: list[str] = []

    def add(self, place: str, what: str) -> None:
        """Notes one fault; the place is a path of keys (`profiles.quick.python[0]`), empty for the file itself."""
        self.lines.append(f"{self.file}: {place}: {what}" if place else f"{self.file}: {what}")
        self._places.append(place)

    def under(self, place: str) -> bool:
        """Whether a fault was noted at a place or below it: what is missing there may only be unreadable."""
        return any(noted == place or noted.startswith((f"{place}.", f"{place}[")) for noted in self._places)

    def expected(self, place: str, wanted: str, value: object) -> object:
        """Notes a value of the wrong type and returns INVALID."""
        found = _NAMES.get(type(value), "a date or time")
        quotes = "; put it in quotes" if wanted.startswith("text") and not isinstance(value, list | dict) else ""
        self.add(place, f"expected {wanted}, found {found}{quotes}")
        return INVALID


class Shape(Protocol):
    """What a value looks like."""

    def read(self, value: object, place: str, faults: Faults) -> Any:
        """The value in the form that the program uses, or INVALID with a fault noted."""

    def schema(self) -> dict[str, Any]:
        """The same as JSON schema."""


def _nothing_wrong(_text: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Text.

    Attributes:
        name: What it is, for messages (`a version`).
        pattern: A regular expression that all of it matches, in the dialect that Python and JSON schema share.
        words: The only texts allowed; none means any.
        check: Says what is wrong with a text, or nothing.
    """

    name: str = "text"
    pattern: str = ""
    words: tuple[str, ...] = ()
    check: Callable[[str], str] = _nothing_wrong

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if not isinstance(value, str):
            return faults.expected(place, "text" if self.name == "text" else f"text ({self.name})", value)
        if self.words and value not in self.words:
            wrong = f"{value!r} is not one of {', '.join(self.words)}{perhaps(value, self.words)}"
        elif self.pattern and not re.fullmatch(self.pattern, value, re.ASCII):
            wrong = f"{value!r} is not {self.name}"
        else:
            wrong = self.check(value)
        if wrong:
            faults.add(place, wrong)
            return INVALID
        return value

    def schema(self) -> dict[str, Any]:  # noqa: D102
        found: dict[str, Any] = {"type": "string"}
        if self.words:
            found["enum"] = list(self.words)
        if self.pattern:
            found["pattern"] = f"^(?:{self.pattern})$"
        return found


@dataclass(frozen=True, slots=True)
class Boolean:
    """`true` or `false`, or only one of them."""

    only: bool | None = None

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if not isinstance(value, bool):
            return faults.expected(place, "true or false", value)
        if self.only is not None and value is not self.only:
            faults.add(place, f"only {str(self.only).lower()} has a meaning here")
            return INVALID
        return value

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "boolean"} if self.only is None else {"const": self.only}


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer:
    """A whole number in a range, both ends in it."""

    minimum: int = 0
    maximum: int = 1_000_000

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if isinstance(value, bool) or not isinstance(value, int):
            return faults.expected(place, "a whole number", value)
        if not self.minimum <= value <= self.maximum:
            faults.add(place, f"{value} is not from {self.minimum} to {self.maximum}")
            return INVALID
        return value

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number in a range, both ends in it."""

    minimum: float
    maximum: float

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if isinstance(value, bool) or not isinstance(value, int | float):
            return faults.expected(place, "a number", value)
        if not self.minimum <= value <= self.maximum:
            faults.add(place, f"{value} is not from {self.minimum} to {self.maximum}")
            return INVALID
        return float(value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "number", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Either:
    """The first shape, when the value is true or false; else the second."""

    switch: Boolean
    other: Shape

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        return (self.switch if isinstance(value, bool) else self.other).read(value, place, faults)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"anyOf": [self.switch.schema(), self.other.schema()]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOf:
    """A list of values of one shape, read as a tuple."""

    item: Shape
    unique: bool = True
    empty: bool = False

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if not isinstance(value, list):
            return faults.expected(place, "a list", value)
        if not value and not self.empty:
            faults.add(place, "is empty: name at least one value, or leave the key out")
            return INVALID
        found: list[Any] = []
        for number, element in enumerate(value):
            read = self.item.read(element, f"{place}[{number}]", faults)
            if self.unique and read is not INVALID and read in found:
                faults.add(f"{place}[{number}]", f"{element!r} is named twice")
            found.append(read)
        return INVALID if INVALID in found else tuple(found)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        found: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.unique:
            found["uniqueItems"] = True
        if not self.empty:
            found["minItems"] = 1
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOrMany:
    """One value, or a list of them: an axis of the matrix. Read as a tuple."""

    item: Shape
    unique: bool = True

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if isinstance(value, list):
            return ListOf(item=self.item, unique=self.unique).read(value, place, faults)
        found = self.item.read(value, place, faults)
        return INVALID if found is INVALID else (found,)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"anyOf": [self.item.schema(), ListOf(item=self.item, unique=self.unique).schema()]}


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingOf:
    """A table whose keys the user chooses."""

    key: Text
    value: Shape

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if not isinstance(value, dict):
            return faults.expected(place, "a table", value)
        found = {}
        for name, element in value.items():
            where = f"{place}.{name}"
            key = self.key.read(name, where, faults)
            read = self.value.read(element, where, faults)
            if key is not INVALID and read is not INVALID:
                found[key] = read
        return found

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "object", "propertyNames": self.key.schema(), "additionalProperties": self.value.schema()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One key of a table: what it holds, and what it is for."""

    shape: Shape
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table whose keys are declared. Faulty and missing keys are absent from what is read."""

    entries: Mapping[str, Entry]
    doc: str = field(default="")

    def read(self, value: object, place: str, faults: Faults) -> Any:  # noqa: D102
        if not isinstance(value, dict):
            return faults.expected(place, "a table", value)
        found: dict[str, Any] = {}
        for name, element in value.items():
            where = f"{place}.{name}" if place else name
            if name not in self.entries:
                faults.add(where, f"unknown key{perhaps(name, self.entries)}")
                continue
            read = self.entries[name].shape.read(element, where, faults)
            if read is not INVALID:
                found[name] = read
        for name, entry in self.entries.items():
            if entry.required and name not in value:
                faults.add(f"{place}.{name}" if place else name, f"is missing: {entry.doc}")
        return found

    def schema(self) -> dict[str, Any]:  # noqa: D102
        found: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"description": e.doc, **e.shape.schema()} for name, e in self.entries.items()},
        }
        if required := [name for name, entry in self.entries.items() if entry.required]:
            found["required"] = required
        return {"description": self.doc, **found} if self.doc else found
