"""A small world that looks like the real one: releases with the wheels that they had, and a matrix to write to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cells.offers import Offers
from harness.cells.wheels import OfferedFile

#: release: (Pythons, platform) of the default index.
HISTORY = {
    "1.4.0": (["38"], "manylinux1_x86_64"),
    "1.8.1": (["38", "39"], "manylinux1_x86_64"),
    "1.11.0": (["38", "39", "310"], "manylinux1_x86_64"),
    "1.12.1": (["38", "39", "310"], "manylinux1_x86_64"),
    "2.0.0": (["38", "39", "310", "311"], "manylinux1_x86_64"),
    "2.0.1": (["38", "39", "310", "311"], "manylinux1_x86_64"),
    "2.6.0": (["39", "310", "311", "312", "313"], "manylinux1_x86_64"),
    "2.13.0": (["311", "312", "313"], "manylinux_2_28_x86_64"),
    "2.14.0": (["311", "312", "313"], "manylinux_2_28_x86_64"),
    "2.14.1": (["311", "312", "313"], "manylinux_2_28_x86_64"),
    "2.15.0": (["311", "312", "313"], "manylinux_2_28_x86_64"),
}
LINE = tuple(HISTORY)


def offered(filename: str, **changes: object) -> OfferedFile:
    version = filename.split("-")[1].removesuffix(".tar.gz")
    facts: dict[str, object] = {"filename": filename, "version": version, "source": "default", "url": "", **changes}
    return OfferedFile(**facts)  # type: ignore[arg-type]


def wheel(release: str, python: str, platform: str, **changes: object) -> OfferedFile:
    abi = f"cp{python}m" if python in ("36", "37") else f"cp{python}"
    interpreter = f"cp{python}".rstrip("t")
    return offered(f"torch-{release}-{interpreter}-{abi}-{platform}.whl", size=700_000_000, **changes)


def default_files() -> list[OfferedFile]:
    files = [wheel(release, python, platform) for release, (pythons, platform) in HISTORY.items() for python in pythons]
    files += [wheel("2.15.0", "313t", "manylinux_2_28_x86_64")]
    files += [wheel("2.15.0", "311", "manylinux_2_28_aarch64"), wheel("2.15.0", "311", "win_amd64")]
    return files


def cpu_files() -> list[OfferedFile]:
    return [
        wheel(f"{release}+cpu", python, "manylinux_2_28_x86_64", source="cpu")
        for release in ("2.13.0", "2.14.0", "2.14.1", "2.15.0")
        for python in ("310", "311", "312", "313")
    ]


@pytest.fixture(scope="session")
def offers() -> Offers:
    """The default index, and PyTorch's own for cpu."""
    return Offers(default_files() + cpu_files())


MINIMAL = """
schema = 1
subject = "torch"
[indexes.own]
base = "https://example.invalid/whl"
backends = ["cpu", "cu[0-9]*"]
[profiles.one]
description = "one"
torch = ["1.11.0", "1.12.1"]
"""

IMAGES = """
schema = 1
[images.centos7]
description = "old"
reference = "centos:7"
glibc = "2.17"
arch = ["x86_64"]
[images.cuda]
description = "GPU"
reference = "nvidia/cuda:12"
glibc = "2.35"
arch = ["x86_64"]
needs = ["nvidia"]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a matrix, and the images beside it, into a project that is the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str = MINIMAL, images: str | None = IMAGES) -> Path:
        path = tmp_path / "matrix" / "matrix.toml"
        (path.parent / "images").mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if images is not None:
            (path.parent / "images" / "images.toml").write_text(images, encoding="utf-8")
        return path

    return write
