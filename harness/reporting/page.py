"""What every report is made of, whatever it is shown on: a title and blocks of tables, facts, notes and commands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "Align",
    "Block",
    "Cell",
    "Column",
    "Command",
    "Facts",
    "Notes",
    "Page",
    "Picture",
    "Pictures",
    "Row",
    "Table",
    "Tone",
    "plain",
]

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


class Tone(StrEnum):
    """How a text is meant. Renderers may colour it; the words alone must say it too."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    MUTED = "muted"


class Align(StrEnum):
    """The side of its column that a cell keeps to."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of a table."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        title: Its heading.
        align: The side that cells keep to.
        expendable: 0 always stays; of the others, the highest goes first where the table is too wide.
        code: Whether its cells are names to be copied, set apart where that can be shown.
    """

    title: str
    align: Align = Align.LEFT
    expendable: int = 0
    code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table; `detail` is a sentence that may stand under it."""

    cells: tuple[Cell, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; `detail_title` heads the rows' details where they get a column."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    detail_title: str = "why"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Names and what they stand for."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Sentences, one an item."""

    items: tuple[Cell, ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command to be copied, with what it does."""

    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A file to be looked at: its path, from where the page is read, and what it shows."""

    title: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Pictures where they can be shown, else where they lie."""

    items: tuple[Picture, ...]
    title: str = ""


Block = Table | Facts | Notes | Command | Pictures


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A report ready to be shown; blocks without content are left out."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def shown(self) -> tuple[Block, ...]:
        """The blocks that have content."""
        return tuple(block for block in self.blocks if _has_content(block))


def _has_content(block: Block) -> bool:
    match block:
        case Table():
            return bool(block.rows)
        case Facts():
            return bool(block.pairs)
        case Notes():
            return bool(block.items)
        case Command():
            return bool(block.text)
        case Pictures():
            return bool(block.items)


def plain(text: str) -> str:
    """Text on one line without terminal sequences and control characters: reasons quote what crashed processes said."""
    return " ".join(_CONTROL.sub(" ", _ESCAPE.sub("", text)).split())
