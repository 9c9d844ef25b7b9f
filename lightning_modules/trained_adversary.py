"""The training in E7: a model learns to predict as its base run does, but with attention on other tokens."""

from typing import Any, Literal, cast

import torch
from torch import Tensor

from attest.core.attention.interventions import recorded
from attest.core.measures import probabilities
from attest.experiments.adversarial_loss import (
    Convention,
    DivergenceName,
    Objective,
    classification_objective,
    tagging_objective,
)
from attest.lightning_modules.base_network import DependentModule, MakeNetwork, ReferenceOutput
from attest.lightning_modules.classifier import Classifier, attended
from attest.lightning_modules.optimisation import require_attention_parameters
from attest.lightning_modules.tagger import Tagger
from attest.lightning_modules.text_module import Batch, InstanceRows

Variant = Literal["unfrozen", "frozen"]


class Adversarial(DependentModule):
    """A mixin for classifiers and taggers that learn to attend differently from their base run.

    In addition to the logs of the module, it logs ``validation/objective``, the mean loss of the validation instances, and the
    two terms of this loss, ``validation/distance`` and ``validation/divergence``. The best epoch is the one with the best
    objective; Wiegreffe & Pinter choose it by the training loss. The gold labels are never used in training.

    Args:
        base_network: makes the network of the base run; the adversary's own network has the same architecture.
        lam: λ > 0, weight of the divergence; see ``attest.experiments.adversarial_loss`` for its scale.
        divergence: name of the divergence of attention, from the adversary to the base.
        variant: ``unfrozen`` trains a new network, which starts as the base did if seeds are equal; ``frozen`` trains only the
            attention of a copy of the base's network, from a new initialisation.
        convention: the scale of the two terms. ``instances``: means over instances, where a divergence is a sum over a row
            of attention; ``yang``: as ``instances``, but a divergence is the mean over the entries of a row;
            ``wiegreffe-pinter`` sums over a batch and halves the distance.
        options: as in ``Classifier`` or ``Tagger``.
    """

    def __init__(
        self,
        base_network: MakeNetwork,
        lam: float = 1e-3,
        divergence: DivergenceName = "kl",
        variant: Variant = "unfrozen",
        convention: Convention = "instances",
        **options: Any,
    ) -> None:
        super().__init__(base_network, **options)
        self.lam = lam
        self.divergence: DivergenceName = divergence
        self.variant = variant
        self.convention: Convention = convention
        self.objectives = InstanceRows()

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        """Return the two terms of the loss: the differences from the base run in predictions and in attention."""
        raise NotImplementedError(f"{type(self).__name__} must define the method objective.")

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Load the base run's network; in the variant ``frozen``, copy and freeze all parameters except those of attention.

        Attention starts anew: at the base's attention, both terms of the loss have no gradient and nothing would be learned.
        """
        super().take_base(state)
        if self.variant == "frozen":
            require_attention_parameters(self.network)
            trained = {id(parameter) for parameter in cast(Any, self.network).attention_parameters()}
            for name, parameter in self.network.named_parameters():
                parameter.requires_grad_(id(parameter) in trained)
                if id(parameter) not in trained:
                    parameter.data.copy_(state[name])

    def train(self, mode: bool = True) -> Any:
        """Set training mode, but keep a frozen network in evaluation mode, so that dropout stays off."""
        super().train(mode)
        if self.variant == "frozen":
            self.network.eval()
        return self

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        losses = self.objective(batch, self.base.reference(batch)).losses(self.lam, self.convention)
        self.log("train/loss", losses.detach().mean(), batch_size=len(losses))
        return losses.sum() if self.convention == "wiegreffe-pinter" else losses.mean()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        super().validation_step(batch, batch_idx)
        found = self.objective(batch, self.base.reference(batch))
        self.objectives.update(batch["id"], found.distance, found.divergence, found.entries)

    def on_validation_epoch_end(self) -> None:
        super().on_validation_epoch_end()
        rows = self.objectives.compute()
        found = Objective(*rows[:, 1:].unbind(dim=-1))
        means = {
            "objective": found.losses(self.lam, self.convention),
            "distance": found.distance,
            "divergence": found.divergence,
        }
        self.log_dict({f"validation/{name}": each.mean().float() for name, each in means.items()})
        self.objectives.reset()


class TrainedAdversary(Adversarial, Classifier):
    """A classifier that learns its base run's predictions with different attention (Wiegreffe & Pinter 2019, §4)."""

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        network: Any = self.network
        mask = attended(batch)
        hidden = network.encode(batch["token_ids"], mask)
        weights = network.project(network.score(hidden, mask), mask)
        ours = probabilities(network.decode(hidden, weights)), weights
        base = probabilities(theirs.logits), theirs.weights["attention"]  # the layer that pools
        return classification_objective(self.divergence, ours, base, mask)


class TaggingAdversary(Adversarial, Tagger):
    """A tagger that learns its base run's predictions with different attention (Yang 2020, §4.2).

    Args:
        options: as in ``Adversarial`` and ``Tagger``.
    """

    def __init__(self, base_network: MakeNetwork, lam: float = 0.2, **options: Any) -> None:
        super().__init__(base_network, lam, **options)

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        with recorded(self.network, "weights") as weights:
            logits = self(batch["token_ids"], batch["mask"])
        ours, base = (torch.cat(list(layers.values()), dim=1) for layers in (weights, theirs.weights))
        return tagging_objective(self.divergence, (logits, ours), (theirs.logits, base), batch["mask"])
