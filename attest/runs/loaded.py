"""A trained run with its model and its data in memory, which reads new texts."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from pytorch_lightning import LightningModule
from torch import Tensor

from attest.callbacks.explaining import Explaining
from attest.datamodules import TextDataModule
from attest.datamodules.notice import say
from attest.datamodules.record import DataRecord
from attest.errors import AttestError
from attest.experiments import Observation
from attest.experiments.registry import Asked, Run, runnable
from attest.runs.configured import ConfiguredRun
from attest.runs.folder import INSTANCES, RunFolder

ROLLOUT = "Attention rollout"


class LoadedRun(ConfiguredRun):
    """A run's configuration, its best checkpoint and its data; nothing is trained or written.

    Args:
        arguments: its configuration file, and options.
        folder: of the run.
    """

    needs_data = False

    def __init__(self, arguments: Sequence[str], folder: RunFolder) -> None:
        self.on_trial = folder
        super().__init__(["test", *arguments])

    def set_up(self) -> None:
        self.config.test.experiments = {}
        if "embeddings" in self.config.test.data.init_args:
            self.config.test.data.init_args.embeddings = None  # the checkpoint holds what became of them
        super().set_up()
        if self.record is None:
            say(f"{self.on_trial.path} was trained by an earlier version and holds no vocabulary; it is read from the data.")

    def make(self) -> None:
        super().make()
        checkpoint = self.trainer.strategy.checkpoint_io.load_checkpoint(self.on_trial.best, weights_only=True)
        if self.record and (record := checkpoint.get(type(self.datamodule).__qualname__)):
            DataRecord.from_plain(record).require(self.record, f"the model in {self.on_trial.best}")
        self.model.load_state_dict(checkpoint["state_dict"])
        self.model.eval()

    def _made_from(self) -> RunFolder:
        return self.on_trial

    def _believed(self) -> list[RunFolder]:
        return [self.on_trial]

    def _require_same_configuration(self) -> None:
        """The configuration is the run's own; nothing of it is written."""

    @property
    def data(self) -> TextDataModule:
        """Of the run."""
        return cast(TextDataModule, self.datamodule)

    def explained(self, number: int, text: str) -> dict[str, Any]:
        """One text by itself, so that the longest sets nobody else's padding.

        Args:
            number: of the text, by which it is called.
            text: as it was typed.
        Returns:
            A row as ``attest.report.explanations.joined`` has it, with ``title``, ``unknown`` words and ``probabilities``.
        Raises:
            AttestError: the text has no words, or the model does not classify whole texts.
        """
        if not hasattr(self.model, "observe"):
            name = type(self.model).__name__
            raise AttestError(f"{self.on_trial.path} holds a {name}; expected a classifier of whole texts.")
        documents = self.data.documents_of([text])
        if not documents.lengths[0]:
            raise AttestError(f"text {number} has no words ({text[:20]!r}); expected at least one. Leave it out.")
        encoded = self.data.encode(documents)
        observation = explained_observation(self.model, encoded.__getitems__([0]))
        row = {name: _plain(column, observation.mask) for name, column in evidence_on(observation).items()}
        row |= {} if observation.read_instead is None else {"attention_name": ROLLOUT}
        names = self.data.label_names
        return row | {
            "title": f"text {number}",
            "tokens": encoded.units_of(0),
            "unknown": [token for token in dict.fromkeys(encoded.tokens_of(0)) if not self.data.vocabulary.knows(token)],
            "probabilities": dict(zip(names, observation.probabilities[0].tolist(), strict=True)),
            "predicted": names[int(observation.predicted[0])],
        }


def explained_observation(model: LightningModule, batch: dict[str, Any]) -> Observation:
    """Pooled attention where there is any, else attention rollout through the layers, as in the report of such a run."""
    if getattr(model.network, "pools_by_attention", True):
        return cast(Any, model).observe(batch)
    return Explaining.by_rollout(cast(Any, model).observe_steps(batch), cast(Any, model).observe_layers(batch))


def evidence_on(observation: Observation) -> dict[str, Tensor]:
    """What the report shows of a text, named as there; a decision is right where it is the model's own.

    Rollout is no attention that could be another or be swapped, so that experiments on tokens alone are asked of it.
    """
    asked = Asked(observation.predicted, observation.ids)
    shown = [spec for spec in runnable().values() if spec.weights and (spec.of_tokens or observation.read_instead is None)]
    columns = {f"{INSTANCES}/attention": observation.explanation}
    for spec in shown:
        measured = Run(spec, spec.when_explaining)(observation, asked)
        columns |= {f"{spec.id}/{name}": values for name, values in measured.items()}
    return columns


def _plain(column: Tensor, mask: Tensor) -> Any:
    """The only text's number, or its weights at real tokens as an array."""
    return column[0].item() if column.ndim == 1 else column[0][mask[0]].detach().to(torch.float64).cpu().numpy()
