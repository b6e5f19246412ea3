"""`harness lock`: the committed locks of the declared profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.pipeline.plan import Plan
    from harness.releases.locks import LockCheck
    from harness.releases.resolve import Request

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
    from harness.errors import ResolveError
    from harness.releases.locks import update_lock

    code = ExitCode.FINE
    for plan, request in _requests(profiles):
        try:
            path, changed = update_lock(request, plan.place.uv_for(request.cell), locks=plan.project.locks)
            click.echo(f"{'written' if changed else 'current'}  {path.name}")
        except ResolveError as error:
            # The others can be locked all the same.
            click.echo(f"not resolved: {error}", err=True)
            code = ExitCode.INSTALL
    return code


def _check(profiles: tuple[str, ...]) -> int:
    from harness.paths import find_project
    from harness.releases.locks import LockState, check_lock, orphans

    found: list[LockCheck] = []
    locks = find_project().locks
    for plan, request in _requests(profiles):
        found.append(check_lock(request, plan.place.uv_for(request.cell), locks=locks))
        _tell(found[-1])
    # With some profiles only, the locks of the others are no orphans.
    for orphan in orphans(locks, found) if not profiles else ():
        _tell(orphan)
    states = {one.state for one in found}
    if states & {LockState.STALE, LockState.MISSING}:
        return ExitCode.NO
    return ExitCode.INSTALL if LockState.UNKNOWN in states else ExitCode.FINE


def _tell(found: LockCheck) -> None:
    click.echo(f"{found.state.value:8} {found.path.name}")
    for detail in found.details:
        click.echo(f"         {detail}")


def _requests(profiles: tuple[str, ...]) -> Iterator[tuple[Plan, Request]]:
    """What is asked for, each lock once."""
    from harness.cells.spec import load_spec
    from harness.paths import cache_dir, find_project
    from harness.pipeline.plan import make_plan, request_for
    from harness.releases.lockfile import lock_path

    project = find_project()
    names = profiles or tuple(profile.name for profile in load_spec(project.matrix).profiles)
    seen = set()
    for name in names:
        plan = make_plan(project, cache=cache_dir(), profile=name)
        for one in plan.cells:
            path = lock_path(project.locks, one.cell)
            if one.planned.runs and path not in seen:
                seen.add(path)
                yield plan, request_for(plan.spec, plan.place, one.cell)
