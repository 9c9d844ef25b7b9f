"""Networks with hand-set parameters: which there are, which count, and whether measure and truth are told apart on them."""

import sys
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
import torch
import yaml

from attest.core.places import configs_folder
from attest.judges.population import Composed, Recipe, made
from attest.judges.texts import draw_texts
from benchmarks.deciding import constructed
from benchmarks.deciding.constructed import compared, main, recipes, refused, row_of

STATED = yaml.safe_load((configs_folder() / "judges" / "population.yaml").read_text(encoding="utf-8"))
HONEST = Recipe("pooled", "words", "words", "token", 0.9, "softmax", 1.0, 4.0, 0.0, 1, 0, 0.0, "all")
SMALL = STATED | {"texts": 12}


def test_each_mechanism_has_its_networks():
    counts = Counter((recipe.value, recipe.look, recipe.kind) for recipe in recipes(STATED))
    assert counts["words", "sink_first", "pooled"] == STATED["kinds"]["pooled"]
    assert counts["words", "sink_pair", "pooled"] == STATED["added"]["kinds"]["pooled"]
    assert counts["last", "words", "layered"] == STATED["added"]["kinds"]["layered"]
    assert counts["decoy", "words", "decoder"] == 0, "a decoder cannot hold its decision there"
    assert counts["end", "words", "decoder"] == STATED["kinds"]["decoder"]


def test_recipes_do_not_depend_on_one_another():
    fewer = STATED | {
        "kinds": {"pooled": 2, "layered": 1, "decoder": 1},
        "added": STATED["added"] | {"kinds": {"pooled": 1}},
    }
    assert {*recipes(fewer)} < {*recipes(STATED)}


@pytest.mark.whole("many trainings")
@pytest.mark.parametrize("kind", ["pooled", "layered", "decoder"])
@pytest.mark.parametrize(
    ("value", "look", "right"),
    [("words", "words", 1), ("words", "sink_first", 0), ("end", "words", 1), ("later", "words", 1), ("words", "all", 0)],
)
def test_plain_mechanisms_are_what_they_were_made_for(kind, value, look, right):
    row = row_of((3, replace(HONEST, kind=kind, value=value, look=look, depth=2, share=0.98)), SMALL)
    assert not row["refused"]
    assert (row["network"], row["texts"], row["both"], row["agree"]) == (3, 12, 12, 12)
    assert row["measured"] == row["truth"] == right


def test_a_mixture_is_right_in_part():
    row = row_of((0, replace(HONEST, mixture=0.5, other_look="decoy")), STATED)
    assert 0.2 < row["truth"] < 0.8
    assert row["measured"] == row["truth"]


def of_rule(rule):
    """An honest network, its texts, and its tokens that count."""
    texts = draw_texts(rule, 12, 7)
    network = made(replace(HONEST, rule=rule), texts)
    assert network is not None
    return network, texts


def first(deciding):
    return deciding & (deciding.cumsum(dim=1) == 1)


@pytest.mark.parametrize("rule", ["redundant", "negation"])
def test_one_of_two_words_is_enough_only_where_the_rule_says_so(rule):
    """Of two equal words one is enough; "not" without its word is not."""
    network, texts = of_rule(rule)
    found = compared(network, texts, first(texts.deciding).double(), texts.mask, 0)
    alone = float((texts.deciding.sum(dim=1) == 1).double().mean())
    assert found["measured"] == found["truth"] == (1 if rule == "redundant" else alone)
    assert 0 < alone < 1 or rule == "redundant"
    assert found["agree"] == found["both"] > 0
    assert found["false_right"] == 0


def test_a_wrong_reading_is_noticed_by_both():
    network, texts = of_rule("order")
    found = compared(network, texts, first(texts.mask & ~texts.deciding).double(), texts.mask, 0)
    assert found["measured"] == found["truth"] == 0
    assert compared(network, texts, texts.deciding.double(), texts.mask, 0)["measured"] == 1


def test_a_wrong_truth_is_noticed():
    """Of two words, of which each is enough, the truth is told one alone; attention is on the other."""
    network, texts = of_rule("redundant")
    one = first(texts.deciding)
    found = compared(network, replace(texts, deciding=one), (texts.deciding & ~one).double(), texts.mask, 0)
    assert found["measured"] == 1
    assert (found["both"], found["agree"], found["false_right"]) == (12, 0, 12)
    filler = first(texts.mask & ~texts.deciding)
    nothing = compared(network, replace(texts, deciding=filler), texts.deciding.double(), texts.mask, 0)
    assert (nothing["needs"], nothing["needs_truth"], nothing["both"]) == (12, 0, 0)


def test_the_gain_is_set_by_the_least_decision():
    texts = draw_texts("token", 32, 1)
    network = made(HONEST, texts)
    logits = network(texts.tokens, texts.mask)
    assert (logits[:, 1] - logits[:, 0]).abs().min().item() == pytest.approx(HONEST.margin, rel=1e-4)


def test_a_network_that_cannot_decide_by_its_rule_does_not_count():
    row = row_of((0, replace(HONEST, value="words", look="others", projection="sparsemax")), SMALL)
    assert row["refused"] == "no gain lets it decide every text by its rule"
    assert "measured" not in row


class Swayed(Composed):
    """An honest network that a certain filler sways."""

    def encode(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = super().encode(tokens, mask)
        swayed = (tokens == 9).any(dim=-1)[:, None]
        return torch.cat([states[..., :1] * torch.where(swayed, 0.2, 1.0)[..., None], states[..., 1:]], dim=-1)


def test_a_network_that_other_tokens_move_does_not_count():
    assert (
        refused(Swayed(HONEST), draw_texts("token", 8, 7), SMALL) == "it moves when a token that does not decide is replaced"
    )


@pytest.mark.whole("many trainings")
def test_a_network_is_tried_once(tmp_path, monkeypatch):
    monkeypatch.setattr(constructed, "TABLE", tmp_path / "constructed.csv")
    monkeypatch.setattr(constructed, "write", lambda: None)
    for networks in ("2", "1"):
        monkeypatch.setattr(sys, "argv", ["constructed", "--processes", "1", "--networks", networks])
        main()
    table = pd.read_csv(tmp_path / "constructed.csv")
    assert [*table["network"]] == [0, 1, 2]
    assert [*zip(table.value, table.look, strict=True)] == [("words", "words")] * 3
