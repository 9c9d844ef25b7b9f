"""Hold the network on trial against the model, or the pipeline, that was given: both must say the same of the same texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from attest.app.api.admitted import Defendant
from attest.app.api.batched import padded
from attest.app.api.batches import Batch, Encode, attended, encoder_in
from attest.app.api.given import Given
from attest.app.api.measuring import device_of, inputs_of
from attest.app.api.pipelines import require_own_answers
from attest.models.contract import require_itself
from attest.models.offers import offers_of


def batches_to_check(batches: Sequence[Batch], network: nn.Module) -> list[Batch]:
    """Return the batches that are most likely to reveal an error in the network."""
    ids = offers_of(network)
    special = torch.tensor([each for each in (ids.padding, ids.masked) if each is not None], dtype=torch.int64)
    uneven = [batch for batch in batches if not attended(batch).all()]
    longest = max(batches, key=lambda batch: attended(batch).shape[-1])
    with_special = [
        batch for batch in batches if (torch.isin(batch["token_ids"].cpu(), special) & batch["mask"].cpu().bool()).any()
    ]
    found = [batches[0], *uneven[:1], longest, *with_special[:1]]
    return list({id(batch): batch for batch in found}.values())


def require_given_model(defendant: Defendant, batch: Batch, read: Given) -> None:
    """Refuse a network that says something else of a batch than the model, or the pipeline, that was given."""
    network, encode, windowed = defendant.network, defendant.encode, defendant.windowed
    rows = batch[defendant.case.row].tolist()
    answers = defendant.pipeline is not None and defendant.adapted and not read.batched
    texts = [read.items[row] for row in rows] if windowed is not None or answers else []
    if windowed is not None:
        from attest.models.pretrained.windows import require_own_windows  # imports transformers

        reads: Any = encode
        require_own_windows(windowed, reads.tokenizer, texts, batch["token_ids"], batch["mask"])
    beside = _everything_of(encode, read.items, rows) if defendant.adapted else {}
    on = device_of(network)
    given = {name: each.to(on) for name, each in beside.items()}
    require_itself(network, batch["id"].to(on), inputs_of(batch, network), **given)
    if answers:
        window = None if windowed is None else windowed.windows.window
        require_own_answers(defendant.pipeline, network, encode, texts, batch, window)


def _everything_of(encode: Encode | None, data: Sequence[Any], rows: Sequence[int]) -> dict[str, torch.Tensor]:
    """Return the tensors ``(B, T)`` that the tokenizer returns in addition to ids and mask, such as token types."""
    encoder = encoder_in(encode)
    if encoder is None or any(isinstance(each, Mapping) for each in data):
        return {}
    told = encoder.everything([data[row] for row in rows])
    return {name: padded(values, 0) for name, values in told.items() if name not in ("input_ids", "attention_mask")}
