"""Runs one benchmark of an ASV suite inside a cell, one command at a time.

    python worker.py BENCHMARK_DIR BENCHMARK_NAME

It runs by path on the cell's own Python (3.8 or newer) and needs nothing there but asv_runner. Commands come as JSON
lines on standard input, answers leave as JSON lines on standard output, each behind a mark. Both are moved to
descriptors of their own before any foreign code runs, so that whatever a benchmark prints lands on standard error
and whatever it reads is empty. docs/explanation/measuring.md describes the commands.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and sys.path and sys.path[0] == __file__.rpartition("/")[0]:
    # Python puts the folder of a script first: its modules must not hide those of the suite or of the cell.
    del sys.path[0]

import atexit
import contextlib
import faulthandler
import importlib.util
import json
import math
import os
import pickle
import resource
import select
import signal
import threading
import time
import traceback

#: Stands before each answer: what comes without it was printed by a start-up file of the interpreter, and is noise.
MARK = "\x1e"
#: How the name of the empty folder begins that the harness starts a worker in.
FOLDER_PREFIX = "measured-"
#: Names the file, for benchmarks and their children, to which they write what they have to say beside a value.
DETAILS = "HARNESS_DETAILS"
CANARY_TURNS = 2000
#: Seconds between two looks at whether threads still spin.
SETTLING = 0.0005
#: A benchmark whose other threads use less than this share of its time runs in one thread.
ALONE = 0.02
#: So often the clocks are read that say so.
READINGS = 5
#: So many processors are tried when the calmest is looked for.
PLACES = 8
_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "cannot allocate memory", "bad_alloc")


def canary():
    """Seconds of a fixed loop of the interpreter: slower when the machine is."""
    start = time.perf_counter()
    total = 0
    for number in range(CANARY_TURNS):
        total += number
    return time.perf_counter() - start


def others_run():
    """Whether another thread of this process is on a processor, or waits for one: OpenMP's spin after their work."""
    own = str(threading.get_native_id())
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208
            if thread == own:
                continue
            path = "/proc/self/task/" + thread + "/stat"
            with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - it may have ended meanwhile
                # The name before it stands in brackets, and may hold anything.
                if file.read().rpartition(b")")[2].split()[:1] == [b"R"]:
                    return True
    return False


def has_children():
    """Whether processes that this one started are still there."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def own_and_others():
    """Seconds of processor time: of this thread, and of all other threads and of children that have ended.

    The two clocks cannot be read at once, and what lies between is charged to the others: a few readings, the closest.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    apart, own = min((time.process_time() - own, own) for own in (time.thread_time() for _ in range(READINGS)))
    return own, apart + children.ru_utime + children.ru_stime


