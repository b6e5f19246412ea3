from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from harness.measurement.plan import Visit, given_up, looks, remaining_visits, rounds_done
from harness.measurement.records import BenchmarkId, Record, State

ROWS = [BenchmarkId(name=name, params=(param,)) for name in ("a", "b", "c") for param in ("1", "2")]


def record(number: int, row: BenchmarkId, side: int, state: State = State.OK) -> Record:
    return Record(
        round=number,
        cell="c",
        side=side,
        benchmark=row,
        state=state,
        lock="",
        environment="",
        fingerprint="",
        started_at="",
        seconds=1.0,
    )


def places(visits: Iterable[Visit]) -> list[tuple[int, BenchmarkId]]:
    return [(visit.round, row) for visit in visits for row in visit.rows]


def plan(records: list[Record], *, rounds: int = 3, seed: int = 0) -> tuple[Visit, ...]:
    return remaining_visits(ROWS, records, sides=2, rounds=rounds, seed=seed)


def test_everything_at_first() -> None:
    visits = plan([])
    assert sorted(places(visits)) == sorted((number, row) for number in range(3) for row in ROWS)
    assert [visit.round for visit in visits] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(row.name == visit.benchmark for visit in visits for row in visit.rows)


def test_order_comes_from_the_seed() -> None:
    assert plan([]) == plan([])
    orders = {tuple(visit.benchmark for visit in plan([], seed=seed)) for seed in range(20)}
    assert len(orders) > 5
    # And differs between the rounds of a run.
    assert len({tuple(visit.benchmark for visit in plan([], rounds=12) if visit.round == n) for n in range(12)}) > 1


@given(done=st.sets(st.sampled_from([(n, row, side) for n in range(3) for row in ROWS for side in (0, 1)])))
def test_done_and_remaining_make_the_whole(done: set[tuple[int, BenchmarkId, int]]) -> None:
    records = [record(*place) for place in done]
    whole = {(number, row) for row, numbers in rounds_done(records, 2).items() for number in numbers}
    visits = plan(records)
    left = places(visits)
    assert len(left) == len(set(left))
    assert set(left) | whole == {(number, row) for number in range(3) for row in ROWS}
    assert not set(left) & whole
    # What remains keeps its order.
    kept = [(visit.round, visit.benchmark) for visit in plan([])]
    assert [place for place in kept if place in [(v.round, v.benchmark) for v in visits]] == [
        (v.round, v.benchmark) for v in visits
    ]


def test_a_round_with_one_side_is_not_done() -> None:
    assert (0, ROWS[0]) in places(plan([record(0, ROWS[0], 1)]))


def test_rows_are_given_up() -> None:
    skipped = [record(0, ROWS[0], 0), record(0, ROWS[0], 1, State.SKIPPED)]
    failed_once = [record(0, ROWS[1], 0), record(0, ROWS[1], 1, State.CRASHED)]
    failed_on_each_side = [record(0, ROWS[2], 0, State.TIMEOUT), record(1, ROWS[2], 1, State.TIMEOUT)]
    failed_twice = [record(number, ROWS[3], 1, state) for number, state in enumerate((State.TIMEOUT, State.CRASHED))]
    records = skipped + failed_once + failed_on_each_side + failed_twice
    assert given_up(records) == {ROWS[0], ROWS[3]}
    assert {row for _, row in places(plan(records))} == set(ROWS) - {ROWS[0], ROWS[3]}


def test_looks() -> None:
    assert list(looks(6, 12, 3)) == [(6, 9), (9, 12)]
    assert list(looks(6, 11, 3)) == [(6, 9), (9, 11)]
    assert list(looks(6, 6, 3)) == []
