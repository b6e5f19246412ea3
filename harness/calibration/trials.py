"""Tables of a machine, judged by a rule: how often it cries wolf, and what it finds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.calibration.machines import BETWEEN, WITHIN, Machine
from harness.calibration.rules import Contender
from harness.statistics.looks import TABLE_ALPHA

__all__ = ["EFFECTS", "FULL", "ROWS", "SHORT", "Effort", "Promise", "Trial", "promises", "try_rules"]

#: Rows of each table.
ROWS = 30
#: Slowdowns that are looked for.
EFFECTS = (0.03, 0.05, 0.10)
#: The share of slower rows that is promised to be found.
FOUND = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many tables are tried.

    Attributes:
        ours: Unchanged tables, of the rule that promises something about tables.
        peers: Unchanged tables of each other rule.
        changed: Tables in which every row is slower, for each slowdown.
    """

    ours: int
    peers: int
    changed: int


FULL = Effort(ours=500, peers=100, changed=20)
SHORT = Effort(ours=40, peers=10, changed=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one rule did on one machine.

    Attributes:
        name: Of the rule.
        noise: Of the machine.
        tables: How many unchanged tables it judged.
        false_tables: The share of unchanged tables in which it says slower or faster of any row.
        false_rows: The share of unchanged rows of which it says so.
        same: The share of unchanged rows that it calls the same; 0 for rules that never do.
        power: A slowdown to the share of such rows that it calls slower.
        within: A slowdown to the share that it calls slower within 10 processes of each side.
        rounds: Processes of each side that an unchanged row takes, in the mean.
    """

    name: str
    noise: str
    tables: int
    false_tables: float
    false_rows: float
    same: float
    power: Mapping[float, float]
    within: Mapping[float, float]
    rounds: float


def try_rules(
    contenders: Sequence[Contender],
    machines: Mapping[str, Machine],
    effort: Effort,
    *,
    seed: int,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Trial]:
    """Every rule on every machine; the same seed gives the same trials, whatever else is tried beside them."""
    trials = []
    for noise, machine in machines.items():
        for contender in contenders:
            tell(f"{noise}: {contender.name}")
            rng = np.random.default_rng([seed, *map(ord, noise + contender.name)])
            trials.append(_try(contender, noise, machine, effort, rng))
    return trials


def _try(contender: Contender, noise: str, machine: Machine, effort: Effort, rng: np.random.Generator) -> Trial:
    tables = effort.ours if contender.tables else effort.peers
    alarms = []
    same, rounds = [], []
    for _ in range(tables):
        said = contender.judge(np.exp(machine.run(rng, contender.layout, ROWS)))
        alarms.append(said.change != 0)
        same.append(said.same)
        rounds.append(said.rounds)
    power, within = {}, {}
    for effect in EFFECTS:
        found, early = [], []
        for _ in range(effort.changed):
            logs = machine.run(rng, contender.layout, ROWS)
            logs[:, 1] += math.log1p(effect)
            said = contender.judge(np.exp(logs))
            found.append(said.change < 0)
            early.append((said.change < 0) & (said.rounds <= 10))
        power[effect], within[effect] = float(np.mean(found)), float(np.mean(early))
    return Trial(
        name=contender.name,
        noise=noise,
        tables=tables,
        false_tables=float(np.mean(np.any(alarms, axis=-1))),
        false_rows=float(np.mean(alarms)),
        same=float(np.mean(same)),
        power=power,
        within=within,
        rounds=float(np.mean(rounds)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One thing that is promised, and what came out.

    Attributes:
        text: The promise.
        found: What came out.
        kept: Whether that keeps it.
        rival: The other tool's rule that it is about; empty for one about ours alone.
    """

    text: str
    found: str
    kept: bool
    rival: str = ""


def promises(trials: Sequence[Trial], ours: str) -> list[Promise]:
    """What our rule promises, held against the trials.

    The share of false tables is allowed two standard errors of its own luck. Power is promised for the Gaussian
    machine, whose noise between processes is 2 %.
    """
    own = {trial.noise: trial for trial in trials if trial.name == ours}
    found = []
    for noise, trial in own.items():
        allowed = TABLE_ALPHA + 2 * math.sqrt(TABLE_ALPHA * (1 - TABLE_ALPHA) / trial.tables)
        found.append(
            Promise(
                text=f"{noise}: at most {_percent(TABLE_ALPHA)} of unchanged tables say slower or faster",
                found=f"{_percent(trial.false_tables)} of {trial.tables}",
                kept=trial.false_tables <= allowed,
            )
        )
    if (steady := own.get("Gaussian")) is not None:
        noise = f"noise of {_percent(BETWEEN)} between and {_percent(WITHIN)} within processes, tables of {ROWS} rows"
        for effect, share, by in ((0.05, steady.power, "20"), (0.10, steady.within, "10")):
            found.append(
                Promise(
                    text=f"{noise}: {_percent(effect)} slower is found in {by} rounds in at least {_percent(FOUND)}",
                    found=_percent(share[effect]),
                    kept=share[effect] >= FOUND,
                )
            )
    for trial in trials:
        if trial.name != ours:
            mine = own[trial.noise]
            as_good = trial.false_tables <= mine.false_tables and trial.power[0.05] >= mine.power[0.05]
            found.append(
                Promise(
                    text=f"{trial.noise}: {trial.name} is not as good in both false alarms and power at 5 %",
                    found=(
                        f"{_percent(trial.false_tables)} and {_percent(trial.power[0.05])} against "
                        f"{_percent(mine.false_tables)} and {_percent(mine.power[0.05])}"
                    ),
                    kept=not as_good,
                    rival=trial.name,
                )
            )
    return found


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
