"""A language model that is asked by a prompt decides as its own logits of the labels' first tokens say."""

from copy import deepcopy

import numpy as np
import pytest
import torch
from tokenizers.processors import TemplateProcessing
from torch import nn

import attest
from attest.core.errors import AttestError
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.prompted import Prompt, PromptedNetwork, PromptEncoder, answers_typed
from tests.models.pretrained.speaking import ANSWERS, TEMPLATE, speaking_tokenizer
from tests.models.pretrained.tiny import DECODERS, batch, tiny

TEXTS = ["a fine film", "a very , very dull film .", "fine"]


@pytest.fixture(scope="module")
def tokenizer():
    return speaking_tokenizer()


@pytest.mark.parametrize("name", DECODERS)
@torch.no_grad()
def test_it_decides_by_the_labels_logits_after_the_last_token(name):
    model = tiny(name, speaks=True)
    network, (tokens, mask) = PromptedNetwork(model, 0, [7, 4, 9]), batch()
    model.set_attn_implementation("eager")
    own = model(input_ids=tokens, attention_mask=mask.long()).logits[range(3), mask.sum(dim=-1) - 1][:, [7, 4, 9]]
    torch.testing.assert_close(network(tokens, mask), own, rtol=1e-5, atol=2e-6)
    weights = network.project(network.score(network.encode(tokens, mask), mask), mask)
    torch.testing.assert_close(network.decode(network.encode(tokens, mask), weights), own, rtol=1e-5, atol=2e-6)
    assert network.decides_by == "last"
    assert network.looks_back
    assert model(input_ids=tokens).logits.shape == (3, 9, 40), "and the model is as it was"


@torch.no_grad()
def test_where_a_token_before_the_last_is_left_out_the_last_one_still_decides():
    tokens, mask = batch()
    holes = mask.clone()
    holes[:, 1] = False
    for network in (PromptedNetwork(tiny("llama", speaks=True), 0, [7, 4]), PretrainedNetwork(tiny("llama"), 0)):
        decided = network.decode(network.encode(tokens, mask), holes.float())
        torch.testing.assert_close(decided, network(tokens, holes), rtol=1e-5, atol=2e-6)
        assert not torch.allclose(decided, network(tokens, mask), atol=1e-4)


def test_texts_stand_in_the_prompt_and_answers_behind_it(tokenizer):
    prompt = Prompt(TEMPLATE, ANSWERS)
    encode = PromptEncoder(tiny("llama", speaks=True), tokenizer, prompt)
    assert tokenizer.convert_ids_to_tokens(encode("a {fine} film")) == [
        "Review", ":", "Ġa", *["<unk>"] * 2, "<unk>", "Ġfilm", "Ċ", "Sentiment", ":",
    ]  # fmt: skip
    assert tokenizer.convert_ids_to_tokens(prompt.first_tokens(tokenizer)) == ["Ġbad", "Ġgood"]
    assert len(encode.word_of("a {fine} film")) == len(encode("a {fine} film"))


def beginning(tokenizer):
    """The tokenizer, which puts <s> before each text, as most of Llama's kind do."""
    found = deepcopy(tokenizer)
    found.backend_tokenizer.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 2)])
    return found


@pytest.mark.parametrize("template", [TEMPLATE, f"<s>{TEMPLATE}"])
def test_a_prompt_begins_once(template, tokenizer):
    """A chat template has written the first token already."""
    encode = PromptEncoder(tiny("llama", speaks=True), beginning(tokenizer), Prompt(template, ANSWERS))
    assert tokenizer.convert_ids_to_tokens(encode("a film"))[:3] == ["<s>", "Review", ":"]
    assert encode.everything(["a film"])["input_ids"] == [encode("a film")]
    assert encode.word_of("a film")[0] == -1, "which is neither ranked nor erased"
    assert min(encode.word_of("a film")[1:]) >= 0
    options = {"prompt": template, "answers": ANSWERS, "tokenizer": encode.tokenizer, "progress": False}
    table = attest.trial(tiny("llama", speaks=True), TEXTS, {"E2": {"permutations": 1}}, **options).table()
    assert list(table["tokens"][2]) == ["<s>", "Review", ":", "Ġfine", "Ċ", "Sentiment", ":"]


