from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.inspection import probe

PROBE = Path(probe.__file__)


def facts_of(folder: Path, **variables: str) -> dict[str, object]:
    """The facts of a fresh process that imports what lies in a folder first."""
    done = subprocess.run(
        [sys.executable, str(PROBE)],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(folder), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def write_torch(folder: Path, text: str) -> None:
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)


def test_without_torch(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    assert (facts["torch"], facts["import_error"]) == (None, "")
    python = facts["python"]
    assert isinstance(python, dict)
    assert python["version"] == ".".join(map(str, sys.version_info[:3]))
    assert python["executable"] == sys.executable
    assert facts["affinity"] == sorted(os.sched_getaffinity(0))
    distributions = facts["distributions"]
    assert isinstance(distributions, dict)
    assert distributions["asv-runner"] == "0.3.2"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "raise OSError('libc10.so: cannot open\\nshared object file')",
            "OSError: libc10.so: cannot open shared object file",
        ),
        ("import torch_inner_part", "ModuleNotFoundError: No module named 'torch_inner_part'"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_torch_that_cannot_be_imported(tmp_path: Path, text: str, error: str) -> None:
    write_torch(tmp_path, text)
    facts = facts_of(tmp_path)
    assert (facts["torch"], facts["import_error"]) == (None, error)


def test_torch_that_lacks_almost_everything(tmp_path: Path) -> None:
    write_torch(
        tmp_path, "__version__ = '1.2.0'\ndef get_num_threads(): return 4\ndef is_grad_enabled(): raise OSError\n"
    )
    facts = facts_of(tmp_path)
    flags, torch = facts["flags"], facts["torch"]
    assert isinstance(torch, dict)
    assert isinstance(flags, dict)
    assert torch["version"] == "1.2.0"
    assert torch["git_version"] is None
    assert (flags["num_threads"], flags["grad"], flags["mkldnn"]) == (4, None, None)
    assert facts["cpu_capability"] is None


def test_alike_processes_have_equal_facts(tmp_path: Path) -> None:
    write_torch(tmp_path, "__version__ = '1'\n")
    assert facts_of(tmp_path, TMPDIR="/tmp/a", OMP_NUM_THREADS="1") == facts_of(
        tmp_path, TMPDIR="/tmp/b", OMP_NUM_THREADS="1"
    )


def test_variables() -> None:
    chosen = probe.variables(
        {
            "OMP_NUM_THREADS": "2",
            "MALLOC_ARENA_MAX": "1",
            "LD_PRELOAD": "/x/libgomp.so.1",
            "TORCH_API_KEY": "s3cret",
            "PYTHONPATH": "/a",
            "PYTORCH_INDEX": "https://user:word@index.example/simple",
            "HOME": "/home/me",
            "SSH_AUTH_SOCK": "/tmp/x",
        }
    )
    assert chosen == {
        "OMP_NUM_THREADS": "2",
        "MALLOC_ARENA_MAX": "1",
        "LD_PRELOAD": "/x/libgomp.so.1",
        "TORCH_API_KEY": "(withheld)",
        "PYTHONPATH": "/a",
        "PYTORCH_INDEX": "https://index.example/simple",
    }


def test_libraries(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 1 /venv/lib/libgomp-a34b3233.so.1\n"
        "7f01-7f02 r--p 00000000 08:01 1 /venv/lib/libgomp-a34b3233.so.1\n"
        "7f02-7f03 r-xp 00000000 08:01 2 /usr/lib/libgomp.so.1\n"
        "7f03-7f04 r-xp 00000000 08:01 3 /opt/other/libgomp.so.1\n"
        "7f04-7f05 r-xp 00000000 08:01 4 /venv/a folder/libtorch_cpu.so\n"
        "7f05-7f06 r-xp 00000000 08:01 5 /usr/lib/libz.so.1\n"
        "7f06-7f07 rw-p 00000000 00:00 0 [heap]\n"
        "7f07-7f08 rw-p 00000000 00:00 0\n"
    )
    assert probe.libraries(str(maps)) == [
        "libgomp-a34b3233.so.1",
        "libgomp.so.1",
        "libgomp.so.1",
        "libtorch_cpu.so",
    ]
    assert probe.libraries(str(tmp_path / "none")) == []
