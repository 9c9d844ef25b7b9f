"""Models with an encoder and a decoder: the cross-attention of the deciding step, untouched, moved and erased."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification
from transformers.modeling_outputs import BaseModelOutput

import attest
from attest.core.attention.interventions import Intervention, intervene, recorded
from attest.core.errors import AttestError
from attest.core.kinds import TAGS
from attest.core.measures import probabilities
from attest.experiments import observe
from attest.experiments.erasure.operators import attention
from attest.experiments.layers import layer_identifiability, observe_layers, read_from_layers
from attest.models.contract import require_itself
from attest.models.inputs import Inputs
from attest.models.pretrained.admitted import require_as_it_is
from attest.models.pretrained.crossing import CrossingNetwork
from attest.models.pretrained.loading import load
from attest.models.pretrained.network import PretrainedNetwork
from benchmarks.copying import planted, trained, tried, weights_of
from tests.models.pretrained.tiny import BART, SMALL, TEXTS, WORDS, batch, tiny

T5 = {"d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4}
CLASSIFIERS = {"bart": BART, "mbart": BART, "t5": T5}
WRITERS = {"bart": BART, "t5": T5, "umt5": T5, "marian": BART, "pegasus": BART}
ANSWERS = (5, 6, 9)


def made(name, writes=False, end=2, **settings):
    """A model with random parameters; its texts end with the token ``end``."""
    given = (
        SMALL | {**CLASSIFIERS, **WRITERS}.get(name, BART) | {"eos_token_id": end, "decoder_start_token_id": end} | settings
    )
    given.pop("num_hidden_layers")
    torch.manual_seed(0)
    kind = AutoModelForSeq2SeqLM if writes else AutoModelForSequenceClassification
    model = kind.from_config(AutoConfig.for_model(name, **given)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def network_of(name, writes=False):
    return CrossingNetwork(made(name, writes), 0, 4, answers=ANSWERS if writes else ()).eval()


EVERY = [*((name, False) for name in CLASSIFIERS), *((name, True) for name in WRITERS)]


@torch.no_grad()
@pytest.mark.parametrize(("name", "writes"), EVERY)
def test_it_decides_as_itself_and_shows_the_cross_attention_of_the_deciding_step(name, writes):
    network = network_of(name, writes)
    tokens, mask = batch()
    require_itself(network, torch.arange(3), Inputs(tokens, mask))
    layers = observe_layers(network, None, tokens, mask)
    model = network.model
    for part in (model, model.get_encoder(), model.get_decoder()):
        part.set_attn_implementation("eager")
    begin = {"decoder_input_ids": torch.full((3, 1), network._begin[0])} if writes else {}
    told = model(input_ids=tokens, attention_mask=mask.long(), output_attentions=True, **begin)
    ends = [0] * 3 if writes else (mask.sum(dim=-1) - 1).tolist()
    assert len(layers.attention) == len(told.cross_attentions) >= 2
    for seen, own in zip(layers.attention.values(), told.cross_attentions, strict=True):
        torch.testing.assert_close(seen, own[range(3), :, ends].unsqueeze(2), rtol=0, atol=1e-6)
    with intervene(network, Intervention("weights", lambda computed, _: computed.clone())):
        torch.testing.assert_close(network(tokens, mask), layers.logits, rtol=1e-5, atol=1e-6)
    seen = observe(network, None, tokens, mask)
    expected = torch.stack([own[range(3), :, ends].mean(dim=1) for own in told.cross_attentions]).mean(dim=0)
    torch.testing.assert_close(read_from_layers(seen, layers.attention), expected, rtol=0, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("name", WRITERS)
def test_attention_to_one_token_alone_is_that_of_a_decoder_that_sees_no_other(name):
    network, (tokens, mask) = network_of(name, writes=True), batch()
    states = network.model.get_encoder()(input_ids=tokens, attention_mask=mask.long())[0]
    one = torch.nn.functional.one_hot(torch.tensor([1, 3, 2]), tokens.shape[-1])
    begin = torch.full((3, 1), network._begin[0])
    told = network.model(encoder_outputs=BaseModelOutput(states), attention_mask=one, decoder_input_ids=begin).logits
    with intervene(
        network, Intervention("weights", lambda computed, _: one[:, None, None].expand(computed.shape).to(computed))
    ):
        found = network(tokens, mask)
    torch.testing.assert_close(found, told[:, -1, list(ANSWERS)], rtol=1e-4, atol=1e-5)
    assert (found - network(tokens, mask)).abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("name", ["bart", "t5"])
def test_of_a_classifier_the_row_of_the_last_token_alone_is_moved(name):
    network, (tokens, mask) = network_of(name), batch()
    states = []
    looking = network.model.get_decoder().register_forward_hook(lambda _module, _inputs, output: states.append(output[0]))
    network(tokens, mask)
    with intervene(network, Intervention("weights", lambda weights, _: weights.flip(-1))):
        network(tokens, mask)
    looking.remove()
    clean, moved = states
    end = torch.nn.functional.one_hot(mask.sum(dim=-1) - 1, tokens.shape[-1]).bool()
    assert torch.equal(clean[mask & ~end], moved[mask & ~end])
    assert ((clean - moved)[end].abs().amax(dim=-1) > 1e-6).all()


@torch.no_grad()
@pytest.mark.parametrize(("name", "writes"), EVERY)
def test_keys_of_other_tokens_move_their_weights(name, writes):
    network, (tokens, mask) = network_of(name, writes), batch((7, 7, 7))
    order = torch.tensor([3, 0, 6, 1, 2, 5, 4])
    first = next(iter(observe_layers(network, None, tokens, mask).attention))
    with recorded(network, "weights") as clean:
        network(tokens, mask)
    with recorded(network, "weights") as moved, intervene(network, Intervention("keys", lambda keys, _: keys[:, :, order])):
        network(tokens, mask)
    torch.testing.assert_close(moved[first], clean[first][..., order], rtol=0, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize(("name", "writes"), [("bart", False), ("t5", False), ("t5", True)])
def test_an_erased_token_is_seen_neither_by_the_encoder_nor_by_the_decoder(name, writes):
    network, (tokens, mask) = network_of(name, writes), batch((7, 7))
    seen = observe(network, None, tokens, mask)
    kept = mask.clone().unsqueeze(1)
    kept[..., 2] = False
    left = kept[:, 0].long()
    begin = {"decoder_input_ids": torch.full((2, 1), network._begin[0])} if writes else {}
    read = begin or {"decoder_attention_mask": torch.cat([torch.ones(2, 1).long(), left[:, :-1]], dim=1)}
    told = network.model(input_ids=tokens, attention_mask=left, **read).logits
    told = told[:, -1, list(ANSWERS)] if writes else told
    expected = probabilities(told).gather(-1, seen.predicted.unsqueeze(-1))
    torch.testing.assert_close(attention(seen, kept), expected, rtol=0, atol=1e-5)


@torch.no_grad()
def test_e13_asks_the_one_row():
    network, (tokens, mask) = network_of("t5", writes=True), batch()
    columns = layer_identifiability(observe_layers(network, None, tokens, mask))
    assert columns["rank"].tolist() == [4, 4, 4], "d_kv"
    assert columns["trivial"].tolist() == [0, 0, 0]


QUICK = {
    "E1": {},
    "E2": {"permutations": 2},
    "E3": {"steps": 2, "texts": 2},
    "E8": {},
    "E9": {},
    "E13": {},
    "E14": {},
    "E15": {},
}


@pytest.mark.whole("a whole trial")
@torch.no_grad()
def test_a_trial_of_a_classifier_has_its_own_probabilities_and_says_what_is_on_trial(tokenizer, capsys, tmp_path):
    model = made("bart", end=3, vocab_size=len(WORDS))
    tried = attest.trial(model, TEXTS, QUICK, tokenizer=tokenizer, labels=[0, 1, 2, 0, 1], progress=False)
    own = [model(**_read(tokenizer, text)).logits[0].softmax(dim=-1) for text in TEXTS]
    found = torch.tensor(tried.table().filter(like="probability_").to_numpy()).float()
    torch.testing.assert_close(found, torch.stack(own), rtol=0, atol=1e-5)
    told = (
        "BartForSequenceClassification has an encoder and a decoder: on trial is the cross-attention of the step that "
        "decides, one row over the text in each head of 2 layers; attention within the encoder and within the decoder stays "
        "as it is."
    )
    assert capsys.readouterr().out.splitlines()[0] == told
    assert told in tried.save(tmp_path / "kept").report_path.read_text()
    for name in QUICK:
        assert tried.table(name).select_dtypes("number").notna().any().any(), name
    assert "win_comprehensiveness_cross_attention" in tried.table("E15")
    assert not [name for name in tried.table("E15") if "rollout" in name or "lrp" in name]
    every = {*attest.trial(model, TEXTS[:2], "all", tokenizer=tokenizer, progress=False).experiments}
    assert every >= {*QUICK, "E10", "E19", "instances"}
    assert every.isdisjoint({"E16", "E17"})


def _read(tokenizer, text):
    return {name: values for name, values in tokenizer(text, return_tensors="pt").items() if name != "token_type_ids"}


@torch.no_grad()
def test_a_language_model_decides_by_the_first_token_that_it_would_write(tokenizer, tmp_path):
    made("t5", writes=True, end=3, vocab_size=len(WORDS)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    model, tokenizer = load(str(tmp_path), prompted=True)
    answers = {"bad": "dull film", "good": "fine film"}
    asked = {"labels": [0, 1, 0, 0, 1], "prompt": "very {text}", "answers": answers, "progress": False}
    tried = attest.trial(str(tmp_path), TEXTS, {"E2": {"permutations": 2}}, **asked)
    for number, text in enumerate(TEXTS):
        read = _read(tokenizer, f"very {text}")
        written = model.generate(
            **read, max_new_tokens=1, output_logits=True, return_dict_in_generate=True, do_sample=False, use_cache=False
        )
        told = written.logits[0][0]
        expected = told[tokenizer.convert_tokens_to_ids(["dull", "fine"])].softmax(dim=-1)
        found = tried.table().filter(like="probability_").to_numpy()[number]
        assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-5)
    with pytest.raises(AttestError, match="the answers for bad and good begin with the same token, 'a'"):
        attest.trial(model, TEXTS, tokenizer=tokenizer, prompt="{text}", answers={"bad": "a film", "good": "a fine"})


def test_what_is_not_reached_is_refused(tokenizer):
    with pytest.raises(AttestError, match="Attest finds no attention from its decoder to the text"):
        CrossingNetwork(made("led", writes=True, attention_window=4), answers=ANSWERS)
    with pytest.raises(AttestError, match="window= works only for a model with one stack of layers"):
        attest.trial(made("bart", end=3, vocab_size=len(WORDS)), TEXTS, tokenizer=tokenizer, window=8)
    begins = made("t5", writes=True)
    begins.generation_config.decoder_start_token_id = begins.config.decoder_start_token_id = None
    with pytest.raises(AttestError, match="does not say with which token its decoder begins; expected decoder_start_token_id"):
        CrossingNetwork(begins, answers=ANSWERS)


@pytest.fixture(scope="module")
def copied():
    """A T5 that copies a planted word by its cross-attention, and one whose cross-attention is uniform whatever decides."""
    return {uniform: trained(uniform, steps=150) for uniform in (False, True)}, planted(48, torch.Generator().manual_seed(99))


@pytest.mark.whole("trains until cross-attention decides")
def test_a_trial_tells_cross_attention_that_decides_from_one_that_does_not(copied):
    """Tokens of these models meet in cross-attention alone, so that it is known on what each decision hangs."""
    models, (texts, labels, places) = copied
    asked = {"E2": {"permutations": 3}, "E9": {}, "E14": {"texts": 24}}
    free, uniform = (tried(models[kind], texts, labels, asked).summary for kind in (False, True))
    weights = weights_of(models[False], texts)
    assert (weights.argmax(dim=-1) == places).double().mean() > 0.9
    torch.testing.assert_close(weights_of(models[True], texts), torch.full_like(weights, 1 / weights.shape[-1]))
    assert free["test/accuracy"] > 0.95
    assert uniform["test/accuracy"] > 0.95
    assert free["E2/flipped/mean"] > 0.5 > 0 == uniform["E2/flipped/mean"]
    assert free["E9/correct_shuffled/mean"] < 0.5 < 0.95 < uniform["E9/correct_shuffled/mean"]
    for operator in ("attention", "delete"):
        assert free[f"E14/win_comprehensiveness_{operator}/mean"] > 0.9
        assert 0.35 < uniform[f"E14/win_comprehensiveness_{operator}/mean"] < 0.65


def test_a_tagger_of_an_encoder_alone_is_read_where_it_looks_its_tokens_up():
    """T5ForTokenClassification has two tables with the same weights, and looks up in the one of its encoder."""
    network = PretrainedNetwork(tiny("t5", tokens=True, **T5), kind=TAGS).eval()
    require_as_it_is(network)
    tokens, mask = batch()
    embedded = network.encode(tokens, mask).requires_grad_()
    logits = network.decode(embedded, mask.float())
    torch.testing.assert_close(logits[mask], network(tokens, mask)[mask])
    assert torch.autograd.grad(logits.sum(), embedded)[0][mask].any(dim=-1).all()


def test_a_model_with_a_table_that_is_not_looked_up_in_is_refused(monkeypatch):
    model = tiny("bert")
    other = torch.nn.Embedding.from_pretrained(model.get_input_embeddings().weight.detach())
    monkeypatch.setattr(model, "get_input_embeddings", lambda: other)
    with pytest.raises(AttestError, match="looks its tokens up in another table"):
        require_as_it_is(PretrainedNetwork(model))
