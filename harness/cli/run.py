"""`harness run`: measure the cells of a profile side by side, and say what changed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import (
    REALTIME_PRIORITY,
    command_line,
    format_option,
    plan_of,
    selection_options,
    show_document,
)
from harness.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.cli.progress import Teller
    from harness.measurement.options import Options
    from harness.pipeline.compare import Comparison
    from harness.pipeline.plan import Plan
    from harness.reporting.run import RunReport

__all__ = ["command"]


def _share(text: str) -> float:
    """A share, as `4%` or `0.04`."""
    try:
        share = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        what = f"{text!r} is no share above 0 and below 1: write 4% or 0.04"
        raise click.BadParameter(what)
    return share


@click.command("run")
@selection_options
@click.option("--rounds", type=click.IntRange(1, 500), help="Rounds before the verdicts are first looked at.")
@click.option("--max-rounds", type=click.IntRange(1, 500), help="Rounds after which what is open stays undecided.")
@click.option("--samples", type=click.IntRange(5, 10_000), help="Samples of each process and row, at most.")
@click.option(
    "--realtime",
    is_flag=True,
    help="Real-time scheduling of measured processes, where this user may: other work waits.",
)
@click.option("--plain", is_flag=True, help="Leave glibc's allocator as users have it, noise included.")
@click.option(
    "--claimed",
    metavar="CHANGE",
    type=_share,
    help="A change that somebody claims, as 4%: do not measure where the noise of this machine would hide it.",
)
@click.option("--strict", is_flag=True, help="Do not measure on a machine that the host check finds fault with.")
@format_option
def command(form: str, *, plain: bool, realtime: bool, strict: bool, claimed: float | None, **options: Any) -> int:
    """Measures the cells of PROFILE side by side and prints what changed.

    \b
    Exit codes: 0 nothing got slower; 1 something did; 3 could not install; 4 could not measure; 5 undecided.
    The same command goes on where an interrupted one stopped.
    """  # noqa: D301
    from harness.cli.progress import Teller
    from harness.pipeline.outlook import look_ahead, weigh_claim
    from harness.pipeline.run import Failed, run_plan
    from harness.reporting.comparison import FailedPair, Several
    from harness.reporting.plot_files import write_report

    start = time.monotonic()
    plan = plan_of(options)
    how = _how(plan, options, realtime=realtime, strict=strict)
    outlook = look_ahead(plan, how, plain=plain)
    said = weigh_claim(outlook, claimed) if claimed is not None else ""
    teller = Teller()
    for text in filter(None, (*plan.notes, *outlook.notes, said)):
        teller.note(text)
    reports: list[RunReport] = []

    def conclude(comparison: Comparison) -> None:
        report = _report(comparison, plan, teller, time.monotonic() - start, options, plain=plain)
        reports.append(write_report(plan.project.root, report, comparison))

    failed: list[FailedPair] = []
    try:
        for outcome in run_plan(
            plan,
            how,
            plain=plain,
            conclude=conclude,
            on_note=teller.note,
            on_building=teller.building,
            on_event=teller.event,
        ):
            if isinstance(outcome, Failed):
                cells = outcome.pair.baseline.id, outcome.pair.candidate.id
                click.echo(f"not measured: {cells[0]} against {cells[1]}: {outcome.error}", err=True)
                failed.append(FailedPair(baseline=cells[0], candidate=cells[1], error=outcome.error))
    except KeyboardInterrupt:
        click.echo("\ninterrupted; everything measured is stored. The same command goes on from here.", err=True)
        return ExitCode.INTERRUPTED
    several = len(plan.pairs) > 1
    show_document(Several(reports=tuple(reports), failed=tuple(failed)) if several else reports[0], form)
    return _worst([*(report.exit_code for report in reports), *(ExitCode.INSTALL for _ in failed)])


def _how(plan: Plan, options: dict[str, Any], *, realtime: bool, strict: bool) -> Options:
    from harness.pipeline.compare import options_of

    profile = plan.profile
    if (options["rounds"] or 0) > (options["max_rounds"] or options["rounds"] or 0):
        what = f"--rounds {options['rounds']} is more than --max-rounds {options['max_rounds']}"
        raise UsageError(what)
    rounds = options["rounds"] or min(profile.rounds, options["max_rounds"] or profile.rounds)
    max_rounds = max(options["max_rounds"] or max(profile.max_rounds, rounds), rounds)
    profile = replace(profile, rounds=rounds, max_rounds=max_rounds, samples=options["samples"] or profile.samples)
    return replace(options_of(profile), realtime=REALTIME_PRIORITY if realtime else 0, strict_host=strict)


def _report(
    comparison: Comparison,
    plan: Plan,
    teller: Teller,
    seconds: float,
    options: dict[str, Any],
    *,
    plain: bool,
) -> RunReport:
    from harness.reporting.comparison import comparison_report

    return comparison_report(
        comparison,
        command="run",
        host_findings=teller.findings,
        notes=teller.notes,
        seconds=seconds,
        report=str((comparison.run.path.parent / "report.md").relative_to(plan.project.root)),
        reproduce=_again(comparison, options, plain=plain),
    )


def _again(comparison: Comparison, options: dict[str, Any], *, plain: bool) -> str:
    parts = ["--cell", comparison.baseline.id, "--cell", comparison.candidate.id]
    for name in ("metric", "tag"):
        for value in options[f"{name}s"]:
            parts += [f"--{name}", value]
    for name in ("rounds", "max_rounds", "samples"):
        if options[name]:
            parts += [f"--{name.replace('_', '-')}", str(options[name])]
    return command_line("run", [*parts, *(["--plain"] if plain else [])])


def _worst(codes: Sequence[ExitCode]) -> ExitCode:
    order = (ExitCode.NO, ExitCode.INSTALL, ExitCode.MEASURE, ExitCode.UNDECIDED)
    return next((code for code in order if code in codes), ExitCode.FINE)
