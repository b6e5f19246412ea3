from __future__ import annotations

import math
from typing import Any

import pytest

from harness.errors import ConfigurationError, UsageError
from harness.measurement.metrics import Direction, metrics_of, rows, select, value
from harness.measurement.records import BenchmarkId

CONV: dict[str, Any] = {
    "name": "bench_conv.Conv2d.time_forward",
    "type": "time",
    "unit": "seconds",
    "version": "2",
    "params": [["'small'", "'large'"], ["'1'", "'default'"]],
    "param_names": ["shape", "threads"],
    "metric": "conv2d_throughput",
    "metric_unit": "images/s",
    "direction": "higher",
    "work": {"small": 8, "large": 32},
    "work_by": "shape",
    "hot_path": "H11",
    "tags": ["core", "conv"],
    "floor": 0.05,
    "summary": "Convolutions forward.",
}
SUITE: dict[str, Any] = {
    "bench_conv.Conv2d.time_forward": CONV,
    "bench.time_add": {"type": "time", "unit": "seconds", "params": [], "metric": "add_time", "tags": ["small"]},
    "bench.track_rate": {
        "type": "track", "unit": "GB/s", "params": [], "metric": "rate", "direction": "higher", "isolate": True,
    },
    "bench.time_undeclared": {"type": "time", "unit": "seconds", "params": [["1"]], "param_names": ["n"]},
    "version": 2,
}  # fmt: skip


def test_declared() -> None:
    metrics = {metric.name: metric for metric in metrics_of(SUITE)}
    assert list(metrics) == ["add_time", "bench.time_undeclared", "conv2d_throughput", "rate"]
    conv = metrics["conv2d_throughput"]
    assert (conv.unit, conv.direction, conv.hot_path, conv.floor) == ("images/s", Direction.HIGHER, "H11", 0.05)
    assert (conv.version, conv.tags, conv.summary) == ("2", ("core", "conv"), "Convolutions forward.")
    assert metrics["rate"].isolate
    assert (metrics["add_time"].unit, metrics["add_time"].direction) == ("seconds", Direction.LOWER)


def test_rows() -> None:
    metrics = {metric.name: metric for metric in metrics_of(SUITE)}
    assert rows(metrics["conv2d_throughput"]) == [
        BenchmarkId(name="bench_conv.Conv2d.time_forward", params=params, version="2")
        for params in (("'small'", "'1'"), ("'small'", "'default'"), ("'large'", "'1'"), ("'large'", "'default'"))
    ]
    assert rows(metrics["add_time"]) == [BenchmarkId(name="bench.time_add")]


def test_values() -> None:
    metrics = {metric.name: metric for metric in metrics_of(SUITE)}
    assert value(metrics["conv2d_throughput"], ("'small'", "'1'"), 0.5) == 16
    assert value(metrics["conv2d_throughput"], ("'large'", "'1'"), 0.5) == 64
    assert value(metrics["add_time"], (), 0.5) == 0.5
    # A tracked rate is one already.
    assert value(metrics["rate"], (), 12.0) == 12.0
    assert value(metrics["conv2d_throughput"], ("'small'", "'1'"), 0.0) == math.inf


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"direction": "up"}, "direction is 'up'"),
        ({"floor": 3}, "floor is 3"),
        ({"work": 0, "work_by": ""}, "work is 0"),
        ({"timeout": math.inf}, "timeout is inf, not a positive number of seconds"),
        ({"timeout": math.nan}, "timeout is nan"),
        ({"timeout": -1}, "timeout is -1"),
        ({"timeout": "60"}, "timeout is '60'"),
        ({"setup_cache_timeout": 0}, "setup_cache_timeout is 0"),
        ({"direction": ["higher"]}, "direction is ['higher']"),
        ({"metric": 5}, "metric is 5, not a text"),
        ({"tags": 5}, "tags is 5, not a list of texts"),
        ({"tags": "core"}, "tags is 'core', not a list of texts"),
        ({"requires": "onnx"}, "requires is 'onnx', not a list of texts"),
        ({"params": 5}, "params is 5, not a list of lists"),
        ({"param_names": 5}, "param_names is 5, not a list of texts"),
        ({"work_by": "colour"}, "work_by is 'colour'"),
        ({"work": {"small": 8}}, "work has no positive number for shape='large'"),
        ({"work": {"small": 8, "large": -1}}, "work has no positive number for shape='large'"),
    ],
)
def test_faults(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        metrics_of({CONV["name"]: {**CONV, **change}})
    assert fault in error.value.what
    assert CONV["name"] in error.value.what


def test_every_fault_at_once() -> None:
    with pytest.raises(ConfigurationError) as error:
        metrics_of({"a": {**CONV, "floor": 2}, "b": CONV, "c": CONV})
    assert "a: floor is 2" in error.value.what
    assert "c: the metric conv2d_throughput already belongs to b" in error.value.what


def test_selection() -> None:
    metrics = metrics_of(SUITE)
    assert select(metrics) == metrics
    assert [metric.name for metric in select(metrics, names=["rate"])] == ["rate"]
    assert [metric.name for metric in select(metrics, tags=["core"])] == ["conv2d_throughput"]
    assert [metric.name for metric in select(metrics, names=["rate"], tags=["small"])] == ["add_time", "rate"]
    with pytest.raises(UsageError, match="no benchmark has the metric conv_throughput") as error:
        select(metrics, names=["conv_throughput"])
    assert "perhaps you meant conv2d_throughput" in error.value.next_step
    with pytest.raises(UsageError, match="no benchmark has the tag cor"):
        select(metrics, tags=["cor"])
