"""`harness releases`: the release line."""

from __future__ import annotations

import click

from harness.cli.options import format_option, show_document

__all__ = ["command"]


@click.group("releases")
def command() -> None:
    """The release line: what is on the x axis of every result."""


@command.command("list")
@format_option
def list_(form: str) -> None:
    """Lists the releases in the line, oldest first, with their dates."""
    from harness.paths import find_project
    from harness.releases.line import read_line
    from harness.reporting.listings import ReleasesReport

    show_document(ReleasesReport(line=read_line(find_project().releases)), form)


@command.command("refresh")
def refresh() -> None:
    """Asks the indexes now, and adds what is new to the line; nothing is ever taken out of it."""
    from harness.cells.spec import load_spec
    from harness.paths import cache_dir, find_project
    from harness.pipeline.place import look_around
    from harness.releases.line import refresh_line, set_aside_damaged

    project = find_project()
    place = look_around(load_spec(project.matrix), ["auto"], cache=cache_dir(), refresh=True)
    for note in place.catalog.notes:
        click.echo(note, err=True)
    if aside := set_aside_damaged(project.releases):
        click.echo(
            f"{project.releases} is no release line: it is kept as {aside.name}, and a new one is begun", err=True
        )
    new = refresh_line(project.releases, place.catalog, pre=False)
    for version in new:
        click.echo(f"new: {version}")
    if not new:
        click.echo(f"nothing new: {place.catalog.releases()[-1]} is the newest", err=True)
