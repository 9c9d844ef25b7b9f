"""Runs inside the folder of another run: begun after it, recorded, resumed, refused when their base has changed."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from attest.app.dependent import Dependent, train_base, train_dependent
from attest.core.errors import AttestError
from attest.lightning_modules import Classifier
from attest.models.networks import PoolingClassifier
from attest.runs.asked import AskedRun
from attest.runs.belonging import keep_digests
from attest.runs.choices import split_arguments
from attest.runs.folder import RunFolder, read_json, write_table
from tests.finished_runs import SMALL_RUN, SMALL_TRAINING, only_folder

pytestmark = pytest.mark.whole("a run from beginning to end")


class Successor(Classifier):
    """Goes on where its base ended."""

    def __init__(self, base_network: Callable[[int, int], nn.Module], **options: Any) -> None:
        super().__init__(**options)
        assert isinstance(base_network(2, 1), PoolingClassifier)

    def take_base(self, state: dict[str, Tensor]) -> None:
        self.network.load_state_dict(state)


def compare_lengths(base: RunFolder, run: RunFolder) -> None:
    theirs, ours = (pd.read_parquet(folder.evidence("instances")) for folder in (base, run))
    write_table(run.evidence("E99"), pd.DataFrame({"id": ours["id"], "same": ours["length"] == theirs["length"]}))


OVERLAY = {
    "model": {"class_path": f"{__name__}.Successor"},
    "experiments": {"instances": {}},
    "trainer": {"max_epochs": 1},
}


def successor(**changes: Any) -> Dependent:
    return Dependent("successors", "next", OVERLAY | changes, {"E99": compare_lengths})


@pytest.fixture(scope="module")
def root(small_run, tmp_path_factory):
    copy = tmp_path_factory.mktemp("dependent")
    shutil.copytree(small_run.path.parents[2], copy, dirs_exist_ok=True)
    return copy


@pytest.fixture(scope="module")
def base(root):
    return train_base(AskedRun.of([*SMALL_RUN, f"--run.root={root}"]))


@pytest.fixture(scope="module")
def run(base):
    return train_dependent(base, successor())


@pytest.fixture
def another(base, run, tmp_path):
    """A copy of base and run that may be changed."""
    shutil.copytree(base.folder.path.parents[2], tmp_path, dirs_exist_ok=True)
    return train_base(AskedRun.of([*SMALL_RUN, f"--run.root={tmp_path}"]))


def test_it_lies_inside_its_base_and_says_what_it_read(base, run):
    assert run.path == base.folder.path / "successors" / "next"
    record = read_json(run.path / "base.json")
    assert (run.path / record["checkpoint"]).resolve() == base.folder.best.resolve()
    assert read_json(run.timing)["base"]["wandb_id"] == read_json(base.folder.timing)["wandb_id"]


def test_it_is_a_whole_run_with_comparisons(run):
    assert run.complete(["instances", "E99"])
    assert read_json(run.summary)["E99/same/mean"] == 1.0


def test_it_starts_from_the_network_of_its_base(base, run):
    """One epoch more than the base: near it, and not it."""
    ours, theirs = (torch.load(f.best, weights_only=True)["state_dict"] for f in (run, base.folder))
    name = "network.encoder.embedding.weight"
    moved = (ours[name] - theirs[name]).abs().max()
    assert 0 < moved < 0.1


def test_the_base_is_not_trained_again_and_the_run_not_done_again(base, run, capsys):
    before = base.folder.best.stat().st_mtime_ns, run.summary.stat().st_mtime_ns
    train_dependent(base, successor())
    assert capsys.readouterr().out.startswith(f"complete: {run.path}")
    assert (base.folder.best.stat().st_mtime_ns, run.summary.stat().st_mtime_ns) == before


def test_a_missing_base_is_trained_first(tmp_path):
    base = train_base(AskedRun.of([*SMALL_TRAINING, "--trainer.max_epochs=1", f"--run.root={tmp_path}", "EXPERIMENTS=none"]))
    assert base.folder.trained
    assert base.folder.path == only_folder(tmp_path).path


def test_a_base_that_cannot_be_depended_on_is_refused_before_training(tmp_path):
    def refuse(settings: dict) -> None:
        raise AttestError("no")

    with pytest.raises(AttestError, match="no"):
        train_base(AskedRun.of([*SMALL_RUN, f"--run.root={tmp_path / 'runs'}"]), refuse)
    assert not (tmp_path / "runs").exists()


def test_a_stopped_comparison_is_made_up_for_without_training(another):
    run = RunFolder(another.folder.path / "successors" / "next")
    table, checkpoint = run.evidence("E99").read_bytes(), run.best.stat().st_mtime_ns
    run.evidence("E99").unlink()
    train_dependent(another, successor())
    assert run.evidence("E99").read_bytes() == table
    assert run.best.stat().st_mtime_ns == checkpoint


def test_a_base_that_changed_is_refused_until_forced(another):
    state = torch.load(another.folder.best, weights_only=True)
    state["state_dict"]["network.decoder.bias"] += 1
    torch.save(state, another.folder.best)
    keep_digests(another.folder)  # as a base does that was trained again
    run = RunFolder(another.folder.path / "successors" / "next")
    before = read_json(run.path / "base.json")["sha256"]
    with pytest.raises(AttestError, match=rf"best.ckpt has changed since .*next began .*{before[:12]}.*FORCE=1"):
        train_dependent(another, successor())
    train_dependent(another, successor(), ["FORCE=1"])
    assert read_json(run.path / "base.json")["sha256"] != before


def test_other_options_get_another_folder(another):
    run = train_dependent(another, successor(), ["--trainer.limit_train_batches=2"])
    assert run.path.name.startswith("next-")
    assert (run.path.parent / "next").is_dir()


def test_arguments_are_parted_at_two_dashes_and_force_never_reaches_the_base():
    base, own = split_arguments(["DATA=sst", "FORCE=1", "--a=1", "--", "--b=2"])
    assert (base, own) == (["DATA=sst", "--a=1"], ["FORCE=1", "--b=2"])
    assert split_arguments(["DATA=sst"]) == (["DATA=sst"], [])


def test_the_run_file_of_wandb_names_the_base(base, run):
    from tests.report.tracking.test_wandb import records

    (path,) = run.path.glob("wandb/offline-run-*/*.wandb")
    found = list(records(path))
    (config,) = [item for record in found for item in (*record.config.update, *record.run.config.update) if item.key == "base"]
    assert json.loads(config.value_json)["sha256"] == read_json(run.path / "base.json")["sha256"]
    artifacts = {record.artifact.type: record.artifact.metadata for record in found if record.HasField("artifact")}
    base_model = f"model-{read_json(base.folder.timing)['wandb_id']}"
    assert {json.loads(artifacts[kind])["base_model"] for kind in ("model", "evidence")} == {base_model}
