"""A model of transformers is what its owner runs, or the trial does not begin."""

import json

import pytest
import torch
from transformers import PreTrainedTokenizerFast

import attest
from attest.core.errors import AttestError
from attest.models.pretrained.admitted import require_as_it_is
from attest.models.pretrained.loading import load
from attest.models.pretrained.network import PretrainedNetwork
from attest.models.pretrained.texts import longest_read
from tests.models.pretrained.speaking import ANSWERS, TEMPLATE, speaking_tokenizer
from tests.models.pretrained.tiny import DECODERS, TEXTS, WORDS, tiny

EXPERIMENT = {"E2": {"permutations": 1}}
MODERN = {"cls_token_id": 2, "sep_token_id": 0}


@pytest.fixture(scope="module")
def plain(tokenizer):
    """The same tokens without types."""
    named = {name: f"[{name[:-6].upper()}]" for name in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, model_max_length=64, model_input_names=["input_ids", "attention_mask"], **named
    )


def tried(model, tokenizer, texts=TEXTS, **options):
    return attest.trial(model, texts, EXPERIMENT, tokenizer=tokenizer, progress=False, **options)


def own(model, tokenizer, texts=TEXTS):
    """The model's own probabilities, one text at a time."""
    with torch.no_grad():
        read = [model(**tokenizer(text, return_tensors="pt"), return_dict=True).logits[0].softmax(-1) for text in texts]
    return torch.stack(read).double()


def require_own(model, tokenizer, texts=TEXTS, **options):
    found = tried(model, tokenizer, texts, **options).table().filter(like="probability_").to_numpy()
    torch.testing.assert_close(torch.tensor(found).double(), own(model, tokenizer, texts), rtol=0, atol=1e-5)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("modernbert-decoder", MODERN),
        ("ctrl", {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64, "dff": 24}),
        ("gpt2", {"pad_token_id": None}),
        ("llama", {"pad_token_id": None}),
        ("gpt2", {"eos_token_id": 50256, "bos_token_id": 50256}),
        ("llama", {"eos_token_id": [2, 50256]}),
        ("bert", {"return_dict": False}),
        ("bert", {"output_attentions": True, "output_hidden_states": True}),
        ("gpt2", {"use_cache": True}),
    ],
)
def test_probabilities_are_the_models_own(plain, name, settings):
    require_own(tiny(name, vocab_size=len(WORDS), **settings), plain)


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize("pad", [None, "[PAD]"])
def test_a_decoder_without_padding_decides_at_its_last_token_whatever_it_is(tokenizer, pad):
    """Its own configuration knows no padding, so no token looks like it, also not the one with the number 0."""
    model = tiny("gpt2", vocab_size=len(WORDS), pad_token_id=None)
    texts = ["a fine film [PAD]", "a dull film", "[PAD] [PAD]"]
    ends = [[*tokenizer(text, add_special_tokens=False)["input_ids"]] for text in texts]
    tokenizer.pad_token = pad
    try:
        found = attest.trial(model, texts, EXPERIMENT, tokenizer=tokenizer, encode=lambda text: ends[texts.index(text)])
    finally:
        tokenizer.pad_token = "[PAD]"
    with torch.no_grad():
        alone = torch.cat([model(torch.tensor([ids])).logits.softmax(-1) for ids in ends]).double()
    table = torch.tensor(found.table().filter(like="probability_").to_numpy()).double()
    torch.testing.assert_close(table, alone, rtol=0, atol=1e-5)


