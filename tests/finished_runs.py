"""Finished runs for tests to look at, each made once a session for all workers and lent read-only.

The worker that first asks for a run makes it under a lock, and the others wait for it (the recipe of pytest-xdist's manual for
data that is made once). A test that runs a command on such a run, or writes into it, takes a copy: see ``copy_of``.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from attest.app.cli.main import main
from attest.runs.folder import RunFolder
from tests.cheap import draw_figures, draw_nothing

SMALL_TRAINING = (
    "DATA=planted",
    "--data.init_args.rule=token",
    "--data.init_args.train_texts=320",
    "--data.init_args.validation_texts=100",
    "--data.init_args.test_texts=77",
    "--model.init_args.network.init_args.encoder.init_args.embedding_size=16",
    "--model.init_args.network.init_args.encoder.init_args.hidden_size=8",
    "--trainer.max_epochs=2",
    "--trainer.enable_progress_bar=false",
    "--run.processes=1",
)
"""10 batches an epoch, two epochs, 77 test texts in three batches."""
SMALL_RUN = (
    *SMALL_TRAINING,
    "--run.max_search_steps=20",
    "--experiments.E10.texts=8",
    "--experiments.E14.texts=4",
    "--experiments.E14.sets=5",
)
"""A real run with every experiment, each on little: a few seconds."""
EXPENSIVE = ("E1", "E3", "E10", "E11", "E12", "E13", "E14", "E15", "E19")
"""Experiments that take nine tenths of its evidence's time."""


def without(*experiments: str) -> tuple[str, ...]:
    """The options of a run that leaves some experiments out."""
    return tuple(f"--experiments.{name}=null" for name in experiments)


LIGHT = (*SMALL_TRAINING, *without(*EXPENSIVE, "E8"), "LOGGER=csv", "--data.init_args.train_texts=96")
"""Little training, and no evidence but E2."""
BEST_FIRST = (
    *SMALL_TRAINING,
    *("EXPERIMENTS=none", "LOGGER=csv", "--run.monitor=validation/loss", "--run.mode=max"),
    "--data.init_args.train_texts=96",
)
"""The epoch with the largest loss is chosen, the first, so that best and last checkpoint differ."""
SMALL_TRANSFORMER = (
    *("DATA=planted", "MODEL=transformer-dr", "LOGGER=csv", "--data.init_args.rule=token"),
    *("--data.init_args.train_texts=160", "--data.init_args.validation_texts=64", "--data.init_args.test_texts=77"),
    *(f"--model.init_args.network.init_args.{size}" for size in ("size=16", "layers=2", "heads=2", "feedforward_size=16")),
    *("--trainer.max_epochs=1", "--trainer.enable_progress_bar=false", "--run.processes=1"),
)
"""Two layers of two heads, one epoch."""
LAYERS = (
    *SMALL_TRANSFORMER,
    "--experiments.E2.permutations=2",
    "--experiments.E3.steps=2",
    "--experiments.E3.texts=32",
    "--experiments.E8.every_n_epochs=1",
    "--experiments.E9.draws=2",
    "--experiments.E14.texts=4",
    "--experiments.E14.sets=5",
    "--experiments.E15.texts=4",
    "--experiments.E15.sets=5",
)
"""The same with every experiment inside layers."""
ONE_EPOCH = ("--", "--trainer.max_epochs=1")
"""Of each run that depends on another."""
ADVERSARIAL = ("adversarial", *SMALL_RUN, "LAMBDA=0.1,5", "DIVERGENCE=jsd", *ONE_EPOCH)
CONTROLS = ("controls", *LIGHT, *without("E2"), "--trainer.max_epochs=1", "SEEDS=2", "LAMBDA=1", *ONE_EPOCH)
KEYS = ("keys", *SMALL_TRANSFORMER, "EXPERIMENTS=none", *ONE_EPOCH)
QUESTIONS = (
    *("MODEL=question-bilstm", "--data.init_args.train_questions=60", "--data.init_args.test_questions=20"),
    *("CUT=smoke", "LOGGER=csv"),
)
PRETRAINED = (
    *("DATA=planted", "MODEL=pretrained", "LOGGER=csv", "--data.init_args.rule=token"),
    *("--data.init_args.train_texts=96", "--data.init_args.validation_texts=32", "--data.init_args.test_texts=21"),
    *("--trainer.enable_progress_bar=false", "--run.processes=1", "--run.checkpoint_every_n_batches=1"),
    *("--trainer.max_epochs=2", "--model.init_args.learning_rate_scale=20"),
)
"""Six batches of training on texts that are cut into the model's own subwords."""
FEW = without("E1", "E3", "E13", "E14", "E15", "E19", "maps")
"""Leaves out of a pretrained model what takes long."""
TAGS = {"the": "O", "cat": "B-NP", "black": "I-NP", "sees": "B-VP"}
PRETRAINED_TAGGER = (
    *("MODEL=pretrained-tagger", "DATA=files", "LOGGER=csv", "--run.processes=1", "--trainer.max_epochs=2"),
    *("--trainer.enable_progress_bar=false", "--data.init_args.batch_size=5", "--model.init_args.learning_rate_scale=40"),
    *without("E3", "E13", "maps"),
)


def pretrained(folder: Path, words: tuple[str, ...]) -> str:
    """The option that names a tiny model whose subwords are these words and single letters."""
    from tests.models.pretrained.tiny import pretrained_folder

    return f"--model.init_args.pretrained={pretrained_folder(folder, words)}"


