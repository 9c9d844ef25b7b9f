"""Which numbers are followed over epochs, and which are logged once."""

import pytest

from attest.experiments.registry import EXPERIMENTS
from attest.report.tracking.loggers import OF_EACH, is_headline


@pytest.mark.parametrize(
    "name",
    ["train/loss", "train/learning_rate", "validation/roc_auc", "E1/validation/tau_gradient_inputs/mean", "E77/validation/x"],
)
def test_what_is_followed(name):
    assert is_headline(name)


@pytest.mark.parametrize(
    "name",
    ["test/accuracy", "E1/validation/tau_gradient_inputs/std", "E1/validation/length/mean", "E2/tvd_median/mean", "epoch"],
)
def test_what_is_logged_once(name):
    assert not is_headline(name)


def test_an_experiment_is_followed_by_its_first_measures():
    for spec in EXPERIMENTS.values():
        followed = [measure for measure in spec.measures if is_headline(f"{spec.id}/validation/{measure.name}/mean")]
        assert len(followed) <= OF_EACH
        assert followed == [*spec.measures[: len(followed)]]
