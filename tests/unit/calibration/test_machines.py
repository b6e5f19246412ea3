"""What runs on a machine has the noise that it says."""

from __future__ import annotations

import numpy as np
import pytest

from harness.calibration.layout import Layout, Order
from harness.calibration.machines import BETWEEN, MACHINES, WITHIN
from harness.calibration.recorded import Recorded, recorded


class TestLayout:
    def test_one_side_after_the_other(self) -> None:
        baseline, candidate = Layout(processes=3, samples=4, order=Order.BLOCKS).times()
        assert baseline.max() < candidate.min()

    def test_processes_in_turn(self) -> None:
        baseline, candidate = Layout(processes=3, samples=4, order=Order.ROUNDS).times()
        assert (baseline.max(axis=-1) < candidate.min(axis=-1)).all()
        assert (candidate.max(axis=-1)[:-1] < baseline.min(axis=-1)[1:]).all()

    def test_samples_in_turn_and_balanced(self) -> None:
        baseline, candidate = Layout(processes=2, samples=4, order=Order.SAMPLES).times()
        first = baseline < candidate
        assert first.tolist() == [[True, False, True, False], [False, True, False, True]]
        assert np.unique([baseline, candidate]).size == 16


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("order", Order)
def test_shape(name: str, order: Order) -> None:
    layout = Layout(processes=3, samples=5, order=order)
    logs = MACHINES[name].run(np.random.default_rng(1), layout, 7)
    assert logs.shape == (7, 2, 3, 5)
    assert np.isfinite(logs).all()


def test_noise_of_two_levels() -> None:
    logs = MACHINES["Gaussian"].run(np.random.default_rng(1), Layout(processes=50, samples=50, order=Order.BLOCKS), 20)
    assert logs.std(axis=-1).mean() == pytest.approx(WITHIN, rel=0.05)
    assert logs.mean(axis=-1).std() == pytest.approx(BETWEEN, rel=0.05)


def test_a_slow_phase_meets_both_samples_of_a_turn() -> None:
    rng = np.random.default_rng(1)
    apart = {}
    for order in (Order.SAMPLES, Order.BLOCKS):
        logs = MACHINES["bursts"].run(rng, Layout(processes=5, samples=10, order=order), 100)
        apart[order] = np.median(logs[:, 0] - logs[:, 1], axis=-1).std()
    assert 3 * apart[Order.SAMPLES] < apart[Order.BLOCKS]


class TestRecorded:
    #: Round r, process p, sample s is 100 r + 10 p + s.
    ROUNDS = np.arange(6)[:, None, None] * 100.0 + np.arange(2)[None, :, None] * 10 + np.arange(4)[None, None, :]

    def run(self, order: Order) -> np.ndarray:
        machine = Recorded("numbers", (self.ROUNDS,))
        return machine.run(np.random.default_rng(1), Layout(processes=3, samples=4, order=order), 50)

    def test_side_by_side(self) -> None:
        rows = self.run(Order.SAMPLES)
        rounds, process = rows[..., 0] // 100, rows[..., 0] % 100 // 10
        assert (rounds[:, 0] == rounds[:, 1]).all()
        assert (process[:, 0] + process[:, 1] == 1).all()
        assert set(process[:, 0].ravel()) == {0, 1}
        assert ((rounds[:, 0, 1:] - rounds[:, 0, :-1]) % 6 == 1).all()

    def test_in_turn(self) -> None:
        rounds = self.run(Order.ROUNDS)[..., 0] // 100
        assert ((rounds[:, 1] - rounds[:, 0]) % 6 == 1).all()

    def test_one_side_after_the_other(self) -> None:
        rounds = self.run(Order.BLOCKS)[..., 0] // 100
        assert ((rounds[:, 1] - rounds[:, 0]) % 6 == 3).all()

    def test_what_comes_with_the_harness(self) -> None:
        real = recorded()
        assert real.description
        assert len(real.rounds) >= 3
        for rounds in real.rounds:
            number, sides, samples = rounds.shape
            assert (number >= 30, sides, samples >= 15) == (True, 2, True)
            # Unchanged code, measured side by side.
            assert abs(np.median(rounds[:, 0] - rounds[:, 1])) < 0.01
