"""E14 for taggers: the tag of one token, without others; the token itself always stays."""

import pytest
import torch
from torch import nn

from attest.experiments.erasure import Background, about_one_token, erasure
from attest.experiments.erasure.operators import UNKNOWN, operators
from attest.experiments.erasure.outcomes import ranks_of, sizes
from attest.experiments.erasure.tags import tag_erasure
from attest.experiments.layers import LayerObservation, observe_layers
from attest.models.networks import TransformerTagger

WORD = 7
LENGTHS = (9, 6, 2, 1)
SEED = 3


@pytest.fixture
def sentences():
    torch.manual_seed(0)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(-1)
    return torch.randint(2, 40, mask.shape) * mask, mask


@pytest.fixture
def asked(sentences):
    torch.manual_seed(1)
    network = TransformerTagger(40, 5, size=16, heads=2, embedding_size=None).eval()
    with torch.no_grad():
        observation = observe_layers(network, torch.arange(4), *sentences)
        return network, observation, *about_one_token(observation, SEED)


def test_the_decision_is_the_tag_of_the_drawn_token(asked):
    _, observation, view, place = asked
    rows = torch.arange(4)
    assert (place < observation.mask.sum(dim=-1)).all()
    assert torch.equal(view.predicted, observation.predicted[rows, place])
    assert torch.equal(view.probabilities, observation.probabilities[rows, place])
    assert view.erasable.tolist() == [8, 5, 1, 0]


def test_other_seeds_and_sentences_draw_other_tokens(asked):
    observation = asked[1]
    drawn = {tuple(about_one_token(observation, seed)[1].tolist()) for seed in range(20)}
    assert len(drawn) > 10


def test_each_word_with_a_tag_is_drawn_and_no_other(asked, sentences):
    network, (tokens, mask) = asked[0], sentences
    labels = mask.long() - 1
    labels[0, [0, 4]] = -1  # two words of the first sentence have no tag
    with torch.no_grad():
        observation = observe_layers(network, torch.arange(4), tokens, mask, labels)
    drawn = torch.stack([about_one_token(observation, seed)[1] for seed in range(100)])
    assert [each.unique().tolist() for each in drawn.T] == [[1, 2, 3, 5, 6, 7, 8], [*range(6)], [0, 1], [0]]


def test_the_column_names_the_place_of_the_token_that_was_asked_about(asked):
    _, observation, _, place = asked
    assert torch.equal(tag_erasure(observation, observation.ids, SEED, sets=1)["token"], place)


def test_with_one_layer_tokens_are_ranked_by_the_mean_over_heads(asked):
    _, observation, view, place = asked
    (weights,) = observation.attention.values()
    row = weights.mean(dim=1)[torch.arange(4), place]
    ranks = ranks_of(view.explanation.unsqueeze(1), view.ids, view.ranked, SEED)[:, 0]
    for text, length in enumerate(LENGTHS):
        others = [token for token in row[text, :length].argsort(descending=True).tolist() if token != place[text]]
        assert ranks[text, :length].argsort().tolist() == [*others, place[text].item()]


@pytest.mark.parametrize("name", ["attention", "delete", "mask", "resample"])
def test_every_operator_reads_the_sentence_without_the_others_and_asks_the_same_token(asked, name):
    network, observation, view, place = asked
    background = Background.of([torch.full((5,), 33)])
    kept = torch.rand(4, 3, view.mask.shape[1], generator=torch.Generator().manual_seed(5)) < 0.5
    kept = (kept & view.mask.unsqueeze(1)) | view.spared.unsqueeze(1)
    (operator, *_) = operators(background, SEED)[name]
    found = operator(view, kept)
    for text, length in enumerate(LENGTHS):
        for variant in range(3):
            stays, tokens = kept[text, variant, :length], observation.tokens[text, :length]
            at = place[text]
            if name == "delete":
                at, tokens, stays = stays[:at].sum(), tokens[stays], torch.ones_like(tokens[stays], dtype=torch.bool)
            elif name != "attention":
                tokens = tokens.where(stays, UNKNOWN if name == "mask" else 33)
                stays = torch.ones_like(stays)
            with torch.no_grad():
                tags = network(tokens.unsqueeze(0), stays.unsqueeze(0))[0, at].softmax(dim=-1)
            assert found[text, variant] == pytest.approx(tags[view.predicted[text]].item(), abs=1e-6)


class CountsAWord(nn.Module):
    """Tag 1 wherever the sentence has the word, but for the token itself, whose own id says nothing."""

    def forward(self, tokens, mask):
        there = ((tokens == WORD) & mask).sum(dim=-1, keepdim=True)
        others = there - ((tokens == WORD) & mask).long()
        return torch.stack([torch.zeros_like(others), 4 * others.clamp(max=1) - 2], dim=-1).float()


@pytest.fixture
def planted(sentences):
    """Every sentence has the word once, beside the drawn token, and all attend to it."""
    tokens, mask = sentences[0][:2].clamp(min=WORD + 1), sentences[1][:2]
    view, place = about_one_token(
        LayerObservation(nn.Identity(), torch.arange(2), tokens, mask, {}, torch.zeros(2, 9, 2)), SEED
    )
    tokens = tokens.scatter(1, ((place + 1) % view.lengths).unsqueeze(-1), WORD)
    weights = (tokens == WORD).float()[:, None, None].expand(-1, 2, 9, -1)
    network = CountsAWord()
    return LayerObservation(network, torch.arange(2), tokens, mask, {"layer": weights}, network(tokens, mask))


def test_attention_that_is_right_beats_every_random_set_that_misses_the_word(planted):
    view, _ = about_one_token(planted, SEED)
    columns = erasure(view, view.ids, sets=50, extras=False, seed=SEED)
    gone = torch.tensor(2.0).sigmoid() - torch.tensor(-2.0).sigmoid()
    for name in ("attention", "delete", "mask"):
        assert columns[f"comprehensiveness_{name}"].tolist() == pytest.approx([gone.item()] * 2)
        assert columns[f"sufficiency_{name}"].tolist() == pytest.approx([0, 0], abs=1e-7)
        assert (columns[f"win_comprehensiveness_{name}"] > 0.75).all()
        assert columns[f"violation_{name}"].tolist() == [0, 0]


def test_attention_that_is_wrong_loses_to_random_sets(planted):
    view, _ = about_one_token(planted, SEED)
    wrong = view.explained_by(1 - view.explanation)
    columns = erasure(wrong, view.ids, sets=50, extras=False, seed=SEED)
    assert (columns["win_comprehensiveness_mask"] < 0.5).all()


def test_sizes_count_the_tokens_that_may_go(asked):
    view = asked[2]
    assert sizes(view.erasable, (0.5,)).flatten().tolist() == [4, 3, 1, 1]


def test_no_ranking_puts_the_token_itself_among_the_first(asked):
    view, columns = asked[2], {}
    columns = erasure(view, view.ids, background=Background.of([torch.arange(2, 30)]), extras=False, seed=SEED)
    assert columns["comprehensiveness_delete"][3].isnan(), "a sentence of one token has no other to erase"
    assert columns["comprehensiveness_delete"][:3].isfinite().all()
    assert {name.rsplit("_", 1)[1] for name in columns if name.startswith("win")} == {
        "attention",
        "delete",
        "mask",
        "resample",
    }


def test_the_mask_token_is_that_of_the_tagger(planted):
    assert about_one_token(planted, SEED)[0].network.masked is None
    planted.network.masked = 103
    assert about_one_token(planted, SEED)[0].network.masked == 103
