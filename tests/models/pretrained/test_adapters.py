"""Adapters of peft: in the layers of a model given as an object, and in a folder beside their base."""

import json
import sys
import warnings

import peft
import pytest
import torch
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
)

import attest
from attest.app.api.foreign import bare
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.models.pretrained.admitted import require_as_it_is
from attest.models.pretrained.heads import kind_saved
from attest.models.pretrained.loading import config_tried, load, to_fine_tune
from attest.models.pretrained.network import PretrainedNetwork
from tests.app.api.test_choices import made
from tests.models.pretrained.speaking import speaking_tokenizer
from tests.models.pretrained.test_softmaxes import OF_ENCODERS, Own
from tests.models.pretrained.tiny import TEXTS, WORDS, batch, tiny

QUICK = {"E2": {"permutations": 1}}
KINDS = {"SEQ_CLS": AutoModelForSequenceClassification, "TOKEN_CLS": AutoModelForTokenClassification}


def adapted(model, seed=0, kind=peft.LoraConfig, **settings):
    """A model in an adapter with random weights, in evaluation mode."""
    made = peft.get_peft_model(model, kind(**({"task_type": "SEQ_CLS"} | settings)))
    return drawn(made, seed)


def drawn(made, seed):
    torch.manual_seed(seed)
    for parameter in made.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.3)
    return made.eval()


def own(model, tokenizer):
    """Its own probabilities, one text at a time."""
    with torch.no_grad():
        return torch.cat([model(**tokenizer(text, return_tensors="pt")).logits.softmax(dim=-1) for text in TEXTS])


def of_trial(model, tokenizer, **options):
    table = attest.trial(model, TEXTS, QUICK, tokenizer=tokenizer, progress=False, **options).table()
    return torch.tensor(table.filter(like="probability_").to_numpy()).float()


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("bert", {}),
        ("deberta-v2", {"target_modules": ["query_proj", "value_proj"]}),
        ("bert", {"target_modules": ["query", "word_embeddings"]}),
        ("llama", {"modules_to_save": ["embed_tokens", "score"]}),
        ("llama", {"trainable_token_indices": [3, 4]}),
        ("llama", {"use_dora": True}),
        ("bert", {"kind": peft.IA3Config}),
    ],
)
def test_a_trial_is_of_the_model_with_its_adapter(name, settings, tokenizer):
    model = adapted(tiny(name, vocab_size=len(WORDS), **OF_ENCODERS.get(name, {})), **settings)
    found, expected = of_trial(model, tokenizer), own(model, tokenizer)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    with model.disable_adapter():
        assert (own(model, tokenizer) - expected).abs().max() > 1e-3, "the adapter matters"


def test_a_second_adapter_and_none_are_what_the_owner_runs(tokenizer):
    """The head of each is its own."""
    model = adapted(tiny("bert", vocab_size=len(WORDS)))
    model.add_adapter("second", peft.LoraConfig(task_type="SEQ_CLS"))
    model.set_adapter("second")
    drawn(model, seed=1)
    seen = []
    for name in ("second", "default"):
        model.set_adapter(name)
        seen.append(of_trial(model, tokenizer))
        torch.testing.assert_close(seen[-1], own(model, tokenizer), rtol=0, atol=1e-5)
    with model.disable_adapter():
        seen.append(of_trial(model, tokenizer))
        torch.testing.assert_close(seen[-1], own(model, tokenizer), rtol=0, atol=1e-5)
    torch.testing.assert_close(of_trial(model, tokenizer), seen[1], rtol=0, atol=0)
    assert all((seen[first] - seen[second]).abs().max() > 1e-3 for first, second in ((0, 1), (0, 2), (1, 2)))


