"""Which differences between two sides forbid a comparison, and which only deserve a word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["RULES", "Difference", "Gravity", "Rule", "blocking", "comparability"]

Facts = Mapping[str, object]


class Gravity(StrEnum):
    """What a difference does to a comparison."""

    BLOCKS = "blocks"
    WARNS = "warns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fact that two sides should share.

    Attributes:
        fact: Where it stands in the facts: keys joined by dots.
        title: What a report calls it.
        gravity: What a difference does.
        factors: The axes of a cell that excuse it: a difference that was asked for is not an accident.
    """

    fact: str
    title: str
    gravity: Gravity
    factors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact that differs between the sides."""

    rule: Rule
    baseline: object
    candidate: object

    def __str__(self) -> str:
        return f"{self.rule.title}: {_shown(self.baseline)} against {_shown(self.candidate)}"


def _block(fact: str, title: str, *factors: str) -> Rule:
    return Rule(fact=fact, title=title, gravity=Gravity.BLOCKS, factors=factors)


def _warn(fact: str, title: str, *factors: str) -> Rule:
    return Rule(fact=fact, title=title, gravity=Gravity.WARNS, factors=factors)


#: Facts under `host.` describe the machine, those under `process.` the measured process.
RULES: tuple[Rule, ...] = (
    _block("host.machine", "machine", "machine"),
    _block("host.cpu", "processor", "machine"),
    _block("host.instruction_set", "instruction set of the processor", "machine"),
    _block("host.cpus", "processors that may be used", "machine", "affinity"),
    _block("host.quota", "processor quota of the control group", "machine"),
    _block("process.threads", "threads", "env.", "flag.", "backend", "image"),
    _block("process.capability", "instruction set in use", "env.", "flag.", "backend", "release", "build."),
    _block("process.device", "device", "machine", "env.", "backend"),
    _block("process.allocator", "allocator thresholds", "env."),
    _block("benchmarks", "version of the benchmark suite"),
    _warn("host.governor", "frequency governor", "machine"),
    _warn("host.smt", "simultaneous multithreading", "machine"),
    _warn("host.kernel", "kernel", "machine"),
    _warn("host.memory", "memory", "machine"),
    _warn("host.glibc", "C library", "machine", "image"),
    _warn("process.python", "Python", "python", "image"),
    _warn("process.scheduler", "scheduling class"),
    _warn("harness", "version of the harness"),
)


def comparability(
    baseline: Facts, candidate: Facts, *, asked_for: Collection[str] = (), rules: Collection[Rule] = RULES
) -> tuple[Difference, ...]:
    """The differences that were not asked for, those that block first.

    A fact that one side lacks is not held against it: records outlive the harness that wrote them, and an absent fact
    is no difference. Both sides lacking everything is for the caller to refuse.

    Args:
        baseline: Nested mappings of facts.
        candidate: The same for the other side.
        asked_for: Names of the axes in which the cells differ on purpose (`backend`, `env.OMP_NUM_THREADS`), or
            `machine` where two machines are compared.
        rules: What must agree.
    """
    found = []
    for rule in rules:
        ours, theirs = _fact(baseline, rule.fact), _fact(candidate, rule.fact)
        if ours is None or theirs is None or ours == theirs or _excused(rule, asked_for):
            continue
        found.append(Difference(rule=rule, baseline=ours, candidate=theirs))
    return tuple(sorted(found, key=lambda difference: difference.rule.gravity is not Gravity.BLOCKS))


def blocking(differences: Collection[Difference]) -> str:
    """Why two sides must not be compared, in one line; empty where nothing forbids it."""
    return "; ".join(str(difference) for difference in differences if difference.rule.gravity is Gravity.BLOCKS)


def _fact(facts: Facts, path: str) -> object:
    value: object = facts
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _excused(rule: Rule, asked_for: Collection[str]) -> bool:
    """A factor that ends in a dot stands for every axis of that kind (`env.` for any variable)."""
    return any(
        axis.startswith(factor) if factor.endswith(".") else axis == factor
        for axis in asked_for
        for factor in rule.factors
    )


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
