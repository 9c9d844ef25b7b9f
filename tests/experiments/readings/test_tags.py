"""Readings of the tag of one token: against plain loops, and beside words that were marked for that tag."""

import pytest
import torch
from torch import nn

from attest.experiments.erasure import about_one_token
from attest.experiments.layers import LayerObservation, observe_layers
from attest.experiments.readings.rationales import chance
from attest.experiments.readings.tags import OF_TAG, tags_side_by_side
from attest.models.networks import TransformerTagger

LENGTHS, WORD, SEED = (7, 5, 3), 7, 2
MASK = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(-1)
PLACE = torch.tensor([2, 4, 0])


@pytest.fixture
def observation():
    torch.manual_seed(0)
    network = TransformerTagger(40, 5, size=16, heads=2, embedding_size=None).eval()
    tokens = torch.randint(2, 40, MASK.shape) * MASK
    with torch.no_grad():
        return observe_layers(network, torch.arange(3), tokens, MASK)


def test_readings_against_plain_loops(observation):
    network, tokens = observation.network, observation.tokens
    asked, _ = about_one_token(observation, SEED, PLACE)
    found = {name: of(asked, SEED) for name, of in OF_TAG.items()}
    table = next(each for each in network.modules() if isinstance(each, nn.Embedding))
    for text, (length, place) in enumerate(zip(LENGTHS, PLACE.tolist(), strict=True)):
        read, whole = tokens[text, :length], torch.ones(1, length, dtype=torch.bool)
        kept = [table(read.unsqueeze(0)).detach().requires_grad_()]
        hook = table.register_forward_hook(lambda *_, kept=kept: kept[0])
        said = network(read.unsqueeze(0), whole)[0, place].softmax(dim=-1)
        hook.remove()
        (gradient,) = torch.autograd.grad(said.max(), kept)
        assert found["gradient-input"][text, :length].tolist() == pytest.approx(
            (gradient * kept[0]).sum(dim=-1)[0].tolist(), abs=1e-6
        )
        for gone in {*range(length)} - {place}:
            rest = torch.cat([read[:gone], read[gone + 1 :]]).unsqueeze(0)
            with torch.no_grad():
                without = network(rest, whole[:, 1:])[0, place - (gone < place)].softmax(dim=-1)
            moved = (without - said.detach()).abs().sum() / 2
            assert found["leave-one-out"][text, gone].item() == pytest.approx(moved.item(), abs=1e-6)


class CountsAWord(nn.Module):
    """Tag 1 wherever the sentence has the word elsewhere."""

    def forward(self, tokens, mask):
        there = (tokens == WORD) & mask
        others = there.sum(dim=-1, keepdim=True) - there.long()
        return torch.stack([torch.zeros_like(others), 4 * others.clamp(max=1) - 2], dim=-1).float()


@pytest.fixture
def planted():
    """The word stands behind the token, and all attend to it."""
    tokens = (torch.arange(max(LENGTHS)) + WORD + 1).expand(MASK.shape)
    tokens = tokens.scatter(1, ((PLACE + 1) % torch.tensor(LENGTHS)).unsqueeze(-1), WORD) * MASK
    weights = (tokens == WORD).float()[:, None, None].expand(-1, 2, tokens.shape[1], -1)
    network = CountsAWord()
    return LayerObservation(network, torch.arange(3), tokens, MASK, {"layer": weights}, network(tokens, MASK))


def test_marks_are_of_the_tag_that_was_explained(planted):
    """Readings that point at the marked word find it always, a random order as often as its closed form says."""
    marks = (planted.tokens == WORD).float().unsqueeze(-1)
    columns = tags_side_by_side(
        planted, planted.ids, SEED, sets=2, readings=["leave-one-out"], place=PLACE, marks=marks, words=None
    )
    assert columns["token"].tolist() == PLACE.tolist()
    assert not any("gradient" in name for name in columns)
    for name in ("rollout", "leave_one_out"):
        for score in ("f1", "iou_precision", "iou_recall", "auprc"):
            assert columns[f"plausible_{score}_{name}"].tolist() == [1, 1, 1]
        assert (columns[f"win_comprehensiveness_{name}"] >= 0.5).all()
    others = MASK.scatter(1, PLACE.unsqueeze(-1), False)  # the token itself is not ranked
    f1, auprc = chance(marks[..., 0] > 0, others)
    assert columns["plausible_f1_chance"].tolist() == f1.tolist() == pytest.approx([1 / 6, 1 / 4, 1 / 2])
    assert columns["plausible_auprc_chance"].tolist() == auprc.tolist()


def test_no_subword_of_the_word_itself_is_ranked(planted):
    words = torch.where(MASK, torch.tensor([0, 1, 2, 2, 2, 3, 4]), -1)
    place = torch.tensor([2, 0, 1])
    marks = (words == 2).float().unsqueeze(-1)
    columns = tags_side_by_side(planted, planted.ids, SEED, 3, 2, ["leave-one-out"], place, marks, words)
    assert columns["plausible_f1_chance"].isnan().tolist() == [True, False, False]
    assert columns["plausible_f1_chance"][1:].tolist() == [1 / 2, 1 / 2]


def test_a_token_is_drawn_where_nobody_explained_one(planted):
    columns = tags_side_by_side(planted, planted.ids, SEED, 3, 2, [], torch.tensor([2, -1, -1]))
    drawn = about_one_token(planted, SEED)[1]
    assert columns["token"].tolist() == [2, *drawn[1:].tolist()]
    assert not any(name.startswith("plausible") for name in columns)


def test_readings_that_taggers_do_not_have_are_refused(planted, refusal):
    with refusal():
        tags_side_by_side(planted, planted.ids, SEED, readings=["lrp"])
    with refusal():
        tags_side_by_side(planted, planted.ids, SEED)
