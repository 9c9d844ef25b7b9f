"""Fine-tuning a tiny pretrained model by the command that trains everything: evidence, resuming, processes."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import torch

import attest
from attest.app.cli.main import main
from attest.app.evaluating import evaluate
from attest.core.attention import Sparsemax
from attest.core.errors import AttestError
from attest.lightning_modules import Classifier
from attest.models.pretrained.loading import load
from attest.report.collection import Decided
from attest.report.controls import baseline
from attest.runs.contents import RunContents
from attest.runs.folder import RunFolder, read_json
from benchmarks.sparse_pretrained import Swapped
from tests.app.test_parallel import copy_without_evidence, side_by_side
from tests.conftest import fresh_shell, without_places
from tests.finished_runs import ONE_EPOCH, PRETRAINED, copy_of, only_folder
from tests.forking import attest_command

pytestmark = pytest.mark.whole("a run from beginning to end")


@pytest.fixture(scope="module")
def command(library) -> list[str]:
    """Trains it with evidence of a few experiments."""
    return library.command("pretrained")


@pytest.fixture(scope="module")
def run(library) -> RunFolder:
    """Finished; read it, do not change it."""
    return library.run("pretrained")


def test_evidence_is_gathered_in_every_layer_and_over_subwords(run):
    assert run.path.parent.name.startswith("fine-tune-pretrained-none-softmax-")
    for experiment in ("E2", "E8", "E9"):
        table = pd.read_parquet(run.evidence(experiment))
        assert len(table) == 21
        assert {name.rpartition("_layer")[2] for name in table if "_layer" in name} == {"1", "2"}
    tokens = pd.read_parquet(run.evidence("instances"))["tokens"]
    assert all((text[0], text[-1]) == ("[CLS]", "[SEP]") for text in tokens)
    assert any(token.startswith("##") for text in tokens for token in text)
    assert "[CLS]" in run.report.read_text()


def test_the_rate_has_fallen_to_zero_when_training_ends(run):
    (schedule,) = torch.load(run.last, weights_only=True)["lr_schedulers"]
    assert schedule["last_epoch"] == schedule["steps"] > 0
    assert schedule["_last_lr"] == [0.0, 0.0]


def test_a_trained_run_is_opened_and_reads_new_texts(run):
    explained = attest.open_run(run.path).explain("a brilliant film")
    assert list(explained.tokens) == ["[CLS]", "a", "brilliant", "film", "[SEP]"]
    opened = attest.open_run(run.path)
    texts = opened.table()
    in_pieces = texts["id"][texts["tokens"].map(lambda tokens: any(token.startswith("##") for token in tokens))]
    tested = opened.tested(int(in_pieces.iloc[0]))
    again = opened.explain(" ".join(word.text for word in tested.words if not word.special))
    assert again.words == tested.words, "whole words, and special tokens apart"


def test_a_fine_tuned_model_is_saved_with_names_and_tokenizer_and_decides_as_the_run(run, tmp_path):
    opened = attest.open_run(run.path)
    opened.save_pretrained(tmp_path / "saved")
    model, tokenizer = load(str(tmp_path / "saved"))
    assert [model.config.id2label[number] for number in range(2)] == list(opened.label_names)
    text = "the film was brilliant ."
    found = model(**tokenizer(text, return_tensors="pt")).logits.softmax(dim=-1)[0]
    assert dict(zip(opened.label_names, found.tolist(), strict=True)) == pytest.approx(
        opened.explain(text).probabilities, abs=1e-5
    )


def test_a_stopped_run_ends_as_if_undisturbed(run, command, tmp_path, monkeypatch):
    """Dropout and the falling rate of learning included; stopped in the middle of the second epoch."""
    step = Classifier.training_step

    def until_the_fifth(module, batch, batch_idx):
        if module.global_step == 4:
            raise KeyboardInterrupt
        return step(module, batch, batch_idx)

    options = [*command, f"--run.root={tmp_path}"]
    with monkeypatch.context() as patch:
        patch.setattr(Classifier, "training_step", until_the_fifth)
        assert main(options) != 0
    stopped = only_folder(tmp_path)
    assert not stopped.trained
    assert main(options) == 0
    for checkpoint in ("best", "last"):
        ours, theirs = (torch.load(getattr(f, checkpoint), weights_only=True)["state_dict"] for f in (stopped, run))
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert stopped.summary.read_bytes() == run.summary.read_bytes()


def dependent(run, root, *arguments):
    """A command on a copy of the trained run, for a training of one epoch."""
    copy_of(run, root)
    return main([*arguments, f"--run.root={root}", *ONE_EPOCH])


def test_keys_of_a_pretrained_model_are_attacked(run, command, tmp_path):
    assert dependent(run, tmp_path, "keys", *command[1:], "ATTACK=adversarial") == 0
    (attacked,) = (path.parent for path in tmp_path.rglob("base.json"))
    state = torch.load(RunFolder(attacked).best, weights_only=True)["state_dict"]
    assert state["adversary.hidden.weight"].shape[1] == 16, "all heads side by side"
    table = pd.read_parquet(RunFolder(attacked).evidence("E9"))
    assert (table["distance"] > 0).all()
    assert table["jsd_attacked_layer2"].notna().all()


def test_an_adversary_has_no_pooled_attention_to_differ_in(run, command, tmp_path, capsys, snapshot):
    assert dependent(run, tmp_path, "adversarial", *command[1:]) == 2
    assert without_places(capsys.readouterr().err) == snapshot


def test_controls_are_other_seeds_and_the_rest_is_left_out_by_name(run, command):
    from attest.app.adversaries import AdversaryChoices, controls, without_sense
    from attest.app.dependent import Base

    base = Base(run, run.settings())
    assert [experiment for experiment, _, _ in controls(base, command[1:], [], 2, AdversaryChoices())] == ["E5", "E5"]
    left_out = dict(without_sense(base.settings))
    assert "would have to learn uniform attention from nothing" in left_out["E4"]
    assert "there is none that could guide another model" in left_out["E6"]


def test_two_processes_train_and_gather_the_same_evidence(run, command, tmp_path):
    """Training on two is another training; evidence of one model is the same on any number."""

    def fitted(root):
        options = [*command, *side_by_side(2), f"--run.root={root}"]
        subprocess.run([*attest_command(), *options], check=True, env=fresh_shell(), timeout=300)
        return only_folder(root)

    trained = fitted(tmp_path / "trained")
    ours, alone = (torch.load(each.best, weights_only=True)["state_dict"] for each in (trained, run))
    assert any(not torch.equal(ours[name], alone[name]) for name in alone)
    assert read_json(trained.timing)["environment"]
    copy = copy_without_evidence(run, tmp_path / "shared")
    fitted(tmp_path / "shared")
    for experiment in ("instances", "E2", "E8", "E9"):
        assert copy.evidence(experiment).read_bytes() == run.evidence(experiment).read_bytes()
    assert copy.summary.read_bytes() == run.summary.read_bytes()
    shutil.rmtree(tmp_path / "trained")


def test_without_a_model_to_start_from_it_says_what_to_type(tmp_path, capsys, snapshot):
    assert main(["fit", *PRETRAINED, f"--run.root={tmp_path}"]) == 2
    assert without_places(capsys.readouterr().err) == snapshot


def test_a_model_is_fine_tuned_with_another_projection_which_its_files_cannot_say(command, tmp_path):
    assert main([*command, "PROJECTION=sparsemax", f"--run.root={tmp_path}"]) == 0
    folder = only_folder(tmp_path)
    share = pd.read_parquet(folder.evidence("E8"))[["support_layer1", "support_layer2"]]
    assert (share < 1).any().all(), "its own attention leaves tokens out in both layers"
    opened = attest.open_run(folder.path)
    assert opened.explain("a brilliant film").probabilities
    with pytest.raises(AttestError, match="is not a softmax, and the format of the library transformers cannot say so"):
        opened.save_pretrained(tmp_path / "saved")


def test_the_projection_of_a_fine_tuned_model_is_swapped_after_training(run, tmp_path):
    swapped = Swapped(run, Sparsemax(), tmp_path)
    evaluate(swapped)
    assert swapped.model.network.exchanged
    assert pd.read_parquet(RunFolder(tmp_path).evidence("E19"))["needs_words"].notna().any()


@pytest.fixture(scope="module")
def tagger(library) -> RunFolder:
    """A tagger of words that are cut into subwords, with some tags that none can guess; read it, do not change it."""
    return library.run("pretrained-tagger")


def test_a_tagger_decides_at_the_first_subword_of_each_word(tagger):
    table = pd.read_parquet(tagger.evidence("tagged"))
    tags, tokens = np.concatenate(table["tags"].to_numpy()), np.concatenate(table["tokens"].to_numpy())
    assert {token for token, tag in zip(tokens, tags, strict=True) if tag >= 0} == {"the", "c", "b", "sees"}
    right = (tags == np.concatenate(table["predicted_tags"].to_numpy()))[tags >= 0]
    summary = read_json(tagger.summary)
    assert summary["test/accuracy"] == pytest.approx(right.mean())
    assert 0 < summary["test/accuracy"] < 1, "or the next line could not fail"
    correct = pd.read_parquet(tagger.evidence("E8"))["correct"]
    assert correct.to_numpy() == pytest.approx(Decided.by(RunContents(tagger)).rightly)
    asked = pd.read_parquet(tagger.evidence("E14"))["token"]
    assert all(row[place] >= 0 for row, place in zip(table["tags"], asked, strict=True)), "of a word's first subword"
    held = baseline(RunContents(tagger))
    assert held is not None
    assert held.majority.share == pytest.approx(np.bincount(tags[tags >= 0]).max() / (tags >= 0).sum())
