"""``attest keys`` from nothing: a base is trained, attacked and left as it was."""

import hashlib

import pandas as pd
import pytest
import torch

from attest.app.cli.main import main
from attest.replication.table import instance_values, measured
from attest.runs.folder import RunFolder, read_json
from attest.runs.published_tables import PublishedColumn
from tests.conftest import without_places
from tests.finished_runs import KEYS, copy_of, typed


def base_of(root) -> RunFolder:
    (config,) = root.glob("*/*/seed0/config.yaml")
    return RunFolder(config.parent)


@pytest.fixture(scope="module")
def root(library):
    """A base attacked in every trained way, for one epoch each."""
    return library.root("keys")


@pytest.mark.whole("three trainings in a row")
def test_the_base_in_an_attacks_checkpoint_is_the_base_bit_by_bit(root):
    base = base_of(root)
    theirs = torch.load(base.best, weights_only=True)["state_dict"]
    for attack in ("adversarial", "opposite"):
        (folder,) = (base.path / "keys").glob(f"{attack}*")
        ours = torch.load(RunFolder(folder).best, weights_only=True)["state_dict"]
        assert all(torch.equal(ours[name], value) for name, value in theirs.items() if name.startswith("network."))
        assert any(name.startswith("adversary.") for name in ours)
        assert read_json(folder / "base.json")["sha256"] == hashlib.sha256(base.best.read_bytes()).hexdigest()


@pytest.mark.whole("three trainings in a row")
def test_an_attacks_table_its_scores_and_its_report_agree(root):
    for attack in ("adversarial", "opposite"):
        (path,) = (base_of(root).path / "keys").glob(f"{attack}*")
        folder = RunFolder(path)
        rows, summary = pd.read_parquet(folder.evidence("E9")), read_json(folder.summary)
        assert len(rows) == 77
        assert summary["test/accuracy"] == pytest.approx(rows["correct_attacked"].mean())
        assert summary["E9/correct/mean"] == pytest.approx(read_json(base_of(root).summary)["test/accuracy"])
        expected = rows["correct"] ^ rows["flipped"] ^ (attack == "opposite")
        assert (rows["correct_attacked"] == expected).all(), "two classes: a flip makes right wrong"
        assert "accuracy under attack" in folder.report.read_text()


@pytest.mark.whole("three trainings in a row")
def test_two_attacks_can_be_compared_text_by_text(root):
    """The mean over the texts is the score, so the texts are those that the score is about."""
    for attack in ("adversarial", "opposite"):
        (folder,) = (base_of(root).path / "keys").glob(f"{attack}*")
        accuracy = PublishedColumn("accuracy", "test/accuracy")
        right = instance_values(folder, accuracy)
        assert len(right) == 77
        assert right.mean() == pytest.approx(measured(folder, accuracy))


@pytest.mark.whole("three trainings in a row")
def test_shuffling_is_evidence_on_the_base_and_what_is_there_is_not_done_again(root, tmp_path, capsys):
    copy = copy_of(base_of(root), tmp_path)
    assert main(typed(KEYS, "ATTACK=shuffle,opposite", f"--run.root={tmp_path}")) == 0
    assert "correct_shuffled_layer2" in pd.read_parquet(copy.evidence("E9"))
    assert capsys.readouterr().out.count("complete:") == 2, "the base and the attack"


@pytest.mark.whole("a training")
def test_keys_move_away_by_the_published_norm_where_it_is_asked_for(root, tmp_path):
    copy = copy_of(base_of(root), tmp_path)
    assert main(typed(KEYS, "ATTACK=adversarial-norm", f"--run.root={tmp_path}")) == 0
    folders = (copy.path / "keys").glob("adversarial*")
    arguments = {folder.name.startswith("adversarial-norm"): RunFolder(folder).settings()["model"] for folder in folders}
    assert {norm: each["init_args"]["distance"] for norm, each in arguments.items()} == {False: "log", True: "norm"}


@pytest.mark.parametrize(
    "arguments", [["DATA=planted", "MODEL=bilstm"], ["MODEL=tagger"], ["MODEL=transformer-dr", "ATTACK=shufle"]]
)
def test_what_cannot_be_attacked_is_named_before_anything_is_trained(arguments, tmp_path, capsys, snapshot):
    assert main(["keys", *arguments, f"--run.root={tmp_path}"]) == 2
    assert without_places(capsys.readouterr().err) == snapshot
    assert list(tmp_path.iterdir()) == []
