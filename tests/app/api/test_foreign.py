"""A model of transformers on trial, from texts to the report."""

import re
import warnings
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import entropy

import attest
from attest.app.api.measuring import Measuring
from attest.core.errors import AttestError
from attest.core.kinds import CHOICE, LABELS, NUMBER
from attest.core.memory import budget_kept, set_memory_budget
from attest.models.networks import TransformerClassifier
from attest.models.observation import observe
from attest.models.pretrained.network import PretrainedNetwork
from attest.report.findings import Findings
from attest.runs.folder import TRIAL
from tests.experiments.networks import pooling_classifier
from tests.models.pretrained.test_softmaxes import Own
from tests.models.pretrained.tiny import BART, TEXTS, WORDS, batch, tiny

QUICK = {"E1": {}, "E2": {"permutations": 2}, "E3": {"steps": 2, "texts": 2}, "E8": {}, "E9": {"draws": 2}, "E13": {}}


@pytest.fixture(scope="module")
def tried(model, tokenizer):
    return attest.trial(model, TEXTS, QUICK | {"E14": {"texts": 5}}, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1])


def test_texts_are_read_as_the_model_reads_them(tried):
    table = tried.table()
    assert list(table["tokens"][1]) == ["[CLS]", "a", "dull", "film", ".", "[SEP]"]
    assert list(table["tokens"][3]) == ["[CLS]", "very", "dull", "##y", "film", "[SEP]"]
    assert {"probability_bad", "probability_good"} <= set(table)
    assert "[UNK]" in list(table["tokens"][4])


def test_words_count_beside_subwords_and_special_tokens_never(tried):
    table = tried.table("E1")
    assert {"tau_leave_one_out_inputs", "tau_words_leave_one_out_inputs"} <= set(table)
    assert tried.table()["special"][3].tolist() == [True, False, False, False, False, True]
    left_out = table["leave_one_out_words"][3]  # [CLS] very dull ##y film [SEP]
    assert [place for place, moved in enumerate(left_out) if moved > 0] == [1, 2, 4]


@pytest.mark.parametrize("network", ["own", "foreign"])
def test_what_the_layers_did_is_kept_without_its_graph(network, model):
    """The graph would keep the activations of a whole pass alive, as long as the batch is measured."""
    torch.manual_seed(0)
    network = TransformerClassifier(30, 1) if network == "own" else PretrainedNetwork(model, 0)
    tokens = torch.tensor([[2, 5, 6, 8, 3], [2, 5, 7, 3, 0]])
    observation = observe(network.eval(), torch.arange(2), tokens, tokens != 0)
    seen = Measuring(network, {}, (), 0)._layers(observation)
    kept = [seen.logits, *seen.attention.values(), *seen.inputs.values()]
    assert not any(each.requires_grad for each in kept)


def test_a_cell_shows_words_and_special_tokens_in_grey(tried):
    """``very dully film`` is read as very dull ##y film between [CLS] and [SEP]."""
    text = tried.explain(3)
    assert [(word.text, word.special) for word in text.words] == [
        ("[CLS]", True), ("very", False), ("dully", False), ("film", False), ("[SEP]", True)
    ]  # fmt: skip
    attention = text.explanations[0]
    of_words = attention.weights[[1, 2, 4]] + [0, attention.weights[3], 0]
    assert attention.heat(text.words) == pytest.approx([0, *(of_words / of_words.max()), 0])
    cell = text._repr_html_()
    assert '<span style="opacity:.45">[CLS]</span>' in cell
    assert "##y" not in cell
    assert cell.count("<strong>") == 1 + len(text.explanations)
    assert cell.count("<details") == 1, "attention stands before the fold"


def test_hidden_states_that_no_step_hands_on_are_not_asked_about(tried):
    """Everything is read by ``decode``: leaving out a state would read each text once more a token to say what E14 says."""
    assert [name for name in tried.table("E1") if "hidden" in name] == []


