"""Metrics: names for what benchmarks measure, read from what ASV discovers, and their values and rows."""

from __future__ import annotations

import ast
import difflib
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from harness.errors import ConfigurationError, UsageError
from harness.measurement.records import BenchmarkId

__all__ = ["DEFAULT_FLOOR", "Direction", "Metric", "metrics_of", "named_params", "rows", "select", "value"]

#: The smallest relative change that matters, where a metric does not say.
DEFAULT_FLOOR = 0.03
# How long a process takes for a row, start left aside, where a metric does not say.
_SECONDS = 2.0


class Direction(StrEnum):
    """Which way is better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """What one benchmark measures.

    Attributes:
        name: The name that users know it by (`conv2d_throughput`); the benchmark's own where it declares none.
        benchmark: The benchmark, as ASV names it.
        version: The version of the benchmark's code.
        type: ASV's type of the benchmark: `time`, `track`, `peakmemory`.
        unit: The unit of the metric's values.
        direction: Which way is better.
        work: What one call does, in the unit's numerator: a number, or a mapping from the values of a parameter.
        work_by: The parameter that keys `work`; empty when it is a number.
        hot_path: The hot path it belongs to (`H11`), or empty.
        claim: The claim it tests (`C03`), or empty.
        tags: Words to select it by; `core` marks the small default set.
        floor: The smallest relative change that matters.
        isolate: Whether every parameter set needs a fresh process.
        full_environment: Whether it says nothing in a slim environment.
        requires: Packages that its cells need beside the subject (`onnx`).
        seconds: How long one process takes for one of its rows, roughly; for plans.
        enough_rounds: Rounds that its rows get before the verdicts are first looked at; 0 for as many as others get.
        summary: One line for people.
        param_names: The names of the parameters.
        params: Their values, as ASV writes them.
    """

    name: str
    benchmark: str
    version: str = "1"
    type: str = "time"
    unit: str = "seconds"
    direction: Direction = Direction.LOWER
    work: float | Mapping[str, float] = field(default=1.0, hash=False)
    work_by: str = ""
    hot_path: str = ""
    claim: str = ""
    tags: tuple[str, ...] = ()
    floor: float = DEFAULT_FLOOR
    isolate: bool = False
    full_environment: bool = False
    requires: tuple[str, ...] = ()
    seconds: float = _SECONDS
    enough_rounds: int = 0
    summary: str = ""
    param_names: tuple[str, ...] = ()
    params: tuple[tuple[str, ...], ...] = ()


def metrics_of(discovered: Mapping[str, Any]) -> tuple[Metric, ...]:
    """The metrics of a suite, by name.

    Args:
        discovered: Benchmarks by name with their attributes, as in ASV's `benchmarks.json`.

    Raises:
        ConfigurationError: Declarations are wrong, or two benchmarks share a metric's name; names every fault.
    """
    faults: list[str] = []
    metrics: dict[str, Metric] = {}
    for name, entry in sorted(discovered.items()):
        if not isinstance(entry, Mapping):  # the format's own version number
            continue
        metric = _metric(name, entry, faults)
        if metric is None:
            continue
        if (other := metrics.get(metric.name)) is not None:
            faults.append(f"{name}: the metric {metric.name} already belongs to {other.benchmark}")
        metrics[metric.name] = metric
    if faults:
        what = "\n".join(["the benchmarks declare their metrics wrongly:", *faults])
        raise ConfigurationError(what, next_step="correct the metric decorators in the benchmark files")
    return tuple(metrics[name] for name in sorted(metrics))


def _metric(name: str, entry: Mapping[str, Any], faults: list[str]) -> Metric | None:
    declared = {key: entry[key] for key in ("work_by", "hot_path", "claim", "summary") if entry.get(key)}
    metric_name = entry.get("metric") or name
    direction = entry.get("direction", Direction.LOWER)
    own = [*_faults(entry, direction)]
    if own:
        faults += [f"{name}: {fault}" for fault in own]
        return None
    return Metric(
        name=metric_name,
        benchmark=name,
        version=str(entry.get("version", "1")),
        type=str(entry.get("type", "time")),
        unit=str(entry.get("metric_unit") or entry.get("unit", "")),
        direction=Direction(direction),
        work=entry.get("work", 1.0),
        tags=tuple(entry.get("tags", ())),
        floor=float(entry.get("floor", DEFAULT_FLOOR)),
        isolate=bool(entry.get("isolate", False)),
        full_environment=bool(entry.get("full_environment", False)),
        requires=tuple(entry.get("requires", ())),
        seconds=float(entry.get("seconds") or _SECONDS),
        enough_rounds=int(entry.get("enough_rounds", 0)),
        param_names=tuple(entry.get("param_names", ())),
        params=tuple(tuple(values) for values in entry.get("params", ())),
        **declared,
    )


def _faults(entry: Mapping[str, Any], direction: object) -> Iterator[str]:
    wrong = [*_wrong_types(entry)]
    if wrong:
        yield from wrong
        return
    # A list, for what a suite declares need not be hashable.
    if direction not in list(Direction):
        yield f"direction is {direction!r}, not higher or lower"
    floor = entry.get("floor", DEFAULT_FLOOR)
    if not isinstance(floor, (int, float)) or not 0 < floor < 1:
        yield f"floor is {floor!r}, not a share between 0 and 1"
    yield from _work_faults(entry)


def _wrong_types(entry: Mapping[str, Any]) -> Iterator[str]:
    for name in ("metric", "metric_unit", "work_by", "hot_path", "claim", "summary"):
        if not isinstance(entry.get(name) or "", str):
            yield f"{name} is {entry[name]!r}, not a text"
    for name in ("tags", "requires"):
        if not _texts(entry.get(name, ())):
            yield f"{name} is {entry[name]!r}, not a list of texts"
    for name in ("timeout", "setup_cache_timeout", "seconds"):
        seconds = entry.get(name)
        if seconds is not None and not _positive(seconds):
            yield f"{name} is {seconds!r}, not a positive number of seconds"
    params = entry.get("params", ())
    if not isinstance(params, (list, tuple)) or not all(_texts(values) for values in params):
        yield f"params is {params!r}, not a list of lists"
    if not _texts(entry.get("param_names", ())):
        yield f"param_names is {entry['param_names']!r}, not a list of texts"


def _work_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    work, work_by = entry.get("work", 1.0), entry.get("work_by", "")
    if not isinstance(work, Mapping):
        if not _positive(work):
            yield f"work is {work!r}, not a positive number"
        return
    if work_by not in entry.get("param_names", ()):
        yield f"work_by is {work_by!r}, which is no parameter of the benchmark"
        return
    for text in entry["params"][list(entry["param_names"]).index(work_by)]:
        if not _positive(_work_for(work, text)):
            yield f"work has no positive number for {work_by}={text}"


def _texts(value: object) -> bool:
    # A text is a sequence of texts too, and would become its letters.
    return isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value)


def _positive(number: object) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number) and number > 0


def _work_for(work: Mapping[str, float], text: str) -> float | None:
    # ASV writes parameters as their repr, while the keys of a mapping in JSON are plain strings.
    if text in work:
        return work[text]
    try:
        return work.get(str(ast.literal_eval(text)))
    except (ValueError, SyntaxError):
        return None


def value(metric: Metric, params: Sequence[str], asv_value: float) -> float:
    """The metric's value, in its unit, of a value in ASV's unit.

    For a timed metric work per second where more is better, and seconds per work where less is; for any other what ASV
    has.

    Args:
        metric: What was measured.
        params: The parameters' values, as ASV writes them.
        asv_value: What ASV (or a sample) has.
    """
    if metric.type != "time":
        return asv_value
    work: float | None
    if isinstance(metric.work, Mapping):
        work = _work_for(metric.work, params[metric.param_names.index(metric.work_by)])
    else:
        work = metric.work
    assert work is not None, "checked by metrics_of"
    if metric.direction is Direction.LOWER:
        return asv_value / work
    return work / asv_value if asv_value else math.inf


def rows(metric: Metric) -> list[BenchmarkId]:
    """The rows of a metric: one for each combination of its parameters, in ASV's order."""
    return [
        BenchmarkId(name=metric.benchmark, params=params, version=metric.version)
        for params in itertools.product(*metric.params)
    ]


