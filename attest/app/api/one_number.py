"""Prepare and run trials of models that return one number for each text, such as regressions and rerankers.

A model of one number makes no decision. Experiments measure how far its number changes, in standard deviations of its numbers
over all texts, so the model reads all texts once before the experiments.

Legend: N texts, B texts of a batch.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attest.app.api.batches import Batch
from attest.app.api.measuring import Measuring, inputs_of
from attest.core.errors import AttestError
from attest.core.label_values import in_order
from attest.core.labels import require_no_table
from attest.core.measures.numbers import significant
from attest.core.rounding import rounding
from attest.experiments.spec import DEVIATION
from attest.models.contract import require_finite_logits
from attest.models.observation import Observation
from attest.models.prediction import OneNumber


def numbers_of(labels: Any, texts: int) -> Tensor | None:
    """Return the true number of each text from the data, float64 ``(N,)``; None if the data give no numbers."""
    if labels is None:
        return None
    require_no_table("labels", labels)
    given = in_order(labels)
    if given is None:
        raise AttestError(f"labels= is a {type(labels).__name__}; expected a list with a number for each text.")
    try:
        found = np.array([float(each) for each in given])
    except (TypeError, ValueError) as error:
        raise AttestError(
            f"a label is not a number ({error}), but the model returns a number for each text; expected numbers. If the "
            "labels are classes, leave labels= out."
        ) from error
    if len(found) != texts:
        raise AttestError(
            f"the number of labels is {len(found)}, the number of texts {texts}; expected one label for each text."
        )
    if not np.isfinite(found).all():
        place = int((~np.isfinite(found)).argmax())
        raise AttestError(f"the label of text {place} is {found[place]}; expected a finite number. Leave this text out.")
    return torch.from_numpy(found)


@torch.no_grad()
def scale_of(network: Any, batches: Sequence[Batch]) -> OneNumber:
    """Return the standard deviation and the largest magnitude of the numbers that a model returns for all texts."""
    found = []
    for batch in batches:
        read = inputs_of(batch, network)
        found.append(read.read_by(network)[:, 0])
        require_finite_logits(found[-1].unsqueeze(-1), batch["id"], read.mask)
    numbers = torch.cat(found).double()
    deviation = float(numbers.std()) if len(numbers) > 1 else 0.0
    scale = OneNumber(deviation, float(numbers.abs().max()))
    if deviation <= rounding(found[0].dtype) * scale.largest:
        texts = "every text, up to rounding" if len(numbers) > 1 else "the only text"
        raise AttestError(
            f"the model returns {significant(float(numbers.mean()), 3)} for {texts}, so the standard deviation of its numbers "
            "is 0, and Attest divides by it; expected texts for which the model returns different numbers."
        )
    return scale


class NumberMeasuring(Measuring):
    """A runner of all experiments on a model that returns one number for each text."""

    def _require_names(self, classes: int) -> None:
        """Do nothing: a single predicted number has no class name."""

    def _label(self, batch: Batch, observation: Observation) -> Tensor | None:
        return None if batch.get("label") is None else batch["label"].to(observation.ids.device)

    def _said(self, observation: Observation) -> dict[str, Tensor]:
        return {"prediction": observation.logits.detach()[:, 0]}

    def _decided(self, label: Tensor | None, inside: bool, observation: Observation) -> Tensor | None:
        return observation.predicted

    def _scores(self, texts: pd.DataFrame) -> dict[str, float]:
        said = texts["prediction"].astype(float)
        scores = {DEVIATION: cast(Any, self.network).number.deviation, "number/mean": float(said.mean())}
        if "label" not in texts:
            return scores
        label = texts["label"].astype(float)
        error = np.sqrt(((said - label) ** 2).mean())
        of_mean = np.sqrt(((label - label.mean()) ** 2).mean())
        correlations = {f"test/{kind}": float(said.corr(label, method=kind)) for kind in ("pearson", "spearman")}
        return scores | correlations | {"test/rmse": float(error), "test/rmse_of_mean": float(of_mean)}
