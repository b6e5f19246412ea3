"""Before a run: what it will be able to see on this machine, and whether that is enough for what somebody claims."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from harness.asv_plugin.machine import this_machine
from harness.errors import MeasurementError, StorageError
from harness.measurement.metrics import Metric, named_params
from harness.measurement.options import Options
from harness.measurement.records import BenchmarkId
from harness.pipeline.compare import looks_of, within
from harness.pipeline.noise import Entry, known_noise, settings_of, skipped_rows, stored_noise
from harness.pipeline.plan import Plan
from harness.statistics.looks import Looks
from harness.statistics.noise import Noise, Sight
from harness.statistics.verdict import MINIMUM_ROUNDS

__all__ = ["Outlook", "RowOutlook", "look_ahead", "weigh_claim"]

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

    @property
    def timed(self) -> bool:
        """Whether the machine's speed is in its values."""
        return self.metric.type == "time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a run will be able to see, as far as the noise of this machine is known.

    Attributes:
        options: How it will measure.
        rows: Those whose noise is known, the quietest first.
        unknown: Those whose noise is not known. What only holds or does not has none, and is in neither.
        sight: What their table can see.
        related: Rows of metrics of the same hot paths that are not chosen, as each would be alone; the quietest first.
    """

    options: Options
    rows: tuple[RowOutlook, ...]
    unknown: tuple[BenchmarkId, ...]
    sight: Sight
    related: tuple[RowOutlook, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know before the run, in sentences."""
        seen = [one.smallest for one in self.rows if math.isfinite(one.smallest)]
        lines = []
        if seen:
            lines.append(
                f"on this machine {self.options.max_rounds} rounds see changes of {_range(seen)}, in 8 of 10 runs, as "
                "A/A runs have shown"
            )
        elif self.rows:
            lines.append(_too_few(self.options))
        if self.unknown:
            which = f"{len(self.unknown)} of the rows" if self.rows else "these rows"
            lines.append(
                f"how noisy this machine is in {which} is not known: `harness calibrate` with the same options tells"
            )
        return tuple(lines)


def look_ahead(plan: Plan, options: Options, *, plain: bool = False) -> Outlook:
    """What a plan will be able to see on this machine, before anything is built.

    A file of noise that cannot be read counts as unknown: measuring must not wait for it.
    """
    entries = _entries(plan)
    known = known_noise(entries, settings_of(options, plain=plain, realtime=options.realtime > 0))
    skipped = skipped_rows(entries, {cell.id for pair in plan.pairs for cell in (pair.baseline, pair.candidate)})
    metrics = {metric.benchmark: metric for metric in plan.benchmarks.metrics}
    # What one side skips is in no table.
    chosen = [row for row in plan.runnable if row not in skipped]
    timed = [known[row] for row in chosen if row in known and metrics[row.name].type == "time"]
    sight = Sight.of(timed, rows=len(chosen), looks=looks_of(options))
    related = [row for metric in _related(plan) for row in plan.benchmarks.rows((metric,)) if row not in skipped]
    return Outlook(
        options=options,
        rows=_outlooks(chosen, known, metrics, sight),
        unknown=tuple(row for row in chosen if row not in known and not _holds(metrics[row.name])),
        sight=sight,
        related=_outlooks(related, known, metrics, Sight(rows=1, looks=sight.looks)),
    )


def _entries(plan: Plan) -> Collection[Entry]:
    try:
        return stored_noise(plan.project.noise(this_machine(plan.project.results).machine))
    except StorageError as error:
        log.warning("%s", error)
        return ()


def _related(plan: Plan) -> Iterator[Metric]:
    paths = {metric.hot_path for metric in plan.metrics if metric.hot_path}
    aside = {metric.name for metric in (*plan.metrics, *plan.left_out)}
    return (one for one in plan.benchmarks.metrics if one.hot_path in paths and one.name not in aside)


def _holds(metric: Metric) -> bool:
    """Whether it answers yes or no: an answer that changes is seen in two rounds."""
    return metric.unit == "holds"


