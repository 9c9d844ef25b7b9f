"""Options of Lightning that change which epochs are validated: the model on trial is one that was, or the run says so."""

import shutil

import pytest
import torch

from attest import open_run
from attest.app.cli.main import main
from attest.callbacks.checkpoints import BestCheckpoint
from attest.report.summary import VERSION, summarise_run
from attest.runs.folder import RunFolder, read_json, write_json
from tests.finished_runs import EXPENSIVE, SMALL_TRAINING, only_folder, without

pytestmark = pytest.mark.whole("a run from beginning to end")

ALONE = (*SMALL_TRAINING, "EXPERIMENTS=none", "LOGGER=csv", "--data.init_args.train_texts=96")


def fitted(root, *options) -> RunFolder:
    assert main(["fit", *ALONE, f"--run.root={root}", *options]) == 0
    return only_folder(root)


def epoch_of(run: RunFolder) -> int:
    return torch.load(run.best, weights_only=True)["epoch"]


def test_the_best_epoch_is_one_that_was_validated(tmp_path):
    run = fitted(tmp_path, "--trainer.check_val_every_n_epoch=2", "--trainer.max_epochs=3")
    assert ["validation/loss" in epoch for epoch in read_json(run.curves)] == [False, True, False]
    assert read_json(run.summary)["best/epoch"] == epoch_of(run) == 1
    assert run.report.is_file()


@pytest.mark.parametrize("interval", ["1", "2"])
def test_of_several_validations_in_an_epoch_its_last_counts(tmp_path, interval):
    """Three batches an epoch; the score of each epoch in the curves is that of its last validation."""
    run = fitted(tmp_path, f"--trainer.val_check_interval={interval}", "--run.monitor=validation/loss", "--run.mode=max")
    best, last = (torch.load(path, weights_only=True) for path in (run.best, run.last))
    score = next(state for name, state in last["callbacks"].items() if "BestCheckpoint" in name)["best_model_score"]
    curves = {epoch["epoch"]: epoch["validation/loss"] for epoch in read_json(run.curves)}
    assert float(score) == pytest.approx(max(curves.values()))
    assert curves[best["epoch"]] == max(curves.values()) == read_json(run.summary)["best/validation/loss"]


def test_a_run_that_ends_before_its_first_validation_is_tried_as_it_is(tmp_path, capsys):
    run = fitted(tmp_path, "--trainer.max_steps=1")
    assert "No epoch was validated before training ended" in capsys.readouterr().out
    assert "best/epoch" not in read_json(run.summary)
    best, last = (torch.load(path, weights_only=True)["state_dict"] for path in (run.best, run.last))
    assert all(torch.equal(best[name], last[name]) for name in last)


def test_a_run_that_moved_remembers_its_best_score(best_first_run, tmp_path, recwarn):
    """Lightning forgets it where the folder has another path, and says so; a later, worse epoch would then be chosen."""
    state = torch.load(best_first_run.last, weights_only=True)["callbacks"]
    (known,) = (state for name, state in state.items() if "BestCheckpoint" in name)
    moved = BestCheckpoint(RunFolder(tmp_path / "seed0"), "validation/loss", "max")
    moved.load_state_dict(known)
    here = str(tmp_path / "seed0" / "checkpoints" / "best.ckpt")
    assert moved.best_model_path == moved.kth_best_model_path == here
    assert moved.best_k_models == {here: known["best_model_score"]}
    assert not [warning for warning in recwarn if "dirpath" in str(warning.message)]


def test_a_copied_run_is_tested_without_a_word_of_its_old_place(best_first_run, tmp_path, capfd):
    shutil.copytree(best_first_run.path, tmp_path / "seed0")
    assert main(["evidence", "--run", str(tmp_path / "seed0"), "instances", "--trainer.enable_progress_bar=false"]) == 0
    assert "dirpath" not in "".join(capfd.readouterr())


def test_the_average_of_weights_is_what_is_tested_and_what_is_opened(tmp_path):
    run = fitted(tmp_path, "--trainer.callbacks+=EMAWeightAveraging", "EXPERIMENTS=pooled", *without(*EXPENSIVE, "E2", "E8"))
    opened = open_run(run.path)
    table = opened.table().set_index("id")
    batches = [(batch, opened.model.observe(batch).probabilities) for batch in opened.split("test")]
    for batch, probabilities in batches:
        stored = table.loc[batch["id"].tolist()].filter(regex="^probability_").to_numpy()
        assert abs(stored - probabilities.detach().numpy()).max() < 1e-6


def test_no_epoch_that_was_validated_is_none(tmp_path):
    folder = RunFolder(tmp_path)
    write_json(folder.curves, [{"epoch": 0, "step": 1, "train/loss": 1.0}])
    assert summarise_run(folder, [], {}, "validation/loss", "min") == {"version": VERSION}
