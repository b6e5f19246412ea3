"""What plots show, and that the same records give the same file."""

from __future__ import annotations

import math
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from harness.errors import UsageError
from harness.reporting.plot import PlotForm, draw, form_of, plot_bytes
from harness.reporting.plot_panels import COLOURS, draw_samples, legible
from harness.reporting.plot_rows import PlotRow, Process, plot_rows
from harness.statistics.verdict import Verdict
from tests.unit.reporting.examples import row
from tests.unit.reporting.plot_builders import RECORDS, compared


def rows_of(**options):
    comparison, report = compared(**options)
    return {one.row.metric: one for one in plot_rows(report, comparison)}


def labelled(axes):
    found = {}
    for line in axes.lines:
        if not line.get_label().startswith("_"):
            found[line.get_label()] = (list(line.get_xdata()), list(line.get_ydata()))
    return found


def panels(metric, **options):
    comparison, report = compared(**options)
    figure = draw([one for one in plot_rows(report, comparison) if one.row.metric == metric], report)
    return figure.axes


# ---------------------------------------------------------------------------------------------------------- the rows


def test_rows_come_worst_first_and_only_with_samples():
    comparison, report = compared()
    verdicts = [(one.row.metric, one.row.verdict) for one in plot_rows(report, comparison)]
    assert verdicts == [
        ("broken_time", Verdict.BROKEN),
        ("op_time", Verdict.SLOWER),
        ("flips", Verdict.UNDECIDED),
        ("op_rate", Verdict.FASTER),
        ("same_time", Verdict.SAME),
    ]


def test_samples_stay_in_their_process_in_the_order_of_time_and_in_the_metric_s_unit():
    rows = rows_of()
    baseline, candidate = rows["op_rate"].sides
    assert [process.round for process in baseline] == list(range(6))
    assert baseline[0].values == pytest.approx((4e6, 8 / 2.002e-6, 8 / 1.998e-6))
    assert candidate[0].middle == pytest.approx(8e6)
    assert rows["op_rate"].higher_is_better
    assert not rows["op_time"].higher_is_better


def test_ratios_stand_at_their_rounds_and_above_one_is_better():
    rows = rows_of()
    assert [number for number, _ in rows["op_time"].ratios] == list(range(6)), "not the round without a candidate"
    assert all(ratio == pytest.approx(1 / 1.1, rel=0.01) for _, ratio in rows["op_time"].ratios)
    assert all(ratio == pytest.approx(2, rel=0.01) for _, ratio in rows["op_rate"].ratios)
    assert rows["flips"].ratios == rows["broken_time"].ratios == ()


def test_the_sides_of_a_swapped_comparison_are_swapped():
    straight, swapped = rows_of()["op_time"], rows_of(swapped=True)["op_time"]
    assert swapped.sides == straight.sides[::-1]
    assert swapped.row.verdict is Verdict.FASTER


def test_the_last_record_of_a_round_counts():
    again = replace(RECORDS[0], samples=tuple(replace(sample, value=0.0101) for sample in RECORDS[0].samples))
    (first, *_), _ = rows_of(records=[*RECORDS, again])["op_time"].sides
    assert first.values == (0.0101,) * 3


# -------------------------------------------------------------------------------------------------------- the figure


def test_every_sample_is_a_dot_and_every_process_has_a_median():
    samples, _ = panels("op_time")
    drawn = labelled(samples)
    assert len(drawn["samples 0"][0]) == 19
    assert len(drawn["samples 1"][0]) == 18
    assert drawn["medians 0"][1] == pytest.approx([10, 10.02, 9.98, 10.01, 9.99, 10, 10])
    assert drawn["medians 1"][1] == pytest.approx([11] * 6)
    assert len(drawn["lost 1"][0]) == 1
    assert drawn["lost 0"][0] == []
    assert samples.get_ylabel() == "ms\n(lower is better)"
    assert [label.get_text() for label in samples.get_xticklabels()] == ["1", "2", "3", "4", "5", "6", "7"]


def test_processes_of_a_round_stand_side_by_side_and_rounds_follow_each_other():
    drawn = labelled(panels("op_time")[0])
    for side in (0, 1):
        xs = drawn[f"samples {side}"][0]
        assert xs == sorted(xs)
    for number in range(6):
        places = [drawn[f"samples {side}"][0][3 * number + k] for side in (0, 1) for k in range(3)]
        assert places == sorted(places)
        assert number - 0.5 < places[0]
        assert places[-1] < number + 0.5


def test_the_sides_have_colours_and_marks_of_their_own():
    lines = {line.get_label(): line for line in panels("op_time")[0].lines}
    assert [lines[f"medians {side}"].get_color() for side in (0, 1)] == list(COLOURS)
    assert lines["medians 0"].get_marker() != lines["medians 1"].get_marker()


def test_ratios_estimate_interval_and_floor():
    row = rows_of()["op_time"].row
    axes = panels("op_time")[1]
    drawn = labelled(axes)
    assert drawn["ratios"][1] == pytest.approx([1 / 1.1] * 6, rel=0.01)
    assert drawn["estimate"][1] == [row.ratio]
    assert drawn["interval"][1] == [row.low, row.high]
    assert drawn["table's interval"][1] == [row.table_low, row.table_high]
    (band,) = (patch for patch in axes.patches if patch.get_label() == "floor")
    assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((1 / 1.03, 1.03))
    bottom, top = axes.get_ylim()
    assert bottom < row.table_low
    assert top > 1.03, "the floor is always in sight"


