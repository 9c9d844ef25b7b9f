"""Training from Python, by the words that everyone types."""

from collections.abc import Sequence
from pathlib import Path

from attest.api.run import Run
from attest.runs.in_process import fit


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
    """Train a model and put it on trial: the same as ``attest fit``, in the same folder.

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
        arguments: options as ``attest fit --help`` lists them, ``("--trainer.max_epochs=3",)`` for example.
        choices: any other choice in small letters: ``logger="csv"``, ``experiments="importance"``, ``protocol="plain"``.
    Returns:
        The finished run.
    Raises:
        AttestError: a choice or an option that does not exist, data that are not there, …
    """
    named = {"data": data, "model": model, "scoring": scoring, "projection": projection, "recipe": recipe, "seed": seed}
    words = [f"{name.upper()}={value}" for name, value in (named | choices).items() if value is not None]
    options = [*([] if root is None else [f"--run.root={root}"]), *(["FORCE=1"] if force else [])]
    return Run(fit([*words, *options, *arguments]))
