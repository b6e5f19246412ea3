"""The suite of planted.py: benchmarks whose work is scaled, for every tool the same code."""

from asv_runner.benchmarks.time import TimeBenchmark

# As in the project's own suite: one `setup` serves all calls of a sample.
TimeBenchmark._setup_isolates_timed_calls = False
