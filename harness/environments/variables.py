"""The environment variables of a measured process: from nothing, so that no shell decides a benchmark."""

from __future__ import annotations

import os

from harness.cells.cell import Cell
from harness.environments.environment import Environment
from harness.paths import home_dir

__all__ = ["ALLOCATOR", "clean_variables"]

#: glibc gives large blocks back to the kernel or keeps them by the luck of the heap, and each page that it takes again
#: costs a fault: whole steps between releases come and go with it. These keep all memory, alike in every cell. 32 MiB
#: is the highest mmap threshold that glibc accepts; it ignores a higher one without a word.
ALLOCATOR = {
    "MALLOC_TRIM_THRESHOLD_": "2000000000",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TOP_PAD_": "134217728",
}

# Kept from this process where set: where files may go, and which devices a scheduler lends. They say where a process
# runs, not how, and are the same for all cells of a run.
_PLACES = (
    "HOME",
    "TMPDIR",
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)


def clean_variables(cell: Cell, environment: Environment, *, plain: bool = False) -> dict[str, str]:
    """All variables of a measured process.

    Nothing of this process's `OMP_*`, `MKL_*`, `PYTHON*`, `LD_*` or the like comes through: only what the cell says,
    which wins over everything set here.

    Args:
        cell: What is measured.
        environment: Where; its `bin` comes first on PATH.
        plain: Leave glibc's allocator as users have it.
    """
    variables = {
        "PATH": os.pathsep.join([str(environment.path / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        # A user's own site-packages would shadow what was locked.
        "PYTHONNOUSERSITE": "1",
        # Rounds are fresh processes. Unpinned, each would draw its own order of sets and its own collisions in dicts,
        # which is noise between rounds. Pinned, a benchmark that depends on the order meets the same one in all cells.
        "PYTHONHASHSEED": "0",
        # Environments are byte-compiled when built; a measured process must not write into them.
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    for name in _PLACES:
        if value := os.environ.get(name):
            variables[name] = value
    variables.setdefault("HOME", str(home_dir()))
    if not plain:
        variables |= ALLOCATOR
    return variables | dict(cell.env)
