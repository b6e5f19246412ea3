"""The store with the real uv: small wheels from an index on loopback, and torch itself where it is marked."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import logging
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as HttpRequest
from werkzeug import Response

from harness.cells.cell import Cell, parse_cell_id
from harness.cells.wheels import Target, host_glibc
from harness.environments.environment import Environment
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.errors import InstallError, ResolveError
from harness.releases.catalog import load_catalog
from harness.releases.lock import Lock, LockedFile
from harness.releases.resolve import Request, resolve
from harness.releases.sources import sources_for
from harness.releases.uv import Uv

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def make_wheel(name: str, version: str, files: Mapping[str, str], *, scripts: Mapping[str, str] | None = None) -> bytes:
    info = f"{name}-{version}.dist-info"
    contents = dict(files) | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    rows = []
    for path, text in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(text.encode())}\n")
    contents[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
    return buffer.getvalue()


@dataclass
class Index:
    """A simple index on loopback that can be told to misbehave."""

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    #: What to answer instead for a file: bytes, or a status.
    instead: dict[str, bytes | int] = field(default_factory=dict)
    delay: float = 0.0

    def offer(self, name: str, version: str, files: Mapping[str, str] | None = None, **extra) -> LockedFile:
        filename = f"{name}-{version}-py3-none-any.whl"
        files = files or {f"{name}/__init__.py": f"__version__ = {version!r}\n"}
        data = self.files[filename] = make_wheel(name, version, files, **extra)
        digest = hashlib.sha256(data).hexdigest()
        return LockedFile(name=name, version=version, filename=filename, sha256=digest, size=len(data))

    def answer(self, request: HttpRequest) -> Response:
        self.requests.append(request.path)
        if request.path.startswith("/files/"):
            name = request.path.removeprefix("/files/")
            data = self.instead.get(name, self.files[name])
            time.sleep(self.delay)
            return Response(status=data) if isinstance(data, int) else Response(data)
        project = request.path.removeprefix("/simple/").strip("/")
        links = [
            f'<a href="/files/{name}#sha256={hashlib.sha256(data).hexdigest()}">{name}</a>'
            for name, data in self.files.items()
            if name.split("-")[0].replace("_", "-") == project
        ]
        return Response("<!DOCTYPE html>" + "".join(links), content_type="text/html", status=200 if links else 404)


@pytest.fixture
def index(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Index:
    index = Index()
    httpserver.expect_request(re.compile(".*")).respond_with_handler(index.answer)
    for name in [n for n in os.environ if n.startswith("UV_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", httpserver.url_for("/simple"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    return index


@pytest.fixture
def store() -> Store:
    # As in use: environments and uv's cache below one folder, the cache of this test alone.
    return Store(Path(os.environ["HARNESS_CACHE"]) / "environments", margin=1 << 20)


def cell_of(text: str = f"alpha1.0-py{PYTHON}-default") -> Cell:
    return parse_cell_id(text)


def lock_of(*files: LockedFile, slim: bool = False) -> Lock:
    return Lock(python=PYTHON, platform="any", index="default", as_of="", slim=slim, files=tuple(sorted(files)))


def run_in(environment: Environment, code: str) -> str:
    command = [str(environment.python), "-c", code]
    variables = clean_variables(cell_of(), environment)
    return subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout.strip()


def test_environment_holds_what_its_lock_says_and_works_where_it_was_moved_to(index: Index, store: Store):
    alpha = index.offer("alpha", "1.0", {"alpha.py": "def main():\n    import sys\n    print('alpha', sys.prefix)\n"},
                        scripts={"alpha-run": "alpha:main"})  # fmt: skip
    beta = index.offer("beta", "2.0")
    environment = store.ensure(cell_of(), lock_of(alpha, beta))

    assert environment.path == store.root / environment.key
    assert run_in(environment, "import alpha, beta; print(beta.__version__)") == "2.0"
    script = subprocess.run([environment.path / "bin" / "alpha-run"], capture_output=True, text=True, check=True)
    assert script.stdout.split() == ["alpha", str(environment.path)]
    assert list(environment.path.glob("lib/*/site-packages/__pycache__/alpha.*.pyc")), "not byte-compiled"
    assert not any((store.root / "building").iterdir())
    assert (store.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    [health] = store.check(deep=True)
    assert health.reason is None


def test_second_ensure_asks_nobody(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    assert store.lookup(cell_of(), lock) is None
    first = store.ensure(cell_of(), lock)
    index.requests.clear()
    assert store.ensure(cell_of(), lock) == first == store.lookup(cell_of(), lock)
    # Variables of the measured process and flags need no other environment.
    assert store.ensure(cell_of().but(env=(("OMP_NUM_THREADS", "1"),)), lock) == first
    assert index.requests == []


def test_files_are_hard_links_into_the_cache(index: Index, store: Store):
    alpha, beta, gamma = (index.offer(name, "1.0") for name in ("alpha", "beta", "gamma"))
    one = store.ensure(cell_of(), lock_of(alpha, beta))
    two = store.ensure(cell_of(), lock_of(alpha, gamma))
    assert one.key != two.key
    [a], [b] = (list(e.path.glob("lib/*/site-packages/alpha/__init__.py")) for e in (one, two))
    assert a.samefile(b)
    assert a.stat().st_nlink == 3


def test_byte_code_is_compiled_once_and_linked_after(index: Index, store: Store):
    alpha, beta = index.offer("alpha", "1.0"), index.offer("beta", "1.0")
    one = store.ensure(cell_of(), lock_of(alpha))
    two = store.ensure(cell_of(), lock_of(alpha, beta))
    [a], [b] = (list(e.path.glob("lib/*/site-packages/alpha/__pycache__/*.pyc")) for e in (one, two))
    assert a.samefile(b)
    # Flags of PEP 552: by hash, and not checked against the source.
    assert int.from_bytes(a.read_bytes()[4:8], "little") == 0b01
    # It holds even when the source gets another date, and names the source where it really is.
    [source] = two.path.glob("lib/*/site-packages/alpha/__init__.py")
    os.utime(source, (1, 1))
    code = "import alpha, sys; print(alpha.__spec__.cached, alpha.__file__)"
    assert run_in(two, code).split() == [str(b), str(source)]
    # Removing the environments leaves it for the next, until the disk is wanted back.
    assert store.remove(one.key)
    assert store.remove(two.key)
    three = store.ensure(cell_of(), lock_of(alpha))
    [c] = three.path.glob("lib/*/site-packages/alpha/__pycache__/*.pyc")
    assert c.stat().st_ino in {path.stat().st_ino for path in store.bytecode.rglob("*.pyc")}
    store.prune(0)
    assert not list(store.bytecode.rglob("*.pyc"))


def test_module_that_no_python_can_read_does_not_stop_a_build(index: Index, store: Store):
    alpha = index.offer("alpha", "1.0", {"alpha/__init__.py": "x = 1\n", "alpha/old.py": "print 'two'\n"})
    environment = store.ensure(cell_of(), lock_of(alpha))
    assert run_in(environment, "import alpha; print(alpha.x)") == "1"


BACKEND = """
import os, zipfile
def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "flagged-1.0-py3-none-any.whl"
    info = "flagged-1.0.dist-info"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w") as wheel:
        wheel.writestr("flagged.py", "flag = %r" % os.environ.get("USE_FLAG"))
        wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: flagged\\nVersion: 1.0\\n")
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "/RECORD", "flagged.py,,\\n")
    return name
