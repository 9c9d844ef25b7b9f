"""What the configurations of the library tell, each in its own words."""

from transformers import BertConfig, Gemma2Config, GPT2Config

from attest.models.pretrained.told import Told, told_by


def test_each_architecture_tells_the_same_facts_in_its_own_words():
    bert, gpt2 = told_by(BertConfig(pad_token_id=3)), told_by(GPT2Config(n_layer=2, n_positions=7))
    assert (bert.pad_token_id, bert.max_position_embeddings, bert.attn_logit_softcapping) == (3, 512, None)
    assert (gpt2.num_hidden_layers, gpt2.max_position_embeddings, gpt2.use_cache) == (2, 7, True)
    assert told_by(Gemma2Config(attn_logit_softcapping=2.0)).attn_logit_softcapping == 2.0


def test_nothing_tells_nothing():
    assert told_by(None) == Told()
