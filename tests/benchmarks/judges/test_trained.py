"""Trained defendants: who counts, what is told apart, and whether two rankings agree."""

from dataclasses import replace

import pandas as pd
import pytest
import torch
import yaml

from attest.core.errors import AttestError
from attest.judges.judging import with_added
from attest.judges.measuring import Measured
from attest.judges.metric import STATED
from attest.judges.texts import draw_texts
from attest.models.networks import PoolingClassifier
from benchmarks.judges.__main__ import TRAINED, main
from benchmarks.judges.trained import (
    DECOY,
    FREE,
    TRUTH,
    Trained,
    agreement,
    before_constructed,
    is_pair,
    means,
    models,
    pairs,
)
from benchmarks.judges.training import asked_for, counting, decoys, trained_and_heard

STATED_PAIRS = {"learned": 0.98, "right": 0.9, "wrong": 0.1, "tolerance": 1e-6}
TESTS = {"test": {"of": "tokens"}, "of states": {"of": "states"}}


def heard(suspicion, mass, test="test") -> Measured:
    values = torch.tensor(mass, dtype=torch.double)
    return Measured({test: torch.tensor(suspicion, dtype=torch.double)}, {test: 1.5}, values, values)


def defendant(guided_to=FREE, suspicion=(1, 2, 3, 4), mass=(0.9, 0.8, 0.7, 0.6), accuracy=1.0, **more) -> Trained:
    texts = torch.ones(len(mass), dtype=torch.bool)
    made = Trained("bilstm", "softmax", "token", 0, guided_to, accuracy, texts, heard(suspicion, mass))
    return replace(made, **more)


TRUE = defendant(TRUTH, suspicion=(1, 2, 3, 4), mass=(0.95, 0.99, 1, 1))
FALSE = defendant(DECOY, suspicion=(5, 2.5, 3.5, torch.nan), mass=(0, 0.1, 0, 0))


def test_suspicion_that_grows_as_the_mass_falls_has_tau_one():
    (row,) = models([defendant()], STATED_PAIRS, TESTS).to_dict("records")
    assert row["tau"] == 1
    assert row["mass"] == pytest.approx(0.75)
    (row,) = models([defendant(suspicion=(4, 3, 2, 1))], STATED_PAIRS, TESTS).to_dict("records")
    assert row["tau"] == -1


def test_undefined_and_undecided_texts_are_left_out_and_counted():
    counts = torch.tensor([True, True, True, False])
    (row,) = models([defendant(suspicion=(1, torch.nan, 3, 0), counts=counts)], STATED_PAIRS, TESTS).to_dict("records")
    assert row["tau"] == 1
    assert row["undefined"] == pytest.approx(1 / 3)
    assert row["texts"] == 3
    assert row["milliseconds"] == 1.5


def test_a_model_that_has_not_learned_does_not_count():
    assert models([defendant(accuracy=0.97), TRUE, FALSE], STATED_PAIRS, TESTS).empty


def test_pairs_are_told_apart_text_by_text_with_ties_for_what_is_undefined():
    (row,) = pairs([TRUE, FALSE], STATED_PAIRS, TESTS).to_dict("records")
    wins = 4 + 2 + 3 + 2  # of four each: 5 beats all, 2.5 beats 1 and 2, 3.5 all but 4; what is undefined ties with all
    assert row["auroc"] == wins / 16
    assert row["undefined"] == 0.25


@pytest.mark.parametrize(
    ("side", "change"),
    [
        (TRUE, {"accuracy": 0.5}),
        (FALSE, {"accuracy": 0.5}),
        (FALSE, {"counts": torch.zeros(4, dtype=torch.bool)}),
        (TRUE, {"heard": heard((1, 1, 1, 1), (0.8, 0.8, 0.8, 0.8))}),
        (FALSE, {"heard": heard((1, 1, 1, 1), (0.2, 0.2, 0.2, 0.2))}),
    ],
)
def test_a_pair_that_differs_in_more_than_where_it_looks_does_not_count(side, change):
    changed = replace(side, **change)
    assert is_pair(TRUE, FALSE, STATED_PAIRS)
    sides = {"truth": TRUE, "decoy": FALSE} | {"truth" if side is TRUE else "decoy": changed}
    assert not is_pair(**sides, stated=STATED_PAIRS)


