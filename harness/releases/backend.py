"""Chooses the backend when the user says `auto`: PyTorch's own CPU index where it answers, else the default index."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from harness.errors import StorageError
from harness.jsonio import canonical, write_atomic
from harness.releases.sources import DEFAULT, redact

__all__ = ["AUTO", "BackendChoice", "choose_backend", "has_nvidia_driver", "index_answers"]

log = logging.getLogger(__name__)

AUTO = "auto"
#: How long a verdict on the index is believed.
VERDICT_AGE = timedelta(hours=1)
#: Seconds to wait for the index: the answer only decides between two ways that both work.
TIMEOUT = 3.0

# The kernel module's own file, the device node, and where Windows hands its driver to Linux.
_DRIVER_SIGNS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/usr/lib/wsl/lib/libcuda.so.1")


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """The backend that `auto` stands for here.

    Attributes:
        backend: `cpu` or `default`; or what the user asked for.
        why: A sentence for the plan and the records.
        gpu: Whether this machine has an NVIDIA driver; None when it was not looked at.
    """

    backend: str
    why: str
    gpu: bool | None = None


def choose_backend(
    wanted: str,
    *,
    index_base: str,
    cache: Path,
    offline: bool = False,
    prober: Callable[[str, float], bool] | None = None,
    driver: Callable[[], bool] | None = None,
    now: datetime | None = None,
) -> BackendChoice:
    """What `auto` stands for on this machine; any other backend is returned as it is.

    Args:
        wanted: `auto` or a backend.
        index_base: The address under which PyTorch's indexes lie; empty when the subject has none.
        cache: Where the verdict on the index is kept for an hour.
        offline: Whether the network must not be asked; the last verdict is then used, however old.
        prober: Says whether an address answers within some seconds; `index_answers` by default.
        driver: Says whether an NVIDIA driver is loaded; `has_nvidia_driver` by default.
        now: The time from which the verdict's age counts.
    """
    if wanted != AUTO:
        return BackendChoice(wanted, f"backend {wanted}: asked for")
    gpu = (driver or has_nvidia_driver)()
    if gpu:
        return BackendChoice(DEFAULT, "backend default: this machine has an NVIDIA driver", gpu=True)
    if not index_base:
        return BackendChoice(DEFAULT, "backend default: no index of CPU builds is configured", gpu=False)
    moment = now or datetime.now(UTC)
    reachable = _last_verdict(cache, index_base, moment, any_age=offline)
    if reachable is None and offline:
        return BackendChoice(
            DEFAULT, "backend default: whether the index of CPU builds answers is not known offline", gpu=False
        )
    if reachable is None:
        reachable = (prober or index_answers)(f"{index_base.rstrip('/')}/cpu/", TIMEOUT)
        _keep_verdict(cache, index_base, reachable, moment)
    if reachable:
        return BackendChoice("cpu", "backend cpu: PyTorch's index of CPU builds answers", gpu=False)
    return BackendChoice(
        DEFAULT, "backend default: PyTorch's index of CPU builds cannot be reached from here", gpu=False
    )


def has_nvidia_driver(signs: Sequence[str] = _DRIVER_SIGNS) -> bool:
    """Whether the machine has an NVIDIA driver, by the files that it leaves."""
    return any(Path(sign).exists() for sign in signs)


def index_answers(url: str, timeout: float) -> bool:
    """Whether an index answers a request with success within some seconds."""
    # The standard library's client is imported in a tenth of the time of requests.
    from urllib.error import URLError  # noqa: PLC0415
    from urllib.request import Request, urlopen  # noqa: PLC0415

    if not url.startswith(("http://", "https://")):
        return False
    try:
        with urlopen(Request(url, method="HEAD"), timeout=timeout) as response:
            return bool(response.status == 200)
    except (URLError, OSError, ValueError) as error:
        log.debug("%s does not answer: %s", redact(url), error)
        return False


def _verdict_path(cache: Path, index_base: str) -> Path:
    return cache / "catalogues" / f"reachable-{sha256(redact(index_base).encode()).hexdigest()[:12]}.json"


def _last_verdict(cache: Path, index_base: str, moment: datetime, *, any_age: bool) -> bool | None:
    try:
        document = json.loads(_verdict_path(cache, index_base).read_bytes())
        age = moment - datetime.fromisoformat(document["at"])
        return bool(document["reachable"]) if any_age or timedelta(0) <= age < VERDICT_AGE else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep_verdict(cache: Path, index_base: str, reachable: bool, moment: datetime) -> None:
    # Without it the index is merely asked again.
    with contextlib.suppress(StorageError):
        document = canonical({"reachable": reachable, "at": moment.isoformat()})
        write_atomic(_verdict_path(cache, index_base), document + "\n")
