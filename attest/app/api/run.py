"""The functions ``attest.train`` and ``attest.open_run``, the ``Run`` that both return."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import wandb

from attest.app.api.batches import Batch
from attest.app.api.outcome import Outcome
from attest.app.configured import ConfiguredRun
from attest.app.evaluating import LoadedRun, configuration_of
from attest.app.training import train as train_configured
from attest.core.errors import AttestError, as_user_error
from attest.core.memory import budget_kept
from attest.datamodules import TextDataModule
from attest.datamodules.batching import batches_by_length
from attest.datamodules.corpus import SPLITS
from attest.models.traits import traits_of
from attest.report.explained_text import ExplainedText
from attest.report.pictures import source_of
from attest.runs.asked import AskedRun
from attest.runs.belonging import finished
from attest.runs.folder import RunFolder
from attest.runs.versions import quieten

if TYPE_CHECKING:
    from pytorch_lightning import LightningModule


def open_run(path: str | Path, trust: Sequence[str] = ()) -> "Run":
    """Return the finished run that is stored in a folder.

    Args:
        path: ``runs/<data>/<name>/seed<n>``, the folder that training prints at the end; or the folder of a saved trial.
        trust: modules that define classes of the run's model or data, if these are neither Attest's nor torch's. Their code
            runs when the model is first used, because they are imported then.
    Raises:
        AttestError: there is no finished run, a file has changed, or a table is from another checkpoint or other data.

    Examples:
        >>> attest.open_run("runs/planted/jw-bilstm-additive-softmax/seed0").verdict  # doctest: +SKIP
    """
    return Run(finished(RunFolder(Path(path))), trust)


class Run(Outcome):
    """A finished run: its numbers, tables, report and model. Its model can explain new texts.

    Examples:
        >>> import attest, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> run = attest.train("planted", cut="smoke", experiments="none", root=folder)  # doctest: +ELLIPSIS
        Training ...
        >>> run.name == str(run.path)
        True
        >>> run.label_names
        ('blame', 'praise')
        >>> run.explain("the acting is witty").tokens
        ['the', 'acting', 'is', 'witty']
    """

    def __init__(self, folder: RunFolder, trusted: Sequence[str] = ()) -> None:
        if not isinstance(folder, RunFolder):
            raise AttestError(
                f"a Run was made of {folder!r}; expected a folder that was looked into. Type attest.open_run({folder!r})."
            )
        super().__init__(folder)
        self._trusted = trusted

    @property
    def name(self) -> str:
        """Return the path of the run folder as text."""
        return str(self.folder.path)

    @property
    def path(self) -> Path:
        """Return the path of the run folder."""
        return self.folder.path

    @property
    def report_path(self) -> Path:
        """Return the path of the report, ``report.html``."""
        return self.folder.report

    @property
    def model(self) -> "LightningModule":
        """Return the LightningModule with the parameters of the best epoch by validation, in evaluation mode, on the CPU."""
        return self._opened.model

    @property
    def label_names(self) -> tuple[str, ...]:
        """Return the names of the classes, in class order."""
        return self._opened.datamodule.label_names

    def split(self, name: str = "test") -> "SplitBatches":
        """Return the batches of one split of the run's data, in a form that ``attest.trial`` accepts as texts.

        Args:
            name: ``train``, ``validation`` or ``test``.
        """
        if name not in SPLITS:
            raise AttestError(f"there is no split {name!r}; expected one of: {', '.join(SPLITS)}.")
        return SplitBatches(self._opened.datamodule, name)

    def explain(self, text: str | int) -> "ExplainedText":
        """Return a text with the model's prediction and its explanations, each with one weight for each token.

        Args:
            text: any text in the language of the data; or the id of a tested text.
        Raises:
            AttestError: the text has no words, the model is not a classifier of whole texts, or no text has this id.
        """
        if not isinstance(text, str):
            return self.tested(text)
        found = self._findings
        return ExplainedText(self._opened.explained(1, text), found.called, source_of(found))

    def save_pretrained(self, path: str | Path) -> None:
        """Write a fine-tuned Transformer, with class names and tokenizer, in the format of the library transformers.

        Args:
            path: a new folder.
        Raises:
            AttestError: the run trained a network of another kind, or with another projection than a softmax.
        """
        network: Any = self.model.network
        if not traits_of(network).holds_a_model:
            raise AttestError(
                f"the model of {self.name} is a {type(network).__name__}; expected a fine-tuned Transformer, trained with "
                "MODEL=pretrained or MODEL=pretrained-tagger."
            )
        if network.exchanged:
            raise AttestError(
                f"the attention of {self.name} is not a softmax, and the format of the library transformers cannot say so: "
                "whoever loads the model would get another one; expected a run with PROJECTION=softmax. Open this run with "
                "attest.open_run, which knows its projection."
            )
        from attest.models.pretrained.loading import save  # imports transformers

        save(network.model, self.label_names, str(self._opened.datamodule.subwords), Path(path))

    @cached_property
    def _opened(self) -> LoadedRun:
        if not self.folder.best.is_file():
            raise AttestError(
                f"{self.folder.best} does not exist, so the model of this run cannot be loaded; expected a run folder with "
                "its checkpoint. Numbers, tables and the report can still be read."
            )
        with as_a_command():
            run = LoadedRun(configuration_of(self.folder, self._trusted), self.folder)
            with run.prepared():
                return run  # model and data stay when the block ends


class SplitBatches:
    """The batches of one split of a run's data, with labels and words, which can be iterated several times."""

    def __init__(self, data: TextDataModule, name: str) -> None:
        data.require_expected()
        self.label_names = data.label_names
        self._texts, self._batch_size = getattr(data, name), data.batch_size

    def __len__(self) -> int:
        """Return the number of texts in the split."""
        return len(self._texts)

    def __iter__(self) -> Iterator[Batch]:
        for rows in batches_by_length(self._texts.sizes, self._batch_size):
            batch = self._texts.__getitems__(rows)
            yield batch | {"tokens": [self._texts.units_of(identity) for identity in batch["id"].tolist()]}


