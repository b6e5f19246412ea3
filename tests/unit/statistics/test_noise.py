from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.statistics.looks import DEFAULT_LOOKS, Looks
from harness.statistics.noise import Noise, Sight, pooled
from harness.statistics.rule import Rule
from harness.statistics.verdict import Verdict

SIGHT = Sight(rows=30, looks=DEFAULT_LOOKS)
noises = st.builds(Noise, spread=st.floats(0.0005, 0.3), degrees=st.integers(2, 60))


@given(st.lists(noises, min_size=1, max_size=5))
def test_pooled_noise_lies_between_its_parts(parts):
    found = pooled(parts)
    spreads = [part.spread for part in parts]
    assert min(spreads) * 0.999 <= found.spread <= max(spreads) * 1.001
    assert found.degrees == sum(part.degrees for part in parts)


def test_pooled_noise_of_nothing_is_unknown():
    assert pooled([]) is None


def test_pooling_weighs_variances_by_their_degrees():
    found = Noise(spread=0.03, degrees=9) + Noise(spread=0.01, degrees=3)
    assert found.spread == pytest.approx(math.sqrt((9 * 0.03**2 + 3 * 0.01**2) / 12))


@given(noises, st.floats(0.005, 0.1), st.integers(1, 200))
def test_more_noise_and_more_rows_hide_more(noise, floor, rows):
    sight = Sight(rows=rows, looks=DEFAULT_LOOKS)
    smallest = sight.smallest(noise, floor)
    assert smallest > floor
    assert sight.smallest(Noise(spread=2 * noise.spread, degrees=9), floor) > smallest
    assert Sight(rows=2 * rows, looks=DEFAULT_LOOKS).smallest(noise, floor) >= smallest * 0.9999


@pytest.mark.parametrize(("spread", "change"), [(0.02, 0.04), (0.05, 0.08), (0.01, 0.0301), (0.3, 0.05)])
def test_rounds_for_a_change_are_the_fewest_that_show_it(spread, change):
    def looks(rounds):
        return Looks.between(min(5, rounds), rounds, 4)

    noise, floor = Noise(spread=spread, degrees=9), 0.03
    now = Sight(rows=30, looks=looks(5))
    rounds = now.rounds_for(change, noise, floor, looks)
    shown = [n for n in range(6, 201) if Sight(rows=30, looks=looks(n)).smallest(noise, floor) <= change]
    assert rounds == (shown[0] if shown else None)


def test_no_number_of_rounds_shows_a_change_below_the_floor():
    assert SIGHT.rounds_for(0.02, Noise(spread=0.001, degrees=9), 0.03, lambda rounds: Looks((rounds,))) is None


def test_two_rounds_show_nothing_but_what_never_varies():
    sight = Sight(rows=1, looks=Looks((2,)))
    assert sight.smallest(Noise(spread=0.01, degrees=9), 0.03) == math.inf
    assert sight.smallest(Noise(spread=0.0, degrees=9), 0.03) == math.inf
    assert sight.smallest(Noise(spread=0.0, degrees=9), 0.03, timed=False) == 0.03


def test_a_quiet_row_is_not_trusted_beyond_its_table_where_it_is_timed():
    sight = Sight.of([Noise(spread=spread, degrees=9) for spread in (0.001, 0.04, 0.05)], rows=3, looks=DEFAULT_LOOKS)
    assert sight.least == 0.02
    quiet = Noise(spread=0.001, degrees=9)
    assert sight.smallest(quiet, 0.005) > 0.015
    assert sight.smallest(quiet, 0.005, timed=False) < 0.006


@pytest.mark.parametrize(
    ("spread", "floor", "rows", "rounds"),
    [(0.02, 0.005, 30, 20), (0.02, 0.03, 30, 20), (0.005, 0.03, 30, 20), (0.02, 0.03, 19, 15), (0.05, 0.03, 3, 8)],
)
def test_the_rule_finds_the_smallest_visible_change_in_8_of_10_runs(spread, floor, rows, rounds):
    looks = Looks((rounds,))
    change = Sight(rows=rows, looks=looks).smallest(Noise(spread=spread, degrees=9), floor)
    rule, noise = Rule(rows=rows, looks=looks), random.Random(1)
    runs = [[noise.gauss(-math.log1p(change), spread) for _ in range(rounds)] for _ in range(1000)]
    found = sum(rule.apply(replicates, floor).judgement.verdict is Verdict.SLOWER for replicates in runs)
    assert 760 <= found <= 840


@pytest.mark.parametrize(("spread", "degrees"), [(-0.1, 3), (math.nan, 3), (math.inf, 3), (0.1, 0)])
def test_what_is_no_noise(spread, degrees):
    with pytest.raises(ValueError, match="noise has"):
        Noise(spread=spread, degrees=degrees)
