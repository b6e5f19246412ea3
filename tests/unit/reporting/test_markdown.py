from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reporting.markdown import escape, markdown_page
from harness.reporting.page import Align, Cell, Column, Command, Facts, Notes, Page, Row, Table, plain


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<script>&", "&lt;script&gt;&amp;"),
        ("*bold* `code` [link](x)", "\\*bold\\* \\`code\\` \\[link\\](x)"),
        ("conv2d_throughput", "conv2d_throughput"),
        ("__init__ _x", "\\_\\_init\\_\\_ \\_x"),
        ("# heading", "\\# heading"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("---", "\\---"),
        ("-7.2 %", "-7.2 %"),
        ("1.230 ms", "1.230 ms"),
        ("two\nlines", "two lines"),
        ("$x$ ~y~", "\\$x\\$ \\~y\\~"),
    ],
)
def test_escapes(text, escaped):
    assert escape(text) == escaped


@given(st.text())
def test_every_cell_stays_in_its_cell(text):
    table = Table(
        columns=(Column(title="a"), Column(title="b", align=Align.RIGHT, code=True)),
        rows=(Row(cells=(Cell(f"x{text}"), Cell(f"y{text}")), detail=f"z{text}"),),
    )
    lines = markdown_page(Page(title="t", blocks=(table,))).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 3
    # A pipe that is not escaped begins a cell, in code as outside of it.
    for line in rows:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 4
    assert "<" not in rows[-1].split("`")[0]


def test_code_may_hold_backticks_and_pipes():
    table = Table(columns=(Column(title="a", code=True),), rows=(Row(cells=(Cell("`x` | y"),)),))
    assert "| `` `x` \\| y `` |" in markdown_page(Page(title="t", blocks=(table,)))


def test_a_command_may_hold_backticks():
    text = markdown_page(Page(title="t", blocks=(Command(title="Run", text="echo ```x```"),)))
    assert "````sh\necho ```x```\n````" in text


def test_blocks_without_content_are_left_out():
    page = Page(
        title="t",
        blocks=(
            Table(columns=(), rows=(), title="T"),
            Facts(pairs=(), title="F"),
            Notes(items=(), title="N"),
            Command(title="C", text=""),
        ),
    )
    assert markdown_page(page) == "## t\n"


def test_empty_columns_are_left_out():
    table = Table(columns=(Column(title="a"), Column(title="gone")), rows=(Row(cells=(Cell("1"), Cell(""))),))
    assert "gone" not in markdown_page(Page(title="t", blocks=(table,)))


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07rest", "rest"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\r\nb\tc", "a b c"),
        ("bell\x07", "bell"),
        ("right\u202eleft", "right left"),
        ("\x1b", ""),
    ],
)
def test_plain_text(text, cleaned):
    assert plain(text) == cleaned


@given(st.text())
def test_plain_text_is_one_printable_line(text):
    cleaned = plain(text)
    assert len(cleaned.splitlines()) <= 1
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in cleaned)
