from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from harness.releases.backend import choose_backend, has_nvidia_driver, index_answers

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BASE = "https://torch.example/whl"


class Prober:
    """Answers as told and remembers what it was asked."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.asked: list[tuple[str, float]] = []

    def __call__(self, url: str, timeout: float) -> bool:
        self.asked.append((url, timeout))
        return self.answer


def choose(cache: Path, prober: Prober, *, gpu: bool = False, now: datetime = NOW, base: str = BASE, offline=False):
    return choose_backend(
        "auto", index_base=base, cache=cache, prober=prober, driver=lambda: gpu, now=now, offline=offline
    )


def test_an_index_that_answers_gives_cpu(tmp_path: Path):
    prober = Prober(True)
    choice = choose(tmp_path, prober)
    assert (choice.backend, choice.gpu) == ("cpu", False)
    assert "answers" in choice.why
    assert prober.asked == [(f"{BASE}/cpu/", 3.0)]


def test_an_index_out_of_reach_gives_default(tmp_path: Path):
    choice = choose(tmp_path, Prober(False))
    assert (choice.backend, choice.gpu) == ("default", False)
    assert "cannot be reached" in choice.why


def test_the_verdict_holds_for_an_hour(tmp_path: Path):
    choose(tmp_path, Prober(True))
    later = Prober(False)
    assert choose(tmp_path, later, now=NOW + timedelta(minutes=59)).backend == "cpu"
    assert later.asked == []
    assert choose(tmp_path, later, now=NOW + timedelta(minutes=61)).backend == "default"


def test_each_index_has_its_own_verdict(tmp_path: Path):
    choose(tmp_path, Prober(True))
    assert choose(tmp_path, Prober(False), base="https://mirror.example").backend == "default"


def test_offline_uses_the_last_verdict_or_default(tmp_path: Path):
    never = Prober(True)
    assert choose(tmp_path, never, offline=True).backend == "default"
    choose(tmp_path, Prober(True))
    assert choose(tmp_path, never, offline=True, now=NOW + timedelta(days=9)).backend == "cpu"
    assert never.asked == []


def test_an_nvidia_driver_means_default_without_asking(tmp_path: Path):
    prober = Prober(True)
    choice = choose(tmp_path, prober, gpu=True)
    assert (choice.backend, choice.gpu, prober.asked) == ("default", True, [])
    assert "NVIDIA" in choice.why


def test_a_subject_without_such_an_index_gets_default(tmp_path: Path):
    prober = Prober(True)
    assert choose(tmp_path, prober, base="").backend == "default"
    assert prober.asked == []


def test_what_was_asked_for_is_given(tmp_path: Path):
    choice = choose_backend("cu126", index_base=BASE, cache=tmp_path, prober=Prober(False))
    assert (choice.backend, choice.gpu) == ("cu126", None)


@pytest.mark.parametrize("damage", ["", "{}", '{"at": "never", "reachable": true}'])
def test_a_damaged_verdict_is_asked_anew(tmp_path: Path, damage: str):
    choose(tmp_path, Prober(False))
    (file,) = (tmp_path / "catalogues").iterdir()
    file.write_text(damage)
    assert choose(tmp_path, Prober(True)).backend == "cpu"


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path: Path):
    (tmp_path / "catalogues").write_text("no folder")
    assert choose(tmp_path, Prober(True)).backend == "cpu"


def test_the_prober_believes_success_alone(httpserver: HTTPServer):
    httpserver.expect_request("/good/").respond_with_data("")
    httpserver.expect_request("/bad/").respond_with_data("", status=503)
    assert index_answers(httpserver.url_for("/good/"), 3)
    assert not index_answers(httpserver.url_for("/bad/"), 3)
    assert not index_answers("http://127.0.0.1:9/", 3)
    assert not index_answers("ftp://127.0.0.1/", 3)


def test_a_driver_shows_by_its_files(tmp_path: Path):
    sign = tmp_path / "nvidiactl"
    assert not has_nvidia_driver([str(sign)])
    sign.touch()
    assert has_nvidia_driver([str(tmp_path / "other"), str(sign)])
