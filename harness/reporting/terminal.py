"""Pages on a terminal: colour where there is colour, words everywhere, and no line wider than the window."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import assert_never

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from harness.reporting.page import Align, Block, Cell, Command, Facts, Notes, Page, Pictures, Row, Table, Tone, plain

__all__ = ["PipedConsole", "print_page"]

_STYLES = {Tone.PLAIN: "", Tone.GOOD: "green", Tone.BAD: "bold red", Tone.WARN: "yellow", Tone.MUTED: "dim"}
_GAP = 2
#: A column of names may be folded down to this width before others are left out.
_NARROWEST = 24


class PipedConsole(Console):
    """A console that leaves a broken pipe to the caller; rich's own ends the program with status 1, which says no."""

    def on_broken_pipe(self) -> None:
        """Raises the error that is being handled."""
        raise  # noqa: PLE0704  # rich calls this inside its handler


def print_page(page: Page, console: Console) -> None:
    """Prints a page to a console, as wide as the console is."""
    console.print(Text(plain(page.title), style="bold"))
    for block in page.shown:
        console.print()
        _print_block(block, console)


def _print_block(block: Block, console: Console) -> None:
    title = plain(block.title)
    if title:
        console.print(Text(title, style="bold"))
    match block:
        case Table():
            _print_table(block, console)
        case Facts():
            grid = Grid.grid(padding=(0, _GAP, 0, 0))
            grid.add_column(no_wrap=True)
            grid.add_column(overflow="fold")
            for name, value in block.pairs:
                grid.add_row(Text(plain(name), style="dim"), Text(plain(value)))
            console.print(Padding(grid, (0, 0, 0, 2 if title else 0)))
        case Notes():
            for item in block.items:
                console.print(Padding(_text(item), (0, 0, 0, 2 if title else 0)))
        case Command():
            # Not folded: a command that was cut into lines could not be copied.
            console.print(Text(f"  {plain(block.text)}"), soft_wrap=True)
        case Pictures():
            for line in _places(block):
                console.print(Padding(Text(plain(line)), (0, 0, 0, 2 if title else 0)))
        case _:
            assert_never(block)


def _places(block: Pictures) -> list[str]:
    """One file by its path, several by their folders: a reader opens those."""
    if len(block.items) == 1:
        return [block.items[0].path]
    folders = Counter(str(PurePath(picture.path).parent) for picture in block.items)
    return [f"{folder}: {count} {'file' if count == 1 else 'files'}" for folder, count in folders.items()]


def _print_table(table: Table, console: Console) -> None:
    kept = _columns_that_fit(table, console.width)
    grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim", collapse_padding=True)
    for index in kept:
        column = table.columns[index]
        right = column.align is Align.RIGHT
        grid.add_column(
            column.title,
            justify="right" if right else "left",
            no_wrap=not _may_fold(table, index),
            overflow="fold",
        )
    details = [row for row in table.rows if row.detail]
    for row in table.rows:
        grid.add_row(*(_text(row.cells[index]) for index in kept))
    console.print(grid)
    if details:
        console.print()
    for row in details:
        console.print(_detail(table, row))


def _detail(table: Table, row: Row) -> Text:
    """The names that tell a row apart and what is to be said of it."""
    name = " ".join(
        plain(cell.text) for cell, column in zip(row.cells, table.columns, strict=True) if column.code and cell.text
    )
    lead = row.cells[0]
    parts: list[tuple[str, str]] = [(name, "")]
    if not table.columns[0].code and lead.text:
        parts.insert(0, (f"{plain(lead.text)} ", _STYLES[lead.tone]))
    return Text.assemble(*parts, (f": {plain(row.detail)}", "dim"))


def _columns_that_fit(table: Table, width: int) -> list[int]:
    """The columns that always stay, and of the others, the least expendable first, those that still fit."""
    filled = [index for index in range(len(table.columns)) if any(row.cells[index].text for row in table.rows)]
    needed, kept = -_GAP, []
    for index in sorted(filled, key=lambda index: table.columns[index].expendable):
        more = _GAP + _least_width(table, index)
        if table.columns[index].expendable == 0 or needed + more <= width:
            needed += more
            kept.append(index)
    return sorted(kept)


def _least_width(table: Table, index: int) -> int:
    widest = _width(table, index)
    return min(widest, _NARROWEST) if _may_fold(table, index) else widest


def _may_fold(table: Table, index: int) -> bool:
    return table.columns[index].code


def _width(table: Table, index: int) -> int:
    texts = [table.columns[index].title, *(plain(row.cells[index].text) for row in table.rows)]
    return max(map(cell_len, texts))


def _text(cell: Cell) -> Text:
    return Text(plain(cell.text), style=_STYLES[cell.tone])
