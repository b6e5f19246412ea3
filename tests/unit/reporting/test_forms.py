"""Every report in every form, as golden text. `HARNESS_GOLDEN=write` writes the files anew; read the diff then."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from pathlib import Path

import pytest
from rich.cells import cell_len

from harness.reporting.render import Format, render, show
from tests.unit.reporting.examples import EVERY, RUN

GOLDEN = Path(__file__).parent / "golden"
FORMS = {Format.TABLE: "txt", Format.MARKDOWN: "md", Format.JSON: "json"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", EVERY)
def test_golden(name, form):
    compare_with_golden(f"{name}.{FORMS[form]}", render(EVERY[name], form))


def test_golden_on_a_wide_terminal():
    compare_with_golden("run-wide.txt", render(RUN, Format.TABLE, width=150))


def compare_with_golden(file, text):
    path = GOLDEN / file
    if os.environ.get("HARNESS_GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("name", EVERY)
def test_no_line_is_wider_than_the_terminal(name, width):
    """But the command to be copied, which must stay in one piece."""
    document = EVERY[name]
    reproduce = getattr(document, "reproduce", "") or getattr(document, "next_step", "")
    for line in render(document, Format.TABLE, width=width).splitlines():
        assert cell_len(line) <= width or line.strip() == reproduce


@pytest.mark.parametrize("name", EVERY)
def test_no_form_lets_a_terminal_sequence_through(name):
    for form in FORMS:
        assert "\x1b" not in render(EVERY[name], form)


def test_colour_only_adds_to_the_words(monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    show(RUN, Format.TABLE, stream=stream, width=80)
    assert "\x1b[1;31mslower" in stream.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_a_poor_encoding_loses_no_report(form):
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    show(dataclasses.replace(RUN, notes=("caf\u00e9",)), form, stream=stream, width=80)
    stream.flush()
    assert b"caf\\" in buffer.getvalue()


@pytest.mark.parametrize("name", EVERY)
def test_documents_begin_with_schema_and_command(name):
    text = render(EVERY[name], Format.JSON)
    document = json.loads(text, parse_constant=pytest.fail)
    assert list(document)[:2] == ["schema", "command"]
    assert document["schema"] == 1
