"""Whether the attention is right, where the corpus knows which tokens decide: generated corpora do."""

import numpy as np
import pandas as pd

from attest.measures.numbers import percent

RIGHT, WRONG = 0.9, 0.1
"""Share of its mass on the deciding tokens from which attention is right, and up to which it is wrong."""


def sentence(instances: pd.DataFrame | None) -> str | None:
    """What share of the attention lies on the tokens that decide; None where these are not known.

    Args:
        instances: one row a text; ``attention`` and ``rationale`` hold one value a token.
    """
    if instances is None or not {"attention", "rationale"} <= {*instances.columns}:
        return None
    pairs = zip(instances["attention"], instances["rationale"], strict=True)
    mass = np.array([np.asarray(weights)[np.asarray(decides, dtype=bool)].sum() for weights, decides in pairs])
    right, wrong = percent((mass >= RIGHT).mean()), percent((mass <= WRONG).mean())
    return (
        "Here the tokens that decide the label are known. In the average text "
        f"{percent(mass.mean())} of the attention lies on them. Attention is right (at least {percent(RIGHT)} on them) in "
        f"{right} of texts and wrong (at most {percent(WRONG)}) in {wrong}."
    )
