"""A trained run with its model and data in memory, to ask it about texts."""

from collections.abc import Iterator, Sequence

from attest.api.batches import Batch
from attest.datamodules import TextDataModule
from attest.datamodules.batching import batches_by_length
from attest.report.explained_text import ExplainedText
from attest.runs.evaluating import configuration_of
from attest.runs.folder import RunFolder
from attest.runs.in_process import as_a_command
from attest.runs.loaded import LoadedRun


class Split:
    """Batches of one split of a run's data, with labels and words; can be read several times.

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


class Opened(LoadedRun):
    """A run's model and data for a process that goes on afterwards.

    Args:
        folder: of a trained run.
        trusted: modules whose classes it may name, beside ours and torch's.
    """

    def __init__(self, folder: RunFolder, trusted: Sequence[str]) -> None:
        with as_a_command(), configuration_of(folder, trusted) as configuration:
            super().__init__(configuration, folder)
            with self.prepared():
                """Model and data stay when the block ends."""

    def explain(self, text: str) -> ExplainedText:
        """What the model says about a text, and why.

        Raises:
            AttestError: the text has no words, or the model does not classify whole texts.
        """
        return ExplainedText(self.explained(1, text))
