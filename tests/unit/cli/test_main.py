from __future__ import annotations

import tempfile

import click
import pytest

from harness.cli import main as command_line
from harness.errors import ExitCode


def test_a_bug_is_told_where_no_log_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoiled(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    @click.command()
    def broken() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", spoiled)
    monkeypatch.setattr(command_line, "cli", broken)
    with pytest.raises(SystemExit) as stopped:
        command_line.main([])
    assert stopped.value.code == ExitCode.BUG
    said = capsys.readouterr().err
    assert "No usable temporary directory" in said
    assert "ZeroDivisionError" in said
