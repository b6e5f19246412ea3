"""What every report can do: become a page for people and a document for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from harness.reporting.page import Page

__all__ = ["SCHEMA", "Document", "Finding", "finite", "head"]

#: The number in every JSON document. It rises when a field changes its meaning or goes, not when one is added.
SCHEMA = 1


class Document(Protocol):
    """A report, before it is known how it will be shown."""

    def page(self) -> Page:
        """For people: the terminal and Markdown show the same page."""

    def as_json(self) -> dict[str, Any]:
        """For programs: `docs/reference/json.md` describes the fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something found about a machine or an environment, beside what was measured.

    Attributes:
        severity: `ok`, `note`, `warn` or `fail`.
        title: One sentence.
        fault: The fault's id (`F05`), or empty.
        evidence: What shows it, one fact an item.
        advice: What helps.
    """

    severity: str
    title: str
    fault: str = ""
    evidence: tuple[str, ...] = ()
    advice: str = ""

    def as_json(self) -> dict[str, Any]:
        """The fields that every document shares for findings."""
        return {
            "fault": self.fault,
            "severity": self.severity,
            "title": self.title,
            "evidence": list(self.evidence),
            "advice": self.advice,
        }


def head(command: str) -> dict[str, Any]:
    """The fields that begin every JSON document."""
    return {"schema": SCHEMA, "command": command}


def finite(value: float | None) -> float | None:
    """JSON has no infinity: an end that is not known is null."""
    return value if value is not None and math.isfinite(value) else None
