"""`harness claims`: what people say of the subject, tried out on many releases."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import command_line, format_option, show_document
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.pipeline.claims import Asked, ClaimsPlan, Measured
    from harness.reporting.claims import ClaimsReport

__all__ = ["command"]


@click.command("claims")
@click.option("--from", "first", metavar="VERSION", default="", help="The oldest release.")
@click.option(
    "--to", "last", metavar="VERSION", default="", help="The newest release; by default of all that are stable."
)
@click.option("--every", is_flag=True, help="Every stable release between them, not ten that are spread over them.")
@click.option("--release", "releases", metavar="VERSION", multiple=True, help="Exactly this release; may be repeated.")
@click.option("--cell", "cells", metavar="ID", multiple=True, help="Exactly this environment for its release.")
@click.option(
    "--python",
    metavar="X.Y",
    default="auto",
    show_default=True,
    help="Python of the cells; auto takes for each release the newest installed one that it has a wheel for.",
)
@click.option("--backend", metavar="NAME", default="", help="auto, default, cpu, cu126, rocm6.4, ...")
@click.option(
    "--slim/--full",
    "slim",
    default=None,
    help="Leave the CUDA packages of CUDA wheels out, or install everything; by default what the matrix says.",
)
@click.option("--claim", "metrics", metavar="NAME", multiple=True, help="Only this claim: C03, or a metric's name.")
@click.option("--behaviours", is_flag=True, help="Also metrics with the tag behaviour.")
@click.option("--rounds", type=click.IntRange(1, 50), default=1, show_default=True, help="Processes for each claim.")
@click.option("--again", is_flag=True, help="Measure anew what was measured since the suite last changed.")
@click.option(
    "--benchmarks",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A suite of your own in place of the project's.",
)
@click.option("--offline", is_flag=True, help="Use only what was read from the network earlier.")
@format_option
def command(form: str, *, rounds: int, again: bool, folder: Path | None, offline: bool, **options: Any) -> int:
    """Tries out on many releases what people say of the subject: what holds, and since when.

    \b
    Exit codes: 0 the table is printed; 4 no release could be measured.
    A release that cannot be built or measured has no answer and a reason; the others are measured all the same.
    The same command goes on where an interrupted one stopped.
    """  # noqa: D301
    from harness.cli.progress import Teller
    from harness.paths import cache_dir, find_project
    from harness.pipeline.claims import check_measured, measure_claims, options_for, plan_claims

    start = time.monotonic()
    plan = plan_claims(find_project(), _asked(options), cache=cache_dir(), folder=folder, offline=offline)
    for note in plan.notes:
        click.echo(note, err=True)
    click.echo(f"{len(plan.rows)} cases of claims, releases {', '.join(plan.cells)}", err=True)
    teller = Teller()
    outcomes: list[Measured] = []
    try:
        for outcome in measure_claims(
            plan, options_for(rounds), again=again, on_building=teller.building, on_event=teller.event
        ):
            if outcome.reason:
                click.echo(f"{outcome.cell}: not measured: {outcome.reason}", err=True)
            elif outcome.earlier:
                click.echo(f"{outcome.cell}: measured already; --again measures anew", err=True)
            outcomes.append(outcome)
    except KeyboardInterrupt:
        click.echo("\ninterrupted; everything measured is stored. The same command goes on from here.", err=True)
        return ExitCode.INTERRUPTED
    check_measured(outcomes)
    show_document(_report(plan, outcomes, time.monotonic() - start), form)
    return ExitCode.FINE


def _asked(options: dict[str, Any]) -> Asked:
    from harness.cells.matrix import Slim
    from harness.errors import UsageError
    from harness.pipeline.claims import Asked

    if (options["releases"] or options["cells"]) and (options["first"] or options["last"] or options["every"]):
        what = "--release and --cell name the releases themselves: leave out --from, --to and --every"
        raise UsageError(what)
    slim = options.pop("slim")
    return Asked(**options, slim=None if slim is None else Slim.YES if slim else Slim.NO)


def _report(plan: ClaimsPlan, outcomes: list[Measured], seconds: float) -> ClaimsReport:
    from harness.reporting.claims import ClaimsReport
    from harness.statistics.claims import claims_table

    releases = [outcome.release for outcome in outcomes]
    measured = {one.release: one.run.records if one.run else one.reason for one in outcomes}
    earlier = [one.release for one in outcomes if one.earlier]
    notes = [*plan.notes, *(one.note for one in outcomes if one.note)]
    if earlier:
        notes.append(f"from earlier runs of the same environments: {', '.join(earlier)}")
    span = releases[0] if len(releases) == 1 else f"{len(releases)} releases, {releases[0]} to {releases[-1]}"
    return ClaimsReport(
        title=f"Claims about {plan.spec.subject}: {span}",
        cells={one.release: one.cell.id for one in outcomes},
        missing={one.release: one.reason for one in outcomes if one.run is None},
        rows=claims_table(releases, plan.metrics, measured),
        notes=tuple(notes),
        seconds=seconds,
        reproduce=command_line("claims", sys.argv[2:]),
    )
