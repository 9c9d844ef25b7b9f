"""Training a classifier whose attention will be put on trial."""

from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torch.nn import functional

from attest.core.errors import AttestError
from attest.core.measures import probabilities
from attest.experiments import Network, Observation, observe
from attest.experiments.layers import LayerObservation, observe_layers
from attest.lightning_modules.masking import Masking, training_tokens
from attest.lightning_modules.optimisation import Optimisation, training_steps
from attest.lightning_modules.predictions import InstanceRows, Predicted, classification_scores, require_finite
from attest.lightning_modules.vectors import load_vectors
from attest.models.contract import require_forward, require_steps

Batch = dict[str, Any]


def attended(batch: Batch) -> Tensor:
    """What pooled attention can attend to: bool ``(B, T)`` real tokens, or ``(B, S)`` real sentences where texts have them."""
    return batch["sentence_mask" if "sentence_mask" in batch else "mask"]


class Classifier(LightningModule):
    """A network trained on one label per text.

    Two classes are decided by one sigmoid, as in the papers, more by a softmax. Logs ``train/loss`` and
    ``{validation,test}/{loss,accuracy,f1,roc_auc}``.

    Args:
        network: makes the network from vocabulary size and number of logits.
        optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale: as in ``Optimisation``.
        loss_reduction: over the instances of a batch. Jain & Wallace sum; under Adam that is a mean with weight decay and
            epsilon 32 times smaller.
        masking: ``uniform`` masks tokens of training texts at random rates, so that E14's ``mask`` erases in distribution;
            None masks nothing. A model so trained is another model.
        vocab_size: number of token ids; given by the data.
        num_classes: K; given by the data.
        positive_weight: weight of positive instances in the loss of a binary task; given by the data.
        pretrained_embeddings: vectors to start the token embedding from, or None; given by the data.
        freeze_embeddings: whether training leaves the token embedding as it starts.
    """

    predicts = "label"
    """One label a text: what runs that depend on it take it for."""

    def __init__(
        self,
        network: Callable[[int, int], nn.Module],
        optimizer: OptimizerCallable = torch.optim.Adam,
        scheduler: LRSchedulerCallable | None = None,
        learning_rate_scale: float = 1.0,
        attention_learning_rate_scale: float = 1.0,
        loss_reduction: Literal["mean", "sum"] = "mean",
        masking: Masking | None = None,
        vocab_size: int = 2,
        num_classes: int = 2,
        positive_weight: float = 1.0,
        pretrained_embeddings: Tensor | None = None,
        freeze_embeddings: bool = False,
    ) -> None:
        super().__init__()
        self.outputs = 1 if num_classes == 2 else num_classes
        self.network = network(vocab_size, self.outputs)
        require_steps(self.network)
        require_forward(self.network)
        load_vectors(self.network, pretrained_embeddings, vocab_size, freeze_embeddings)
        self.optimisation = Optimisation(optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale)
        self.loss_reduction = loss_reduction
        self.masking = masking
        self.num_classes = num_classes
        self.positive_weight = positive_weight
        self.predictions = nn.ModuleDict({f"{stage}_split": InstanceRows() for stage in ("validation", "test")})

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(B, T)`` -> logits ``(B, C)``."""
        return self.network(tokens, mask)

    def observe(self, batch: Batch) -> Observation:
        """The observed forward pass that all experiments on this batch share.

        Raises:
            AttestError: the network pools by a mean, so there is no pooled attention to observe.
        """
        if not self._pools_by_attention:
            raise AttestError(
                f"{type(self.network).__name__} pools its hidden states by a mean, so there is no attention over the tokens "
                "of a text to put on trial; expected a network that pools by attention. Type EXPERIMENTS=layers or "
                "MODEL=transformer-me."
            )
        return self.observe_steps(batch)

    def observe_steps(self, batch: Batch) -> Observation:
        """The same of any network, for experiments that put another explanation on trial than the weights that pool."""
        network, known = cast(Network, self.network), (batch.get("label"), batch.get("word"))
        return observe(network, batch["id"], batch["token_ids"], attended(batch), *known)

    def observe_layers(self, batch: Batch) -> LayerObservation:
        """What the network's layers attend to, where it has self-attention."""
        special = batch["word"] < 0 if "word" in batch else None
        return observe_layers(self.network, batch["id"], batch["token_ids"], batch["mask"], batch.get("label"), special)

    def instance_losses(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy of each instance, ``(B,)``; positive instances weighted in a binary task."""
        if self.num_classes > 2:
            return functional.cross_entropy(logits, labels, reduction="none")
        weight = torch.where(labels == 1, self.positive_weight, 1.0)
        return weight * functional.binary_cross_entropy_with_logits(logits[:, 0], labels.to(logits.dtype), reduction="none")

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Loss of one batch."""
        tokens = training_tokens(self, batch)
        losses = self.instance_losses(self(tokens, attended(batch)), batch["label"])
        self.log("train/loss", losses.detach().mean(), prog_bar=True, batch_size=len(losses))
        return losses.sum() if self.loss_reduction == "sum" else losses.mean()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Predict one batch."""
        self._predict("validation", batch, self._logits)

    def test_step(self, batch: Batch, batch_idx: int) -> dict[str, Observation]:
        """Predict one batch; where there is attention to observe, return the observation, which evidence is gathered from."""
        if not (self._pools_by_attention and len(batch["label"])):
            self._predict("test", batch, self._logits)
            return {}
        observation = self.observe(batch)
        self._predict("test", batch, lambda _: observation.logits.detach())
        return {"observe": observation, "observe_steps": observation}

    def _logits(self, batch: Batch) -> Tensor:
        return self(batch["token_ids"], attended(batch))

    @property
    def _pools_by_attention(self) -> bool:
        return getattr(self.network, "pools_by_attention", True)

    def _predict(self, stage: str, batch: Batch, logits_of: Callable[[Batch], Tensor]) -> None:
        """Collect predictions; a rank without texts gets an empty batch, which is not shown to the network."""
        labels = batch["label"]
        logits = logits_of(batch) if len(labels) else torch.zeros(0, self.outputs, device=self.device)
        self._collected(stage).update(batch["id"], labels, self.instance_losses(logits, labels), probabilities(logits))

    def on_validation_epoch_end(self) -> None:
        """Log the validation scores."""
        self._log_scores("validation")

    def on_test_epoch_end(self) -> None:
        """Log the test scores."""
        self._log_scores("test")

    def _log_scores(self, stage: str) -> None:
        collected = self._collected(stage)
        predicted = Predicted.of(collected.compute())
        require_finite(predicted.losses, predicted.ids, stage)
        scores = classification_scores(predicted)
        self.log_dict({f"{stage}/{name}": score for name, score in scores.items()})
        collected.reset()

    def _collected(self, stage: str) -> InstanceRows:
        predictions = self.predictions[f"{stage}_split"]
        assert isinstance(predictions, InstanceRows)
        return predictions

    def configure_optimizers(self) -> Any:
        """One optimiser over two groups, attention and the rest; and its schedule, if there is one."""
        return self.optimisation.configure(self.network, lambda: training_steps(self.trainer))


class Retrained(Classifier):
    """A classifier that begins where its base began, on texts without the tokens that the base leans on (Hooker et al. 2019).

    The DataModule erases them (``data.init_args.erased``); what is learned from the base is over with that.
    """

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Leave the parameters as they were initialised."""