def reviews(folder: Path) -> tuple[str, ...]:
    """A model to start from, for texts of the planted corpus."""
    return (pretrained(folder, ("the", "a", "film", "was", "brilliant", "awful", "audience", "director", ".")),)


def tagged(folder: Path) -> tuple[str, ...]:
    """A model to start from, and sentences whose words are cut into subwords, with some tags that none can guess."""
    words = list(TAGS)
    sentences = [[words[(row * place + row + place) % 4] for place in range(1 + row % 6)] for row in range(45)]
    tags = [[TAGS[word] if row % 5 or word == "the" else "O" for word in each] for row, each in enumerate(sentences)]
    lines = [json.dumps({"tokens": words, "tags": names}) for words, names in zip(sentences, tags, strict=True)]
    splits = {"train": lines[:30], "validation": lines[30:35], "test": lines[35:]}
    for split, rows in splits.items():
        (folder / f"{split}.jsonl").write_text("\n".join(rows))
    files = (f"--data.init_args.{split}={folder / split}.jsonl" for split in splits)
    (folder / "pretrained").mkdir()
    return (pretrained(folder / "pretrained", ("the", "sees")), *files)


def typed(words: Sequence[str], *more: str) -> list[str]:
    """A command with more options, which stand before ``--``."""
    own = [*words].index("--") if "--" in words else len(words)
    return [*words[:own], *more, *words[own:]]


@dataclass(frozen=True)
class Made:
    """How a run is made.

    Attributes:
        words: the command, but for the folder of runs.
        begins_with: another run, whose copy it goes on from.
        files: writes what the command reads into a folder, and returns the options that name it.
        drawn: whether its figures are drawn; those of others are empty.
    """

    words: Sequence[str]
    begins_with: str | None = None
    files: Callable[[Path], tuple[str, ...]] | None = None
    drawn: bool = False


RUNS = {
    "small": Made(("fit", *SMALL_RUN), drawn=True),
    "light": Made(("fit", *LIGHT)),
    "best-first": Made(("fit", *BEST_FIRST)),
    "layers": Made(("fit", *LAYERS)),
    "questions": Made(("fit", *QUESTIONS, "EXPERIMENTS=importance")),
    "pretrained": Made(("fit", *PRETRAINED, *FEW), files=reviews),
    "pretrained-tagger": Made(("fit", *PRETRAINED_TAGGER), files=tagged),
    "adversarial": Made(ADVERSARIAL, begins_with="small"),
    "controls": Made(CONTROLS),
    "keys": Made(typed(KEYS, "ATTACK=adversarial,opposite")),
}


def only_folder(root: Path) -> RunFolder:
    """The one run below a root."""
    (config,) = root.glob("*/*/seed*/config.yaml")
    return RunFolder(config.parent)


def copy_of(run: RunFolder, root: Path) -> RunFolder:
    """The run and all that lies beside it, under another root."""
    shutil.copytree(run.path.parents[2], root, dirs_exist_ok=True)
    return RunFolder(root / run.path.relative_to(run.path.parents[2]))


class Library:
    """Runs below a folder that all workers of a session share.

    Args:
        place: the folder.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self._lent: set[str] = set()

    def run(self, name: str) -> RunFolder:
        """The only run of a folder of ``RUNS``: read it, do not change it."""
        return only_folder(self.root(name))

    def root(self, name: str) -> Path:
        """A folder of runs that a command of ``RUNS`` has made."""
        record = self._place(name, ".json")
        with FileLock(self._place(name, ".lock")):
            if not record.is_file():
                command = self._make(name)
                record.write_text(json.dumps({"command": command, "written": written(self._place(name))}))
        self._lent.add(name)
        return self._place(name)

    def command(self, name: str, *more: str) -> list[str]:
        """The command that made a run, for another folder of runs; more options stand before ``--``."""
        self.root(name)
        return typed(self._record(name)["command"], *more)

    def changed(self) -> list[str]:
        """The files of lent runs that are not as they were made."""
        found = {name: {*self._record(name)["written"].items()} ^ {*written(self._place(name)).items()} for name in self._lent}
        return sorted(f"{name}: {file}" for name, files in found.items() for file, _ in files)

    def _place(self, name: str, of: str = "") -> Path:
        return self.place / f"library-{name}{of}"

    def _record(self, name: str) -> dict[str, Any]:
        return json.loads(self._place(name, ".json").read_text())

    def _make(self, name: str) -> list[str]:
        made, root, files = RUNS[name], self._place(name), self._place(name, "-files")
        for folder in (root, files):
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that was stopped while it made them
        if made.begins_with is not None:
            copy_of(self.run(made.begins_with), root)
        files.mkdir()
        command = typed(made.words, *(made.files(files) if made.files else ()))
        with pytest.MonkeyPatch.context() as patch:
            (draw_figures if made.drawn else draw_nothing)(patch.setattr)
            assert main(typed(command, f"--run.root={root}")) == 0
        return command


def written(root: Path) -> dict[str, int]:
    """When each file was last written, but for W&B's, whose service closes its logs in its own time."""
    files = (path for path in root.rglob("*") if path.is_file() and "wandb" not in path.parts)
    return {str(path.relative_to(root)): path.stat().st_mtime_ns for path in files}
