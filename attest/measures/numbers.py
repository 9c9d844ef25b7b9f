"""How numbers are written for people: three decimals, spreads and intervals, and a word where there is none."""

import math


def number(value: float | None) -> str:
    """Three decimals, with a true minus sign."""
    if value is None or math.isnan(value):
        return "undefined"
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def spread(mean: float | None, std: float | None) -> str:
    """``mean ± standard deviation``; the mean alone where there is no spread."""
    return number(mean) if std is None or math.isnan(std) else f"{number(mean)} ± {number(std)}"


def interval(mean: float | None, low: float | None, high: float | None) -> str:
    """``mean [low, high]``; the mean alone where the interval is undefined or empty."""
    if low is None or high is None or low == high:
        return number(mean)
    return f"{number(mean)} [{number(low)}, {number(high)}]"


def p_value(p: float) -> str:
    """``p = 0.031``, two digits that count; ``p < 0.0001`` below that."""
    return "p < 0.0001" if p < 0.0001 else f"p = {float(f'{p:.2g}')}".removesuffix(".0")


def percent(share: float, digits: int | None = None) -> str:
    """A share of 1 as percent; unless told otherwise whole ones, with one decimal below 10."""
    if digits is None:
        digits = 0 if abs(share) >= 0.0995 or share == 0 else 1
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"