def test_a_pair_is_two_of_the_same_model():
    assert pairs([TRUE, replace(FALSE, seed=1)], STATED_PAIRS, TESTS).empty


def ranked(values_by_setting, seeds=1) -> pd.DataFrame:
    rows = [
        {"network": "cnn", "projection": setting, "rule": "token", "seed": seed, "test": test, "auroc": value}
        for setting, values in enumerate(values_by_setting)
        for seed in range(seeds)
        for test, value in values.items()
    ]
    return pd.DataFrame(rows)


def test_rankings_agree_contradict_or_cannot_be_compared():
    constructed, bootstrap = pd.Series({"a": 0.9, "b": 0.7, "c": 0.5}), {"draws": 50, "level": 0.95, "seed": 0}
    same = agreement(constructed, ranked([{"a": 0.8, "b": 0.6, "c": 0.4}] * 3), "auroc", **bootstrap)
    assert (same["tau"], same["low"], same["high"], same["tests"], same["models"]) == (1, 1, 1, 3, 3)
    turned = agreement(constructed, ranked([{"a": 0.1, "b": 0.6, "c": 0.8}] * 2), "auroc", **bootstrap)
    assert turned["tau"] == -1
    assert agreement(constructed, ranked([{"a": 0.1, "b": 0.6}]), "auroc", **bootstrap)["tau"] is None
    assert agreement(constructed, pd.DataFrame(), "auroc", **bootstrap)["tau"] is None
    alone = agreement(constructed, ranked([{"a": 0.8, "b": 0.6, "c": 0.4}], seeds=5), "auroc", **bootstrap)
    assert (alone["tau"], alone["low"], alone["high"], alone["models"], alone["settings"]) == (1, None, None, 5, 1)
    mixed = agreement(
        constructed, ranked([{"a": 3.0, "b": 2.0, "c": 1.0}, {"a": 0.0, "b": 1.0, "c": 2.0}]), "auroc", **bootstrap
    )
    assert mixed["low"] == -1
    assert mixed["high"] == 1


def test_the_constructed_ranking_is_of_wrong_attention_on_these_rules_without_calibrations():
    cells = [("token", "wrong", "a", 0.8), ("token", "wrong", "a", 0.6), ("order", "wrong", "a", 0.1)]
    cells += [("token", "right", "a", 0.1), ("token", "wrong", "coin", 0.5)]
    judged = pd.DataFrame(cells, columns=["rule", "truth", "test", "auroc"])
    assert before_constructed(judged, ["token"]).to_dict() == {"a": pytest.approx(0.7)}


def test_means_have_intervals_over_settings_and_their_seeds_are_no_further_evidence():
    """Ten seeds of two settings are two settings: an interval over the ten would leave 0 and 1 out."""
    rows = ranked([{"a": 0.0}, {"a": 1.0}], seeds=5)
    rows.loc[0, "auroc"] = torch.nan
    (found,) = means(rows, "auroc", ["test", "network"], draws=300, level=0.95, seed=0).to_dict("records")
    assert found["value"] == pytest.approx(5 / 9)
    assert (found["low"], found["high"], found["settings"]) == (0, 1, 2)
    (alone,) = means(rows[rows.projection == 0], "auroc", ["test", "network"], 300, 0.95, 0).to_dict("records")
    assert pd.isna(alone["low"])
    assert pd.isna(alone["high"])


