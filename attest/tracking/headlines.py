"""The few numbers that a run logs by epoch; all others are logged once, when the run is reported."""

from functools import cache

from attest.experiments.registry import EXPERIMENTS

OF_EACH = 3
"""How many measures of an experiment are followed over the epochs: the first ones that its spec lists."""
IN_EACH = "/validation/"
"""Stands between experiment and column in what evidence logs on validation."""


def is_headline(name: str) -> bool:
    """Whether a logged number is followed over steps or epochs.

    These are losses, learning rate and gradient norm of the training, the scores on validation, and of each experiment the
    first measures of its spec. All of an experiment that the registry does not know.

    Args:
        name: as it is logged, ``train/loss`` or ``E1/validation/tau_gradient_inputs/mean``.
    """
    experiment, between, column = name.partition(IN_EACH)
    if between and experiment in EXPERIMENTS:
        return column in _first_means(experiment)
    return bool(between) or name.startswith(("train/", "validation/"))


@cache
def _first_means(experiment: str) -> frozenset[str]:
    shown = [measure for measure in EXPERIMENTS[experiment].measures if not measure.replaced_by]
    return frozenset(f"{measure.column}/mean" for measure in shown[:OF_EACH])
