"""The JSON schema is in step with the declarations, and says yes and no where the reader does."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from harness.cells.declarations import matrix_table
from harness.cells.schema import json_schema
from harness.cells.shapes import MappingOf, Table

ROOT = Path(__file__).parents[3]
MATRIX = tomllib.loads((ROOT / "matrix" / "matrix.toml").read_text(encoding="utf-8"))


def test_the_shipped_schema_is_fresh() -> None:
    shipped = json.loads((ROOT / "matrix" / "matrix.schema.json").read_text(encoding="utf-8"))
    hint = "run `python -m harness.cells.schema matrix/matrix.schema.json`"
    assert shipped == json_schema(MATRIX["subject"]), hint


def test_the_schema_is_a_schema_and_takes_the_shipped_matrix() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(MATRIX, json_schema())


def set_in(path: tuple[Any, ...], value: object) -> Callable[[dict[str, Any]], None]:
    def change(matrix: dict[str, Any]) -> None:
        place: Any = matrix
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in(("profiles", "quick", "pythn"), "3.10"),
        set_in(("profiles", "quick", "python"), 3.10),
        set_in(("profiles", "quick", "python"), "4.0"),
        set_in(("profiles", "quick", "rounds"), "6"),
        set_in(("profiles", "quick", "rounds"), True),
        set_in(("profiles", "quick", "torch"), []),
        set_in(("profiles", "quick", "env"), {"A": 1}),
        set_in(("profiles", "quick", "env"), {"A": True}),
        set_in(("profiles", "quick", "env"), {"NOT A NAME": "1"}),
        set_in(("profiles", "quick", "as_of"), "tomorrow"),
        set_in(("profiles", "quick", "description"), None),
        set_in(("exclude", 0, "reason"), " "),
        set_in(("slim",), "maybe"),
        set_in(("schema",), 2),
        set_in(("subject",), "Torch"),
        set_in(("indexes", "pytorch", "base"), "https://example.invalid/whl/"),
    ],
)
def test_the_schema_refuses_faults(change: Callable[[dict[str, Any]], None]) -> None:
    matrix = copy.deepcopy(MATRIX)
    change(matrix)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(matrix, json_schema())


def test_the_subject_is_a_key_of_its_own_schema() -> None:
    matrix = {"schema": 1, "subject": "tiny", "profiles": {"a": {"description": "a", "tiny": ["1.0", "2.0"]}}}
    jsonschema.validate(matrix, json_schema("tiny"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(matrix, json_schema("torch"))


def tables_of(shape: object) -> list[Table]:
    match shape:
        case Table():
            return [shape, *(found for entry in shape.entries.values() for found in tables_of(entry.shape))]
        case MappingOf():
            return tables_of(shape.value)
    return tables_of(shape.item) if hasattr(shape, "item") else []


def test_every_key_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "matrix.md").read_text(encoding="utf-8")
    keys = {key for table in tables_of(matrix_table("torch")) for key in table.entries}
    assert len(keys) > 30
    assert [key for key in sorted(keys) if f"`{key}`" not in reference] == []
