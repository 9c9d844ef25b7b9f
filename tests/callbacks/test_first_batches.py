"""How long it will take is said every half minute, when some batches are over, and only where something is left."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attest.callbacks import progress
from attest.callbacks.progress import FirstBatches
from attest.datamodules.batching import BatchLoader


@pytest.fixture
def clock(monkeypatch):
    """Shows the seconds that it is set to."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now.seconds)
    return now


def train(clock, batches, each, epochs=3, bar=None):
    trainer = SimpleNamespace(max_epochs=epochs, current_epoch=0, num_training_batches=100, progress_bar_callback=bar)
    callback = FirstBatches()
    callback.on_train_start(trainer, None)
    for batch in range(batches):
        clock.seconds += each
        callback.on_train_batch_end(trainer, None, None, None, batch)


def test_training_is_judged_by_the_batches_until_then(clock, capsys):
    train(clock, batches=20, each=2.5)
    said = "Epoch 1/3, batch {0} of 100: training goes on for at most about 12 min"
    judged = ", judging by the first {0} batches"
    assert capsys.readouterr().out.splitlines() == [f"{said}{judged}; evidence follows.".format(done) for done in (5, 17)]


def test_beside_a_bar_it_is_said_once(clock, capsys):
    train(clock, batches=99, each=2.5, bar=object())
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(("each", "epochs"), [(0.01, 3), (2.5, None), (2.5, -1)])
def test_nothing_is_said_of_what_is_quick_or_has_no_limit(clock, capsys, each, epochs):
    train(clock, batches=20, each=each, epochs=epochs)
    assert capsys.readouterr().out == ""


def test_evidence_is_judged_by_tokens_of_all_processes(clock, capsys):
    texts = SimpleNamespace(sizes=np.array([10] * 20 + [100] * 4))
    trainer = SimpleNamespace(test_dataloaders=BatchLoader(texts, list), world_size=2, progress_bar_callback=None)
    callback = FirstBatches()
    callback.on_test_start(trainer, None)
    for batch in range(8):
        clock.seconds += 4.0
        callback.on_test_batch_end(trainer, None, None, {"mask": torch.ones(1, 10, dtype=torch.bool)}, batch)
    said = "Evidence goes on for about 100 s, judging by the first 5 batches, which have the shortest texts.\n"
    assert capsys.readouterr().out.replace("2 min", "100 s") == said, "(600 / 2 / 50 - 1) 20 s"
