"""The noise of a machine, row by row, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import ExitCode
from harness.reporting import units
from harness.reporting.document import finite, head
from harness.reporting.page import Align, Cell, Column, Command, Facts, Notes, Page, Row, Table, Tone
from harness.statistics.verdict import Verdict

if TYPE_CHECKING:
    from harness.reporting.run import Params, ReportRow, RunReport

__all__ = ["NoiseReport", "NoiseRow"]

_COLUMNS = (
    Column(title="what", code=True),
    Column(title="value", align=Align.RIGHT, expendable=2),
    Column(title="spread", align=Align.RIGHT),
    Column(title="degrees", align=Align.RIGHT, expendable=3),
    Column(title="will see", align=Align.RIGHT),
    Column(title="undisturbed", align=Align.RIGHT, expendable=1),
    Column(title="verdict"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRow:
    """A row that was measured against itself.

    Attributes:
        found: What the A/A run says of it.
        spread: Standard deviation of a round's log ratio over all A/A runs that count; None where it is not known.
        degrees: Degrees of freedom that it rests on.
        smallest: The smallest change, as a share, that a comparison of these rows will see in 8 of 10 runs.
    """

    found: ReportRow
    spread: float | None = None
    degrees: int = 0
    smallest: float | None = None

    @property
    def false_alarm(self) -> bool:
        """Whether it is called changed, although both sides are one environment."""
        return self.found.verdict in {Verdict.SLOWER, Verdict.FASTER, Verdict.BROKEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseReport:
    """The answer to `calibrate`.

    Attributes:
        run: The A/A run's own report.
        rows: The quietest first.
        rounds: How many rounds a comparison may take.
        file: Where the noise is kept.
    """

    run: RunReport
    rows: tuple[NoiseRow, ...]
    rounds: int
    file: str

    @property
    def exit_code(self) -> ExitCode:
        """No, where something that did not change is called slower or faster."""
        if any(row.false_alarm for row in self.rows):
            return ExitCode.NO
        return ExitCode.FINE if any(row.found.ratio is not None for row in self.rows) else ExitCode.MEASURE

    def page(self) -> Page:
        """For people."""
        return Page(
            title=f"Noise of {self.run.host.get('name', 'this machine')}: {self.run.baseline} against itself",
            blocks=(
                Table(columns=_COLUMNS, rows=tuple(_row(row) for row in self.rows)),
                Notes(title="Result", items=tuple(self._result())),
                Notes(title="How it was measured", items=tuple(Cell(note) for note in self.run.notes)),
                Facts(title="Kept", pairs=(("noise", self.file), ("report", self.run.report))),
                Facts(title="Machine", pairs=tuple(self.run.host.items())),
                Command(title="To do it again", text=self.run.reproduce),
            ),
        )

    def _result(self) -> Iterator[Cell]:
        known = [row for row in self.rows if row.spread is not None]
        alarms = sum(row.false_alarm for row in self.rows)
        tone = Tone.BAD if self.exit_code else Tone.GOOD
        yield Cell(f"{alarms} of {len(self.rows)} unchanged rows are called slower or faster", tone)
        seen = [1 + row.smallest for row in known if row.smallest is not None and math.isfinite(row.smallest)]
        if seen:
            yield Cell(
                f"a comparison of these rows will see changes of {units.detectables(seen)}, in 8 of 10 runs of "
                f"{self.rounds} rounds; fewer rows or more rounds show smaller ones"
            )
        if self.run.skipped:
            yield Cell(f"skipped here: {', '.join(dict.fromkeys(row.metric for row in self.run.skipped))}", Tone.MUTED)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("calibrate"),
            "cell": self.run.baseline,
            "rows": [_json(row) for row in self.rows],
            "rounds": self.rounds,
            "false_alarms": sum(row.false_alarm for row in self.rows),
            "host": dict(self.run.host),
            "notes": list(self.run.notes),
            "noise": self.file,
            "report": self.run.report,
            "seconds": finite(self.run.seconds),
            "reproduce": self.run.reproduce,
            "exit_code": int(self.exit_code),
        }


def _row(row: NoiseRow) -> Row:
    found = row.found
    params = ", ".join(f"{name}={text}" for name, text in found.params)
    return Row(
        cells=(
            Cell(f"{found.metric} {params}".rstrip()),
            Cell(units.quantity(found.baseline, found.unit) if found.baseline is not None else ""),
            Cell(units.detectable(math.exp(row.spread)) if row.spread is not None else ""),
            Cell(str(row.degrees) if row.spread is not None else ""),
            Cell(units.detectable(1 + row.smallest) if row.smallest is not None else ""),
            Cell(units.percent(found.calm) if found.calm is not None else ""),
            Cell(found.verdict.value, Tone.BAD if row.false_alarm else Tone.PLAIN),
        ),
        detail=found.reason if row.false_alarm or row.spread is None else "",
    )


def _json(row: NoiseRow) -> dict[str, Any]:
    found = row.found
    params: Params = found.params
    return {
        "metric": found.metric,
        "benchmark": found.benchmark,
        "params": dict(params),
        "unit": found.unit,
        "value": finite(found.baseline),
        "spread": row.spread,
        "degrees": row.degrees,
        "smallest_change": finite(row.smallest),
        "verdict": found.verdict.value,
        "rounds": found.rounds,
        "calm": finite(found.calm),
        "reason": found.reason,
    }
