"""Numbers as text for people: means with spreads or intervals, p-values, percentages and durations."""

import math

SMALLEST = 0.0005
"""Numbers with an absolute value below this would be rounded to 0.000, so they are written as ``< 0.001``."""


def number(value: float | None) -> str:
    """Write a number with three decimals and a true minus sign; ``undefined`` for None and NaN."""
    if value is None or math.isnan(value):
        return "undefined"
    written = f"{value:.3f}"
    return "0.000" if written == "-0.000" else written.replace("-", "\N{MINUS SIGN}")


def rounded(value: float | None) -> str:
    """Write a number with three decimals; a number too small for three decimals becomes ``< 0.001`` or ``> −0.001``."""
    if value is not None and 0 < abs(value) < SMALLEST:
        return "< 0.001" if value > 0 else "> \N{MINUS SIGN}0.001"
    return number(value)


def significant(value: float, digits: int = 4) -> str:
    """Write a number of any size, such as the output of a regression, with a few significant digits and a true minus sign.

    A network in single precision has about seven digits, and the last of them depend on the processor.
    """
    return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def spread(mean: float | None, std: float | None) -> str:
    """Write ``mean ± standard deviation``, or only the mean if the standard deviation is unknown."""
    return rounded(mean) if std is None or math.isnan(std) else _beside(rounded(mean), f" ± {number(std)}")


def interval(mean: float | None, low: float | None, high: float | None) -> str:
    """Write ``mean [low, high]``, or only the mean if the interval is undefined or empty."""
    if low is None or high is None or low == high:
        return rounded(mean)
    return _beside(rounded(mean), f" [{number(low)}, {number(high)}]")


def _beside(mean: str, width: str) -> str:
    return mean if mean[0] in "<>" and not any(digit in width for digit in "123456789") else f"{mean}{width}"


def p_value(p: float) -> str:
    """Write a p-value as ``p = 0.031``, with two significant digits, or as ``p < 0.0001`` if it is smaller."""
    return "p < 0.0001" if p < 0.0001 else f"p = {float(f'{p:.2g}')}".removesuffix(".0")


def percent(share: float, digits: int | None = None) -> str:
    """Write a share as a percentage: by default without decimals, and with one decimal below 10 %."""
    if digits is None:
        digits = 0 if abs(share) >= 0.0995 or share == 0 else 1
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def duration(seconds: float) -> str:
    """Write seconds as people say them: ``48 s``, ``12 min``, ``3.5 h``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{seconds / 3600:.1f} h"