"""


def test_build_variables_reach_the_build_and_nothing_else(index: Index, store: Store, tmp_path: Path):
    project = tmp_path / "flagged-1.0"
    project.mkdir()
    (project / "backend.py").write_text(BACKEND)
    (project / "PKG-INFO").write_text("Metadata-Version: 2.2\nName: flagged\nVersion: 1.0\n")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "flagged"\nversion = "1.0"\n'
    )
    archive = tmp_path / "flagged-1.0.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(project, "flagged-1.0")
    data = index.files[archive.name] = archive.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    lock = lock_of(LockedFile(name="flagged", version="1.0", filename=archive.name, sha256=digest, size=len(data)))
    cell = parse_cell_id(f"flagged1.0-py{PYTHON}-default")
    for value in ("one", "two"):  # byte code of the first would be taken for that of the second by the archive's hash
        environment = store.ensure(cell.but(build=(("USE_FLAG", value),)), lock)
        assert run_in(environment, "import flagged; print(flagged.flag)") == value
    assert len(store.list()) == 2
    assert [health.reason for health in store.check(deep=True)] == [None, None]


def test_key_tells_apart_what_differs(index: Index, store: Store):
    from harness.environments.pythons import find_python

    alpha, beta = index.offer("alpha", "1.0"), index.offer("beta", "1.0")
    interpreter = find_python(PYTHON)
    cell = cell_of()
    keys = {
        store.key(cell, lock_of(alpha), interpreter),
        store.key(cell, lock_of(alpha, beta), interpreter),
        store.key(cell.but(build=(("DEBUG", "1"),)), lock_of(alpha), interpreter),
        store.key(cell.but(slim=True), lock_of(alpha, slim=True), interpreter),
    }
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (404, "no index that was asked has a file"),
        (500, "the index failed while it answered"),
        (b"not a wheel", "a downloaded file is damaged"),
        (make_wheel("alpha", "1.0", {"alpha.py": "another = True"}), "not the one that was locked"),
    ],
)
def test_failure_of_the_index_is_told_in_plain_words(index: Index, store: Store, fault: int | bytes, words: str):
    alpha = index.offer("alpha", "1.0")
    index.instead[alpha.filename] = fault
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of(), lock_of(alpha))
    assert words in caught.value.why, str(caught.value)
    assert "alpha" in caught.value.what
    assert caught.value.next_step
    assert store.list() == ()
    assert not any((store.root / "building").iterdir())


def test_file_that_nobody_offers(index: Index, store: Store):
    alpha = index.offer("alpha", "1.0")
    other = LockedFile(name="alpha", version="1.0", filename=alpha.filename, sha256="0" * 64, size=1)
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of(), lock_of(other))
    assert "lock" in caught.value.why, str(caught.value)
    gone = LockedFile(name="gone", version="3.0", filename="gone-3.0-py3-none-any.whl", sha256="0" * 64, size=1)
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of(), lock_of(gone))
    assert "no index that was asked has a file of the lock" in caught.value.why, str(caught.value)


def test_no_network(index: Index, store: Store, monkeypatch: pytest.MonkeyPatch):
    alpha = index.offer("alpha", "1.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of(), lock_of(alpha))
    assert caught.value.why == "the index cannot be reached", str(caught.value)


def test_passwords_of_indexes_are_not_shown(index: Index, store: Store, monkeypatch: pytest.MonkeyPatch):
    alpha = index.offer("alpha", "1.0")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://user:hunter2@127.0.0.1:9/simple")
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of(), lock_of(alpha))
    assert "hunter2" not in str(caught.value)


def test_too_little_disk_is_known_before_anything_is_fetched(index: Index):
    alpha = index.offer("alpha", "1.0")
    huge = LockedFile(name="alpha", version="1.0", filename=alpha.filename, sha256=alpha.sha256, size=10**15)
    store = Store(Path(os.environ["HARNESS_CACHE"]) / "environments")
    with pytest.raises(InstallError, match=r"needs 2200000\.\d GB of free disk, and .* has \d+") as caught:
        store.ensure(cell_of(), lock_of(huge))
    assert "harness env prune" in caught.value.next_step
    assert index.requests == []


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a tmpfs needs root")
    try:
        monkeypatch.setenv("HARNESS_CACHE", str(folder))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_disk_that_fills_up_during_a_build(index: Index, small_disk: Path):
    # The lock understates the size, as one from an index that does not tell sizes does.
    big = index.offer("big", "1.0", {"big.py": "x = 1\n" * 3_000_000})
    lock = lock_of(LockedFile(name="big", version="1.0", filename=big.filename, sha256=big.sha256, size=0))
    store = Store(small_disk / "environments", margin=1 << 20)
    with pytest.raises(InstallError) as caught:
        store.ensure(cell_of("big1.0-py" + PYTHON + "-default"), lock)
    assert caught.value.why == "the disk is full", str(caught.value)
    assert store.list() == ()
    assert not any((store.root / "building").iterdir())


CHILD = """
import logging, sys
from pathlib import Path
logging.basicConfig(level=logging.INFO, format="%(message)s")
from harness.cells.cell import parse_cell_id
from harness.environments.store import Store
from harness.releases.lock import Lock, LockedFile
store = Store(Path(sys.argv[1]), margin=1 << 20)
lock = eval(sys.argv[3])
print(store.ensure(parse_cell_id(sys.argv[2]), lock).key)
"""


def in_other_process(store: Store, lock: Lock) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CHILD, str(store.root), cell_of().id, repr(lock)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_of_two_processes_one_builds_and_the_other_waits(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    index.delay = 1.5
    processes = [in_other_process(store, lock) for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0]
    logs = sorted(err for _, err in outputs)
    assert sum("another process builds" in text for text in logs) == 1, logs
    assert sum("built alpha" in text for text in logs) == 1, logs
    assert sum(path.startswith("/files/") for path in index.requests) == 1


def test_killed_build_leaves_nothing_half_done(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    index.delay = 3.0
    process = in_other_process(store, lock)
    wait_for(lambda: any(path.startswith("/files/") for path in index.requests))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert store.list() == ()
    leftovers = list((store.root / "building").iterdir())
    assert leftovers, "the build was killed too late for this test"

    index.delay = 0.0
    environment = store.ensure(cell_of(), lock)
    assert run_in(environment, "import alpha; print(alpha.__version__)") == "1.0"
    assert [health.reason for health in store.check()] == [None]
    # The killed harness's uv lives on for a while, and writes where it began: that goes with the next build.
    wait_for(lambda: not processes_that_name(store.root / "building"))
    store.ensure(cell_of(), lock_of(index.offer("beta", "1.0")))
    assert not any((store.root / "building").iterdir())


def processes_that_name(path: Path) -> list[Path]:
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if str(path).encode() in command.read_bytes():
                found.append(command)
    return found


def test_leftovers_of_another_environment_are_removed_but_not_what_is_being_built(index: Index, store: Store):
    from harness.environments.locking import exclusive

    store.ensure(cell_of(), lock_of(index.offer("alpha", "1.0")))
    dead, alive = (store.root / "building" / f"{letter * 32}.x" for letter in "ab")
    for folder in (dead, alive):
        folder.mkdir()
    with exclusive(store.root / "locks" / f"{'b' * 32}.lock", "never"):
        store.ensure(cell_of(), lock_of(index.offer("beta", "1.0")))
        assert not dead.exists()
        assert alive.exists()


def test_wheel_whose_metadata_was_rewritten_is_not_fetched_twice(index: Index, store: Store):
    index.offer("alpha", "1.0")
    (name, data), buffer = next(iter(index.files.items())), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for path in old.namelist():
            text = old.read(path).decode()
            new.writestr(path, text + "Summary: rewritten\n" if path.endswith("METADATA") else text)
    index.files[name] = buffer.getvalue()
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    locked = LockedFile(name="alpha", version="1.0", filename=name, sha256=digest, size=len(buffer.getvalue()))
    store.ensure(cell_of(), lock_of(locked))
    assert index.requests.count(f"/files/{name}") == 1
    assert [health.reason for health in store.check()] == [None]


def test_file_damaged_in_the_cache_is_fetched_again(index: Index, store: Store, caplog: pytest.LogCaptureFixture):
    alpha, beta = index.offer("alpha", "1.0"), index.offer("beta", "1.0")
    first = store.ensure(cell_of(), lock_of(alpha))
    [file] = first.path.glob("lib/*/site-packages/alpha/__init__.py")
    file.write_text("")  # a hard link: the cache's copy is damaged with it
    [health] = store.check()
    assert health.reason is not None
    assert "alpha/__init__.py (alpha) has 0 bytes instead of" in health.reason

    with caplog.at_level(logging.WARNING):
        second = store.ensure(cell_of(), lock_of(alpha, beta))
    assert "damaged in uv's cache, fetched again: alpha" in caplog.text
    assert run_in(second, "import alpha; print(alpha.__version__)") == "1.0"
    reasons = {h.key: h.reason for h in store.check(deep=True)}
    assert reasons[second.key] is None
    assert reasons[first.key] is not None


def spoil_interpreter(path: Path) -> None:
    (path / "bin" / "python").unlink()
    (path / "bin" / "python").symlink_to("/no/such/python3")


def spoil_manifest(path: Path) -> None:
    (path / "harness.json").write_text("{")


def spoil_lock(path: Path) -> None:
    text = (path / "harness.json").read_text()
    (path / "harness.json").write_text(text.replace('"version": "1.0"', '"version": "1.1"'))


def spoil_file(path: Path) -> None:
    [file] = path.glob("lib/*/site-packages/alpha/__init__.py")
    file.unlink()


def spoil_contents(path: Path) -> None:
    [file] = path.glob("lib/*/site-packages/alpha/__init__.py")
    text = file.read_text()
    file.unlink()
    file.write_text(text.replace("1.0", "9.0"))


def spoil_packages(path: Path) -> None:
    [folder] = path.glob("lib/*/site-packages")
    (folder / "intruder-1.0.dist-info").mkdir()


@pytest.mark.parametrize(
    ("spoil", "reason", "deep"),
    [
        (spoil_interpreter, "its interpreter .* is gone", False),
        (spoil_manifest, "harness.json cannot be read", False),
        (spoil_lock, "alpha is 1.0 and its lock says 1.1", False),
        (spoil_file, r"alpha/__init__.py \(alpha\) is missing", False),
        (spoil_contents, r"alpha/__init__.py \(alpha\) has other contents", True),
        (spoil_packages, "packages were added that its lock does not have: intruder", False),
    ],
)
def test_check_says_why_an_environment_is_ill(
    index: Index, store: Store, spoil: Callable[[Path], None], reason: str, deep: bool
):
    environment = store.ensure(cell_of(), lock_of(index.offer("alpha", "1.0")))
    spoil(environment.path)
    [health] = store.check(deep=deep)
    assert health.reason is not None
    assert re.search(reason, health.reason), health.reason
    if deep:
        assert [quick.reason for quick in store.check()] == [None]


@pytest.mark.parametrize("spoil", [spoil_interpreter, spoil_manifest])
def test_environment_that_is_plainly_broken_is_built_again(index: Index, store: Store, spoil: Callable[[Path], None]):
    lock = lock_of(index.offer("alpha", "1.0"))
    environment = store.ensure(cell_of(), lock)
    spoil(environment.path)
    assert store.lookup(cell_of(), lock) is None
    again = store.ensure(cell_of(), lock)
    assert again.key == environment.key
    assert [health.reason for health in store.check()] == [None]


def test_environment_that_a_check_found_ill_is_built_again_from_a_fresh_download(index: Index, store: Store):
    alpha, beta = index.offer("alpha", "1.0"), index.offer("beta", "1.0")
    lock = lock_of(alpha, beta)
    environment = store.ensure(cell_of(), lock)
    [file] = environment.path.glob("lib/*/site-packages/alpha/__init__.py")
    file.write_text(file.read_text().replace("1.0", "9.0"))  # in uv's cache too, and of the same size
    assert store.ensure(cell_of(), lock) == environment, "nobody has looked yet"
    assert [health.damaged for health in store.check(deep=True)] == [("alpha",)]
    assert store.lookup(cell_of(), lock) is None
    index.requests.clear()
    again = store.ensure(cell_of(), lock)
    assert again.key == environment.key
    assert [health.reason for health in store.check(deep=True)] == [None]
    assert run_in(again, "import alpha; print(alpha.__version__)") == "1.0"
    assert f"/files/{alpha.filename}" in index.requests
    assert f"/files/{beta.filename}" not in index.requests


def test_environment_that_was_damaged_since_is_built_again(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    environment = store.ensure(cell_of(), lock)
    [module] = environment.path.glob("lib/*/site-packages/alpha/__init__.py")
    module.unlink()
    assert store.lookup(cell_of(), lock) == environment, "planning does not look at files"
    assert store.lookup(cell_of(), lock, examined=True) is None
    store.ill(environment.key).unlink()
    store.ensure(cell_of(), lock)
    assert module.exists()


def test_environment_that_was_mended_is_used_again(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    environment = store.ensure(cell_of(), lock)
    [folder] = environment.path.glob("lib/*/site-packages")
    (folder / "intruder-1.0.dist-info").mkdir()
    store.check()
    assert store.lookup(cell_of(), lock) is None
    (folder / "intruder-1.0.dist-info").rmdir()
    store.check()
    assert store.lookup(cell_of(), lock) == environment


def test_asking_is_not_using(index: Index, store: Store):
    lock = lock_of(index.offer("alpha", "1.0"))
    environment = store.ensure(cell_of(), lock)
    os.utime(environment.path / ".last-use", (1, 1))
    store.lookup(cell_of(), lock)
    assert store.list()[0].last_used.year == 1970
    with store.using(environment):
        assert store.list()[0].last_used.year > 1970


def big_file(index: Index, name: str) -> LockedFile:
    # Incompressible, so that its size on the disk is known.
    return index.offer(name, "1.0", {f"{name}.txt": base64.b64encode(os.urandom(3_000_000)).decode()})


def test_prune_removes_what_was_used_least_lately(index: Index, store: Store):
    files = [big_file(index, name) for name in ("alpha", "beta", "gamma")]
    environments = [store.ensure(cell_of(), lock_of(file)) for file in files]
    for age, environment in zip((300, 100, 200), environments, strict=True):
        stamp = time.time() - age  # a file's time is a date
        os.utime(environment.path / ".last-use", (stamp, stamp))
    assert [entry.key for entry in store.list()] == [environments[n].key for n in (1, 2, 0)]

    report = store.prune(10**9)
    assert report.fits
    assert report.removed == ()
    assert report.before > 12_000_000
    # Each file is 4 MB and counted once, though the cache has it too.
    assert report.before < 16_000_000

    report = store.prune(9_500_000)
    assert report.fits
    assert [entry.key for entry in report.removed] == [environments[0].key]
    assert report.after < 9_500_000
    assert {entry.key for entry in store.list()} == {environments[1].key, environments[2].key}
    assert [health.reason for health in store.check(deep=True)] == [None, None]

    # What was pruned can be had again.
    store.ensure(cell_of(), lock_of(files[0]))
    assert len(store.list()) == 3


def test_prune_spares_what_is_in_use(index: Index, store: Store):
    environment = store.ensure(cell_of(), lock_of(big_file(index, "alpha")))
    idle = store.ensure(cell_of(), lock_of(big_file(index, "beta")))
    with store.using(environment):
        assert {entry.key: entry.in_use for entry in store.list()} == {environment.key: True, idle.key: False}
        report = store.prune(0)
        assert [entry.key for entry in report.removed] == [idle.key]
        assert [entry.key for entry in report.kept_in_use] == [environment.key]
        assert not report.fits
        assert environment.python.exists()
    assert store.prune(0).removed[0].key == environment.key
    with pytest.raises(InstallError, match="was pruned or found ill meanwhile"), store.using(environment):
        pass


def test_errors_of_whoever_uses_an_environment_are_left_alone(index: Index, store: Store):
    environment = store.ensure(cell_of(), lock_of(index.offer("alpha", "1.0")))
    with pytest.raises(FileNotFoundError, match="theirs"), store.using(environment):
        Path("/no/such/theirs").read_text()


def test_prune_first_frees_downloads_that_no_environment_has(index: Index, store: Store):
    kept = store.ensure(cell_of(), lock_of(big_file(index, "alpha")))
    gone = store.ensure(cell_of(), lock_of(big_file(index, "beta")))
    assert store.remove(gone.key)
    report = store.prune(6_000_000)
    assert report.fits
    assert report.removed == ()
    assert report.cache_cleaned
    assert [entry.key for entry in store.list()] == [kept.key]


def test_prune_leaves_a_cache_alone_that_others_use_too(
    index: Index, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "shared"))
    environment = store.ensure(cell_of(), lock_of(big_file(index, "alpha")))
    report = store.prune(0)
    assert report.cache is None
    assert [entry.key for entry in report.removed] == [environment.key]
    assert list((tmp_path / "shared").rglob("alpha.txt"))


def test_nothing_is_deleted_in_a_folder_of_others(tmp_path: Path):
    folder = tmp_path / "precious"
    (folder / ("c" * 32)).mkdir(parents=True)
    store = Store(folder)
    with pytest.raises(InstallError, match="nothing in it is deleted"):
        store.prune(0)
    with pytest.raises(InstallError, match="nothing in it is deleted"):
        store.remove("c" * 32)
    assert (folder / ("c" * 32)).is_dir()


def test_store_that_cannot_be_made(index: Index, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InstallError, match="cannot be written"):
        Store(tmp_path / "file" / "store").ensure(cell_of(), lock_of(index.offer("alpha", "1.0")))


# --- torch itself -----------------------------------------------------------------------------------------------------

COMPUTE = """
import os, tempfile, torch
assert not torch.cuda.is_available()
conv, x = torch.nn.Conv2d(3, 8, 3), torch.randn(2, 3, 16, 16, requires_grad=True)
conv(x).sum().backward()
assert x.grad.abs().sum() > 0
lstm = torch.nn.LSTM(8, 8)
lstm(torch.randn(4, 2, 8))[0].sum().backward()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "weights.pt")
    torch.save(conv.state_dict(), path)
    conv.load_state_dict(torch.load(path))
