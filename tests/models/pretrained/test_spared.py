"""The place of decision and special tokens are neither ranked nor erased, and do not count: in E1, E14, E15, E16 and tags."""

import pytest
import torch
from transformers import BertTokenizerFast

import attest
from attest.core.measures import kendall_tau_b
from attest.experiments import feature_importance, observe
from attest.experiments.erasure import erasure
from attest.experiments.erasure.operators import attention
from attest.experiments.erasure.outcomes import random_ranks, ranks_of
from attest.experiments.layers import attention_rollout, observe_layers, where_rollout_begins
from attest.experiments.layers.knockout import knockout
from attest.experiments.readings import side_by_side
from attest.models.pretrained.network import PretrainedNetwork
from tests.models.pretrained.tiny import TEXTS, WORDS, batch, tiny

LENGTHS = (5, 9, 7, 3, 12, 8)
CLS, SEP = 2, 3
DECIDES = {"bert": "first", "roberta": "first", "llama": "last", "gpt2": "last"}


def explained(name, special=None, **settings):
    """Six texts of a tiny model, explained by attention rollout, and where it decides."""
    network = PretrainedNetwork(tiny(name, **settings), 0).eval()
    tokens, mask = batch(LENGTHS)
    observation = observe(network, torch.arange(6), tokens, mask, special=special)
    layers = observe_layers(network, observation.ids, tokens, mask)
    place = torch.zeros(6, dtype=torch.int64) if DECIDES[name] == "first" else mask.sum(dim=-1) - 1
    return observation.explained_by(attention_rollout(layers.attention, where_rollout_begins(observation))), place


@pytest.mark.parametrize("name", DECIDES)
def test_the_deciding_place_is_ranked_first_by_rollout_and_never_erased(name):
    observation, place = explained(name)
    assert observation.network.decides_by == DECIDES[name]
    by_all = ranks_of(observation.explanation.unsqueeze(1), observation.ids, observation.mask, 0)[:, 0]
    assert (by_all.gather(-1, place.unsqueeze(-1)) == 0).sum() >= 5, "rollout begins there"
    asked = {"kept": []}

    def looked_at(seen, kept):
        asked["kept"].append(kept)
        return attention(seen, kept)

    from attest.experiments.erasure import four_operators

    own, four_operators.operators = four_operators.operators, lambda *_: {"attention": (looked_at,)}
    try:
        columns = erasure(observation, observation.ids, extras=False)
    finally:
        four_operators.operators = own
    for kept in asked["kept"]:
        assert kept.gather(-1, place[:, None, None].expand(-1, kept.shape[1], 1)).all()
    assert columns["comprehensiveness_attention"].isfinite().all()
    assert observation.erasable.tolist() == [length - 1 for length in LENGTHS]


def test_ranks_and_random_sets_have_special_tokens_behind_all_others():
    special = torch.zeros(6, 12, dtype=torch.bool)
    special[:, 1:3] = True
    observation, _ = explained("bert", special)
    assert observation.erasable.tolist() == [length - 3 for length in LENGTHS]
    for ranks in (
        ranks_of(observation.explanation.unsqueeze(1), observation.ids, observation.ranked, 0),
        random_ranks(observation.ids, observation.ranked, 30, 0),
    ):
        for row, length in enumerate(LENGTHS):
            assert (ranks[row, :, 3:length].sort(dim=-1).values == torch.arange(length - 3)).all()


def test_a_text_of_spared_tokens_alone_has_no_numbers_and_the_others_are_as_without_it():
    special = torch.zeros(6, 12, dtype=torch.bool)
    special[3] = True
    observation, _ = explained("bert", special)
    found = erasure(observation, observation.ids) | side_by_side(observation, observation.ids)
    assert all(column[3].isnan() for column in found.values())
    assert found["win_comprehensiveness_delete"][[0, 1, 2, 4, 5]].isfinite().all()
    assert found["win_comprehensiveness_rollout"][[0, 1, 2, 4, 5]].isfinite().all()


