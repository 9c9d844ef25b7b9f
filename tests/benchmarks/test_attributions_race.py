"""The race is fair: captum and Attest give the same numbers."""

from benchmarks.attributions import NAMES, race
from tests.models.pretrained.tiny import TEXTS


def test_both_sides_agree(model, tokenizer):
    stages = race(model, tokenizer, TEXTS, batch_size=2)
    assert tuple(stages) == NAMES
    for stage in stages.values():
        assert stage.apart < 1e-5
        assert min(stage.ours.seconds, stage.theirs.seconds) > 0
