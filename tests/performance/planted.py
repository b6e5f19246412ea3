"""A slowdown that is planted, and who finds it: `python tests/performance/planted.py -n 10`.

The benchmarks of `planted_suite` do 1.00, 1.03, 1.05 and 1.10 times their work. Each factor is compared with no factor
at all by

- `harness run`, as a user calls it;
- `asv continuous`, as it comes: 2 rounds, and only changes by a factor of 1.1 count;
- `asv continuous --factor 1.03` with as many rounds as fit into the time that the harness took;
- `pyperf compare_to`, with as many processes as fit into that time; and as it comes, if asked for (20 processes).

All of them run the same code with the same files of torch: those of the baseline's environment. Each comparison is
repeated; what a tool says of a factor of 1.00 is a false alarm. Outcomes are appended to `comparisons.jsonl` in the
working folder, and the same command goes on where it was stopped. At the end, and with `--table` alone, the Markdown
table. It asserts nothing: what it prints is a measurement of one machine.

Three rows at once: a repetition is three comparisons for each tool and factor. With the defaults it takes about ten
minutes for all tools and factors. ASV and pyperf have the machine to themselves, as the harness has.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from harness.measurement.machine import machine_lock

ROOT = Path(__file__).parents[2]
SUITE = Path(__file__).with_name("planted_suite")
METRICS = ("planted_add", "planted_exp", "planted_matmul")
FACTORS = ("1.00", "1.03", "1.05", "1.10")
TOOLS = ("harness", "asv", "asv-timed", "pyperf-timed", "pyperf")
NAMES = {
    "harness": "`harness run`",
    "asv": "`asv continuous`, as it comes",
    "asv-timed": "`asv continuous --factor 1.03`, same time",
    "pyperf-timed": "`pyperf compare_to`, same time",
    "pyperf": "`pyperf compare_to`, as it comes",
}

INSTALL = """
import pathlib, shutil, sys, sysconfig
site = pathlib.Path(sysconfig.get_path("purelib"))
shutil.copy("planted_factor.py", site)
(site / "cell.pth").write_text(sys.argv[1] + "\\n")
"""


@dataclass(frozen=True)
class Outcome:
    """One comparison: what was said of each metric, after how many rounds (of processes) and seconds."""

    tool: str
    factor: str
    repetition: int
    said: dict[str, str]
    rounds: dict[str, int]
    seconds: float


@dataclass(frozen=True)
class Bench:
    """The working folder, the baseline's cell, and the environment that all tools share."""

    folder: Path
    cell: str
    environment: Path
    max_rounds: int

    @property
    def site(self) -> Path:
        return next(self.environment.glob("lib/python*/site-packages"))


def call(command: list[str | Path], *, cwd: Path, good: Iterable[int] = (0,), **env: str) -> str:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | env, capture_output=True, text=True, check=False
    )
    if done.returncode not in set(good):
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


# --------------------------------------------------------------------------------------------------------- preparing


def prepare(folder: Path, cell: str, max_rounds: int) -> Bench:
    """Makes what is not there yet: a project for the harness, one for ASV, and an environment for pyperf."""
    project = folder / "project"
    if not project.exists():
        shutil.copytree(ROOT / "matrix", project / "matrix")
    path = call([sys.executable, "-m", "harness", "env", "build", cell], cwd=project).split()[-1]
    bench = Bench(folder, cell, Path(path), max_rounds)
    if not (folder / "asv" / "ready").exists():
        shutil.rmtree(folder / "asv", ignore_errors=True)
        prepare_asv(bench)
        (folder / "asv" / "ready").touch()
    if not (folder / "pyperf" / "ready").exists():
        shutil.rmtree(folder / "pyperf", ignore_errors=True)
        prepare_pyperf(bench)
        (folder / "pyperf" / "ready").touch()
    return bench


