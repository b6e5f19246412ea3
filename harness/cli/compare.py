"""`harness compare`: the verdicts again, from stored records."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import command_line, format_option, show_document

__all__ = ["command"]


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate", required=False, default="")
@click.option(
    "--plot",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the worst rows, every sample of every process, into FILE.svg or FILE.png.",
)
@click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="With --plot: draw this metric, or a glob of metrics."
)
@click.option("--anyway", is_flag=True, help="Compare what is incomparable; what differs is still named.")
@format_option
def command(
    baseline: str, candidate: str, form: str, plot: Path | None, metrics: tuple[str, ...], *, anyway: bool
) -> int:
    """The verdict table of two cells, from the newest records of them side by side; or of one run, by its id.

    Nothing is measured: the same records give the same verdicts.
    """
    from harness.errors import UsageError
    from harness.paths import find_project
    from harness.pipeline.compare import judge_run
    from harness.pipeline.stored import find_run
    from harness.reporting.comparison import comparison_report

    if metrics and plot is None:
        what = "--metric chooses what --plot draws; the table always has all rows"
        raise UsageError(what, next_step="add --plot FILE.svg")
    project = find_project()
    run, swapped = find_run(project.runs, baseline, candidate)
    comparison = judge_run(run, swapped=swapped, anyway=anyway)
    notes = [] if run.finished else ["the run is not finished: fewer rounds than it was meant to have"]
    report = comparison_report(
        comparison,
        command="compare",
        notes=notes,
        report=str(run.path.parent.relative_to(project.root)),
        reproduce=command_line("run", ["--cell", comparison.baseline.id, "--cell", comparison.candidate.id]),
    )
    if plot is not None:
        from harness.reporting.plot_files import write_plot

        report = write_plot(plot, report, comparison, metrics)
    show_document(report, form)
    return report.exit_code
