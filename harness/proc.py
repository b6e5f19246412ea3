"""The one door to other processes: logged, captured, timed out, killed as a group."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PIPE", "CommandError", "Completed", "Popen", "kill_group", "run", "spawn"]

log = logging.getLogger(__name__)
PIPE = subprocess.PIPE
Popen = subprocess.Popen


@dataclass(frozen=True, slots=True)
class Completed:
    """How a process ended.

    Attributes:
        returncode: Its exit status; negative for the signal that killed it.
        stdout: Its standard output.
        stderr: Its standard error.
    """

    args: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


class CommandError(Exception):
    """A command failed, could not be started, or ran past its time."""

    def __init__(self, args: Sequence[str], reason: str, stdout: str = "", stderr: str = "") -> None:
        super().__init__(f"{shlex.join(args)}: {reason}")
        self.command = tuple(args)
        self.reason = reason
        self.stdout = stdout
        self.stderr = stderr


def run(
    args: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> Completed:
    """Runs a command to its end and returns what it printed.

    Args:
        args: The command; never goes through a shell.
        env: The whole environment of the command; this process's own when None.
        cwd: Where it runs.
        stdin: Text for its standard input; closed when None.
        timeout: Seconds after which its process group is killed.
        check: Whether a status other than 0 is an error.

    Raises:
        CommandError: It could not start, ran too long, or failed with `check`.
    """
    command = [str(a) for a in args]
    process = spawn(command, env=env, cwd=cwd, stdin=PIPE if stdin is not None else subprocess.DEVNULL)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate()
        raise CommandError(command, f"still running after {timeout:g} s, killed", out, err) from None
    except BaseException:
        kill_group(process)
        process.wait()
        raise
    if check and process.returncode != 0:
        raise CommandError(command, f"ended with status {process.returncode}", out, err)
    return Completed(tuple(command), process.returncode, out, err)


def spawn(
    args: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: int = PIPE,
    stderr: int = PIPE,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[str]:
    """Starts a command in a process group of its own, with text pipes.

    Raises:
        CommandError: It could not be started.
    """
    command = [str(a) for a in args]
    log.debug("+ %s", shlex.join(command))
    try:
        return subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=PIPE,
            stderr=stderr,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    except OSError as error:
        raise CommandError(command, f"cannot be started ({error.strerror or error})") from error


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kills a process started by `spawn` and all its children; harmless when they are gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
