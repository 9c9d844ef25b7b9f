"""``attest.trial``: a model of anyone's gets the numbers, tables, answers and report that a run of ours gets."""

import gc

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

import attest
from attest.core.errors import AttestError
from attest.core.memory import memory_budget
from attest.experiments import attention_permutation, observe
from attest.experiments.registry import EXPERIMENTS
from attest.report.answer import NO_WORDS
from attest.report.findings import Findings
from attest.report.gate import verdict_of
from tests.experiments.networks import VOCABULARY, FourSteps, Sentences, pooling_classifier, ragged_batch

TEXTS = ["a fine <b>film</b>", "dull", "dull dull and dull again", "no , not fine"]
WORDS = sorted({word for text in TEXTS for word in text.split()})
QUICK = {"E1": {}, "E2": {"permutations": 9}, "E3": {"restarts": 0}, "E8": {}, "E11": {}, "E12": {}, "E13": {}}


def encode(text: str) -> list[int]:
    return [2 + WORDS.index(word) for word in text.split()]


def tried(network: nn.Module | None = None, experiments=("E2",), **options) -> attest.Trial:
    network = network or pooling_classifier()
    return attest.trial(network, TEXTS, experiments, encode=encode, progress=False, **options)


@pytest.fixture(scope="module")
def whole():
    return tried(experiments=QUICK, labels=[1, 0, 0, 1], label_names=["bad", "good"])


@pytest.fixture(scope="module")
def unlabelled():
    return tried(experiments=QUICK)


