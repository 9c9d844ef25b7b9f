"""Which classes have a panel in the figures, and by which names."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.font_manager import FontProperties, findfont, get_font

PANELS = 8
"""The largest number of classes that get a panel each; a figure with more panels would take minutes and be unreadable."""
ALL_TEXTS = "all texts"
"""The name of a figure's only panel if the model predicts a number, so that there are no classes with a panel each."""


def drawable(names: Sequence[str]) -> list[str]:
    """Return class names; ``class <number>`` replaces a name that the font of the figures cannot draw."""
    return [name if all(map(_font_has, name)) else f"class {k}" for k, name in enumerate(names)]


def legend(names: Sequence[str]) -> str:
    """Return sentences that tell which classes have no panel and which names were replaced; empty if neither occurs."""
    others = [f"{own} is {name}" for own, name in zip(drawable(names), names, strict=True) if own != name]
    few = f"The figures show only the {PANELS} most predicted of {len(names):,} classes."
    unsigned = f"The font of the figures cannot show some class names: {'; '.join(others)}."
    return " ".join([*([few] if len(names) > PANELS else []), *([unsigned] if others else [])])


def most_predicted(rows: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return rows and names of the ``PANELS`` most predicted classes; these classes get new numbers from 0."""
    if len(names) <= PANELS:
        return rows, list(names)
    often = np.bincount(rows["predicted"].astype(int), minlength=len(names))
    kept = sorted(np.argsort(-often, kind="stable")[:PANELS].tolist())
    mine = rows[rows["predicted"].isin(kept)]
    return mine.assign(predicted=mine["predicted"].map({k: place for place, k in enumerate(kept)})), [names[k] for k in kept]


@cache
def _font_has(sign: str) -> bool:
    return get_font(findfont(FontProperties())).get_char_index(ord(sign)) > 0
