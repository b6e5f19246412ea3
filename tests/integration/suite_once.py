"""Runs benchmarks once for each of their parameter sets, as `asv run --quick` does, and prints a JSON line for each.

Runs on the Python of a cell: `python suite_once.py BENCHMARKS_DIR [NAME...]`, all benchmarks when none is named.
"""

import contextlib
import io
import itertools
import json
import sys
import time
import traceback

from asv_runner.discovery import disc_benchmarks, get_benchmark_from_name, update_sys_path

ONCE = {"repeat": 1, "number": 1, "rounds": 1, "warmup_time": 0}


def run_once(folder, name, index):
    """The outcome of one parameter set: state, values, reason, what was said, seconds."""
    benchmark = get_benchmark_from_name(folder, f"{name}-{index}", extra_params=ONCE)
    said = io.StringIO()
    start = time.perf_counter()
    outcome = {"state": "ok", "values": [], "reason": ""}
    try:
        with contextlib.redirect_stdout(said):
            if benchmark.do_setup():
                outcome.update(state="skipped", reason=said.getvalue().strip())
            else:
                result = benchmark.do_run()
                outcome["values"] = result["samples"] if isinstance(result, dict) else [result]
            benchmark.do_teardown()
    except Exception as error:  # each outcome is reported, whatever it was
        outcome.update(state="failed", reason=f"{type(error).__name__}: {error}", log=traceback.format_exc())
    outcome.update(benchmark=name, params=list(benchmark._current_params), seconds=time.perf_counter() - start)
    return outcome


def main(folder, *names):
    update_sys_path(folder)
    # All at once: what a benchmark runs may leave names in the modules that are being looked through.
    for benchmark in list(disc_benchmarks(folder)):
        if names and benchmark.name not in names:
            continue
        for index, _ in enumerate(itertools.product(*benchmark._params)):
            print(json.dumps(run_once(folder, benchmark.name, index)), flush=True)


main(*sys.argv[1:])
