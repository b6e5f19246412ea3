"""One live measured process: started, spoken to, timed out, and never left behind."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import selectors
import signal
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness import proc
from harness.measurement import worker
from harness.measurement.memory import oom_kills
from harness.measurement.options import Options
from harness.measurement.records import State
from harness.measurement.side import Side

__all__ = ["LOG_LIMIT", "MeasuredProcess", "NotMeasuredError", "Suite"]

log = logging.getLogger(__name__)
#: Characters of a process's own words that a record keeps.
LOG_LIMIT = 4000
# A process that died may leave children that hold its pipes open: its death is looked for this often, in seconds.
_TICK = 0.5
_FAILURES = {"raised": State.CRASHED, "memory": State.OUT_OF_MEMORY, "skipped": State.SKIPPED}
_NO_MEMORY = ("bad_alloc", "can't allocate memory", "cannot allocate memory", "memoryerror")


class NotMeasuredError(Exception):
    """A command that did not end well.

    Args:
        state: How the measurement ended.
        reason: Why, one line.
    """

    def __init__(self, state: State, reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """What a process says of its benchmark once it has imported the suite.

    Attributes:
        type: ASV's type (`time`, `track`, `peakmemory`), or `timeraw`.
        version: The version of its code.
        params: For each parameter, its values as ASV writes them.
        timeout: Seconds that a command may take, or None.
        cache_timeout: Seconds that `setup_cache` may take, or None.
    """

    type: str
    version: str
    params: tuple[tuple[str, ...], ...]
    timeout: float | None
    cache_timeout: float | None

    @property
    def one_value(self) -> bool:
        """Whether a process gives one value only."""
        return self.type not in ("time", "timeraw")


@dataclass(slots=True)
class _Pipe:
    descriptor: int = -1
    text: bytearray = field(default_factory=bytearray)


class MeasuredProcess:
    """A worker of one side, alive inside a `with` block. Whatever happens there, nothing of it is left afterwards.

    Args:
        side: What starts it.
        suite: The folder of the ASV suite.
        benchmark: The benchmark's name.
        options: Time limits and scheduling.
    """

    def __init__(self, side: Side, suite: Path, benchmark: str, options: Options) -> None:
        self.side = side
        self._suite = suite
        self._benchmark = benchmark
        self._options = options
        self._timeout = options.timeout
        self._setup_timeout = options.timeout
        self._cleanup = contextlib.ExitStack()
        self._answers = _Pipe()
        self._noise = _Pipe()
        self._said = bytearray()
        self._turn = 0

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as cleanup:
            folder = cleanup.enter_context(
                tempfile.TemporaryDirectory(prefix=worker.FOLDER_PREFIX, ignore_cleanup_errors=True)
            )
            self._folder = os.path.realpath(folder)
            self._kills = oom_kills()
            command = [
                *self.side.command,
                str(Path(worker.__file__).resolve()),
                str(self._suite.resolve()),
                self._benchmark,
            ]
            try:
                self._process = proc.spawn(command, env=self.side.variables, cwd=Path(folder))
            except proc.CommandError as error:
                raise NotMeasuredError(State.CRASHED, f"cannot be started: {error.reason}") from error
            cleanup.callback(self._end)
            process = self._process
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            self._commands = process.stdin.fileno()
            self._answers.descriptor = process.stdout.fileno()
            self._noise.descriptor = process.stderr.fileno()
            for pipe in (self._answers, self._noise):
                os.set_blocking(pipe.descriptor, False)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._quit()
        finally:
            self._cleanup.close()

    def start(self) -> None:
        """Asks the worker to set itself up and to import the suite; `started` waits for it."""
        options, flags = self._options, dict(self.side.cell.flags)
        self._send({"do": "start", "flags": flags, "affinity": options.affinity, "priority": options.realtime})

    def started(self) -> Suite:
        """Waits for the worker to have imported the suite."""
        fields = ("type", "version", "params", "timeout", "setup_cache_timeout")
        answer = self._receive("importing the suite", self._options.start_timeout, fields)
        suite = Suite(
            type=answer["type"],
            version=answer["version"],
            params=tuple(tuple(values) for values in answer["params"]),
            timeout=answer["timeout"],
            cache_timeout=answer["setup_cache_timeout"],
        )
        self._timeout = float(suite.timeout or self._options.timeout)
        self._setup_timeout = self._timeout + float(suite.cache_timeout or 0.0)
        return suite

    def look(self) -> None:
        """Asks for the facts of the process; `fingerprint` waits for them."""
        self._send({"do": "fingerprint"})

    def fingerprint(self) -> dict[str, Any]:
        """The facts of the process, after `look`: the subject is imported for them, if nothing did before."""
        facts: dict[str, Any] = self._receive("reading its facts", self._options.start_timeout, ["facts"])["facts"]
        return facts

    def setup(self, index: int) -> None:
        """Chooses a parameter set by its place in ASV's order and runs the setup functions.

        Raises:
            NotMeasuredError: Among others with the state *skipped*, when the benchmark says that it cannot run here.
        """
        skipped = self._ask("setup", self._setup_timeout, ["skipped"], index=index)["skipped"]
        if skipped is not None:
            raise NotMeasuredError(State.SKIPPED, skipped)

    def calibrate(self) -> tuple[int, bool]:
        """Warms up; returns how many calls a sample has, and whether one thread does all the work."""
        answer = self._ask("calibrate", self._timeout, ["number", "alone"])
        return int(answer["number"]), bool(answer["alone"])

    def calmest(self) -> int:
        """The processor, among those that may be used, that is disturbed least just now."""
        return int(self._ask("calmest", self._timeout, ["processor"])["processor"])

    def sample(self, number: int, processor: int | None = None) -> dict[str, Any]:
        """Takes one sample: `value`, `at` (seconds of the monotonic clock), `canary`, `faults`.

        Args:
            number: Calls in it.
            processor: Where its thread is kept; None for wherever it may run.
        """
        wanted, gap = ("value", "at", "canary", "faults"), self._options.gap
        return self._ask("sample", self._timeout + gap, wanted, number=number, processor=processor, gap=gap)

    def teardown(self) -> dict[str, Any]:
        """Runs the teardown functions of the parameter set; returns what the benchmark said beside its values."""
        details: dict[str, Any] = self._ask("teardown", self._timeout, ["details"])["details"]
        return details

    def words(self) -> str:
        """What the process has said since this was asked last, its end when it is long."""
        if self._noise.descriptor >= 0:  # else it could not be started
            self._drain(self._noise)
        text = bytes(self._said).decode("utf-8", errors="replace")[-LOG_LIMIT:]
        self._said.clear()
        return text

    def _ask(self, do: str, timeout: float, wanted: Collection[str], **fields: object) -> dict[str, Any]:
        self._send({"do": do, **fields})
        return self._receive(f"in {do}", timeout, wanted)

    def _send(self, message: dict[str, object]) -> None:
        # A worker that is gone is reported by the answer that does not come.
        with contextlib.suppress(BrokenPipeError):
            self._turn += 1
            os.write(self._commands, json.dumps(message | {"turn": self._turn}).encode() + b"\n")

    def _receive(self, doing: str, timeout: float, wanted: Collection[str]) -> dict[str, Any]:
        """The answer to the last command, with the fields that are wanted of it."""
        answer = self._answer(doing, timeout)
        if isinstance(answer, dict) and answer.get("turn") == self._turn:
            if answer.get("failed") in _FAILURES:
                raise NotMeasuredError(_FAILURES[answer["failed"]], str(answer.get("reason", "")))
            if answer.keys() >= set(wanted):
                return answer
        # A process that a benchmark forked may speak too, or the benchmark itself.
        raise NotMeasuredError(State.CRASHED, f"gave an answer to no question while {doing}")

    def _answer(self, doing: str, timeout: float) -> Any:
        end = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for pipe in (self._answers, self._noise):
                selector.register(pipe.descriptor, selectors.EVENT_READ, pipe)
            while (line := self._line()) is None:
                left = end - time.monotonic()
                if left <= 0:
                    proc.kill_group(self._process)
                    self._process.wait()
                    raise NotMeasuredError(State.TIMEOUT, f"still {doing} after {timeout:g} s, killed")
                events = selector.select(min(left, _TICK))
                for key, _ in events:
                    if not self._drain(key.data):
                        selector.unregister(key.fd)
                gone = self._answers.descriptor not in selector.get_map()
                dead = gone or (not events and self._process.poll() is not None)
                if dead and b"\n" not in self._answers.text:
                    raise self._death(doing)
            try:
                return _plain(json.loads(line))
            except (ValueError, RecursionError):
                reason = f"gave an answer that is none while {doing}"
                raise NotMeasuredError(State.CRASHED, reason) from None

    def _line(self) -> bytes | None:
        """The next whole answer; lines without the mark are noise of the interpreter's start."""
        while b"\n" in self._answers.text:
            line, _, rest = bytes(self._answers.text).partition(b"\n")
            self._answers.text[:] = rest
            if line.startswith(worker.MARK.encode()):
                return line[len(worker.MARK) :]
            self._hear(line + b"\n")
        return None

    def _drain(self, pipe: _Pipe) -> bool:
        """Reads what is there; false at the end of the pipe."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.descriptor, 65536):
                if pipe is self._noise:
                    self._hear(data)
                else:
                    pipe.text += data
            if pipe is self._answers and pipe.text and not pipe.text.endswith(b"\n"):
                self._hear(bytes(pipe.text))  # cut off by the death of the process
                pipe.text.clear()
            return False
        return True

    def _hear(self, data: bytes) -> None:
        self._said += data
        del self._said[: -4 * LOG_LIMIT]

    def _death(self, doing: str) -> NotMeasuredError:
        """Why a process that stopped answering ended."""
        with contextlib.suppress(Exception):
            self._process.wait(timeout=5)
        status = self._process.poll()
        proc.kill_group(self._process)
        self._process.wait()
        self._drain(self._noise)
        said = bytes(self._said).decode("utf-8", errors="replace").lower()
        if status is None:
            return NotMeasuredError(State.CRASHED, f"closed its pipe while {doing}")
        if status == -signal.SIGKILL and oom_kills() > self._kills:
            return NotMeasuredError(State.OUT_OF_MEMORY, f"killed by the kernel for memory while {doing}")
        if status < 0:
            state = State.OUT_OF_MEMORY if any(phrase in said for phrase in _NO_MEMORY) else State.CRASHED
            return NotMeasuredError(state, f"killed by {_signal_name(-status)} while {doing}")
        return NotMeasuredError(State.CRASHED, f"ended with status {status} while {doing}")

    def _quit(self) -> None:
        """Lets the worker run its exit handlers, for a moment."""
        if self._process.poll() is None:
            self._send({"do": "quit"})
            with contextlib.suppress(Exception):
                self._process.wait(timeout=5)

    def _end(self) -> None:
        proc.kill_group(self._process)
        process = self._process
        process.wait()
        worker.kill_left_behind(self._folder)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _plain(value: Any) -> Any:
    """JSON that can be stored: benchmarks say NaN, and quote file names that are no text."""
    match value:
        case str():
            return value.encode("utf-8", errors="backslashreplace").decode("utf-8")
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {_plain(key): _plain(item) for key, item in value.items()}
        case _:
            return value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
