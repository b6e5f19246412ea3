from __future__ import annotations

import pytest

from harness.errors import MeasurementError
from harness.measurement.metrics import Metric
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId
from harness.pipeline.compare import looks_of, within
from harness.pipeline.noise import Entry, known_noise, settings_of, skipped_rows
from harness.pipeline.outlook import Outlook, RowOutlook, weigh_claim
from harness.statistics.looks import Looks
from harness.statistics.noise import Noise, Sight

OPTIONS = within(Options(rounds=5), 20)
ADD, CONV = BenchmarkId(name="b.time_add"), BenchmarkId(name="b.time_conv", params=("'1'",))


def outlook(*spreads, options=OPTIONS, unknown=(), rows=None, related=(), floor=0.03):
    """Of one metric for each spread, and of related ones."""
    noises = [Noise(spread=spread, degrees=9) for spread in spreads]
    sight = Sight.of(noises, rows=rows or len(spreads) or 1, looks=looks_of(options))
    found = [row(f"metric{number}", noise, sight, floor) for number, noise in enumerate(noises)]
    alone = Sight(rows=1, looks=sight.looks)
    near = [
        row(f"near{number}", Noise(spread=spread, degrees=9), alone, floor) for number, spread in enumerate(related)
    ]
    ordered = tuple(sorted(found, key=lambda one: one.smallest))
    return Outlook(options=options, rows=ordered, unknown=unknown, sight=sight, related=tuple(near))


def row(name, noise, sight, floor):
    metric = Metric(name=name, benchmark=f"b.time_{name}", param_names=("threads",), params=(("'1'",),), floor=floor)
    identity = BenchmarkId(name=metric.benchmark, params=("'1'",))
    return RowOutlook(row=identity, metric=metric, noise=noise, smallest=sight.smallest(noise, floor))


def refused(found, claimed):
    with pytest.raises(MeasurementError) as error:
        weigh_claim(found, claimed)
    assert error.value.exit_code == 4
    return error.value


def test_a_change_that_shows_is_let_through_and_its_rows_are_named():
    assert weigh_claim(outlook(0.01, 0.2), 0.05) == "a change of 5 % will show in 1 of 2 rows: metric0"


def test_a_change_that_noise_hides_is_refused_with_what_would_help():
    error = refused(outlook(0.05, 0.06), 0.04)
    assert "a change of 4 % cannot be seen here within 20 rounds" in error.what
    assert "metric0 threads=1" in error.what
    assert "vary by 5 %" in error.why
    assert "more rounds: --max-rounds" in error.next_step
    assert "--realtime" in error.next_step


def test_the_rounds_that_are_advised_are_enough():
    found = outlook(0.05, 0.06)
    rounds = int(refused(found, 0.04).next_step.partition("--max-rounds ")[2].partition(";")[0])
    assert rounds > 20
    assert weigh_claim(outlook(0.05, 0.06, options=within(Options(rounds=5), rounds)), 0.04)


def test_a_table_of_one_metric_is_advised_where_it_is_enough():
    crowd = [0.025, *[0.04] * 29]
    alone = outlook(0.025).rows[0].smallest
    error = refused(outlook(*crowd), alone * 1.01)
    assert "--metric metric0" in error.next_step
    assert "--metric" not in refused(outlook(0.05), 0.04).next_step


def test_a_quieter_metric_of_the_same_hot_path_is_advised():
    error = refused(outlook(0.05, related=(0.3, 0.01)), 0.04)
    assert "near1" in error.next_step
    assert "near0" not in error.next_step


def test_a_change_below_the_floor_is_no_matter_of_rounds():
    error = refused(outlook(0.001), 0.02)
    assert "leaves changes below 3 % aside" in error.next_step
    assert "--max-rounds" not in error.next_step


def test_what_is_not_known_is_no_reason_to_refuse():
    told = weigh_claim(outlook(0.2, unknown=(ADD,)), 0.04)
    assert told == "whether a change of 4 % will show is not known"
    assert "but in metric0" in weigh_claim(outlook(0.01, unknown=(ADD,)), 0.06)
    assert "not known" in weigh_claim(outlook(), 0.04)


def test_two_rounds_are_too_few_for_any_claim():
    found = outlook(0.01, options=within(Options(rounds=2), 2))
    assert "2 rounds show no change" in refused(found, 0.5).what
    assert any("2 rounds show no change" in note for note in found.notes)


def test_notes_tell_the_range_and_what_is_not_known():
    (note,) = outlook(0.01).notes
    assert note.startswith("on this machine 20 rounds see changes of ")
    assert "middle row" not in note
    first, second = outlook(0.01, 0.02, 0.05, unknown=(ADD,)).notes
    assert "in the middle row" in first
    assert "in 1 of the rows is not known" in second
    assert outlook(unknown=(ADD,)).notes[0].startswith("how noisy this machine is in these rows is not known")


def entry(run, noise, *, cell="torch1.12.1-py3.10-cpu", row=ADD, settings=("20 samples",)):
    return Entry(run=run, cell=cell, row=row, settings=settings, noise=noise and Noise(spread=noise, degrees=9))


def test_noise_is_pooled_over_the_newest_runs_of_the_same_settings():
    old = [entry(f"run{number:02}", 0.5) for number in range(3)]
    new = [entry(f"run{number:02}", 0.01) for number in range(3, 11)]
    other = entry("run99", 0.3, settings=("20 samples", "realtime"))
    known = known_noise([other, *new, *old], ("20 samples",))
    assert known.keys() == {ADD}
    assert (known[ADD].spread, known[ADD].degrees) == (pytest.approx(0.01), 72)


def test_a_row_is_skipped_by_the_cells_that_skipped_it_last():
    entries = [
        entry("run1", None, cell="a"),
        entry("run2", 0.01, cell="a"),
        entry("run1", 0.01, cell="b", row=CONV),
        entry("run2", None, cell="b", row=CONV),
    ]
    assert skipped_rows(entries, {"a"}) == frozenset()
    assert skipped_rows(entries, {"a", "b"}) == {CONV}
    assert skipped_rows(entries, {"c"}) == frozenset()


def test_settings_that_noise_depends_on():
    assert settings_of(Options(samples=5), plain=True, realtime=False) == ("5 samples", "plain")


def test_looks_within_a_limit_of_rounds():
    assert looks_of(within(Options(rounds=5), 15)) == Looks((5, 9, 13, 15))
    assert looks_of(within(Options(rounds=5), 3)) == Looks((3,))
