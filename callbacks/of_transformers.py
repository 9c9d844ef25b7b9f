"""Observations of a model of the library transformers in a LightningModule without methods for observing."""

import sys
from collections.abc import Mapping
from typing import Any

from pytorch_lightning import LightningModule
from torch import Tensor, nn

from attest.core.errors import AttestError
from attest.core.kinds import CLASSES, TAGS
from attest.experiments.layers import LayerObservation, observe_layers
from attest.models.inputs import Inputs
from attest.models.observation import Observation, observe

OBSERVED = ("observe_layers", "observe_steps")
"""The methods of a LightningModule that ``OfTransformers`` replaces: one observes the attention inside layers, the other the
token embeddings. There is no third for pooled attention, because no supported ``transformers`` model has it."""


class OfTransformers:
    """An adapter that observes a model of the library ``transformers`` on batches that the model's tokenizer has made.

    Args:
        model: a ``transformers.PreTrainedModel`` that classifies texts or tokens.
    Raises:
        AttestError: the model does not classify texts or tokens, is an encoder-decoder, or its attention cannot be reached.
    """

    def __init__(self, model: Any) -> None:
        from attest.models.pretrained.admitted import require_as_it_is, require_head
        from attest.models.pretrained.heads import kind_of_model
        from attest.models.pretrained.network import PretrainedNetwork, padding_of
        from attest.models.pretrained.told import told_by

        require_head(model)
        name = type(model).__name__
        kind = kind_of_model(name, model.config)
        if kind not in (CLASSES, TAGS) or model.config.is_encoder_decoder:
            raise AttestError(
                f"{name} cannot be tested during training; expected a model that chooses one class for each text or token, "
                "and that has only an encoder or only a decoder. After training, use attest.trial, which accepts more kinds "
                "of models."
            )
        typed = (told_by(model.config).type_vocab_size or 1) > 1
        self.network = PretrainedNetwork(model, padding_of(model) or 0, typed=typed, kind=kind)
        require_as_it_is(self.network)

    def observe_layers(self, batch: Mapping[str, Any]) -> LayerObservation:
        """Observe the attention inside the model's layers on a batch that the model's tokenizer has made."""
        texts, special, tags = self._read(batch)
        return observe_layers(self.network, None, texts.tokens, texts.mask, tags, special=special, beside=texts.beside)

    def observe_steps(self, batch: Mapping[str, Any]) -> Observation:
        """Observe the token embeddings and the decisions of the model on a batch that its tokenizer has made."""
        texts, special, tags = self._read(batch)
        return observe(self.network, None, texts.tokens, texts.mask, tags, special=special, beside=texts.beside)

    def _read(self, batch: Mapping[str, Any]) -> tuple[Inputs, Tensor | None, Tensor | None]:
        """Return the texts, the special-token mask and the tags of a batch, padded on the right; the last two may be None."""
        if not isinstance(batch, Mapping) or not {"input_ids", "attention_mask"} <= {*batch}:
            found = ", ".join(map(str, batch)) if isinstance(batch, Mapping) else type(batch).__name__
            raise AttestError(
                f"a batch contains {found}, without input_ids and attention_mask; expected a batch of a tokenizer, or a "
                "module with the method observe_layers(batch). See “Your own Trainer” in the documentation."
            )
        moved, batch = _padded_on_the_right(batch)
        mask = batch["attention_mask"].bool()
        beside = {name: batch[name].where(mask, 0) for name in self.network.reads_beside if name in batch}
        special = batch.get("special_tokens_mask")
        tags = batch.get("labels") if moved and self.network.kind == TAGS else None
        texts = Inputs(batch["input_ids"].where(mask, self.network.padding), mask, beside)
        return texts, None if special is None else special.bool(), tags


def _padded_on_the_right(batch: Mapping[str, Any]) -> tuple[bool, Mapping[str, Any]]:
    """Return whether a batch has padding before its texts, and the batch with all padding behind them, as a trial reads it."""
    mask = batch["attention_mask"].bool()
    if not (mask[:, 1:] > mask[:, :-1]).any():
        return False, batch
    order = mask.int().argsort(dim=-1, descending=True, stable=True)
    by_token = {name: each for name, each in batch.items() if isinstance(each, Tensor) and each.shape == mask.shape}
    return True, {**batch, **{name: each.gather(-1, order) for name, each in by_token.items()}}


def model_in(module: LightningModule) -> nn.Module | None:
    """Return the ``transformers`` model inside a LightningModule; None if it contains none or several."""
    if (library := sys.modules.get("transformers")) is None:
        return None
    found = [(name, part) for name, part in module.named_modules() if isinstance(part, library.PreTrainedModel)]
    outermost = [part for name, part in found if not any(name.startswith(f"{other}.") for other, _ in found)]
    return outermost[0] if len(outermost) == 1 else None
