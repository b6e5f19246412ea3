"""ASV's environment: a cell without its release. Installing a commit finds the release's environment in the store.

ASV imports come at the top here: this module exists to be imported by ASV.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from asv import util
from asv.console import log as console
from asv.environment import Environment as AsvEnvironment

from harness.asv_plugin import naming
from harness.asv_plugin.history import History
from harness.asv_plugin.provide import provide
from harness.cells.cell import Cell
from harness.environments.environment import Environment
from harness.environments.variables import clean_variables
from harness.errors import ConfigurationError, HarnessError, UsageError
from harness.proc import CommandError
from harness.releases.line import read_line

__all__ = ["CellEnvironment"]


class CellEnvironment(AsvEnvironment):  # type: ignore[misc]  # ASV has no types
    """One ASV environment for all releases of a cell; its name has no path, no host and no release in it.

    Args:
        conf: ASV's configuration.
        python: A value of its `pythons`.
        requirements: One combination of the matrix's `req`.
        tagged_env_vars: One combination of its `env` and `env_nobuild`.
    """

    tool_name = naming.TOOL
    # ASV would otherwise take this class for any environment of another type.
    matches_python_fallback = False

    def __init__(
        self, conf: Any, python: str, requirements: dict[str, str], tagged_env_vars: dict[tuple[str, str], str]
    ) -> None:
        # The base class asks for the name, which needs these two, before it sets them.
        self._python = python
        self._requirements = requirements
        self._tagged_env_vars = tagged_env_vars
        self._line = Path(conf.repo).absolute()
        self._history: History | None = None
        self._provided: tuple[str, Environment] | None = None
        try:
            # Any release shows whether the combination is a cell at all.
            naming.cell_of(python, requirements, tagged_env_vars, subject="any", release="0")
        except UsageError as error:
            raise util.UserError(str(error)) from error
        super().__init__(conf, python, requirements, tagged_env_vars)
        # The base class wants unpinned tools, and what the harness itself needs to be built: locks decide here.
        self._base_requirements: dict[str, str] = {}

    @classmethod
    def matches(cls, python: str) -> bool:  # noqa: ARG003  # ASV's signature
        """Never: `environment_type` in asv.conf.json must name this class."""
        return False

    def cell(self, commit_hash: str) -> Cell:
        """The cell that this environment is at a release.

        Raises:
            UsageError: The commit id is not in the release line.
        """
        if self._history is None:
            self._history = History(read_line(self._line))
        return naming.cell_of(
            self._python,
            self._requirements,
            self._tagged_env_vars,
            subject=self._history.subject,
            release=self._history.release(commit_hash).version,
        )

    def check_presence(self) -> bool:
        """Always: there is nothing to build before a release is chosen."""
        return True

    def _setup(self) -> None:
        pass

    @property
    def installed_commit_hash(self) -> str | None:
        """The release in use, or None when its environment has left the store."""
        commit: str | None = self._get_installed_commit_hash()
        if commit is not None:
            try:
                self._environment(commit)
            except (HarnessError, CommandError, OSError):
                return None
        return commit

    def install_project(self, conf: Any, repo: Any, commit_hash: str) -> None:  # noqa: ARG002  # ASV's signature
        """Finds or builds the environment of a release.

        Raises:
            ProcessError: The release cannot be had for this cell; ASV notes it as failed and goes on.
            UserError: The project's files are wrong, so that no release can be had; ASV stops.
        """
        try:
            cell = self.cell(commit_hash)
        except (UsageError, ConfigurationError) as error:
            # `asv run TAGS` passes tag names for commit ids and would store results that nothing finds again.
            message = str(error)
            if len(commit_hash) != 40:
                message += "\n`asv run TAGS` does not work here: use ALL, or a range such as v1.11.0..v1.12.1"
            raise util.UserError(message) from error
        if cell.flags:
            msg = f"{self.name}: flags are set by the harness's own runner; ASV's would measure without them"
            raise util.UserError(msg)
        self._set_installed_commit_hash(None)
        try:
            self._environment(commit_hash)
        except ConfigurationError as error:
            raise util.UserError(str(error)) from error
        except (HarnessError, CommandError, OSError) as error:
            console.error(str(error))
            raise util.ProcessError(["install", cell.id], 1, "", str(error)) from error
        # On disk, since `asv run -j` installs in a forked copy of this object.
        self._set_installed_commit_hash(commit_hash)
        self._set_commit_hash(commit_hash)

    def _environment(self, commit_hash: str) -> Environment:
        if self._provided is None or self._provided[0] != commit_hash:
            self._provided = (commit_hash, provide(self.cell(commit_hash)))
        return self._provided[1]

    def _in_use(self) -> tuple[str, Environment]:
        # Read from disk each time: under `asv run -j` another process installs, and this object still has the last one.
        commit = self._get_installed_commit_hash()
        if commit is None:
            msg = f"{self.name}: no release is installed"
            raise OSError(msg)
        try:
            return commit, self._environment(commit)
        except (HarnessError, CommandError) as error:
            raise util.ProcessError(["find", self.cell(commit).id], 1, "", str(error)) from error

    def find_executable(self, executable: str) -> str:
        """The path of a program of the environment in use.

        Raises:
            OSError: It has no such program, or no release is in use.
        """
        path = self._in_use()[1].python.with_name(executable)
        if not path.exists():
            msg = f"{path} does not exist"
            raise OSError(msg)
        return str(path)

    def run_executable(self, executable: str, args: list[str], **options: Any) -> Any:
        """Runs a program of the environment in use, with the cell's clean variables and no others.

        Args:
            executable: Its name.
            args: Its arguments.
            options: Those of `asv.util.check_output`; the variables among them are not used.
        """
        options.pop("env", None)
        if options.get("timeout") is None:
            options["timeout"] = self._install_timeout
        commit, environment = self._in_use()
        self._set_commit_hash(commit)
        variables = {**clean_variables(self.cell(commit), environment), **self._global_env_vars}
        return util.check_output([self.find_executable(executable), *args], env=variables, **options)

    def run(self, args: list[str], **options: Any) -> Any:
        """Runs the interpreter of the environment in use."""
        console.debug(f"Running '{' '.join(args)}' in {self.name}")
        return self.run_executable("python", args, **options)
