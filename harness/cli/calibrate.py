"""`harness calibrate`: whether verdicts can be believed."""

from __future__ import annotations

import sys
import time

import click

from harness.cli.options import command_line, format_option, show_document
from harness.errors import ExitCode, UsageError

__all__ = ["command"]


@click.command("calibrate")
@click.option("--simulate", is_flag=True, help="Try the rules of verdicts on noise whose truth is known.")
@click.option(
    "--seed", metavar="N", type=click.IntRange(0), default=1, show_default=True, help="Of the random numbers."
)
@click.option("--short", is_flag=True, help="Fewer tables: some seconds.")
@format_option
def command(form: str, *, simulate: bool, seed: int, short: bool) -> int:
    """Tries the rule of our verdicts, and those of other tools, on tables whose truth is known.

    \b
    Exit codes: 0 every promise is kept; 1 one is broken.
    Unchanged tables show false alarms, tables with a planted slowdown show what is found. Noise is simulated, and
    replayed from rounds that were recorded on a real machine. The same seed gives the same table.
    """  # noqa: D301
    if not simulate:
        what = "calibrate has one form so far: say --simulate"
        raise UsageError(what, next_step="harness calibrate --simulate --short")
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
    return ExitCode(report.exit_code)