FALCON_H1 = {
    "head_dim": 4, "num_key_value_heads": 2, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1,
    "mamba_d_state": 8,
}  # fmt: skip
HYBRIDS = [
    ("falcon_h1", FALCON_H1, "mixes tokens outside its attention"),
    ("lfm2", {"num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]}, "2 layers .conv, full_attention. and"),
]


@pytest.mark.parametrize(("name", "settings", "said"), HYBRIDS)
def test_a_language_model_with_convolutions_beside_attention_is_refused(name, settings, said):
    model = tiny(name, speaks=True, **settings)
    with pytest.raises(AttestError, match=said):
        attest.trial(model, TEXTS, EXPERIMENT, tokenizer=speaking_tokenizer(), prompt=TEMPLATE, answers=ANSWERS)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("bert", {"problem_type": "regression"}, "has num_labels 3 and problem_type regression"),
        ("minimax", DECODERS["llama"] | {"num_local_experts": 2, "num_experts_per_tok": 1}, "2 layers .* attention 1 times"),
        ("diffllama", DECODERS["llama"], "has 2 layers and computes attention 4 times in a forward pass"),
        ("esm", {"token_dropout": True, "mask_token_id": 4}, "decides differently when it .* up to 0.0"),
        ("mobilebert", {"intra_bottleneck_size": 16, "embedding_size": 16, "true_hidden_size": 16}, "mixes tokens"),
        ("mpnet", {}, "decides differently when it .* up to 0.0"),
        ("longformer", {"attention_window": [8, 8]}, "none of its softmax calls returns, for each token, attention weights"),
        ("canine", {}, "is not supported"),
    ],
)  # fmt: skip
def test_a_model_that_is_another_one_is_refused_in_a_sentence(tokenizer, name, settings, said):
    settings = {key: value for key, value in settings.items() if not (name == "minimax" and key == "head_dim")}
    with pytest.raises(AttestError, match=said):
        tried(tiny(name, vocab_size=len(WORDS), **settings), tokenizer, label_names=["a", "b", "c"])


def test_a_text_that_quotes_the_padding_is_named_where_the_model_counts_it_out(tokenizer):
    """RoBERTa counts positions by ids other than padding; BERT does not."""
    texts = [*TEXTS, "a [PAD] fine film"]
    with pytest.raises(
        AttestError, match=r"with the ids \[5\]; expected a difference of at most 1e-05. The padding token 0 occurs"
    ):
        tried(tiny("roberta", vocab_size=len(WORDS)), tokenizer, texts)
    require_own(tiny("bert", vocab_size=len(WORDS)), tokenizer, texts)


def test_token_types_are_those_that_the_tokenizer_gave(tokenizer):
    """A GPT-2 adds the embedding of a token's type, be it 0, where it is given one."""
    require_own(tiny("gpt2", vocab_size=len(WORDS)), tokenizer)


@torch.no_grad()
def test_what_the_tokenizer_gave_besides_is_told_to_the_model_itself():
    model = tiny("gpt2", vocab_size=len(WORDS)).eval()
    network, tokens, mask = PretrainedNetwork(model, 0), torch.tensor([[5, 6, 7]]), torch.ones(1, 3, dtype=torch.bool)
    types = torch.tensor([[8, 9, 8]])
    found = network.itself(tokens, mask, token_type_ids=types, unknown_to_the_model=types)
    expected = model(input_ids=tokens, attention_mask=mask.long(), token_type_ids=types).logits
    assert torch.equal(found, expected)
    assert not torch.allclose(found, network.itself(tokens, mask))


class Strange(PretrainedNetwork):
    """Other words in decode than in forward."""

    def encode(self, tokens, mask):
        return super().encode(tokens.roll(1, 1), mask)


class Leaking(PretrainedNetwork):
    """Padding moves a decision."""

    def logits_of(self, mask, **inputs):
        return super().logits_of(mask, **inputs) + mask.float().mean(dim=-1, keepdim=True) * torch.arange(3)

    def itself(self, tokens, mask, **given):
        return self(tokens, mask)


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Strange, "when it is computed by its four steps"), (Leaking, "when a text is padded")],
)
def test_ways_that_differ_are_refused_with_the_largest_difference(kind, said):
    model = tiny("bert")
    require_as_it_is(PretrainedNetwork(model, 0))
    with pytest.raises(
        AttestError, match=rf"BertForSequenceClassification decides differently {said}: probabilities differ by up to 0\.\d+"
    ):
        require_as_it_is(kind(model, 0))


@pytest.mark.parametrize("name", ["mistral", "gemma2"])
def test_soft_caps_are_blamed_only_for_a_model_that_has_them(name):
    with pytest.raises(AttestError, match="The evidence would be about a different model") as told:
        require_as_it_is(Strange(tiny(name), 0))
    assert ("soft caps" in str(told.value)) == (name == "gemma2")


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_beyond_a_sliding_window_changes_nothing(side):
    model, tokens = tiny("mistral", sliding_window=2), torch.tensor([[5, 6, 7, *[0] * 20], [8, 9, 5, 6, *[0] * 19]])
    given = {"input_ids": tokens if side == "right" else tokens.flip(-1)}
    found = attest.trial(model, [given | {"attention_mask": (given["input_ids"] > 0).long()}], ["E2"], progress=False)
    alone = [model(row[row > 0].unsqueeze(0)).logits.softmax(dim=-1)[0] for row in given["input_ids"]]
    own = torch.tensor(found.table().sort_values("id").filter(like="probability_").to_numpy()).float()
    torch.testing.assert_close(own, torch.stack(alone).detach(), rtol=0, atol=1e-5)


