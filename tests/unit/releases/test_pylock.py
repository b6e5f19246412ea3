from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.cells.wheels import Target
from harness.errors import ResolveError
from harness.releases.lock import LockedFile
from harness.releases.pylock import locked_files

TARGET = Target(python=(3, 8), glibc=(2, 36), machine="x86_64")
BASE = "https://files.example"


def pylock(*packages: str) -> str:
    return 'lock-version = "1.0"\n' + "".join(f"[[packages]]\n{package}\n" for package in packages)


def entry(filename: str, sha: str, size: int | None = 5) -> str:
    sized = f", size = {size}" if size else ""
    return f'{{ url = "{BASE}/{filename}"{sized}, hashes = {{ sha256 = "{sha * 64}" }} }}'


def test_the_best_wheel_is_taken_before_the_archive():
    text = pylock(
        'name = "Big_One"\nversion = "1.2"\n'
        f"sdist = {entry('big_one-1.2.tar.gz', 'a')}\n"
        f"wheels = [{entry('big_one-1.2-cp38-cp38-manylinux1_x86_64.whl', 'b')},"
        f"{entry('big_one-1.2-cp38-cp38-manylinux2014_x86_64.whl', 'c')},"
        f"{entry('big_one-1.2-cp39-cp39-manylinux2014_x86_64.whl', 'd')}]"
    )
    (file,) = locked_files(text, TARGET, sizes={}, label="cell")
    assert file == LockedFile(
        name="big-one",
        version="1.2",
        filename="big_one-1.2-cp38-cp38-manylinux2014_x86_64.whl",
        sha256="c" * 64,
        size=5,
    )


def test_the_archive_stands_in_for_missing_wheels_and_names_are_sorted():
    text = pylock(
        f'name = "z"\nversion = "1"\nsdist = {entry("z-1.tar.gz", "a")}',
        f'name = "a"\nversion = "1+cpu"\nwheels = [{entry("a-1%2Bcpu-py3-none-any.whl", "b", None)}]',
    )
    a, z = locked_files(text, TARGET, sizes={"a-1+cpu-py3-none-any.whl": 9}, label="cell")
    assert (a.filename, a.version, a.size) == ("a-1+cpu-py3-none-any.whl", "1+cpu", 9)
    assert z.filename == "z-1.tar.gz"


def test_files_of_this_machine_are_hashed_and_weighed(tmp_path: Path):
    wheel = tmp_path / "a b" / "tiny-1+cpu-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.write_bytes(b"wheel")
    text = pylock(f'name = "tiny"\nversion = "1+cpu"\nwheels = [{{ url = "{wheel.as_uri()}", hashes = {{}} }}]')
    (file,) = locked_files(text, TARGET, sizes={}, label="cell")
    assert (file.sha256, file.size) == (hashlib.sha256(b"wheel").hexdigest(), 5)


def test_a_file_without_a_hash_is_refused():
    text = pylock(
        f'name = "tiny"\nversion = "1"\nwheels = [{{ url = "{BASE}/tiny-1-py3-none-any.whl", hashes = {{}} }}]'
    )
    with pytest.raises(ResolveError, match=r"no SHA-256 for tiny-1-py3-none-any\.whl"):
        locked_files(text, TARGET, sizes={}, label="cell")


def test_a_package_without_a_file_that_fits_is_refused():
    text = pylock(f'name = "tiny"\nversion = "1"\nwheels = [{entry("tiny-1-cp39-cp39-linux_x86_64.whl", "a")}]')
    with pytest.raises(ResolveError, match="neither a wheel that fits nor a source archive"):
        locked_files(text, TARGET, sizes={}, label="cell")
