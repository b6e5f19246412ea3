"""How a row ended on each side, before any number is looked at: ran, failed, skipped, invalid, or never tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from harness.measurement.records import Record, State
from harness.statistics.verdict import Judgement, Verdict

__all__ = ["Outcome", "Side", "judge_outcomes", "side_of"]

_VERBS = {
    State.OK: "gave no samples",
    State.SKIPPED: "was skipped",
    State.TIMEOUT: "timed out",
    State.CRASHED: "crashed",
    State.OUT_OF_MEMORY: "ran out of memory",
    State.INVALID: "was invalid",
}

#: A process that fails this often on one side, and never on the other, is broken, though it sometimes runs.
FLAKY_FAILURES = 2


class Outcome(StrEnum):
    """What all rounds of one side amount to."""

    #: At least one round gave samples.
    RAN = "ran"
    #: No round gave samples, and one crashed, timed out or ran out of memory.
    FAILED = "failed"
    #: The benchmark says that it cannot run here.
    SKIPPED = "skipped"
    #: No process was what the cell asked for, or ran undisturbed.
    INVALID = "invalid"
    #: No record.
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The rounds of one row on one side.

    Attributes:
        name: `baseline` or `candidate`, for reasons.
        outcome: What they amount to.
        ok: The records with samples, by round.
        failures: Those that crashed, timed out or ran out of memory.
        others: Those that were skipped or invalid.
    """

    name: str
    outcome: Outcome
    ok: Mapping[int, Record]
    failures: tuple[Record, ...]
    others: tuple[Record, ...]

    @property
    def may_still_run(self) -> bool:
        """Whether further rounds could give what these did not: it was not tried, or it was disturbed."""
        return self.outcome in {Outcome.MISSING, Outcome.INVALID}

    @property
    def measured(self) -> tuple[Record, ...]:
        """The records with samples, those included that were disturbed throughout."""
        return (*self.ok.values(), *(record for record in self.others if record.samples))

    @property
    def tried(self) -> int:
        """How many rounds there are."""
        return len(self.ok) + len(self.failures) + len(self.others)

    @property
    def account(self) -> str:
        """What happened in the rounds without samples, as it follows the side's name; empty when all had some."""
        bad = self.failures or self.others
        if not bad:
            return "" if self.ok else "was never measured"
        state, count = Counter(record.state for record in bad).most_common(1)[0]
        said = next((record.reason for record in reversed(bad) if record.state is state and record.reason), "")
        often = f" in {count} of {self.tried} rounds" if self.ok else ""
        return f"{_VERBS[state]}{often}" + (f": {said}" if said else "")

    @property
    def why(self) -> str:
        """The reason that the last record without samples gives, or its state where it gives none."""
        last = (self.failures or self.others)[-1]
        return last.reason or last.state.value


def side_of(name: str, records: Iterable[Record]) -> Side:
    """Sorts the records of one row and one side; of two records of one round the later one counts."""
    latest = {record.round: record for record in records}
    ok: dict[int, Record] = {}
    failures: list[Record] = []
    others: list[Record] = []
    for number in sorted(latest):
        record = latest[number]
        match record.state:
            case State.OK if record.samples:
                ok[number] = record
            case State.CRASHED | State.TIMEOUT | State.OUT_OF_MEMORY:
                failures.append(record)
            case State.SKIPPED | State.INVALID | State.OK:
                others.append(record)
            case _:
                assert_never(record.state)
    return Side(
        name=name, outcome=_outcome(ok, failures, others), ok=ok, failures=tuple(failures), others=tuple(others)
    )


def _outcome(ok: Mapping[int, Record], failures: list[Record], others: list[Record]) -> Outcome:
    if ok:
        return Outcome.RAN
    if failures:
        return Outcome.FAILED
    if not others:
        return Outcome.MISSING
    return Outcome.SKIPPED if all(record.state is State.SKIPPED for record in others) else Outcome.INVALID


def judge_outcomes(baseline: Side, candidate: Side) -> Judgement | None:
    """The verdict where a side has nothing to compare; None where both ran.

    Two sides that both skip the benchmark are no row of a table; the caller lists them apart.
    """
    match baseline.outcome, candidate.outcome:
        case Outcome.RAN, Outcome.RAN:
            return _flaky(baseline, candidate)
        case Outcome.RAN, Outcome.FAILED:
            return Judgement(verdict=Verdict.BROKEN, reason=f"the candidate {candidate.account}")
        case Outcome.FAILED, Outcome.RAN:
            return _incomparable(f"fixed: the candidate runs, the baseline {baseline.account}")
        case Outcome.FAILED, Outcome.FAILED if baseline.account == candidate.account:
            return _incomparable(f"neither runs: each {baseline.account}")
    accounts = [f"the {side.name} {side.account or 'ran'}" for side in (baseline, candidate)]
    return _incomparable(", ".join(accounts))


def _flaky(baseline: Side, candidate: Side) -> Judgement | None:
    if len(candidate.failures) >= FLAKY_FAILURES and not baseline.failures:
        return Judgement(verdict=Verdict.BROKEN, reason=f"the candidate {candidate.account}")
    return None


def _incomparable(reason: str) -> Judgement:
    return Judgement(verdict=Verdict.INCOMPARABLE, reason=reason)
