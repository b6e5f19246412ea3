"""Benchmarks that run to their end, and say what nobody expects."""

# ruff: noqa: EM101  (written as users write benchmarks)

import os
import subprocess
import sys


def track_details():
    with open(os.environ["HARNESS_DETAILS"], "ab") as file:  # noqa: PTH123
        file.write(b'{"loss": NaN, "path": "\\udcff.pt"}\n{"far": 1e999}\n[1]\nnot JSON\n\xff\n{"kept": 1}\n')
    return 1


def track_forked():
    # The child comes back into the worker, as a benchmark that forgot os._exit does.
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return 1


def track_answering():
    for descriptor in range(3, 20):
        try:
            os.write(descriptor, b'\x1e{"value": 2}\n')
        except OSError:
            continue
    return 1


def track_no_text():
    raise ValueError("cannot open \udcff.pt")


def track_leaving():
    # Three children that outlive their session: in the worker's folder, elsewhere, and a fork.
    sleep = [sys.executable, "-c", "import time; time.sleep(600)", os.environ["MARKER"]]
    subprocess.Popen(sleep, start_new_session=True)
    subprocess.Popen(sleep, start_new_session=True, cwd="/")
    if os.fork() == 0:
        os.setsid()
        os.execv(sleep[0], sleep)
    return 1


def track_closed_output():
    sys.stdout.close()
    sys.stderr = None
    return 1


def track_closed_and_raised():
    sys.stderr.close()
    raise ValueError("after the end")


def track_no_variables():
    with open(os.environ["HARNESS_DETAILS"], "a") as file:  # noqa: PTH123
        file.write('{"kept": 1}\n')
    os.environ.clear()
    return 1
