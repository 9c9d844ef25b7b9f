"""The network of a base run; dependent runs read it and never change it.

Legend: B batch, T tokens, N heads, C logits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from attest.core.attention.interventions import attending, recorded
from attest.core.errors import AttestError
from attest.core.memory import memory_budget
from attest.datamodules.batching import batches_by_length
from attest.datamodules.encoded import EncodedDocuments
from attest.lightning_modules.classifier import attended
from attest.lightning_modules.text_module import Batch, TextModule

MakeNetwork = Callable[[int, int], nn.Module]


class ReferenceOutput(NamedTuple):
    """The output of the base network on a batch, without a gradient graph."""

    logits: Tensor
    """``(B, C)``, for a tagger ``(B, T, K)``."""
    weights: dict[str, Tensor]
    """By layer: pooled ``(B, T)``, within layers ``(B, N, T, T)``."""

    @property
    def pooled(self) -> Tensor:
        """Return the pooled attention, ``(B, T)`` for B texts of T tokens."""
        return self.weights[POOLED]


POOLED = "attention"
"""Name of the layer that pools, in networks that pool by attention."""


class BaseNetwork:
    """The network of a base run. It is not an ``nn.Module``, so checkpoints, optimisers and DDP do not include it.

    Args:
        network: the network of the base run; it stays in evaluation mode.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network.eval().requires_grad_(False)
        self._loaded = False
        self._memory: _Memory | None = None

    def load(self, state: dict[str, Tensor]) -> None:
        """Copy the parameters of the base run into the network."""
        self.network.load_state_dict(state)
        self._loaded = True

    @torch.no_grad()
    def reference(self, batch: Batch) -> ReferenceOutput:
        """Return the attention and the predictions of the base for a batch, computed now."""
        if not self._loaded:
            raise AttestError(
                "this run needs the network of its base, which has not been loaded; expected the command that trains this "
                "run. Type make adversarial or make controls."
            )
        self.network.to(batch["mask"].device)
        with recorded(self.network, "weights") as weights:
            logits = self.network(batch["token_ids"], attended(batch))
        return ReferenceOutput(logits, dict(weights))

    def cache(self, texts: EncodedDocuments, batch_size: int, device: torch.device) -> None:
        """Compute and remember the output of the base for every training text, if all pooled attention fits the memory budget.

        Texts are looked at in evaluation order, so that what is remembered depends on neither epoch nor rank.
        """
        if POOLED in attending(self.network) and texts.sizes.sum() * torch.float32.itemsize <= memory_budget():
            batches = (texts.__getitems__(rows) for rows in batches_by_length(texts.sizes, batch_size))
            placed = ({name: values.to(device) for name, values in batch.items()} for batch in batches)
            self._memory = _Memory([(batch["id"], attended(batch), self.reference(batch)) for batch in placed])

    def cached(self, batch: Batch) -> ReferenceOutput:
        """Return the attention and the predictions of the base for a batch of training texts, from memory if it holds them."""
        return self.reference(batch) if self._memory is None else self._memory.of(batch)


class _Memory:
    """A memory of the pooled attention and the predictions of many texts.

    Args:
        seen: ids ``(B,)``, mask ``(B, T)`` and what was seen, of one batch after the other.
    """

    def __init__(self, seen: list[tuple[Tensor, Tensor, ReferenceOutput]]) -> None:
        self.ids, self.row_of = torch.cat([ids for ids, _, _ in seen]).sort()
        self.logits = torch.cat([each.logits for _, _, each in seen])
        self.flat = torch.cat([each.pooled[mask] for _, mask, each in seen])
        lengths = torch.cat([mask.sum(dim=-1) for _, mask, _ in seen])
        self.starts = lengths.cumsum(dim=0) - lengths

    def of(self, batch: Batch) -> ReferenceOutput:
        """Return the remembered output of the base for a batch, in the order and with the padding of its texts."""
        mask = attended(batch)
        rows = self.row_of[torch.searchsorted(self.ids, batch["id"])]
        source = self.starts[rows].unsqueeze(-1) + torch.arange(mask.shape[1], device=mask.device)
        weights = self.flat[source.where(mask, 0)].where(mask, 0)
        return ReferenceOutput(self.logits[rows], {POOLED: weights})


class DependentModule(TextModule):
    """A network that is trained with the network of a base run; classes inherit from it and from a classifier or a tagger.

    Args:
        base_network: makes the network of the base run.
        options: as in ``Classifier`` or ``Tagger``.
    """

    def __init__(self, base_network: MakeNetwork, **options: Any) -> None:
        super().__init__(**options)
        self.base = BaseNetwork(base_network(self.vocab_size, self.outputs))

    def take_base(self, state: dict[str, Tensor]) -> None:
        """Load the parameters of the base run into the network of the base."""
        self.base.load(state)

    def on_fit_start(self) -> None:
        """Compute and remember the output of the base for all training texts, if this fits the memory budget."""
        data = cast(Any, self.trainer).datamodule
        self.base.cache(data.train, data.batch_size, self.device)