def test_numbers_are_those_of_the_experiments_themselves(whole):
    ids, tokens = torch.arange(4), nn.utils.rnn.pad_sequence([torch.tensor(encode(text)) for text in TEXTS], batch_first=True)
    observation = observe(pooling_classifier(), ids, tokens, tokens > 0)
    expected = attention_permutation(observation, 9, seed=0)["tvd_median"]
    table = whole.table("E2")
    assert table["id"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(table["tvd_median"], expected.numpy(), atol=1e-12)
    assert whole.summary["E2/tvd_median/mean"] == pytest.approx(float(expected.mean()), abs=1e-12)


def test_a_table_has_one_row_a_text_and_lists_as_long_as_it(whole):
    for experiment in (*QUICK, "instances"):
        table = whole.table(experiment)
        assert list(table.columns[:4]) == ["id", "label", "predicted", "length"]
        assert table["length"].tolist() == [3, 1, 5, 4]
    assert [list(tokens) for tokens in whole.table()["tokens"]] == [text.split() for text in TEXTS]
    assert [len(weights) for weights in whole.table("E1")["gradient_inputs"]] == [3, 1, 5, 4]


def test_scores_are_of_the_labels(whole):
    table = whole.table()
    assert whole.summary["test/accuracy"] == (table["label"] == table["predicted"]).mean()
    assert {"test/f1", "test/roc_auc"} <= whole.summary.keys()


def test_labels_by_name_and_columns_of_a_shuffled_table_are_the_same(whole):
    frame = pd.DataFrame({"text": TEXTS, "label": [1, 0, 0, 1]}, index=[3, 0, 2, 1])
    for labels in (["good", "bad", "bad", "good"], frame["label"], frame["label"].to_numpy()[:, None]):
        again = attest.trial(
            pooling_classifier(),
            frame["text"],
            ("E2",),
            encode=encode,
            labels=labels,
            label_names=["bad", "good"],
            progress=False,
        )
        assert again.table()["label"].tolist() == [1, 0, 0, 1]
        assert again.summary["test/accuracy"] == whole.summary["test/accuracy"]


def test_without_labels_nothing_is_right_or_wrong(unlabelled, whole):
    assert not any(key.startswith("test/") or "correct" in key for key in unlabelled.summary)
    assert "label" not in unlabelled.table("E8")
    assert unlabelled.table("E8")["kept_softmax"].all(), "it was trained with softmax"
    said = unlabelled.answers["E8"].replace("\xa0", " ")
    assert "decisions that stay with another projection: 100 % [40 %, 100 %] under softmax" in said
    pd.testing.assert_frame_equal(unlabelled.table("E12"), whole.table("E12").drop(columns="label"))


def test_answers_are_sentences_by_experiment(whole):
    assert {"E1", "E2", "E3", "E8", "E11", "E12"} <= whole.answers.keys()
    assert all(answer.endswith(".") for answer in whole.answers.values())


def test_the_report_is_one_page_with_everything_in_it(whole, tmp_path):
    page = whole.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page.count("<svg") >= 6
    assert "make controls" not in page, "no command of ours trains this model again"
    assert "beside this page" not in page
    assert "predicted bad" in page
    assert "<b>film</b>" not in page


def test_the_report_of_unlabelled_texts_names_no_label(unlabelled, tmp_path):
    page = unlabelled.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "· label" not in page.split("<script")[0]
    assert '"rows":[[0,' in page
    assert ",null," in page


def test_a_text_is_explained_in_words_and_in_a_cell(whole):
    text = whole.explain(0)
    assert text.tokens == TEXTS[0].split()
    assert text.label == "good"
    assert sum(text.probabilities.values()) == pytest.approx(1)
    assert list(text.weights())[:2] == ["Attention", "Gradient × input"]
    np.testing.assert_array_equal(text.weights()["Attention"], whole.table().loc[0, "attention"])
    assert "most: " in repr(text)
    cell = text._repr_html_()
    assert "&lt;b&gt;film&lt;/b&gt;" in cell
    assert "rgba(0,114,178" in cell


def test_a_cell_shows_the_verdict(whole):
    assert repr(whole).startswith("Trial of PoolingClassifier on 4 texts\n")
    cell = whole._repr_html_()
    assert "Does the prediction depend on where attention lies?" in cell
    assert whole.answers["E2"] in cell


def test_a_trial_is_called_by_the_name_that_it_was_given():
    named = tried(experiments=("E2",), name="my film model")
    assert repr(named).startswith("Trial of my film model\n")
    assert "Trial of my film model" in named._repr_html_()


def test_a_trial_does_not_ask_for_a_control_that_nobody_can_train(whole):
    assert "E4" not in whole.answers
    page = whole.folder.report if whole.folder.report.is_file() else whole.report(whole.folder.path / "page.html")
    written = page.read_text(encoding="utf-8")
    assert "uniform attention" not in written.partition("<section")[2].partition("How it was computed")[0]
    about = whole.settings["trial"]
    assert f"<title>Attest: {about['model'].rpartition('.')[2]} on {about['texts']} texts</title>" in written


def test_a_trial_that_is_saved_is_a_run_without_a_model(whole, tmp_path, refusal):
    run = whole.save(tmp_path / "kept" / "mine")
    assert run.summary == whole.summary
    assert run.answers == whole.answers
    assert run.report_path.is_file()
    assert run.settings["trial"]["experiments"]["E2"] == {"permutations": 9}
    with refusal():
        run.explain("dull")
    with refusal():
        whole.save(run.path)


def test_its_files_go_with_it():
    trial = tried()
    place = trial.folder.path.parents[1]
    assert place.is_dir()
    del trial
    gc.collect()
    assert not place.exists()


def test_the_model_is_left_as_it_was():
    network = FourSteps(pooling_classifier()).train()
    network.network.eval()
    before, budget = {name: value.clone() for name, value in network.state_dict().items()}, memory_budget()
    tried(network, memory_gib=0.25)
    assert network.training
    assert not network.network.training
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert memory_budget() == budget


def test_batches_are_taken_as_they_are_and_counted():
    ids, tokens, mask = ragged_batch([3, 5])
    first = {"token_ids": tokens, "mask": mask, "label": torch.tensor([0, 1])}
    trial = attest.trial(pooling_classifier(), iter([first, dict(first)]), ["E2"], progress=False)
    assert trial.table()["id"].tolist() == [0, 1, 2, 3]
    assert list(trial.table()["tokens"][0]) == [str(token) for token in tokens[0, :3].tolist()]
    named = attest.trial(
        pooling_classifier(), [first | {"id": ids}], ["E2"], words=list(map(chr, range(60, 200))), progress=False
    )
    assert named.table()["id"].tolist() == [100, 101]
    assert list(named.table()["tokens"][0]) == [chr(60 + token) for token in tokens[0, :3].tolist()]


def test_results_do_not_depend_on_batches():
    alone, together = tried(batch_size=1), tried()
    pd.testing.assert_frame_equal(alone.table("E2"), together.table("E2"), rtol=1e-12)


def test_a_sample_is_one_of_all_texts_whatever_the_batches():
    entropies = tried(experiments={"E10": {"texts": 2}}, batch_size=1).table("E10")["entropy_hidden"]
    assert 1 <= entropies.notna().sum() <= 2
    pd.testing.assert_series_equal(entropies, tried(experiments={"E10": {"texts": 2}}).table("E10")["entropy_hidden"])


def test_attention_over_sentences_is_asked_what_needs_no_tokens():
    mask = torch.tensor([[True, True, False], [True, True, True]])
    batch = {"token_ids": torch.randint(1, VOCABULARY, (2, 3, 4)), "mask": mask.unsqueeze(-1).expand(2, 3, 4)}
    settings = attest.trial(Sentences(), [batch | {"sentence_mask": mask}], progress=False)
    assert {"E11", "E12", "E13", "E2", "E3", "E8", "instances"} <= {*settings.experiments}
    assert not [name for name in settings.experiments if name in EXPERIMENTS and EXPERIMENTS[name].of_tokens]
    assert list(settings.table()["tokens"][0]) == ["sentence 1", "sentence 2"]
    assert settings.unanswered == NO_WORDS
    assert not settings._findings.lacking
    with pytest.raises(AttestError, match="this model attends to whole sentences"):
        verdict_of(Findings(settings.folder))


class Mean(nn.Module):
    pools_by_attention = False


class Undecided(FourSteps):
    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return super().decode(hidden, weights) * torch.nan


BATCH = dict(zip(("id", "token_ids", "mask"), ragged_batch([3, 5]), strict=True))


@pytest.mark.parametrize(
    ("model", "data", "options"),
    [
        (Mean(), TEXTS, {"encode": encode}),
        (Undecided(pooling_classifier()), TEXTS, {"encode": encode}),
        (None, "dull", {}),
        (None, BATCH, {}),
        (None, [], {}),
        (None, TEXTS, {}),
        (None, ["fine", " "], {"encode": encode}),
        (None, TEXTS, {"encode": encode, "labels": [1]}),
        (None, TEXTS, {"encode": encode, "labels": [0, 1, 2, 0]}),
        (None, TEXTS, {"encode": encode, "label_names": {0: "bad"}}),
        (None, [*TEXTS, None], {"encode": encode}),
        (None, [BATCH | {"label": [0, 1]}, BATCH | {"id": torch.tensor([8, 9])}], {}),
        (None, TEXTS, {"encode": encode, "labels": ["bad"] * 4}),
        (None, TEXTS, {"encode": encode, "label_names": ["bad", "bad"]}),
        (None, pd.DataFrame({"n": [1], "said": ["dull"]}), {}),
        (None, [BATCH | {"label": [0, 3]}], {}),
        (None, TEXTS, {"encode": encode, "label_names": list("abc")}),
        (None, [(1, 2)], {}),
        (None, [{"ids": BATCH["token_ids"]}], {}),
        (None, [{"input_ids": BATCH["token_ids"]}], {}),
        (None, [("fine", "dull")], {}),
        (None, [BATCH, BATCH], {}),
        (None, [BATCH], {"labels": [0, 1]}),
        (None, [BATCH], {"words": ["a", "b"]}),
        (None, [BATCH], {"experiments": ["E2", "E4"]}),
        (None, [BATCH], {"experiments": []}),
        (None, [BATCH], {"experiments": {"E2": {"draws": 3}}}),
        (None, [BATCH], {"memory_gib": 0}),
        (None, {"fine", "dull"}, {"encode": encode}),
        (None, TEXTS, {"encode": encode, "labels": {0, 1}}),
        (None, [BATCH], {"experiments": {"E14": {"erase_by": ["delet"]}}}),
        (None, [BATCH], {"experiments": {"E14": {"erase_by": "delete"}}}),
        (None, [BATCH], {"experiments": {"E14": {"erase_by": []}}}),
        (None, [BATCH], {"experiments": {"E14": {"extras": "no"}}}),
        (None, ["fine", "a \ud83d film"], {"encode": encode}),
        (None, [("fine", "a \ud83d film")], {"encode": encode}),
        (None, [["a", "\ud83d"], ["fine"]], {"encode": encode}),
        (None, TEXTS, {"encode": lambda text: [1.5, 2.0]}),
        (None, TEXTS, {"encode": lambda text: {"input_ids": [1, 2]}}),
        (None, TEXTS, {"encode": lambda text: None}),
    ],
)
def test_what_cannot_be_tried_gets_a_sentence(model, data, options, refusal):
    with refusal():
        attest.trial(model or pooling_classifier(), data, **{"experiments": ["E2"], "progress": False} | options)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named_first(value):
    model = pooling_classifier()
    with torch.no_grad():
        model.decoder.weight[0, 0] = value
    with pytest.raises(attest.AttestError, match=r"contain NaN or infinity \(decoder\.weight\)"):
        attest.trial(model, [BATCH], ["E2"], progress=False)


def test_what_was_asked_is_written_down_as_it_was_asked():
    asked = {"E14": {"erase_by": ["delete", "mask"], "texts": 1, "extras": False}}
    trial = attest.trial(pooling_classifier(), [BATCH], asked, progress=False)
    assert trial.folder.settings()["trial"]["experiments"] == asked


def test_a_module_that_reads_no_tokens_is_named_with_what_it_said():
    with pytest.raises(attest.AttestError, match=r"Linear cannot read token ids int64 .* expected forward\(tokens, mask\)\."):
        attest.trial(nn.Linear(2, 2), TEXTS, ["E2"], encode=encode, progress=False)


def test_a_table_that_is_not_there_gets_a_sentence(whole, tmp_path, refusal):
    with refusal():
        whole.table("E5")
    with refusal():
        whole.explain(9)
    with refusal():
        whole.report(tmp_path / "page.txt")


def test_resample_draws_from_the_background_that_is_given():
    few = {"E14": {"texts": 4, "sets": 2, "extras": False}}
    assert "win_comprehensiveness_resample" not in tried(experiments=few).table("E14")
    resampled = tried(experiments=few, background=["dull"]).table("E14")
    masked = tried(pooling_classifier(), few, background=[[1]]).table("E14")
    several = masked["length"] > 1
    assert resampled["win_comprehensiveness_resample"].notna().equals(several)
    np.testing.assert_allclose(  # nothing but the unknown token to draw: resampling is masking
        masked["comprehensiveness_resample"][several], masked["comprehensiveness_mask"][several], atol=1e-9
    )
    assert (resampled["comprehensiveness_resample"] - resampled["comprehensiveness_mask"])[several].abs().max() > 1e-4


def test_a_background_without_tokens_or_encoding_is_refused(refusal):
    with pytest.raises(attest.AttestError, match="the background has no token"):
        tried(experiments={"E14": {}}, background=[[], []])
    _, tokens, mask = ragged_batch([3, 2])
    batch = {"token_ids": tokens, "mask": mask}
    with refusal():
        attest.trial(pooling_classifier(), [batch], {"E14": {}}, background=["dull"], progress=False)
