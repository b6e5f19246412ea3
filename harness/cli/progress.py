"""What a run tells on standard error while it goes on: one line that changes on a terminal, sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.inspection.check import HostFinding
    from harness.measurement.events import Event, Progress
    from harness.pipeline.build import Building

__all__ = ["Teller"]

#: Seconds between two lines where there is no terminal to rewrite one.
_SPARSE = 15.0


class Teller:
    """Tells of a run; remembers what the report needs of it.

    Attributes:
        findings: What the host check found, for the report.
        notes: What was decided on the way, for the report.
    """

    def __init__(self) -> None:
        self.findings: tuple[HostFinding, ...] = ()
        self.notes: list[str] = []
        self._live = sys.stderr.isatty()
        self._open_line = False
        self._last = 0.0
        self._start = time.monotonic()

    def note(self, text: str) -> None:
        """Something to know of how it is measured."""
        self.notes.append(text)
        self._say(text)

    def building(self, building: Building) -> None:
        """An environment is about to be built."""
        from harness.reporting.units import size

        if building.ready:
            self._say(f"{building.cell}: ready")
        else:
            self._say(f"{building.cell}: building, up to {size(building.download)} to download")

    def event(self, event: Event) -> None:
        """Something happened in the measuring."""
        from harness.measurement.events import Finished, HostChecked, Progress, Started, Undecided, Waiting

        match event:
            case HostChecked():
                self.findings = event.findings
                for finding in event.findings:
                    self._say(f"machine: {finding.title} ({finding.advice})")
            case Waiting():
                self._say(f"waiting: this machine measures for {event.holder or 'another process'}")
            case Started():
                again = f"goes on: {event.done} of {event.total} measured already, in" if event.resumed else "records:"
                self._say(f"{again} {event.folder}")
                for fault in event.faults:
                    self._say(f"not used: {fault}")
            case Progress():
                self._progress(event)
            case Undecided():
                self._say(f"{len(event.rows)} undecided: measured on, to {event.rounds} rounds")
            case Finished():
                self._say("measured")

    def _progress(self, event: Progress) -> None:
        from harness.reporting.units import duration

        now = time.monotonic()
        if not self._live and now - self._last < _SPARSE and event.done < event.total:
            return
        self._last = now
        name = event.records[0].benchmark.name.rpartition(".")[2]
        left = f", about {duration(event.seconds_left)} left" if event.done < event.total else ""
        text = f"{event.done}/{event.total} measured{left} ({name})"
        if self._live:
            click.echo(f"\r\x1b[K{text}", err=True, nl=False)
            self._open_line = True
        else:
            self._say(text)

    def _say(self, text: str) -> None:
        if self._open_line:
            click.echo("", err=True)
            self._open_line = False
        click.echo(text, err=True)
