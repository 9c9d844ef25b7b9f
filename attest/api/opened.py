"""A trained run with its model and its data in memory, so that it can be asked about texts."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

from pytorch_lightning import LightningDataModule, LightningModule

from attest.api.batches import Batch
from attest.cli.explain import ExplainCLI
from attest.datamodules import TextDataModule
from attest.datamodules.batching import batches_by_length
from attest.errors import AttestError
from attest.report.explained_text import ExplainedText
from attest.runs.folder import RunFolder
from attest.runs.in_process import as_a_command


class Split:
    """Batches of one split of a run's data, labels and words with them; can be gone through again and again.

    Args:
        data: of the run.
        name: ``train``, ``validation`` or ``test``.
    Raises:
        AttestError: the data are not those that the run was trained on.
    """

    def __init__(self, data: TextDataModule, name: str) -> None:
        data.require_expected()
        self.label_names = data.label_names
        self._texts, self._batch_size = getattr(data, name), data.batch_size

    def __len__(self) -> int:
        """How many texts."""
        return len(self._texts)

    def __iter__(self) -> Iterator[Batch]:
        for rows in batches_by_length(self._texts.sizes, self._batch_size):
            batch = self._texts.__getitems__(rows)
            yield batch | {"tokens": [self._texts.units_of(identity) for identity in batch["id"].tolist()]}


class Opened(ExplainCLI):
    """A run's configuration, its best checkpoint and its data; nothing is trained or written.

    Args:
        folder: of a trained run.
    """

    def __init__(self, folder: RunFolder) -> None:
        with as_a_command():
            super().__init__([f"--config={folder.config}"], folder, [], folder.report)

    def test(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Load the checkpoint instead of scoring."""
        checkpoint = self.trainer.strategy.checkpoint_io.load_checkpoint(self.on_trial.best, weights_only=True)
        model.load_state_dict(checkpoint["state_dict"])
        model.eval()

    @cached_property
    def data(self) -> TextDataModule:
        """Of the run."""
        return cast(TextDataModule, cast(LightningDataModule, self.datamodule))

    def explain(self, text: str) -> ExplainedText:
        """What the model says of a text, and why.

        Raises:
            AttestError: the text has no words, or the model does not classify whole texts.
        """
        if not hasattr(self.model, "observe"):
            name = type(self.model).__name__
            raise AttestError(f"{self.on_trial.path} holds a {name}; expected a classifier of whole texts.")
        return ExplainedText(self._explained(self.model, 1, text))
