"""Pairs of texts: token types stay with their tokens, and attention within and between the two texts is told apart."""

import pytest
import torch

import attest
from attest.app.api.foreign import read_by
from attest.core.errors import AttestError
from attest.experiments.erasure.operators import delete, mask_tokens
from attest.experiments.rows import between_texts
from attest.models.layers_observed import layers_of
from attest.models.observation import observe
from tests.models.pretrained.tiny import WORDS, tiny

PAIRS = [("a fine film", "a dull film ."), ("not a fine film .", "very dully film"), ("a very fine film", "a film")]
DEBERTA = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 2}
QUICK = {"E2": {"permutations": 2}, "E14": {"texts": 3}}


@torch.no_grad()
def own(model, tokenizer, pairs=PAIRS):
    read = [model(**tokenizer(*pair, return_tensors="pt")).logits[0].softmax(-1) for pair in pairs]
    return torch.stack(read).double()


@pytest.fixture(scope="module")
def typed():
    """A model to which the type of a token matters much."""
    model = tiny("bert", vocab_size=len(WORDS))
    torch.nn.init.normal_(model.bert.embeddings.token_type_embeddings.weight, std=3)
    return model


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(("name", "settings"), [("bert", {}), ("deberta-v2", DEBERTA), ("distilbert", {}), ("gpt2", {})])
def test_probabilities_of_pairs_are_the_models_own(tokenizer, name, settings):
    """A GPT-2 adds the embedding of a type, too."""
    model = tiny(name, vocab_size=len(WORDS), **settings)
    if name == "distilbert":
        tokenizer = _untyped(tokenizer)
    tried = attest.trial(model, PAIRS, QUICK, tokenizer=tokenizer, labels=[0, 1, 2], progress=False)
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy()).double()
    torch.testing.assert_close(found, own(model, tokenizer), rtol=0, atol=1e-5)
    assert list(tried.table()["tokens"][0]) == ["[CLS]", "a", "fine", "film", "[SEP]", "a", "dull", "film", ".", "[SEP]"]


def _untyped(tokenizer):
    from transformers import PreTrainedTokenizerFast

    names = {name: f"[{name[:-6].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")}
    inputs = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, model_max_length=64, model_input_names=inputs, **names
    )


def observed(model, tokenizer, pair):
    network, encode, *_ = read_by(model, tokenizer, None, None, None)
    tokens, types = torch.tensor([[column] for column in encode.columns(pair).values()])
    return observe(network, None, tokens, torch.ones_like(tokens, dtype=torch.bool), beside={"token_type_ids": types})


@torch.no_grad()
@pytest.mark.parametrize("operator", [delete, mask_tokens])
def test_tokens_keep_their_type_where_others_are_erased(typed, tokenizer, operator):
    read = tokenizer(*PAIRS[0], return_tensors="pt")
    seen = observed(typed, tokenizer, PAIRS[0])
    kept = torch.ones(1, 1, 10, dtype=torch.bool)
    kept[..., [2, 6]] = False  # one of each text
    if operator is delete:
        read = {name: values[:, kept[0, 0]] for name, values in read.items()}
    else:
        read["input_ids"][0, [2, 6]] = tokenizer.mask_token_id
    expected = typed(**read).logits.softmax(-1)[0, seen.predicted[0]]
    assert operator(seen, kept)[0, 0] == pytest.approx(float(expected), abs=1e-6)
    untyped = typed(**{name: values for name, values in read.items() if name != "token_type_ids"})
    assert abs(float(untyped.logits.softmax(-1)[0, seen.predicted[0]] - expected)) > 1e-4, "a hundred times the tolerance"


def test_words_of_the_second_text_are_counted_on(typed, tokenizer):
    reads = read_by(typed, tokenizer, None, None, None)[1]
    assert reads.word_of(PAIRS[1]) == [-1, 0, 1, 2, 3, 4, -1, 5, 6, 6, 7, -1]
    assert reads.text_of(PAIRS[1]) == [-1, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, -1]


def test_attention_within_and_between_the_texts_is_told_apart(typed, tokenizer):
    layers = layers_of(observed(typed, tokenizer, PAIRS[0]))
    which = read_by(typed, tokenizer, None, None, None)[1].text_of(PAIRS[0])
    found = between_texts(layers, torch.tensor([which]))
    within, between = [], []
    for weights in layers.attention.values():
        for head in weights[0]:
            for row, text in enumerate(which):
                if text >= 0:
                    within.append(sum(head[row, column] for column, other in enumerate(which) if other == text))
                    between.append(sum(head[row, column] for column, other in enumerate(which) if other == 1 - text))
    for name, expected in (("attention_within", within), ("attention_between", between)):
        assert float(found[name]) == pytest.approx(float(torch.stack(expected).mean()), abs=1e-6)
    tried = attest.trial(typed, PAIRS, QUICK, tokenizer=tokenizer, progress=False)
    assert tried.table()["attention_between"][0] == pytest.approx(float(found["attention_between"]), abs=1e-6)
    assert tried.summary["pairs/attention_within/mean"] == pytest.approx(tried.table()["attention_within"].mean())


def test_pairs_without_a_way_to_read_two_texts_are_refused(model):
    with pytest.raises(AttestError, match="the texts are pairs of texts or lists of words; expected single texts"):
        attest.trial(model, PAIRS, QUICK, encode=lambda text: [5, 6], progress=False)


def test_a_background_of_tokens_that_the_model_does_not_know_is_refused(typed, tokenizer):
    with pytest.raises(attest.AttestError, match=r"token ids from 5 to 4000; expected ids from 0 to"):
        attest.trial(typed, PAIRS, {"E14": {}}, tokenizer=tokenizer, background=[[5, 4000]], progress=False)


def test_a_background_has_the_forms_of_the_data(typed, tokenizer):
    asked = {"E14": {"texts": 3, "sets": 2, "extras": False}}

    def resampled(background):
        found = attest.trial(typed, PAIRS, asked, tokenizer=tokenizer, background=background, progress=False)
        return found.table("E14")["comprehensiveness_resample"].tolist()

    of_ids = resampled([tokenizer(*pair)["input_ids"] for pair in PAIRS])
    assert resampled(PAIRS) == of_ids
    assert resampled(tokenizer(*zip(*PAIRS, strict=True))) == of_ids
    with pytest.raises(AttestError, match="neither a text nor token ids"):
        resampled(["a film", None])
