from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from harness.environments.contents import faults, installed, site_packages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    info = folder / "my_package-1.0+cpu.dist-info"
    info.mkdir(parents=True)
    rows = []
    for name, text in {"a.py": "a = 1\n", "with, comma.py": "b = 2\n"}.items():
        (folder / name).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f'"{name}",sha256={digest},{len(text)}\n')
    rows.append("my_package-1.0+cpu.dist-info/RECORD,,\n__pycache__/a.cpython-311.pyc,,\n")
    # numpy's wheel brings byte code, which is made anew.
    rows.append("__pycache__/b.cpython-311.pyc,sha256=AAAA,8270\n")
    (info / "RECORD").write_text("".join(rows))
    return folder


def test_nothing_is_wrong(folder: Path):
    assert list(faults(folder)) == list(faults(folder, deep=True)) == []


def test_size_shows_at_once_and_contents_when_read(folder: Path):
    (folder / "a.py").write_text("a = 2\n")
    assert list(faults(folder)) == []
    assert [str(fault) for fault in faults(folder, deep=True)] == ["a.py (my_package) has other contents"]
    (folder / "a.py").write_text("")
    assert [str(fault) for fault in faults(folder)] == ["a.py (my_package) has 0 bytes instead of 6"]
    (folder / "with, comma.py").unlink()
    assert [fault.reason for fault in faults(folder)] == ["has 0 bytes instead of 6", "is missing"]


def test_record_that_cannot_be_read(folder: Path):
    [record] = folder.glob("*.dist-info/RECORD")
    record.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"my_package-1\.0\+cpu\.dist-info/RECORD cannot be read"):
        list(faults(folder))


def test_packages_by_normalised_name(folder: Path):
    assert installed(folder) == {("my-package", "1.0+cpu")}


def test_folder_of_packages(folder: Path, tmp_path: Path):
    assert site_packages(tmp_path) == folder
    with pytest.raises(FileNotFoundError, match="has no site-packages"):
        site_packages(folder)
