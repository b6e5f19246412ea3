"""Functions of the suite in fresh processes that always end: with a result, at their limit, or with their parent."""

import contextlib
import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from {package}.children import answer
answer(*sys.argv[2:])
"""


def in_child(function, *arguments, timeout, variables=None):
    """What a function at the top of a file of the suite returns in a fresh process: JSON in, JSON out.

    Args:
        function: What is called.
        arguments: What it is called with.
        timeout: Seconds; the process is killed then.
        variables: The whole environment of the process; that of this one when not given.

    Raises:
        RuntimeError: The process failed or was killed; carries the end of what it said.
    """
    return in_children(function, [arguments], timeout=timeout, variables=variables)[0]


def in_children(function, calls, *, timeout, variables=None):
    """The same for several processes that live side by side; when one fails all are killed.

    Args:
        function: What is called.
        calls: The arguments of each process.
        timeout: Seconds for all together.
        variables: The whole environment of each.

    Raises:
        RuntimeError: As of `in_child`.
    """
    package = __package__
    above = str(Path(__file__).resolve().parents[len(package.split("."))])
    start = [sys.executable, "-c", _CALL.format(package=package), above, function.__module__, function.__name__]
    # In the working folder, which the harness removes even when this process is killed.
    with tempfile.TemporaryDirectory(prefix="children-", dir=Path.cwd()) as folder:
        children = []
        try:
            # What they say goes to files: a pipe would be held open by what they leave behind.
            for number, arguments in enumerate(calls):
                place = Path(folder) / str(number)
                with place.with_suffix(".log").open("wb") as log:
                    command = [*start, json.dumps(arguments), str(place)]
                    children.append(
                        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=variables)
                    )
            _wait(children, Path(folder), time.monotonic() + timeout, timeout)
            return [json.loads((Path(folder) / str(number)).read_text()) for number in range(len(children))]
        finally:
            for child in children:
                child.kill()
                child.wait()


def _wait(children, folder, end, timeout):
    while True:
        statuses = [child.poll() for child in children]
        for number, status in enumerate(statuses):
            if status:
                said = (folder / str(number)).with_suffix(".log").read_text(errors="replace")
                message = f"a child ended with status {status}: {said.strip()[-1500:]}"
                raise RuntimeError(message)
        if None not in statuses:
            return
        if time.monotonic() > end:
            said = (folder / str(statuses.index(None))).with_suffix(".log").read_text(errors="replace")
            message = f"a child had not ended after {timeout:g} s and was killed: {said.strip()[-1500:]}"
            raise RuntimeError(message)
        time.sleep(0.01)


def answer(module, name, arguments, place):
    """What runs in the child: calls the function, writes its result, and ends at once whatever was left running."""
    die_with_parent()
    result = getattr(importlib.import_module(module), name)(*json.loads(arguments))
    Path(place).write_text(json.dumps(result))
    sys.stdout.flush()
    sys.stderr.flush()
    # A loader that watches its workers would raise here when they die.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    kill_children()
    # No exit handlers: one that waits for a hanging process would hang too.
    os._exit(0)


def kill_children():
    """Kills the processes that this one started and left: a worker of a data loader may wait for ever (Linux)."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        # Gone meanwhile, or not ours to read.
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The name stands in brackets and may hold anything; behind it come the state and the parent.
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(path.parent.name), signal.SIGKILL)


def die_with_parent():
    """Asks the kernel to kill this process when its parent ends, where it can (Linux)."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG
