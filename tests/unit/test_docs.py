"""The docs say what is true now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.make_reference import PATH, pages, reference

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_command_reference_is_what_the_commands_say() -> None:
    assert PATH.read_text() == reference(), "run: python docs/make_reference.py"


def test_every_command_explains_itself_and_its_options() -> None:
    for name, text in pages():
        body = text.split("\n\n", 2)
        assert len(body) > 1, name
        assert body[1].strip(), name
        for option in re.findall(r"^  (-\S.*)$", text, re.MULTILINE):
            assert re.search(r"\S\s{2,}\S", option) or option.startswith("-"), (name, option)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_docs_exist(page: Path) -> None:
    known = {name for name, _ in pages()}
    groups = {name.rpartition(" ")[0] for name in known if name.count(" ") == 2}
    for line in re.findall(r"^(?:\$ )?(harness [^\n]+)$", page.read_text(), re.MULTILINE):
        words = line.split()
        name = " ".join(words[:3] if " ".join(words[:2]) in groups else words[:2])
        assert name in known, line
