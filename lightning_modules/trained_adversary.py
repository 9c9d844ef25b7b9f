"""E7: training a classifier that predicts as its base does and attends elsewhere."""

from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import recorded
from attest.core.measures import probabilities
from attest.experiments.adversarial_loss import (
    Convention,
    DivergenceName,
    Objective,
    classification_objective,
    tagging_objective,
)
from attest.lightning_modules.base_network import BaseNetwork, MakeNetwork, ReferenceOutput
from attest.lightning_modules.classifier import Classifier, attended
from attest.lightning_modules.optimisation import require_attention_parameters
from attest.lightning_modules.predictions import InstanceRows
from attest.lightning_modules.tagger import Tagger
from attest.lightning_modules.text_module import Batch

Variant = Literal["unfrozen", "frozen"]


class Adversarial:
    """A mixin for the LightningModules of adversaries, of classifiers and of taggers.

    Logs, beside what the module logs, ``validation/objective``, the loss as a mean over validation instances that chooses the
    epoch, and its two terms, ``validation/distance`` and ``validation/divergence``. The gold labels are never trained on.
    Wiegreffe & Pinter choose the epoch by the training loss.
    """

    network: nn.Module
    base: BaseNetwork
    lam: float
    divergence: DivergenceName
    variant: Variant
    convention: Convention

    def oppose(
        self, base: nn.Module, lam: float, divergence: DivergenceName, variant: Variant, convention: Convention
    ) -> None:
        """Set up; to be called in ``__init__``."""
        self.base = BaseNetwork(base)
        self.lam, self.divergence, self.variant, self.convention = lam, divergence, variant, convention
        self.objectives = InstanceRows()

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        """Compute the terms of the loss of one batch."""
        raise NotImplementedError(f"{type(self).__name__} must say what it minimises: define objective.")

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Load the base; frozen, take all but the parameters of attention over, which alone are trained and begin anew.

        At the base's own attention both terms of the loss have no gradient, and nothing would ever move.
        """
        self.base.load(state)
        if self.variant == "frozen":
            require_attention_parameters(self.network)
            trained = {id(parameter) for parameter in cast(Any, self.network).attention_parameters()}
            for name, parameter in self.network.named_parameters():
                parameter.requires_grad_(id(parameter) in trained)
                if id(parameter) not in trained:
                    parameter.data.copy_(state[name])

    def train(self, mode: bool = True) -> Any:
        """Set to training mode; a frozen network stays in evaluation mode: dropout would hide the hidden states."""
        super().train(mode)  # type: ignore[misc]
        if self.variant == "frozen":
            self.network.eval()
        return self

    def on_fit_start(self) -> None:
        """Look at the training texts, where that pays."""
        module: Any = self
        data = module.trainer.datamodule
        self.base.cache(data.train, data.batch_size, module.device)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the loss of one batch."""
        losses = self.objective(batch, self.base.cached(batch)).losses(self.lam, self.convention)
        self.log("train/loss", losses.detach().mean(), prog_bar=True, batch_size=len(losses))  # type: ignore[attr-defined]
        return losses.mean() if self.convention == "instances" else losses.sum()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Score one batch against its labels and against the base."""
        super().validation_step(batch, batch_idx)  # type: ignore[misc]
        terms = [torch.zeros(0), torch.zeros(0)]
        if len(batch["id"]):
            found = self.objective(batch, self.base.reference(batch))
            terms = [found.distance, found.divergence]
        self.objectives.update(batch["id"], *(each.to(batch["id"].device) for each in terms))

    def on_validation_epoch_end(self) -> None:
        """Log the scores and the objective."""
        super().on_validation_epoch_end()  # type: ignore[misc]
        rows = self.objectives.compute()
        found = Objective(rows[:, 1], rows[:, 2])
        means = {
            "objective": found.losses(self.lam, self.convention),
            "distance": found.distance,
            "divergence": found.divergence,
        }
        self.log_dict({f"validation/{name}": each.mean().float() for name, each in means.items()})  # type: ignore[attr-defined]
        self.objectives.reset()


class TrainedAdversary(Adversarial, Classifier):
    """A classifier against its base (Wiegreffe & Pinter 2019, §4; Meister et al. 2021, Table 5).

    Args:
        base_network: makes the network of the base; the adversary's own has the same architecture.
        lam: λ > 0, weight of the divergence; see ``attest.experiments.adversarial_loss`` for its scale.
        divergence: of attention, from the adversary to the base.
        variant: ``unfrozen``, a new network, initialised as the base was where seeds are equal; ``frozen``, the base's
            network, of which the attention alone is trained, from a new initialisation.
        convention: ``instances`` takes means over instances, ``wiegreffe-pinter`` sums over a batch and halves the distance.
        options: as in ``Classifier``.
    """

    def __init__(
        self,
        base_network: MakeNetwork,
        lam: float = 1e-3,
        divergence: DivergenceName = "kl",
        variant: Variant = "unfrozen",
        convention: Convention = "instances",
        vocab_size: int = 2,
        num_classes: int = 2,
        **options: Any,
    ) -> None:
        super().__init__(vocab_size=vocab_size, num_classes=num_classes, **options)
        self.oppose(base_network(vocab_size, self.outputs), lam, divergence, variant, convention)

    def objective(self, batch: Batch, theirs: ReferenceOutput) -> Objective:
        network: Any = self.network
        mask = attended(batch)
        hidden = network.encode(batch["token_ids"], mask)
        weights = network.project(network.score(hidden, mask), mask)
        ours = probabilities(network.decode(hidden, weights)), weights
        return classification_objective(self.divergence, ours, (probabilities(theirs.logits), theirs.pooled), mask)


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