def test_adapters_of_several_kinds_at_once(tokenizer):
    base = tiny("bert", vocab_size=len(WORDS))
    model = peft.get_peft_model(base, peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query"]), mixed=True)
    model.add_adapter("second", peft.LoHaConfig(task_type="SEQ_CLS", target_modules=["value"]))
    model.set_adapter(["default", "second"])
    torch.testing.assert_close(of_trial(drawn(model, 0), tokenizer), own(model, tokenizer), rtol=0, atol=1e-5)


def test_a_wrapper_that_leaves_types_of_tokens_out_is_refused(tokenizer, refusal):
    model = adapted(made(AutoModelForQuestionAnswering, num_labels=2), task_type="QUESTION_ANS")
    with refusal():
        attest.trial(model, [("a film", text) for text in TEXTS], QUICK, tokenizer=tokenizer, progress=False)


@torch.no_grad()
def test_a_model_of_choices_in_an_adapter(tokenizer):
    model = adapted(made(AutoModelForMultipleChoice), task_type=None, target_modules=["query"])
    choices = ["a fine film", "very dully"]
    table = attest.trial(model, [(text, choices) for text in TEXTS], QUICK, tokenizer=tokenizer, progress=False).table()
    for text, found in zip(TEXTS, table.filter(like="probability_").to_numpy(), strict=True):
        read = tokenizer([text] * 2, choices, return_tensors="pt", padding=True)
        logits = model(**{name: each.unsqueeze(0) for name, each in read.items()}).logits[0]
        torch.testing.assert_close(torch.tensor(found).float(), logits.softmax(dim=-1), rtol=0, atol=1e-5)


def test_every_layer_is_reached_and_nothing_is_merged(tokenizer):
    model = adapted(tiny("bert"))
    before = {name: each.clone() for name, each in model.state_dict().items()}
    network = PretrainedNetwork(bare(model, tokenizer, False)[0], 0, 4)
    require_as_it_is(network)
    tokens, mask = batch()
    torch.testing.assert_close(network(tokens, mask), model(tokens, mask.long()).logits, rtol=0, atol=1e-6)
    assert (len(network.calls), len(network.blocks)) == (2, 2)
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())


def test_a_module_of_ones_own_in_an_adapter(monkeypatch, refusal):
    """By its fast path torch leaves the adapter of a layer out."""
    tokens, mask = batch()
    model = drawn(peft.get_peft_model(Own(), peft.LoraConfig(target_modules=["linear1", "head"])), 0)
    with refusal():
        attest.trial(model, [{"token_ids": tokens, "mask": mask}], QUICK, progress=False)
    monkeypatch.setattr(torch.backends.mha, "get_fastpath_enabled", lambda: False)
    with torch.no_grad():
        found, own = attest.trial(model, [{"token_ids": tokens, "mask": mask}], QUICK, progress=False), model(tokens, mask)
    probabilities = torch.tensor(found.table().filter(like="probability_").to_numpy()).float()
    torch.testing.assert_close(probabilities, own.softmax(dim=-1), rtol=0, atol=1e-5)


