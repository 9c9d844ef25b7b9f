"""Metrics of others, as functions that attest.judge takes: do they tell right attention from wrong?

    python -m benchmarks.others_metrics

captum is called. What ferret and ICE compute is written here from their formulas, because both ask for a model and a tokenizer
of the library transformers; the numbers equal those of ferret-xai 0.4.2 and ice-faithfulness 1.0.1. Each function takes a
network, a batch of B texts with T tokens, and attention ``(B, T)``, and returns a number for each text, ``(B,)``.
"""

from typing import Any

import torch
from captum.metrics import infidelity as captum_infidelity
from captum.metrics import sensitivity_max as captum_sensitivity_max
from torch import Tensor, nn

SHARE = 0.2
"""The share of the tokens that goes or stays at once."""
SAMPLES = 50
"""How many perturbations, or random sets, are tried for a text."""
UNDEFINED = 0.05
"""ICE divides by no smaller difference."""


def infidelity(network: Any, batch: dict[str, Tensor], attention: Tensor) -> Tensor:
    """Return captum's infidelity when a fifth of the tokens becomes padding; small for a good explanation.

    The explained number is the predicted class's probability. captum scales the attention (``normalize``), because it sums to
    1 whatever the prediction is.

    Source: Yeh et al. 2019, On the (In)fidelity and Sensitivity of Explanations.
    """

    def probability(present: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        return network(tokens * (present > 0.5), mask).softmax(dim=-1)

    def leave_out(present: Tensor) -> tuple[Tensor, Tensor]:
        gone = (torch.rand_like(present) < SHARE).to(present)
        return gone, present - gone

    torch.manual_seed(0)
    tokens, mask = batch["token_ids"], batch["mask"]
    with torch.no_grad():
        return captum_infidelity(
            probability,
            leave_out,
            torch.ones_like(attention),
            attention,
            additional_forward_args=(tokens, mask),
            target=network(tokens, mask).argmax(dim=-1),
            n_perturb_samples=SAMPLES,
            normalize=True,
        )


def sensitivity_max(network: Any, batch: dict[str, Tensor], attention: Tensor) -> Tensor:
    """Return captum's sensitivity: how far attention moves when embeddings move by up to 0.02; small for a good explanation.

    Source: Yeh et al. 2019, On the (In)fidelity and Sensitivity of Explanations.
    """
    tokens, mask = batch["token_ids"], batch["mask"]
    table = next(module for module in network.modules() if isinstance(module, nn.Embedding))

    def attention_of(inputs: tuple[Tensor]) -> tuple[Tensor]:
        (embedded,) = inputs
        repeated, masks = (each.repeat_interleave(len(embedded) // len(tokens), 0) for each in (tokens, mask))
        hook = table.register_forward_hook(lambda _module, _inputs, _output: embedded)
        try:
            hidden = network.encode(repeated, masks)
        finally:
            hook.remove()
        return (network.project(network.score(hidden, masks), masks),)

    torch.manual_seed(0)
    with torch.no_grad():
        return captum_sensitivity_max(attention_of, table(tokens), n_perturb_samples=10)


@torch.no_grad()
def aopc_comprehensiveness(network: Any, batch: dict[str, Tensor], attention: Tensor) -> Tensor:
    """Return ferret's AOPC comprehensiveness: the mean fall of the prediction without the first tenth, two tenths, … all.

    Tokens with no weight stay; a set that equals the one before counts once. Of equal weights, whose order ferret leaves to
    numpy, the earlier goes first.

    Source: DeYoung et al. 2020, ERASER; Attanasio et al. 2023, ferret.
    """
    tokens, mask = batch["token_ids"], batch["mask"]
    lengths = mask.sum(dim=-1)
    ranks = ranks_of(attention, mask)
    predicted = network(tokens, mask).argmax(dim=-1)
    total = torch.zeros(len(tokens), dtype=torch.double)
    before, counted = torch.zeros_like(lengths), torch.zeros_like(lengths)
    clean = probability_of(network, tokens, mask, predicted)
    for share in (torch.arange(10) * 0.1 + 0.1).double():
        gone = (ranks < (share * lengths + 1e-6).floor().unsqueeze(-1)) & (attention > 0) & mask
        new = gone.sum(dim=-1) > before
        before = gone.sum(dim=-1)
        total += new * (clean - probability_of(network, *only(tokens, mask & ~gone), predicted))
        counted += new
    return total / counted.clamp(min=1)


@torch.no_grad()
def win_rate(network: Any, batch: dict[str, Tensor], attention: Tensor) -> Tensor:
    """Return ICE's win rate: the share of random sets that keep less of the prediction than the first fifth of the tokens.

    Of ICE's operators deletion; what a set keeps is normalised by what an empty text gives, cut at -2 and 2, and 0 where
    the two differ by less than 0.05.

    Source: Basu and Chakraborty 2026, ICE.
    """
    tokens, mask = batch["token_ids"], batch["mask"]
    size = (SHARE * mask.sum(dim=-1) + 1e-6).floor().clamp(min=1).unsqueeze(-1)
    predicted = network(tokens, mask).argmax(dim=-1)
    clean = probability_of(network, tokens, mask, predicted)
    empty = probability_of(network, *only(tokens, torch.zeros_like(mask)), predicted)

    def kept_by(ranks: Tensor) -> Tensor:
        left = probability_of(network, *only(tokens, (ranks < size) & mask), predicted)
        scaled = ((left - empty) / (clean - empty)).clamp(-2, 2)
        return torch.where((clean - empty).abs() < UNDEFINED, 0.0, scaled)

    ours = kept_by(ranks_of(attention, mask))
    return torch.stack([ours > kept_by(ranks) for ranks in random_ranks(mask)]).double().mean(dim=0)


def ranks_of(attention: Tensor, mask: Tensor) -> Tensor:
    """Return the place of each token by its weight, ``(B, T)``, 0 first; padding last; the earlier of equal ones first."""
    return attention.masked_fill(~mask, -1).argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def random_ranks(mask: Tensor) -> list[Tensor]:
    """Return random places of tokens, ``(B, T)``, for each random set."""
    generator = torch.Generator().manual_seed(0)
    return [ranks_of(torch.rand(mask.shape, generator=generator), mask) for _ in range(SAMPLES)]


def only(tokens: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
    """Return tokens and mask ``(B, T)`` of texts of which some tokens are kept; an empty text is one token of padding."""
    order = (~keep).int().argsort(dim=-1, stable=True)
    kept = keep.gather(-1, order)
    tokens = tokens.gather(-1, order) * kept
    kept[:, 0] = True
    return tokens, kept


def probability_of(network: Any, tokens: Tensor, mask: Tensor, label: Tensor) -> Tensor:
    """Return the probability of a label ``(B,)`` in each text, float64 ``(B,)``."""
    return network(tokens, mask).double().softmax(dim=-1).gather(-1, label.unsqueeze(-1)).squeeze(-1)