def peak_memory():
    """Bytes of the largest resident set that this process ever had, or None where the system does not say.

    `ru_maxrss` is not used: it survives exec, so a large parent would be measured.
    """
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def load(package, name):
    """A module of the harness that runs on the cell's Python too, by its place beside this file."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    path = os.path.join(packages, package, name + ".py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location("_harness_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Worker:
    """One benchmark, and the commands that act on it. Every command returns the fields of its answer."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.benchmark = None
        self.raw = False
        self.cache = None
        self.timer = None
        self.isolated = False
        self.processors = ()
        self.place = None
        self.notes = []
        # Kept, for a benchmark may clear the variables.
        self.details = os.path.join(os.getcwd(), "details.jsonl")  # noqa: PTH109, PTH118

    def start(self, flags, affinity, priority):
        """Sets up the process, then imports the suite."""
        self._schedule(affinity, priority)
        os.environ[DETAILS] = self.details
        load("measurement", "flags").apply_flags(flags)
        from asv_runner.benchmarks.timeraw import TimerawBenchmark
        from asv_runner.discovery import get_benchmark_from_name

        self.benchmark = get_benchmark_from_name(self.folder, self.name)
        self.raw = isinstance(self.benchmark, TimerawBenchmark)
        return {
            "type": "timeraw" if self.raw else self.benchmark.type,
            "version": self.benchmark.version,
            "params": [list(values) for values in self.benchmark.params],
            "timeout": self.benchmark.timeout,
            "setup_cache_timeout": self.benchmark.setup_cache_timeout,
        }

    def _schedule(self, affinity, priority):
        if affinity:
            os.sched_setaffinity(0, affinity)
        self.processors = tuple(sorted(os.sched_getaffinity(0)))
        if priority:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            except PermissionError:
                self.notes.append("real-time scheduling was not permitted")

    def fingerprint(self):
        """Reads the facts of this process."""
        facts = load("inspection", "probe").facts()
        facts["notes"] = self.notes
        return {"facts": facts}

    def setup(self, index):
        """Chooses a parameter set and runs the setup functions; says why when the benchmark skips the set."""
        benchmark = self.benchmark
        if benchmark.params:
            benchmark.set_param_idx(index)
        benchmark.set_cache(self._cache())
        if tuple(benchmark._current_params) in benchmark._skip_tuples:
            return {"skipped": "the benchmark excludes these parameters"}
        skipped = []

        def watched(setup):
            def run(*args):
                try:
                    setup(*args)
                except NotImplementedError as error:
                    skipped.append(str(error) or "the benchmark is not implemented here")
                    raise

            return run

        originals = benchmark._setups
        benchmark._setups = [watched(setup) for setup in originals]
        try:
            benchmark.do_setup()
        finally:
            benchmark._setups = originals
        return {"skipped": skipped[0] if skipped else None}

    def _cache(self):
        # ASV computes it once and gives each parameter set a copy of its own, through pickle.
        if self.benchmark.setup_cache_key is None:
            return None
        if self.cache is None:
            self.cache = pickle.dumps(self.benchmark.do_setup_cache())
        return pickle.loads(self.cache)

    def calibrate(self):
        """Warms up, and finds how many calls fill the benchmark's sample time, and whether one thread does it all."""
        benchmark = self.benchmark
        if benchmark.type != "time":
            return {"number": 1, "alone": False}
        self.isolated = bool(benchmark._setups) and benchmark._setup_isolates_timed_calls
        number = benchmark.number or (1 if self.isolated or self.raw else 0)
        interleaved = self.isolated and number > 1
        make_timer = benchmark._get_interleaved_timer if interleaved else benchmark._get_timer
        self.timer = make_timer(*benchmark._build_params())
        benchmark._redo_setup_next = False
        warmup = benchmark.warmup_time if benchmark.warmup_time >= 0 else 0.1
        before = own_and_others()
        found = self._warm_up(number, warmup) if number else self._fill(benchmark.sample_time, warmup)
        own, others = (now - then for now, then in zip(own_and_others(), before))
        # A benchmark that was not tried, for it wants no warm-up, may use as many threads as it likes.
        alone = not self.raw and own > 0 and others < ALONE * own and not has_children()
        return {"number": found, "alone": alone}

    def _timed(self, number):
        # A setup that need not isolate calls ran once for this parameter set, and is kept.
        if not self.isolated:
            self.benchmark._redo_setup_next = False
        return self.timer.timeit(number)

    def _warm_up(self, number, warmup):
        end = time.perf_counter() + warmup
        while warmup > 0:
            self._timed(number)
            if time.perf_counter() >= end:
                break
        return number

    def _fill(self, sample_time, warmup):
        number = 1
        end = time.perf_counter() + warmup
        while True:
            start = time.perf_counter()
            reported = self._timed(number)
            now = time.perf_counter()
            seconds = max(now - start, reported)
            if seconds < sample_time:
                growth = 10.0 if seconds <= 0 else min(10.0, max(1.1, sample_time / seconds))
                number = max(number + 1, int(number * growth))
            elif now >= end:
                return number

    def calmest(self):
        """The processor on which the fixed loop is fastest just now, among those that may be used."""
        step = -(-len(self.processors) // PLACES)
        seconds = {}
        for processor in self.processors[::step]:
            os.sched_setaffinity(0, {processor})
            seconds[processor] = min(canary(), canary())
        self.place = min(seconds, key=seconds.get)
        os.sched_setaffinity(0, {self.place})
        return {"processor": self.place}

    def sample(self, number, processor, gap):
        """Takes one sample: so many calls, or the one value of a benchmark that is not timed.

        On one processor where one is named; threads that were started earlier stay where they are. Comes back when
        its threads sleep, or when `gap` seconds are over, so that none of them runs beside the next process.
        """
        self._go_to(processor)
        before = canary()
        faults = self._faults()
        at = time.monotonic()
        value = float(self._timed(number)) / number if self.benchmark.type == "time" else self._value()
        faults = self._faults() - faults
        end = time.monotonic() + gap
        while time.monotonic() < end and others_run():
            time.sleep(SETTLING)
        return {"value": value, "at": at, "canary": max(before, canary()), "faults": faults}

    def _go_to(self, processor):
        if processor != self.place:  # a benchmark may have chosen its processors itself
            os.sched_setaffinity(0, self.processors if processor is None else {processor})
            self.place = processor

    def _value(self):
        value = self.benchmark.do_run()
        if self.benchmark.type == "peakmemory":
            value = peak_memory() or value
        try:
            value = float(value)
        except (TypeError, ValueError):
            message = f"the benchmark returned {type(value).__name__}, not a number"
            raise TypeError(message) from None
        if math.isnan(value):
            from asv_runner.benchmarks.mark import SkipNotImplemented

            message = "the benchmark returned no value (NaN)"
            raise SkipNotImplemented(message)
        if math.isinf(value):
            message = "the benchmark returned an infinite value"
            raise ValueError(message)
        return value

    def _faults(self):
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        return faults + resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt if self.raw else faults

    def teardown(self):
        """Runs the teardown functions of the current parameter set; gives what the benchmark said beside its values."""
        self._go_to(None)
        self.benchmark.do_teardown()
        self.timer = None
        return {"details": take_details(self.details)}


def take_details(path):
    """What benchmarks wrote since this was asked last: JSON objects, one a line, later ones winning."""
    details = {}
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            for line in file:
                with contextlib.suppress(ValueError, RecursionError):  # whatever else a benchmark wrote is passed over
                    said = json.loads(line)
                    details.update(said if isinstance(said, dict) else {})
        os.unlink(path)  # noqa: PTH108
    return details


def failure(error):
    """The answer to a command that raised; its traceback goes to standard error."""
    with contextlib.suppress(Exception):  # the suite may have closed the stream, or put one of its own there
        traceback.print_exception(type(error), error, error.__traceback__)
    text = "".join(traceback.format_exception_only(type(error), error)[-1:])
    lowered = text.lower()
    if type(error).__name__ == "SkipNotImplemented":
        kind, text = "skipped", str(error) or "the benchmark is not implemented here"
    elif isinstance(error, MemoryError) or any(phrase in lowered for phrase in _OUT_OF_MEMORY):
        kind = "memory"
    else:
        kind = "raised"
    return {"failed": kind, "reason": " ".join(text.split())[:500]}


def flush():
    """Sends on what was printed, as far as the suite left the streams in place."""
    for name in ("stdout", "stderr"):
        with contextlib.suppress(Exception):
            getattr(sys, name).flush()


def serve(worker, commands, answers):
    """Answers commands until there are no more."""
    with os.fdopen(commands, encoding="utf-8") as lines, os.fdopen(answers, "w", encoding="utf-8") as out:
        own = os.getpid()
        for line in lines:
            command = json.loads(line)
            do, turn = command.pop("do"), command.pop("turn")
            if do == "quit":
                return
            try:
                answer = getattr(worker, do)(**command)
            except BaseException as error:  # sys.exit in a benchmark ends the benchmark, not the conversation
                answer = failure(error)
            if os.getpid() != own:
                os._exit(0)  # a child that a benchmark forked and let return: the parent answers
            flush()
            out.write(MARK + json.dumps(dict(answer, turn=turn)) + "\n")
            out.flush()


def take_pipes():
    """Moves the pipes of the conversation out of reach; prints go to standard error from now on."""
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    return commands, answers


def kill_left_behind(folder: str) -> None:
    """Kills what a benchmark started in a session of its own, which the end of the worker's group does not reach.

    Such a process stands in the worker's folder, which is nobody else's, or has the folder in its variables. Best
    effort: where the system has no /proc, or the process left both behind, it lives on.
    """
    own = str(os.getpid())
    for _ in range(3):  # one that is just being started may be missed at first
        found = [pid for pid in _numbers() if pid != own and _belongs(pid, folder)]
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        if not found:
            return


def _numbers() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _belongs(pid: str, folder: str) -> bool:
    try:
        if os.readlink("/proc/" + pid + "/cwd") == folder:
            return True
        with open("/proc/" + pid + "/environ", "rb") as file:  # noqa: PTH123
            return (DETAILS + "=" + folder + "/").encode("utf-8", "surrogateescape") in file.read()
    except OSError:
        return False


def guard(commands, answers):
    """Starts a small process that kills this one and its children once nobody can send commands any more.

    A thread could not: a benchmark that hangs in native code may hold the interpreter's lock. It is nobody's child, so
    that a benchmark that waits for its children does not wait for it.
    """
    group = os.getpid()
    if os.getpgrp() != group:
        os.setpgid(0, 0)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if os.fork():
        os._exit(0)
    folder = os.getcwd()  # noqa: PTH109
    for descriptor in (answers, 0, 1, 2):
        os.close(descriptor)
    poll = select.poll()
    poll.register(commands, 0)  # no event asked for: only the end of the pipe wakes it
    poll.poll()
    os.setpgid(0, 0)  # so as not to die with the rest before the folder is gone
    os.killpg(group, signal.SIGKILL)
    if os.path.basename(folder).startswith(FOLDER_PREFIX):  # noqa: PTH119
        import shutil

        kill_left_behind(folder)
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main(arguments):
    """The whole life of a worker."""
    commands, answers = take_pipes()
    guard(commands, answers)
    faulthandler.enable()
    serve(Worker(*arguments), commands, answers)
    # Exit handlers clean up what benchmarks started; taking the interpreter apart would only cost time.
    atexit._run_exitfuncs()
    flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
