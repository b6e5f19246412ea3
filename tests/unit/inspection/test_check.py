from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.inspection.check import Activity, Severity, check_host, judge, watch
from harness.inspection.host import HostFacts, host_facts

CPUINFO = """processor\t: 0
model name\t: Some Processor 9
physical id\t: 0
core id\t\t: 0
flags\t\t: fpu sse4_2 avx avx2 hypervisor

processor\t: 1
model name\t: Some Processor 9
physical id\t: 0
core id\t\t: 0
flags\t\t: fpu sse4_2 avx avx2 hypervisor
"""
QUIET = Activity(busy=0.0, stolen=0.0, swapped=0, busiest="", available=8 * 2**30)


def write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "proc/cpuinfo", CPUINFO)
    write(tmp_path, "proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 400 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n")
    write(tmp_path, "proc/loadavg", "1.50 1.0 0.5 1/100 42\n")
    write(tmp_path, "proc/self/cgroup", "0::/user.slice/job\n")
    write(tmp_path, "proc/stat", "cpu  100 0 50 1000 10 0 0 5 0 0\ncpu0 1\ncpu1 1\n")
    write(tmp_path, "sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
    write(tmp_path, "sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n")
    write(tmp_path, "sys/fs/cgroup/user.slice/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/user.slice/job/memory.max", "4096\n")
    write(tmp_path, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
    write(tmp_path, "sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")
    write(tmp_path, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    return tmp_path


def fit(**changes: object) -> HostFacts:
    facts = host_facts()
    quiet = replace(facts, processors=4, cores=4, affinity=(0, 1, 2, 3), quota=None, governor="performance", load=0.1)
    return replace(quiet, **changes)  # type: ignore[arg-type]


def test_facts(root: Path) -> None:
    facts = host_facts(root)
    assert (facts.cpu, facts.processors, facts.cores, facts.smt) == ("Some Processor 9", 2, 1, True)
    assert (facts.vector, facts.hypervisor, facts.governor) == (("avx", "avx2", "sse4_2"), True, "powersave")
    assert (facts.memory, facts.swap, facts.load) == (1000 * 1024, 6 * 1024, 1.5)
    assert (facts.quota, facts.memory_limit, facts.turbo, facts.huge_pages) == (1.5, 4096, False, "madvise")
    assert not facts.container


def test_facts_where_nothing_can_be_read(tmp_path: Path) -> None:
    facts = host_facts(tmp_path)
    assert (facts.cpu, facts.quota, facts.memory, facts.turbo, facts.load) == ("", None, 0, None, 0.0)
    assert facts.processors >= 1


def test_first_version_of_groups(root: Path) -> None:
    write(root, "proc/self/cgroup", "3:cpu,cpuacct:/job\n2:memory:/job\n")
    write(root, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n")
    write(root, "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
    write(root, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n")
    facts = host_facts(root)
    assert (facts.quota, facts.memory_limit) == (0.5, None)


def test_a_fit_machine() -> None:
    assert judge(fit(), QUIET) == ()


@pytest.mark.parametrize(
    ("facts", "activity", "severity", "title"),
    [
        ({"governor": "powersave"}, {}, Severity.WARN, "the frequency governor is powersave"),
        ({"quota": 2.0}, {}, Severity.WARN, "limits this process to 2 of 4 processors"),
        ({"quota": 0.5}, {}, Severity.REFUSE, "limits this process to 0.5 of 4 processors"),
        ({"affinity": (0, 1)}, {}, Severity.WARN, "may run on 2 of 4 processors only"),
        ({"load": 3.5}, {}, Severity.WARN, "the load of the last minute is 3.5 on 4 processors"),
        ({}, {"busy": 1.25, "busiest": "cc1 (process 7)"}, Severity.WARN, "1.2 of 4 processors busy, most by cc1 (pro"),
        ({}, {"stolen": 0.1}, Severity.WARN, "the hypervisor takes 10% of the time"),
        ({}, {"swapped": 12}, Severity.WARN, "swapping"),
        ({}, {"available": 100 * 2**20}, Severity.REFUSE, "only 100 MB of memory are available"),
    ],
)  # fmt: skip
def test_findings(facts: dict[str, object], activity: dict[str, object], severity: Severity, title: str) -> None:
    (finding,) = judge(fit(**facts), replace(QUIET, **activity))  # type: ignore[arg-type]
    assert title in finding.title
    assert finding.severity is severity
    assert finding.advice


def test_watching(root: Path) -> None:
    write(root, "proc/7/stat", "7 (a (strange) name) R 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20\n")
    write(root, "proc/8/stat", "8 (idle) S 1 1 1 0 -1 0 0 0 0 0 10 5 0 0 20\n")
    write(root, "proc/vmstat", "pswpin 1\npswpout 2\n")

    def meanwhile(_: float) -> None:
        write(root, "proc/stat", "cpu  140 0 60 1040 10 0 0 15 0 0\ncpu0 1\ncpu1 1\n")
        write(root, "proc/7/stat", "7 (a (strange) name) R 1 1 1 0 -1 0 0 0 0 0 40 9 0 0 20\n")
        write(root, "proc/vmstat", "pswpin 1\npswpout 5\n")

    activity = watch(root, 0.3, meanwhile)
    assert activity == Activity(
        busy=1.0, stolen=0.1, swapped=3, busiest="a (strange) name (process 7)", available=400 * 1024
    )


def test_this_machine() -> None:
    facts, findings = check_host(seconds=0.05)
    assert facts.memory > 0
    assert all(finding.title and finding.advice for finding in findings)
