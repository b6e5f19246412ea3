"""What each measure against noise is worth: `python tests/performance/spread.py --cell torch2.13.0-py3.11-cpu`.

One cell is measured against itself, in rounds of two fresh processes, in five ways that each add a measure to the one
before: as a user's script would; allocator thresholds pinned; both processes kept on one processor; disturbed samples
repeated and left out; real-time scheduling. The ways take turns, a few rounds each, so that all of them meet what the
machine goes through. Of the rounds of each way the table shows the spread (standard deviation) of

- the median of one process, alone, as most tools take it;
- the ratio of the medians of the two processes of a round;
- the ratio of neighbouring samples: what verdicts are made of.

It prints Markdown and asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, median, stdev

from harness.cells.adhoc import Selection
from harness.environments.store import Store
from harness.environments.variables import clean_variables
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId, Record, State
from harness.measurement.run import run_rounds
from harness.measurement.side import Side
from harness.paths import cache_dir, find_project
from harness.pipeline.build import build_all
from harness.pipeline.plan import make_plan
from harness.statistics.replicates import Timed, log_ratio

ROOT = Path(__file__).parents[2]
ROWS = (
    ("dispatch_overhead", ("'1'", "'cpu'")),
    ("conv2d_throughput", ("'1'", "'cpu'", "'3x3 64->64 at 56x56'")),
    ("matmul_throughput", ("'1'", "'cpu'")),
    ("data_loading_throughput", ("'cpu'", "'in process'", "'quick'")),
)
#: So large that every sample counts as undisturbed.
ANY = 1000.0
BARE = Options(rounds=3, max_rounds=3, samples=20, calm=ANY, pin=False)
WAYS = {
    "plain": (BARE, True),
    "+ allocator": (BARE, False),
    "+ one processor": (replace(BARE, pin=True), False),
    "+ canary": (replace(BARE, pin=True, calm=Options().calm), False),
    "+ real-time": (replace(BARE, pin=True, calm=Options().calm, realtime=10), False),
}


@dataclass
class Seen:
    """What the rounds of one way say of one row: logarithms, and the share of undisturbed samples."""

    medians: list[float] = field(default_factory=list)
    ratios_of_medians: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    calm: list[float] = field(default_factory=list)
    unmeasured: int = 0

    def add(self, sides: Sequence[Record], calm: float) -> None:
        if any(record.state is not State.OK for record in sides):
            self.unmeasured += 1
            return
        # A sample is calm in the sense of this way.
        timed = [[Timed(s.value, s.at, s.calm is not False) for s in record.samples] for record in sides]
        middles = [math.log(median(sample.value for sample in process if sample.calm)) for process in timed]
        found = log_ratio(*timed)
        assert found is not None
        self.medians += middles
        self.ratios_of_medians.append(middles[1] - middles[0])
        self.ratios.append(found[0])
        self.calm.append(fmean(sample.calm for process in timed for sample in process) if calm < ANY else 1.0)


def rows_of(benchmarks, metrics) -> list[BenchmarkId]:
    by_name = {metric.name: metric for metric in metrics}
    found = []
    for name, params in ROWS:
        own = [row for row in benchmarks.rows((by_name[name],)) if not params or row.params == params]
        assert own, f"{name} has no {params}"
        found += own[:1]
    return found


def measure(cell: str, rounds: int, runs: Path) -> dict[BenchmarkId, dict[str, Seen]]:
    names = tuple(dict.fromkeys(name for name, _ in ROWS))
    plan = make_plan(find_project(ROOT), cache=cache_dir(), selection=Selection(cells=(cell,), metrics=names))
    plan = plan.against_itself()
    (pair,) = plan.pairs
    built = build_all(plan.project, plan.spec, plan.place, [pair.baseline])
    environment = built.environments[pair.baseline]
    rows = rows_of(plan.benchmarks, plan.metrics)
    seen: dict[BenchmarkId, dict[str, Seen]] = {row: defaultdict(Seen) for row in rows}
    with ExitStack() as held:
        held.enter_context(Store.default().using(environment))
        for block in range(-(-rounds // BARE.rounds)):
            for way, (options, plain) in WAYS.items():
                print(f"block {block + 1}: {way}", file=sys.stderr)
                side = Side.of(pair.baseline, environment, clean_variables(pair.baseline, environment, plain=plain))
                suite = plan.benchmarks
                # A block is a run of its own: the seed keeps it from being taken for another's.
                how = replace(options, seed=block)
                run = run_rounds([side, side], rows, suite.suite, how, suite=suite.folder, runs=runs)
                together: dict[tuple[int, BenchmarkId], dict[int, Record]] = defaultdict(dict)
                for record in run.records:
                    together[record.round, record.benchmark][record.side] = record
                for (_, row), sides in together.items():
                    seen[row][way].add([sides[0], sides[1]], options.calm)
    return seen


def table(seen: dict[BenchmarkId, dict[str, Seen]]) -> Iterator[str]:
    yield "| what | measures | processes | one process's median | ratio of medians | neighbours' ratio | undisturbed |"
    yield "|:--|:--|--:|--:|--:|--:|--:|"
    for row, ways in seen.items():
        for way, found in ways.items():
            spreads = [_percent(values) for values in (found.medians, found.ratios_of_medians, found.ratios)]
            lost = f", {found.unmeasured} rounds unmeasured" if found.unmeasured else ""
            calm = f"{100 * fmean(found.calm):.0f} %" if found.calm else ""
            what = f"{row.name.rpartition('.')[2]} {' '.join(row.params)}"
            yield f"| {what} | {way} | {len(found.medians)}{lost} | {' | '.join(spreads)} | {calm} |"


def _percent(values: Sequence[float]) -> str:
    return f"{100 * stdev(values):.2g} %" if len(values) > 1 else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", default="torch2.13.0-py3.11-cpu")
    parser.add_argument("--rounds", type=int, default=12, help="of each way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(table(measure(options.cell, options.rounds, Path(folder)))))


if __name__ == "__main__":
    main()