def test_a_network_of_ones_own_is_given_tokens_and_mask_alone():
    """Whatever else stands in a batch: ``encode(tokens, mask)`` takes nothing more."""
    tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
    beside = {"token_type_ids": 0 * tokens, "roles": tokens, "asked": torch.arange(2)}
    tried = attest.trial(
        pooling_classifier(), [{"token_ids": tokens, "mask": tokens > 0} | beside], {"E14": {}}, progress=False
    )
    assert len(tried.table("E14")) == 2


@torch.no_grad()
def test_predictions_are_the_models_own(tried, model, tokenizer):
    for row, text in enumerate(TEXTS):
        own = model(**tokenizer(text, return_tensors="pt")).logits.softmax(dim=-1)[0, 1]
        assert tried.table()["probability_good"][row] == pytest.approx(float(own), abs=1e-6)


def test_every_experiment_has_its_table_of_all_layers_and_of_each(tried):
    assert {"E1", "E2", "E3", "E8", "E9", "E13", "E14"} <= set(tried.experiments)
    for experiment in ("E2", "E9"):
        assert {name.rpartition("_layer")[2] for name in tried.table(experiment) if "_layer" in name} == {"1", "2"}
    searched = tried.table("E3")["jsd_search"]
    assert (len(searched), searched.notna().sum()) == (5, 2), "a sample"
    assert 0 <= tried.summary["test/accuracy"] <= 1


@pytest.mark.usefixtures("one_thread")
def test_processes_share_the_texts_and_change_nothing(model, tokenizer):
    settings = {"labels": [1, 0, 0, 0, 1], "tokenizer": tokenizer, "batch_size": 2}
    alone, shared = (attest.trial(model, TEXTS, QUICK, processes=processes, **settings) for processes in (1, 2))
    for experiment in alone.experiments:
        pd.testing.assert_frame_equal(alone.table(experiment), shared.table(experiment), check_exact=True)
    assert alone.summary == shared.summary


def test_attention_begins_where_the_model_decides(tried, model, tokenizer):
    """Rollout of a BERT begins at its first token, not at the mean of all."""
    from attest.experiments.layers import attention_rollout, observe_layers
    from attest.models.pretrained.network import PretrainedNetwork

    ids = tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
    network = PretrainedNetwork(model, 0)
    layers = observe_layers(network, None, ids, torch.ones_like(ids, dtype=torch.bool))
    first = torch.zeros(1, ids.shape[1])
    first[0, 0] = 1
    expected = attention_rollout(layers.attention, first)[0].detach()
    assert tried.table()["attention"][0] == pytest.approx(expected.numpy(), abs=1e-6)


def test_dropout_of_a_model_in_training_mode_is_left_out(tried, model, tokenizer):
    """In training its weights carry dropout, and rows sum to anything."""
    model.train()
    try:
        again = attest.trial(model, TEXTS, {"E9": QUICK["E9"]}, tokenizer=tokenizer, labels=[1, 0, 0, 0, 1])
        assert all(part.training for part in model.modules())
    finally:
        model.eval()
    pd.testing.assert_frame_equal(again.table("E9"), tried.table("E9"), check_exact=True)


@torch.no_grad()
def test_an_erased_token_is_masked_as_the_model_was_taught(model, tokenizer):
    """Our own unknown token, 1, is some other token of theirs."""
    from attest.app.api.foreign import read_by
    from attest.experiments.erasure.operators import mask_tokens
    from attest.models.observation import observe

    network, encode, *_ = read_by(model, tokenizer, None, None, None)
    tokens = torch.tensor([encode(TEXTS[0])])
    seen = observe(network, None, tokens, torch.ones_like(tokens, dtype=torch.bool))
    kept = torch.ones(1, 1, tokens.shape[1], dtype=torch.bool)
    kept[..., 2] = False
    masked = tokens.clone()
    masked[0, 2] = tokenizer.mask_token_id
    expected = model(masked).logits.softmax(dim=-1)[0, seen.predicted[0]]
    assert mask_tokens(seen, kept)[0, 0] == pytest.approx(float(expected), abs=1e-6)


