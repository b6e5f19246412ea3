"""A comparison with records of every kind, for the tests of plots."""

from __future__ import annotations

from pathlib import Path

from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, State
from harness.measurement.runs import Header, Run, SideHeader
from harness.pipeline.compare import judge_run
from harness.reporting.comparison import comparison_report
from tests.unit.statistics.builders import record, rounds

CELLS = ("torch1.10.0-py3.10-cpu", "torch1.11.0-py3.10-cpu")


def benchmark(name, **changes):
    return {"name": name, "type": "time", "params": [], "param_names": [], "unit": "seconds", "version": "1", **changes}


SUITE = {
    "bench.time_slower": benchmark(
        "bench.time_slower", metric="op_time", params=[["'3x3 $64->64'"]], param_names=["layer"]
    ),
    "bench.time_faster": benchmark(
        "bench.time_faster", metric="op_rate", metric_unit="ops/s", direction="higher", work=8
    ),
    "bench.time_same": benchmark("bench.time_same", metric="same_time"),
    "bench.time_broken": benchmark("bench.time_broken", metric="broken_time"),
    "bench.track_flips": benchmark("bench.track_flips", type="track", metric="flips", unit="holds", direction="higher"),
    "bench.time_skipped": benchmark("bench.time_skipped", metric="skipped_time"),
}
NOISE = [1.0, 1.002, 0.998, 1.001, 0.999, 1.0]
RECORDS = [
    *rounds([0.01 * n for n in NOISE], [0.011] * 6, name="bench.time_slower", params=("'3x3 $64->64'",)),
    record(1, 6, name="bench.time_slower", params=("'3x3 $64->64'",), state=State.CRASHED, reason="boom"),
    record(0, 6, [0.01], name="bench.time_slower", params=("'3x3 $64->64'",)),
    *rounds([2e-6] * 6, [1e-6 * n for n in NOISE], name="bench.time_faster"),
    *rounds([0.5] * 6, [0.5 * n for n in NOISE], name="bench.time_same"),
    *rounds([0.1] * 2, [0.1] * 2, name="bench.time_broken")[::2],
    *[record(1, number, name="bench.time_broken", state=State.CRASHED, reason="SIGSEGV") for number in range(2)],
    *[record(side, n, [float(n % 2 == side)], name="bench.track_flips") for n in range(3) for side in (0, 1)],
    *[record(side, 0, name="bench.time_skipped", state=State.SKIPPED, reason="no GPU") for side in (0, 1)],
]


def run_of(records=RECORDS, suite=SUITE):
    header = Header(
        schema=1,
        run="20260101T000000Z-0123456789",
        key="k",
        created="2026-01-01T00:00:00+00:00",
        machine="box",
        host={},
        sides=tuple(SideHeader(cell=cell, environment="e", lock="l") for cell in CELLS),
        rows=tuple(BenchmarkId(name=name) for name in suite),
        benchmarks=suite,
        options=Options(),
    )
    return Run(path=Path("records.jsonl"), header=header, records=records, fingerprints={}, faults=(), finished=True)


def compared(records=RECORDS, suite=SUITE, *, swapped=False, report=""):
    """The comparison and its report."""
    comparison = judge_run(run_of(tuple(records), suite), swapped=swapped)
    return comparison, comparison_report(comparison, command="compare", report=report)
