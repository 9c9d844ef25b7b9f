"""E7 for tagging: training a tagger that tags as its base does and attends elsewhere."""

from typing import Any

import torch

from attest.attention.interventions import recorded
from attest.experiments.adversarial_loss import Convention, DivergenceName, Objective, tagging_objective
from attest.lightning_modules.base_network import MakeNetwork, ReferenceOutput
from attest.lightning_modules.tagger import Tagger
from attest.lightning_modules.trained_adversary import Adversarial, Batch, Variant


class TaggingAdversary(Adversarial, Tagger):
    """A tagger against its base (Yang 2020, §4.2).

    Args:
        base_network, lam, divergence, variant, convention: as in ``TrainedAdversary``; the divergence is a mean over tokens,
            heads and layers.
        options: as in ``Tagger``.
    """

    def __init__(
        self,
        base_network: MakeNetwork,
        lam: float = 0.2,
        divergence: DivergenceName = "kl",
        variant: Variant = "unfrozen",
        convention: Convention = "instances",
        vocab_size: int = 2,
        num_classes: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(vocab_size=vocab_size, num_classes=num_classes, **options)
        self.oppose(base_network(vocab_size, num_classes), lam, divergence, variant, convention)

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        with recorded(self.network, "weights") as weights:
            logits = self(batch["token_ids"], batch["mask"])
        ours, base = (torch.cat(list(layers.values()), dim=1) for layers in (weights, theirs.weights))
        return tagging_objective(self.divergence, (logits, ours), (theirs.logits, base), batch["mask"])
