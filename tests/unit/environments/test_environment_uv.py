"""What uv's failures mean: texts as uv 0.13 prints them."""

from __future__ import annotations

import pytest

from harness.environments.uv import explain, uv_variables
from harness.proc import CommandError

DISK = """\
error: Failed to download `big==1.0`
  cause: Failed to extract archive: big-1.0-py3-none-any.whl
  cause: failed to write to file `/cache/.tmp/big.py`: No space left on
         device (os error 28)
"""
NETWORK = """\
warning: something else
error: Failed to fetch: http://127.0.0.1:9/simple/alpha/
  cause: error sending request for url (http://127.0.0.1:9/simple/alpha/)
  cause: client error (Connect)
  cause: Connection refused (os error 111)
"""
HASH = """\
error: Failed to download `alpha==1.0`
  cause: Hash mismatch for `alpha==1.0`

         Expected:
           sha256:00

         Computed:
           sha256:4e
"""
UNKNOWN = """\
error: No solution found when resolving dependencies
  cause: Because gone was not found in the package registry and you require
         gone==3.0, we can conclude that your requirements are unsatisfiable.
"""
GONE = """\
error: Failed to download `alpha==1.0`
  cause: HTTP status client error (404 NOT FOUND) for url
         (http://user:hunter2@localhost/alpha.whl)
"""
FAILING = """\
error: Failed to download `alpha==1.0`
  cause: HTTP status server error (503 Service Unavailable)
"""
FORBIDDEN = """\
error: Failed to create directory
  cause: Permission denied (os error 13)
"""
CASES = [
    (DISK, "the disk is full", "(failed to write to file `/cache/.tmp/big.py`: No space left on device (os error 28))"),
    (NETWORK, "the index cannot be reached", "/simple/alpha/ (Connection refused (os error 111))"),
    (HASH, "a file is not the one that was locked", "Expected: sha256:00 Computed: sha256:4e"),
    (UNKNOWN, "no index that was asked has a file of the lock", "gone was not found"),
    (GONE, "no index that was asked has a file of the lock", "for url (http://localhost/alpha.whl)"),
    (FAILING, "the index failed while it answered", "503"),
    (FORBIDDEN, "the cache cannot be written", "Permission denied"),
    ("", "", "ended with status 2"),
]


@pytest.mark.parametrize(("stderr", "why", "what"), CASES)
def test_failure_in_plain_words(stderr: str, why: str, what: str):
    error = explain(CommandError(["uv", "pip", "sync"], "ended with status 2", "", stderr), "installing a cell")
    assert error.why.startswith(why)
    assert error.what.startswith("uv failed while installing a cell: ")
    assert what in error.what
    assert "hunter2" not in str(error)
    assert error.next_step


def test_variables_that_would_change_an_installation_are_left_out(monkeypatch: pytest.MonkeyPatch):
    unwanted = (
        "UV_PYTHON",
        "UV_CONSTRAINT",
        "UV_EXCLUDE_NEWER",
        "UV_LINK_MODE",
        "UV_NO_CACHE",
        "VIRTUAL_ENV",
        "PYTHONPATH",
    )
    for name in unwanted:
        monkeypatch.setenv(name, "x")
    wanted = {
        "UV_DEFAULT_INDEX": "http://a/simple",
        "UV_FIND_LINKS": "/wheels",
        "UV_OFFLINE": "1",
        "HTTPS_PROXY": "http://p",
    }
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    variables = uv_variables()
    assert wanted.items() <= variables.items()
    assert not set(unwanted) & variables.keys()


def test_cache_lies_beside_the_environments_unless_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    monkeypatch.setenv("HARNESS_CACHE", "/cache")
    assert uv_variables()["UV_CACHE_DIR"] == "/cache/uv"
    monkeypatch.setenv("UV_CACHE_DIR", "/elsewhere")
    assert uv_variables()["UV_CACHE_DIR"] == "/elsewhere"
