"""``attest.open_run`` and ``attest.train``: what the commands make, from Python."""

import html
import shutil

import pandas as pd
import pytest
import torch

import attest
from attest.core.memory import memory_budget
from attest.runs.belonging import keep_digests
from attest.runs.folder import RunFolder, read_json, write_json
from tests.conftest import THREADS
from tests.finished_runs import SMALL_RUN


@pytest.fixture(scope="module")
def opened(small_run):
    return attest.open_run(small_run.path)


def test_a_run_says_what_its_files_say(opened, small_run):
    assert opened.summary == read_json(small_run.summary)
    assert opened.settings["run"]["data"] == "planted"
    assert {"E1", "instances"} < set(opened.experiments)
    pd.testing.assert_frame_equal(opened.table("E1"), pd.read_parquet(small_run.evidence("E1")))
    assert opened.report_path == small_run.report
    page = html.unescape(small_run.report.read_text(encoding="utf-8"))
    for answer in opened.answers.values():
        assert answer.split("\xa0")[0] in page
    assert opened.answers["E2"] in html.unescape(opened._repr_html_())
    assert repr(opened).startswith(f"Run of {small_run.path}\n")


def test_a_network_that_is_no_transformer_of_the_library_is_not_saved_as_one(opened, tmp_path, refusal):
    with refusal():
        opened.save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_training_from_python_is_the_run_that_the_command_made(small_run):
    run = attest.train(data="planted", root=small_run.path.parents[2], arguments=SMALL_RUN[1:])
    assert run.path == small_run.path
    assert run.summary == read_json(small_run.summary)


def test_what_training_sets_is_set_back(small_run):
    budget = memory_budget()
    torch.set_num_threads(THREADS + 1)
    try:
        attest.train("planted", root=small_run.path.parents[2], arguments=(*SMALL_RUN[1:], "--run.memory_gib=0.5"))
        assert (memory_budget(), torch.get_num_threads()) == (budget, THREADS + 1)
    finally:
        torch.set_num_threads(THREADS)


@pytest.mark.parametrize(
    ("choices", "sentence"),
    [
        ({"data": "plantd"}, "DATA=plantd is not known; expected one of"),
        ({"colour": "blue"}, "COLOUR=blue begins with an unknown name"),
        ({"arguments": ["--trainer.max_epochs=many"]}, "max_epochs"),
    ],
)
def test_a_mistyped_choice_gets_a_sentence(choices, sentence, tmp_path):
    with pytest.raises(attest.AttestError, match=sentence):
        attest.train(root=tmp_path, **choices)


@pytest.mark.whole("commands on copies of a run")
@pytest.mark.usefixtures("one_thread")
def test_a_trial_of_its_model_on_its_test_split_is_its_own_evidence(opened, small_run):
    trial = attest.trial(opened.model, opened.split("test"), {"E1": {}, "E10": {"texts": 8}, "E12": {}}, progress=False)
    for experiment in ("E1", "E10", "E12"):
        pd.testing.assert_frame_equal(trial.table(experiment), opened.table(experiment))
    columns = ["id", "label", "predicted", "length", "probability_praise", "attention", "tokens"]
    pd.testing.assert_frame_equal(trial.table()[columns], opened.table()[columns])
    assert trial.summary["test/roc_auc"] == opened.summary["test/roc_auc"]


def test_a_new_text_is_explained(opened):
    tested = opened.table().set_index("id").loc[7]
    text = opened.explain(" ".join(tested["tokens"]))
    assert text.probabilities["praise"] == pytest.approx(tested["probability_praise"], abs=1e-6)
    assert text.tokens == list(tested["tokens"])
    assert opened.label_names == ("blame", "praise")
    with pytest.raises(attest.AttestError, match="has no words"):
        opened.explain(" ")


def test_what_is_no_run_gets_a_sentence(small_run, tmp_path, refusal):
    with refusal():
        attest.open_run(tmp_path / "nowhere")
    with refusal():
        attest.open_run(tmp_path)
    with refusal():
        attest.open_run(small_run.path.parents[1])
    (tmp_path / "config.yaml").touch()
    with refusal():
        attest.open_run(tmp_path)


def test_a_split_of_data_that_has_changed_is_refused(small_run, tmp_path, refusal):
    copy = RunFolder(tmp_path / "seed0")
    shutil.copytree(small_run.path, copy.path, ignore=shutil.ignore_patterns("wandb"))
    record = read_json(copy.data)
    write_json(copy.data, record | {"fingerprints": dict.fromkeys(record["fingerprints"], "0" * 64)})
    keep_digests(copy)  # as if it had been trained on other data, and no evidence had been gathered
    shutil.rmtree(copy.evidence("E1").parent)
    with refusal():
        attest.open_run(copy.path).split("test")


def test_a_split_that_is_not_there_gets_a_sentence(opened, refusal):
    with refusal():
        opened.split("dev")


def test_a_run_is_opened_by_a_function(refusal):
    with refusal():
        attest.Run("runs/here")
