"""The `harness` command: finds the subcommand, and is the one place that prints errors and exits."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import signal
import sys
import traceback
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from harness import __version__
from harness.errors import ExitCode, HarnessError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["cli", "main"]

#: Each command is a module of its name in harness.cli with a click command of that name; imported when called.
COMMANDS = {
    "calibrate": "How noisy this machine is, and how often verdicts are wrong.",
    "claims": "What people say of the subject, tried out on many releases.",
    "compare": "A verdict table from stored records.",
    "env": "Build, list, check and prune environments.",
    "lock": "Resolve the locks of the declared profiles.",
    "metrics": "The metrics of the suite, with unit and direction.",
    "plan": "The cells of a profile: what will be built, what cannot exist and why.",
    "releases": "The release line: list it, or refresh it from the index.",
    "run": "Measure the cells of a profile and print what changed.",
}


class LazyGroup(click.Group):
    """Imports a command's module when the command is called, so that help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Imports one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"harness.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Lists the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests the nearest name for an unknown command."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS)
            hint = f" Perhaps you meant {near[0]!r}." if near else ""
            raise click.UsageError(error.message + hint, ctx) from None


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="harness")
@click.option("-v", "--verbose", count=True, help="Say more on standard error; twice for every command that is run.")
def cli(verbose: int) -> None:
    """Builds PyTorch environments, measures them side by side, and says what changed and how sure it is."""
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("harness").setLevel(level)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits with a code of `ExitCode`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the shell: whoever did that wants to hear nothing
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for number in (signal.SIGTERM, signal.SIGHUP):
        # One that is ignored stays so: nohup lets a run outlive its terminal.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
    code = _run(args)
    if error := _unwritten():
        code = _not_told(error)
    sys.exit(code)


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    # As Ctrl-C, so that whatever is under way is cleaned up, and the user is told how to go on.
    raise KeyboardInterrupt(signal.Signals(number).name)


def _unwritten() -> OSError | None:
    """Why something that was said on standard output could not be written, if so; it is dropped then."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        reason = None  # the reader of a pipe (head, less) had enough
    except OSError as error:
        reason = error
    else:
        return None
    # Else the interpreter would try again at its end, and fail with a status of its own.
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return reason


def _not_told(error: OSError) -> int:
    click.echo(
        f"harness: cannot write to standard output: {error.strerror or error}\n"
        "Next: free some space, or send the output elsewhere",
        err=True,
    )
    return ExitCode.MEASURE


def _bug(error: Exception, args: Sequence[str]) -> int:
    from harness.cli.crash import write_log

    told = f"harness: unexpected {type(error).__name__}: {error}\nThis is a bug."
    try:
        told += f" Paste this file into a report: {write_log(error, args)}"
    except OSError as reason:
        end = "".join(traceback.format_exception(error)[-4:])
        told += f" Paste this into a report, for no log could be written ({reason}):\n{end}"
    click.echo(told, err=True)
    return ExitCode.BUG


def _show_error(error: HarnessError, args: Sequence[str]) -> None:
    """A script that asked for JSON gets the error as JSON too."""
    if "--format=json" in args or ("--format", "json") in pairwise(args):
        from harness.cli.options import show_document
        from harness.reporting.listings import ErrorReport

        show_document(ErrorReport(command=next((arg for arg in args if arg in COMMANDS), ""), error=error), "json")


def _run(args: Sequence[str] | None) -> int:
    try:
        result = cli.main(args=args, prog_name="harness", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("\ninterrupted", err=True)
        return ExitCode.INTERRUPTED
    except HarnessError as error:
        click.echo(f"harness: {error}", err=True)
        _show_error(error, sys.argv[1:] if args is None else args)
        return error.exit_code
    except BrokenPipeError:
        # The reader of a pipe (head, less) had enough.
        sys.stderr.close()
        return ExitCode.FINE
    except Exception as error:  # a bug: the user gets a log to paste instead of a traceback
        if isinstance(error, OSError) and (fault := _unwritten()):
            return _not_told(fault)
        return _bug(error, args if args is not None else sys.argv[1:])
    return result if isinstance(result, int) else ExitCode.FINE