def test_the_report_is_written(tried, tmp_path):
    page = tried.report(tmp_path / "page.html").read_text()
    assert "Shuffling the attention weights among the tokens" in page
    assert "[CLS]" in page


def test_without_labels_decisions_that_stay_are_counted(model, tokenizer):
    tried = attest.trial(model, TEXTS, {"E8": {}}, tokenizer=tokenizer)
    assert tried.table("E8")["correct"].tolist() == [1.0] * 5
    assert "label" not in tried.table()


def test_texts_that_are_too_long_are_cut_and_counted(model, tokenizer):
    with pytest.warns(
        UserWarning, match="1 of 2 texts are longer than the 64 tokens that the model reads; their ends are cut"
    ):
        tried = attest.trial(model, ["a fine film", "fine " * 80], {"E9": {"draws": 1}}, tokenizer=tokenizer)
    assert tried.table()["length"].tolist() == [5, 64]


def test_a_tokenizer_that_cuts_beginnings_is_said_to(model, tokenizer):
    left = deepcopy(tokenizer)
    left.truncation_side = "left"
    with pytest.warns(UserWarning, match="that the model reads; their beginnings are cut"):
        attest.trial(model, ["fine " * 80], {"E9": {"draws": 1}}, tokenizer=left)


@pytest.mark.whole("many models, each tried as a whole")
def test_a_decoder_is_asked_what_makes_sense_for_it():
    tokens, mask = batch()
    tried = attest.trial(tiny("llama"), [{"token_ids": tokens, "mask": mask}], "all", progress=False)
    assert {"E1", "E2", "E8", "E9", "E10", "E13", "E14", "E15", "E16", "E17"} <= set(tried.experiments)
    assert "E3" not in tried.experiments, "an attention that is searched for would look ahead"
    assert {"tvd_median", "tvd_median_without_sink", "tvd_median_deciding_layer2"} <= set(tried.table("E2"))
    assert {"tau", "tau_without_sink", "tau_without_sink_layer2"} <= set(tried.table("E13"))
    importances, spread = tried.table("E1"), tried.table("E10")
    for kind, column in {"gradient": "gradient_norm_inputs", "leave_one_out": "leave_one_out_inputs"}.items():
        expected = [entropy(weights) / np.log(len(weights)) for weights in importances[column]]
        np.testing.assert_allclose(spread[f"entropy_{kind}"], expected, rtol=1e-5)
        assert f"entropy_{kind}_without_sink" in spread
    assert (spread["entropy_attention"] < 1).all(), "of attention rollout"
    assert "entropy_hidden" not in spread


def test_our_own_transformer_goes_through_the_same_door():
    network = TransformerClassifier(40, 1, size=16, layers=2, heads=2, feedforward_size=16)
    tokens, mask = batch()
    tried = attest.trial(network, [{"token_ids": tokens, "mask": mask}], QUICK, progress=False)
    assert "tvd_median_layer2" in tried.table("E2")


@pytest.mark.parametrize(("name", "settings"), [("mvp", BART), ("longformer", {"attention_window": [8, 8]})])
def test_a_model_that_cannot_be_tried_is_refused_in_a_sentence(name, settings, refusal):
    tokens, mask = batch()
    with refusal():
        attest.trial(tiny(name, **settings), [{"token_ids": tokens, "mask": mask}])


def test_a_model_that_classifies_nothing_is_refused(model, tokenizer):
    said = "BertModel classifies neither texts nor tokens; expected a model such as BertForSequenceClassification"
    with pytest.raises(AttestError, match=said):
        attest.trial(model.bert, TEXTS, tokenizer=tokenizer)


def test_a_tokenizer_that_does_not_know_words_is_refused(model, refusal):
    with refusal():
        attest.trial(model, TEXTS, tokenizer="bert-base-uncased")


def test_an_experiment_on_pooled_attention_is_refused(model, tokenizer):
    with pytest.raises(AttestError, match=r"'E12' is not known; expected .*E10"):
        attest.trial(model, TEXTS, ["E12"], tokenizer=tokenizer)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["bert", "bloom", "llama"])
