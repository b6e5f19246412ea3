"""`harness calibrate`: how noisy this machine is, and whether verdicts can be believed."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from math import inf
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
    from harness.pipeline.compare import Comparison
    from harness.pipeline.plan import Plan
    from harness.reporting.noise import NoiseReport
    from harness.reporting.run import RunReport

__all__ = ["command"]


@click.command("calibrate")
@selection_options
@click.option(
    "--rounds", type=click.IntRange(3, 500), default=10, show_default=True, help="Rounds of every row against itself."
)
@click.option("--samples", type=click.IntRange(5, 10_000), help="As for `run`: the noise of each number is kept apart.")
@click.option("--realtime", is_flag=True, help="As for `run`: the noise with and without it is kept apart.")
@click.option("--plain", is_flag=True, help="As for `run`: the noise with and without it is kept apart.")
@click.option("--simulate", is_flag=True, help="In place of measuring: try the rules on noise whose truth is known.")
@click.option(
    "--seed", metavar="N", type=click.IntRange(0), default=1, show_default=True, help="With --simulate: of the noise."
)
@click.option("--short", is_flag=True, help="With --simulate: fewer tables, some seconds.")
@format_option
def command(form: str, *, simulate: bool, seed: int, short: bool, rounds: int, **options: Any) -> int:
    """Measures the baseline of PROFILE against itself, and keeps the noise of each row for this machine.

    \b
    `plan` and `run` then say which changes they will see, and `run --claimed 4%` does not begin what cannot show it.
    Exit codes: 0 no row is called changed, or every promise is kept; 1 one is; 3 could not install; 4 could not
    measure. With --simulate nothing is measured: the rule of our verdicts, and those of other tools, judge tables whose
    truth is known; the same seed gives the same table.
    """  # noqa: D301
    source = click.get_current_context().get_parameter_source
    given = {name for name in ("seed", "short") if source(name) is click.core.ParameterSource.COMMANDLINE}
    if not simulate:
        if given:
            what = f"--{min(given)} belongs to --simulate"
            raise UsageError(what, next_step="add --simulate, or leave it out")
        return _measure(form, rounds, options)
    unfit = sorted(name for name in ("rounds", *options) if source(name) is click.core.ParameterSource.COMMANDLINE)
    if unfit:
        what = f"--simulate measures nothing: it has no use for {', '.join(unfit)}"
        raise UsageError(what, next_step="harness calibrate --simulate --short")
    return _simulate(form, seed, short=short)


def _measure(form: str, rounds: int, options: dict[str, Any]) -> int:
    from harness.cli.progress import Teller
    from harness.pipeline.compare import options_of
    from harness.pipeline.noise import keep_noise
    from harness.pipeline.run import run_plan
    from harness.reporting.comparison import comparison_report
    from harness.reporting.plot_files import write_report

    start = time.monotonic()
    plain, realtime = options["plain"], options["realtime"]
    plan = plan_of(options).against_itself()
    plan = replace(plan, profile=replace(plan.profile, samples=options["samples"] or plan.profile.samples))
    profile = replace(plan.profile, rounds=rounds, max_rounds=rounds)
    how = replace(options_of(profile), realtime=REALTIME_PRIORITY if realtime else 0)
    teller = Teller()
    for text in plan.notes:
        teller.note(text)
    reports: list[NoiseReport] = []

    def conclude(comparison: Comparison) -> None:
        keep_noise(plan.project, comparison.run, comparison.table, plain=plain)
        report = comparison_report(
            comparison,
            command="run",
            host_findings=teller.findings,
            notes=teller.notes,
            seconds=time.monotonic() - start,
            report=str((comparison.run.path.parent / "report.md").relative_to(plan.project.root)),
            reproduce=command_line("calibrate", sys.argv[2:]),
        )
        report = write_report(plan.project.root, report, comparison)
        reports.append(_report(plan, report, comparison, plain=plain, realtime=realtime))

    try:
        for _ in run_plan(
            plan,
            how,
            plain=plain,
            conclude=conclude,
            on_note=teller.note,
            on_building=teller.building,
            on_event=teller.event,
        ):
            pass
    except KeyboardInterrupt:
        click.echo("\ninterrupted; everything measured is stored. The same command goes on from here.", err=True)
        return ExitCode.INTERRUPTED
    show_document(reports[0], form)
    return reports[0].exit_code


def _report(plan: Plan, run: RunReport, comparison: Comparison, *, plain: bool, realtime: bool) -> NoiseReport:
    from harness.pipeline.compare import options_of
    from harness.pipeline.outlook import look_ahead
    from harness.reporting.noise import NoiseReport, NoiseRow

    later = replace(options_of(plan.profile), realtime=REALTIME_PRIORITY if realtime else 0)
    known = {(one.row.name, one.row.params): one for one in look_ahead(plan, later, plain=plain).rows}
    rows = []
    # The report's rows are the table's, in its order.
    for judged, found in zip(comparison.table.rows, run.rows, strict=True):
        one = known.get((judged.benchmark.name, judged.benchmark.params))
        rows.append(
            NoiseRow(found=found, spread=one.noise.spread, degrees=one.noise.degrees, smallest=one.smallest)
            if one
            else NoiseRow(found=found)
        )
    quietest = sorted(rows, key=lambda row: (inf if row.smallest is None else row.smallest, row.found.metric))
    return NoiseReport(
        run=run,
        rows=tuple(quietest),
        rounds=later.max_rounds,
        file=str(plan.project.noise(comparison.run.header.machine).relative_to(plan.project.root)),
    )


def _simulate(form: str, seed: int, *, short: bool) -> int:
    from harness.calibration.machines import MACHINES
    from harness.calibration.recorded import recorded
    from harness.calibration.rules import OURS, PEERS
    from harness.calibration.trials import FULL, SHORT, promises, try_rules
    from harness.reporting.calibration import CalibrationReport

    start = time.monotonic()
    real = recorded()
    machines = {**MACHINES, "recorded": real}
    effort = SHORT if short else FULL
    trials = try_rules((OURS, *PEERS), machines, effort, seed=seed, tell=lambda what: click.echo(what, err=True))
    report = CalibrationReport(
        ours=OURS.name,
        trials=tuple(trials),
        promises=tuple(promises(trials, OURS.name)),
        seed=seed,
        notes=(
            f"recorded: {real.description}",
            f"for each kind of noise: {effort.ours} unchanged tables for the harness, {effort.peers} for each other",
            f"each slowdown: {effort.changed} tables for each rule, in which every row is slower",
            *(("a share of so few tables is rough: leave --short out for the real figures",) if short else ()),
        ),
        seconds=time.monotonic() - start,
        reproduce=command_line("calibrate", sys.argv[2:]),
    )
    show_document(report, form)
    return report.exit_code
