"""Rules, defendants and the check of what defendants say of themselves."""

import pytest
import torch

from attest.core.errors import AttestError
from attest.experiments.judges.defendants import DEFENDANTS, LAYERED, Honest, Layered, Smuggled
from attest.experiments.judges.texts import RULES, draw_texts
from attest.experiments.judges.truth import masses, require_truth, verdict

POOLED = [(name, rule) for name, made in DEFENDANTS.items() for rule in made.rules]


@pytest.mark.parametrize(("name", "rule"), POOLED)
def test_every_pooled_truth_holds(name, rule):
    require_truth(name, DEFENDANTS[name](rule).eval(), draw_texts(rule, 200, seed=0))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LAYERED)
def test_every_layered_truth_holds(name, rule):
    require_truth(name, Layered(LAYERED[name](rule)).eval(), draw_texts(rule, 200, seed=0))


def test_at_least_fourteen_defendants():
    assert len(DEFENDANTS) >= 14


@pytest.mark.parametrize("rule", RULES)
def test_texts_depend_on_their_own_id_alone(rule):
    few, many = draw_texts(rule, 5, seed=3), draw_texts(rule, 50, seed=3)
    assert torch.equal(few.tokens, many.tokens[:5])
    assert not torch.equal(many.tokens, draw_texts(rule, 50, seed=4).tokens)
    assert 0.3 < many.labels.float().mean() < 0.7
    assert (many.tokens == many.exchanged)[~many.deciding].all()


class BlamesItself(Smuggled):
    def carrying(self, read):
        return read.deciding


class Forgets(Honest):
    def values_and_scores(self, read):
        return 0 * read.local, read.deciding


class ReadsTheDecoy(Honest):
    def values_and_scores(self, read):
        return read.local + 0.1 * self.embedding.weight[6:, 4].sum() + read.decoy, read.deciding


@pytest.mark.parametrize(
    ("made", "found"),
    [(BlamesItself, "other states are replaced"), (Forgets, "labels wrong"), (ReadsTheDecoy, "moves|labels")],
)
def test_a_truth_that_does_not_hold_is_refused(made, found):
    with pytest.raises(AttestError, match=found):
        require_truth("liar", made("token").eval(), draw_texts("token", 100, seed=0))


def test_verdicts_by_mass():
    texts = draw_texts("conjunction", 100, seed=0)
    said = {}
    for name in ("honest", "partial", "smuggled", "diffuse", "shadow"):
        network = DEFENDANTS[name]("conjunction").eval()
        hidden = network.encode(texts.tokens, texts.mask)
        attention = network.project(network.score(hidden, texts.mask), texts.mask)
        carrying = network.carrying_states(texts.tokens, texts.mask)
        said[name] = tuple(verdict(mass) for mass in masses(texts, attention, carrying))
    assert said == {
        "honest": ("right", "right"),
        "partial": ("wrong", "right"),
        "smuggled": ("wrong", "right"),
        "diffuse": ("mixed", "mixed"),
        "shadow": ("wrong", "wrong"),
    }
