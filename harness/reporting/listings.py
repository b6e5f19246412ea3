"""Plain lists: the metrics of a suite, the environments of a store, the release line, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.reporting import units
from harness.reporting.document import head
from harness.reporting.page import Align, Cell, Column, Facts, Notes, Page, Row, Table, Tone

if TYPE_CHECKING:
    from harness.errors import HarnessError
    from harness.measurement.metrics import Metric
    from harness.releases.line import Line

__all__ = ["EnvironmentRow", "EnvironmentsReport", "ErrorReport", "MetricsReport", "ReleasesReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsReport:
    """The answer to `metrics`."""

    metrics: Sequence[Metric]

    def page(self) -> Page:
        """For people."""
        columns = (
            Column(title="metric", code=True),
            Column(title="unit"),
            Column(title="better"),
            Column(title="path"),
            Column(title="claim", expendable=1),
            Column(title="tags", expendable=2),
            Column(title="what", expendable=3),
        )
        rows = tuple(
            Row(
                cells=(
                    Cell(metric.name),
                    Cell(metric.unit),
                    Cell(metric.direction.value),
                    Cell(metric.hot_path),
                    Cell(metric.claim),
                    Cell(" ".join(metric.tags)),
                    Cell(metric.summary),
                )
            )
            for metric in self.metrics
        )
        count = len(self.metrics)
        return Page(title=f"{count} metric{'' if count == 1 else 's'}", blocks=(Table(columns=columns, rows=rows),))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("metrics"),
            "metrics": [
                {
                    "name": metric.name,
                    "benchmark": metric.benchmark,
                    "unit": metric.unit,
                    "direction": metric.direction.value,
                    "hot_path": metric.hot_path,
                    "claim": metric.claim,
                    "tags": list(metric.tags),
                    "floor": metric.floor,
                    "summary": metric.summary,
                    "params": {
                        name: list(values) for name, values in zip(metric.param_names, metric.params, strict=False)
                    },
                }
                for metric in self.metrics
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRow:
    """One environment of the store.

    Attributes:
        key: Its name in the store.
        cell: The id of the cell that it was first built for.
        bytes: What removing it would free.
        last_used: ISO date and time, UTC; empty when it never was.
        ill: Why it must be built anew; empty when it is well.
        path: Where it lies.
    """

    key: str
    cell: str
    bytes: int
    last_used: str
    ill: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentsReport:
    """The answer to `env list`, `env check` and `env prune`; `title` says which."""

    command: str
    title: str
    environments: tuple[EnvironmentRow, ...]

    def page(self) -> Page:
        """For people."""
        columns = (
            Column(title="environment", code=True),
            Column(title="cell", code=True),
            Column(title="size", align=Align.RIGHT),
            Column(title="last used", expendable=1),
        )
        rows = tuple(
            Row(
                cells=(
                    Cell(one.key[:12]),
                    Cell(one.cell, Tone.BAD if one.ill else Tone.PLAIN),
                    Cell(units.size(one.bytes)),
                    Cell(one.last_used[:16].replace("T", " ")),
                ),
                detail=one.ill,
            )
            for one in self.environments
        )
        total = units.size(sum(one.bytes for one in self.environments))
        facts = Facts(pairs=(("in all", f"{len(rows)}, {total}"),))
        return Page(title=self.title, blocks=(Table(columns=columns, rows=rows), facts))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head(self.command),
            "environments": [
                {
                    "key": one.key,
                    "cell": one.cell,
                    "bytes": one.bytes,
                    "last_used": one.last_used,
                    "ill": one.ill,
                    "path": one.path,
                }
                for one in self.environments
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """An error that ends a command, where the caller asked for a document."""

    command: str
    error: HarnessError

    def page(self) -> Page:
        """For people."""
        first, *more = self.error.what.splitlines() or [""]
        pairs = (("likely cause", self.error.why), ("next", self.error.next_step))
        return Page(
            title=first,
            blocks=(
                Notes(items=tuple(Cell(line, Tone.BAD) for line in more)),
                Facts(pairs=tuple((name, text) for name, text in pairs if text)),
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head(self.command),
            "error": {
                "kind": type(self.error).__name__,
                "what": self.error.what,
                "why": self.error.why,
                "next_step": self.error.next_step,
                "exit_code": int(self.error.exit_code),
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasesReport:
    """The answer to `releases list`."""

    line: Line

    def page(self) -> Page:
        """For people."""
        columns = (Column(title="release", code=True), Column(title="date"), Column(title="branch"))
        rows = tuple(
            Row(cells=(Cell(one.version), Cell(f"{one.date:%Y-%m-%d}"), Cell(one.branch.value)))
            for one in self.line.releases
        )
        title = f"{len(rows)} releases of {self.line.subject}"
        return Page(title=title, blocks=(Table(columns=columns, rows=rows),))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("releases list"),
            "subject": self.line.subject,
            "releases": [
                {"version": one.version, "date": one.date.isoformat(), "branch": one.branch.value}
                for one in self.line.releases
            ],
        }