def test_a_model_in_half_precision_is_tried_as_it_is(name, precision, tokenizer, tmp_path):
    """By either connection, from texts to the report, with its own probabilities."""
    model = tiny(name, vocab_size=len(WORDS), **{"bloom": {"n_layer": 2, "n_head": 4}}.get(name, {})).to(precision)
    tried = attest.trial(model, TEXTS, tokenizer=tokenizer, labels=[0, 1, 2, 0, 1], progress=False)
    with torch.no_grad():
        own = torch.cat([model(**tokenizer(text, return_tensors="pt")).logits for text in TEXTS]).float().softmax(dim=-1)
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy()).float()
    torch.testing.assert_close(found, own, rtol=0, atol=1e-2)
    assert tried.save(tmp_path / "out").folder.report.exists()
    assert len(tried.explain(0).tokens)
    assert next(model.parameters()).dtype == precision


class Pipeline:
    """What transformers makes of a task, without its many parts."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer


@pytest.mark.whole("many models, each tried as a whole")
def test_a_model_is_taken_from_what_it_is_wrapped_in(model, tokenizer, tmp_path):
    """Compiled, for several devices, in a pipeline, or in a folder."""
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    quick = {"E2": {"permutations": 1}}
    plain = attest.trial(model, TEXTS, quick, tokenizer=tokenizer)
    wrapped = [torch.compile(model), torch.nn.DataParallel(model), Pipeline(model, tokenizer), str(tmp_path), tmp_path]
    for each in wrapped:
        options = {} if isinstance(each, str | Path | Pipeline) else {"tokenizer": tokenizer}
        found = attest.trial(each, TEXTS, quick, **options)
        pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"))
        assert found.name == plain.name


def test_a_pipeline_that_asks_its_model_something_else_is_refused_by_its_task(model, tokenizer, refusal):
    from transformers import pipeline

    options = {"model": model, "tokenizer": tokenizer, "device": "cpu"}
    plain = attest.trial(pipeline("sentiment-analysis", **options), TEXTS, {"E2": {"permutations": 1}}, progress=False)
    assert "E2" in plain.experiments
    with refusal():
        attest.trial(pipeline("zero-shot-classification", **options), TEXTS, ["E2"], progress=False)


def compiled_in_place(model):
    model.compile(backend="aot_eager")


def compiled_forward(model):
    model.forward = torch.compile(model.forward, backend="aot_eager")


def compiled_part(model):
    model.bert = torch.compile(model.bert, backend="aot_eager")


@pytest.mark.parametrize("compiled", [compiled_in_place, compiled_forward, compiled_part])
def test_a_model_that_is_compiled_within_runs_as_it_was_written(compiled, model, tokenizer):
    plain = attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    compiled(copied := deepcopy(model))
    found = attest.trial(copied, TEXTS, {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"))


def test_weights_in_several_files(model, tokenizer, tmp_path):
    model.save_pretrained(tmp_path, max_shard_size="5KB")
    tokenizer.save_pretrained(tmp_path)
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    quick = {"E2": {"permutations": 1}}
    plain, found = (attest.trial(each, TEXTS, quick, tokenizer=tokenizer, progress=False) for each in (model, tmp_path))
    pd.testing.assert_frame_equal(found.table("E2"), plain.table("E2"))


class WithAHead(torch.nn.Module):
    """A head of one's own on a model of transformers."""

    def __init__(self, model, last):
        super().__init__()
        torch.manual_seed(0)
        self.model, self.head, self.last = model, torch.nn.Linear(16, 3), last

    def forward(self, input_ids, attention_mask=None, **_others):
        states = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        place = attention_mask.sum(dim=1) - 1 if self.last else torch.zeros(len(states), dtype=torch.int64)
        return self.head(states[torch.arange(len(states)), place])