def _outlooks(
    rows: Iterable[BenchmarkId], known: Mapping[BenchmarkId, Noise], metrics: Mapping[str, Metric], sight: Sight
) -> tuple[RowOutlook, ...]:
    found = []
    for row in rows:
        metric, noise = metrics[row.name], known.get(row)
        if noise is not None and not _holds(metric):
            smallest = sight.smallest(noise, metric.floor, timed=metric.type == "time")
            found.append(RowOutlook(row=row, metric=metric, noise=noise, smallest=smallest))
    return tuple(sorted(found, key=lambda one: (one.smallest, one.noise.spread, one.row)))


def weigh_claim(outlook: Outlook, claimed: float) -> str:
    """Makes sure that a run can see the change that somebody claims, and says in which rows.

    Args:
        outlook: Of the run.
        claimed: The change, as a share.

    Raises:
        MeasurementError: The noise of all its rows is known, and is too large for that change in every one.
    """
    able = [one for one in outlook.rows if one.smallest <= claimed]
    if outlook.unknown or not outlook.rows:
        return f"whether a change of {_share(claimed)} will show is not known" + (
            f", but in {_names(able)}" if able else ""
        )
    if able:
        return f"a change of {_share(claimed)} will show in {len(able)} of {len(outlook.rows)} rows: {_names(able)}"
    best = outlook.rows[0]
    if math.isinf(best.smallest):
        raise MeasurementError(_too_few(outlook.options), next_step=f"--max-rounds {MINIMUM_ROUNDS} or more")
    what = (
        f"a change of {_share(claimed)} cannot be seen here within {outlook.options.max_rounds} rounds: the quietest "
        f"row, {best.name}, would show {_share(best.smallest)} in 8 of 10 runs"
    )
    raise MeasurementError(
        what,
        why=f"unchanged rounds of it vary by {_share(best.noise.spread)} on this machine, as `harness calibrate` found",
        next_step="; or ".join(_what_helps(outlook, best, claimed)),
    )


def _what_helps(outlook: Outlook, best: RowOutlook, claimed: float) -> Iterator[str]:
    floor, sight = best.metric.floor, outlook.sight

    def schedule(rounds: int) -> Looks:
        return looks_of(within(outlook.options, rounds))

    if claimed <= floor:
        yield f"a metric with a smaller floor: {best.metric.name} leaves changes below {_share(floor)} aside"
    elif rounds := sight.rounds_for(claimed, best.noise, floor, schedule, timed=best.timed):
        yield f"more rounds: --max-rounds {rounds}"
    if name := _alone(outlook, claimed):
        yield f"fewer rows, which share the risk of a false alarm: --metric {name}"
    if quieter := dict.fromkeys(one.metric.name for one in outlook.related if one.smallest <= claimed):
        yield f"a quieter metric of the same hot path: {', '.join(list(quieter)[:3])}"
    if not outlook.options.realtime:
        yield "--realtime, if `harness calibrate --realtime` shows that it helps"
    yield "a quieter machine, calibrated again"


def _alone(outlook: Outlook, claimed: float) -> str:
    """The first metric that would show the change in a table of its own."""
    by_metric: defaultdict[str, list[RowOutlook]] = defaultdict(list)
    for one in outlook.rows:
        by_metric[one.metric.name].append(one)
    for name, rows in by_metric.items():
        noises = [one.noise for one in rows if one.timed]
        sight = Sight.of(noises, rows=len(rows), looks=outlook.sight.looks)
        if len(rows) < outlook.sight.rows and any(
            sight.smallest(one.noise, one.metric.floor, timed=one.timed) <= claimed for one in rows
        ):
            return name
    return ""


def _too_few(options: Options) -> str:
    return f"{options.max_rounds} rounds show no change of a time: it takes {MINIMUM_ROUNDS} or more"


def _names(rows: list[RowOutlook]) -> str:
    names = list(dict.fromkeys(one.metric.name for one in rows))
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"


def _range(values: list[float]) -> str:
    if len(values) == 1:
        return _share(values[0])
    return f"{_share(values[0])} to {_share(values[-1])}, {_share(median(values))} in the middle row"
