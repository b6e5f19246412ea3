from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from harness.measurement.options import Options
from harness.measurement.plan import Visit
from harness.measurement.process import MeasuredProcess, NotMeasuredError
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.round import RowResult, measure_visit
from harness.measurement.side import Side
from harness.measurement.turns import Take, agree
from tests.unit.measurement.helpers import QUICK, SideMaker, eventually_gone

PAIR = tuple(
    BenchmarkId(name="good.Pair.time_copy", params=params, version="7")
    for params in itertools.product(("'a'", "'b'"), ("1", "2"))
)
WORDS = tuple(
    BenchmarkId(name="bad.Elsewhere.time_it", params=(word,), version="1") for word in ("'one'", "'two'", "'three'")
)


def measure(
    rows: Sequence[BenchmarkId], sides: Sequence[Side], suite: Path, *, number: int = 0, options: Options = QUICK
) -> list[RowResult]:
    visit = Visit(round=number, benchmark=rows[0].name, rows=tuple(rows))
    return list(measure_visit(visit, sides, suite, options))


def states(results: Sequence[RowResult]) -> list[list[State]]:
    return [[record.state for record in result.records] for result in results]


def order(records: Sequence[Record]) -> str:
    """The sides in the order in which they took their samples."""
    taken = [(sample.at, record.side) for record in records for sample in record.samples]
    return "".join("AB"[side] for _, side in sorted(taken))


def test_sides_take_turns(make_side: SideMaker, suite: Path) -> None:
    sides = [make_side(), make_side()]
    results = measure(PAIR[:1], sides, suite)
    assert order(results[0].records) == "ABBAABBA"
    assert order(measure(PAIR[:1], sides, suite, number=1)[0].records) == "BAABBAAB"
    first = results[0].records[0]
    assert (first.state, first.round, first.side, first.benchmark) == (State.OK, 0, 0, PAIR[0])
    assert (first.environment, first.lock, first.cell) == ("e1", "l1", sides[0].cell.id)
    assert results[0].fingerprints[first.fingerprint]["distributions"]["asv-runner"] == "0.3.2"
    # Two processes that are alike have the same facts.
    assert len(results[0].fingerprints) == 1


def test_rows_share_processes(make_side: SideMaker, suite: Path) -> None:
    results = measure(PAIR, [make_side()], suite)
    assert [result.records[0].benchmark for result in results] == list(PAIR)
    assert states(results) == [[State.OK]] * 4
    # The first row pays for the start of the process.
    assert results[0].records[0].seconds > results[1].records[0].seconds


def test_skip_on_one_side(make_side: SideMaker, suite: Path) -> None:
    results = measure(WORDS, [make_side(), make_side(SKIPS="two")], suite)
    assert states(results) == [[State.OK] * 2, [State.OK, State.SKIPPED], [State.OK] * 2]
    assert results[1].records[1].reason == "not on this side"
    assert results[1].records[1].samples == ()
    assert len(results[1].records[0].samples) == QUICK.samples


def test_crash_at_one_row_spares_the_others(make_side: SideMaker, suite: Path) -> None:
    results = measure(WORDS, [make_side(), make_side(FAILS="two")], suite)
    assert states(results) == [[State.OK] * 2, [State.OK, State.CRASHED], [State.OK] * 2]
    assert results[1].records[1].reason == "OSError: no such library"
    assert "Traceback" in results[1].records[1].log
    # Both sides got fresh processes for what remained.
    assert results[2].records[0].seconds > results[1].records[0].seconds / 2


def test_every_bad_end_is_a_record(make_side: SideMaker, suite: Path, marker: str) -> None:
    hows = ["segfault", "hang", "kill", "fine"]
    version = version_of(suite, "bad.Bad.time_it")
    rows = [BenchmarkId(name="bad.Bad.time_it", params=(f"'{how}'",), version=version) for how in hows]
    results = measure(rows, [make_side()], suite, options=replace(QUICK, samples=1))
    assert states(results) == [[State.CRASHED], [State.TIMEOUT], [State.CRASHED], [State.OK]]
    assert eventually_gone(marker) == []


def version_of(suite: Path, name: str) -> str:
    from asv_runner.discovery import get_benchmark_from_name

    return str(get_benchmark_from_name(str(suite), name).version)


def test_suite_that_cannot_be_imported(make_side: SideMaker, suite: Path) -> None:
    rows = [BenchmarkId(name="broken.time_never"), BenchmarkId(name="broken.time_never", params=("1",))]
    results = measure(rows, [make_side(), make_side()], suite)
    assert states(results) == [[State.CRASHED] * 2] * 2
    assert "no_such_module_anywhere" in results[0].records[0].reason


def test_process_that_is_not_what_was_asked_for(make_side: SideMaker, suite: Path) -> None:
    wrong = make_side()
    wrong = replace(wrong, cell=wrong.cell.but(release="0.2.5"))
    results = measure(PAIR[:2], [make_side(), wrong], suite)
    assert states(results) == [[State.OK, State.INVALID]] * 2
    assert results[0].records[1].reason.endswith("has asv-runner 0.3.2, not 0.2.5")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (replace(PAIR[0], version="8"), "the benchmark has version 7 here, not 8"),
        (replace(PAIR[0], params=("'c'", "1")), "the benchmark has no parameters 'c', 1 here"),
    ],
)
def test_suite_that_is_another(make_side: SideMaker, suite: Path, row: BenchmarkId, reason: str) -> None:
    (result,) = measure([row], [make_side()], suite)
    assert (result.records[0].state, result.records[0].reason) == (State.INVALID, reason)


def test_one_value_for_each_process(make_side: SideMaker, suite: Path) -> None:
    version = version_of(suite, "good.Cached.track_cache")
    rows = [BenchmarkId(name="good.Cached.track_cache", params=(number,), version=version) for number in "12"]
    results = measure(rows, [make_side(), make_side()], suite)
    assert [[record.samples[0].value for record in result.records] for result in results] == [[2, 2], [3, 3]]
    assert all(len(record.samples) == 1 for result in results for record in result.records)
    assert all(record.fingerprint for result in results for record in result.records)


def test_budget_ends_sampling(make_side: SideMaker, suite: Path) -> None:
    row = BenchmarkId(name="bad.time_slow")
    options = replace(QUICK, samples=50, min_samples=3, budget=0.01)
    (result,) = measure([row], [make_side(), make_side()], suite, options=options)
    assert [len(record.samples) for record in result.records] == [3, 3]


def test_closing_half_way_leaves_nothing(make_side: SideMaker, suite: Path, marker: str) -> None:
    visit = Visit(round=0, benchmark=PAIR[0].name, rows=PAIR)
    results = measure_visit(visit, [make_side(), make_side()], suite, QUICK)
    next(results)
    results.close()
    assert eventually_gone(marker) == []


def take(**fields: Any) -> Take:
    return Take(cast("MeasuredProcess", None), 0, PAIR[0], **fields)


@pytest.mark.parametrize(
    ("found", "used"), [([10, 6], [8, 8]), ([100, 10], [100, 10]), ([7], [7]), ([4, 6, 9], [6, 6, 6])]
)
def test_equal_processes_take_samples_of_equal_length(found: list[int], used: list[int]) -> None:
    takes = [take(number=number) for number in found]
    agree(takes)
    assert [take.number for take in takes] == used


def test_a_process_that_failed_has_no_say_in_the_length_of_samples() -> None:
    failed, good = take(failure=NotMeasuredError(State.CRASHED, "gone"), number=1), take(number=2)
    agree([failed, good])
    assert good.number == 2
