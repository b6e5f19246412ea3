"""Which differences between two sides forbid a comparison, and which only deserve a word."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.cells.cell import Cell
from harness.measurement.runs import Run

__all__ = ["RULES", "Difference", "Gravity", "Rule", "blocking", "comparability", "factors_between", "facts_of"]

Facts = Mapping[str, object]


class Gravity(StrEnum):
    """What a difference does to a comparison."""

    BLOCKS = "blocks"
    WARNS = "warns"
    #: It comes with a factor in which the cells differ on purpose.
    EXPECTED = "expected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One fact that two sides should share.

    Attributes:
        fact: Where it stands in the facts: keys joined by dots.
        title: What a report calls it.
        gravity: What a difference does, unless it is expected.
        factors: The axes of a cell that explain it; one that ends in a dot stands for all of its kind (`env.`).
    """

    fact: str
    title: str
    gravity: Gravity
    factors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A fact that differs between the sides."""

    title: str
    gravity: Gravity
    baseline: object
    candidate: object

    def __str__(self) -> str:
        return f"{self.title}: {_shown(self.baseline)} against {_shown(self.candidate)}"


def _block(fact: str, title: str, *factors: str) -> Rule:
    return Rule(fact=fact, title=title, gravity=Gravity.BLOCKS, factors=factors)


def _warn(fact: str, title: str, *factors: str) -> Rule:
    return Rule(fact=fact, title=title, gravity=Gravity.WARNS, factors=factors)


_SETTINGS = ("env.", "flag.", "backend", "image")
_SUBJECT = ("release", "build.")

#: What must agree. The version of a benchmark's code is not among these: it is compared row by row (see `table`).
RULES: tuple[Rule, ...] = (
    _block("machine", "machine", "machine"),
    _block("host.architecture", "architecture", "machine"),
    _block("host.cpu", "processor", "machine"),
    _block("host.cpu_flags", "features of the processor", "machine"),
    _block("host.processors", "number of processors", "machine"),
    _block("host.quota", "processor quota of the control group", "machine"),
    _block("process.affinity", "processors that may be used", "machine", *_SETTINGS),
    _block("process.flags.num_threads", "threads", "machine", *_SETTINGS, *_SUBJECT),
    _block("process.cpu_capability", "instruction set in use", "machine", *_SETTINGS, *_SUBJECT),
    _block("process.cuda_available", "whether a GPU can be used", "machine", *_SETTINGS, *_SUBJECT),
    _block("process.environment.MALLOC_TRIM_THRESHOLD_", "allocator's trim threshold", "env."),
    _block("process.environment.MALLOC_MMAP_THRESHOLD_", "allocator's mmap threshold", "env."),
    _block("process.environment.LD_PRELOAD", "preloaded libraries", "env.", "slim"),
    _warn("host.governor", "frequency governor", "machine"),
    _warn("host.smt", "simultaneous multithreading", "machine"),
    _warn("host.kernel", "kernel", "machine"),
    _warn("host.memory", "memory", "machine"),
    _warn("host.memory_limit", "memory limit of the control group", "machine"),
    _warn("host.turbo", "turbo frequencies", "machine"),
    _warn("host.huge_pages", "transparent huge pages", "machine"),
    _warn("process.python.version", "Python", "python", "image"),
    _warn("process.python.glibc", "C library", "machine", "image"),
)


def factors_between(baseline: Cell, candidate: Cell) -> frozenset[str]:
    """The axes in which two cells differ on purpose, named as in `Cell.axes`."""
    ours, theirs = baseline.axes(), candidate.axes()
    return frozenset(axis for axis in ours.keys() | theirs.keys() if ours.get(axis) != theirs.get(axis))


def facts_of(run: Run, side: int) -> Facts:
    """What `RULES` look at, for one side of a run: `machine`, `host`, and `process` as its newest record saw itself."""
    seen = [run.fingerprints.get(record.fingerprint) for record in run.records if record.side == side]
    process: Facts = next((facts for facts in reversed(seen) if facts), {})
    return {"machine": run.header.machine, "host": run.header.host, "process": process}


def comparability(
    baseline: Facts, candidate: Facts, *, asked_for: Collection[str] = (), rules: Collection[Rule] = RULES
) -> tuple[Difference, ...]:
    """How two sides differ beside what is compared: what blocks first, then what warns, then what was expected.

    A fact that one side lacks is not held against it: records outlive the harness that wrote them, and an absent fact
    is no difference. Both sides lacking everything is for the caller to refuse.

    Args:
        baseline: Nested mappings of facts.
        candidate: The same for the other side.
        asked_for: The axes in which the sides differ on purpose: `factors_between` the cells, and `machine` where two
            machines are compared.
        rules: What must agree.
    """
    found = []
    for rule in rules:
        ours, theirs = _fact(baseline, rule.fact), _fact(candidate, rule.fact)
        if ours is not None and theirs is not None and ours != theirs:
            gravity = Gravity.EXPECTED if _explained(rule, asked_for) else rule.gravity
            found.append(Difference(title=rule.title, gravity=gravity, baseline=ours, candidate=theirs))
    return tuple(sorted(found, key=lambda difference: list(Gravity).index(difference.gravity)))


def blocking(differences: Collection[Difference]) -> str:
    """Why two sides must not be compared, in one line; empty where nothing forbids it."""
    return "; ".join(str(difference) for difference in differences if difference.gravity is Gravity.BLOCKS)


def _fact(facts: Facts, path: str) -> object:
    value: object = facts
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _explained(rule: Rule, asked_for: Collection[str]) -> bool:
    return any(
        axis.startswith(factor) if factor.endswith(".") else axis == factor
        for axis in asked_for
        for factor in rule.factors
    )


def _shown(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