def test_importances_and_readings_agree_over_the_tokens_that_are_ranked():
    special = torch.zeros(6, 12, dtype=torch.bool)
    special[:, 1] = True
    observation, _ = explained("bert", special)
    columns = feature_importance(observation)
    counted = observation.mask.clone()
    counted[:, :2] = False
    by_hand = kendall_tau_b(observation.explanation, columns["gradient_inputs"], counted).tau
    torch.testing.assert_close(columns["tau_gradient_inputs"], by_hand, equal_nan=True)
    readings = side_by_side(observation, observation.ids)
    loo = columns["leave_one_out_inputs"]
    by_hand = kendall_tau_b(observation.explanation, loo, counted).tau
    torch.testing.assert_close(readings["tau_leave_one_out_and_rollout"], by_hand, equal_nan=True)


@pytest.mark.parametrize("name", DECIDES)
def test_nothing_attends_to_an_erased_token_and_all_else_is_as_it_was(name):
    """Against the model's own attention under a mask in which no row attends to the place."""
    network = PretrainedNetwork(tiny(name), 0).eval()
    tokens, mask = batch((7,))
    observation = observe(network, torch.tensor([0]), tokens, mask)
    network.model.set_attn_implementation("eager")
    own = torch.zeros(1, 1, 7, 7)
    if network.looks_back:
        own = own.masked_fill(torch.ones(7, 7, dtype=torch.bool).triu(1), torch.finfo(own.dtype).min)
    for place in range(1 if network.looks_back else 0, 7 - network.looks_back):
        kept = mask.unsqueeze(1).clone()
        kept[..., place] = False
        forbidden = own.clone()
        forbidden[..., place] = torch.finfo(own.dtype).min
        with torch.no_grad():
            logits = network.model(input_ids=tokens, attention_mask=forbidden).logits
        expected = logits.softmax(dim=-1)[0, observation.predicted[0]]
        torch.testing.assert_close(attention(observation, kept)[0, 0], expected, atol=1e-6, rtol=0)


def test_edges_to_special_tokens_are_never_cut():
    network = PretrainedNetwork(tiny("llama"), 0).eval()
    tokens, mask = batch((6, 6))
    special = torch.ones_like(mask)
    special[0, 2:4] = False
    columns = knockout(observe_layers(network, torch.arange(2), tokens, mask, special=special), 0)
    assert columns["drop"].isfinite().tolist() == [True, False]
    spans = {0: [4]}
    with pytest.raises(attest.AttestError, match="expected token numbers from 2 to 3"):
        knockout(observe_layers(network, torch.arange(2), tokens, mask, special=special), 0, spans=spans)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(WORDS))
    return BertTokenizerFast(str(path))


def test_a_trial_knows_the_special_tokens_of_texts_and_of_batches(tokenizer):
    model = tiny("bert", vocab_size=len(WORDS))
    of_texts = attest.trial(model, TEXTS, ["E14"], tokenizer=tokenizer, progress=False).table("instances")
    for special, tokens in zip(of_texts["special"], of_texts["tokens"], strict=True):
        assert [word in ("[CLS]", "[SEP]") for word in tokens] == list(special)
    read = tokenizer(TEXTS, padding=True, return_tensors="pt")
    batches = [{"token_ids": read["input_ids"], "mask": read["attention_mask"].bool()}]
    of_batches = attest.trial(model, batches, ["E14"], tokenizer=tokenizer, progress=False).table("instances")
    assert [list(each) for each in of_batches["special"]] == [list(each) for each in of_texts["special"]]


def test_a_trial_of_a_tagger_spares_special_tokens(tokenizer):
    model = tiny("bert", tokens=True, vocab_size=len(WORDS))
    table = attest.trial(
        model, [["a"], ["a", "film"]], ["E14"], tokenizer=tokenizer, labels=[[0], [1, 2]], progress=False
    ).table("E14")
    assert table["comprehensiveness_delete"].isna().tolist() == [True, False], "[CLS] a [SEP]: nothing else to erase"
