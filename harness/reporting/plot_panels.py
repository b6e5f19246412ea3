"""The two panels of a row: samples by process in the order of time, and the rounds' ratios with their interval."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from statistics import quantiles
from typing import TYPE_CHECKING

from harness.reporting import units
from harness.reporting.page import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from harness.reporting.plot_rows import PlotRow
    from harness.reporting.run import ReportRow

__all__ = ["COLOURS", "MARKS", "draw_ratios", "draw_samples", "legible"]

#: Baseline and candidate: blue and vermillion of Okabe and Ito's palette (2008, "Color universal design"), which people
#: with any common colour blindness tell apart. The marks tell them apart without colour.
COLOURS = ("#0072B2", "#D55E00")
MARKS = ("o", "D")
_INK, _MUTED, _BAND, _STRIPE = "#222222", "#666666", "#DDDDDD", "#F6F6F6"

#: How much of a round's width the two processes take together.
_FILLED = 0.84
#: More dots than these are drawn as a picture inside an SVG, which would grow by a hundred bytes for each.
_MANY_DOTS = 3000
#: Labels of rounds that have room beside each other.
_TICKS = (12, 6)


def draw_samples(axes: Axes, row: PlotRow) -> None:
    """Draws every sample as a dot and the median of every process as a bar; each round has a strip of its own.

    A few samples that lie far out are drawn at the edge and counted, so that they do not flatten all others.
    """
    values = row.values
    factor, unit = units.scale(values, row.row.unit)
    low, high = _limits(values, [p.middle for side in row.sides for p in side if math.isfinite(p.middle)])
    places = {number: place for place, number in enumerate(row.rounds)}
    for place in range(1, len(places), 2):
        axes.axvspan(place - 0.5, place + 0.5, color=_STRIPE, linewidth=0, zorder=0)
    for side, colour, mark in zip((0, 1), COLOURS, MARKS, strict=True):
        dots, middles, lost = _strips(row, side, places)
        inside = [(x, y) for x, y in dots if low <= y <= high]
        axes.plot(
            [x for x, _ in inside],
            [y / factor for _, y in inside],
            linestyle="none",
            marker=".",
            markersize=4,
            markeredgewidth=0,
            color=colour,
            alpha=0.4,
            rasterized=len(values) > _MANY_DOTS,
            label=f"samples {side}",
        )
        half = _FILLED / 4
        for x, y in middles:
            axes.plot([x - half, x + half], [y / factor] * 2, color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot(
            [x for x, _ in middles],
            [y / factor for _, y in middles],
            linestyle="none",
            marker=mark,
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.8,
            color=colour,
            label=f"medians {side}",
        )
        _at_edges(axes, [(x, y / factor) for x, y in dots if not low <= y <= high], colour, low / factor)
        axes.plot(
            lost,
            [0.05] * len(lost),
            linestyle="none",
            marker="x",
            markersize=6,
            markeredgewidth=1.5,
            color=colour,
            transform=axes.get_xaxis_transform(),
            label=f"lost {side}",
        )
    axes.set_ylim(low / factor, high / factor)
    _say_what_is_beyond(axes, values, low, high, row.row.unit)
    better = "higher" if row.higher_is_better else "lower"
    axes.set_ylabel(legible(f"{unit or 'value'}\n({better} is better)", 60))
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
    _label_rounds(axes, [number + 1 for number in row.rounds], _TICKS[0])


def draw_ratios(axes: Axes, row: PlotRow) -> None:
    """Draws the ratio of every round, the estimate with its interval, and the floor as a band around no change."""
    found = row.row
    if not row.ratios or found.ratio is None:
        axes.set_axis_off()
        words = textwrap.fill(legible(f"no ratio: {found.reason}" if found.reason else "no ratio", 220), 40)
        axes.text(0.0, 0.5, words, transform=axes.transAxes, va="center", color=_MUTED)
        return
    ratios = [ratio for _, ratio in row.ratios]
    floor = (1 / (1 + found.floor), 1 + found.floor)
    intervals = _intervals(found)
    low, high = _ratio_limits([*ratios, found.ratio, *floor], [end for ends, _, _ in intervals for end in ends])
    axes.axhspan(*floor, color=_BAND, linewidth=0, zorder=0, label="floor")
    axes.axhline(1, color=_MUTED, linewidth=0.8, zorder=1)
    axes.plot(
        range(len(ratios)),
        ratios,
        linestyle="none",
        marker="o",
        markersize=4.5,
        markerfacecolor="white",
        markeredgecolor=_INK,
        label="ratios",
    )
    last = len(ratios) + 0.25
    axes.axvline(last - 0.75, color=_BAND, linewidth=0.8)
    for ends, width, label in intervals:
        axes.plot([last] * 2, ends, color=_INK, linewidth=width, solid_capstyle="butt", label=label)
    axes.plot([last], [found.ratio], marker="s", markersize=6, color=_INK, label="estimate")
    axes.set_xlim(-0.6, last + 0.6)
    axes.set_ylim(low, high)
    axes.set_ylabel("candidate to baseline\n(higher is better)")
    factors = low < 0.5 or high > 2
    axes.yaxis.set_major_formatter(lambda y, _: f"x {y:.3g}" if factors else units.change(y))
    _label_rounds(axes, [number + 1 for number, _ in row.ratios], _TICKS[1], (last, "all"))


def legible(text: str, length: int) -> str:
    """Text that any font and file format can take, cut where it is longer than `length` characters."""
    lines = [plain(line).encode("utf-8", errors="backslashreplace").decode() for line in text.split("\n")]
    whole = "\n".join(lines)
    return whole if len(whole) <= length else f"{whole[: length - 3]}..."


_Points = list[tuple[float, float]]


def _strips(row: PlotRow, side: int, places: dict[int, int]) -> tuple[_Points, _Points, list[float]]:
    """Of one side: all samples, the medians, and the places of processes that gave no samples."""
    half = _FILLED / 2
    dots: _Points = []
    middles: _Points = []
    lost: list[float] = []
    for process in row.sides[side]:
        left = places[process.round] - half + side * half
        finite = [(k, v) for k, v in enumerate(process.values) if math.isfinite(v)]
        step = half / max(1, len(process.values))
        # A little less than the half, so that the two processes do not touch.
        dots += [(left + half * 0.05 + (k + 0.5) * step * 0.9, v) for k, v in finite]
        if math.isfinite(process.middle):
            middles.append((left + half / 2, process.middle))
        else:
            lost.append(left + half / 2)
    return dots, middles, lost


def _limits(values: Sequence[float], middles: Sequence[float]) -> tuple[float, float]:
    """What to show of the samples: all medians, nine tenths of the samples, and once their range on either side."""
    if len(values) > 1:
        twentieths = quantiles(values, n=20, method="inclusive")
        low, high = twentieths[0], twentieths[-1]
    else:
        low = high = values[0]
    reach = high - low
    low = min(max(min(values), low - reach), *middles, low)
    high = max(min(max(values), high + reach), *middles, high)
    return _with_margin(low, high)


def _intervals(row: ReportRow) -> list[tuple[tuple[float, float], float, str]]:
    """The ends, the width of the line, and the name of each interval that is known."""
    found = []
    if row.table_low is not None and row.table_high is not None:
        found.append(((row.table_low, row.table_high), 0.9, "table's interval"))
    if row.low is not None and row.high is not None:
        found.append(((row.low, row.high), 3.0, "interval"))
    return found


def _ratio_limits(wanted: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """All ratios and the band; of the intervals as much as leaves them visible."""
    least, most = min(wanted), max(wanted)
    reach = most - least
    return _with_margin(max(min((*ends, least)), least - reach), min(max((*ends, most)), most + reach))


def _with_margin(low: float, high: float) -> tuple[float, float]:
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 0.5
    return low - margin, high + margin


def _at_edges(axes: Axes, beyond: _Points, colour: str, low: float) -> None:
    for mark, edge, places in (
        ("^", 0.98, [x for x, y in beyond if y >= low]),
        ("v", 0.02, [x for x, y in beyond if y < low]),
    ):
        axes.plot(
            places,
            [edge] * len(places),
            linestyle="none",
            marker=mark,
            markersize=3.5,
            markeredgewidth=0,
            color=colour,
            alpha=0.6,
            transform=axes.get_xaxis_transform(),
        )


def _say_what_is_beyond(axes: Axes, values: Sequence[float], low: float, high: float, unit: str) -> None:
    above, below = [v for v in values if v > high], [v for v in values if v < low]
    for found, y, align, words, farthest in (
        (above, 0.94, "top", ("above", "up to"), max),
        (below, 0.06, "bottom", ("below", "down to"), min),
    ):
        if found:
            end = units.quantity(farthest(found), unit)
            one, several = f"1 sample {words[0]}: {end}", f"{len(found)} samples {words[0]}, {words[1]} {end}"
            axes.text(
                0.995,
                y,
                one if len(found) == 1 else several,
                transform=axes.transAxes,
                ha="right",
                va=align,
                color=_MUTED,
                fontsize=7.5,
                bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
            )


def _label_rounds(axes: Axes, numbers: Sequence[int], most: int, last: tuple[float, str] | None = None) -> None:
    step = math.ceil(len(numbers) / most)
    places = [float(place) for place in range(0, len(numbers), step)]
    labels = [str(numbers[place]) for place in range(0, len(numbers), step)]
    if last is None:
        axes.set_xlim(-0.55, len(numbers) - 0.45)
    else:
        places.append(last[0])
        labels.append(last[1])
    axes.set_xticks(places, labels)
    axes.set_xlabel("round")
