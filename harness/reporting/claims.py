"""Claims release by release, as a table for people and a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import ExitCode
from harness.reporting import units
from harness.reporting.document import finite, head
from harness.reporting.page import Cell, Column, Command, Facts, Notes, Page, Row, Table, Tone
from harness.statistics.claims import ClaimPart, ClaimRow, Seen, Standing

__all__ = ["ClaimsReport"]

#: Short, for a column is as wide as a version.
_WORDS = {
    Standing.HOLDS: ("holds", Tone.GOOD),
    Standing.DOES_NOT: ("no", Tone.BAD),
    Standing.VARIES: ("vary", Tone.WARN),
    Standing.SKIPPED: ("skip", Tone.MUTED),
    Standing.FAILED: ("fail", Tone.WARN),
    Standing.NOT_MEASURED: ("-", Tone.MUTED),
}
_MEANING = {
    Standing.HOLDS: "in every case that could be tried",
    Standing.DOES_NOT: "a case was found in which it does not",
    Standing.VARIES: "one process says yes and another no",
    Standing.SKIPPED: "the benchmark cannot run here",
    Standing.FAILED: "the benchmark failed",
    Standing.NOT_MEASURED: "no environment of that release was measured",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsReport:
    """The answer to `claims`.

    Attributes:
        title: What was asked.
        cells: By release, oldest first, the id of the cell that was measured or would have been.
        missing: By release, why it was not measured.
        rows: The claims.
        notes: How it was measured.
        seconds: Wall time.
        reproduce: The command that does it again.
    """

    title: str
    cells: Mapping[str, str]
    missing: Mapping[str, str]
    rows: tuple[ClaimRow, ...]
    notes: tuple[str, ...] = ()
    seconds: float | None = None
    reproduce: str = ""
    exit_code: ExitCode = ExitCode.FINE

    def page(self) -> Page:
        """For people."""
        return Page(
            title=self.title,
            blocks=(
                Table(columns=tuple(self._columns()), rows=tuple(self._row(row) for row in self.rows)),
                Facts(title="The words", pairs=tuple(self._legend())),
                Facts(
                    title="Measured in", pairs=tuple((r, id) for r, id in self.cells.items() if r not in self.missing)
                ),
                Facts(title="Not measured", pairs=tuple((self.cells[r], why) for r, why in self.missing.items())),
                Notes(title="Notes", items=tuple(Cell(note) for note in self.notes)),
                Facts(pairs=(("took", units.duration(self.seconds)),) if self.seconds is not None else ()),
                Command(title="Again", text=self.reproduce),
            ),
        )

    def _columns(self) -> Iterator[Column]:
        yield Column(title="claim", code=True)
        rank = {release: number for number, release in enumerate(self._by_weight(), start=1)}
        for release in self.cells:
            yield Column(title=release, expendable=rank[release])
        yield Column(title="changed", expendable=len(rank) + 1)

    def _by_weight(self) -> list[str]:
        """The releases, first those that a narrow table keeps: the ends, where something changed, then newer ones."""
        releases = list(self.cells)
        changed = {at for row in self.rows for at in row.changed_at}
        turning = [release for release in reversed(releases) if release in changed]
        return list(dict.fromkeys([*releases[-1:], *releases[:1], *turning, *reversed(releases)]))

    def _row(self, row: ClaimRow) -> Row:
        cells = [Cell(*_WORDS[row.seen[release].standing]) for release in self.cells]
        said = [f"{row.statement}: {row.summary}"]
        if len(row.parts) > 1:
            said += [f"{_name(part, row)}: {part.summary}: {part.explanation}" for part in row.parts]
        elif row.explanation:
            said.append(row.explanation)
        return Row(cells=(Cell(row.id), *cells, Cell(" ".join(row.changed_at))), detail=". ".join(said))

    def _legend(self) -> Iterator[tuple[str, str]]:
        present = {seen.standing for row in self.rows for seen in row.seen.values()}
        for standing in Standing:
            if standing in present:
                word = _WORDS[standing][0]
                yield word, f"{standing.value}: {_MEANING[standing]}"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("claims"),
            "title": self.title,
            "releases": list(self.cells),
            "measured_in": dict(self.cells),
            "missing": dict(self.missing),
            "claims": [
                {
                    "id": row.id,
                    "statement": row.statement,
                    **_seen(row.seen),
                    "changed_at": list(row.changed_at),
                    "explanation": row.explanation,
                    "parts": [
                        {"metric": part.metric, "params": dict(part.params), **_seen(part.seen)} for part in row.parts
                    ],
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
            "seconds": finite(self.seconds),
            "reproduce": self.reproduce,
            "exit_code": int(self.exit_code),
        }


def _name(part: ClaimPart, row: ClaimRow) -> str:
    several = len({other.metric for other in row.parts}) > 1
    return " ".join(word for word in (part.metric if several else "", part.label) if word)


def _seen(seen: Mapping[str, Seen]) -> dict[str, Any]:
    return {
        "values": {release: one.number for release, one in seen.items()},
        "states": {release: one.standing.value for release, one in seen.items()},
        "reasons": {release: one.reason for release, one in seen.items() if one.reason},
        "details": {release: one.note for release, one in seen.items() if one.note},
    }
