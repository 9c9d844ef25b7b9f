"""The heads of a Transformer, each of which can be switched off: a mean output then replaces its output.

Legend: B batch, M heads of all layers, N heads of a layer, T tokens, D dimensions a head, Q rows of attention, V sets of
heads, R rows of the batch times sets.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from typing import Any

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Intervention, attending, intervene, recorded, unwrapped
from attest.core.errors import AttestError
from attest.core.memory import NEAR, by_rows, memory_budget
from attest.core.randomness import random_order
from attest.experiments.layers.tampering import MAPS, highest
from attest.models.contract import shown_class
from attest.models.inputs import Inputs
from attest.models.layers_observed import LayerObservation, self_attending, weights_a_head
from attest.models.offers import offers_of
from attest.models.prediction import lead, logits_of_classes

Pairs = Sequence[tuple[int, int]]
"""A list of attention heads, each as the number of its layer and its number within the layer; both count from 1."""


@torch.no_grad()
def head_means(network: nn.Module, texts: Iterable[Inputs]) -> dict[str, Tensor]:
    """Compute the mean output of each head of each layer, over all real tokens of all texts.

    Args:
        network: in evaluation mode.
        texts: in batches.
    Returns:
        float64 ``(N, D)`` by layer.
    Raises:
        AttestError: a layer does not show what its heads hand on, or the maps of a text take more than the memory budget.
    """
    sums: dict[str, Any] = defaultdict(float)
    count = 0
    for batch in texts:
        mask = batch.mask
        _require_room(network, mask)
        with recorded(network, "outputs") as outputs:
            batch.read_by(network)
        count += int(mask.sum())
        for layer, each in outputs.items():
            sums[layer] += torch.where(mask[:, None, :, None], each, 0).double().sum(dim=(0, 2))
    if count and (hidden := [layer for layer in self_attending(network) if layer not in sums]):
        raise AttestError(unseen(network, hidden[0]))
    return {layer: each / count for layer, each in sums.items()}


def _require_room(network: nn.Module, mask: Tensor) -> None:
    heads, weights = sum(layer.heads or 0 for layer in attending(network).values()), weights_a_head(network, mask)
    if (taken := 4 * heads * weights) > memory_budget():
        gibibytes, allowed = taken / (1 << 30), memory_budget() / (1 << 30)
        raise AttestError(
            f"E17 keeps {heads} attention maps for each text, which need {gibibytes:.3g} GiB for a text of {mask.shape[-1]:,} "
            f"tokens; expected at most {allowed:.3g} GiB. Shorten the texts, or give memory_gib={ceil(gibibytes)} to "
            "attest.trial."
        )


def unseen(network: nn.Module, where: str) -> str:
    """Return the error message for a model that hides the outputs of its heads."""
    bare: Any = unwrapped(network)
    kind = shown_class(bare).__name__
    return (
        f"{kind} does not show the outputs of single heads in {where}, so E17 cannot switch off a head; expected a model in "
        "which one linear layer reads the concatenated outputs of all heads. Leave E17 out."
    )


@dataclass(frozen=True)
class Heads:
    """The M attention heads of a network, observed on one batch; sets of them can be switched off.

    Args:
        means: the mean output of each head, ``(N, D)`` by layer, as in ``head_means``.
    """

    observation: LayerObservation
    means: Mapping[str, Tensor]

    @cached_property
    def sizes(self) -> list[int]:
        """Return the number of heads of each layer."""
        return [weights.shape[1] for weights in self.observation.attention.values()]

    @cached_property
    def names(self) -> list[tuple[int, int]]:
        """Return each head's layer and its number in that layer, both counted from 1."""
        return [(layer, head) for layer, size in enumerate(self.sizes, start=1) for head in range(1, size + 1)]

    @cached_property
    def lead(self) -> Tensor:
        """Return how far the predicted class's logit is above the next largest, ``(B,)``; for a tagger, ``(B, T)``."""
        return lead(logits_of_classes(self.observation.network, self.observation.logits), self.observation.predicted)

    def chosen(self, heads: Pairs) -> Tensor:
        """Return which of the M heads are named by the pairs (layer, head), bool ``(M,)``."""
        pairs = [tuple(pair) for pair in heads]
        if wrong := [pair for pair in pairs if pair not in self.names]:
            raise AttestError(
                f"the setting `heads` of E17 names {wrong[0]}; expected pairs of a layer (from 1 to {len(self.sizes)}) and a "
                f"head (from 1 to {max(self.sizes)}). For example: heads=[(1, 1)]"
            )
        return torch.tensor([name in pairs for name in self.names], device=self.observation.mask.device)

    def look(self, mattering: Tensor) -> Tensor:
        """Return the share of each head's attention on important tokens, ``(B, M)``; NaN if no token is important.

        Args:
            mattering: bool ``(B, 1 or Q, T)``; a row in which nothing matters does not count.
        """
        seen = self.observation
        offered = offers_of(seen.network).deciding
        tags = seen.predicted.ndim > 1
        deciding = seen.deciding.to(seen.logits) if tags or offered is None else offered(seen.mask)
        weight_BQ = torch.where(mattering.any(dim=-1), deciding, 0)
        weight_BQ = weight_BQ / weight_BQ.sum(dim=-1, keepdim=True)  # 0 / 0 is NaN: nothing matters in any row
        layers = seen.attention.values()
        shares = [torch.einsum("bnqt,bqt->bnq", each, mattering.expand(-1, each.shape[2], -1).to(each)) for each in layers]
        real = seen.mask.unsqueeze(1)  # rows of padding are arbitrary
        return torch.cat([(each.where(real, 0) * weight_BQ.unsqueeze(1)).sum(dim=-1) for each in shares], dim=1)

    def write(self) -> Tensor:
        """Estimate from a gradient how much the logit difference falls if each head alone is switched off, ``(B, M)``."""
        maps = sum(weights[0].nbytes for weights in self.observation.attention.values())
        rows = torch.arange(len(self.observation.ids), device=self.observation.ids.device)
        return by_rows(self._written, MAPS * maps, rows, budget=NEAR)

    @torch.enable_grad()
    def _written(self, rows: Tensor) -> Tensor:
        seen, shifts, outputs = self.observation, {}, {}

        def shifted(layer: str, computed: Tensor, _mask: Tensor) -> Tensor:
            outputs[layer] = computed.detach()
            shifts[layer] = torch.zeros_like(computed).requires_grad_()
            return computed + shifts[layer]

        with intervene(seen.network, *(Intervention("outputs", partial(shifted, layer), [layer]) for layer in self.means)):
            logits = seen.texts.rows(rows).read_by(seen.network)
        leads = lead(logits_of_classes(seen.network, logits), seen.predicted[rows])
        gradients = torch.autograd.grad(seen.per_instance(leads, rows).sum(), [shifts[layer] for layer in seen.attention])
        written = []
        for layer, gradient in zip(seen.attention, gradients, strict=True):
            away = outputs[layer] - self.means[layer].to(outputs[layer]).unsqueeze(1)
            products = torch.where(seen.mask[rows][:, None, :, None], away * gradient, 0)
            written.append(products.sum(dim=(2, 3)))
        return torch.cat(written, dim=1).detach()

    def without(self, sets: Tensor) -> tuple[Tensor, Tensor]:
        """Switch off V sets of heads; return the fall of the logit difference and the changed decisions, ``(B, V)``.

        Args:
            sets: bool ``(B, V, M)``; each set has at least one head.
        """
        layer_M = torch.tensor([layer for layer, _ in self.names], device=sets.device) - 1
        sets_RM, rows_R = sets.flatten(0, 1), torch.arange(len(sets), device=sets.device).repeat_interleave(sets.shape[1])
        lowest_R = layer_M[sets_RM.byte().argmax(dim=-1)]
        found = torch.empty(len(sets_RM), 2, dtype=torch.float64, device=sets.device)
        per_row = MAPS * max(weights[0].nbytes for weights in self.observation.attention.values())
        for lowest in lowest_R.unique():  # passes begin at the lowest layer of their set
            mine = (lowest_R == lowest).nonzero().squeeze(-1)
            found[mine] = by_rows(self._outcomes, per_row, rows_R[mine], sets_RM[mine], budget=NEAR)
        drop, flipped = found.unflatten(0, sets.shape[:2]).unbind(dim=-1)
        return drop, flipped

    def _outcomes(self, rows: Tensor, sets: Tensor) -> Tensor:
        changes = [
            Intervention("outputs", _replacing(off, self.means[layer]), [layer])
            for layer, off in zip(self.observation.attention, sets.split(self.sizes, dim=-1), strict=True)
            if off.any()
        ]
        classes = logits_of_classes(self.observation.network, self.observation.logits_under(rows, *changes))
        predicted = self.observation.predicted[rows]
        drop, flipped = self.lead[rows] - lead(classes, predicted), classes.argmax(dim=-1) != predicted
        return torch.stack([self.observation.per_instance(each.double(), rows) for each in (drop, flipped)], dim=-1)

    def random_sets(self, chosen: Tensor, draws: int, seed: int) -> Tensor:
        """Draw random sets of heads that have as many heads in each layer as ``chosen``, bool ``(B, draws, M)``."""
        order = random_order(seed, self.observation.ids, draws, torch.ones_like(chosen))
        parts = zip(order.split(self.sizes, dim=-1), chosen.split(self.sizes, dim=-1), strict=True)
        return torch.cat([highest(keys, own.sum(dim=-1).unsqueeze(-1)) for keys, own in parts], dim=-1)


def _replacing(off_RN: Tensor, mean_ND: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda computed, _mask: torch.where(off_RN[:, :, None, None], mean_ND.to(computed).unsqueeze(1), computed)
