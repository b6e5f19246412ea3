"""Plots of a comparison: a figure of its rows, worst first, as SVG or PNG. The same records give the same bytes.

Figures are made through matplotlib's objects, never through pyplot, whose state is shared by a whole process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.reporting import units
from harness.reporting.plot_panels import COLOURS, MARKS, draw_ratios, draw_samples, legible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from harness.reporting.plot_rows import PlotRow
    from harness.reporting.run import ReportRow, RunReport

__all__ = ["MOST_ROWS", "PlotForm", "form_of", "plot_bytes"]

#: More rows than these in one figure are a wall that nobody reads.
MOST_ROWS = 12

#: Inches. Panels of all rows stand exactly below each other, which the automatic layouts do not promise.
_WIDTH, _HEAD, _ROW, _FOOT = 11.0, 0.6, 2.75, 0.5
_ABOVE, _BELOW = 0.62, 0.48
_SAMPLES, _RATIOS = (0.95, 6.45), (8.4, 2.45)

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.labelcolor": "#444444",
    "axes.edgecolor": "#888888",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    # A reason or a parameter may have a dollar sign in it.
    "text.parse_math": False,
    # Letters stay letters: the file is smaller, and its words can be searched and copied.
    "svg.fonttype": "none",
    # Ids inside an SVG are random without it.
    "svg.hashsalt": "torch-harness",
}


class PlotForm(StrEnum):
    """The kinds of file that a plot can be."""

    SVG = "svg"
    PNG = "png"


def form_of(path: Path) -> PlotForm:
    """The kind of file that a name asks for.

    Raises:
        UsageError: Its suffix is none of them.
    """
    try:
        return PlotForm(path.suffix.lower().removeprefix("."))
    except ValueError:
        known = " or ".join(f".{form.value}" for form in PlotForm)
        what = f"{path}: a plot's name ends in {known}" + (f", not in {path.suffix}" if path.suffix else "")
        raise UsageError(what, next_step=f"name it {path.with_suffix('.svg') if path.stem else 'plot.svg'}") from None


def plot_bytes(rows: Sequence[PlotRow], report: RunReport, form: PlotForm, *, note: str = "") -> bytes:
    """A figure of rows, as the contents of a file.

    Args:
        rows: What is drawn, from top to bottom.
        report: Which they belong to, for title and sides.
        form: The kind of file.
        note: What the figure leaves out, for its foot.
    """
    with _styled():
        figure = draw(rows, report, note=note)
        stream = BytesIO()
        # Neither a date nor a version: a plot of the same records is the same file.
        metadata = {"Title": legible(report.title, 200), "Date": None, "Creator": None}
        if form is PlotForm.PNG:
            metadata = {"Title": metadata["Title"], "Software": None}
        figure.savefig(stream, format=form.value, dpi=150, metadata=metadata)
    return stream.getvalue()


def draw(rows: Sequence[PlotRow], report: RunReport, *, note: str = "") -> Figure:
    """The figure itself; `plot_bytes` gives it the style that its measures are made for."""
    # Imported late: it costs more than the rest of the program's start.
    from matplotlib.figure import Figure  # noqa: PLC0415

    height = _HEAD + _ROW * len(rows) + _FOOT
    figure = Figure(figsize=(_WIDTH, height))
    _head(figure, report, height)
    for number, row in enumerate(rows):
        bottom = height - _HEAD - _ROW * (number + 1)
        _titles(figure, row.row, (bottom + _ROW) / height, height)
        for (left, width), draw_panel in ((_SAMPLES, draw_samples), (_RATIOS, draw_ratios)):
            box = (left / _WIDTH, (bottom + _BELOW) / height, width / _WIDTH, (_ROW - _ABOVE - _BELOW) / height)
            draw_panel(figure.add_axes(box), row)
    _foot(figure, rows, note, height)
    return figure


@contextmanager
def _styled() -> Iterator[None]:
    """Matplotlib as it comes, with this module's style, whatever a user's own configuration says."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        # A name in letters that the font lacks is drawn as boxes in a PNG: no reason to print a warning for each.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield


def _head(figure: Figure, report: RunReport, height: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415

    figure.text(0.15 / _WIDTH, 1 - 0.18 / height, legible(report.title, 70), fontsize=13, weight="bold", va="top")
    cells = (("baseline", report.baseline), ("candidate", report.candidate))
    handles = [
        Line2D([], [], color=colour, marker=mark, linewidth=1.6, markeredgecolor="white", markersize=6)
        for colour, mark in zip(COLOURS, MARKS, strict=True)
    ]
    figure.legend(
        handles,
        [legible(f"{name}: {cell}", 95) for name, cell in cells],
        loc="upper right",
        bbox_to_anchor=(1 - 0.1 / _WIDTH, 1 - 0.08 / height),
        borderaxespad=0,
        frameon=False,
        fontsize=8.5,
    )


def _titles(figure: Figure, row: ReportRow, top: float, height: float) -> None:
    params = ", ".join(f"{name}={text}" for name, text in row.params)
    first = legible(f"{row.verdict.value}: {row.metric}" + (f" ({params})" if params else ""), 125)
    figure.text(0.15 / _WIDTH, top - 0.08 / height, first, fontsize=10, weight="bold", va="top")
    figure.text(0.15 / _WIDTH, top - 0.3 / height, legible(_account(row), 165), fontsize=8.5, va="top")


def _account(row: ReportRow) -> str:
    """The second line of a title: how much, how sure, and why."""
    parts = []
    if row.ratio is not None:
        parts.append(units.change(row.ratio))
    if row.low is not None and row.high is not None:
        parts.append(f"interval {units.interval(row.low, row.high)}")
    if row.table_low is not None and row.table_high is not None:
        parts.append(f"the table's {units.interval(row.table_low, row.table_high)}")
    parts.append(f"floor {units.share(row.floor)}")
    if row.detectable is not None and row.detectable > 1:
        parts.append(f"could have seen {units.detectable(row.detectable)}")
    return ", ".join(parts) + (f"; {row.reason}" if row.reason else "")


def _foot(figure: Figure, rows: Sequence[PlotRow], note: str, height: float) -> None:
    text = (
        "Left: dots are samples in the order of time, bars their median in one process. "
        "Right: the ratio of each round, the estimate, its interval (thick) and the\n"
        "table's (thin; slower and faster are read from it), and the floor as a grey band."
    )
    if any(not process.values for row in rows for side in row.sides for process in side):
        text += " A cross is a process without samples."
    if note:
        text += f"\n{legible(note, 170)}"
    figure.text(0.15 / _WIDTH, 0.1 / height, text, fontsize=7.5, color="#666666", va="bottom")
