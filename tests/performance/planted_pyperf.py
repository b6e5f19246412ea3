"""The same benchmarks under pyperf, as its documentation says: `python planted_pyperf.py -o FILE`.

It stands beside the suite and not in it, for ASV imports every module of a suite.
"""

import sys
from pathlib import Path

import pyperf

sys.path.insert(0, str(Path(__file__).with_name("planted_suite")))
from bench_planted import Planted

runner = pyperf.Runner()
work = Planted()
work.setup()
for name in ("add", "exp", "matmul"):
    runner.bench_func(f"planted_{name}", getattr(work, f"time_{name}"))
