"""Every error that ends a command: what happened, why it usually does, what to run next.

Only `harness.cli.main` prints them and exits. They are all here so that exit codes stay unique and documented.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = [
    "BrokenPromiseError",
    "ConfigurationError",
    "ExitCode",
    "HarnessError",
    "InstallError",
    "MeasurementError",
    "ResolveError",
    "StorageError",
    "UsageError",
]


class ExitCode(IntEnum):
    """What the `harness` command returns to the shell."""

    FINE = 0
    #: The answer is no: a regression was found, the doctor failed, a lock is stale.
    NO = 1
    #: Usage or configuration.
    USAGE = 2
    #: Could not resolve or install.
    INSTALL = 3
    #: Could not measure, or could not store what was measured.
    MEASURE = 4
    #: Undecided after the budget.
    UNDECIDED = 5
    #: A bug in the harness.
    BUG = 70
    INTERRUPTED = 130


class HarnessError(Exception):
    """An error that a user can act on.

    Args:
        what: What happened, with the place (file, key, command, cell).
        why: The likely cause; empty when `what` says it all.
        next_step: A command or an edit that helps; empty when there is none.
    """

    exit_code = ExitCode.BUG

    def __init__(self, what: str, *, why: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.next_step = next_step

    def __str__(self) -> str:
        lines = [self.what]
        if self.why:
            lines.append(f"Likely cause: {self.why}")
        if self.next_step:
            lines.append(f"Next: {self.next_step}")
        return "\n".join(lines)


class UsageError(HarnessError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = ExitCode.USAGE


class ConfigurationError(HarnessError):
    """A file of the project is wrong; `what` lists every fault with its place, one a line."""

    exit_code = ExitCode.USAGE


class ResolveError(HarnessError):
    """An index cannot be read, a release does not exist, or a set of packages cannot be resolved."""

    exit_code = ExitCode.INSTALL


class InstallError(HarnessError):
    """A lock cannot be made real: download, disk, hash, interpreter, build."""

    exit_code = ExitCode.INSTALL


class MeasurementError(HarnessError):
    """Nothing could be measured."""

    exit_code = ExitCode.MEASURE


class StorageError(HarnessError):
    """What was measured cannot be written or read back."""

    exit_code = ExitCode.MEASURE


class BrokenPromiseError(HarnessError):
    """A check the harness makes of itself failed."""

    exit_code = ExitCode.BUG
