"""What the matrix asks for, as frozen values: profiles, rules, indexes, images. `harness.cells.spec` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from packaging.specifiers import SpecifierSet

from harness.cells.cell import HOST, Cell
from harness.cells.images import Image
from harness.cells.select import Condition
from harness.cells.shapes import perhaps
from harness.errors import UsageError

__all__ = [
    "CUSTOM",
    "DEFAULT_ROUNDS",
    "Block",
    "Choices",
    "Exclude",
    "Include",
    "Index",
    "Override",
    "Profile",
    "Requirement",
    "Resolve",
    "Slim",
    "Spec",
]

#: The name of a profile that command-line options made. What the matrix adds to profiles is not for it.
CUSTOM: Final = "(options)"

#: Rounds before a verdict is first looked at.
DEFAULT_ROUNDS: Final = 5

#: Names of variables or packages, each with the values to try; None is the case without it.
Choices = tuple[tuple[str, tuple[str | None, ...]], ...]


class Slim(StrEnum):
    """Whether CUDA wheels run without their CUDA packages."""

    YES = "true"
    NO = "false"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A product of axes.

    Attributes:
        pythons: `auto` among them leaves the choice to `cells_of`.
        releases: Terms, see `harness.cells.terms`.
        backends: `auto` among them stands for the one that the machine can reach.
        images: `host` for this machine.
        packages: Exact versions; empty ones are left to the resolver.
        build: Build-time variables.
        env: Variables of the measured process.
        flags: In-process switches.
        slim: Whether CUDA packages are left out.
        as_of: The date as of which dependencies are resolved; empty for one near the release.
    """

    pythons: tuple[str, ...] = ("auto",)
    releases: tuple[str, ...] = ()
    backends: tuple[str, ...] = ("auto",)
    images: tuple[str, ...] = (HOST,)
    packages: Choices = ()
    build: Choices = ()
    env: Choices = ()
    flags: Choices = ()
    slim: Slim = Slim.NO
    as_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A named selection of the matrix, and how it is measured.

    Attributes:
        name: As the command line names it.
        description: One line.
        block: The product of its axes.
        cells: Ids that replace the product, or selectors that narrow it.
        metrics: Globs of metrics.
        tags: Tags of metrics.
        rounds: Rounds before a verdict is first looked at.
        max_rounds: Rounds after which an open verdict is undecided.
        samples: Samples of one benchmark in one process.
        floor: The smallest change that matters, as a share, for metrics that name none.
    """

    name: str
    description: str = ""
    block: Block
    cells: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    rounds: int = DEFAULT_ROUNDS
    max_rounds: int = 20
    samples: int = 60
    floor: float = 0.03

    def wants(self, metric: str, tags: tuple[str, ...] = ()) -> bool:
        """Whether a metric is measured: its name or one of its tags is asked for, or the profile asks for all."""
        if not self.metrics and not self.tags:
            return True
        named = any(fnmatchcase(metric, glob) for glob in self.metrics)
        return named or any(fnmatchcase(tag, glob) for tag in tags for glob in self.tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """One more product of axes, beside those of the profiles.

    Attributes:
        profiles: For which; empty for all.
        axes: The parts of a profile's block that it replaces (`pythons` and so on) and their values.
        settings: The choices that it adds to those of the block, by `packages`, `build`, `env` or `flags`.
    """

    profiles: tuple[str, ...] = ()
    axes: tuple[tuple[str, object], ...] = ()
    settings: tuple[tuple[str, Choices], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclude:
    """Cells that are planned but never built, and why."""

    match: tuple[Condition, ...]
    reason: str
    profiles: tuple[str, ...] = ()

    def holds(self, cell: Cell) -> bool:
        """Whether the rule is about a cell."""
        return all(condition.holds(cell) for condition in self.match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """Settings of single cells.

    Attributes:
        match: Which cells.
        profiles: In which profiles; empty for all.
        changes: `packages`, `build`, `env` or `flags`, and what is set (None: taken away) there.
        slim: Replaces the profile's, unless None.
        as_of: Replaces the profile's, unless empty.
    """

    match: tuple[Condition, ...]
    profiles: tuple[str, ...] = ()
    changes: tuple[tuple[str, tuple[tuple[str, str | None], ...]], ...] = ()
    slim: Slim | None = None
    as_of: str = ""

    def holds(self, cell: Cell) -> bool:
        """Whether the rule is about a cell."""
        return all(condition.holds(cell) for condition in self.match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Requirements that some releases need beside them."""

    requires: tuple[str, ...]
    release: SpecifierSet
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """How dependencies are resolved.

    Attributes:
        days_after_release: Dependencies are resolved as of this many days after the release.
        slim_for: The releases whose CUDA wheels need CUDA packages; None when slim never means something.
        require: Further requirements.
    """

    days_after_release: int = 30
    slim_for: SpecifierSet | None = None
    require: tuple[Requirement, ...] = ()

    def requirements(self, release: str) -> tuple[str, ...]:
        """What is installed beside a release."""
        return tuple(
            text for rule in self.require if rule.release.contains(release, prereleases=True) for text in rule.requires
        )

    def slim_means_something(self, cell: Cell) -> bool:
        """Whether a cell's wheel needs CUDA packages that could be left out."""
        cuda = cell.backend == "default" or cell.backend.startswith("cu")
        return cuda and self.slim_for is not None and self.slim_for.contains(cell.release, prereleases=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A package index with a folder for each backend.

    Attributes:
        name: Its key in the matrix.
        base: Its address, without a slash at the end.
        backends: Globs of the backends that it offers.
    """

    name: str
    base: str
    backends: tuple[str, ...]

    def offers(self, backend: str) -> bool:
        """Whether the index has a folder for a backend."""
        return any(fnmatchcase(backend, glob) for glob in self.backends)

    def url(self, backend: str) -> str:
        """The folder of stable releases."""
        return f"{self.base}/{backend}"

    def nightly_url(self, backend: str) -> str:
        """The folder of nightly builds."""
        return f"{self.base}/nightly/{backend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The whole matrix.

    Attributes:
        subject: The package whose releases are compared.
        axes: The block that profiles start from.
        profiles: In the order of the file.
        default_profile: The name of the one that is meant when none is named.
        includes: More cells.
        excludes: Cells that are never built.
        overrides: Settings of single cells, in order.
        resolve: How dependencies are resolved.
        indexes: Package indexes beside the default one.
        images: Container images.
    """

    subject: str
    axes: Block
    profiles: tuple[Profile, ...]
    default_profile: str
    includes: tuple[Include, ...] = ()
    excludes: tuple[Exclude, ...] = ()
    overrides: tuple[Override, ...] = ()
    resolve: Resolve = Resolve()
    indexes: tuple[Index, ...] = ()
    images: tuple[Image, ...] = ()

    def profile(self, name: str = "") -> Profile:
        """A profile by name, the default one without.

        Raises:
            UsageError: There is none of that name.
        """
        wanted = name or self.default_profile
        for profile in self.profiles:
            if profile.name == wanted:
                return profile
        names = [profile.name for profile in self.profiles]
        what = f"no profile {wanted!r} in the matrix{perhaps(wanted, names)}"
        raise UsageError(what, next_step=f"the profiles are {', '.join(names)}")

    def image(self, name: str) -> Image | None:
        """An image by name; None for the host.

        Raises:
            UsageError: There is none of that name.
        """
        if name == HOST:
            return None
        for image in self.images:
            if image.name == name:
                return image
        names = [HOST, *(image.name for image in self.images)]
        what = f"no image {name!r} in matrix/images/images.toml{perhaps(name, names)}"
        raise UsageError(what, next_step=f"the images are {', '.join(names)}")

    def index_of(self, backend: str) -> Index | None:
        """The index that has a folder for a backend; None when the default index is meant or none has one."""
        return next((index for index in self.indexes if index.offers(backend)), None)
