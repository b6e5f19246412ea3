from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cells.cell import parse_cell_id
from harness.errors import ConfigurationError, StorageError
from harness.releases.lock import Lock, LockedFile
from harness.releases.lockfile import StoredLock, format_lock, lock_path, parse_lock, read_lock, write_lock

FILE = LockedFile(name="tiny", version="1.0", filename="tiny-1.0-py3-none-any.whl", sha256="a" * 64, size=7)
LOCK = Lock(
    python="3.11", platform="x86_64-manylinux_2_36", index="default", as_of="2026-01-31", slim=False, files=(FILE,)
)
STORED = StoredLock(cell="tiny1.0-py3.11-default", requirements=("asv-runner==0.3.2", "numpy"), lock=LOCK)

words = st.text(alphabet=string.printable + "äé✓", min_size=1, max_size=10)
files = st.builds(
    LockedFile,
    name=words,
    version=words,
    filename=words.filter(lambda t: "/" not in t),
    sha256=st.text(alphabet="0123456789abcdef", min_size=64, max_size=64),
    size=st.integers(0, 10**12),
)
stored_locks = st.builds(
    StoredLock,
    cell=words,
    requirements=st.lists(words, max_size=4).map(sorted).map(tuple),
    lock=st.builds(
        Lock,
        python=words,
        platform=words,
        index=words,
        as_of=words,
        slim=st.booleans(),
        files=st.lists(files, min_size=1, max_size=5, unique_by=lambda f: f.name).map(sorted).map(tuple),
    ),
)


@given(stored_locks)
def test_locks_come_back_as_they_were(stored: StoredLock):
    assert parse_lock(format_lock(stored), place="x") == stored


def test_the_text_is_plain_and_sorted():
    other = LockedFile(name="alpha", version="2", filename="alpha-2.tar.gz", sha256="b" * 64)
    lock = Lock(python="3.11", platform="p", index="default", as_of="", slim=True, files=(FILE, other))
    text = format_lock(StoredLock(cell="c", requirements=("z", "a"), lock=lock))
    assert text.index("alpha") < text.index("tiny")
    assert 'requirements = ["a", "z"]' in text
    assert "slim = true" in text
    assert "://" not in text


def test_a_lock_on_disk(tmp_path: Path):
    path = tmp_path / "locks" / "x.lock"
    write_lock(path, STORED)
    assert read_lock(path) == STORED


def test_a_missing_lock_says_how_to_make_one(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        read_lock(tmp_path / "x.lock")
    assert "harness lock" in caught.value.next_step


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(StorageError, match="cannot be written"):
        write_lock(tmp_path / "locks" / "x.lock", STORED)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("schema = 1", "schema = 2", "schema is 2, and this harness reads 1"),
        ('python = "3.11"', "python = 3.11", "python: a text is missing"),
        ("slim = false", 'slim = "no"', "slim: true or false is missing"),
        ('requirements = ["asv-runner==0.3.2", "numpy"]', 'requirements = "numpy"', "requirements: a list"),
        ("schema = 1", 'schema = 1\nurl = "x"', "unknown keys: url"),
        ("a" * 64, "a" * 63, "sha256 is not 64 hexadecimal digits"),
        ("size = 7", "size = -7", "size is not a number of bytes"),
        ("size = 7", "size = true", "size is not a number of bytes"),
        ('"tiny-1.0-py3-none-any.whl"', '"../x.whl"', "filename is a path"),
        ('version = "1.0"', 'version = ""', "an empty text"),
        ("size = 7", 'size = 7\nurl = "x"', "and nothing else"),
        ("[[files]]", "<<<<<<< ours\n[[files]]", "not TOML"),
        ("size = 7\n", "", "wants name, version"),
    ],
)
def test_damage_is_named_with_its_place(old: str, new: str, fault: str):
    text = format_lock(STORED)
    assert old in text
    with pytest.raises(ConfigurationError) as caught:
        parse_lock(text.replace(old, new), place="here.lock")
    assert fault in caught.value.what
    assert caught.value.what.startswith("here.lock: ")


def test_all_faults_come_at_once():
    text = format_lock(STORED).replace("slim = false", "").replace("size = 7", "size = 1.5").replace("a" * 64, "z")
    with pytest.raises(ConfigurationError) as caught:
        parse_lock(text, place="here.lock")
    assert len(caught.value.what.splitlines()) == 3


def test_a_package_twice_and_none_at_all():
    text = format_lock(STORED)
    block = text[text.index("[[files]]") :]
    with pytest.raises(ConfigurationError, match="is there twice"):
        parse_lock(text + "\n" + block, place="x")
    with pytest.raises(ConfigurationError, match="files: there is none"):
        parse_lock(text.replace(block, ""), place="x")


def test_binary_rubbish_is_refused(tmp_path: Path):
    path = tmp_path / "x.lock"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="it is not text"):
        read_lock(path)


def test_cells_that_differ_at_run_time_share_a_lock(tmp_path: Path):
    plain = parse_cell_id("torch1.12.1-py3.10-default+numpy==1.23.5")
    dressed = parse_cell_id("torch1.12.1-py3.10-default+numpy==1.23.5+flag.mkldnn=off+LD_PRELOAD=/lib/x.so")
    assert lock_path(tmp_path, dressed) == lock_path(tmp_path, plain)
    assert lock_path(tmp_path, plain).parent == tmp_path
    for other in ("+slim+numpy==1.23.5", "+numpy==1.23.5+@2026-01-01", "-centos7+numpy==1.23.5"):
        assert lock_path(tmp_path, parse_cell_id(f"torch1.12.1-py3.10-default{other}")) != lock_path(tmp_path, plain)


def test_names_stay_names(tmp_path: Path):
    slash = parse_cell_id("torch1.12.1-py3.10-default+build.PATH=/usr/bin")
    assert lock_path(tmp_path, slash).parent == tmp_path
    long = [parse_cell_id(f"torch1.12.1-py3.10-default+build.X={'x' * 300}{end}") for end in "ab"]
    one, two = (lock_path(tmp_path, cell) for cell in long)
    assert one != two
    assert len(one.name) < 255