def test_means_that_differ_by_the_order_of_a_sum_tie():
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 are not the same number to a computer."""
    constructed, bootstrap = pd.Series({"a": 0.9, "b": 0.9, "c": 0.5}), {"draws": 5, "level": 0.95, "seed": 0}
    rows = ranked([{"a": 0.1, "b": 0.3, "c": 0.0}, {"a": 0.2, "b": 0.2, "c": 0.0}, {"a": 0.3, "b": 0.1, "c": 0.0}])
    assert agreement(constructed, rows, "auroc", **bootstrap)["tau"] == 1


def test_a_decoy_is_the_first_token_that_the_rule_does_not_read():
    texts = draw_texts("negation", 50, 0)
    found = decoys(texts)
    assert (found.sum(dim=-1) == 1).all()
    assert not (found & texts.deciding).any()
    assert (texts.deciding[:, 0] | found[:, 0]).all()


class Rule(torch.nn.Module):
    """Decides the token rule, but for texts whose first filler is even: these it calls positive."""

    def forward(self, tokens, mask):
        decided = (tokens == 1).any(dim=-1) | (tokens[:, :1] % 2 == 0).all(dim=-1)
        return decided.float().unsqueeze(-1) * 2 - 1


def test_texts_count_whose_right_decision_the_exchange_flips():
    texts = draw_texts("token", 200, 0)
    stubborn = texts.tokens[:, 0] % 2 == 0
    assert stubborn.any()
    assert torch.equal(counting(Rule(), texts), ~stubborn)


def stated() -> dict:
    small = {"rules": ["token"], "networks": ["average"], "guided": ["average"], "projections": ["softmax"], "seeds": [0]}
    return yaml.safe_load(TRAINED.read_text()) | small | {"texts": 8}


def test_every_model_that_is_stated_is_asked_for():
    whole = yaml.safe_load(TRAINED.read_text())
    assert len(asked_for(whole)) == 2 * 4 * 3 * 5 + 2 * 3 * 3 * 5 * 2
    assert asked_for(stated()) == [("average", "softmax", "token", 0, side) for side in (FREE, TRUTH, DECOY)]


@pytest.mark.whole("trains until attention is guided")
def test_guidance_moves_the_attention_and_leaves_the_accuracy():
    constructed = with_added(yaml.safe_load(STATED.read_text()))
    tests = {"pooled": {name: test for name, test in constructed["tests"]["pooled"].items() if name[:2] in ("or", "E2")}}
    found = {asked[-1]: trained_and_heard(asked, stated(), tests, constructed["settings"]) for asked in asked_for(stated())}
    assert all(each.accuracy >= 0.98 and each.counts.all() for each in found.values())
    assert found[TRUTH].mass("tokens").min() > 0.9
    assert found[DECOY].mass("tokens").max() < 0.2
    assert found[DECOY].heard.mass["states"].equal(found[DECOY].heard.mass["tokens"]), "there is no context"


def test_networks_are_those_of_the_house():
    from benchmarks.judges.training import PROJECTIONS, _network

    made = _network("bilstm", "sparsemax", 8, 26, 1)
    assert isinstance(made, PoolingClassifier)
    assert set(PROJECTIONS) == set(yaml.safe_load(TRAINED.read_text())["projections"])


@pytest.mark.whole("a population of networks")
def test_the_command_writes_its_page_after_the_constructed_ones(tmp_path, monkeypatch, capsys):
    with pytest.raises(AttestError, match=r"Type first: python -m benchmarks\.judges constructed --smoke"):
        main(["trained", "--smoke", "--results", str(tmp_path)])
    monkeypatch.setattr("benchmarks.judges.__main__.SMALLER_TRAINED", stated() | {"epochs": 1})
    rows = pd.DataFrame({"rule": ["token"] * 3, "truth": "wrong", "test": ["E2 shuffling", "E3 exact", "E11 top weight"]})
    rows.assign(auroc=[0.9, 0.8, 0.7]).to_parquet(tmp_path / "judges.parquet")
    main(["trained", "--smoke", "--results", str(tmp_path)])
    assert "of 1 networks that nobody guided learned their rule" in capsys.readouterr().out
    page = (tmp_path / "judges-trained.md").read_text()
    assert "Do the two rankings of tests agree?" in page
    assert "This is a smaller try, not what was stated." in page
    assert {path.name for path in tmp_path.glob("judges-trained*")} >= {"judges-trained.html", "judges-trained.png"}
