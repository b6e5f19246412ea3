"""The same benchmarks under pyperf, as its documentation says: `python run_pyperf.py -o FILE`."""

import pyperf
from bench_planted import Planted

runner = pyperf.Runner()
work = Planted()
work.setup()
for name in ("add", "exp", "matmul"):
    runner.bench_func(f"planted_{name}", getattr(work, f"time_{name}"))
