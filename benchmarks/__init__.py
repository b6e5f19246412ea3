"""The suite: how fast torch is below its Python API. Runs on the Python of the measured environment.

Importing it imports no torch, so that the list of benchmarks is the same whatever is installed.
"""

from asv_runner.benchmarks.time import TimeBenchmark

# Since 0.3.0 asv_runner calls a benchmark that has a `setup` once a sample, which for an operation of a microsecond
# measures the clock. No benchmark here changes what its `setup` made, so that one `setup` serves a whole sample.
TimeBenchmark._setup_isolates_timed_calls = False
