"""A model that is read from a folder computes attention as the same model does when its owner has loaded it."""

import pytest

pytest.importorskip("transformers", reason="needs the extra transformers")

from transformers import AutoModelForSequenceClassification

import attest
from attest.models.pretrained.loading import load
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny


def saved(name, tokenizer, folder) -> str:
    tiny(name, vocab_size=len(WORDS)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("name", ["bert", "llama", "gpt_oss"])
def test_the_library_chooses_how_attention_is_computed(name, tokenizer, tmp_path):
    folder = saved(name, tokenizer, tmp_path)
    model, _ = load(folder)
    own = AutoModelForSequenceClassification.from_pretrained(folder)
    assert model.config._attn_implementation == own.config._attn_implementation


def test_soft_caps_are_kept(tokenizer, tmp_path):
    folder = saved("gemma2", tokenizer, tmp_path)
    assert load(folder)[0].config._attn_implementation == "eager"
    assert attest.trial(folder, TEXTS, ["E2"], progress=False).summary["E2/tvd_median/mean"] > 0
