"""The whole way from an index to a lock: a tiny index on loopback, tiny wheels, and the real uv."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as WebRequest
from werkzeug import Response

from harness import proc
from harness.cells.cell import Cell, parse_cell_id
from harness.cells.wheels import Target
from harness.errors import ResolveError
from harness.releases.catalog import load_catalog
from harness.releases.line import read_line, refresh_line
from harness.releases.lock import Lock
from harness.releases.lockfile import lock_path, read_lock
from harness.releases.locks import LockState, check_lock, lock_for, update_lock
from harness.releases.resolve import Request, resolve
from harness.releases.sources import sources_for
from harness.releases.uv import Uv, uv_environment

TODAY = date(2026, 11, 29)
TARGET = Target(python=(3, 11), glibc=(2, 36), machine="x86_64")


def build_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    tag: str = "py3-none-any",
    python: str = ">=3.8",
) -> Path:
    stem = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{stem}-{tag}.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {python}\n"
    metadata += "".join(f"Requires-Dist: {r}\n" for r in requires)
    files = {
        f"{name.replace('-', '_')}.py": f"__version__ = {version!r}\n",
        f"{stem}.dist-info/METADATA": metadata,
        f"{stem}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(
        f"{file},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}\n"
        for file, text in files.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in [*files.items(), (f"{stem}.dist-info/RECORD", record + f"{stem}.dist-info/RECORD,,\n")]:
            # A fixed date keeps the hash of a wheel the same in every run.
            archive.writestr(zipfile.ZipInfo(file), text)
    return path


@dataclass
class Index:
    """A simple index on loopback that can also misbehave."""

    server: HTTPServer
    folder: Path
    prefix: str = "simple"
    json: bool = True
    files: dict[str, list[tuple[Path, str]]] = field(default_factory=dict)
    broken: int = 0

    def __post_init__(self) -> None:
        self.server.expect_request(re.compile(rf"/{self.prefix}/.*")).respond_with_handler(self._answer)

    @property
    def url(self) -> str:
        return self.server.url_for(f"/{self.prefix}")

    def add(self, name: str, version: str, day: str = "2020-01-01", **more) -> Path:
        path = build_wheel(self.folder / self.prefix, name, version, **more)
        self.files.setdefault(name, []).append((path, day))
        return path

    def _answer(self, request: WebRequest) -> Response:
        if self.broken:
            return Response("broken", status=self.broken)
        name = request.path.removeprefix(f"/{self.prefix}/").strip("/")
        if name.startswith("files/"):
            return Response((self.folder / self.prefix / name.removeprefix("files/")).read_bytes())
        if name not in self.files:
            return Response("no such project", status=404)
        return self._json(name) if self.json else self._html(name)

    def _json(self, name: str) -> Response:
        rows = [
            {
                "filename": path.name,
                "url": f"../files/{path.name}",
                "hashes": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
                "size": path.stat().st_size,
                "upload-time": f"{day}T10:00:00Z",
                "requires-python": ">=3.8",
            }
            for path, day in self.files[name]
        ]
        document = {"meta": {"api-version": "1.1"}, "name": name, "files": rows, "versions": []}
        return Response(json.dumps(document), content_type="application/vnd.pypi.simple.v1+json")

    def _html(self, name: str) -> Response:
        links = "".join(
            f'<a href="../files/{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}">{path.name}</a>\n'
            for path, _ in self.files[name]
        )
        return Response(f"<!DOCTYPE html><html><body>{links}</body></html>", content_type="text/html")


@pytest.fixture
def index(httpserver: HTTPServer, tmp_path: Path) -> Index:
    """`tiny` in two releases, with a dependency that moved on, and a CUDA stack that only slim cells leave out."""
    index = Index(httpserver, tmp_path / "index")
    index.add("tiny", "1.0", "2022-08-05", requires=["helper"])
    index.add("tiny", "2.0", "2026-11-20", requires=["helper", "nvidia-big", "triton"])
    index.add("helper", "1.0", "2022-01-01")
    index.add("helper", "1.5", "2022-09-04")
    index.add("helper", "2.0", "2022-09-05")
    index.add("nvidia-big", "1.0", "2022-01-01", requires=["nvidia-more", "cmake"])
    index.add("nvidia-more", "1.0", "2022-01-01")
    index.add("triton", "1.0", "2022-01-01", requires=["lit"])
    index.add("cmake", "1.0", "2022-01-01")
    index.add("lit", "1.0", "2022-01-01")
    index.add("numpy", "1.0", "2022-01-01")
    index.add("numpy", "2.0", "2026-01-01")
    index.add("asv-runner", "0.3.2", "2026-06-01")
    return index


@dataclass
class Place:
    """What a test asks: the sources, uv and the requests built on them."""

    environ: dict[str, str]
    cache: Path
    index_base: str = ""

    def uv(self, backend: str = "default", *, offline: bool = False) -> Uv:
        sources = sources_for([backend], index_base=self.index_base, environ=self.environ)
        return Uv(sources=sources, cache=self.cache, environ=self.environ, offline=offline)

    def request(self, cell: str, *, requirements: Sequence[str] = ("numpy",), offline: bool = False) -> Request:
        parsed: Cell = parse_cell_id(cell)
        catalog = load_catalog("tiny", self.uv(parsed.backend).sources, cache=self.cache, offline=offline)
        return Request(cell=parsed, target=TARGET, offers=catalog.files_of(parsed.release), requirements=requirements)

    def lock(self, cell: str, **more) -> Lock:
        request = self.request(cell, **more)
        return resolve(request, self.uv(request.cell.backend), today=TODAY)


@pytest.fixture
def place(index: Index, tmp_path: Path) -> Place:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    return Place(environ=kept | {"UV_DEFAULT_INDEX": index.url, "UV_HTTP_RETRIES": "0"}, cache=tmp_path / "cache")


def versions(lock: Lock) -> dict[str, str]:
    return {file.name: file.version for file in lock.files}


def test_packages_are_those_of_the_releases_day(place: Place):
    lock = place.lock("tiny1.0-py3.11-default")
    # 2022-08-05 and 30 days: helper 1.5 came on that very day, helper 2.0 the day after; the runner years later.
    assert lock.as_of == "2022-09-04"
    assert versions(lock) == {"asv-runner": "0.3.2", "helper": "1.5", "numpy": "1.0", "tiny": "1.0"}
    assert (lock.platform, lock.index, lock.python) == ("x86_64-manylinux_2_36", "default", "3.11")
    assert all(file.size > 0 and len(file.sha256) == 64 for file in lock.files)


def test_a_cells_own_date_and_packages_win(place: Place):
    assert versions(place.lock("tiny1.0-py3.11-default+@2022-09-05"))["helper"] == "2.0"
    assert versions(place.lock("tiny1.0-py3.11-default+numpy==2.0"))["numpy"] == "2.0"
    assert versions(place.lock("tiny1.0-py3.11-default", requirements=["numpy", "helper<1.5"]))["helper"] == "1.0"


def test_a_slim_lock_leaves_out_cuda_and_what_only_cuda_needs(place: Place):
    full, slim = place.lock("tiny2.0-py3.11-default"), place.lock("tiny2.0-py3.11-default+slim")
    assert full.as_of == slim.as_of == "2026-11-29"
    assert versions(full).keys() - versions(slim).keys() == {"nvidia-big", "nvidia-more", "triton", "cmake", "lit"}
    assert slim.slim
    assert slim.digest != full.digest


def install(lock: Lock, uv: Uv, venv: Path, *more: str) -> str:
    """Installs a lock as the store does, and returns the installed versions of tiny and helper."""
    from uv import find_uv_bin

    environment = uv_environment(uv)
    if not venv.exists():
        proc.run([find_uv_bin(), "venv", "--quiet", "--python", "3.11", venv], env=environment)
    requirements = venv / "requirements.txt"
    requirements.write_text(lock.requirements())
    sync = [find_uv_bin(), "pip", "sync", "--quiet", "--require-hashes", "--python", venv / "bin/python"]
    proc.run([*sync, *more, requirements], env=environment)
    program = "from importlib.metadata import version; print(version('tiny'), version('helper'))"
    return proc.run([venv / "bin/python", "-c", program]).stdout.strip()


def test_a_lock_installs_as_it_says(place: Place, tmp_path: Path):
    lock = place.lock("tiny2.0-py3.11-default+slim")
    assert install(lock, place.uv(), tmp_path / "venv") == "2.0 2.0"
    forged = replace(lock, files=tuple(replace(file, sha256="0" * 64) for file in lock.files))
    with pytest.raises(proc.CommandError):
        install(forged, place.uv(), tmp_path / "venv", "--reinstall")


def test_builds_of_one_release_install_beside_each_other(place: Place, tmp_path: Path):
    build_wheel(tmp_path / "wheels", "tiny", "1.0+cpu", requires=["helper"])
    place.environ["UV_FIND_LINKS"] = str(tmp_path / "wheels")
    for backend, version in (("default", "1.0"), ("cpu", "1.0+cpu")):
        lock = place.lock(f"tiny1.0-py3.11-{backend}")
        assert install(lock, place.uv(backend), tmp_path / backend) == f"{version} 1.5"


def test_a_folder_offers_a_backend_and_does_not_disturb_the_default(place: Place, tmp_path: Path):
    folder = tmp_path / "wheels"
    wheel = build_wheel(folder, "tiny", "1.0+cpu", requires=["helper"])
    place.environ["UV_FIND_LINKS"] = str(folder)
    cpu, default = place.lock("tiny1.0-py3.11-cpu"), place.lock("tiny1.0-py3.11-default")
    assert (cpu.index, default.index) == ("find-links", "default")
    assert (cpu.version_of("tiny"), default.version_of("tiny")) == ("1.0+cpu", "1.0")
    assert cpu.as_of == default.as_of == "2022-09-04"
    file = next(file for file in cpu.files if file.name == "tiny")
    assert (file.filename, file.size) == (wheel.name, wheel.stat().st_size)
    assert file.sha256 == hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_a_backends_own_index_gives_the_subject_and_the_default_one_the_rest(place: Place, httpserver, tmp_path: Path):
    # As PyTorch's indexes: HTML without dates, with old copies of common packages beside the builds.
    own = Index(httpserver, tmp_path / "index", prefix="whl/cpu", json=False)
    own.add("tiny", "1.0+cpu", requires=["helper", "numpy"])
    own.add("numpy", "0.5")
    own.add("numpy", "9.0")
    place.index_base = httpserver.url_for("/whl")
    lock = place.lock("tiny1.0-py3.11-cpu")
    assert lock.index == "cpu"
    assert versions(lock) == {"asv-runner": "0.3.2", "helper": "1.5", "numpy": "1.0", "tiny": "1.0+cpu"}


def test_a_nightly_is_found_in_its_own_index(place: Place, httpserver, tmp_path: Path):
    nightly = Index(httpserver, tmp_path / "index", prefix="whl/nightly/cpu", json=False)
    nightly.add("tiny", "3.0.dev20221001+cpu", requires=["helper"])
    cell = parse_cell_id("tiny3.0.dev20221001-py3.11-cpu")
    sources = sources_for(["cpu"], nightly_base=httpserver.url_for("/whl/nightly"), environ=place.environ)
    catalog = load_catalog("tiny", sources, cache=place.cache)
    assert catalog.releases(pre=True)[-1] == cell.release
    request = Request(cell=cell, target=TARGET, offers=catalog.files_of(cell.release))
    lock = resolve(request, Uv(sources=sources, cache=place.cache, environ=place.environ), today=TODAY)
    assert lock.version_of("tiny") == "3.0.dev20221001+cpu"
    assert lock.as_of == "2022-10-31"
    line = tmp_path / "line.releases.json"
    refresh_line(line, catalog)
    assert [(r.version, r.branch) for r in read_line(line).releases] == [
        ("1.0", "releases"),
        ("2.0", "releases"),
        ("3.0.dev20221001", "nightlies"),
    ]


def test_committed_locks_are_written_checked_and_found_stale(place: Place, index: Index, tmp_path: Path):
    locks = tmp_path / "locks"
    requests = [place.request("tiny1.0-py3.11-default"), place.request("tiny2.0-py3.11-default+slim")]
    assert [update_lock(r, place.uv(), locks=locks, today=TODAY)[1] for r in requests] == [True, True]
    before = {path: path.read_bytes() for path in locks.iterdir()}
    text = b"".join(before.values()).decode()
    assert index.url not in text
    assert "127.0.0.1" not in text
    assert str(tmp_path) not in text
    # What comes out later changes nothing: neither a second update nor a check see it.
    index.add("helper", "9.0", "2026-11-30")
    later = date(2027, 3, 1)
    assert [update_lock(r, place.uv(), locks=locks, today=later)[1] for r in requests] == [False, False]
    assert {path: path.read_bytes() for path in locks.iterdir()} == before
    assert {check_lock(r, place.uv(), locks=locks, today=later).state for r in requests} == {LockState.CURRENT}
    # An edit by hand and a changed rule are found.
    path = lock_path(locks, requests[0].cell)
    path.write_text(path.read_text().replace('"1.5"', '"1.4"'))
    checks = [check_lock(r, place.uv(), locks=locks, today=later) for r in requests]
    assert [c.state for c in checks] == [LockState.STALE, LockState.CURRENT]
    assert checks[0].details == ("helper 1.4 is now 1.5",)
    assert [update_lock(r, place.uv(), locks=locks, today=later)[1] for r in requests] == [True, False]
    assert path.read_bytes() == before[path]


def test_a_lock_is_found_again_without_a_network(place: Place, index: Index, tmp_path: Path):
    lock = lock_for(place.request("tiny1.0-py3.11-default"), place.uv(), locks=tmp_path / "locks", today=TODAY)
    index.broken = 500
    again = lock_for(
        place.request("tiny1.0-py3.11-default", offline=True),
        place.uv(offline=True),
        locks=tmp_path / "locks",
        today=TODAY,
    )
    assert again == lock


def test_an_index_that_breaks_is_named(place: Place, index: Index, tmp_path: Path):
    request = place.request("tiny1.0-py3.11-default")
    index.broken = 500
    with pytest.raises(ResolveError, match=r"tiny1\.0-py3\.11-default: uv could not ask an index"):
        lock_for(request, place.uv(), locks=tmp_path / "locks", today=TODAY)


def test_packages_that_do_not_fit_are_named_in_one_line(place: Place):
    with pytest.raises(ResolveError, match="its packages do not fit together: Because") as caught:
        place.lock("tiny1.0-py3.11-default+helper==7.7")
    assert len(caught.value.what) < 400
    with pytest.raises(ResolveError, match="helper"):
        place.lock("tiny1.0-py3.11-default", requirements=["helper>=2"])


def test_an_index_without_dates_gives_a_lock_without_one(httpserver, place: Place, tmp_path: Path):
    plain = Index(httpserver, tmp_path / "index", prefix="html", json=False)
    for name, version in (("tiny", "1.0"), ("numpy", "9.0"), ("asv-runner", "0.3.2")):
        plain.add(name, version)
    place.environ["UV_DEFAULT_INDEX"] = plain.url
    lock = place.lock("tiny1.0-py3.11-default")
    assert (lock.as_of, versions(lock)["numpy"]) == ("", "9.0")
    with pytest.raises(ResolveError, match="numpy"):
        place.lock("tiny1.0-py3.11-default+@2022-09-05")


def test_credentials_stay_out_of_files_logs_and_errors(
    place: Place, index: Index, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    place.environ["UV_DEFAULT_INDEX"] = index.url.replace("http://", "http://me:hunter2@")
    with caplog.at_level(logging.DEBUG, logger="harness"):
        request = place.request("tiny1.0-py3.11-default")
        update_lock(request, place.uv(), locks=tmp_path / "locks", today=TODAY)
        index.broken = 403
        with pytest.raises(ResolveError) as caught:
            resolve(place.request("tiny2.0-py3.11-default"), place.uv(), today=TODAY)
    assert "hunter2" not in caplog.text + str(caught.value)
    kept = [
        path for folder in ("cache/catalogues", "locks") for path in (tmp_path / folder).rglob("*") if path.is_file()
    ]
    assert len(kept) >= 2
    assert not any(b"hunter2" in path.read_bytes() for path in kept)


@pytest.mark.torch
def test_real_torch_of_1_12_meets_the_numpy_of_its_day(tmp_path: Path, shared_cache: Path):
    environ = {name: value for name, value in os.environ.items() if name != "UV_FIND_LINKS"}
    sources = sources_for(["default"], environ=environ)
    cell = parse_cell_id("torch1.12.1-py3.10-default")
    catalog = load_catalog("torch", sources, cache=shared_cache)
    target = Target(python=(3, 10), glibc=(2, 36), machine="x86_64")
    request = Request(
        cell=cell, target=target, offers=catalog.files_of("1.12.1"), requirements=["numpy", "setuptools<70"]
    )
    uv = Uv(sources=sources, cache=shared_cache, environ=environ)
    path, _ = update_lock(request, uv, locks=tmp_path)
    stored = read_lock(path)
    assert stored.lock.as_of == "2022-09-04"
    assert {"numpy": "1.23.2", "torch": "1.12.1", "asv-runner": "0.3.2"}.items() <= versions(stored.lock).items()