def test_looking_leaves_every_part_in_its_mode():
    model = tiny("bert").train()
    model.bert.encoder.eval()
    before = [module.training for module in model.modules()]
    require_as_it_is(PretrainedNetwork(model, 0))
    assert [module.training for module in model.modules()] == before


def test_a_model_in_training_that_recomputes_its_layers_is_looked_at():
    model = tiny("bert").train()
    model.gradient_checkpointing_enable()
    assert PretrainedNetwork(model, 0).decides_by == "first"
    assert model.training


def test_half_precision_is_tried_as_it_is_and_a_file_in_float32(tokenizer, tmp_path):
    model = tiny("bert", vocab_size=len(WORDS))
    single = tried(model, tokenizer).table().filter(like="probability_").to_numpy()
    for half in (torch.bfloat16, torch.float16):
        found = tried(tiny("bert", vocab_size=len(WORDS)).to(half), tokenizer).table().filter(like="probability_").to_numpy()
        torch.testing.assert_close(torch.tensor(found).double(), torch.tensor(single).double(), rtol=0, atol=0.05)
    model.to(torch.bfloat16).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    loaded, _ = load(str(tmp_path))
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    require_own(loaded, tokenizer)


def test_layers_without_a_gradient_are_refused(tokenizer):
    quantised = torch.ao.quantization.quantize_dynamic(tiny("bert", vocab_size=len(WORDS)), {torch.nn.Linear})
    with pytest.raises(AttestError, match="no gradient passes the layers of BertForSequenceClassification"):
        tried(quantised, tokenizer)


def test_tokens_that_the_model_does_not_know(tokenizer):
    """Two positions more than tokens: the sentence is about the embedding of tokens."""
    model = tiny("bert", vocab_size=len(WORDS) - 1)
    require_own(model, tokenizer, [text.replace(".", "") for text in TEXTS])
    with pytest.raises(AttestError, match="ids from 0 to 12, but the embedding of BertForSequenceClassification has 12 rows"):
        tried(model, tokenizer)


@pytest.fixture
def folder(tokenizer, tmp_path):
    tiny("bert", vocab_size=len(WORDS), num_labels=2).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def configured(folder, **settings):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


@pytest.mark.parametrize("named", ["evil.bin", "../evil.safetensors", "/tmp/evil.safetensors"])
def test_weights_are_read_from_the_folder_and_from_safetensors_alone(folder, named):
    """Whatever an index names, transformers opens, and unpickles what is no safetensors."""
    (folder / "model.safetensors").rename(folder / "evil.bin")
    index = {"metadata": {}, "weight_map": {"classifier.bias": named}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(AttestError, match=f"file of weights {named}; expected files in the folder of the model"):
        load(str(folder))


def test_weights_that_the_configuration_names(folder):
    configured(folder, transformers_weights="adapter_model.bin")
    with pytest.raises(AttestError, match=r"file of weights adapter_model\.bin"):
        load(str(folder))


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_files_that_are_cut_get_a_sentence(folder, file, share):
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: int(len(content) * share)])
    with pytest.raises(AttestError, match="expected"):
        load(str(folder))


def test_classes_that_are_counted_from_one(folder, tokenizer):
    configured(folder, id2label={"1": "bad", "2": "good"}, label2id={"bad": 1, "good": 2})
    with pytest.raises(AttestError, match="names the class numbers 1, 2; expected the class numbers 0"):
        tried(load(str(folder))[0], tokenizer)


@pytest.mark.parametrize("name", ["roberta", "bert", "xlm-roberta"])
def test_as_many_tokens_are_read_as_the_model_has_positions_for(tokenizer, name):
    """One more ends in an IndexError of the model."""
    model = tiny(name, vocab_size=len(WORDS), pad_token_id=1, max_position_embeddings=20)
    tokenizer.model_max_length = 64
    most = longest_read(model, tokenizer)
    assert most == (20 if name == "bert" else 18)
    model(torch.full((1, most), 5))
    with pytest.raises((IndexError, RuntimeError)):
        model(torch.full((1, most + 1), 5))
