"""What is put on trial is the best epoch, not the last: shown by a run in which they differ."""

import hashlib
import re
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from attest.app.cli.main import main
from attest.app.dependent import Dependent, train_base, train_dependent
from attest.lightning_modules import Classifier
from attest.runs.asked import AskedRun
from attest.runs.folder import read_json
from tests.finished_runs import BEST_FIRST

pytestmark = pytest.mark.whole("a run from beginning to end")


def weights_in(checkpoint) -> dict[str, Tensor]:
    return torch.load(checkpoint, weights_only=True)["state_dict"]


def same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return all(torch.equal(ours[name], theirs[name]) for name in theirs)


class Keeps(Classifier):
    """Keeps in its own checkpoint what it was given of its base."""

    def __init__(self, base_network: Callable[[int, int], nn.Module], **options: Any) -> None:
        super().__init__(**options)

    def take_base(self, state: dict[str, Tensor]) -> None:
        for name, value in state.items():
            self.register_buffer(f"given_{name.replace('.', '_')}", value)


OVERLAY = {"model": {"class_path": f"{__name__}.Keeps"}, "trainer": {"max_epochs": 1, "limit_train_batches": 1}}


def test_the_best_epoch_is_chosen_by_the_mode_asked_for(best_first_run):
    losses = [epoch["validation/loss"] for epoch in read_json(best_first_run.curves)]
    assert losses[0] > losses[1]
    assert torch.load(best_first_run.best, weights_only=True)["epoch"] == 0
    summary = read_json(best_first_run.summary)
    assert summary["best/epoch"] == 0
    assert summary["best/validation/loss"] == losses[0]


def test_the_scores_are_those_of_the_best_checkpoint(best_first_run, capsys):
    def loss(*checkpoint: str) -> float:
        root = best_first_run.path.parents[2]
        assert main(["test", *BEST_FIRST, f"--run.root={root}", *checkpoint]) == 0
        return float(re.search(r"^Also: .*\bloss ([\d.]+)", capsys.readouterr().out, re.MULTILINE)[1])

    best, last = (loss(f"--ckpt_path={checkpoint}") for checkpoint in (best_first_run.best, best_first_run.last))
    assert best != last
    assert read_json(best_first_run.summary)["test/loss"] == pytest.approx(best, abs=1e-4)
    assert loss() == best


def test_dependents_read_the_best_checkpoint(best_first_run, tmp_path):
    shutil.copytree(best_first_run.path.parents[2], tmp_path, dirs_exist_ok=True)
    base = train_base(AskedRun.of([*BEST_FIRST, f"--run.root={tmp_path}"]))
    run = train_dependent(base, Dependent("keeping", "it", OVERLAY))
    best, last = (weights_in(checkpoint) for checkpoint in (best_first_run.best, best_first_run.last))
    assert not same(best, last)
    network = {name: value for name, value in best.items() if name.startswith("network.")}
    theirs = {f"given_{name.removeprefix('network.').replace('.', '_')}": value for name, value in network.items()}
    assert same(weights_in(run.best), theirs)
    assert read_json(run.path / "base.json")["sha256"] == hashlib.sha256(best_first_run.best.read_bytes()).hexdigest()


def test_only_the_last_checkpoint_holds_the_state_of_the_optimiser(best_first_run, tmp_path, capsys):
    best, last = (torch.load(path, weights_only=True) for path in (best_first_run.best, best_first_run.last))
    assert best.keys().isdisjoint({"optimizer_states", "lr_schedulers", "callbacks"})
    assert last["optimizer_states"]
    assert best["state_dict"].keys() == last["state_dict"].keys()
    assert best_first_run.best.stat().st_size < best_first_run.last.stat().st_size
    assert main(["fit", *BEST_FIRST, f"--ckpt_path={best_first_run.best}", f"--run.root={tmp_path}"]) == 2
    assert "best.ckpt contains the parameters of a model alone, and training cannot go on" in capsys.readouterr().err