def prepare_asv(bench: Bench) -> None:
    """A project whose commits differ in nothing but the factor; their environment lends torch from the cell's."""
    folder = bench.folder / "asv"
    repo = folder / "repo"
    repo.mkdir(parents=True)
    shutil.copytree(SUITE, folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-c", "user.name=planted", "-c", "user.email=planted@localhost"]
    call([*git, "init", "--quiet", "--initial-branch", "base"], cwd=repo)
    (repo / "install.py").write_text(INSTALL)
    for branch, factor in (("base", "1.00"), *((f"planted-{factor}", factor) for factor in FACTORS)):
        if branch != "base":
            call([*git, "checkout", "--quiet", "-b", branch, "base"], cwd=repo)
        (repo / "planted_factor.py").write_text(f"# {branch}\nFACTOR = {factor}\n")
        call([*git, "add", "."], cwd=repo)
        call([*git, "commit", "--quiet", "-m", branch], cwd=repo)
    python = re.search(r"-py(\d+\.\d+)", bench.cell)
    assert python
    configuration = {
        "version": 1,
        "project": "planted_factor",
        "repo": str(repo),
        "branches": ["base"],
        "environment_type": "virtualenv",
        "pythons": [python[1]],
        "benchmark_dir": "benchmarks",
        "build_command": [],
        "install_command": [f"in-dir={{build_dir}} python {{build_dir}}/install.py {bench.site}"],
        "uninstall_command": [],
    }
    (folder / "asv.conf.json").write_text(json.dumps(configuration, indent=1))
    (folder / "home").mkdir()
    path = f"{bench.environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # It hands what it made to `sys.exit`, so that its status is 1 when all is well.
    call([sys.executable, "-m", "asv", "setup"], cwd=folder, good=(1,), PATH=path)
    assert list(folder.glob("env/*/bin/python"))
    call([sys.executable, "-m", "asv", "machine", "--yes"], cwd=folder, HOME=str(folder / "home"))


def prepare_pyperf(bench: Bench) -> None:
    folder = bench.folder / "pyperf"
    uv = Path(sys.executable).with_name("uv")
    program = str(uv) if uv.exists() else "uv"
    folder.mkdir(parents=True)
    call([program, "venv", "--quiet", "--python", bench.environment / "bin" / "python", "venv"], cwd=folder)
    call([program, "pip", "install", "--quiet", "--python", folder / "venv", "pyperf", "psutil"], cwd=folder)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "cell.pth").write_text(f"{bench.site}\n")


# --------------------------------------------------------------------------------------------------------- the tools


def by_harness(bench: Bench, factor: str) -> tuple[dict[str, str], dict[str, int]]:
    told = json.loads(
        call(
            [
                *(sys.executable, "-m", "harness", "run", "--benchmarks", SUITE, "--metric", "planted_*"),
                *("--cell", bench.cell, "--cell", f"{bench.cell}+PLANTED={factor}"),
                *(("--max-rounds", str(bench.max_rounds)) if bench.max_rounds else ()),
                *("--format", "json"),
            ],
            cwd=bench.folder / "project",
            good=(0, 1, 5),
        )
    )
    rows = {row["metric"]: row for row in told["rows"]}
    return {name: rows[name]["verdict"] for name in METRICS}, {name: rows[name]["rounds"] for name in METRICS}


def by_asv(bench: Bench, factor: str, rounds: int, *options: str) -> tuple[dict[str, str], dict[str, int]]:
    folder = bench.folder / "asv"
    for path in (folder / "results").glob("*/*.json"):
        if path.name != "machine.json":
            path.unlink()
    words = call(
        [
            *(sys.executable, "-m", "asv", "continuous", "base", f"planted-{factor}", "--interleave-rounds"),
            *("-a", f"rounds={rounds}", *options),
        ],
        cwd=folder,
        good=(0, 1),
        HOME=str(folder / "home"),
    )
    assert "SIGNIFICANTLY" in words, words
    said = dict.fromkeys(METRICS, "")
    for mark, name in re.findall(r"^\|\s*([-+!])\s*\|.*\|\s*\S*\.time_(\w+)\s*\|$", words, re.MULTILINE):
        said[f"planted_{name}"] = {"-": "faster", "+": "slower", "!": "broken"}[mark]
    return said, dict.fromkeys(METRICS, rounds)


def by_pyperf(bench: Bench, factor: str, processes: int) -> tuple[dict[str, str], dict[str, int]]:
    folder = bench.folder / "pyperf"
    python = folder / "venv" / "bin" / "python"
    for name, value in (("base", "1"), ("planted", factor)):
        (folder / f"{name}.json").unlink(missing_ok=True)
        call(
            [
                *(python, SUITE.with_name("planted_pyperf.py"), "--quiet", "--inherit-environ", "PLANTED"),
                *("--processes", str(processes), "-o", f"{name}.json"),
            ],
            cwd=folder,
            PLANTED=value,
        )
    words = call([python, "-m", "pyperf", "compare_to", "base.json", "planted.json"], cwd=folder)
    said = dict.fromkeys(METRICS, "")
    for name, verdict in re.findall(r"^(planted_\w+): .*: [\d.]+x (slower|faster)$", words, re.MULTILINE):
        said[name] = verdict
    assert any(said.values()) or "not significant" in words, words
    return said, dict.fromkeys(METRICS, processes)


# -------------------------------------------------------------------------------------------------------- measuring


