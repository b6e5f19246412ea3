"""`harness plan`: the cells of a profile."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import command_line, format_option, plan_of, selection_options, show_document

if TYPE_CHECKING:
    from harness.pipeline.plan import Plan
    from harness.reporting.plan import PlanReport

__all__ = ["command"]


@click.command("plan")
@selection_options
@format_option
def command(form: str, **options: Any) -> None:
    """The cells of PROFILE: what will be built, what cannot exist and why, what it costs.

    Nothing is downloaded but the lists of what the indexes offer.
    """
    plan = plan_of(options)
    show_document(plan_report(plan), form)


def plan_report(plan: Plan) -> PlanReport:
    """A plan as a report."""
    from harness.pipeline.compare import options_of
    from harness.pipeline.outlook import look_ahead
    from harness.reporting.plan import PlanReport, PlanRow

    seen = look_ahead(plan, options_of(plan.profile)).notes
    rows = tuple(
        PlanRow(
            id=one.cell.id,
            exists=one.planned.exists,
            runs=one.planned.runs,
            reason=one.planned.reason,
            warning=one.planned.warning,
            nearest=one.planned.nearest,
            wheel=one.planned.file.filename if one.planned.file else None,
            bytes=one.estimate.download if one.estimate else None,
            disk=one.estimate.disk if one.estimate else None,
            minutes=one.estimate.minutes if one.estimate else None,
        )
        for one in plan.cells
    )
    what = plan.profile.description or "the cells that the options name"
    measured = f"{len(plan.metrics)} metrics with {len(plan.rows)} sets of parameters, {plan.profile.rounds} rounds"
    return PlanReport(
        title=f"Plan: {what}",
        cells=rows,
        notes=(
            f"measures {measured}, up to {plan.profile.max_rounds} for what stays open",
            *plan.notes,
            *seen,
        ),
        next_step=command_line("run", [text for text in sys.argv[2:] if text != "--offline"]),
    )
