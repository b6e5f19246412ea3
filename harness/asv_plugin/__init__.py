"""ASV's side of the harness: its commits are releases, its environments are cells.

`asv.conf.json` names this package as a plugin. ASV then calls `setup`, and only that imports ASV, so that the other
modules here can be used without the fifth of a second that importing ASV costs.
"""

from __future__ import annotations

__all__ = ["setup"]


def setup() -> None:
    """Registers the harness's repository and environment with ASV, and gives ASV this machine's steady description."""
    from harness.asv_plugin import environment, machine, repo  # noqa: F401, PLC0415  # importing registers; ASV is heavy

    machine.describe_to_asv()
