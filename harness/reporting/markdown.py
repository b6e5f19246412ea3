"""Pages as GitHub-flavoured Markdown, ready to be pasted into an issue."""

from __future__ import annotations

import re
from typing import assert_never
from urllib.parse import quote

from harness.reporting.page import Align, Block, Cell, Column, Command, Facts, Notes, Page, Pictures, Table, Tone, plain

__all__ = ["escape", "markdown_page"]

_SPECIAL = re.compile(r"[\\`*\[\]<>|~$&]|(?<![^\W_])_|_(?![^\W_])")
#: What begins a heading, a list or a rule where a line begins with it.
_LEADING = re.compile(r"^(?:[#+=-]+|\d+(?=[.)]))(?=[.)]?(?:\s|$))")
_TICKS = re.compile(r"`+")


def markdown_page(page: Page) -> str:
    """A page as Markdown; ends in a newline."""
    parts = [f"## {escape(page.title)}"]
    parts += [_block(block) for block in page.shown]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text that Markdown and HTML leave as it is, also inside a table."""
    cleaned = _SPECIAL.sub(lambda match: _HTML.get(match[0], f"\\{match[0]}"), plain(text))
    return _LEADING.sub(lambda match: f"\\{match[0]}" if not match[0][0].isdigit() else f"{match[0]}\\", cleaned)


# Entities rather than a backslash: HTML that survives Markdown would not know the backslash.
_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def _block(block: Block) -> str:
    heading = f"### {escape(block.title)}\n\n" if block.title and not isinstance(block, Command) else ""
    match block:
        case Table():
            return heading + _table(block)
        case Facts():
            return heading + "\n".join(f"- **{escape(name)}**: {_name(value)}" for name, value in block.pairs)
        case Notes():
            return heading + "\n".join(f"- {_toned(item)}" for item in block.items)
        case Command():
            fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(block.text)), default=0))
            return f"{escape(block.title)}:\n\n{fence}sh\n{plain(block.text)}\n{fence}"
        case Pictures():
            return heading + "\n\n".join(f"![{escape(one.title)}]({quote(one.path, safe='/=')})" for one in block.items)
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    kept = [index for index in range(len(table.columns)) if any(row.cells[index].text for row in table.rows)]
    columns = [table.columns[index] for index in kept]
    has_details = any(row.detail for row in table.rows)
    heads = [escape(column.title) for column in columns]
    rules = ["--:" if column.align is Align.RIGHT else ":--" for column in columns]
    lines = []
    for row in table.rows:
        cells = [_cell(row.cells[index], table.columns[index]) for index in kept]
        lines.append([*cells, escape(row.detail)] if has_details else cells)
    if has_details:
        heads.append(escape(table.detail_title))
        rules.append(":--")
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rules, *lines))


def _cell(cell: Cell, column: Column) -> str:
    if column.code and cell.text:
        return _code(cell.text, in_table=True)
    return _toned(cell)


def _toned(cell: Cell) -> str:
    text = escape(cell.text)
    return f"**{text}**" if cell.tone is Tone.BAD and text else text


def _name(value: str) -> str:
    """Ids and paths as code, sentences as text."""
    return escape(value) if " " in value or not value else _code(value)


def _code(text: str, *, in_table: bool = False) -> str:
    cleaned = plain(text)
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(cleaned)), default=0))
    # GitHub splits a row at pipes before it looks for code, and takes the backslash away again.
    cleaned = cleaned.replace("|", "\\|") if in_table else cleaned
    edge = " " if cleaned.startswith("`") or cleaned.endswith("`") else ""
    return f"{ticks}{edge}{cleaned}{edge}{ticks}"
