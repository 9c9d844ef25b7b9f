"""E14: erasure by several operators, against random sets.

``operators.py`` says in four ways what "without a token" means; ``sets.py`` which tokens go; ``outcomes.py`` what is left of
the prediction then; ``scores.py``, ``limits.py`` and ``beam.py`` what that is worth; ``soft.py`` and ``randomised.py`` are
variants of their own; ``tags.py`` asks the same of taggers. Start at ``four_operators.py``.
"""

from attest.experiments.erasure.background import Background
from attest.experiments.erasure.four_operators import erasure
from attest.experiments.erasure.tags import about_one_token, tag_erasure

__all__ = ["Background", "about_one_token", "erasure", "tag_erasure"]
