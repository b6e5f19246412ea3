"""The JSON schema of `matrix.toml`, for editors; `python -m harness.cells.schema FILE [SUBJECT]` writes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from harness.cells.declarations import matrix_table
from harness.jsonio import write_json

__all__ = ["json_schema"]


def json_schema(subject: str = "torch") -> dict[str, Any]:
    """The schema of a matrix whose subject is this package.

    It knows types, keys and spelling; what takes the rest of the file or a calculation (images, ranges of versions)
    only `load_spec` checks.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The matrix of {subject}: which environments are measured",
        **matrix_table(subject).schema(),
    }


if __name__ == "__main__":
    write_json(Path(sys.argv[1]), json_schema(*sys.argv[2:]))
