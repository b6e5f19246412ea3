# /// script
# dependencies = ["nox>=2026.2", "uv"]
# ///
"""The front door: each session installs the harness and passes its options on to one command."""

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2026.2"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_venv = "yes"

GROUPS = nox.project.load_toml("pyproject.toml")["dependency-groups"]


def harness(session: nox.Session, *command: str) -> None:
    """Runs a harness command; nox ends with the command's own exit code, which says more than failed or not."""
    session.install("--quiet", "-e", ".")
    try:
        # nox would put what the command says on standard error into standard output, among the results.
        session.run("harness", *command, *session.posargs, stderr=None)
    except CommandFailed as failure:
        raise SystemExit(failure.return_code or 1) from None


@nox.session
def matrix(session: nox.Session) -> None:
    """Measure two releases of torch and print what changed; options as for `harness run`."""
    harness(session, "run")


@nox.session
def lock(session: nox.Session) -> None:
    """Resolve the locks of the declared profiles again; `-- --check` only says which are stale."""
    harness(session, "lock")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, real environments included; options as for pytest."""
    session.install("--quiet", "-e", ".", *nox.project.dependency_groups({"dependency-groups": GROUPS}, "test"))
    session.run("pytest", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and the direction of imports."""
    session.install("--quiet", "-e", ".", *nox.project.dependency_groups({"dependency-groups": GROUPS}, "lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    session.install("--quiet", "-e", ".", *nox.project.dependency_groups({"dependency-groups": GROUPS}, "types"), "nox")
    session.run("mypy")
