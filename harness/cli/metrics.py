"""`harness metrics`: what can be measured."""

from __future__ import annotations

import click

from harness.cli.options import format_option, show_document

__all__ = ["command"]


@click.command("metrics")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only metrics with this tag.")
@format_option
def command(tags: tuple[str, ...], form: str) -> None:
    """The metrics of the suite, with unit, direction and the hot path that each stands for."""
    from harness.measurement.metrics import select
    from harness.paths import cache_dir, find_project
    from harness.pipeline.suite import load_benchmarks
    from harness.reporting.listings import MetricsReport

    benchmarks = load_benchmarks(find_project().benchmarks, cache_dir())
    show_document(MetricsReport(metrics=select(benchmarks.metrics, tags=tags)), form)
