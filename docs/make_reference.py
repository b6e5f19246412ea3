"""Writes docs/reference/commands.md from the commands' own help: `python docs/make_reference.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from harness.cli.main import cli
from harness.errors import ExitCode

PATH = Path(__file__).parent / "reference" / "commands.md"

_MEANING = {
    ExitCode.FINE: "fine",
    ExitCode.NO: "the answer is no: something got slower or broke, a lock is stale, an environment is ill",
    ExitCode.USAGE: "the command line or a file of the project is wrong",
    ExitCode.INSTALL: "an index cannot be read, a release does not exist, packages cannot be resolved or installed",
    ExitCode.MEASURE: "nothing could be measured, or what was measured could not be stored",
    ExitCode.UNDECIDED: "rows stayed undecided after all rounds",
    ExitCode.BUG: "a bug; a log to paste was written, its place is printed",
    ExitCode.INTERRUPTED: "interrupted, by Ctrl-C, SIGTERM or SIGHUP; the same command goes on",
}


def pages() -> Iterator[tuple[str, str]]:
    """Every command's full name and help text."""
    context = click.Context(cli, info_name="harness", max_content_width=100, terminal_width=100)
    yield from _pages(cli, context)


def _pages(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            inner = click.Context(found, info_name=name, parent=context, max_content_width=100, terminal_width=100)
            yield from _pages(found, inner)


def reference() -> str:
    """The page."""
    parts = ["# Commands", "Written by `python docs/make_reference.py` from the commands' own help."]
    parts += ["## Exit codes", "| code | meaning |\n|--:|---|\n" + "\n".join(f"| {c} | {t} |" for c, t in _codes())]
    for name, text in pages():
        parts += [f"## `{name}`", f"```\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


def _codes() -> Iterator[tuple[int, str]]:
    for code in ExitCode:
        yield int(code), _MEANING[code]


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
