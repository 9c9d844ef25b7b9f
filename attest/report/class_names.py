"""Names of classes as a figure can draw them: its font has no emoji, and of few scripts the letters."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache

JOINING = "\u200d\ufe0e\ufe0f"
"""Signs that join emoji or choose their look, and have none of their own."""
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
    """A sentence that says which names figures draw otherwise; empty where there is none."""
    others = [f"{own} is {name}" for own, name in zip(drawable(names), names, strict=True) if own != name]
    return f"Figures have no signs for some names of classes: {'; '.join(others)}." if others else ""


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
