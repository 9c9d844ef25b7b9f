"""The figures of a run as one table, so that W&B has one panel for them and not one for each."""

from collections.abc import Mapping

import wandb

from attest.runs.folder import RunFolder


def figure_table(folder: RunFolder, captions: Mapping[str, str]) -> wandb.Table:
    """One row for each PNG file of a run's figures: its key, its caption, the picture.

    Args:
        folder: of the run, its figures written.
        captions: by key, such as ``E2/permutation_by_max_attention``; a figure that has none gets an empty one.
    """
    pictures = {path.stem.replace("-", "/", 1): wandb.Image(str(path)) for path in sorted(folder.figures.glob("*.png"))}
    return wandb.Table(
        ["figure", "caption", "picture"], [[key, captions.get(key, ""), each] for key, each in pictures.items()]
    )
