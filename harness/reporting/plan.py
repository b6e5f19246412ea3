"""The report of a plan: which cells will be built, which cannot exist and why, and what it will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.reporting import units
from harness.reporting.document import finite, head
from harness.reporting.page import Align, Cell, Column, Command, Facts, Notes, Page, Row, Table, Tone

__all__ = ["PlanReport", "PlanRow"]

_COLUMNS = (
    Column(title="cell", code=True),
    Column(title="state"),
    Column(title="download", align=Align.RIGHT),
    Column(title="disk", align=Align.RIGHT, expendable=1),
    Column(title="minutes", align=Align.RIGHT),
    Column(title="wheel", expendable=2),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One cell.

    Attributes:
        id: The cell's id.
        exists: Whether it could be built, here or on another machine.
        runs: Whether it can be built and measured here.
        reason: Why not; empty where it runs.
        warning: What to know of a cell that runs.
        nearest: The id of the nearest cell that exists, for one that does not.
        wheel: The file of the subject.
        bytes: To download, or None where it is not known.
        disk: Bytes that it adds to the disk, or None.
        minutes: To build and to measure, or None.
    """

    id: str
    exists: bool
    runs: bool
    reason: str = ""
    warning: str = ""
    nearest: str | None = None
    wheel: str | None = None
    bytes: int | None = None
    disk: int | None = None
    minutes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport:
    """The answer to `plan`.

    Attributes:
        title: One line: what was asked.
        cells: In the order of the plan.
        notes: The backend that was chosen and why, the age of the catalogue, slim environments.
        next_step: The command that carries the plan out.
    """

    title: str
    cells: tuple[PlanRow, ...]
    notes: tuple[str, ...] = ()
    next_step: str = ""

    def page(self) -> Page:
        """For people."""
        return Page(
            title=self.title,
            blocks=(
                Table(columns=_COLUMNS, rows=tuple(_row(cell) for cell in self.cells)),
                Facts(title="In all", pairs=self._totals()),
                Notes(items=tuple(Cell(note) for note in self.notes)),
                Command(title="To carry it out", text=self.next_step),
            ),
        )

    def _totals(self) -> tuple[tuple[str, str], ...]:
        running = [cell for cell in self.cells if cell.runs]
        missing = sum(not cell.exists for cell in self.cells)
        elsewhere = len(self.cells) - len(running) - missing
        counts = [f"{len(running)} to build"]
        counts += [f"{elsewhere} not on this machine"] * bool(elsewhere) + [f"{missing} left out"] * bool(missing)
        pairs = [("cells", ", ".join(counts))]
        if any(cell.bytes is not None for cell in running):
            unknown = " and what is not known" if any(cell.bytes is None for cell in running) else ""
            pairs.append(("download", units.size(sum(cell.bytes or 0 for cell in running)) + unknown))
        if any(cell.disk is not None for cell in running):
            pairs.append(("disk", units.size(sum(cell.disk or 0 for cell in running))))
        if any(cell.minutes is not None for cell in running):
            pairs.append(("time", f"about {units.duration(60 * sum(cell.minutes or 0 for cell in running))}"))
        return tuple(pairs)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("plan"),
            "title": self.title,
            "cells": [
                {
                    "id": cell.id,
                    "exists": cell.exists,
                    "runs": cell.runs,
                    "reason": cell.reason,
                    "warning": cell.warning,
                    "nearest": cell.nearest,
                    "wheel": cell.wheel,
                    "bytes": cell.bytes,
                    "disk_bytes": cell.disk,
                    "minutes": finite(cell.minutes),
                }
                for cell in self.cells
            ],
            "notes": list(self.notes),
        }


def _row(cell: PlanRow) -> Row:
    state, tone = ("build", Tone.GOOD) if cell.runs else ("not here", Tone.WARN) if cell.exists else ("no", Tone.MUTED)
    nearest = f"; nearest: {cell.nearest}" if cell.nearest else ""
    said = [text for text in (f"{cell.reason}{nearest}" if cell.reason or nearest else "", cell.warning) if text]
    return Row(
        cells=(
            Cell(cell.id),
            Cell(state, tone),
            Cell(units.size(cell.bytes) if cell.bytes is not None else "", Tone.PLAIN),
            Cell(units.size(cell.disk) if cell.disk is not None else ""),
            Cell(f"{cell.minutes:.1f}" if cell.minutes is not None else ""),
            Cell(cell.wheel or ""),
        ),
        detail="; ".join(said),
    )
