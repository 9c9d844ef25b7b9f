r"""The loss in E7, by which a model learns to predict as a base model and to attend as differently as possible.

.. math:: L = \frac1N \sum_i d(\hat y_{a,i}, \hat y_{b,i}) - \lambda\, D(\alpha_{a,i} \| \alpha_{b,i})

In classification d is the total variation distance (Wiegreffe & Pinter 2019, §4). In tagging d is the negative log-likelihood
of the tags that the base predicts (Yang 2020, §4.2), a mean over tokens; D is then a mean over tokens and heads. The
divergence is from the adversary to the base, as in both papers and in the code of the first.

Two conventions other than ours change the scale of λ:

* ``convention="wiegreffe-pinter"``: their code takes half of the total variation distance of two classes, so our λ is twice
  theirs: their 5e-4 is our 1e-3. Their code also sums over a batch of 32, but this scales both terms alike.
* ``convention="yang"``: D is the mean over the entries of a row of attention, not the sum over the row. For a sentence of T
  tokens, λ in this convention weighs as much as λ / T in ours. Yang 2020 does not say which of the two the paper takes, nor
  over which axis, and the axis decides what a λ weighs. The mean is what torch's ``kl_div`` computes by default. Figure 1
  there has its knee at a KL of 0.33; ours lies near 4.75 as a sum and near 0.2 as a mean. ``kl_div`` takes the mean over all
  entries of a batch: there a sentence counts by the square of its length, and entries of padding, which add 0, make the mean
  smaller. We take the mean over the tokens to which a row may attend, and then over rows, heads and sentences. So the loss of
  a sentence depends neither on padding nor on the other sentences of its batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from attest.core.labels import UNLABELLED
from attest.core.measures import jensen_shannon, total_variation
from attest.core.measures.divergences import kullback_leibler, smoothed_kullback_leibler

DivergenceName = Literal["kl", "jsd", "smoothed-kl"]
Convention = Literal["instances", "wiegreffe-pinter", "yang"]


@dataclass(frozen=True)
class Objective:
    """The two loss terms of an adversary (E7): distance of predictions and divergence of attention, ``(B,)`` each."""

    distance: Tensor
    """float ``(B,)``: how far the adversary's predictions are from those of the base model; training makes it small."""
    divergence: Tensor
    """float ``(B,)``: the divergence of the adversary's attention from that of the base model, in nats; training makes it
    large. For a tagger, which has a row of attention for each token and head, it is the mean over these rows."""
    entries: Tensor
    """int64 ``(B,)``: the number of real tokens of each text, which is the number of weights in a row of attention."""

    def losses(self, lam: float, convention: Convention = "instances") -> Tensor:
        """Return each instance's loss ``(B,)``: distance of predictions minus ``lam`` times divergence of attention."""
        scale = 0.5 if convention == "wiegreffe-pinter" else 1.0
        divergence = self.divergence / self.entries if convention == "yang" else self.divergence
        return scale * self.distance - lam * divergence


def classification_objective(
    divergence: DivergenceName, ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], mask: Tensor
) -> Objective:
    """Return the two loss terms of an adversarial text classifier: prediction distance and attention divergence.

    Args:
        ours, theirs: probabilities ``(B, K)`` and attention ``(B, T)`` of adversary and base.
        mask: bool ``(B, T)``, True at real tokens.
    """
    return Objective(total_variation(ours[0], theirs[0]), DIVERGENCES[divergence](ours[1], theirs[1], mask), mask.sum(dim=-1))


def tagging_objective(
    divergence: DivergenceName, ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor], mask: Tensor
) -> Objective:
    """Return an adversarial tagger's two loss terms as means over tokens: prediction distance, attention divergence.

    Args:
        divergence: D, averaged over tokens, heads and layers.
        ours, theirs: logits of tags ``(B, T, K)`` and attention ``(B, N, T, T)``, N heads of all layers.
        mask: bool ``(B, T)``, True at real tokens.
    """
    lengths = mask.sum(dim=-1)
    tags = theirs[0].argmax(dim=-1).masked_fill(~mask, UNLABELLED)
    losses = functional.cross_entropy(ours[0].transpose(1, 2), tags, ignore_index=UNLABELLED, reduction="none")
    rows = DIVERGENCES[divergence](ours[1], theirs[1], mask[:, None, None, :])
    diverging = rows.masked_fill(~mask[:, None, :], 0).mean(dim=1).sum(dim=-1)
    return Objective(losses.sum(dim=-1) / lengths, diverging / lengths, lengths)


DIVERGENCES: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    # a weight of softmax that has underflowed to 0 counts as the least number there is
    "kl": lambda p, q, mask: kullback_leibler(p, q.clamp(min=torch.finfo(q.dtype).tiny)),
    "jsd": lambda p, q, mask: jensen_shannon(p, q),
    "smoothed-kl": smoothed_kullback_leibler,
}
"""The functions that measure how far two attentions are apart, by name. Each takes the adversary's attention and the base
model's, float ``(..., T)``, and the mask, and returns nats, float ``(...)``."""
