"""From comparisons to reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.measurement.metrics import metrics_of
from harness.reporting.document import Finding, head
from harness.reporting.page import Cell, Notes, Page
from harness.reporting.run import RunReport, run_report
from harness.statistics.comparability import Gravity

if TYPE_CHECKING:
    from harness.errors import HarnessError
    from harness.inspection.check import HostFinding
    from harness.pipeline.compare import Comparison

__all__ = ["FailedPair", "Several", "comparison_report"]


def comparison_report(
    comparison: Comparison,
    *,
    command: str,
    host_findings: Iterable[HostFinding] = (),
    notes: Iterable[str] = (),
    seconds: float | None = None,
    report: str = "",
    reproduce: str = "",
) -> RunReport:
    """The report of a comparison.

    Args:
        comparison: What was compared.
        command: `run` or `compare`.
        host_findings: What disturbed the machine.
        notes: What to know of how it was measured.
        seconds: Wall time.
        report: Where the report lies.
        reproduce: The command that does it again.
    """
    run = comparison.run
    return run_report(
        comparison.table,
        metrics_of(run.header.benchmarks),
        command=command,
        title=f"{comparison.candidate.subject} {comparison.baseline.release} against {comparison.candidate.release}",
        baseline=comparison.baseline.id,
        candidate=comparison.candidate.id,
        findings=(*_host(host_findings), *_differences(comparison), *_faults(comparison)),
        curves=comparison.curves,
        host=_machine(run.header.machine, run.header.host),
        notes=notes,
        seconds=seconds,
        disk=comparison.disk,
        report=report,
        reproduce=reproduce,
    )


def _host(findings: Iterable[HostFinding]) -> Iterator[Finding]:
    for finding in findings:
        yield Finding(severity="warn", title=finding.title, advice=finding.advice)


def _differences(comparison: Comparison) -> Iterator[Finding]:
    for difference in comparison.differences:
        if difference.gravity is not Gravity.EXPECTED:
            yield Finding(severity="warn", title=str(difference))


def _faults(comparison: Comparison) -> Iterator[Finding]:
    for fault in comparison.run.faults:
        yield Finding(severity="warn", title=f"a line of the records was not used: {fault}")


def _machine(name: str, host: Mapping[str, Any]) -> dict[str, str]:
    memory = host.get("memory")
    facts = {
        "name": name,
        "processor": f"{host.get('cpu', '')}, {host.get('processors', '')} processors",
        "memory": f"{memory / 2**30:.0f} GiB" if isinstance(memory, int) else "",
        "kernel": str(host.get("kernel", "")),
        "glibc": str(host.get("glibc", "")),
    }
    return {key: value for key, value in facts.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPair:
    """Two cells that could not be compared, since one of them could not be made."""

    baseline: str
    candidate: str
    error: HarnessError


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """Several comparisons as one document."""

    reports: tuple[RunReport, ...]
    failed: tuple[FailedPair, ...] = ()

    def page(self) -> Page:
        """For people: one after the other, then what could not be compared."""
        pages = [report.page() for report in self.reports]
        lost = Notes(
            title="Not compared",
            items=tuple(Cell(f"{one.baseline} against {one.candidate}: {one.error.what}") for one in self.failed),
        )
        count = f"{len(pages)} comparisons" + (f", {len(self.failed)} not possible" if self.failed else "")
        return Page(title=count, blocks=(*(block for page in pages for block in page.blocks), lost))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            **head("run"),
            "comparisons": [report.as_json() for report in self.reports],
            "failed": [
                {"baseline": one.baseline, "candidate": one.candidate, "error": one.error.what} for one in self.failed
            ],
        }
