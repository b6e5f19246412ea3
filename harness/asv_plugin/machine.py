"""The machine as ASV's results describe it: coarse and steady, so that a kernel update does not split every series.

ASV's own description has the kernel's release and the memory in bytes, and lives in one file for all of a user's
projects. The harness writes its own under `results/<machine>/machine.json`, once, and hands the same one to ASV.
"""

from __future__ import annotations

import json
import os
import platform
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.jsonio import digest, write_json

__all__ = ["Machine", "describe_to_asv", "this_machine"]

#: Where ASV is told to keep what it knows of machines, relative to the project.
_ASV_FILE = Path(".asv", "machine.json")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Folders that stand beside those of machines.
_TAKEN = frozenset({"runs", "noise", "bisections"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What tells the results of two machines apart, in ASV's words.

    Attributes:
        machine: Its name, that of its folder under `results/`.
        os: The operating system, without its release.
        arch: `x86_64`.
        cpu: The processor's model.
        num_cpu: How many processors.
        ram: Memory in whole GiB.
    """

    machine: str
    os: str
    arch: str
    cpu: str
    num_cpu: str
    ram: str

    @property
    def hardware(self) -> tuple[str, str, str]:
        """What makes it another machine when it changes."""
        return self.arch, self.cpu, self.num_cpu

    def fields(self) -> dict[str, str]:
        """The description as ASV's files have it."""
        return asdict(self)


def this_machine(results: Path, *, name: str | None = None) -> Machine:
    """The description of this machine, as recorded with its earlier results where there are some.

    Without a given name it is the host's; when results of other hardware are recorded under that, a short digest of
    the hardware is added, so that two machines with one host name never share a series.

    Args:
        results: The results folder.
        name: The machine's name; `HARNESS_MACHINE`, then the host's name by default.

    Raises:
        UsageError: The given name cannot be a folder, or belongs to other hardware.
    """
    given = name or os.environ.get("HARNESS_MACHINE", "")
    if given and (not _NAME.fullmatch(given) or given in _TAKEN):
        what = f"{given!r} cannot be the name of a machine"
        raise UsageError(what, why="it becomes a folder beside `results/runs`: letters, digits, `.`, `_` and `-`")
    seen = _look(given or _host_name())
    known = recorded(results, seen.machine)
    if known is None or known.hardware == seen.hardware:
        return known or seen
    if given:
        what = f"results/{given} belongs to another machine: {known.cpu}, {known.num_cpu} processors"
        raise UsageError(what, next_step="give this one another name, by HARNESS_MACHINE or on the command line")
    seen = _look(f"{seen.machine}-{digest(seen.hardware)[:6]}")
    return recorded(results, seen.machine) or seen


def recorded(results: Path, name: str) -> Machine | None:
    """What an earlier run wrote about a machine; None where nothing readable is there."""
    try:
        found = json.loads((results / name / "machine.json").read_text(encoding="utf-8"))
        return Machine(**{key: str(found[key]) for key in Machine.__dataclass_fields__})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe_to_asv() -> None:
    """Makes ASV use `this_machine` in place of the user's `~/.asv-machine.json`; ASV runs in the project's folder."""
    from asv.machine import Machine as AsvMachine  # noqa: PLC0415  # heavy
    from asv.machine import MachineCollection  # noqa: PLC0415

    machine = this_machine(Path("results"))

    def machine_file() -> str:
        # Written only here, when a command is about to measure: reading results must work in a read-only checkout.
        write_json(_ASV_FILE, {machine.machine: machine.fields(), "version": MachineCollection.api_version})
        return str(_ASV_FILE)

    AsvMachine.hardcoded_machine_name = machine.machine
    MachineCollection.get_machine_file_path = staticmethod(machine_file)


def _host_name() -> str:
    name = re.sub(r"[^A-Za-z0-9._-]", "-", platform.node()).lstrip("._-")
    return "this-machine" if not name or name in _TAKEN else name


def _look(name: str) -> Machine:
    return Machine(
        machine=name,
        os=platform.system(),
        arch=platform.machine(),
        cpu=_cpu(),
        num_cpu=str(os.cpu_count() or 1),
        ram=f"{_memory() / 2**30:.0f} GiB",
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip(), value.strip())
    # ARM kernels give numbers in place of a name.
    arm = " ".join(facts[key] for key in ("CPU implementer", "CPU part", "CPU variant") if key in facts)
    return facts.get("model name") or arm or platform.processor() or platform.machine()


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