@pytest.mark.parametrize(
    "texts", [["a [SEP] film", *TEXTS], [("a film", "dull [SEP] [MASK]"), *((text, text) for text in TEXTS)]]
)
def test_special_tokens_in_texts_are_counted(texts, model, tokenizer, capsys):
    attest.trial(model, texts, {"E2": {"permutations": 1}}, tokenizer=tokenizer, progress=False)
    found = "[MASK], [SEP]" if isinstance(texts[0], tuple) else "[SEP]"
    assert f"1 of 6 texts contain special tokens of the tokenizer as words ({found})" in capsys.readouterr().out


def test_a_module_reads_as_many_tokens_as_the_model_inside(model, tokenizer):
    """Also if the tokenizer does not say how many, as those of sentence-transformers."""
    endless, long = deepcopy(tokenizer), " ".join(["a very fine film"] * 30)
    endless.model_max_length = 10**30
    with pytest.warns(UserWarning, match="1 of 6 texts are longer than the 64 tokens that the model reads"):
        found = attest.trial(
            WithAHead(model.bert, last=False).eval(), [long, *TEXTS], ["E2"], tokenizer=endless, progress=False
        )
    assert len(found.table()) == 6
    (told,) = Findings(found.folder).settings[TRIAL]["remarks"]
    assert told == "1 of 6 texts are longer than the 64 tokens that the model reads; their ends are cut.", "the report says it"


@pytest.mark.parametrize("shape", [(2, 5, 16), (2, 5)])
def test_vectors_in_the_place_of_token_ids_are_refused(shape, model):
    batch = {"token_ids": torch.randn(shape), "mask": torch.ones(2, 5, dtype=torch.bool)}
    with pytest.raises(AttestError, match=rf"token ids of a batch are float32 of the shape {re.escape(str(shape))}"):
        attest.trial(model, [batch], ["E2"], progress=False)


class Around(torch.nn.Module):
    """What gives a batch to a model, or changes what the model says."""

    def __init__(self, model, chance=0.0):
        super().__init__()
        self.model, self.chance = model, chance

    def forward(self, batch):
        return self.model(**batch)


class Dropping(Around):
    def forward(self, input_ids, attention_mask):
        logits = self.model(input_ids=input_ids, attention_mask=attention_mask).logits
        return torch.nn.functional.dropout(logits, self.chance, training=True)


def test_a_module_that_takes_a_batch_is_told_of_the_model_inside(model, tokenizer):
    with pytest.raises(AttestError, match=r"expected forward\(tokens, mask\).* Or give the model inside it: module\.model"):
        attest.trial(Around(model), TEXTS, ["E2"], tokenizer=tokenizer, progress=False)


def test_weights_without_values_are_named(tokenizer):
    with torch.device("meta"):
        nowhere = tiny("bert", vocab_size=len(WORDS))
    with pytest.raises(AttestError, match=r"the weight bert\.\S+ has no values \(its device is meta\)"):
        attest.trial(nowhere, TEXTS, ["E2"], tokenizer=tokenizer, progress=False)


def test_chance_in_evaluation_mode_is_named(model, tokenizer, refusal):
    with refusal():
        attest.trial(Dropping(model, 0.1), TEXTS, ["E2"], tokenizer=tokenizer, progress=False)
    drops = deepcopy(model)
    drops.bert.encoder.layer[0].output.dropout.forward = lambda states: torch.nn.functional.dropout(states, 0.1)
    with pytest.raises(AttestError, match="gives other logits for the same text in each pass"):
        attest.trial(drops, TEXTS, ["E2"], tokenizer=tokenizer, progress=False)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["bert", "modernbert", "llama"])
def test_a_module_around_a_model_of_transformers(name, attention, tokenizer):
    inner = tiny(name, vocab_size=len(WORDS)).base_model
    inner.set_attn_implementation(attention)
    module = WithAHead(inner, last=name == "llama").eval()
    tried = attest.trial(module, TEXTS, "all", tokenizer=tokenizer, labels=[0, 1, 2, 0, 1], progress=False)
    with torch.no_grad():
        own = torch.cat([module(**tokenizer(text, return_tensors="pt")) for text in TEXTS]).softmax(dim=-1)
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy()).float()
    torch.testing.assert_close(found, own, rtol=0, atol=1e-5)
    assert {"E1", "E2", "E8"} <= set(tried.experiments)


