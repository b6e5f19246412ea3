from __future__ import annotations

import json

import pytest

from harness.errors import ExitCode
from harness.measurement.metrics import Direction
from harness.measurement.records import Record, State
from harness.measurement.schema import structure, unstructure
from harness.reporting.document import Finding
from harness.reporting.render import Format, render
from harness.reporting.run import run_report
from harness.statistics.table import verdict_table
from harness.statistics.verdict import Verdict
from tests.unit.statistics.builders import metric, record, rounds, steady

METRICS = [
    metric(
        name="conv2d_throughput",
        unit="images/s",
        direction=Direction.HIGHER,
        work=8.0,
        param_names=("threads", "layer"),
        params=(("'1'", "'default'"), ("'3x3'", "64")),
    )
]
RECORDS = [
    *rounds([0.01] * 6, [0.011, 0.01102, 0.01098, 0.01101, 0.011, 0.011], params=("'1'", "64")),
    *steady([0.01] * 3, 0, params=("'1'", "'3x3'")),
    *[record(1, number, params=("'1'", "'3x3'"), state=State.CRASHED, reason="boom") for number in range(2)],
    *[record(side, 0, params=("'default'", "64"), state=State.SKIPPED, reason="no GPU") for side in (0, 1)],
    *[record(side, 0, [0.01 + 0.01 * side], params=("'default'", "'3x3'")) for side in (0, 1)],
]


def report(records=RECORDS, **options):
    table = verdict_table(records, METRICS)
    return run_report(
        table,
        METRICS,
        command="compare",
        title="t",
        baseline="torch1-py3.10-cpu",
        candidate="torch2-py3.10-cpu",
        **options,
    )


def test_what_scripts_rely_on():
    document = json.loads(render(report(findings=[Finding(severity="warn", title="x")], report="here"), Format.JSON))
    assert {"schema", "command", "baseline", "candidate", "rows", "findings", "report"} <= document.keys()
    for row in document["rows"]:
        assert {"metric", "params", "verdict", "ratio", "low", "high", "rounds", "reason"} <= row.keys()
    assert document["findings"][0].keys() == {"fault", "severity", "title", "evidence", "advice"}
    assert document["exit_code"] == ExitCode.NO
    assert document["skipped"] == [
        {
            "metric": "conv2d_throughput",
            "benchmark": "bench.time_op",
            "params": {"threads": "default", "layer": "64"},
            "reason": "no GPU",
        }
    ]


def test_a_ratio_above_one_is_better():
    rows = {(row["params"]["layer"], row["params"]["threads"]): row for row in report().as_json()["rows"]}
    slower = rows["64", "1"]
    assert (slower["verdict"], slower["ratio"]) == ("slower", pytest.approx(1 / 1.1, rel=0.01))
    assert slower["low"] < slower["ratio"] < slower["high"] < 1
    assert (slower["baseline_value"], slower["candidate_value"]) == (pytest.approx(800), pytest.approx(727, rel=0.01))


def test_what_is_not_known_is_null_and_never_infinite():
    rows = {(row["params"]["layer"], row["params"]["threads"]): row for row in report().as_json()["rows"]}
    broken, once = rows["3x3", "1"], rows["3x3", "default"]
    assert [broken[key] for key in ("verdict", "ratio", "low", "high", "candidate_value")] == ["broken", *[None] * 4]
    assert broken["reason"] == "the candidate crashed: boom"
    assert (once["verdict"], once["ratio"], once["low"], once["high"]) == ("undecided", pytest.approx(0.5), None, None)
    assert once["detectable"] is None


def test_stored_records_give_the_same_report_bit_for_bit():
    stored = json.loads(json.dumps([unstructure(one) for one in RECORDS]))
    read = [structure(one, Record) for one in reversed(stored)]
    for form in Format:
        assert render(report(read), form) == render(report(), form)


def test_parameters_that_metrics_do_not_name_are_numbered():
    found = run_report(verdict_table(RECORDS, METRICS), [], command="run", title="t", baseline="a", candidate="b")
    assert found.rows[0].params[0][0] == "param1"


@pytest.mark.parametrize("form", [Format.TABLE, Format.MARKDOWN])
def test_nothing_measured_is_said(form):
    assert "nothing was measured" in render(report([]), form)
    only_incomparable = report(steady([1.0] * 3, 0, params=("'1'", "64")))
    assert "nothing could be decided: this is no pass" in render(only_incomparable, form)


def test_equal_skips_are_told_together():
    skips = [
        record(side, 0, params=(threads, "64"), state=State.SKIPPED, reason="no GPU")
        for side in (0, 1)
        for threads in ("'1'", "'default'")
    ]
    assert "2 rows: no GPU: conv2d_throughput" in render(report(skips), Format.TABLE)


def test_counts():
    assert [report().count(verdict) for verdict in (Verdict.SLOWER, Verdict.BROKEN, Verdict.SAME)] == [1, 1, 0]
