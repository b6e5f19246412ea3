from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.environments.manifest import FILE, Manifest, read_manifest, write_manifest
from harness.releases.lock import Lock, LockedFile

FILES = (LockedFile(name="a", version="1.0+cpu", filename="a-1.0+cpu-py3-none-any.whl", sha256="ab", size=3),)
MANIFEST = Manifest(
    key="k",
    cell="torch2.13.0-py3.11-cpu",
    lock=Lock(python="3.11", platform="any", index="cpu", as_of="2026-11-01", slim=True, files=FILES),
    python="/bin/python3.11",
    python_version="3.11.7",
    image="host",
    build=(("DEBUG", "1"),),
    stubs=(("libcudart.so.12", 1656),),
    odd_files=("a.py",),
    size=10,
    disk=5,
    seconds=1.5,
    built_at="2026-11-29T18:00:00+00:00",
    uv="0.13.9",
    harness="0.1.0",
)


def test_comes_back_as_it_went(tmp_path: Path):
    write_manifest(tmp_path, MANIFEST)
    assert read_manifest(tmp_path) == MANIFEST
    assert read_manifest(tmp_path).lock.digest == MANIFEST.lock.digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (None, "is missing"),
        ("{", "cannot be read"),
        ("[]", "another version"),
        ({"schema": 99}, "another version"),
        ({"lock": {}}, "damaged"),
        ({"lock": None}, "damaged"),
        ({"build": 3}, "damaged"),
        ({"surprise": 1}, "damaged"),
        ({"size": "large"}, "'large' is no int"),
        ({"size": True}, "True is no int"),
        ({"cell": None}, "None is no str"),
        ({"stubs": [["libcudart.so.12", "1656"]]}, "'1656' is no int"),
        ({"odd_files": [5]}, "5 is no str"),
        ({"lock": {**asdict(MANIFEST.lock), "python": 3.11}}, "3.11 is no str"),
        ({"lock": {**asdict(MANIFEST.lock), "files": [{**asdict(FILES[0]), "version": 1}]}}, "1 is no str"),
    ],
)
def test_damage_is_told(tmp_path: Path, change: object, words: str):
    write_manifest(tmp_path, MANIFEST)
    path = tmp_path / FILE
    if change is None:
        path.unlink()
    else:
        document = json.loads(path.read_text())
        path.write_text(change if isinstance(change, str) else json.dumps(document | change))
    with pytest.raises(ValueError, match=words):
        read_manifest(tmp_path)
