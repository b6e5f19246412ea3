"""`harness metrics`: what can be measured."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import format_option, show_document

__all__ = ["command"]


@click.command("metrics")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="Only metrics with this tag.")
@click.option(
    "--benchmarks",
    "folder",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A suite of your own in place of the project's.",
)
@format_option
def command(tags: tuple[str, ...], folder: Path | None, form: str) -> None:
    """The metrics of the suite, with unit, direction and the hot path that each stands for."""
    from harness.measurement.metrics import select
    from harness.paths import cache_dir, find_project
    from harness.pipeline.suite import load_benchmarks
    from harness.reporting.listings import MetricsReport

    benchmarks = load_benchmarks(folder or find_project().benchmarks, cache_dir())
    show_document(MetricsReport(metrics=select(benchmarks.metrics, tags=tags)), form)
