"""The comparison with SHAP: equal passes, and words counted as E19 counts them."""

import torch

from attest.experiments.deciding.filling import Game, Texts
from benchmarks import beside_shap


def test_words_are_counted_as_the_search_counts_them(monkeypatch):
    weights, tokens = torch.tensor([0.1, 5.0, 0.0, -0.1, 5.0, 0.1]), torch.arange(1, 7).unsqueeze(0)

    def read(rows, read_tokens):
        return (((read_tokens == tokens[rows]) * weights).sum(dim=1) - 7).sigmoid()

    allowed = []

    def values(game, passes):
        allowed.append(passes)
        return torch.tensor([[0.0, 6.0, 5.0, 4.0, 3.0, 0.0]])  # two words that do not matter before the second that does

    monkeypatch.setattr(beside_shap, "shap_values", values)
    game = Game(Texts(read, torch.tensor([0]), tokens, torch.arange(6).unsqueeze(0)), torch.tensor([9]), 0)
    found = beside_shap.compared(game, torch.zeros(1, 6))
    assert (found.words, found.ours, found.theirs, found.right) == (6, 2, 4, False)
    assert allowed == [found.passes]
    assert 0 < found.passes < game.passes  # that the first words decide is asked afterwards


def test_a_ranking_with_both_words_first_is_right(monkeypatch):
    tokens = torch.arange(1, 5).unsqueeze(0)
    kept = torch.tensor([True, False, True, False])

    def read(rows, read_tokens):
        return ((read_tokens == tokens[rows]) | ~kept).all(dim=1) * 0.9

    monkeypatch.setattr(beside_shap, "shap_values", lambda game, passes: kept.double().unsqueeze(0))
    game = Game(Texts(read, torch.tensor([0]), tokens, torch.arange(4).unsqueeze(0)), torch.tensor([9]), 0)
    found = beside_shap.compared(game, torch.zeros(1, 4))
    assert (found.ours, found.theirs, found.right) == (2, 2, True)
