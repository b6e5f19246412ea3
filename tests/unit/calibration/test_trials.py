"""A rule that errs is caught; what other tools say is what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.asv_plugin.significance import asv_says
from harness.calibration.machines import MACHINES
from harness.calibration.rules import OURS, PEERS, Contender, Said
from harness.calibration.trials import EFFECTS, Effort, Trial, promises, try_rules
from harness.errors import ExitCode
from harness.reporting.calibration import CalibrationReport

FEW = Effort(ours=20, peers=3, changed=2)
STEADY = {"Gaussian": MACHINES["Gaussian"]}


def tried(*contenders: Contender) -> list[Trial]:
    return try_rules(contenders, STEADY, FEW, seed=1)


class TestPeers:
    def test_each_finds_what_cannot_be_missed(self) -> None:
        rng = np.random.default_rng(1)
        for peer in PEERS:
            logs = MACHINES["Gaussian"].run(rng, peer.layout, 20)
            logs[:, 1] += np.log(2)
            assert set(peer.judge(np.exp(logs)).change.tolist()) == {-1}, peer.name
            assert set(peer.judge(np.exp(logs[:, ::-1])).change.tolist()) == {1}, peer.name

    def test_known_false_alarms(self) -> None:
        # Pooled samples: about a quarter of unchanged rows, as others have found.
        (pyperf,) = tried(*[peer for peer in PEERS if "pyperf" in peer.name])
        assert 0.1 < pyperf.false_rows < 0.4

    @pytest.mark.parametrize("keep", [True, False])
    def test_asv_itself(self, keep: bool) -> None:
        base = [1.0 + 0.001 * number for number in range(10)]
        slow = [2 * value for value in base]
        assert asv_says(base, slow, factor=1.1, keep_samples=keep) == -1
        assert asv_says(slow, base, factor=1.1, keep_samples=keep) == 1
        assert asv_says(base, base, factor=1.1, keep_samples=keep) == 0
        assert asv_says(base, [1.05 * value for value in base], factor=1.1, keep_samples=keep) == 0


class TestPromises:
    def test_kept(self) -> None:
        found = promises(tried(OURS, *PEERS), OURS.name)
        assert len(found) == 1 + 2 + len(PEERS)
        assert [promise for promise in found if not promise.kept] == []

    def test_a_rule_that_cries_wolf(self) -> None:
        def wolf(times: np.ndarray) -> Said:
            said = OURS.judge(times)
            return replace(said, change=np.where(np.arange(len(said.change)) == 0, 1, said.change))

        (trial,) = tried(replace(OURS, judge=wolf))
        assert trial.false_tables == 1
        broken = [promise for promise in promises([trial], OURS.name) if not promise.kept]
        assert [promise.text.partition(":")[0] for promise in broken] == ["Gaussian"]

    def test_a_rule_that_sees_nothing(self) -> None:
        def blind(times: np.ndarray) -> Said:
            said = OURS.judge(times)
            return replace(said, change=np.zeros_like(said.change))

        trials = tried(replace(OURS, judge=blind), *PEERS)
        broken = [promise.text for promise in promises(trials, OURS.name) if not promise.kept]
        assert sum("is found in" in text for text in broken) == 2
        # ASV's factor hides everything as well, and is then no worse.
        assert any(": asv is not as good" in text for text in broken)


def test_the_same_seed_gives_the_same_trials() -> None:
    few = Effort(ours=2, peers=2, changed=1)
    alone = try_rules([PEERS[0]], STEADY, few, seed=7)
    among = try_rules([OURS, PEERS[0]], STEADY, few, seed=7)
    assert among[1] == alone[0]
    assert try_rules([OURS], STEADY, few, seed=8) != among[:1]


def test_report() -> None:
    trials = tuple(tried(OURS, PEERS[0]))
    found = tuple(promises(trials, OURS.name))
    report = CalibrationReport(ours=OURS.name, trials=trials, promises=found, seed=1)
    assert report.exit_code is ExitCode.FINE
    said = report.as_json()
    assert [rule["name"] for rule in said["rules"]] == [OURS.name, PEERS[0].name]
    assert set(said["rules"][0]["power"]) == {str(effect) for effect in EFFECTS}
    broken = replace(report, promises=(*found, replace(found[0], kept=False)))
    assert broken.exit_code is ExitCode.NO
    assert broken.as_json()["exit_code"] == 1
