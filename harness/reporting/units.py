"""Numbers as people read them: values with units, changes, intervals, sizes, durations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

__all__ = [
    "change",
    "detectable",
    "detectables",
    "duration",
    "interval",
    "number",
    "quantities",
    "quantity",
    "scale",
    "share",
    "size",
]

#: Units that are scaled, each with its steps from large to small: a factor and a name. Bytes count in thousands, as
#: download pages and disks do.
_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_BYTE_RATE = tuple((factor, f"{name}/s") for factor, name in _BYTES)
_FLOPS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s"))
_SCALES = {
    "s": _TIME,
    "seconds": _TIME,
    "B": _BYTES,
    "bytes": _BYTES,
    "B/s": _BYTE_RATE,
    "bytes/s": _BYTE_RATE,
    "FLOP/s": _FLOPS,
}
#: What ASV writes where a benchmark names no unit.
_NO_UNIT = "unit"

#: Outside of half and double, a factor reads better than a percentage.
_FACTOR_BELOW, _FACTOR_ABOVE = 0.5, 2.0
#: Two or three rounds of a large table see nothing; how little, nobody needs to know.
_BLIND = 100.0


def number(value: float) -> str:
    """Four significant digits, thousands set off: `1,234`, `0.01234`, `1.234e-07`."""
    if not math.isfinite(value):
        return str(value)
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.4g}"
    rounded = float(f"{value:.4g}")
    if rounded == int(rounded) and (abs(rounded) >= 1000 or value == int(value)):
        return f"{int(rounded):,}"
    digits = max(0, 3 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{digits}f}"


def quantities(values: Sequence[float], unit: str) -> list[str]:
    """Values of one unit, all on the scale that suits the smallest: `985 us` stays beside `1,020 us`."""
    factor, name = scale(values, unit)
    return [f"{number(value / factor)} {name}".rstrip() for value in values]


def quantity(value: float, unit: str) -> str:
    """A value with its unit: `1.234 ms`, `38.6 images/s`."""
    return quantities([value], unit)[0]


def scale(values: Sequence[float], unit: str) -> tuple[float, str]:
    """What values are divided by to be shown, and the unit they then have: those that suit the smallest of them."""
    steps = _SCALES.get(unit)
    if steps is None:
        return 1.0, "" if unit == _NO_UNIT else unit
    value = min((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
    # A hair below the step, so that 0.9999 ms is not shown as 999.9 us where it would round to 1,000.
    return next(((factor, name) for factor, name in steps if value >= factor * 0.99995), steps[-1])


def size(count: int) -> str:
    """Bytes in decimal units, three digits: `744 MB`."""
    factor, name = next(((factor, name) for factor, name in _BYTES if count >= factor), (1.0, "B"))
    scaled = count / factor
    return f"{scaled:.0f} {name}" if scaled >= 100 or factor == 1 else f"{scaled:.3g} {name}"


def duration(seconds: float) -> str:
    """`0.4 s`, `45 s`, `3 min 20 s`, `1 h 5 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, rest = divmod(round(whole / 60), 60)
    return f"{hours} h" + (f" {rest} min" if rest else "")


def change(ratio: float) -> str:
    """A ratio as the change it is: `+5.2 %`, `-12.0 %`; as a factor where it is large: `x 0.31`, `x 12.3`."""
    return f"{_percent(ratio)} %" if _FACTOR_BELOW <= ratio <= _FACTOR_ABOVE else _factor(ratio)


def interval(low: float, high: float) -> str:
    """`-9.1 to -5.4 %`, or `x 0.28 to x 0.33`; `unknown` where an end is infinite."""
    if not math.isfinite(high):
        return "unknown"
    if low >= _FACTOR_BELOW and high <= _FACTOR_ABOVE:
        return f"{_percent(low)} to {_percent(high)} %"
    return f"{_factor(low)} to {_factor(high)}"


def detectable(ratio: float) -> str:
    """A smallest visible ratio as the change it is: `1.2 %`, `x 2.3`, `over x 100`; `unknown` for a single round."""
    if not math.isfinite(ratio):
        return "unknown"
    if ratio > _BLIND:
        return f"over x {_BLIND:g}"
    return f"{100 * (ratio - 1):.1f} %" if ratio <= _FACTOR_ABOVE else _factor(ratio)


def detectables(ratios: Sequence[float]) -> str:
    """Smallest visible ratios of several rows: `1.2 % to 5.3 %, 2.1 % in the middle row`."""
    if len(ratios) == 1:
        return detectable(ratios[0])
    low, middle, high = (detectable(pick(ratios)) for pick in (min, median, max))
    return f"{low} to {high}, {middle} in the middle row"


def share(value: float) -> str:
    """A share as a percentage without needless digits: `3 %`, `99.94 %`."""
    return f"{100 * value:.4g} %"


def percent(value: float) -> str:
    """A share in whole percents: `83 %`."""
    return f"{100 * value:.0f} %"


def _percent(ratio: float) -> str:
    text = f"{100 * (ratio - 1):+.1f}"
    return "0.0" if text in {"+0.0", "-0.0"} else text


def _factor(ratio: float) -> str:
    if ratio >= 1000:
        return f"x {ratio:,.0f}" if ratio < 1e6 else f"x {ratio:.1e}"
    return f"x {ratio:#.3g}".rstrip(".")
