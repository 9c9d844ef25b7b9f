"""E14: does erasing tokens by several methods change the prediction more than erasing random tokens?

``operators.py`` has four ways to erase tokens. ``outcomes.py`` chooses the tokens to erase and computes the predictions
without them. ``limits.py`` computes how far erasing any tokens could move the prediction. ``read_anew.py`` computes scores
that other authors proposed. ``tags.py`` does the experiment for taggers. Start at ``four_operators.py``.
"""

from attest.experiments.erasure.four_operators import erasure
from attest.experiments.erasure.operators import Background
from attest.experiments.erasure.tags import about_one_token, tag_erasure

__all__ = ["Background", "about_one_token", "erasure", "tag_erasure"]
