"""A run that was trained, here or elsewhere, opened from its folder."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attest.api.outcome import Outcome
from attest.errors import AttestError
from attest.runs.belonging import require_together
from attest.runs.folder import RunFolder

if TYPE_CHECKING:
    from pytorch_lightning import LightningModule

    from attest.api.opened import Opened, Split
    from attest.report.explained_text import ExplainedText

SPLITS = ("train", "validation", "test")
SHOWN = 3
"""Run folders that are named where a folder is none itself."""


def open_run(path: str | Path, trust: Sequence[str] = ()) -> "Run":
    """Open the folder of a run.

    Args:
        path: ``runs/<data>/<name>/seed<n>``, the folder that training prints at the end; or the folder of a saved trial.
        trust: modules that define classes of the run's model or data, if these are neither Attest's nor torch's. They are
            imported, and so run, when the model is first asked for.
    Raises:
        AttestError: there is no finished run, or what is in the folder does not belong together.
    """
    folder = RunFolder(Path(path))
    if not folder.path.is_dir():
        raise AttestError(f"{path} does not exist; expected the folder of a run, such as runs/<data>/<name>/seed0.")
    if not folder.config.is_file():
        raise AttestError(f"{path} is not the folder of a run: it has no config.yaml. {_runs_below(folder.path)}")
    if not folder.summary.is_file():
        raise AttestError(
            f"the run in {path} is not finished: it has no summary.json. Type the command that began it again: it resumes."
        )
    require_together([folder])
    return Run(folder, trust)


def _runs_below(path: Path) -> str:
    runs = sorted(str(config.parent) for config in path.glob("*/**/config.yaml"))
    if not runs:
        return "Expected a folder such as runs/<data>/<name>/seed0."
    more = f" and {len(runs) - SHOWN} more" if len(runs) > SHOWN else ""
    return f"Open one of those below it: {', '.join(runs[:SHOWN])}{more}."


class Run(Outcome):
    """A finished run: its numbers, tables, report and model. The model can explain new texts."""

    def __init__(self, folder: RunFolder, trusted: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self._trusted = trusted

    @property
    def name(self) -> str:
        """The path of its folder."""
        return str(self.folder.path)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.folder.path

    @property
    def report_path(self) -> Path:
        """Its page, ``report.html``."""
        return self.folder.report

    @property
    def model(self) -> "LightningModule":
        """The LightningModule with the parameters of the best epoch by validation, in evaluation mode, on the CPU."""
        return self._opened.model

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes, in class order."""
        return self._opened.data.label_names

    def split(self, name: str = "test") -> "Split":
        """The batches of a split of its data, which ``attest.trial`` takes.

        Args:
            name: ``train``, ``validation`` or ``test``.
        """
        from attest.api.opened import Split

        if name not in SPLITS:
            raise AttestError(f"there is no split {name!r}; expected one of: {', '.join(SPLITS)}.")
        return Split(self._opened.data, name)

    def explain(self, text: str) -> "ExplainedText":
        """What the model says about a text, and everything that might explain why.

        Args:
            text: any, in the language of the data.
        Raises:
            AttestError: it has no words, or the model does not pool by attention.
        """
        return self._opened.explain(text)

    def save_pretrained(self, path: str | Path) -> None:
        """Write a fine-tuned Transformer as the library transformers reads it: model, names of its classes, tokenizer.

        Args:
            path: a new folder.
        Raises:
            AttestError: the run trained a network of another kind.
        """
        network: Any = self.model.network
        if not getattr(network, "holds_a_model", False):
            raise AttestError(
                f"{self.name} trained a {type(network).__name__}; expected a Transformer that was fine-tuned, "
                "MODEL=pretrained or pretrained-tagger."
            )
        from attest.pretrained.loading import save  # imports transformers

        save(network.model, self.label_names, str(self._opened.data.subwords), Path(path))

    @cached_property
    def _opened(self) -> "Opened":
        """Model and data, loaded when they are first asked for."""
        from attest.api.opened import Opened

        if not self.folder.best.is_file():
            raise AttestError(
                f"{self.folder.best} does not exist, so there is no model; expected a run that was trained here. Its "
                "numbers, tables and report can be read."
            )
        return Opened(self.folder, self._trusted)
