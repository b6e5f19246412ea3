"""Container images as data, and what a machine must have for a cell to run on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.cells.cell import HOST, Cell
from harness.cells.shapes import Entry, Integer, ListOf, MappingOf, Table, Text
from harness.cells.wheels import Target

__all__ = ["IMAGES", "Capability", "Image", "images_from", "target_for"]


class Capability(StrEnum):
    """What a machine may have or lack. The values are the words of `images.toml`, and of the plan's reasons."""

    CONTAINERS = "a container engine"
    KFD = "/dev/kfd"
    DXG = "/dev/dxg"
    NVIDIA = "an NVIDIA driver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A container image that cells run in.

    Attributes:
        name: As cells name it.
        reference: What the engine pulls: a repository and a tag.
        digest: `sha256:...` of what was pulled when it was last checked; empty while nobody has pinned it.
        glibc: Its C library, `(2, 17)`.
        machines: The architectures that it exists for.
        python: The Python that the image brings itself, for information; empty when it has none. Cells never use it.
        needs: What the machine must have to run it; a container engine always.
        description: What it is for.
    """

    name: str
    reference: str
    digest: str
    glibc: tuple[int, int]
    machines: tuple[str, ...]
    python: str
    needs: frozenset[Capability]
    description: str


def _glibc_fault(text: str) -> str:
    return "" if text.startswith("2.") else f"{text!r}: only glibc 2 exists"


_NAME = Text(
    name="the name of an image",
    pattern=r"[a-z0-9][a-z0-9._]*(?:-[a-z0-9._]+)*",
    check=lambda name: f"{HOST!r} is this machine itself" if name == HOST else "",
)

_IMAGE = Table(
    entries={
        "description": Entry(shape=Text(), doc="What the image is for.", required=True),
        "reference": Entry(
            shape=Text(name="a repository and a tag", pattern=r"[a-z0-9][a-z0-9._/-]*:[A-Za-z0-9_][A-Za-z0-9._-]*"),
            doc="What the container engine pulls.",
            required=True,
        ),
        "digest": Entry(
            shape=Text(name="a digest like sha256:0123...", pattern=r"(?:sha256:[0-9a-f]{64})?"),
            doc="What was pulled when it was last checked; empty while nobody has pinned it.",
        ),
        "glibc": Entry(
            shape=Text(name="a glibc like 2.17", pattern=r"[0-9]+\.[0-9]+", check=_glibc_fault),
            doc="The image's C library: it decides which wheels fit.",
            required=True,
        ),
        "arch": Entry(
            shape=ListOf(item=Text(words=("x86_64", "aarch64", "ppc64le", "s390x", "riscv64"))),
            doc="The architectures that the image exists for.",
            required=True,
        ),
        "python": Entry(
            shape=Text(name="a version of Python", pattern=r"(?:[0-9]+\.[0-9]+(?:\.[0-9]+)?)?"),
            doc="The Python that the image brings, for information; empty when it has none. Cells bring their own.",
        ),
        "needs": Entry(
            shape=ListOf(item=Text(words=tuple(name.lower() for name in Capability.__members__)), empty=True),
            doc="What the machine must have beside a container engine.",
        ),
    }
)

#: The whole of `images.toml`.
IMAGES = Table(
    entries={
        "schema": Entry(shape=Integer(minimum=1, maximum=1), doc="The version of this format.", required=True),
        "images": Entry(shape=MappingOf(key=_NAME, value=_IMAGE), doc="The images, by name.", required=True),
    }
)


def images_from(read: Mapping[str, Any]) -> tuple[Image, ...]:
    """The images of a file that `IMAGES` has read without a fault."""
    return tuple(
        Image(
            name=name,
            reference=facts["reference"],
            digest=facts.get("digest", ""),
            glibc=_pair(facts["glibc"]),
            machines=facts["arch"],
            python=facts.get("python", ""),
            needs=frozenset({Capability.CONTAINERS} | {Capability[word.upper()] for word in facts.get("needs", ())}),
            description=facts["description"],
        )
        for name, facts in read["images"].items()
    )


def target_for(cell: Cell, image: Image | None, *, glibc: tuple[int, int], machine: str) -> Target:
    """What a cell's Python can run where the cell lives.

    Args:
        cell: The cell.
        image: Its image; None for the host.
        glibc: The C library of the host (`host_glibc()`).
        machine: The architecture of the host; images run on the same.
    """
    return Target(
        python=cell.python_minor,
        glibc=image.glibc if image else glibc,
        machine=machine,
        free_threaded=cell.python.endswith("t"),
    )


def _pair(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)
