"""Plots as files: one figure where a user asks for it, and one for each row that matters beside the report of a run."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import MeasurementError
from harness.jsonio import write_atomic
from harness.measurement.metrics import metrics_of, select
from harness.reporting.plot import MOST_ROWS, PlotForm, form_of, plot_bytes
from harness.reporting.plot_rows import CHANGED, PlotRow, plot_rows
from harness.reporting.render import Format, render

if TYPE_CHECKING:
    from harness.pipeline.compare import Comparison
    from harness.reporting.run import Params, RunReport

__all__ = ["PlotFile", "write_plot", "write_report"]

#: The folder of a run's plots, beside its report.
_FOLDER = "plots"
#: Plots of one run, about 150 kB each: more make the page heavy, and are a command away.
_MOST_FILES = 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._=]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotFile:
    """A plot that was written.

    Attributes:
        file: Where, as the reader of the report gets there.
        rows: The metric and the parameters of each row that it shows.
    """

    file: str
    rows: tuple[tuple[str, Params], ...]

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        names = [
            f"{metric} {', '.join(f'{name}={text}' for name, text in params)}".strip() for metric, params in self.rows
        ]
        return names[0] if len(names) == 1 else f"{len(names)} rows, {names[0]} first"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"file": self.file, "rows": [{"metric": metric, "params": dict(params)} for metric, params in self.rows]}


def write_plot(path: Path, report: RunReport, comparison: Comparison, metrics: Sequence[str] = ()) -> RunReport:
    """Draws the worst rows of a comparison into one figure.

    Args:
        path: The file; its suffix says which kind.
        report: Made of the comparison.
        comparison: Where the samples are.
        metrics: Names or globs of the metrics to draw; without, the rows that are slower, faster or undecided, or all
            where there are none of these.

    Returns:
        The report, with the plot in it, and a note of what the plot leaves out.

    Raises:
        UsageError: The suffix, or a metric, is unknown.
        MeasurementError: There is nothing to draw.
        StorageError: The file cannot be written.
    """
    form = form_of(path)
    rows = plot_rows(report, comparison)
    if metrics:
        wanted = {one.name for one in select(metrics_of(comparison.run.header.benchmarks), names=metrics)}
        chosen = tuple(row for row in rows if row.row.metric in wanted)
        kind, more = "rows that were chosen", "name fewer with --metric"
    else:
        chosen = tuple(row for row in rows if row.row.verdict in CHANGED)
        kind, more = "rows that are slower, faster or undecided", "name others with --metric"
        if not chosen:
            chosen, kind = rows, "rows"
    if not chosen:
        what = "there is nothing to draw: none of these rows has a sample"
        raise MeasurementError(what, next_step="leave out --plot; the table says what happened")
    drawn = chosen[:MOST_ROWS]
    note = f"the plot shows the {MOST_ROWS} worst of {len(chosen)} {kind}; {more}" if chosen != drawn else ""
    write_atomic(path, plot_bytes(drawn, report, form, note=note))
    return replace(
        report, plots=(*report.plots, _plot_file(str(path), drawn)), notes=(*report.notes, *([note] if note else []))
    )


def write_report(root: Path, report: RunReport, comparison: Comparison) -> RunReport:
    """Writes the page of a run that is over, and beside it a plot of each row that is slower, faster or undecided.

    Args:
        root: The project's.
        report: Made of the comparison; `report` says where its page lies.
        comparison: Where the samples are.

    Returns:
        The report, with the plots in it.

    Raises:
        StorageError: Something cannot be written.
    """
    page = Path(report.report)
    folder = root / page.parent / _FOLDER
    # What an interrupted attempt left there may be of fewer rounds.
    shutil.rmtree(folder, ignore_errors=True)
    changed = [row for row in plot_rows(report, comparison) if row.row.verdict in CHANGED]
    plots = []
    for number, row in enumerate(changed[:_MOST_FILES], 1):
        name = f"{number:02}-{_slug(row)}.{PlotForm.SVG.value}"
        write_atomic(folder / name, plot_bytes([row], report, PlotForm.SVG))
        plots.append(_plot_file(f"{_FOLDER}/{name}", [row]))
    notes = report.notes
    if len(changed) > len(plots):
        left = f"plots of the {_MOST_FILES} worst of {len(changed)} rows that are slower, faster or undecided"
        notes = (*notes, f"{left}; harness compare {comparison.run.header.run} --plot FILE --metric NAME draws others")
    beside = replace(report, plots=tuple(plots), notes=notes)
    write_atomic(root / page, render(beside, Format.MARKDOWN))
    return replace(beside, plots=tuple(replace(plot, file=str(page.parent / plot.file)) for plot in plots))


def _plot_file(file: str, rows: Sequence[PlotRow]) -> PlotFile:
    return PlotFile(file=file, rows=tuple((row.row.metric, row.row.params) for row in rows))


def _slug(row: PlotRow) -> str:
    parts = [row.row.metric, *(f"{name}={text}" for name, text in row.row.params)]
    return _UNSAFE.sub("-", "-".join(parts))[:100].strip("-.")