@pytest.mark.parametrize("kind", [LABELS, CHOICE, "labels", "number"], ids=str)
def test_a_module_that_says_another_kind_is_not_read_as_classes(kind, model, refusal):
    module = Around(model)
    module.kind = kind
    with refusal():
        attest.trial(module, [{"token_ids": torch.tensor([[2, 5, 3]]), "mask": torch.ones(1, 3).bool()}], progress=False)


def test_a_module_of_one_number_decides_nothing_about_each_token(refusal):
    module = Own(decides="tokens", classes=1)
    module.kind = NUMBER
    with refusal():
        attest.trial(module, [{"token_ids": torch.tensor([[2, 5, 3]]), "mask": torch.ones(1, 3).bool()}], progress=False)


@pytest.mark.parametrize(
    "options",
    [
        {"window": "8"},
        {"window": 8.5},
        {"encode": "text"},
        {"words": 3},
        {"experiments": 3},
        {"experiments": {"E2": None}},
        {"experiments": pd.Series(["E2"])},
        {"label_names": 3},
        {"label_names": b"abc"},
    ],
    ids=str,
)
def test_options_of_another_type_are_refused(options, model, tokenizer, refusal):
    with refusal():
        attest.trial(model, ["a fine film"], tokenizer=tokenizer, progress=False, **options)


def test_what_is_given_otherwise_is_told_the_one_line_way(model, tokenizer, refusal):
    with refusal():
        attest.trial(model, TEXTS)
    with refusal():
        attest.trial(model, ["a fine film", " "], tokenizer=tokenizer)


def test_long_texts_are_read_in_batches_that_fit_the_memory(model):
    """Two layers of four heads, 50 tokens: 1.1 MB a text."""
    measuring = Measuring(PretrainedNetwork(model, 0), {}, (), 0)
    tokens = torch.randint(5, len(WORDS), (7, 50))
    mask = torch.arange(50) < torch.tensor([50, 50, 50, 50, 50, 9, 9]).unsqueeze(-1)
    batch = {"id": torch.arange(7), "token_ids": tokens, "mask": mask, "tokens": [["a"]] * 7}
    with budget_kept():
        set_memory_budget(2.5 * 1.12e6 / 2**30)
        parts = measuring._within_budget([batch], 1)
        assert [len(part["id"]) for part in parts] == [2, 2, 2, 1]
        assert len(measuring._within_budget([batch], 2)) == 7
        assert torch.cat([part["id"] for part in parts]).tolist() == list(range(7))
        assert parts[-1]["token_ids"].shape == (1, 9)
    assert len(measuring._within_budget([batch], 1)) == 1


def test_a_trial_in_a_log_says_now_and_then_how_long_it_goes_on(model, tokenizer, capfd, monkeypatch):
    monkeypatch.setattr("attest.app.api.measuring.HALF_A_MINUTE", 0.0)
    attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, tokenizer=tokenizer, batch_size=2)
    assert " left" in capfd.readouterr().err


def test_a_notebook_without_ipywidgets_has_a_bar_and_no_warning(model, tokenizer, capsys, monkeypatch):
    monkeypatch.setattr("attest.app.api.measuring.Console", lambda stderr: SimpleNamespace(is_terminal=False, is_jupyter=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attest.trial(model, TEXTS, {"E2": {"permutations": 1}}, tokenizer=tokenizer, batch_size=2)
    assert "E2" in capsys.readouterr().err


def test_texts_that_encode_makes_too_long_for_the_model_are_refused():
    with pytest.raises(AttestError, match=r"the longest text has 70 tokens, and Bert.* reads at most 64"):
        attest.trial(tiny("bert"), ["a film"], {"E2": {}}, encode=lambda text: [5] * 70, progress=False)
