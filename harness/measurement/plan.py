"""Which rounds remain to be measured: a pure function of what is wanted and what is recorded."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from harness.measurement.records import BenchmarkId, Record, State

__all__ = ["Visit", "given_up", "looks", "remaining_visits", "rounds_done"]

#: After this many rounds without a value on one side, a row is not tried again.
_TRIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Rows of one benchmark that are measured in one round, by the same processes where they may share them.

    Attributes:
        round: Counts from 0.
        benchmark: The benchmark's name.
        rows: Its parameter sets, in ASV's order.
    """

    round: int
    benchmark: str
    rows: tuple[BenchmarkId, ...]


def rounds_done(records: Iterable[Record], sides: int) -> dict[BenchmarkId, frozenset[int]]:
    """For each row, the rounds that have a record of every side."""
    seen: defaultdict[tuple[BenchmarkId, int], set[int]] = defaultdict(set)
    for record in records:
        seen[record.benchmark, record.round].add(record.side)
    done: defaultdict[BenchmarkId, set[int]] = defaultdict(set)
    for (row, number), present in seen.items():
        if present >= set(range(sides)):
            done[row].add(number)
    return {row: frozenset(numbers) for row, numbers in done.items()}


def given_up(records: Iterable[Record]) -> frozenset[BenchmarkId]:
    """Rows that further rounds would tell nothing about.

    These are the ones that a benchmark skipped on a side, and those that failed on the same side in two rounds: a hang
    costs its whole time limit each time. A process that was only disturbed says nothing of the next one.
    """
    failures: defaultdict[tuple[BenchmarkId, int], set[int]] = defaultdict(set)
    hopeless: set[BenchmarkId] = set()
    for record in records:
        if record.state is State.SKIPPED:
            hopeless.add(record.benchmark)
        elif record.state is not State.OK and not record.disturbed:
            failures[record.benchmark, record.side].add(record.round)
    hopeless |= {row for (row, _), rounds in failures.items() if len(rounds) >= _TRIES}
    return frozenset(hopeless)


def remaining_visits(
    rows: Sequence[BenchmarkId], records: Sequence[Record], *, sides: int, rounds: int, seed: int
) -> tuple[Visit, ...]:
    """What is left of the first rounds of rows.

    Args:
        rows: What is wanted.
        records: What there is.
        sides: How many cells are compared.
        rounds: How many rounds each row gets.
        seed: Orders the benchmarks within a round; the same again when a run resumes.
    """
    done = rounds_done(records, sides)
    skipped = given_up(records)
    wanted = [(number, row) for number in range(rounds) for row in rows if row not in skipped]
    return _visits([(number, row) for number, row in wanted if number not in done.get(row, ())], seed)


def looks(rounds: int, max_rounds: int, batch: int) -> Iterator[tuple[int, int]]:
    """The numbers of rounds after which verdicts are looked at while more may follow, each with the next one."""
    now = rounds
    while now < max_rounds:
        following = min(now + batch, max_rounds)
        yield now, following
        now = following


def _visits(wanted: Iterable[tuple[int, BenchmarkId]], seed: int) -> tuple[Visit, ...]:
    grouped: defaultdict[int, defaultdict[str, list[BenchmarkId]]] = defaultdict(lambda: defaultdict(list))
    for number, row in wanted:
        grouped[number][row.name].append(row)
    visits: list[Visit] = []
    for number, by_name in sorted(grouped.items()):
        # Anew in each round, so that nothing always follows the same neighbour; name by name, so that the order of
        # those that remain does not depend on what is done already.
        names = sorted(by_name, key=partial(_draw, seed, number))
        visits += [Visit(round=number, benchmark=name, rows=tuple(by_name[name])) for name in names]
    return tuple(visits)


def _draw(seed: int, number: int, name: str) -> float:
    return random.Random(f"{seed}:{number}:{name}").random()
