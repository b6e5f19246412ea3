"""Before a run: what it will be able to see on this machine, and whether that is enough for what somebody claims."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from harness.asv_plugin.machine import this_machine
from harness.errors import MeasurementError, StorageError
from harness.measurement.metrics import Metric, named_params
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId
from harness.pipeline.compare import looks_of
from harness.pipeline.noise import known_noise, settings_of, stored_noise
from harness.pipeline.plan import Plan
from harness.statistics.noise import Noise, Sight

__all__ = ["Outlook", "RowOutlook", "look_ahead", "refuse_claim"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutlook:
    """A row before it is measured.

    Attributes:
        row: The benchmark.
        metric: What it measures.
        noise: Of its rounds on this machine.
        smallest: The smallest change, as a share, that its table sees when all rounds are spent.
    """

    row: BenchmarkId
    metric: Metric
    noise: Noise
    smallest: float

    @property
    def name(self) -> str:
        """The metric with the parameters, as people write it."""
        params = named_params(self.metric.param_names, self.row.params)
        return f"{self.metric.name} {', '.join(f'{name}={text}' for name, text in params)}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a run will be able to see, as far as the noise of this machine is known.

    Attributes:
        rows: Those whose noise is known, the quietest first.
        unknown: Those whose noise is not known.
        sight: What their table can see.
        elsewhere: Metrics that are not chosen, with the smallest change that each would see alone; the quietest first.
    """

    rows: tuple[RowOutlook, ...]
    unknown: tuple[BenchmarkId, ...]
    sight: Sight
    elsewhere: tuple[RowOutlook, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know before the run, in sentences."""
        seen = [one.smallest for one in self.rows if math.isfinite(one.smallest)]
        lines = []
        if seen:
            lines.append(
                f"on this machine {self.sight.looks.budget} rounds see changes of {_range(seen)}, in 8 of 10 runs, as "
                "A/A runs have shown"
            )
        if self.unknown:
            which = f"{len(self.unknown)} of the rows" if self.rows else "these rows"
            lines.append(f"how noisy this machine is in {which} is not known: `harness calibrate` measures it")
        return tuple(lines)


def look_ahead(plan: Plan, options: Options, *, plain: bool = False) -> Outlook:
    """What a plan will be able to see on this machine, before anything is built.

    A file of noise that cannot be read counts as unknown: measuring must not wait for it.
    """
    try:
        entries = stored_noise(plan.project.noise(this_machine(plan.project.results).machine))
    except StorageError as error:
        log.warning("%s", error)
        entries = ()
    tried = known_noise(entries, settings_of(options, plain=plain))
    known = {row: noise for row, noise in tried.items() if noise is not None}
    metrics = {metric.benchmark: metric for metric in plan.benchmarks.metrics}
    # What skips here is in no table.
    chosen = [row for row in plan.runnable if row in known or row not in tried]
    timed = [known[row] for row in chosen if row in known and metrics[row.name].type == "time"]
    sight = Sight.of(timed, rows=len(chosen), looks=looks_of(options))
    alone = Sight(rows=1, looks=sight.looks)
    others = [row for row in known if row not in set(plan.rows) and row.name in metrics]
    return Outlook(
        rows=_outlooks(chosen, known, metrics, sight),
        unknown=tuple(row for row in chosen if row not in tried),
        sight=sight,
        elsewhere=_outlooks(others, known, metrics, alone),
    )


def _outlooks(
    rows: Iterable[BenchmarkId], known: Mapping[BenchmarkId, Noise], metrics: Mapping[str, Metric], sight: Sight
) -> tuple[RowOutlook, ...]:
    found = [
        RowOutlook(
            row=row,
            metric=metrics[row.name],
            noise=known[row],
            smallest=sight.smallest(known[row], metrics[row.name].floor),
        )
        for row in rows
        if row in known
    ]
    return tuple(sorted(found, key=lambda one: (one.smallest, one.row)))


def refuse_claim(outlook: Outlook, claimed: float, options: Options) -> None:
    """Makes sure that a run can see the change that somebody claims.

    Args:
        outlook: Of the run.
        claimed: The change, as a share.
        options: Of the run.

    Raises:
        MeasurementError: The noise of all its rows is known, and is too large for that change in every one.
    """
    if outlook.unknown or not outlook.rows or outlook.rows[0].smallest <= claimed:
        return
    best = outlook.rows[0]
    what = (
        f"a change of {_share(claimed)} cannot be seen here within {options.max_rounds} rounds: the quietest row, "
        f"{best.name}, would show {_share(best.smallest)} in 8 of 10 runs"
    )
    raise MeasurementError(
        what,
        why=f"unchanged rounds of it vary by {_share(best.noise.spread)} on this machine, as `harness calibrate` found",
        next_step="; or ".join(_what_helps(outlook, best, claimed, options)),
    )


def _what_helps(outlook: Outlook, best: RowOutlook, claimed: float, options: Options) -> Iterator[str]:
    floor = best.metric.floor
    if claimed <= floor:
        yield f"{best.metric.name} leaves changes below {_share(floor)} aside (its `floor`): lower that first"
    if (rounds := outlook.sight.rounds_for(claimed, best.noise, floor)) is not None:
        yield f"more rounds: --max-rounds {rounds}"
    alone = Sight(rows=1, looks=outlook.sight.looks)
    if outlook.sight.rows > 1 and alone.smallest(best.noise, floor) <= claimed:
        yield f"fewer rows, which share the risk of a false alarm: --metric {best.metric.name}"
    quieter = dict.fromkeys(one.metric.name for one in outlook.elsewhere if one.smallest <= claimed)
    if quieter:
        yield f"a quieter metric, if it shows the same: {', '.join(list(quieter)[:3])}"
    if not options.realtime:
        yield "a quieter machine, or --realtime (`harness calibrate --realtime` says what that is worth)"


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _range(values: list[float]) -> str:
    if len(values) == 1:
        return _share(values[0])
    return f"{_share(values[0])} to {_share(values[-1])}, {_share(median(values))} in the middle row"
