"""Names of classes as a figure can draw them: its font has no emoji, and of few scripts the letters."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

JOINING = "\u200d\ufe0e\ufe0f"
"""Signs that join emoji or choose their look, and have none of their own."""
PANELS = 8
"""Classes that have a panel each; a figure of more takes minutes and shows nothing."""
SYMBOLS = {"So", "Sk"}
"""Categories of emoji, which have a name that says what they show."""


def drawable(names: Sequence[str]) -> list[str]:
    """Each name as it is where the font has all its signs; else emoji by their Unicode names, and other scripts by number.

    Args:
        names: in class order.
    Returns:
        As many names, all different where the given ones are: ``[fire]`` for 🔥, ``class 2`` for the third class if its
        script is not in the font.
    """
    drawn = [name if _in_font(name) else _spelled(name) or f"class {k}" for k, name in enumerate(names)]
    often = Counter(drawn)
    return [
        f"class {k}" if often[own] > 1 and own != name else own for k, (own, name) in enumerate(zip(drawn, names, strict=True))
    ]


def legend(names: Sequence[str]) -> str:
    """Sentences on classes that figures leave out, and on names that they draw otherwise; empty where there is none."""
    others = [f"{own} is {name}" for own, name in zip(drawable(names), names, strict=True) if own != name]
    few = f"Of {len(names):,} classes, figures have a panel for each of the {PANELS} that are predicted most."
    unsigned = f"Figures have no signs for some names of classes: {'; '.join(others)}."
    return " ".join([*([few] if len(names) > PANELS else []), *([unsigned] if others else [])])


def most_predicted(rows: "pd.DataFrame", names: Sequence[str]) -> "tuple[pd.DataFrame, list[str]]":
    """The classes that get a panel each, numbered from 0, and the rows of these: all up to ``PANELS`` classes.

    Args:
        rows: ``predicted`` of each instance.
        names: in class order.
    """
    if len(names) <= PANELS:
        return rows, list(names)
    often = np.bincount(rows["predicted"].astype(int), minlength=len(names))
    kept = sorted(np.argsort(-often, kind="stable")[:PANELS].tolist())
    mine = rows[rows["predicted"].isin(kept)]
    return mine.assign(predicted=mine["predicted"].map({k: place for place, k in enumerate(kept)})), [names[k] for k in kept]


@cache
def _font_has(sign: str) -> bool:
    if sign.isascii() and sign.isprintable():
        return True  # in every font that figures are drawn with
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return get_font(findfont(FontProperties())).get_char_index(ord(sign)) > 0


def _in_font(name: str) -> bool:
    return all(_font_has(sign) for sign in name)


def _spelled(name: str) -> str | None:
    """Emoji as words; None where a sign that the font lacks is no emoji."""
    signs = [sign for sign in name if sign not in JOINING]
    lacking = [sign for sign in signs if not _font_has(sign)]
    if any(unicodedata.category(sign) not in SYMBOLS for sign in lacking):
        return None
    return "".join(f"[{unicodedata.name(sign, 'sign').lower()}]" if sign in lacking else sign for sign in signs)
