"""``attest explain``: one text, what a trained model says of it, and everything that might explain why.

    attest explain --run runs/sst/jw-bilstm-additive-softmax/seed0 --text "a gorgeous , witty , seductive movie ."
    attest explain --run runs/imdb/jw-bilstm-additive-softmax/seed0 --file reviews.txt

In the terminal, and as a page. Of a Transformer that has attention inside its layers alone, attention rollout is shown. A file
holds one text a line; blank lines are no texts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from pytorch_lightning import LightningModule
from torch import Tensor

from attest.callbacks.explaining import Explaining
from attest.cli.command_parser import CommandParser
from attest.cli.evidence import configuration_of
from attest.datamodules.notice import say
from attest.errors import AttestError
from attest.experiments import Observation
from attest.experiments.registry import Asked, Run, runnable
from attest.report.explained import print_explained, write_explained
from attest.runs.folder import INSTANCES, RunFolder
from attest.runs.training import AttestCLI

PAGE = "explained.html"
ROLLOUT = "Attention rollout"


def main(arguments: list[str]) -> int:
    """Run the command; returns the exit code.

    Args:
        arguments: what follows ``attest explain``.
    Raises:
        AttestError: there is no such run or file, no text, or one without words.
    """
    typed = _parser().parse_args(arguments)
    folder = RunFolder(typed.run)
    if not folder.best.is_file() or not folder.config.is_file():
        raise AttestError(f"{folder.best} does not exist; expected the folder of a trained run. Train one first: make train")
    texts = [*typed.text, *(_lines(typed.file) if typed.file else [])]
    if not texts:
        raise AttestError('attest explain was given no text; expected one. Type for example: --text "a gorgeous movie"')
    with configuration_of(folder) as configuration:
        ExplainCLI(configuration, folder, texts, typed.out or folder.path / PAGE)
    return 0


def _parser() -> CommandParser:
    parser = CommandParser("attest explain", __doc__)
    parser.add_argument("--run", type=Path, required=True, help="a run folder; its best checkpoint explains itself")
    parser.add_argument("--text", action="append", default=[], help="a text; may be given several times")
    parser.add_argument("--file", type=Path, help="a file with one text a line, in UTF-8")
    parser.add_argument("--out", type=Path, help=f"where the page goes; {PAGE} in the run folder")
    return parser


def _lines(file: Path) -> list[str]:
    try:
        return [line for line in file.read_text(encoding="utf-8-sig").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise AttestError(f"{file} cannot be read ({error}); expected a file with one text a line, in UTF-8.") from error


class ExplainCLI(AttestCLI):
    """A run's configuration and a network from its best checkpoint, which read new texts.

    Args:
        arguments: configuration files and options.
        folder: of the run.
        texts: as they were typed.
        page: where the page goes.
    """

    needs_data = False

    def __init__(self, arguments: list[str], folder: RunFolder, texts: Sequence[str], page: Path) -> None:
        self.on_trial, self.texts, self.page = folder, texts, page
        super().__init__(["test", *arguments])

    def before_instantiate_classes(self) -> None:
        self.config.test.experiments = {}
        if "embeddings" in self.config.test.data.init_args:
            self.config.test.data.init_args.embeddings = None  # the checkpoint holds what became of them
        super().before_instantiate_classes()
        if self.record is None:
            say(f"{self.on_trial.path} was trained by an earlier version and holds no vocabulary; it is read from the data.")

    def _made_from(self) -> RunFolder:
        return self.on_trial

    def _require_same_configuration(self) -> None:
        """The configuration is the run's own; nothing of it is written."""

    def test(self, model: LightningModule, ckpt_path: str | None = None, **kwargs: Any) -> None:
        """Explain instead of scoring."""
        if not hasattr(model, "observe"):
            raise AttestError(f"{self.on_trial.path} holds a {type(model).__name__}; expected a classifier of whole texts.")
        checkpoint = self.trainer.strategy.checkpoint_io.load_checkpoint(self.on_trial.best, weights_only=True)
        model.load_state_dict(checkpoint["state_dict"])
        model.eval()
        explained = [self._explained(model, number, text) for number, text in enumerate(self.texts, start=1)]
        print_explained(explained)
        write_explained(self.page, explained, str(self.on_trial.path))
        print(f"Page: {self.page}")

    def _explained(self, model: LightningModule, number: int, text: str) -> dict[str, Any]:
        """One text by itself, so that the longest sets nobody else's padding."""
        data = self.datamodule
        documents = data.documents_of([text])
        if not documents.lengths[0]:
            raise AttestError(f"text {number} has no words ({text[:20]!r}); expected at least one. Leave it out.")
        encoded = data.encode(documents)
        observation = explained_observation(model, encoded.__getitems__([0]))
        row = {name: _plain(column, observation.mask) for name, column in evidence_on(observation).items()}
        row |= {} if observation.read_instead is None else {"attention_name": ROLLOUT}
        names = data.label_names
        return row | {
            "title": f"text {number}",
            "tokens": encoded.units_of(0),
            "unknown": [token for token in dict.fromkeys(encoded.tokens_of(0)) if not data.vocabulary.knows(token)],
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
