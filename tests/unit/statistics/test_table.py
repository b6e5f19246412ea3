from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import ExitCode
from harness.measurement.metrics import Direction
from harness.measurement.records import State
from harness.statistics.looks import Looks
from harness.statistics.table import verdict_table
from harness.statistics.verdict import Verdict
from tests.unit.statistics.builders import metric, record, rounds, steady

METRICS = [metric()]
NOISE = [1.0, 1.002, 0.998, 1.001, 0.999, 1.0]


def table(records, metrics=METRICS, **options):
    return verdict_table(records, metrics, **options)


def only(records, metrics=METRICS, **options):
    found = table(records, metrics, **options)
    assert len(found.rows) == 1
    return found.rows[0]


def failing(side, state, count=3, **options):
    return [record(side, number, state=state, **options) for number in range(count)]


@pytest.mark.parametrize(
    ("factor", "verdict", "code"),
    [
        (1.10, Verdict.SLOWER, ExitCode.NO),
        (0.90, Verdict.FASTER, ExitCode.FINE),
        (1.0, Verdict.SAME, ExitCode.FINE),
        (1.03, Verdict.UNDECIDED, ExitCode.UNDECIDED),
    ],
)
def test_verdicts_and_exit_codes(factor, verdict, code):
    records = rounds([0.01] * 6, [0.01 * factor * noise for noise in NOISE])
    found = table(records)
    assert (found.rows[0].verdict, found.exit_code) == (verdict, code)
    assert found.rows[0].comparison.ratio == pytest.approx(1 / factor, rel=0.002)
    assert found.rows[0].rounds == 6


def test_throughput_is_better_when_higher_and_is_shown_in_its_own_unit():
    metrics = [metric(name="images", unit="images/s", direction=Direction.HIGHER, work=8.0)]
    row = only(rounds([0.01] * 6, [0.02 * noise for noise in NOISE]), metrics)
    assert (row.verdict, row.metric, row.unit) == (Verdict.SLOWER, "images", "images/s")
    assert (row.baseline, row.candidate) == (pytest.approx(800), pytest.approx(400, rel=0.01))
    assert row.comparison.ratio == pytest.approx(0.5, rel=0.01)


def test_the_floor_is_the_metrics_own():
    records = rounds([0.01] * 6, [0.0101 * noise for noise in NOISE])
    assert only(records).verdict is Verdict.SAME
    assert only(records, [metric(floor=0.005)]).verdict is Verdict.SLOWER


def test_a_table_pays_for_rows_and_looks():
    one = rounds([0.01] * 6, [0.01 * noise for noise in NOISE])
    two = [*one, *rounds([0.01] * 6, [0.01 * noise for noise in NOISE], params=("'2'",))]
    for records, looks, share in ((one, Looks((6,)), 0.01), (one, Looks((6, 9)), 0.005), (two, Looks((6, 9)), 0.0025)):
        found = table(records, looks=looks)
        assert found.rows[0].comparison.levels.table == pytest.approx(1 - share)
    assert found.tested == 2


def test_a_failed_row_costs_nothing():
    records = [*rounds([0.01] * 3, [0.01] * 3), *failing(0, State.CRASHED, params=("'2'",))]
    assert table(records).tested == 1


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (State.CRASHED, "the candidate crashed: boom"),
        (State.TIMEOUT, "the candidate timed out: boom"),
        (State.OUT_OF_MEMORY, "the candidate ran out of memory: boom"),
    ],
)
def test_broken_names_the_state(state, reason):
    found = table([*steady([0.01] * 3, 0), *failing(1, state, reason="boom")])
    assert (found.rows[0].verdict, found.rows[0].reason) == (Verdict.BROKEN, reason)
    assert found.exit_code is ExitCode.NO
    assert found.rows[0].baseline == 0.01
    assert found.rows[0].candidate is None


