"""The population of the verdict: what is composed, how it is split, and whether its truth is measured."""

from collections import defaultdict
from dataclasses import replace

import pytest
import torch
import yaml

from attest.core.places import configs_folder
from attest.experiments.judges.population import Composed, Recipe, made
from attest.experiments.judges.texts import draw_texts
from benchmarks.judges.witnesses import points_at, recipes, refused, rows_of_recipe

STATED = yaml.safe_load((configs_folder() / "judges" / "verdict.yaml").read_text(encoding="utf-8"))
HONEST = Recipe("pooled", "words", "words", "token", 0.9, "softmax", 1.0, 4.0, 0.0, 1, 0, 0.0, "all")
SMALL = STATED | {"texts": {"pooled": 8, "layered": 6, "decoder": 6}}


def test_every_place_stands_on_each_side_and_no_mechanism_on_two() -> None:
    sides = defaultdict(set)
    for side, recipe in recipes(STATED):
        sides[recipe.mechanism].add(side)
        sides["value", recipe.value].add(side)
        sides["look", recipe.look].add(side)
    assert all(len(sides[name]) == 1 for name in sides if isinstance(name, str))
    for kind, names in (("value", STATED["values"]), ("look", STATED["looks"])):
        assert all(sides[kind, name] >= {"make", "calibrate", "error"} for name in names)
    for kind, names in (("value", STATED["added"]["values"]), ("look", STATED["added"]["looks"])):
        assert all(sides[kind, name] == {"fresh"} for name in names)


def test_recipes_do_not_depend_on_what_is_added_or_on_one_another() -> None:
    fewer = STATED | {
        "kinds": {"pooled": 2, "layered": 1, "decoder": 1},
        "added": STATED["added"] | {"values": [], "looks": []},
    }
    assert {*recipes(fewer)} <= {*recipes(STATED)}


@pytest.mark.parametrize("kind", ["pooled", "layered", "decoder"])
@pytest.mark.parametrize(
    ("value", "look", "tokens", "states"),
    [
        ("words", "words", 1, 1),
        ("words", "sink_first", 0, 0),
        ("end", "words", 1, 0),
        ("later", "words", 1, 0),
        ("everywhere", "decoy", 0, 1),
        ("words", "all", 0, 0),
    ],
)
def test_the_truth_of_plain_mechanisms_is_what_they_were_made_for(
    kind: str, value: str, look: str, tokens: int, states: int
) -> None:
    rows = rows_of_recipe((0, ("make", replace(HONEST, kind=kind, value=value, look=look, depth=2, share=0.98))), SMALL)
    assert not isinstance(rows, str), rows
    assert rows["right_tokens"].mean() == tokens
    assert rows["right_states"].mean() == states


def test_a_mixture_is_right_in_part() -> None:
    rows = rows_of_recipe((0, ("make", replace(HONEST, mixture=0.5, other_look="decoy"))), STATED)
    assert 0.2 < rows["right_tokens"].mean() < 0.8


def test_the_gain_is_set_by_the_least_decision() -> None:
    texts = draw_texts("token", 32, 1)
    network = made(HONEST, texts)
    logits = network(texts.tokens, texts.mask)
    assert (logits[:, 1] - logits[:, 0]).abs().min().item() == pytest.approx(HONEST.margin, rel=1e-4)


def test_a_network_that_cannot_decide_by_its_rule_does_not_count() -> None:
    nothing = replace(HONEST, value="words", look="others", projection="sparsemax")
    assert rows_of_recipe((0, ("make", nothing)), SMALL) == "no gain lets it decide every text by its rule"


class Swayed(Composed):
    """An honest network that a certain filler sways."""

    def encode(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = super().encode(tokens, mask)
        swayed = (tokens == 9).any(dim=-1)[:, None]
        return torch.cat([states[..., :1] * torch.where(swayed, 0.2, 1.0)[..., None], states[..., 1:]], dim=-1)


def test_a_network_that_other_tokens_move_does_not_count() -> None:
    assert (
        refused(Swayed(HONEST), draw_texts("token", 8, 7), SMALL) == "it moves when a token that does not decide is replaced"
    )


def test_attention_points_where_it_leads() -> None:
    attention = torch.tensor([[0.5, 0.3, 0.2], [0.34, 0.33, 0.33], [0.4, 0.4, 0.2], [0.2, 0.5, 0.3]])
    truth = torch.tensor([[True, False, False], [True, False, False], [True, True, False], [True, True, False]])
    ranked = torch.ones(4, 3, dtype=torch.bool)
    assert points_at(attention, truth, ranked, every=False, lead=1.1).tolist() == [True, False, True, True]
    assert points_at(attention, truth, ranked, every=True, lead=1.1).tolist() == [True, False, True, False]
    ranked[0, 0] = False
    assert not points_at(attention, truth, ranked, every=False, lead=1.1)[0]