a = torch.randn(64, 64, dtype=torch.float64)
assert torch.allclose(a @ torch.linalg.inv(a), torch.eye(64, dtype=torch.float64))
assert torch.allclose(torch.jit.trace(conv, x)(x), conv(x))
data = torch.utils.data.TensorDataset(torch.arange(8.0))
assert sum(batch[0].sum() for batch in torch.utils.data.DataLoader(data, 2, num_workers=1)) == 28
try:
    torch.zeros(1).cuda()
except (RuntimeError, AssertionError) as error:
    print(type(error).__name__, error)
else:
    raise SystemExit("CUDA works")
"""


def locked(cell: Cell, cache: Path, *requirements: str) -> Lock:
    """The lock of a cell, as a run makes it; skips where no index and no folder offers the release."""
    sources = sources_for(["default"], environ=os.environ)
    try:
        catalog = load_catalog(cell.subject, sources, cache=cache)
        target = Target(python=cell.python_minor, glibc=host_glibc())
        request = Request(cell=cell, target=target, offers=catalog.files, requirements=requirements)
        return resolve(request, Uv(sources=sources, cache=cache, environ=os.environ))
    except ResolveError as error:
        pytest.skip(f"this release cannot be had here: {error.what}")


@pytest.mark.torch
@pytest.mark.skipif(PYTHON != "3.11", reason="the wheel in the folder is for Python 3.11")
def test_torch_for_the_cpu(shared_cache: Path):
    cell = parse_cell_id("torch2.13.0-py3.11-cpu")
    environment = Store.default().ensure(cell, locked(cell, shared_cache, "numpy"))
    assert "AssertionError" in run_in(environment, COMPUTE)
    assert run_in(environment, "import torch; print(torch.__version__)") == "2.13.0+cpu"
    [health] = [health for health in Store.default().check() if health.key == environment.key]
    assert health.reason is None


@pytest.mark.torch
@pytest.mark.parametrize("release", ["2.0.1", "2.15.0"])
def test_slim_torch_computes_and_sees_no_gpu(shared_cache: Path, release: str):
    python = "3.10" if release == "2.0.1" else "3.11"
    cell = parse_cell_id(f"torch{release}-py{python}-default+slim")
    lock = locked(cell, shared_cache, "numpy", "setuptools<70" if release == "2.0.1" else "setuptools")
    assert not [file.name for file in lock.files if file.name.startswith("nvidia")]
    environment = Store.default().ensure(cell, lock)
    # Every symbol must be there, also those that lazy binding would never miss.
    code = f"import os; assert os.environ['LD_BIND_NOW']\n{COMPUTE}"
    variables = clean_variables(cell.but(env=(("LD_BIND_NOW", "1"),)), environment)
    command = [str(environment.python), "-c", code]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no version information" not in done.stderr
    assert done.stdout.split()[0] == "RuntimeError"
    [health] = [health for health in Store.default().check() if health.key == environment.key]
    assert health.reason is None
