from __future__ import annotations

from pathlib import Path

from harness.jsonio import write_atomic


def test_what_is_no_text_is_written_as_an_escape(tmp_path: Path) -> None:
    write_atomic(tmp_path / "report.md", "cannot open \udcff.pt, naïve\n")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "cannot open \\udcff.pt, naïve\n"