def test_fixed_is_said_and_is_no_regression():
    row = only([*steady([0.01] * 3, 1), *failing(0, State.CRASHED, reason="segmentation fault")])
    assert row.verdict is Verdict.INCOMPARABLE
    assert row.reason == "fixed: the candidate runs, the baseline crashed: segmentation fault"


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ([], steady([1.0], 1), "the baseline was never measured, the candidate ran"),
        (steady([1.0], 0), [], "the baseline ran, the candidate was never measured"),
        (
            failing(0, State.SKIPPED, reason="no bfloat16"),
            steady([1.0], 1),
            "the baseline was skipped: no bfloat16, the candidate ran",
        ),
        (
            steady([1.0], 0),
            failing(1, State.INVALID, reason="threads are 2, not 1"),
            "the baseline ran, the candidate was invalid: threads are 2, not 1",
        ),
        (
            failing(0, State.CRASHED, reason="x"),
            failing(1, State.TIMEOUT, reason="y"),
            "the baseline crashed: x, the candidate timed out: y",
        ),
        (failing(0, State.CRASHED, reason="x"), failing(1, State.CRASHED, reason="x"), "neither runs: each crashed: x"),
    ],
)
def test_what_cannot_be_compared_says_why_and_is_never_a_pass(baseline, candidate, reason):
    found = table([*baseline, *candidate])
    assert (found.rows[0].verdict, found.rows[0].reason) == (Verdict.INCOMPARABLE, reason)
    assert found.exit_code is ExitCode.MEASURE


def test_what_both_sides_skip_is_listed_apart():
    found = table([*failing(0, State.SKIPPED, reason="no GPU"), *failing(1, State.SKIPPED, reason="no GPU")])
    assert found.rows == ()
    assert (found.skipped[0].metric, found.skipped[0].reason) == ("op_time", "no GPU")
    assert found.exit_code is ExitCode.MEASURE
    assert found.skipped[0].benchmark in found.settled


def test_nothing_measured_is_not_a_pass():
    assert table([]).exit_code is ExitCode.MEASURE


def test_a_candidate_that_fails_now_and_then_is_broken():
    good = steady([0.01] * 6, 0)
    flaky = [*steady([0.01] * 4, 1), record(1, 4, state=State.CRASHED), record(1, 5, state=State.CRASHED)]
    row = only([*good, *flaky])
    assert (row.verdict, row.reason) == (Verdict.BROKEN, "the candidate crashed in 2 of 6 rounds")


def test_a_single_failed_round_is_told_and_left_out():
    records = rounds([0.01] * 6, [0.01 * noise for noise in NOISE])
    row = only([*records[:-1], record(1, 5, state=State.CRASHED, reason="signal 11")])
    assert (row.verdict, row.rounds) == (Verdict.SAME, 5)
    assert row.reason == "the candidate crashed in 1 of 6 rounds: signal 11"


def test_rounds_that_never_met_decide_nothing():
    row = only([record(0, 0, [1.0, 1.1]), record(1, 1, [1.0, 1.1])])
    assert (row.verdict, row.reason) == (Verdict.UNDECIDED, "no round in which both sides ran")


def test_the_later_record_of_a_round_counts():
    records = rounds([0.01] * 6, [0.01 * noise for noise in NOISE])
    assert only([record(1, 3, state=State.CRASHED), *records]).reason == ""


def test_behaviours_are_exact():
    metrics = [metric(name="C05", unit="holds", type="track", direction=Direction.HIGHER)]
    lost = only([*steady([1.0, 1.0], 0), *steady([0.0, 0.0], 1)], metrics)
    assert (lost.verdict, lost.comparison) == (Verdict.SLOWER, None)
    assert lost.reason == "holds in the baseline (1), no longer in the candidate (0)"
    gained = only([*steady([0.0, 0.0], 0), *steady([1.0, 1.0], 1)], metrics)
    assert gained.verdict is Verdict.FASTER
    kept = only([*steady([0.0, 0.0], 0), *steady([0.0, 0.0], 1)], metrics)
    assert kept.verdict is Verdict.SAME
    once = only([*steady([1.0], 0), *steady([0.0], 1)], metrics)
    assert once.verdict is Verdict.UNDECIDED
    luck = only([*steady([1.0, 1.0, 1.0], 0), *steady([1.0, 0.0, 1.0], 1)], metrics)
    assert luck.verdict is Verdict.UNDECIDED
    assert "2 of 3 processes of the candidate" in luck.reason


def test_counts_that_never_vary_need_no_interval():
    row = only([*steady([9321.0] * 2, 0), *steady([10018.0] * 2, 1)])
    assert (row.verdict, row.comparison.low) == (Verdict.SLOWER, row.comparison.high)


def test_zero_that_varies_has_no_ratio():
    row = only([*steady([0.0, 0.0, 0.0], 0), *steady([0.0, 4096.0, 8192.0], 1)])
    assert (row.verdict, row.reason) == (
        Verdict.INCOMPARABLE,
        "some values are zero, negative or not finite: they have no ratio",
    )


