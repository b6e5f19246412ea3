"""Rules on trial, as a table for people and a document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.calibration.trials import EFFECTS, ROWS, Promise, Trial
from harness.errors import ExitCode
from harness.reporting import units
from harness.reporting.document import finite, head
from harness.reporting.page import Align, Cell, Column, Command, Facts, Notes, Page, Row, Table, Tone

__all__ = ["CalibrationReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """The answer to `calibrate --simulate`.

    Attributes:
        ours: The name of our own rule among the trials.
        trials: By machine, then by rule.
        promises: What is promised, and what came out.
        seed: Of the random numbers: the same seed gives the same table.
        notes: How it was tried.
        seconds: Wall time.
        reproduce: The command that does it again.
    """

    ours: str
    trials: tuple[Trial, ...]
    promises: tuple[Promise, ...]
    seed: int
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    reproduce: str = ""

    @property
    def exit_code(self) -> ExitCode:
        """No, where a promise is broken."""
        return ExitCode.FINE if all(promise.kept for promise in self.promises) else ExitCode.NO

    def page(self) -> Page:
        """For people."""
        kept = sum(promise.kept for promise in self.promises)
        broken = len(self.promises) - kept
        return Page(
            title=f"Rules on trial: tables of {ROWS} rows",
            blocks=(
                *self._tables(),
                Facts(title="The columns", pairs=_LEGEND),
                Notes(title="Promises", items=tuple(self._promises())),
                Facts(
                    title="In all",
                    pairs=(
                        ("promises", f"{kept} kept, {broken} broken"),
                        ("seed", str(self.seed)),
                        *((("took", units.duration(self.seconds)),) if self.seconds is not None else ()),
                    ),
                ),
                Notes(title="Notes", items=tuple(Cell(note) for note in self.notes)),
                Command(title="Again", text=self.reproduce),
            ),
        )

    def _promises(self) -> Iterator[Cell]:
        """Those about our own rule, and whatever is broken: that no other rule is as good needs one line."""
        for promise in self.promises:
            if not promise.kept:
                yield Cell(f"BROKEN: {promise.text}: {promise.found}", Tone.BAD)
            elif not promise.rival:
                yield Cell(f"kept: {promise.text}: {promise.found}", Tone.GOOD)
        if kept := sum(bool(promise.rival) and promise.kept for promise in self.promises):
            yield Cell(f"kept: no other rule is as good in both false tables and slowdowns of 5 % found: {kept} trials")

    def _tables(self) -> Iterator[Table]:
        columns = (
            Column(title="rule"),
            Column(title="false tables", align=Align.RIGHT),
            Column(title="false rows", align=Align.RIGHT, expendable=3),
            *(Column(title=_effect(effect), align=Align.RIGHT) for effect in EFFECTS),
            Column(title="same", align=Align.RIGHT, expendable=1),
            Column(title="processes", align=Align.RIGHT, expendable=2),
        )
        for noise in dict.fromkeys(trial.noise for trial in self.trials):
            rows = tuple(self._row(trial) for trial in self.trials if trial.noise == noise)
            yield Table(title=f"Noise: {noise}", columns=columns, rows=rows)

    def _row(self, trial: Trial) -> Row:
        wrong = Tone.BAD if trial.false_tables > 0.01 else Tone.PLAIN
        return Row(
            cells=(
                Cell(trial.name, Tone.GOOD if trial.name == self.ours else Tone.PLAIN),
                Cell(_share(trial.false_tables), wrong),
                Cell(_share(trial.false_rows), wrong),
                *(Cell(_share(trial.power[effect])) for effect in EFFECTS),
                Cell(_share(trial.same)),
                Cell(f"{trial.rounds:.3g}"),
            )
        )

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("calibrate"),
            "seed": self.seed,
            "rules": [
                {
                    "name": trial.name,
                    "noise": trial.noise,
                    "tables": trial.tables,
                    "false_alarms": trial.false_tables,
                    "false_rows": trial.false_rows,
                    "same": trial.same,
                    "power": {str(effect): share for effect, share in trial.power.items()},
                    "power_within_10": {str(effect): share for effect, share in trial.within.items()},
                    "rounds": trial.rounds,
                }
                for trial in self.trials
            ],
            "promises": [
                {"text": promise.text, "found": promise.found, "kept": promise.kept} for promise in self.promises
            ],
            "notes": list(self.notes),
            "seconds": finite(self.seconds),
            "reproduce": self.reproduce,
            "exit_code": int(self.exit_code),
        }


_LEGEND = (
    ("false tables", "unchanged tables with a row that is called slower or faster"),
    ("false rows", "unchanged rows that are called so"),
    ("+5 %", "rows slower by that much that are called slower"),
    ("same", "unchanged rows that are called the same: a statement that only the harness makes"),
    ("processes", "of each side for an unchanged row, in the mean"),
)


def _effect(effect: float) -> str:
    return f"+{100 * effect:.3g} %"


def _share(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent in {0, 100} or 10 <= percent < 99.5 else f"{percent:.1f} %"
