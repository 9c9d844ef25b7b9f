"""Rules, defendants and the check of what defendants say of themselves."""

import pytest
import torch
import yaml

from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.judges.defendants import Defendant
from attest.judges.judging import defendant
from attest.judges.texts import RULES, draw_texts
from attest.judges.truth import masses, require_truth, verdict

STATED = yaml.safe_load((configs_folder() / "judges" / "constructed.yaml").read_text(encoding="utf-8"))
LISTED = [
    (family, name, rule)
    for family in ("pooled", "layered")
    for name in STATED[family]
    for rule in STATED["defendants"][name].get("rules", RULES)
]


@pytest.mark.whole("all mechanisms")
@pytest.mark.parametrize(("family", "name", "rule"), LISTED)
def test_every_truth_holds(family, name, rule):
    require_truth(name, defendant(STATED, name, rule, family), draw_texts(rule, 200, seed=0))


def test_a_defendant_that_cannot_follow_a_rule_is_refused(refusal):
    attends_to_one = {"value": "words", "look": "first"}
    with refusal():
        defendant(STATED | {"defendants": {"halved": attends_to_one}}, "halved", "conjunction")


@pytest.mark.parametrize("rule", RULES)
def test_texts_depend_on_their_own_id_alone(rule):
    few, many = draw_texts(rule, 5, seed=3), draw_texts(rule, 50, seed=3)
    assert torch.equal(few.tokens, many.tokens[:5])
    assert not torch.equal(many.tokens, draw_texts(rule, 50, seed=4).tokens)
    assert 0.3 < many.labels.float().mean() < 0.7
    assert (many.tokens == many.exchanged)[~many.deciding].all()


class BlamesOthers(Defendant):
    def carrying(self, read):
        return read.mask * (1 - read.deciding)


class Forgets(Defendant):
    def values_and_scores(self, read):
        return 0 * read.local, read.deciding


class ReadsItsPlace(Defendant):
    def values_and_scores(self, read):
        others = read.mask * (1 - read.deciding)
        return read.local + 0.1 * self.embedding.weight[6:, 4].sum() + others, read.deciding


@pytest.mark.parametrize(
    ("made", "found"),
    [(BlamesOthers, "other states are replaced"), (Forgets, "decides .* wrongly"), (ReadsItsPlace, "decides|changes its")],
)
def test_a_truth_that_does_not_hold_is_refused(made, found):
    with pytest.raises(AttestError, match=found):
        require_truth("liar", made("token").eval(), draw_texts("token", 100, seed=0))


def test_verdicts_by_mass():
    texts = draw_texts("conjunction", 100, seed=0)
    said = {}
    for name in ("honest", "partial", "smuggled", "diffuse", "shadow"):
        network = defendant(STATED, name, "conjunction")
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
