"""`harness compare`: the verdicts again, from stored records."""

from __future__ import annotations

import click

from harness.cli.options import command_line, format_option, show_document

__all__ = ["command"]


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate", required=False, default="")
@format_option
def command(baseline: str, candidate: str, form: str) -> int:
    """The verdict table of two cells, from the newest records of them side by side; or of one run, by its id.

    Nothing is measured: the same records give the same verdicts.
    """
    from harness.paths import find_project
    from harness.pipeline.compare import judge_run
    from harness.pipeline.stored import find_run
    from harness.reporting.comparison import comparison_report

    project = find_project()
    run, swapped = find_run(project.runs, baseline, candidate)
    comparison = judge_run(run, swapped=swapped)
    notes = [] if run.finished else ["the run is not finished: fewer rounds than it was meant to have"]
    report = comparison_report(
        comparison,
        command="compare",
        notes=notes,
        report=str(run.path.parent.relative_to(project.root)),
        reproduce=command_line("run", ["--cell", comparison.baseline.id, "--cell", comparison.candidate.id]),
    )
    show_document(report, form)
    return report.exit_code
