"""Every field of every JSON document is described, and the fields are what they are called there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reporting.examples import EVERY, RUN

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
#: Their keys are data, not fields.
MAPPINGS = {"params", "host", "measured_in", "missing", "values", "states", "reasons", "details"}


def fields(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in MAPPINGS:
                yield from fields(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner)


@pytest.mark.parametrize("name", EVERY)
def test_every_field_is_described(name):
    text = REFERENCE.read_text()
    missing = {
        field for field in fields(EVERY[name].as_json()) if f"`{field}`" not in text and f"`{field}[]`" not in text
    }
    assert not missing


def test_every_field_of_a_row_has_a_line_of_its_own():
    text = REFERENCE.read_text()
    for field in RUN.as_json()["rows"][0]:
        assert any(line.startswith("| `") and f"`{field}`" in line.split("|")[1] for line in text.splitlines()), field
