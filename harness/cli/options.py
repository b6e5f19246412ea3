"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from harness.cells.adhoc import Selection
    from harness.cells.matrix import Slim
    from harness.pipeline.plan import Plan
    from harness.reporting.document import Document

__all__ = ["REALTIME_PRIORITY", "command_line", "format_option", "plan_of", "selection_options", "show_document"]

#: Of real-time scheduling: above ordinary work, below what kernels and audio servers use.
REALTIME_PRIORITY = 10

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "markdown"]),
    default="table",
    show_default=True,
    help="How the answer is shown.",
)

_SELECTION = (
    click.argument("profile", required=False, default=""),
    click.option("--from", "from_release", metavar="VERSION", default="", help="The baseline's release."),
    click.option(
        "--to", "to_release", metavar="VERSION", default="", help="The candidate's release; the newest by default."
    ),
    click.option("--python", "pythons", metavar="X.Y", multiple=True, help="Python of the cells."),
    click.option(
        "--backend", "backends", metavar="NAME", multiple=True, help="auto, default, cpu, cu126, rocm6.4, ..."
    ),
    click.option("--image", "images", metavar="NAME", multiple=True, help="host, or an image of matrix/images."),
    click.option(
        "--cell",
        "cells",
        metavar="ID",
        multiple=True,
        help="A cell by its id (twice for two sides), or a selector (torch>=2.0, *-py3.11-*) that narrows the profile.",
    ),
    click.option("--metric", "metrics", metavar="NAME", multiple=True, help="A metric, or a glob of metrics."),
    click.option("--tag", "tags", metavar="TAG", multiple=True, help="Metrics with this tag."),
    click.option(
        "--slim/--full",
        "slim",
        default=None,
        help="Leave the CUDA packages of CUDA wheels out, or install everything; by default what the profile says.",
    ),
    click.option(
        "--benchmarks",
        "folder",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="A suite of your own in place of the project's.",
    ),
    click.option("--offline", is_flag=True, help="Use only what was read from the network earlier."),
)


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose cells and metrics, of `plan` and `run`."""
    for decorate in reversed(_SELECTION):
        function = decorate(function)
    return function


def plan_of(options: dict[str, Any]) -> Plan:
    """The plan that the options of `selection_options` ask for."""
    from harness.cells.adhoc import Selection
    from harness.cells.matrix import Slim
    from harness.paths import cache_dir, find_project
    from harness.pipeline.plan import make_plan

    slim: Slim | None = None
    if options["slim"] is not None:
        slim = Slim.YES if options["slim"] else Slim.NO
    names = ("from_release", "to_release", "pythons", "backends", "images", "cells", "metrics", "tags")
    selection: Selection = Selection(**{name: options[name] for name in names})
    return make_plan(
        find_project(),
        cache=cache_dir(),
        profile=options["profile"],
        selection=selection,
        slim=slim,
        folder=options["folder"],
        offline=options["offline"],
    )


def show_document(document: Document, form: str) -> None:
    """Prints a document on standard output; a reader that had enough (`head`) does not change the exit code."""
    import os
    import sys

    from harness.reporting.render import Format, show

    try:
        show(document, Format(form))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whatever is still buffered goes nowhere, instead of failing once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_line(command: str, parts: Sequence[str]) -> str:
    """A command as a user types it."""
    import shlex

    return shlex.join(["harness", command, *parts])
