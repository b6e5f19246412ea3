"""Records and metrics for the tests of tables."""

from __future__ import annotations

from harness.measurement.metrics import Metric
from harness.measurement.records import BenchmarkId, Record, Sample, State


def metric(**changes):
    return Metric(**{"name": "op_time", "benchmark": "bench.time_op", "unit": "s", **changes})


def record(
    side, number, values=(), *, name="bench.time_op", params=(), version="1", state=State.OK, reason="", details=None
):
    samples = tuple(
        Sample(value=value, at=index + 0.4 * side, canary=0.001, faults=0) for index, value in enumerate(values)
    )
    return Record(
        round=number,
        cell=f"torch1.1{side}.0-py3.10-cpu",
        side=side,
        benchmark=BenchmarkId(name=name, params=params, version=version),
        state=state,
        samples=samples,
        reason=reason,
        details=details or {},
        lock="l",
        environment="e",
        fingerprint="f",
        started_at="2026-01-01T00:00:00+00:00",
        seconds=1.0,
    )


def rounds(baseline, candidate, **options):
    """One record a side and round, each with three samples a little apart."""
    records = []
    for number, values in enumerate(zip(baseline, candidate, strict=True)):
        for side, value in enumerate(values):
            records.append(record(side, number, [value, value * 1.001, value * 0.999], **options))
    return records


def steady(values, side, **options):
    """One record a round whose samples are all one value."""
    return [record(side, number, [value] * 2, **options) for number, value in enumerate(values)]