def test_what_has_no_ratio_says_why():
    samples, ratios = panels("broken_time")
    assert labelled(samples)["lost 1"][0]
    (words,) = ratios.texts
    assert "no ratio" in words.get_text()
    assert "SIGSEGV" in words.get_text().replace("\n", " ")


def test_titles_tell_verdict_change_interval_and_floor():
    comparison, report = compared()
    figure = draw(plot_rows(report, comparison), report, note="12 of 30 rows")
    texts = [text.get_text() for text in figure.texts]
    assert "slower: op_time (layer=3x3 $64->64)" in texts
    account = next(text for text in texts if text.startswith("-9.1 %"))
    assert "interval" in account
    assert "the table's" in account
    assert "floor 3 %" in account
    assert "crashed in 1 of 7 rounds" in account
    assert "12 of 30 rows" in texts[-1]
    assert len(figure.axes) == 2 * 5


def test_a_wild_sample_is_counted_and_does_not_flatten_the_others():
    wild = replace(RECORDS[0], samples=(*RECORDS[0].samples, replace(RECORDS[0].samples[-1], value=0.9)))
    samples, _ = panels("op_time", records=[wild, *RECORDS[1:]])
    assert samples.get_ylim()[1] < 20
    assert [text.get_text() for text in samples.texts] == ["1 sample above: 900 ms"]


@settings(max_examples=40)
@given(st.lists(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=9), min_size=2, max_size=8))
def test_every_sample_is_drawn_somewhere_and_every_median_inside(processes):
    sides = (
        tuple(Process(round=number, values=tuple(values)) for number, values in enumerate(processes[::2])),
        tuple(Process(round=number, values=tuple(values)) for number, values in enumerate(processes[1::2])),
    )
    axes = Figure().add_subplot()
    draw_samples(axes, PlotRow(row=row(Verdict.SAME), higher_is_better=False, sides=sides, ratios=()))
    low, high = axes.get_ylim()
    dots = sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() in {".", "^", "v"})
    assert dots == sum(map(len, processes))
    for label, (_, ys) in labelled(axes).items():
        if not label.startswith("lost"):
            assert all(low <= y <= high for y in ys)


# ---------------------------------------------------------------------------------------------------------- the file


def test_the_same_records_give_the_same_file(monkeypatch):
    comparison, report = compared()
    rows = plot_rows(report, comparison)
    first = {form: plot_bytes(rows, report, form) for form in PlotForm}
    monkeypatch.setitem(mpl.rcParams, "font.size", 20)
    monkeypatch.setitem(mpl.rcParams, "svg.hashsalt", "mine")
    monkeypatch.setitem(mpl.rcParams, "lines.linewidth", 9)
    again = rows_of()
    assert {form: plot_bytes(list(again.values()), report, form) for form in PlotForm} == first
    assert mpl.rcParams["font.size"] == 20, "a caller's settings are left as they were"


def test_an_svg_has_words_but_no_date_and_no_version():
    comparison, report = compared()
    data = plot_bytes(plot_rows(report, comparison), report, PlotForm.SVG)
    ET.fromstring(data)
    text = data.decode()
    assert "slower: op_time" in text
    assert "<dc:date>" not in text
    assert f"matplotlib v{mpl.__version__}" not in text.lower()


def test_a_png_is_as_wide_as_it_is_meant_to_be():
    comparison, report = compared()
    data = plot_bytes(plot_rows(report, comparison)[:1], report, PlotForm.PNG)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width == 1650
    assert 400 < height < 800


def test_many_samples_make_no_heavy_file():
    (first, *rest) = RECORDS
    many = [replace(one, samples=one.samples * 400) for one in (first, *rest) if one.samples]
    comparison, report = compared(records=many)
    rows = [one for one in plot_rows(report, comparison) if one.row.metric == "op_time"]
    assert len(rows[0].values) > 10_000
    assert len(plot_bytes(rows, report, PlotForm.SVG)) < 400_000


@pytest.mark.parametrize("text", ["$x^2$", "a\x1b[31mred\x00", "half \udcff", "\u6f22\u5b57", "x" * 500, "<&>"])
@pytest.mark.parametrize("form", PlotForm)
def test_any_text_can_stand_in_a_plot(text, form):
    comparison, report = compared()
    (one, *_) = plot_rows(report, comparison)
    named = replace(one, row=replace(one.row, reason=text, params=(("p", text),)))
    data = plot_bytes([named], replace(report, title=text, baseline=text), form)
    if form is PlotForm.SVG:
        ET.fromstring(data)


def test_cut_text_says_that_it_is_cut():
    assert legible("abc", 3) == "abc"
    assert legible("abcdef", 5) == "ab..."


@pytest.mark.parametrize(("name", "form"), [("a.svg", "svg"), ("b.PNG", "png"), ("x/y.z.svg", "svg")])
def test_the_suffix_says_which_form(name, form):
    assert form_of(Path(name)) == form


@pytest.mark.parametrize("name", ["plot.pdf", "plot", ".svg", "plot.svg.gz"])
def test_an_unknown_suffix_is_named_with_the_known_ones(name):
    with pytest.raises(UsageError, match=r"ends in \.svg or \.png") as raised:
        form_of(Path(name))
    assert raised.value.next_step.endswith(".svg")


def test_a_process_without_samples_has_no_median():
    assert math.isnan(Process(round=0, values=()).middle)
