"""Claims release by release: what holds where, since when, and what was seen. Pure: records in, a table out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from harness.measurement.metrics import Metric, rows
from harness.measurement.records import BenchmarkId, Record, State

__all__ = ["ClaimPart", "ClaimRow", "Seen", "Standing", "claims_table"]


class Standing(StrEnum):
    """How a claim fares in one release."""

    HOLDS = "holds"
    DOES_NOT = "does not hold"
    #: One process says one thing and the next another.
    VARIES = "varies"
    SKIPPED = "skipped"
    FAILED = "failed"
    #: There is no such environment here, or it could not be built.
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of a claim in one release.

    Attributes:
        standing: Whether it holds.
        note: What the benchmark says that it saw.
        reason: Why there is no answer.
    """

    standing: Standing
    note: str = ""
    reason: str = ""

    @property
    def number(self) -> int | None:
        """1, 0, or None where there is no answer."""
        return {Standing.HOLDS: 1, Standing.DOES_NOT: 0}.get(self.standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPart:
    """One case of a claim: a metric with one set of parameters.

    Attributes:
        metric: The name of the metric.
        params: Names of its parameters and their values.
        seen: By release, oldest first.
    """

    metric: str
    params: tuple[tuple[str, str], ...]
    seen: Mapping[str, Seen]

    @property
    def label(self) -> str:
        """The case in words; empty for a claim that has but one."""
        return ", ".join(value for _, value in self.params)

    @property
    def summary(self) -> str:
        """One sentence: where it holds, and since when."""
        return _summary(self.seen)

    @property
    def explanation(self) -> str:
        """What was seen in the newest release, and in the last one before each change."""
        return _explanation(self.seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """A claim.

    Attributes:
        id: `C03`; the name of the metric for a behaviour that is no numbered claim.
        statement: The claim itself.
        parts: Its cases. It holds where all of them do that could be tried.
        seen: By release, oldest first.
        changed_at: The releases in which another answer was found than in the one before them that had an answer.
        explanation: What was seen in the newest release, and in the last one before each change.
    """

    id: str
    statement: str
    parts: tuple[ClaimPart, ...]
    seen: Mapping[str, Seen]
    changed_at: tuple[str, ...]
    explanation: str

    @property
    def summary(self) -> str:
        """One sentence: where it holds, and since when."""
        return _summary(self.seen)


def claims_table(
    releases: Sequence[str], metrics: Iterable[Metric], measured: Mapping[str, Sequence[Record] | str]
) -> tuple[ClaimRow, ...]:
    """The claims, numbered ones first.

    Args:
        releases: The columns, oldest first.
        metrics: The metrics that test claims or behaviours.
        measured: By release, the records of its cell, or why there are none.
    """
    grouped: dict[str, list[Metric]] = {}
    for metric in metrics:
        grouped.setdefault(metric.claim or metric.name, []).append(metric)
    order = sorted(grouped, key=lambda key: (not any(metric.claim for metric in grouped[key]), key))
    return tuple(_row(key, grouped[key], releases, measured) for key in order)


def _row(
    key: str, metrics: Sequence[Metric], releases: Sequence[str], measured: Mapping[str, Sequence[Record] | str]
) -> ClaimRow:
    parts = tuple(
        ClaimPart(
            metric=metric.name,
            params=tuple(
                (name, value.strip("'\"")) for name, value in zip(metric.param_names, row.params, strict=True)
            ),
            seen={release: _seen(row, measured[release]) for release in releases},
        )
        for metric in metrics
        for row in rows(metric)
    )
    seen = {release: _together([(part.label, part.seen[release]) for part in parts]) for release in releases}
    return ClaimRow(
        id=key,
        statement="; ".join(dict.fromkeys(metric.summary for metric in metrics)),
        parts=parts,
        seen=seen,
        changed_at=tuple(stretch[0] for stretch in _stretches(seen)[1:]),
        explanation=_explanation(seen),
    )


def _seen(row: BenchmarkId, measured: Sequence[Record] | str) -> Seen:
    if isinstance(measured, str):
        return Seen(standing=Standing.NOT_MEASURED, reason=measured)
    found = [record for record in measured if record.benchmark == row]
    ran = [record for record in found if record.state is State.OK]
    if ran:
        return _answered(ran)
    if not found:
        return Seen(standing=Standing.NOT_MEASURED, reason="it was not measured to the end")
    last = found[-1]
    if last.state is State.SKIPPED:
        return Seen(standing=Standing.SKIPPED, reason=last.reason)
    return Seen(standing=Standing.FAILED, reason=f"{last.state.value}: {last.reason}")


def _answered(records: Sequence[Record]) -> Seen:
    values = {sample.value for record in records for sample in record.samples}
    note = str(records[-1].details.get("note", ""))
    if values == {1.0}:
        return Seen(standing=Standing.HOLDS, note=note)
    if values == {0.0}:
        return Seen(standing=Standing.DOES_NOT, note=note)
    if values == {0.0, 1.0}:
        notes = dict.fromkeys(str(record.details.get("note", "")) for record in records)
        return Seen(standing=Standing.VARIES, note=note, reason=f"from process to process: {'; '.join(notes)}")
    said = ", ".join(f"{value:g}" for value in sorted(values))
    return Seen(standing=Standing.FAILED, note=note, reason=f"it returned {said}, which is neither 0 nor 1")


def _together(parts: Sequence[tuple[str, Seen]]) -> Seen:
    """Several cases as one: it does not hold where one of them does not, and holds where all that were tried do."""
    if len(parts) == 1:
        return parts[0][1]
    for standing in (Standing.DOES_NOT, Standing.VARIES, Standing.FAILED, Standing.NOT_MEASURED):
        if any(seen.standing is standing for _, seen in parts):
            break
    else:
        held = any(seen.standing is Standing.HOLDS for _, seen in parts)
        standing = Standing.HOLDS if held else Standing.SKIPPED
    answered = [(label, seen) for label, seen in parts if seen.note]
    without = [(label, seen) for label, seen in parts if seen.reason]
    return Seen(
        standing=standing,
        note="; ".join(f"{label}: {seen.note}" for label, seen in answered),
        reason="; ".join(dict.fromkeys(f"{label}: {seen.reason}" for label, seen in without)),
    )


def _stretches(seen: Mapping[str, Seen]) -> list[list[str]]:
    """Neighbouring releases with the same answer; those without one are passed over."""
    known = [(release, one.number) for release, one in seen.items() if one.number is not None]
    return [[release for release, _ in group] for _, group in groupby(known, key=lambda pair: pair[1])]


def _explanation(seen: Mapping[str, Seen]) -> str:
    stretches = _stretches(seen)
    if not stretches:
        return next((one.reason or one.note for one in reversed(list(seen.values())) if one.reason or one.note), "")
    if len(stretches) == 1:
        return seen[stretches[0][-1]].note
    return "; ".join(f"in {stretch[-1]}, {seen[stretch[-1]].note}" for stretch in reversed(stretches))


def _summary(seen: Mapping[str, Seen]) -> str:
    stretches = _stretches(seen)
    if not stretches:
        standings = dict.fromkeys(one.standing for one in seen.values())
        return " and ".join(standings) or Standing.NOT_MEASURED
    words = [f"{seen[stretch[0]].standing} {_span(stretch)}" for stretch in reversed(stretches)]
    first = words[0]
    if len(stretches) > 1:
        first = f"{seen[stretches[-1][0]].standing} since {stretches[-1][0]}"
    return ", ".join([first, *words[1:]])


def _span(stretch: Sequence[str]) -> str:
    return f"in {stretch[0]}" if len(stretch) == 1 else f"from {stretch[0]} to {stretch[-1]}"
