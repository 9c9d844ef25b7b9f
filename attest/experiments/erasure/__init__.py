"""E14: does erasing tokens by several methods change the prediction more than erasing random tokens?

``operators.py`` says in four ways what "without a token" means; ``outcomes.py`` which tokens go and what is left of the
prediction; ``limits.py`` how far any tokens could move it; ``read_anew.py`` has the scores of others; ``tags.py`` asks
the same of taggers. Start at ``four_operators.py``.
"""

from attest.experiments.erasure.four_operators import erasure
from attest.experiments.erasure.operators import Background
from attest.experiments.erasure.tags import about_one_token, tag_erasure

__all__ = ["Background", "about_one_token", "erasure", "tag_erasure"]
