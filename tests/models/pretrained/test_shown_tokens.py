"""Tokens are shown as text, whatever a tokenizer spells them with."""

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

import attest
from attest.models.pretrained.texts import shown_tokens
from tests.models.pretrained.tiny import tiny

TEXTS = ["un été très long", "演员 很好", "a film\n"]


@pytest.fixture(scope="module")
def by_bytes():
    """As GPT-2, Llama 3 and Qwen have it: pairs of bytes are joined, and 好 is not in its training texts."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, special_tokens=["<｜end｜>"], show_progress=False)
    made.train_from_iterator(["un été très long 演员 a film"] * 9, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<｜end｜>", pad_token="<｜end｜>", model_max_length=64)


def test_tokens_of_a_byte_level_tokenizer_are_shown_as_text(by_bytes):
    shown = [shown_tokens(by_bytes, by_bytes(text)["input_ids"]) for text in TEXTS]
    assert shown[0] == ["un", "Ġété", "Ġtrès", "Ġlong"]
    assert shown[1][:2] == ["演", "员"]
    assert set(shown[1][2:]) == {"Ġ", "�"}, "parts of letters"
    assert shown[2] == ["a", "Ġfilm", "Ċ"]
    assert shown_tokens(by_bytes, [by_bytes.eos_token_id]) == ["<｜end｜>"]


def test_a_trial_shows_them(by_bytes):
    model = tiny("gpt2", vocab_size=len(by_bytes), pad_token_id=by_bytes.pad_token_id)
    found = attest.trial(model, TEXTS[:1], {"E2": {"permutations": 1}}, tokenizer=by_bytes, progress=False)
    assert [*found.table()["tokens"][0]] == ["un", "Ġété", "Ġtrès", "Ġlong"]