def test_a_trial_by_prompt(tokenizer):
    model = tiny("llama", speaks=True)
    asked = {"prompt": TEMPLATE, "answers": ANSWERS, "tokenizer": tokenizer, "labels": [1, 0, 1]}
    tried = attest.trial(model, TEXTS, {"E1": {}, "E8": {}, "E9": {"draws": 1}}, **asked)
    table = tried.table()
    assert list(table["tokens"][2]) == ["Review", ":", "Ġfine", "Ċ", "Sentiment", ":"]
    ids = tokenizer(TEMPLATE.replace("{text}", TEXTS[0]), return_tensors="pt")["input_ids"]
    both = tokenizer.convert_tokens_to_ids(["Ġbad", "Ġgood"])
    with torch.no_grad():
        own = model(input_ids=ids).logits[0, -1, both].softmax(dim=-1)[1]
    assert table["probability_good"][0] == pytest.approx(float(own), abs=1e-6)


@pytest.mark.parametrize(
    ("template", "answers"),
    [
        ("Review:", ANSWERS),
        (None, ANSWERS),
        (TEMPLATE, {"good": " good"}),
        (TEMPLATE, {"good": " fine film", "bad": " fine ."}),
        ("{text} Sent", {"good": "iment", "bad": " bad"}),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(tokenizer, template, answers, refusal):
    with refusal():
        attest.trial(tiny("llama", speaks=True), TEXTS, tokenizer=tokenizer, prompt=template, answers=answers)


@pytest.mark.parametrize(
    "options",
    [
        {"answers": [" bad", " good"]},
        {"answers": {" bad", " good"}},
        {"answers": (pair for pair in ANSWERS.items())},
        {"answers": np.array([" bad", " good"], dtype=object)},
        {"answers": 3},
        {"answers": {"bad": 1, "good": 2}},
        {"answers": {"bad": [" bad"], "good": [" good"]}},
        {"answers": {"bad": " awful", "good": " good"}},
        {"prompt": str.upper},
        {"label_names": ["good", "bad"]},
        {"encode": str.split},
        {"data": [{"token_ids": torch.tensor([[7, 8]]), "mask": torch.ones(1, 2).bool()}]},
        {"model": nn.Linear(2, 2)},
    ],
    ids=lambda options: str(*options),
)
def test_what_would_be_left_out_or_is_of_another_type_is_refused(tokenizer, options, refusal):
    given = {"model": tiny("llama", speaks=True), "data": TEXTS, "prompt": TEMPLATE, "answers": ANSWERS} | options
    with refusal():
        attest.trial(given.pop("model"), given.pop("data"), tokenizer=tokenizer, progress=False, **given)


def test_a_tokenizer_that_ends_texts_is_refused(tokenizer, refusal):
    ending = deepcopy(tokenizer)
    ending.backend_tokenizer.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 3)])
    with refusal():
        attest.trial(tiny("llama", speaks=True), TEXTS, tokenizer=ending, prompt=TEMPLATE, answers=ANSWERS)


def test_a_text_that_is_too_long_is_refused_for_its_end_asks_the_question(tokenizer, refusal):
    with refusal():
        PromptEncoder(tiny("llama", speaks=True), tokenizer, Prompt(TEMPLATE, ANSWERS))("fine " * 100)


@pytest.mark.parametrize(
    "model",
    [
        lambda: tiny("bert", speaks=True),
        lambda: tiny("bert"),
        lambda: tiny("llama"),
    ],
)
def test_what_is_no_language_model_is_refused(tokenizer, model, refusal):
    with refusal():
        attest.trial(model(), TEXTS, tokenizer=tokenizer, prompt=TEMPLATE, answers=ANSWERS)


def test_a_language_model_without_a_prompt_is_told_of_it(tokenizer, refusal):
    with refusal():
        attest.trial(tiny("llama", speaks=True), TEXTS, tokenizer=tokenizer)
    with refusal():
        attest.trial(tiny("llama", speaks=True), TEXTS, prompt=TEMPLATE, answers=ANSWERS)


def test_answers_keep_their_blanks_as_they_are_typed():
    assert answers_typed("positive= good,negative= bad") == {"positive": " good", "negative": " bad"}
    for typed, bare in (("positive,negative", "positive"), ("", ""), ("good= good,bad=", "bad")):
        with pytest.raises(AttestError, match=f"--labels has '{bare}' without an answer"):
            answers_typed(typed)
