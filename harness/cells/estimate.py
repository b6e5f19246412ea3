"""What a cell will cost, before anything is downloaded: bytes, disk, minutes. Rough on purpose, and said to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["Estimate", "Pace", "estimate"]

_MEGABYTE: Final = 1_000_000
#: The CUDA packages beside a CUDA wheel of the default index: 2.0 to 2.15 need 1.4 to 3.1 GB unpacked.
_CUDA_PACKAGES: Final = 2_000 * _MEGABYTE
#: numpy, sympy and the other small ones beside every wheel.
_SMALL_PACKAGES: Final = 40 * _MEGABYTE
#: Disk to download: CUDA wheels double when unpacked, CPU wheels, which compress better, quadruple.
_UNPACKED_CUDA: Final = 2.0
_UNPACKED_CPU: Final = 4.0
_UNPACKED_CUDA_PACKAGES: Final = 1.5
#: What one more environment takes when all its files are already in the cache, byte code mostly.
_LINKED: Final = 100 * _MEGABYTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast things go here.

    Attributes:
        bytes_per_second: Download and unpacking together.
        build_seconds: Making an environment from a warm cache.
        start_seconds: Starting a measured process, import included.
    """

    bytes_per_second: float = 20 * _MEGABYTE
    build_seconds: float = 3.0
    start_seconds: float = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a cell costs.

    Attributes:
        download: Bytes.
        disk: Bytes that it adds.
        minutes: Of download, build, and its share of the rounds.
        exact: Whether the download is the sum of a lock, and not a guess from one file.
    """

    download: int
    disk: int
    minutes: float
    exact: bool


def estimate(
    *,
    wheel_bytes: int | None,
    cuda_packages: bool,
    slim: bool = False,
    locked_bytes: int | None = None,
    missing_bytes: int | None = None,
    built: bool = False,
    seconds: float,
    rounds: int,
    pace: Pace | None = None,
) -> Estimate:
    """What a cell costs.

    Args:
        wheel_bytes: The size of the subject's file; None where the index does not say.
        cuda_packages: Whether its wheel is for CUDA and its libraries come in packages beside it.
        slim: Whether those packages are left out.
        locked_bytes: The sum of the lock's files, where there is a lock.
        missing_bytes: How much of it the cache lacks; None when nobody has looked, then all of it.
        built: Whether the environment already stands in the store.
        seconds: How long all that is measured takes in one round.
        rounds: How many rounds are expected.
        pace: How fast things go here.
    """
    pace = pace or Pace()
    wheel = wheel_bytes or 0
    beside = _CUDA_PACKAGES if cuda_packages and not slim else 0
    whole = locked_bytes if locked_bytes is not None else wheel + beside + _SMALL_PACKAGES
    download = 0 if built else whole if missing_bytes is None else min(missing_bytes, whole)
    # A wheel of more than 400 MB has GPU code in it, whatever it is called.
    ratio = _UNPACKED_CUDA if cuda_packages or wheel > 400 * _MEGABYTE else _UNPACKED_CPU
    unpacked = wheel * ratio + max(whole - wheel, 0) * _UNPACKED_CUDA_PACKAGES
    share = download / whole if whole else 0.0
    disk = 0 if built else round(unpacked * share) + _LINKED
    building = 0.0 if built else download / pace.bytes_per_second + pace.build_seconds
    measuring = rounds * (pace.start_seconds + seconds)
    return Estimate(download=download, disk=disk, minutes=(building + measuring) / 60, exact=locked_bytes is not None)