def test_a_language_model_with_a_prompt_in_an_adapter():
    reads, words = speaking_tokenizer(), ["bad", "good"]
    model = adapted(tiny("llama", speaks=True, vocab_size=len(reads)), task_type="CAUSAL_LM")
    answers = {word: f" {word}" for word in words}
    found = of_trial(model, reads, prompt="{text} is", answers=answers)
    given = [reads(f"{text} is", return_tensors="pt")["input_ids"] for text in TEXTS]
    with torch.no_grad():
        logits = torch.cat([model(input_ids=each).logits[:, -1] for each in given])
    answered = logits[:, reads.convert_tokens_to_ids([f"Ġ{word}" for word in words])]
    torch.testing.assert_close(found, answered.softmax(dim=-1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", [peft.PromptTuningConfig, peft.PrefixTuningConfig, peft.PromptEncoderConfig])
def test_virtual_tokens_are_refused(kind, tokenizer, tmp_path, refusal):
    model = peft.get_peft_model(tiny("bert", vocab_size=len(WORDS)), kind(task_type="SEQ_CLS", num_virtual_tokens=3))
    with refusal():
        attest.trial(model, TEXTS, tokenizer=tokenizer)
    model.save_pretrained(tmp_path)
    with refusal():
        load(str(tmp_path))


def test_an_adapter_that_acts_on_some_tokens_alone_is_refused(tokenizer, refusal):
    model = adapted(tiny("llama", vocab_size=len(WORDS)), alora_invocation_tokens=[5])
    with refusal():
        attest.trial(model, TEXTS, tokenizer=tokenizer)


def written(folder, tokenizer, name="bert", task="SEQ_CLS", classes=4, head=False, **settings):
    """An adapter and its base in folders; returns the whole, as its owner has it."""
    made = tiny(name, vocab_size=len(WORDS), num_labels=classes, tokens=task == "TOKEN_CLS", speaks=task == "CAUSAL_LM")
    (made if head or task == "CAUSAL_LM" else made.base_model).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    options = {} if head or task == "CAUSAL_LM" else {"num_labels": classes}
    model = KINDS.get(task, AutoModelForCausalLM).from_pretrained(folder / "base", **options)
    model = adapted(model, seed=1, task_type=task, **settings)
    model.save_pretrained(folder / "adapter")
    return model


@pytest.mark.parametrize(
    ("name", "task", "settings"),
    [
        ("bert", "SEQ_CLS", {}),
        ("roberta", "SEQ_CLS", {}),
        ("llama", "TOKEN_CLS", {}),
        ("llama", "CAUSAL_LM", {}),
        ("bert", "SEQ_CLS", {"head": True, "classes": 2, "modules_to_save": None}),
    ],
)
def test_a_folder_is_read_with_the_base_that_it_names(name, task, settings, tokenizer, tmp_path):
    """The number of classes is the head's, which lies in the adapter; the tokenizer is the base's."""
    model = written(tmp_path, tokenizer, name, task, **settings)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found, read = load(str(tmp_path / "adapter"), prompted=task == "CAUSAL_LM")
    of_classes = any("does not say what its 4 classes are called" in str(each.message) for each in told)
    assert of_classes == (task != "CAUSAL_LM" and "head" not in settings)
    tokens, mask = batch()
    given = {"input_ids": tokens.clamp(max=len(WORDS) - 1), "attention_mask": mask.long()}
    with torch.no_grad():
        torch.testing.assert_close(found(**given).logits, model(**given).logits, rtol=0, atol=1e-5)
    assert (kind_saved(config_tried(str(tmp_path / "adapter"))) == TAGS) == (task == "TOKEN_CLS")
    assert read.get_vocab() == tokenizer.get_vocab()


def test_the_command_takes_an_adapter(tokenizer, tmp_path, capsys):
    """Names of classes are those of a config.json beside the adapter."""
    model = written(tmp_path, tokenizer, classes=2)
    model.config.id2label = {0: "dull", 1: "fine"}
    model.config.save_pretrained(tmp_path / "adapter")
    (tmp_path / "data.csv").write_text("text,label\n" + "\n".join(f'"{text}",fine' for text in TEXTS))
    typed = ["--model", str(tmp_path / "adapter"), "--data", str(tmp_path / "data.csv"), "E2", "--processes", "1"]
    assert main(["trial", *typed, "--out", str(tmp_path / "out")]) == 0, capsys.readouterr()
    table = attest.open_run(tmp_path / "out").table().sort_values("id")
    found = torch.tensor(table[["probability_dull", "probability_fine"]].to_numpy()).float()
    torch.testing.assert_close(found.sort(dim=0).values, own(model, tokenizer).sort(dim=0).values, rtol=0, atol=1e-5)


def changed(folder, **settings):
    file = folder / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def test_what_a_stranger_may_write_into_an_adapter(tokenizer, tmp_path):
    """No other format, no module to import, no code of the base, no base that is an adapter, no other base."""
    written(tmp_path, tokenizer)
    folder, base = tmp_path / "adapter", tmp_path / "base"
    before = (folder / "adapter_config.json").read_text()
    for settings, said in [
        ({"megatron_config": {"a": 1}, "megatron_core": "evil"}, "asks for Megatron"),
        ({"peft_type": "XLORA"}, r"XLORA adapter|cannot be read"),
        ({"peft_type": "NONE"}, "cannot be read"),
        ({"base_model_name_or_path": None}, "does not name its base model"),
        ({"base_model_name_or_path": "nobody/nothing", "revision": "a1"}, "adapts the revision a1 of nobody/nothing"),
        ({"base_model_name_or_path": str(folder)}, "contains only an adapter"),
        ({"target_modules": ["query", "key"]}, "exists in only one of the two"),
        ({"r": 3}, "does not fit its base"),
    ]:
        changed(folder, **settings)
        with pytest.raises(AttestError, match=said):
            load(str(folder))
        (folder / "adapter_config.json").write_text(before)
    configuration = (base / "config.json").read_text()
    (base / "config.json").write_text(json.dumps(json.loads(configuration) | {"auto_map": {"AutoConfig": "evil.Evil"}}))
    with pytest.raises(AttestError, match="needs Python code from its own folder"):
        load(str(folder))
    (base / "config.json").write_text(configuration)
    (folder / "adapter_model.safetensors").rename(folder / "adapter_model.bin")
    with pytest.raises(AttestError, match=r"expected adapter_model\.safetensors"):
        load(str(folder))


HANGS = "(a|[^x]|.)*" * 9 + "!"
"""A pattern that compares for years with the name of a layer that it does not fit."""


@pytest.mark.parametrize("name", ["rank_pattern", "exclude_modules", "layers_pattern", "modules_to_save"])
def test_no_pattern_of_a_stranger_is_compared(name, tokenizer, tmp_path):
    written(tmp_path, tokenizer)
    changed(tmp_path / "adapter", **{name: {HANGS: 2} if name == "rank_pattern" else [HANGS]}, layers_to_transform=[0])
    with pytest.raises(AttestError, match=rf"has the pattern '.*' in {name}; expected names of layers"):
        load(str(tmp_path / "adapter"))


@pytest.mark.parametrize("pattern", [r".*\.attention\.self\.(query|value)", HANGS])
def test_the_layers_of_an_adapter_are_those_that_it_has_weights_for(pattern, tokenizer, tmp_path):
    model = written(tmp_path, tokenizer)
    changed(tmp_path / "adapter", target_modules=pattern)
    found, _ = load(str(tmp_path / "adapter"))
    tokens = torch.tensor([[2, 5, 6, 3]])
    with torch.no_grad():
        torch.testing.assert_close(found(tokens).logits, model(tokens).logits, rtol=0, atol=1e-5)


def test_an_adapter_is_not_trained_further_and_has_one_task(tokenizer, tmp_path, refusal):
    written(tmp_path, tokenizer, task="CAUSAL_LM", name="llama")
    with refusal():
        to_fine_tune(str(tmp_path / "adapter"), 2)
    with refusal():
        load(str(tmp_path / "adapter"))


def test_a_missing_peft_is_one_sentence(tokenizer, tmp_path, monkeypatch):
    written(tmp_path, tokenizer)
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(AttestError, match=r"the library peft that applies it is missing.*Type: .*pip install"):
        load(str(tmp_path / "adapter"))


def test_an_adapter_in_the_cache_of_the_hub(tokenizer, tmp_path, monkeypatch):
    """Without a connection."""
    model = written(tmp_path, tokenizer)
    cached = tmp_path / "hub" / "models--somebody--tuned"
    (cached / "refs").mkdir(parents=True)
    (cached / "refs" / "main").write_text("a1")
    (cached / "snapshots").mkdir()
    (tmp_path / "adapter").rename(cached / "snapshots" / "a1")
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    found, _ = load("somebody/tuned")
    tokens = torch.tensor([[2, 5, 6, 3]])
    with torch.no_grad():
        torch.testing.assert_close(found(tokens).logits, model(tokens).logits, rtol=0, atol=1e-5)
