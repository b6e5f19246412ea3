"""The rules that are tried: ours, and those of other tools as they come.

Each has its own layout, so that it gets the processes, the samples and the order that its tool would measure. None but
ours knows of tables: the others judge each row as if it stood alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from harness.asv_plugin.significance import asv_says
from harness.calibration.layout import Floats, Layout, Order
from harness.statistics.looks import DEFAULT_LOOKS
from harness.statistics.rule import Rule
from harness.statistics.verdict import Verdict

__all__ = ["OURS", "PEERS", "Contender", "Said"]

Integers = npt.NDArray[np.int64]
FLOOR = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a rule says of the rows of one table.

    Attributes:
        change: -1 slower, 1 faster, 0 neither; one for each row.
        same: Whether it says that the row is the same; one for each row.
        rounds: Processes of each side that it took; one for each row.
    """

    change: Integers
    same: npt.NDArray[np.bool_]
    rounds: Integers


class Judge(Protocol):
    """A rule."""

    def __call__(self, times: Floats, /) -> Said:
        """Judges a table: rows x 2 sides x processes x samples, in seconds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A rule with what it measures.

    Attributes:
        name: Of the tool and its options.
        layout: What it measures for one row.
        judge: What it says then.
        tables: Whether it controls the false alarms of a whole table.
    """

    name: str
    layout: Layout
    judge: Judge
    tables: bool = False


def _ours(times: Floats) -> Said:
    logs = np.log(times)
    # Above 0 where the candidate is faster, as everywhere.
    replicates = np.median(logs[:, 0] - logs[:, 1], axis=-1).tolist()
    looks = DEFAULT_LOOKS
    rule = Rule.of(replicates, rows=len(replicates), looks=looks)
    verdicts, rounds = [], []
    for row in replicates:
        rulings = ((look, rule.apply(row[:look], FLOOR)) for look in looks.rounds)
        look, ruling = next(found for found in rulings if found[0] == looks.budget or not found[1].open)
        verdicts.append(ruling.judgement.verdict)
        rounds.append(look)
    change = [{Verdict.SLOWER: -1, Verdict.FASTER: 1}.get(verdict, 0) for verdict in verdicts]
    return Said(
        change=np.array(change),
        same=np.array([verdict is Verdict.SAME for verdict in verdicts]),
        rounds=np.array(rounds),
    )


def _alone(change: Integers, times: Floats) -> Said:
    """What a rule says that knows no *same* and takes as many processes as it is given."""
    rows, _, processes, _ = times.shape
    return Said(change=change, same=np.zeros(rows, dtype=bool), rounds=np.full(rows, processes))


def _signed(different: npt.NDArray[np.bool_], centres: Floats) -> Integers:
    """-1 where the candidate's centre is above: it takes longer."""
    return np.where(different, np.sign(centres[:, 0] - centres[:, 1]), 0).astype(np.int64)


def _pooled(times: Floats) -> Floats:
    """The samples of all processes of a side as if they were independent: rows x 2 x samples."""
    return times.reshape(*times.shape[:2], -1)


def _student(times: Floats, *, level: float, equal_variances: bool) -> Said:
    from scipy.stats import ttest_ind  # noqa: PLC0415

    pooled = _pooled(times)
    found = ttest_ind(pooled[:, 0], pooled[:, 1], axis=-1, equal_var=equal_variances)
    return _alone(_signed(np.asarray(found.pvalue) < level, pooled.mean(axis=-1)), times)


def _mann_whitney(times: Floats, *, level: float) -> Said:
    from scipy.stats import mannwhitneyu  # noqa: PLC0415

    pooled = _pooled(times)
    found = mannwhitneyu(pooled[:, 0], pooled[:, 1], axis=-1, alternative="two-sided")
    return _alone(_signed(np.asarray(found.pvalue) < level, np.median(pooled, axis=-1)), times)


def _threshold(times: Floats, *, share: float) -> Said:
    middles = np.median(_pooled(times), axis=-1)
    return _alone(_signed(np.abs(middles[:, 1] / middles[:, 0] - 1) > share, middles), times)


def _asv(times: Floats, *, factor: float, keep_samples: bool) -> Said:
    change = [asv_says(a, b, factor=factor, keep_samples=keep_samples) for a, b in _pooled(times).tolist()]
    return _alone(np.array(change), times)


#: 20 samples of a process of each side in turn, looked at after 5, 10, 15 and 20 of them; half of those samples here,
#: since an operation of 50 ms gets no more.
OURS = Contender(
    name="harness",
    layout=Layout(processes=DEFAULT_LOOKS.budget, samples=10, order=Order.SAMPLES),
    judge=_ours,
    tables=True,
)

_ASV = Layout(processes=2, samples=5, order=Order.ROUNDS)

PEERS = (
    Contender(
        name="asv, samples",
        layout=_ASV,
        judge=partial(_asv, factor=1.1, keep_samples=True),
    ),
    Contender(name="asv", layout=_ASV, judge=partial(_asv, factor=1.1, keep_samples=False)),
    Contender(
        name="asv, samples, factor 1.03",
        layout=_ASV,
        judge=partial(_asv, factor=1.03, keep_samples=True),
    ),
    # 20 processes of 3 values after a warm-up; Student's t with pooled variance on all 60, at 95 %.
    Contender(
        name="pyperf",
        layout=Layout(processes=20, samples=3, order=Order.BLOCKS),
        judge=partial(_student, level=0.05, equal_variances=True),
    ),
    # 10 repetitions in one process each; two-sided Mann-Whitney at 5 %.
    Contender(
        name="google/benchmark",
        layout=Layout(processes=1, samples=10, order=Order.BLOCKS),
        judge=partial(_mann_whitney, level=0.05),
    ),
    # 10 processes, timed once each; Welch's t at 5 %, as its script does.
    Contender(
        name="hyperfine",
        layout=Layout(processes=10, samples=1, order=Order.BLOCKS),
        judge=partial(_student, level=0.05, equal_variances=False),
    ),
    # One process each, the median of 15 iterations, 7 %.
    Contender(
        name="TorchBench",
        layout=Layout(processes=1, samples=15, order=Order.BLOCKS),
        judge=partial(_threshold, share=0.07),
    ),
)