def train(
    data: str | None = None,
    model: str | None = None,
    *,
    scoring: str | None = None,
    projection: str | None = None,
    recipe: str | None = None,
    seed: int | None = None,
    root: str | Path | None = None,
    force: bool = False,
    arguments: Sequence[str] = (),
    **choices: str,
) -> Run:
    """Train a model and test its attention, as the command ``attest fit`` does, in the same folder.

    A finished run is not trained again; a stopped run resumes.

    Args:
        data: ``planted``, ``sst``, ``imdb``, …; the defaults are those of ``attest fit``.
        model: ``bilstm``, ``cnn``, ``transformer-me``, …
        scoring: ``additive`` or ``dot``.
        projection: ``softmax``, ``sparsemax``, ``entmax:1.3``, …
        recipe: the training procedure of a paper; each model has its own default.
        seed: a whole number from 0.
        root: the folder of all runs; by default ``runs`` in the current folder.
        force: delete the existing run and begin again.
        arguments: options as ``attest fit --help all`` lists them, ``("--trainer.max_epochs=3",)`` for example.
        choices: any other choice in small letters: ``logger="csv"``, ``experiments="importance"``, ``protocol="plain"``.
    Returns:
        The finished run.
    Raises:
        AttestError: a choice or an option that does not exist, data that are not there, …

    Examples:
        A model that is trained for a few batches, to see that all is in place:

        >>> import attest, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> run = attest.train("planted", cut="smoke", experiments="none", root=folder)  # doctest: +ELLIPSIS
        Training ...
        >>> sorted(each for each in run.summary if each.startswith("test/"))[0]
        'test/accuracy'
    """
    named = {"data": data, "model": model, "scoring": scoring, "projection": projection, "recipe": recipe, "seed": seed}
    words = [f"{name.upper()}={value}" for name, value in (named | choices).items() if value is not None]
    options = [*([] if root is None else [f"--run.root={root}"]), *(["FORCE=1"] if force else [])]
    typed = [*words, *options, *arguments]
    with as_a_command():
        return Run(train_configured(ConfiguredRun("fit", AskedRun.of(typed))))


@contextmanager
def as_a_command() -> Iterator[None]:
    """Raise an ``AttestError`` for a user's mistake in the ``with`` block; restore threads and memory budget."""
    quieten()
    threads = torch.get_num_threads()
    try:
        with budget_kept():
            yield
    except Exception as error:
        if (mistake := as_user_error(error)) is None or mistake is error:
            raise
        raise mistake from error
    finally:
        torch.set_num_threads(threads)
        wandb.finish()
