"""What the harness itself costs, measured side by side on this machine: `python tests/performance/overheads.py`.

Prints figures and ratios of one run. It asserts nothing: machines are shared and noisy.

1. Start-up: `harness --help` and `harness plan --offline`, best of several, beside a bare interpreter.
2. A warm rebuild of a torch environment, beside `python -m venv` and `pip install` with a warm cache of pip's own.
3. The harness's own share of a run: wall time that no measuring process accounts for. Give a run's folder for it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path


def seconds(command: list[str], **env: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | env)
    return time.perf_counter() - start


def best(command: list[str], tries: int = 7) -> float:
    return min(seconds(command) for _ in range(tries))


def start_up() -> None:
    harness = str(Path(sys.executable).with_name("harness"))
    subprocess.run([harness, "plan"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bare = best([sys.executable, "-c", "pass"])
    for name, command, bound in (
        ("harness --help", [harness, "--help"], 0.15),
        ("harness plan --offline", [harness, "plan", "--offline"], 0.5),
    ):
        took = best(command)
        print(f"{name:28} {took:6.3f} s   {took / bare:5.1f} x a bare interpreter   (bound {bound} s)")


def rebuild(cell: str, requirement: str) -> None:
    harness = str(Path(sys.executable).with_name("harness"))
    path = Path(subprocess.check_output([harness, "env", "build", cell], text=True).split()[1])
    python = str(path / "bin" / "python")
    ours = []
    for _ in range(3):
        shutil.rmtree(path)
        ours.append(seconds([harness, "env", "build", cell]))
    frozen = subprocess.check_output(["uv", "pip", "freeze", "--python", python], text=True)
    base = subprocess.check_output([python, "-c", "import sys; print(sys.base_prefix)"], text=True).strip()
    # The packages that are in the environment, with pip from scratch and its cache warm from a first time.
    pins = [line for line in frozen.splitlines() if "==" in line]
    theirs = []
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder, "cache")
        for number in range(3):
            venv = Path(folder, f"venv{number}")
            start = time.perf_counter()
            subprocess.run([f"{base}/bin/python3", "-m", "venv", str(venv)], check=True)
            install = [str(venv / "bin" / "pip"), "install", "-q", "--no-deps", "--cache-dir", str(cache), *pins]
            subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
            theirs.append(time.perf_counter() - start)
            shutil.rmtree(venv)
    pip = min(theirs[1:])
    print(f"{requirement}: warm rebuild {min(ours):.2f} s (of {', '.join(f'{t:.2f}' for t in ours)})")
    print(f"{requirement}: venv + pip, warm {pip:.2f} s (of {', '.join(f'{t:.2f}' for t in theirs)})")
    print(f"{requirement}: {pip / min(ours):.1f} times faster")


def own_share(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    header = lines[0]
    records = [line for line in lines if line["kind"] == "record"]
    ended = datetime.fromisoformat(next(line["at"] for line in lines if line["kind"] == "end"))
    wall = (ended - datetime.fromisoformat(header["created"])).total_seconds()
    # Processes of a round live side by side: the longest of them is the time that measuring takes.
    rounds: dict[str, float] = {}
    for record in records:
        key = json.dumps([record["round"], record["benchmark"]])
        rounds[key] = max(rounds.get(key, 0.0), record["seconds"])
    measuring = sum(rounds.values())
    print(f"run {folder.name}: {wall:.0f} s wall, {measuring:.0f} s in measuring processes", end=", ")
    print(f"{100 * (wall - measuring) / wall:.1f} % the harness's own (bound 5 %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", default="torch2.13.0-py3.11-cpu", help="the environment to rebuild")
    parser.add_argument("--run", type=Path, help="the folder of a finished run")
    parser.add_argument("--skip-rebuild", action="store_true")
    options = parser.parse_args()
    start_up()
    if not options.skip_rebuild:
        rebuild(options.cell, options.cell)
    if options.run:
        own_share(options.run)


if __name__ == "__main__":
    main()
