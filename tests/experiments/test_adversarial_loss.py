"""The losses of adversaries against loops over instances, and against trimming."""

from typing import get_args

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, rel_entr
from torch.nn import functional

from attest.core.attention import Softmax
from attest.experiments.adversarial_loss import Convention, DivergenceName, classification_objective, tagging_objective
from attest.runs.dependent_names import CONVENTIONS, DIVERGENCES

LENGTHS = (5, 3, 1)
MASK = torch.arange(5) < torch.tensor(LENGTHS).unsqueeze(-1)


def attention(*shape: int) -> torch.Tensor:
    return Softmax()(torch.randn(*shape, dtype=torch.float64), MASK[:, None, None, :] if len(shape) == 4 else MASK)


def test_classification_is_the_mean_of_each_text_by_itself():
    ours, theirs = [(torch.rand(3, 2, dtype=torch.float64).softmax(-1), attention(3, 5)) for _ in range(2)]
    found = classification_objective("kl", ours, theirs, MASK)
    for row, length in enumerate(LENGTHS):
        tvd = abs(ours[0][row, 1] - theirs[0][row, 1])
        kl = rel_entr(ours[1][row, :length], theirs[1][row, :length]).sum()
        assert found.losses(0.3)[row].item() == pytest.approx((tvd - 0.3 * kl).item())


def test_their_lambda_is_worth_half_of_ours():
    """Under their convention the loss is half of ours at twice their λ."""
    ours, theirs = [(torch.rand(3, 2).softmax(-1), attention(3, 5).float()) for _ in range(2)]
    found = classification_objective("kl", ours, theirs, MASK)
    torch.testing.assert_close(2 * found.losses(5e-4, "wiegreffe-pinter"), found.losses(1e-3))


def test_yangs_divergence_is_kl_divs_mean_over_all_entries_of_a_sentence():
    """As ``kl_div`` computes it by default on the sentence without padding: its λ is T times ours."""
    ours, theirs = [(torch.randn(3, 5, 4, dtype=torch.float64), attention(3, 2, 5, 5)) for _ in range(2)]
    found = tagging_objective("kl", ours, theirs, MASK)
    for row, length in enumerate(LENGTHS):
        p, q = (weights[row, :, :length, :length] for _, weights in (ours, theirs))
        mean = functional.kl_div(q.log(), p, reduction="none").mean()
        expected = found.distance[row] - 0.2 * mean
        torch.testing.assert_close(found.losses(0.2, "yang")[row], expected)
        torch.testing.assert_close(found.losses(0.2 / length)[row], expected)


def test_yangs_divergence_of_a_classifier_is_the_mean_over_the_tokens_of_each_text():
    ours, theirs = [(torch.rand(3, 2, dtype=torch.float64).softmax(-1), attention(3, 5)) for _ in range(2)]
    found = classification_objective("kl", ours, theirs, MASK)
    for row, length in enumerate(LENGTHS):
        kl = rel_entr(ours[1][row, :length], theirs[1][row, :length]).mean()
        assert found.losses(0.3, "yang")[row].item() == pytest.approx((found.distance[row] - 0.3 * kl).item())


def test_tagging_is_the_mean_over_tokens_and_heads_of_each_sentence():
    ours, theirs = [(torch.randn(3, 5, 4, dtype=torch.float64), attention(3, 2, 5, 5)) for _ in range(2)]
    found = tagging_objective("kl", ours, theirs, MASK)
    for row, length in enumerate(LENGTHS):
        tags = theirs[0][row, :length].argmax(-1)
        nll = -np.mean([log_softmax(ours[0][row, t])[tags[t]] for t in range(length)])
        kl = np.mean([rel_entr(ours[1][row, n, t], theirs[1][row, n, t]).sum() for n in range(2) for t in range(length)])
        assert found.distance[row].item() == pytest.approx(nll)
        assert found.divergence[row].item() == pytest.approx(kl)


@pytest.mark.parametrize("divergence", ["kl", "jsd", "smoothed-kl"])
def test_a_padded_sentence_is_a_trimmed_one(divergence):
    ours, theirs = [(torch.randn(3, 5, 4), attention(3, 2, 5, 5).float()) for _ in range(2)]
    found = tagging_objective(divergence, ours, theirs, MASK)
    for row, length in enumerate(LENGTHS):
        alone = [(logits[row, None, :length], weights[row, None, :, :length, :length]) for logits, weights in (ours, theirs)]
        trimmed = tagging_objective(divergence, *alone, MASK[row, None, :length])
        for convention in get_args(Convention):
            torch.testing.assert_close(trimmed.losses(0.2, convention)[0], found.losses(0.2, convention)[row])


def test_the_words_are_the_conventions_and_divergences_of_the_loss():
    assert get_args(Convention) == CONVENTIONS
    assert get_args(DivergenceName) == DIVERGENCES


def test_gradients_of_both_terms():
    theirs = torch.rand(3, 2, dtype=torch.float64).softmax(-1), attention(3, 5)

    def loss(logits: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        ours = logits.softmax(-1), Softmax()(scores, MASK)
        return classification_objective("kl", ours, theirs, MASK).losses(0.3)

    inputs = [torch.randn(3, size, dtype=torch.float64, requires_grad=True) for size in (2, 5)]
    assert torch.autograd.gradcheck(loss, inputs)
