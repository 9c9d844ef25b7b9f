"""Built networks have the heads and sources that they are said to have, and E17 and E18 name these first."""

import pytest
import torch

import attest
from benchmarks.carriers import Encoder, decoder, facts, of_decoder, of_encoder, of_sources, spoken, tokenizer


@pytest.mark.whole("many trainings")
def test_the_head_that_carries_is_told_from_the_one_that_looks_and_writes_nothing():
    tokens, spans = spoken(24)
    mask = torch.ones_like(tokens, dtype=torch.bool)
    batches = [{"token_ids": each, "mask": real} for each, real in zip(tokens.split(8), mask.split(8), strict=True)]
    asked = {"E17": {"heads": [(1, 1)], "spans": spans}}
    tried = attest.trial(Encoder(), batches, asked)
    table = tried.table("E17").set_index("id")
    heads = [f"layer{layer}_head{head}" for layer in (1, 2) for head in range(1, 5)]
    for kind in ("drop", "write"):  # precision of the first is 1
        assert set(table[[f"{kind}_{head}" for head in heads]].idxmax(axis=1)) == {f"{kind}_layer1_head1"}
    assert table["look_layer1_head1"].min() > 0.99
    assert table["look_layer1_head2"].min() > 0.99
    assert table["drop_layer1_head2"].abs().max() < 1e-6
    assert table["write_layer1_head2"].abs().max() < 1e-6
    assert table["drop_chosen"].min() > 1
    assert table["won_chosen"].mean() > 0.8, "a random head of this layer is the same one in a quarter of draws: half a win"
    found = attest.trial(Encoder(), batches, {"E17": {"heads": [(1, 2)], "spans": spans}})
    assert found.table("E17")["won_chosen"].mean() < 0.5
    left_to_itself = attest.trial(Encoder(), batches, ["E17"]).table("E17")
    assert left_to_itself["look_layer1_head1"].min() > 0.99, "leave-one-out names the word by itself"


def test_the_decoder_copies_what_stood_behind_the_name_and_its_heads_do_what_they_are_said_to_do():
    model, words = decoder(), tokenizer()
    model.set_attn_implementation("eager")
    for row in facts(6).itertuples():
        ids = words(f"{row.text} {row.asked}", return_tensors="pt")["input_ids"]
        with torch.no_grad():
            seen = model(input_ids=ids, output_attentions=True)
        assert words.decode(seen.logits[0, -1].argmax()) == row.label
        assert float(seen.logits[0, -1].softmax(-1).max()) > 0.99
        first, second = (each[0] for each in seen.attentions)
        assert first[0].diagonal(-1).min() > 0.99, "the token before"
        assert second[:2, -1, 3 * row.place + 1].min() > 0.99, "the token behind the name"
        assert torch.cat([first[1:], second[2:]])[..., 0].min() > 0.99, "all others look at the first token"


@pytest.mark.whole("many trainings")
def test_what_carries_is_named_first_in_every_text():
    encoder, copying, sources = of_encoder(8), of_decoder(8), of_sources(6)
    for named in (encoder, copying):
        assert named == {"fall without the head": "8 of 8", "what it writes": "8 of 8", "where it looks": "0 of 8"}
    assert all(sources[name] == "6 of 6" for name in ("leave-one-out", "random sets", "attention × gradient"))
    first = f"{(facts(6)['place'] == 0).sum()} of 6"
    assert sources["attention"] == sources["rollout"] == first, "the sentence that holds the first token"
