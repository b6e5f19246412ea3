"""Shows a document in the form that was asked for: `--format table|json|markdown`."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from io import StringIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO, assert_never

from harness.reporting.markdown import markdown_page

if TYPE_CHECKING:
    from harness.reporting.document import Document

__all__ = ["Format", "render", "show"]


class Format(StrEnum):
    """The forms a report has."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def show(document: Document, form: Format, *, stream: TextIO | None = None, width: int | None = None) -> None:
    """Writes a document to a stream.

    Args:
        document: What to show.
        form: How.
        stream: Standard output by default. Only a terminal gets colour, and none where `NO_COLOR` is set.
        width: Characters in a line of a table; the terminal's own by default, 80 where there is none.
    """
    stream = sys.stdout if stream is None else stream
    if isinstance(stream, TextIOWrapper):
        # A reason may quote what the terminal's encoding lacks: better a strange character than no report.
        stream.reconfigure(errors="backslashreplace")
    match form:
        case Format.JSON:
            stream.write(json.dumps(document.as_json(), indent=1, allow_nan=False) + "\n")
        case Format.MARKDOWN:
            stream.write(markdown_page(document.page()))
        case Format.TABLE:
            # Imported late: `--format json` shall not pay for it.
            from harness.reporting.terminal import PipedConsole, print_page  # noqa: PLC0415

            console = PipedConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)
            print_page(document.page(), console)
        case _:
            assert_never(form)


def render(document: Document, form: Format, *, width: int = 80) -> str:
    """A document as text, without colour."""
    stream = StringIO()
    show(document, form, stream=stream, width=width)
    # Padding at the ends of lines means nothing, and makes diffs of stored reports noisy.
    return "\n".join(line.rstrip() for line in stream.getvalue().split("\n"))
