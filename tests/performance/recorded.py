"""Real rounds for `harness calibrate --simulate`: `python tests/performance/recorded.py RUNS --cells END -o FILE ...`.

RUNS is a folder of runs (`results/runs`) whose two sides are the same code: an A/A. Rounds of one row are taken in the
order of time, as they are: samples that something disturbed too. What the harness ships was made like this from 40
rounds of `planted_suite` against itself with `PLANTED=1.00`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

from harness.measurement.records import Record, State
from harness.pipeline.stored import stored_runs


def rounds_of(records: list[Record], samples: int) -> list[list[list[float]]]:
    """Seconds: rounds x 2 sides x samples; only rounds that both sides finished with so many samples."""
    by_round: dict[int, dict[int, Record]] = defaultdict(dict)
    for record in records:
        if record.state is State.OK and len(record.samples) >= samples:
            by_round[record.round][record.side] = record
    return [
        [[float(f"{sample.value:.4g}") for sample in sides[side].samples[:samples]] for side in (0, 1)]
        for _, sides in sorted(by_round.items())
        if len(sides) == 2
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--description", required=True, help="what was measured, where and when")
    parser.add_argument("--cells", required=True, help="only runs whose candidate's id ends so")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=100, help="at most so many of each row")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    seconds: dict[str, list[list[list[float]]]] = defaultdict(list)
    runs = [run for run in stored_runs(options.runs) if run.header.sides[1].cell.endswith(options.cells)]
    for run in sorted(runs, key=lambda run: run.header.created):
        rows: dict[str, list[Record]] = defaultdict(list)
        for record in run.records:
            rows[" ".join((record.benchmark.name, *record.benchmark.params))].append(record)
        for name, records in rows.items():
            seconds[name] += rounds_of(records, options.samples)
    kept = {name: rounds[: options.rounds] for name, rounds in sorted(seconds.items()) if rounds}
    options.output.write_text(json.dumps({"description": options.description, "seconds": kept}) + "\n")
    for name, rounds in kept.items():
        print(f"{len(rounds):4} rounds of {name}")


if __name__ == "__main__":
    main()
