"""`harness lock`: the committed locks of the declared profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.pipeline.plan import Plan

__all__ = ["command"]


@click.command("lock")
@click.argument("profiles", nargs=-1, metavar="[PROFILE]...")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 when a lock is stale or missing.")
def command(profiles: tuple[str, ...], check: bool) -> int:
    """Resolves the locks of the cells that profiles (all, by default) have on this machine.

    A lock that still fits keeps its date, so that resolving it again gives the same files.
    """
    return _check(profiles) if check else _update(profiles)


def _update(profiles: tuple[str, ...]) -> int:
    from harness.pipeline.plan import request_for
    from harness.releases.locks import update_locks

    for plan in _plans(profiles):
        requests = [request_for(plan.spec, plan.place, one.cell) for one in plan.cells if one.planned.runs]
        for path, changed in update_locks(requests, plan.place.uv, locks=plan.project.locks):
            click.echo(f"{'written' if changed else 'current'}  {path.name}")
    return ExitCode.FINE


def _check(profiles: tuple[str, ...]) -> int:
    from harness.pipeline.plan import request_for
    from harness.releases.locks import LockState, check_locks

    requests, plan = [], None
    for plan in _plans(profiles):
        requests += [request_for(plan.spec, plan.place, one.cell) for one in plan.cells if one.planned.runs]
    assert plan is not None, "a matrix has profiles"
    code = ExitCode.FINE
    for found in check_locks(requests, plan.place.uv, locks=plan.project.locks):
        # With some profiles only, the locks of the others are no orphans.
        if found.state is LockState.ORPHAN and profiles:
            continue
        click.echo(f"{found.state.value:8} {found.path.name}")
        for detail in found.details:
            click.echo(f"         {detail}")
        if found.state in (LockState.STALE, LockState.MISSING):
            code = ExitCode.NO
        elif found.state is LockState.UNKNOWN and code is ExitCode.FINE:
            code = ExitCode.INSTALL
    return code


def _plans(profiles: tuple[str, ...]) -> Iterator[Plan]:
    from harness.cells.spec import load_spec
    from harness.paths import cache_dir, find_project
    from harness.pipeline.plan import make_plan

    project = find_project()
    names = profiles or tuple(profile.name for profile in load_spec(project.matrix).profiles)
    for name in names:
        yield make_plan(project, cache=cache_dir(), profile=name)
