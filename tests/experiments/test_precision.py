"""Every experiment in float32 says what it says in float64: what differs is rounding, not a mistake."""

from functools import partial

import pytest
import torch

from attest.core.attention import Entmax15, Softmax, Sparsemax
from attest.core.measures import jensen_shannon
from attest.experiments import (
    Observation,
    activation_swap,
    adversarial_attention,
    attention_permutation,
    erasure_until_flip,
    feature_importance,
    importance_entropy,
    observe,
    single_erasure,
)
from tests.experiments.networks import pooling_classifier, ragged_batch

LENGTHS = [9, 1, 5, 2, 14, 7]
PROJECTIONS = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}
EXPERIMENTS = {
    "E1": feature_importance,
    "E2": partial(attention_permutation, permutations=50, seed=0),
    "E3": partial(adversarial_attention, restarts=0),
    "E3 search": partial(adversarial_attention, restarts=3, steps=50, seed=0),
    "E8": partial(activation_swap, projections=PROJECTIONS, labels=torch.zeros(len(LENGTHS), dtype=torch.int64)),
    "E10": partial(importance_entropy, everyone=torch.arange(100, 106)),
    "E11": partial(single_erasure, seed=0),
    "E12": partial(erasure_until_flip, seed=0),
}
TOLERANCE = 2e-5
"""Absolute, for numbers of order 1: some two hundred times the epsilon of float32."""


def observation(dtype: torch.dtype, projection: torch.nn.Module) -> Observation:
    return observe(pooling_classifier(projection=projection, dtype=dtype), *ragged_batch(LENGTHS))


@pytest.mark.parametrize("projection", PROJECTIONS.values(), ids=PROJECTIONS)
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_float32_agrees_with_float64(experiment, projection):
    single, double = (EXPERIMENTS[experiment](observation(dtype, projection)) for dtype in (torch.float32, torch.float64))
    assert single.keys() == double.keys()
    for name in single.keys() - {"adversary"}:
        torch.testing.assert_close(
            single[name].double(),
            double[name].double(),
            atol=TOLERANCE,
            rtol=0,
            equal_nan=True,
            msg=lambda m, n=name: f"{n}: {m}",
        )
    if "adversary" in single:  # under sparse attention several are equally far; each must be as far as is said
        found = jensen_shannon(single["adversary"].double(), observation(torch.float64, projection).attention)
        torch.testing.assert_close(found, double["jsd_exact"], atol=TOLERANCE, rtol=0)
