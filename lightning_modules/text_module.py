"""The base class of classifiers and taggers, with a network, its optimiser, and scores of a whole split."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, cast

import torch
from pytorch_lightning import LightningModule
from pytorch_lightning.cli import LRSchedulerCallable, OptimizerCallable
from torch import Tensor, nn
from torchmetrics import Metric, MetricCollection
from torchmetrics.utilities import dim_zero_cat

from attest.core.errors import AttestError
from attest.core.randomness import random_uniforms, stream
from attest.datamodules.notice import say, some
from attest.datamodules.vocabulary import PADDING
from attest.experiments.erasure.operators import UNKNOWN
from attest.experiments.layers import LayerObservation, observe_layers
from attest.lightning_modules.optimisation import Optimisation, clips_scaled_gradients, training_steps
from attest.models.inputs import like

ROUNDING = 0.05
"""If two ranks have a row with the same id: the largest difference between these rows that counts as rounding in half
precision. A larger difference is an error, because two instances then have the same id."""


class InstanceRows(Metric):
    """A metric that collects one row of numbers per instance from the batches of all ranks.

    Scores are computed from the sorted rows of all ranks. If each rank summed up its own rows, the last bits of a score would
    depend on which rank had which batch. An instance that two ranks have seen counts once.

    Raises:
        AttestError: two different instances have the same id.
    """

    full_state_update = False
    rows: list[Tensor] | Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("rows", default=[], dist_reduce_fx="cat")

    def update(self, ids: Tensor, *columns: Tensor) -> None:
        """Add one row for each of the B instances of a batch: ids ``(B,)``, and columns ``(B,)`` or ``(B, n)``."""
        assert isinstance(self.rows, list)
        wide = [column if column.ndim > 1 else column.unsqueeze(-1) for column in (ids, *columns)]
        self.rows.append(torch.cat([column.double() for column in wide], dim=-1))

    def compute(self) -> Tensor:
        """Return the rows of all N instances sorted by id, float64 ``(N, 1 + columns)``; the first column is the id."""
        rows = dim_zero_cat(self.rows)
        rows = rows[rows[:, 0].argsort()]
        again = rows[:, 0].diff(prepend=rows[:1, 0] - 1) == 0
        if (other := again & (rows.diff(dim=0, prepend=rows[:1]).abs() > ROUNDING).any(dim=-1)).any():
            raise AttestError(
                f"several instances have the id {int(rows[other][0, 0])}; expected a different id for each instance. Give "
                "each instance its own number in the data set."
            )
        return rows[~again]


def require_finite(losses: Tensor, ids: Tensor, stage: str) -> None:
    """Raise an ``AttestError`` with the ids of the instances if a loss is NaN or infinite."""
    finite = losses.isfinite()
    if finite.all():
        return
    bad = ids[~finite] if losses.ndim else ids
    raise AttestError(
        f"the {stage} loss is {'NaN' if losses.isnan().any() else 'infinite'} on the texts with the ids "
        f"{some([*map(str, bad.tolist())], few=10)}; expected finite numbers. Saved files are unchanged. Look at these texts, "
        "lower the learning rate with --model.init_args.learning_rate_scale=0.1, or clip gradients with "
        "--trainer.gradient_clip_val=1"
    )


Masking = Literal["uniform"]
"""How tokens of training texts are masked: ``uniform`` masks a random share of the tokens of a text, which is drawn anew for
each text and epoch."""


def masked_uniformly(tokens: Tensor, ids: Tensor, seed: int, epoch: int) -> Tensor:
    """Mask random tokens of each text, at a rate that is drawn anew for each text in every epoch.

    A masked token is replaced by the unknown token, as ``mask`` in E14 does. In Madsen et al. (2024), half of the texts of a
    batch are not masked; here each text has a rate of its own.

    Args:
        tokens: int64 ``(B, T)``, or ``(B, S, T)`` if texts are split into sentences; 0 is padding, which stays.
        ids: int64 ``(B,)``. Seed, epoch, id and position decide whether a token is masked; batch and process do not.
    Returns:
        The masked tokens, int64, in the shape of ``tokens``.
    """
    epochs = torch.full_like(ids[:1], epoch)
    rates = random_uniforms(stream(seed, "rates of masking"), ids, epochs)
    places = torch.meshgrid(*(torch.arange(size, device=tokens.device) for size in tokens.shape[1:]), indexing="ij")
    masked = stream(seed, "places of masks")
    each = random_uniforms(masked, like(ids, tokens), epochs, *places)
    return tokens.masked_fill((each < like(rates, tokens)) & (tokens != PADDING), UNKNOWN)


Batch = dict[str, Any]


class TextModule(LightningModule):
    """A LightningModule that trains a network on texts; a subclass defines its predictions and scores.

    Args:
        network: makes the network from vocabulary size and number of logits.
        optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale: as in ``Optimisation``.
        masking: ``uniform`` masks tokens of training texts at random rates, so that the model knows masked texts before E14
            masks tokens; the model then differs from one that is trained without masking. None masks nothing.
        vocab_size: number of token ids; given by the data.
        num_classes: K, number of classes or tags; given by the data.
        pretrained_embeddings: vectors with which the token embedding starts, or None; given by the data.
        freeze_embeddings: whether the token embedding stays unchanged in training.
    """

    trains_by_forward = True
    """Whether training steps need the output of the network alone, as those of classifiers and taggers do."""
    compiled: Callable[[Tensor, Tensor], Tensor] | None = None
    """What computes ``forward`` in training steps, once ``compile_training`` has been called."""
    target: str
    """The key of the batch's entry with the true labels or tags, which the model learns to predict."""

    def __init__(
        self,
        network: Callable[[int, int], nn.Module],
        optimizer: OptimizerCallable = torch.optim.Adam,
        scheduler: LRSchedulerCallable | None = None,
        learning_rate_scale: float = 1.0,
        attention_learning_rate_scale: float = 1.0,
        masking: Masking | None = None,
        vocab_size: int = 2,
        num_classes: int = 2,
        pretrained_embeddings: Tensor | None = None,
        freeze_embeddings: bool = False,
    ) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.num_classes = num_classes
        self.network = network(vocab_size, self.outputs)
        load_vectors(self.network, pretrained_embeddings, vocab_size, freeze_embeddings)
        self.optimisation = Optimisation(optimizer, scheduler, learning_rate_scale, attention_learning_rate_scale)
        self.masking = masking
        splits = [f"{stage}_split" for stage in ("validation", "test")]
        self.predictions = nn.ModuleDict({split: InstanceRows() for split in splits})
        self.metrics = nn.ModuleDict({split: self.make_metrics() for split in splits})

    @property
    def outputs(self) -> int:
        """Return the number of logits."""
        return self.num_classes

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map tokens and mask ``(B, T)`` to logits: ``(B, C)`` for C classes, or ``(B, T, K)`` for K tags of each token."""
        reads = self.network if self.compiled is None or not self.training else self.compiled
        return reads(tokens, mask)

    def compile_training(self) -> None:
        """Compile the network for training steps. In evaluation it stays as it is, so that evidence can tamper with it."""
        if self.trains_by_forward:
            self.compiled = torch.compile(self.network.forward)
        else:
            say(f"{type(self).__name__} is trained without torch.compile, as its training steps change or read attention.")

    def observe_layers(self, batch: Batch) -> LayerObservation:
        """Run the network on a batch, and return its outputs with the self-attention of every layer."""
        texts, words = (batch["id"], batch["token_ids"], batch["mask"]), batch.get("word")
        special = None if words is None else words < 0
        return observe_layers(self.network, *texts, batch.get(self.target), special, words)

    def training_tokens(self, batch: Batch) -> Tensor:
        """Return the token ids for a training step; random tokens are masked if ``masking`` is set."""
        if self.masking is None:
            return batch["token_ids"]
        seed = getattr(self.trainer.datamodule, "seed", 0)  # type: ignore[attr-defined]  # Lightning sets it outside the class
        masked = masked_uniformly(batch["token_ids"], batch["id"], seed, self.current_epoch)
        return torch.where(batch["mask"], masked, batch["token_ids"])  # a question beside the text stays

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self.collect("validation", batch)

    def test_step(self, batch: Batch, batch_idx: int) -> dict[str, Any]:
        return self.collect("test", batch)

    def collect(self, stage: str, batch: Batch) -> dict[str, Any]:
        """Add a row for each instance to ``collected(stage)``; return observations by the method that would compute them."""
        raise NotImplementedError(f"{type(self).__name__} must define the method collect.")

    def on_validation_epoch_end(self) -> None:
        self._log_scores("validation")

    def on_test_epoch_end(self) -> None:
        self._log_scores("test")

    def make_metrics(self) -> MetricCollection:
        """Return new metrics of torchmetrics that are logged for a split, by the names under which they are logged.

        They read the rows of all instances once the split is read, each instance once, so that they are the same on any
        number of processes. A subclass may add its own.
        """
        return MetricCollection({})

    def scores(self, rows: Tensor, metrics: MetricCollection) -> dict[str, Tensor | Metric]:
        """Return the scores of a split from the rows of its N instances, float64 ``(N, columns)``.

        Args:
            metrics: those of ``make_metrics``, which have read nothing yet.
        """
        raise NotImplementedError(f"{type(self).__name__} must define the method scores.")

    def _log_scores(self, stage: str) -> None:
        collected = self.collected(stage)
        ids, rows = collected.compute().tensor_split([1], dim=-1)
        require_finite(rows[:, 0], ids.squeeze(-1).long(), stage)
        metrics = cast(MetricCollection, self.metrics[f"{stage}_split"])
        metrics.reset()
        scores = {f"{stage}/{name}": score for name, score in self.scores(rows, metrics).items()}
        self.log_dict(scores, prog_bar=stage == "validation")
        collected.reset()

    def collected(self, stage: str) -> InstanceRows:
        """Return the metric that collects one row for each instance of the stage ``validation`` or ``test``."""
        rows = self.predictions[f"{stage}_split"]
        assert isinstance(rows, InstanceRows)
        return rows

    def configure_optimizers(self) -> Any:
        """Return the optimiser, with a separate parameter group for attention, and its learning-rate schedule."""
        clips_scaled = partial(clips_scaled_gradients, self)
        return self.optimisation.configure(self.network, lambda: training_steps(self.trainer), clips_scaled)

    def load_state_dict(self, state_dict: Mapping[str, Any], *arguments: Any, **options: Any) -> Any:
        try:
            return super().load_state_dict(state_dict, *arguments, **options)
        except RuntimeError as error:
            shapes, theirs = ({name: each.shape for name, each in state.items()} for state in (self.state_dict(), state_dict))
            names = sorted(name for name in shapes.keys() | theirs.keys() if shapes.get(name) != theirs.get(name))
            raise AttestError(
                f"the checkpoint belongs to another network (different sizes: {some(names)}); expected a checkpoint of this "
                "configuration. Give the configuration of the checkpoint: --config=<its run folder>/config.yaml"
            ) from error


def load_vectors(network: nn.Module, vectors: Tensor | None, words: int, freeze: bool = False) -> None:
    """Copy word vectors into the token embedding of a network, and freeze the embedding if ``freeze``."""
    if vectors is None and not freeze:
        return
    embeddings = (module for module in network.modules() if isinstance(module, nn.Embedding))
    embedding = next((module for module in embeddings if module.num_embeddings == words), None)
    if embedding is None:
        raise AttestError(
            f"the network {type(network).__name__} has no nn.Embedding with {words} rows, into which the word vectors could "
            "be loaded; expected such an embedding. Leave EMBEDDINGS and freeze_embeddings out."
        )
    if vectors is not None:
        if embedding.embedding_dim != vectors.shape[1]:
            raise AttestError(
                f"the word vectors have {vectors.shape[1]} dimensions, and the network's embedding has "
                f"{embedding.embedding_dim}; expected equal numbers. Type EMBEDDINGS=<name or file>, or set the encoder's "
                f"embedding_size to {vectors.shape[1]}."
            )
        with torch.no_grad():
            embedding.weight.copy_(vectors)
    embedding.weight.requires_grad_(not freeze)
