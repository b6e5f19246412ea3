"""`harness env`: the store of environments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from harness.cli.options import format_option, show_document
from harness.errors import ExitCode, InstallError, UsageError

if TYPE_CHECKING:
    from harness.environments.environment import Environment
    from harness.environments.store import Entry
    from harness.reporting.listings import EnvironmentRow

__all__ = ["command"]

_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[kMGT]?)B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@click.group("env")
def command() -> None:
    """Builds, lists, checks and prunes environments."""


@command.command("build")
@click.argument("cells", nargs=-1, required=True, metavar="CELL...")
@click.option("--offline", is_flag=True, help="Use only what was read from the network earlier.")
def build(cells: tuple[str, ...], offline: bool) -> None:
    """Builds the environments of cells that are not in the store yet, and prints where they are."""
    for cell in cells:
        environment = _environment(cell, offline=offline)
        click.echo(f"{cell} {environment.path}")


@command.command("path")
@click.argument("cell")
def path(cell: str) -> None:
    """Prints the folder of a cell's environment; builds nothing."""
    from harness.cells.cell import parse_cell_id
    from harness.cells.spec import load_spec
    from harness.environments.store import Store
    from harness.paths import cache_dir, find_project
    from harness.pipeline.place import look_around
    from harness.pipeline.plan import request_for
    from harness.releases.locks import stored_lock

    project, wanted = find_project(), parse_cell_id(cell)
    spec = load_spec(project.matrix)
    place = look_around(spec, [wanted.backend], cache=cache_dir(), offline=True)
    lock = stored_lock(request_for(spec, place, wanted), place.uv_for(wanted), locks=project.locks)
    environment = Store.default().lookup(wanted, lock) if lock else None
    if environment is None:
        what = f"{wanted} is not built"
        raise InstallError(what, next_step=f"harness env build '{wanted}'")
    click.echo(str(environment.path))


@command.command("list")
@format_option
def list_(form: str) -> None:
    """Lists environments, the one used last first."""
    from harness.environments.store import Store
    from harness.reporting.listings import EnvironmentsReport

    entries = Store.default().list()
    rows = tuple(_row(entry) for entry in entries)
    show_document(EnvironmentsReport(command="env list", title=_count(len(rows)), environments=rows), form)


@command.command("check")
@click.option("--deep", is_flag=True, help="Compare the hash of every file, not only its size.")
@format_option
def check(deep: bool, form: str) -> int:
    """Says why environments are ill. Exit code 1 when one is; the next run builds it again."""
    from dataclasses import replace

    from harness.environments.store import Store
    from harness.reporting.listings import EnvironmentsReport

    store = Store.default()
    reasons = {health.key: health.reason or "" for health in store.check(deep=deep)}
    rows = tuple(replace(_row(entry), ill=reasons.get(entry.key, entry.why_ill)) for entry in store.list())
    ill = sum(bool(row.ill) for row in rows)
    title = f"{_count(len(rows))}, {ill} ill" if ill else f"{_count(len(rows))}, all well"
    show_document(EnvironmentsReport(command="env check", title=title, environments=rows), form)
    return ExitCode.NO if ill else ExitCode.FINE


@command.command("prune")
@click.option("--max-size", required=True, metavar="SIZE", help="What environments and downloads may take: 40GB.")
@format_option
def prune(max_size: str, form: str) -> None:
    """Removes the environments used least lately until the rest fits; never one that is in use."""
    from harness.environments.store import Store
    from harness.reporting.listings import EnvironmentsReport
    from harness.reporting.units import size

    report = Store.default().prune(_bytes(max_size))
    title = f"removed {_count(len(report.removed))}: {size(report.before)} before, {size(report.after)} now"
    rows = tuple(_row(entry) for entry in report.removed)
    show_document(EnvironmentsReport(command="env prune", title=title, environments=rows), form)
    for entry in report.kept_in_use:
        click.echo(f"kept, for it is in use: {entry.cell}", err=True)


def _environment(cell: str, *, offline: bool) -> Environment:
    from harness.cells.cell import parse_cell_id
    from harness.cells.spec import load_spec
    from harness.cli.progress import Teller
    from harness.paths import cache_dir, find_project
    from harness.pipeline.build import build_cell
    from harness.pipeline.place import look_around

    project, wanted = find_project(), parse_cell_id(cell)
    spec = load_spec(project.matrix)
    place = look_around(spec, [wanted.backend], cache=cache_dir(), offline=offline)
    return build_cell(project, spec, place, wanted, on_building=Teller().building)


def _row(entry: Entry) -> EnvironmentRow:
    from harness.reporting.listings import EnvironmentRow

    return EnvironmentRow(
        key=entry.key,
        cell=entry.cell,
        bytes=entry.size,
        last_used=entry.last_used.isoformat(timespec="seconds"),
        ill=entry.why_ill,
        path=str(entry.path),
    )


def _count(number: int) -> str:
    return f"{number} environment" + ("" if number == 1 else "s")


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        what = f"--max-size {text!r} is not a size"
        raise UsageError(what, next_step="write one like 40GB or 500MB")
    return round(float(match["number"]) * _UNITS[match["unit"].lower()])