def test_what_is_not_a_number_is_no_result():
    for bad in (float("nan"), float("inf")):
        row = only([*steady([bad] * 3, 0), *steady([bad] * 3, 1)])
        assert row.verdict is Verdict.INCOMPARABLE


def test_versions_of_a_benchmark_are_not_mixed():
    row = only([*steady([1.0] * 3, 0, version="aaa"), *steady([2.0] * 3, 1, version="bbb")])
    assert (row.verdict, row.reason) == (
        Verdict.INCOMPARABLE,
        "two versions of the benchmark: aaa against bbb",
    )


def test_versions_of_a_benchmark_are_compared_when_told_to():
    records = [*steady([1.0] * 3, 0, version="aaa"), *steady([2.0] * 3, 1, version="bbb")]
    row = only(records, across_versions=True)
    assert (row.verdict, row.reason) == (Verdict.SLOWER, "two versions of the benchmark: aaa against bbb")


def test_a_blocked_comparison_is_incomparable_throughout():
    found = table(rounds([0.01] * 6, [0.02] * 6), blocked="processor: A against B")
    assert (found.rows[0].verdict, found.rows[0].reason) == (Verdict.INCOMPARABLE, "processor: A against B")
    assert found.exit_code is ExitCode.MEASURE


def test_other_sides_and_unknown_benchmarks_are_left_aside():
    records = [
        *rounds([0.01] * 6, [0.01] * 6),
        *steady([5.0] * 6, 2),
        *rounds([1.0] * 3, [2.0] * 3, name="bench.time_other"),
    ]
    assert only(records).verdict is Verdict.SAME
    assert only(records, candidate=2).verdict is Verdict.SLOWER


def test_an_unfinished_row_is_not_settled():
    decided = rounds([0.01] * 6, [0.02 * noise for noise in NOISE])
    undecided = rounds([0.01] * 6, [0.0103 * noise for noise in NOISE], params=("'u'",))
    disturbed = [*steady([1.0] * 3, 0, params=("'d'",)), *failing(1, State.INVALID, params=("'d'",))]
    missing = steady([1.0] * 3, 0, params=("'m'",))
    found = table([*decided, *undecided, *disturbed, *missing])
    assert {benchmark.params for benchmark in found.settled} == {()}


def test_rows_come_worst_first():
    factors = {"'a'": 1.0, "'b'": 1.2, "'c'": 0.5, "'d'": 3.0, "'e'": 1.03}
    records = [
        one
        for param, factor in factors.items()
        for one in rounds([0.01] * 6, [0.01 * factor * noise for noise in NOISE], params=(param,))
    ]
    broken = [*steady([1.0] * 2, 0, params=("'x'",)), *failing(1, State.CRASHED, params=("'x'",))]
    found = table([*records, *broken])
    assert [row.benchmark.params[0] for row in found.rows] == ["'x'", "'d'", "'b'", "'e'", "'c'", "'a'"]
    assert found.exit_code is ExitCode.NO


@given(st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(random):
    records = [
        one
        for factor in (1.0, 1.1)
        for one in rounds([0.01] * 6, [0.01 * factor * noise for noise in NOISE], params=(str(factor),))
    ]
    shuffled = list(records)
    random.shuffle(shuffled)
    assert table(shuffled) == table(records)


_SIDES = st.lists(
    st.one_of(
        st.sampled_from([state for state in State if state is not State.OK]),
        st.lists(
            st.sampled_from([-1.0, 0.0, 1.0, 1.01, 2.0, 1e-9, float("nan"), float("inf")]), min_size=1, max_size=3
        ),
    ),
    max_size=7,
)


@given(_SIDES, _SIDES)
def test_any_records_give_one_row_or_one_skip(baseline, candidate):
    records = [
        record(
            side, number, [] if isinstance(seen, State) else seen, state=seen if isinstance(seen, State) else State.OK
        )
        for side, rounds_of_side in enumerate((baseline, candidate))
        for number, seen in enumerate(rounds_of_side)
    ]
    found = table(records)
    assert len(found.rows) + len(found.skipped) == bool(records)
    for row in itertools.chain(found.rows):
        assert row.reason or row.comparison
        if row.verdict in {Verdict.SLOWER, Verdict.FASTER, Verdict.SAME}:
            assert row.rounds >= 2
