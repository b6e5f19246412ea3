from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from harness.errors import ExitCode, MeasurementError, StorageError, UsageError
from harness.reporting.plot import MOST_ROWS
from harness.reporting.plot_files import PlotFile, write_plot, write_report
from harness.reporting.render import Format, render
from tests.unit.reporting.plot_builders import RECORDS, benchmark, compared


def many(count):
    """Rows that are all slower."""
    names = [f"bench.time_{number}" for number in range(count)]
    suite = {name: benchmark(name, metric=name.removeprefix("bench.")) for name in names}
    slower = [one for one in RECORDS if one.benchmark.name == "bench.time_slower" and one.round < 6]
    records = [replace(one, benchmark=replace(one.benchmark, name=name, params=())) for name in names for one in slower]
    return {"records": records, "suite": suite}


def write(path, metrics=(), **options):
    comparison, report = compared(**options)
    return write_plot(path, report, comparison, metrics)


def metrics_of(report):
    return [metric for plot in report.plots for metric, _ in plot.rows]


def test_without_a_choice_the_rows_that_changed_or_stayed_open_are_drawn(tmp_path):
    report = write(tmp_path / "plot.svg")
    assert metrics_of(report) == ["op_time", "flips", "op_rate"]
    assert report.notes == ()
    words = (tmp_path / "plot.svg").read_text()
    assert "slower: op_time" in words
    assert "same_time" not in words


def test_where_nothing_changed_all_rows_are_drawn(tmp_path):
    same = [one for one in RECORDS if one.benchmark.name == "bench.time_same"]
    assert metrics_of(write(tmp_path / "plot.png", records=same)) == ["same_time"]


def test_metrics_choose_whatever_their_verdict(tmp_path):
    assert metrics_of(write(tmp_path / "plot.svg", ["same_time", "op_*"])) == ["op_time", "op_rate", "same_time"]


def test_a_metric_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError, match="op_tim") as raised:
        write(tmp_path / "plot.svg", ["op_tim"])
    assert "op_time" in raised.value.next_step
    assert not list(tmp_path.iterdir())


def test_nothing_to_draw(tmp_path):
    with pytest.raises(MeasurementError, match="nothing to draw") as raised:
        write(tmp_path / "plot.svg", ["skipped_time"])
    assert raised.value.exit_code is ExitCode.MEASURE
    assert not list(tmp_path.iterdir())


def test_what_is_left_out_is_said_in_the_plot_and_beside_it(tmp_path):
    report = write(tmp_path / "plot.svg", **many(MOST_ROWS + 3))
    assert len(metrics_of(report)) == MOST_ROWS
    (note,) = report.notes
    assert f"{MOST_ROWS} worst of {MOST_ROWS + 3} rows" in note
    assert note in (tmp_path / "plot.svg").read_text()


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        write(tmp_path / "file" / "plot.svg")


def test_a_failed_plot_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "plot.svg").write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        write(tmp_path / "plot.svg")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("plot.svg", "old")]


def test_a_report_has_a_plot_of_each_row_that_changed_or_stayed_open(tmp_path):
    comparison, report = compared(report="results/runs/one/report.md")
    stale = tmp_path / "results/runs/one/plots/99-old.svg"
    stale.parent.mkdir(parents=True)
    stale.write_text("")
    told = write_report(tmp_path, report, comparison)
    folder = tmp_path / "results" / "runs" / "one"
    files = sorted(path.name for path in (folder / "plots").iterdir())
    assert files == ["01-op_time-layer=3x3-64-64.svg", "02-flips.svg", "03-op_rate.svg"]
    for path in (folder / "plots").iterdir():
        ET.parse(path)
    page = (folder / "report.md").read_text()
    assert "(plots/01-op_time-layer=3x3-64-64.svg)" in page, "as the page sees them"
    assert [plot.file for plot in told.plots] == [f"results/runs/one/plots/{name}" for name in files]


def test_a_report_says_how_to_get_the_plots_it_lacks(tmp_path):
    comparison, report = compared(report="run/report.md", **many(23))
    told = write_report(tmp_path, report, comparison)
    assert len(told.plots) == len(list((tmp_path / "run" / "plots").iterdir())) == 20
    assert any("20 worst of 23 rows" in note and "--plot FILE" in note for note in told.notes)


def test_plots_in_every_form():
    _, report = compared()
    params = (("layer", "3x3"),)
    plots = tuple(PlotFile(file=f"my plots/{n}.svg", rows=(("op_time", params),)) for n in range(2))
    one, two = replace(report, plots=plots[:1]), replace(report, plots=plots)
    assert "![op_time layer=3x3](my%20plots/0.svg)" in render(one, Format.MARKDOWN)
    assert "my plots/0.svg" in render(one, Format.TABLE)
    assert "my plots: 2 files" in render(two, Format.TABLE)
    assert one.as_json()["plots"] == [
        {"file": "my plots/0.svg", "rows": [{"metric": "op_time", "params": {"layer": "3x3"}}]}
    ]
    assert PlotFile(file="x.svg", rows=plots[0].rows * 3).title == "3 rows, op_time layer=3x3 first"
