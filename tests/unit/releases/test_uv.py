from __future__ import annotations

from pathlib import Path

import pytest

from harness import proc
from harness.errors import ResolveError
from harness.releases.sources import sources_for
from harness.releases.uv import Uv, compile_pylock, uv_environment

NO_SOLUTION = """\
error: No solution found when resolving dependencies
  cause: Because only numpy>=1.3.0 is available and you require numpy<1, we can conclude that your
requirements are unsatisfiable.

hint: `numpy` was filtered by `exclude-newer`
"""
NO_NETWORK = """\
error: Request failed after 3 retries in 6.6s
  cause: Failed to fetch: http://me:hunter2@127.0.0.1:9/simple/torch/
  cause: tcp connect error
  cause: Connection refused (os error 111)
"""


def uv(tmp_path: Path, environ: dict[str, str] | None = None, *, offline: bool = False) -> Uv:
    environ = environ or {}
    return Uv(sources=sources_for([], environ=environ), cache=tmp_path, environ=environ, offline=offline)


def compiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stderr: str, *, offline: bool = False) -> ResolveError:
    def fail(args, **_):
        raise proc.CommandError(args, "ended with status 1", "", stderr)

    monkeypatch.setattr(proc, "run", fail)
    with pytest.raises(ResolveError) as caught:
        compile_pylock(uv(tmp_path, offline=offline), ["x"], label="CELL", python="3.11", platform="p")
    return caught.value


def test_a_conflict_becomes_a_sentence(monkeypatch, tmp_path):
    error = compiling(monkeypatch, tmp_path, NO_SOLUTION)
    assert error.what == (
        "CELL: its packages do not fit together: Because only numpy>=1.3.0 is available and you require numpy<1"
    )
    assert error.why == "`numpy` was filtered by `exclude-newer`"
    assert "harness plan" in error.next_step


def test_a_conflict_offline_advises_the_network(monkeypatch, tmp_path):
    assert "with the network" in compiling(monkeypatch, tmp_path, NO_SOLUTION, offline=True).next_step


def test_a_dead_index_is_named_without_its_credentials(monkeypatch, tmp_path):
    error = compiling(monkeypatch, tmp_path, NO_NETWORK)
    assert error.what == "CELL: uv could not ask an index: Failed to fetch: http://127.0.0.1:9/simple/torch/"
    assert error.why == "Connection refused (os error 111)"


def test_words_without_a_mark_are_told_too(monkeypatch, tmp_path):
    assert compiling(monkeypatch, tmp_path, "thread 'main' panicked\nat x\n").what == (
        "CELL: uv failed: thread 'main' panicked at x"
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("failed to write: No space left on device (os error 28)", "the disk is full"),
        ("failed to open file: Read-only file system (os error 30)", "the cache cannot be written"),
        ("failed to create directory: Not a directory (os error 20)", "is a file"),
        ("failed to create directory: File exists (os error 17)", "is a file"),
        ("failed to create directory: No such file or directory (os error 2)", "no cache at that place"),
    ],
)
def test_a_cache_that_cannot_be_written_is_told(monkeypatch, tmp_path, said, why):
    error = compiling(monkeypatch, tmp_path, f"error: Failed to initialize cache at `/c`\n  cause: {said}\n")
    assert why in error.why
    assert "HARNESS_CACHE" in error.next_step


@pytest.mark.parametrize("stderr", ["", "error: No space left on device (os error 28)\n", "y" * 9999])
def test_whatever_uv_says_stays_short(monkeypatch, tmp_path, stderr):
    error = compiling(monkeypatch, tmp_path, stderr)
    assert error.what.startswith("CELL: uv failed: ")
    assert len(str(error)) < 500


def test_nothing_of_the_users_shell_changes_what_is_chosen(tmp_path):
    environ = {
        "UV_RESOLUTION": "lowest",
        "UV_TORCH_BACKEND": "cu126",
        "UV_EXCLUDE_NEWER": "2020-01-01",
        "UV_CONSTRAINT": "c.txt",
        "VIRTUAL_ENV": "/somewhere",
        "UV_DEFAULT_INDEX": "https://a.example/simple",
        "HTTPS_PROXY": "http://proxy.example",
    }
    assert uv_environment(uv(tmp_path, environ)) == {
        "UV_DEFAULT_INDEX": "https://a.example/simple",
        "HTTPS_PROXY": "http://proxy.example",
        "UV_CACHE_DIR": str(tmp_path / "uv"),
        "UV_NO_PROGRESS": "1",
        "NO_COLOR": "1",
    }


def test_a_cache_of_uvs_own_stays(tmp_path):
    assert uv_environment(uv(tmp_path, {"UV_CACHE_DIR": "/elsewhere"}))["UV_CACHE_DIR"] == "/elsewhere"
