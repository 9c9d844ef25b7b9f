"""The training of a classifier whose attention will be tested."""

from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torchmetrics import Metric, MetricCollection

from attest.core.errors import AttestError
from attest.core.measures import probabilities
from attest.core.measures.decisions import decision_metrics
from attest.experiments import Network, Observation, observe
from attest.lightning_modules.text_module import Batch, TextModule
from attest.models.contract import require_forward, require_steps
from attest.models.traits import traits_of


def attended(batch: Batch) -> Tensor:
    """Return the mask that pooling uses: bool ``(B, T)`` of real tokens, or bool ``(B, S)`` of real sentences."""
    return batch["sentence_mask" if "sentence_mask" in batch else "mask"]


class Classifier(TextModule):
    """A LightningModule that trains a network to predict one label per text.

    The output is one sigmoid for two classes, as in the papers, else a softmax. Logs ``train/loss`` and
    ``{validation,test}/{loss,accuracy,f1,roc_auc}``; all but the loss are metrics of torchmetrics, to which ``make_metrics``
    of a subclass may add others.

    Args:
        network: makes the network from vocabulary size and number of logits.
        loss_reduction: how the losses of a batch are combined. Jain & Wallace sum them; with Adam and batches of 32 texts, a
            sum is the same as a mean with weight decay and epsilon 32 times smaller.
        positive_weight: weight of positive instances in the loss of a binary task; given by the data.
        options: as in ``TextModule``.
    """

    predicts = "label"
    """What the model predicts: one label for each text. Commands that train adversaries and controls of a run choose by this
    value what they train."""
    target = "label"

    def __init__(
        self,
        network: Callable[[int, int], nn.Module],
        *,
        loss_reduction: Literal["mean", "sum"] = "mean",
        positive_weight: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(network, **options)
        require_steps(self.network)
        require_forward(self.network)
        self.loss_reduction = loss_reduction
        self.positive_weight = positive_weight

    @property
    def outputs(self) -> int:
        """Return the number of logits: 1 for two classes, else one for each class."""
        return 1 if self.num_classes == 2 else self.num_classes

    def observe(self, batch: Batch) -> Observation:
        """Run the network on a batch, and return the attention and the outputs that experiments need."""
        if not self._pools_by_attention:
            raise AttestError(
                f"{type(self.network).__name__} pools its hidden states by their mean, so it has no attention over the tokens "
                "of a text; expected a network that pools by attention. Type EXPERIMENTS=layers or MODEL=transformer-me."
            )
        return self.observe_steps(batch)

    def observe_steps(self, batch: Batch) -> Observation:
        """Run the network on a batch and return the results, for experiments that need no pooled attention."""
        network, known = cast(Network, self.network), (batch.get("label"), batch.get("word"))
        return observe(network, batch["id"], batch["token_ids"], attended(batch), *known)

    def instance_losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the cross-entropy of each instance, ``(B,)``; of two classes, class 1 has weight ``positive_weight``."""
        if self.num_classes > 2:
            return functional.cross_entropy(logits, labels, reduction="none")
        weight = torch.where(labels == 1, self.positive_weight, 1.0)
        return weight * functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype), reduction="none")

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        logits = self(self.training_tokens(batch), attended(batch))
        losses = self.instance_losses(logits, batch["label"])
        self.log("train/loss", losses.detach().mean(), batch_size=len(losses))
        return losses.sum() if self.loss_reduction == "sum" else losses.mean()

    def collect(self, stage: str, batch: Batch) -> dict[str, Observation]:
        shown = {}
        if stage == "test" and self._pools_by_attention:
            shown = dict.fromkeys(("observe", "observe_steps"), self.observe(batch))
        logits = shown["observe"].logits.detach() if shown else self(batch["token_ids"], attended(batch))
        losses = self.instance_losses(logits, batch["label"])
        self.collected(stage).update(batch["id"], losses, batch["label"], probabilities(logits))
        return shown

    @property
    def _pools_by_attention(self) -> bool:
        return traits_of(self.network).pools_by_attention

    def make_metrics(self) -> MetricCollection:
        """Return accuracy, F1 and ROC-AUC; each metric is updated with probabilities ``(N, K)`` and labels ``(N,)``."""
        return decision_metrics(self.num_classes, sync_on_compute=False)  # every process has the rows of all

    def scores(self, rows: Tensor, metrics: MetricCollection) -> dict[str, Tensor | Metric]:
        """Return the accuracy, the F1 score, the ROC-AUC and the mean loss of a split.

        Args:
            rows: float64 ``(N, 2 + K)``: loss, label and predicted probabilities of each instance.
            metrics: those of ``make_metrics``, which read probabilities and labels here.
        """
        metrics.update(rows[:, 2:].float(), rows[:, 1].long())
        return {**dict(metrics.items()), "loss": rows[:, 0].mean().float()}


class Retrained(Classifier):
    """A classifier with its base run's initial parameters, trained on texts with erased tokens (Hooker et al. 2019).

    The DataModule erases them (``data.init_args.erased``).
    """

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Ignore the parameters of the trained base run, because training starts from the initial parameters."""