class Clock:
    """What a comparison of each tool costs for each round, from the last one, so that the next fits into a time."""

    def __init__(self, done: Iterable[Outcome]) -> None:
        self.each: dict[str, float] = {}
        for outcome in done:
            self.note(outcome)

    def note(self, outcome: Outcome) -> None:
        kind = outcome.tool.removesuffix("-timed")
        self.each[kind] = outcome.seconds / max(outcome.rounds.values())

    def fitting(self, kind: str, seconds: float) -> int:
        return max(2, round(seconds / self.each[kind]))


def measure(tool: str, bench: Bench, factor: str, repetition: int, rounds: int) -> Outcome:
    start = time.monotonic()
    if tool == "harness":
        # It holds the machine itself.
        said, took = by_harness(bench, factor)
    else:
        with machine_lock():
            start = time.monotonic()
            match tool:
                case "asv":
                    said, took = by_asv(bench, factor, rounds)
                case "asv-timed":
                    said, took = by_asv(bench, factor, rounds, "--factor", "1.03")
                case _:
                    said, took = by_pyperf(bench, factor, rounds)
    return Outcome(tool, factor, repetition, said, took, round(time.monotonic() - start, 1))


def repeat(bench: Bench, options: argparse.Namespace, done: list[Outcome], keep: Callable[[Outcome], None]) -> None:
    """All tools in turn for each factor, then again: what the machine goes through is the same for all."""
    clock = Clock(done)
    known = {(outcome.tool, outcome.factor, outcome.repetition): outcome for outcome in done}
    for kind in {tool.removesuffix("-timed") for tool in options.tools if tool.endswith("-timed")}:
        if kind not in clock.each:
            print(f"how long does a round of {kind} take?", file=sys.stderr)
            clock.note(measure(kind, bench, "1.00", -1, 2))
    for repetition in range(options.n):
        for factor in options.factors:
            for tool in (tool for tool in TOOLS if tool in options.tools):
                if (tool, factor, repetition) in known:
                    continue
                rounds = 20 if tool == "pyperf" else 2
                if tool.endswith("-timed"):
                    ours = known.get(("harness", factor, repetition))
                    seconds = ours.seconds if ours else options.seconds
                    rounds = clock.fitting(tool.removesuffix("-timed"), seconds)
                outcome = measure(tool, bench, factor, repetition, rounds)
                known[tool, factor, repetition] = outcome
                clock.note(outcome)
                keep(outcome)


# -------------------------------------------------------------------------------------------------------- the table


def table(outcomes: Iterable[Outcome]) -> Iterator[str]:
    yield "| planted | tool | comparisons | said slower | said faster | said same | left open | rounds | seconds |"
    yield "|--:|:--|--:|--:|--:|--:|--:|--:|--:|"
    found = list(outcomes)
    for factor in FACTORS:
        for tool in TOOLS:
            these = [outcome for outcome in found if (outcome.tool, outcome.factor) == (tool, factor)]
            if not these:
                continue
            said = [words for outcome in these for words in outcome.said.values()]
            counts = [said.count(word) for word in ("slower", "faster", "same")]
            rounds = [number for outcome in these for number in outcome.rounds.values()]
            seconds = median(outcome.seconds for outcome in these)
            columns = [len(said), *counts, len(said) - sum(counts), _spread(rounds), f"{seconds:.0f}"]
            yield f"| {factor} | {NAMES[tool]} | {' | '.join(map(str, columns))} |"


def _spread(numbers: list[int]) -> str:
    low, middle, high = min(numbers), median(numbers), max(numbers)
    return f"{middle:g}" if low == high else f"{middle:g} ({low} to {high})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=10, help="repetitions of each comparison")
    parser.add_argument("--cell", default="torch2.13.0-py3.11-cpu", help="the baseline's cell")
    parser.add_argument("--factors", nargs="+", choices=FACTORS, default=FACTORS)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS[:-1])
    parser.add_argument(
        "--seconds", type=float, default=120, help="for timed tools where the harness is not among them"
    )
    parser.add_argument("--max-rounds", type=int, default=0, help="of the harness; its own default without")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir(), "planted"), help="the working folder")
    parser.add_argument("--table", action="store_true", help="measure nothing, print the table")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    log = options.work / "comparisons.jsonl"
    done = [Outcome(**json.loads(line)) for line in log.read_text().splitlines()] if log.exists() else []

    def keep(outcome: Outcome) -> None:
        done.append(outcome)
        with log.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        print(f"{outcome.factor} {outcome.tool}: {outcome.said}, {outcome.seconds} s", file=sys.stderr)

    if not options.table:
        repeat(prepare(options.work.resolve(), options.cell, options.max_rounds), options, list(done), keep)
    print("\n".join(table(done)))


if __name__ == "__main__":
    main()