def named_params(names: Sequence[str], params: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parameters as people read them: each name with its value, texts without the quotes of their `repr`.

    Args:
        names: The names; values beyond them are counted.
        params: The values, as ASV writes them.
    """
    return tuple(
        (names[index] if index < len(names) else f"param{index + 1}", _literal(text))
        for index, text in enumerate(params)
    )


def _literal(text: str) -> str:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, str) else text


def select(metrics: Iterable[Metric], *, names: Sequence[str] = (), tags: Sequence[str] = ()) -> tuple[Metric, ...]:
    """The metrics that have one of the names or one of the tags; all where neither is given.

    Args:
        metrics: What there is.
        names: Names of metrics, or globs of them.
        tags: Tags, or globs of them.

    Raises:
        UsageError: A name, a glob or a tag that no metric has; says which are near.
    """
    known = tuple(metrics)
    _check("metric", names, {metric.name for metric in known})
    _check("tag", tags, {tag for metric in known for tag in metric.tags})
    if not names and not tags:
        return known
    return tuple(metric for metric in known if _fits([metric.name], names) or _fits(metric.tags, tags))


def _fits(known: Iterable[str], asked: Sequence[str]) -> bool:
    return any(fnmatchcase(one, glob) for one in known for glob in asked)


def _check(kind: str, asked: Sequence[str], known: set[str]) -> None:
    unknown = [name for name in asked if not _fits(known, [name])]
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], sorted(known), n=3, cutoff=0.5)
    what = f"no benchmark has the {kind} {', '.join(unknown)}"
    if near:
        raise UsageError(what, next_step=f"perhaps you meant {' or '.join(near)}; `harness metrics` lists all")
    raise UsageError(what, next_step="`harness metrics` lists all")
