"""How claims judge what they measured. No device is needed: a simulated one keeps a clock and a queue of work."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SUITE = Path(__file__).parents[2] / "benchmarks"
#: Seconds of one product and of one copied number.
PRODUCT, COPY = 0.01, 1e-9


@dataclass
class Device:
    """A device beside a CPU that takes no time itself."""

    item_waits: bool = True
    pageable_waits: bool = True
    pinned_speed: float = 4.0
    now: float = 0.0
    busy_until: float = 0.0

    def queue(self, seconds: float) -> None:
        self.busy_until = max(self.now, self.busy_until) + seconds

    def synchronize(self) -> None:
        self.now = max(self.now, self.busy_until)


@dataclass
class Numbers:
    device: Device
    length: int = 1
    pinned: bool = False

    def mm(self, other: Numbers, out: Numbers) -> None:  # noqa: ARG002
        self.device.queue(PRODUCT)

    def pin_memory(self) -> Numbers:
        return Numbers(self.device, self.length, pinned=True)

    def copy_(self, source: Numbers, non_blocking: bool) -> None:
        device = self.device
        device.queue(source.length * COPY / (device.pinned_speed if source.pinned else 1))
        if not non_blocking or (not source.pinned and device.pageable_waits):
            device.synchronize()

    def item(self) -> float:
        if self.device.item_waits:
            self.device.synchronize()
        self.device.now += 1e-6
        return 1.0


@dataclass
class Claims:
    """The files of claims, and what they say."""

    details: Path
    modules: dict[str, ModuleType] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return importlib.import_module(f"suite_under_test.{name}")

    def said(self) -> dict[str, Any]:
        return json.loads(self.details.read_text().splitlines()[-1])


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Claims:
    # The package itself changes a setting of asv_runner; its modules are imported without it.
    package = ModuleType("suite_under_test")
    package.__path__ = [str(SUITE)]
    monkeypatch.setitem(sys.modules, "suite_under_test", package)
    for name in ("common", "verdicts", "bench_claims_devices", "bench_claims_parallel"):
        monkeypatch.delitem(sys.modules, f"suite_under_test.{name}", raising=False)
    monkeypatch.setenv("HARNESS_DETAILS", str(tmp_path / "details.jsonl"))
    return Claims(tmp_path / "details.jsonl")


def judged(claims: Claims, monkeypatch: pytest.MonkeyPatch, name: str, function: str, device: Device) -> float:
    """What a claim about devices makes of a simulated one."""
    module = claims["bench_claims_devices"]
    torch = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: True, synchronize=device.synchronize),
        empty=lambda length, device: Numbers(simulated, length),  # noqa: ARG005
        ones=lambda length, device: Numbers(simulated, length),  # noqa: ARG005
    )
    simulated = device
    monkeypatch.setattr(module, "start", lambda: (torch, None))
    monkeypatch.setattr(module, "normal", lambda _, *shape, device="": Numbers(simulated, shape[0]))  # noqa: ARG005
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: device.now))
    claim = getattr(module, name)()
    claim.setup()
    return getattr(claim, function)()


@pytest.mark.parametrize(("speed", "holds"), [(4.0, 1.0), (2.0, 0.0)])
def test_pinned_copies(claims: Claims, monkeypatch: pytest.MonkeyPatch, speed: float, holds: float) -> None:
    assert judged(claims, monkeypatch, "PinnedCopy", "track_ratio", Device(pinned_speed=speed)) == holds
    assert claims.said()["ratio"] == pytest.approx(speed)
    assert f"{speed:.2f} times as long" in claims.said()["note"]


@pytest.mark.parametrize("waits", [True, False])
def test_pageable_copies(claims: Claims, monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    assert judged(claims, monkeypatch, "PageableCopy", "track_effect", Device(pageable_waits=waits)) == float(waits)
    assert "0.00 ms with and 100.00 ms without for 16 KiB" in claims.said()["note"] or waits


@pytest.mark.parametrize("waits", [True, False])
def test_item(claims: Claims, monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    assert judged(claims, monkeypatch, "Item", "track_waiting", Device(item_waits=waits)) == float(not waits)
    assert "a synchronisation after 100.00 ms" in claims.said()["note"]


@pytest.mark.parametrize(
    ("compute", "wait", "holds"),
    [
        ([0.8] * 5, [0.7] * 5, 1.0),
        ([0.8] * 5, [2.0] * 5, 0.0),  # it lowers the throughput of one kind only
        ([0.8, 0.8, 0.8, 0.8, 1.1], [0.7] * 5, 0.0),  # not in every turn
        ([0.97] * 5, [0.7] * 5, 0.0),  # by less than 5 %
    ],
)
def test_workers(claims: Claims, compute: list[float], wait: list[float], holds: float) -> None:
    claim = claims["bench_claims_parallel"].Workers()
    claim.cores, claim.few, claim.many = 2, 3, 6
    turns = {"compute": iter(compute), "wait": iter(wait)}
    asked = []

    def throughput(kind: str, workers: int) -> float:
        asked.append(workers)
        return 100.0 if workers == 3 else 100.0 * next(turns[kind])

    claim.throughput = throughput
    assert claim.track_throughput() == holds
    assert asked[:4] == [3, 6, 6, 3], "the two take turns in going first"
    assert claims.said()["ratios"] == {"compute": pytest.approx(compute), "wait": pytest.approx(wait)}


@pytest.mark.parametrize(("first", "holds"), [(20.0, 0.0), (80.0, 1.0)])
def test_all_reduce(claims: Claims, monkeypatch: pytest.MonkeyPatch, first: float, holds: float) -> None:
    module = claims["bench_claims_parallel"]
    seen = {"reduced": [first, 90.0], "layers": [10.0, 40.0, 70.0], "end": 75.0}
    monkeypatch.setattr(module, "run_ranks", lambda: seen)
    assert module.AllReduce().track_first_all_reduce() == holds
    assert f"{1 if first == 20 else 3} of 3 layers had their gradients" in claims.said()["note"]


def test_nothing_of_a_rank_is_left(claims: Claims, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = claims["bench_claims_parallel"]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(
        module, "RANK", "import sys, time; sys.exit('no store') if sys.argv[1] == '1' else time.sleep(60)"
    )
    monkeypatch.setattr(module, "PATIENCE", -9)
    started = []
    original = module.subprocess.Popen
    monkeypatch.setattr(
        module.subprocess, "Popen", lambda *words, **more: started.append(original(*words, **more)) or started[-1]
    )
    with pytest.raises(RuntimeError, match="no answer"):
        module.run_ranks()
    assert [process.poll() is not None for process in started] == [True, True]
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("\n  one\ntwo"), "ValueError: one"),
        (KeyError(), "KeyError"),
        (RuntimeError("\x1b[1mbold\x1b[0m"), "RuntimeError: bold"),
        (RuntimeError("x" * 300), "RuntimeError: " + "x" * 185 + "…"),
    ],
)
def test_words_of_an_error(claims: Claims, error: Exception, words: str) -> None:
    assert claims["verdicts"].words_of(error) == words


def test_no_accelerator_is_a_skip(claims: Claims) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    with pytest.raises(NotImplementedError, match="no cuda device"):
        claims["verdicts"].accelerator(torch)
