"""What the page of the judges before trained networks says, from made-up numbers whose sentences are known."""

from dataclasses import replace

import pandas as pd
import pytest
import torch

from attest.judges.measuring import Measured
from benchmarks.judges.trained import DECOY, FREE, TRUTH, Trained, models, pairs
from benchmarks.judges.trained_page import TRAINED, agreements, heat_maps, write_trained

STATED = {"rules": ["token"], "learned": 0.98, "right": 0.9, "wrong": 0.1, "tolerance": 1e-6}
STATED |= {"bootstrap": {"draws": 40, "level": 0.95, "seed": 0}}
TESTS = {"pooled": {name: {"of": "tokens"} for name in ("a", "b", "c", "oracle of tokens")}, "layered": {}}
CONSTRUCTED = pd.DataFrame({"rule": "token", "truth": "wrong", "test": ["a", "b", "c"], "auroc": [0.9, 0.7, 0.5]})
CALM, FALLING = (0.0, 0.0, 0.0, 0.0), (0.9, 0.8, 0.7, 0.6)
SEEN = {"a": (1.0, 2.0, 3.0, 4.0), "b": (0.0, 0.0, 1.0, 1.0), "c": (-1.0, -1.0, -1.0, -1.0)}


def trained(guided_to, suspicion, mass, seed, accuracy=1.0) -> Trained:
    masses = torch.tensor(mass, dtype=torch.double)
    numbers = {name: torch.tensor(values, dtype=torch.double) for name, values in suspicion.items()}
    heard = Measured(
        numbers | {"oracle of tokens": -masses}, dict.fromkeys((*numbers, "oracle of tokens"), 2.5), masses, masses
    )
    return Trained("cnn", f"projection {seed}", "token", 0, guided_to, accuracy, torch.ones(4, dtype=torch.bool), heard)


@pytest.fixture
def everyone() -> list[Trained]:
    """Three settings: ``a`` tells every pair apart, ``b`` half of the texts, ``c`` is misled; one more has learned nothing."""
    free = [trained(FREE, {"a": SEEN["a"], "b": CALM, "c": (4, 3, 2, 1)}, FALLING, seed) for seed in range(3)]
    truth = [trained(TRUTH, dict.fromkeys(SEEN, CALM), (1.0,) * 4, seed) for seed in range(3)]
    decoy = [trained(DECOY, SEEN, CALM, seed) for seed in range(3)]
    return [*free, *truth, *decoy, trained(FREE, SEEN, FALLING, 3, accuracy=0.6)]


def write(folder, everyone) -> tuple[str, str]:
    words = write_trained(folder, everyone, CONSTRUCTED, STATED, TESTS, "Stated there.")
    return words, (folder / "judges-trained.md").read_text()


def test_words_say_who_counts_what_tells_apart_and_whether_rankings_agree(everyone, tmp_path):
    words, page = write(tmp_path, everyone)
    assert words in page
    assert words.startswith("3 of 4 networks that nobody guided learned their rule.")
    assert "Their attention puts 0.75 (cnn) of its mass on the deciding words." in words
    assert "3 of 3 pairs count, seeds of 3 settings, of the rule token alone." in words
    assert "a tells pairs apart best (1.00), c worst (0.00). Misled by pairs in the mean: c." in words
    assert (
        "About tokens, the rankings of 3 tests by constructed defendants and by trained pairs agree "
        "(τ-b 1.00, 95 % interval 1.00 to 1.00)." in words
    )
    assert "oracle" not in words


def test_rankings_that_are_turned_round_contradict_each_other(everyone, tmp_path):
    turned = CONSTRUCTED.assign(auroc=[0.5, 0.7, 0.9])
    words = write_trained(tmp_path, everyone, turned, STATED, TESTS, "Stated there.")
    assert "by trained pairs contradict each other (τ-b -1.00" in words


def test_page_has_intervals_undefined_shares_cost_limits_and_stamp(everyone, tmp_path):
    _, page = write(tmp_path, everyone)
    assert "| b | tokens | 0.75 [0.75, 0.75] | 0% |" in page
    assert "| a | tokens | 1.00 [1.00, 1.00] | 0% |" in page
    assert "| c | tokens | -1.00 [-1.00, -1.00] | 0% |" in page
    assert "| cnn | projection 0 | token | 1 of 1 | 0.750 | 1 of 1 | 1.000 | 1 of 1 | 0.000 | 1 |" in page
    assert "| a | 2.5 |" in page
    assert "Stated there." in page
    assert all(limit in page for limit in TRAINED.limits)
    for name, kept in (("models", 12), ("pairs", 12)):
        assert len(pd.read_parquet(tmp_path / f"judges-trained-{name}.parquet")) == kept


def test_of_one_setting_there_is_no_interval(everyone, tmp_path):
    one = [replace(each, projection="softmax") for each in everyone if each.guided_to != FREE]
    one = [replace(each, seed=seed % 3) for seed, each in enumerate(one)]
    words, page = write(tmp_path, one)
    assert "by trained pairs are not shown to agree (τ-b 1.00, one setting, so no interval)." in words
    assert "| a | tokens | 1.00 | 0% |" in page
    assert "pairs count, seeds of 1 setting" in words


def test_without_a_pair_the_page_says_so(everyone, tmp_path):
    words, page = write(tmp_path, [each for each in everyone if each.guided_to != TRUTH])
    assert "0 of 3 pairs count." in words
    assert "pairs apart" not in words
    assert "Do the two rankings of tests agree?" in page


def test_a_ranking_needs_three_tests(everyone):
    few = CONSTRUCTED[:2]
    found = agreements(models(everyone, STATED, TESTS["pooled"]), pairs(everyone, STATED, TESTS["pooled"]), few, STATED)
    assert found.tau.isna().all()


def test_heat_maps_show_pairs_beside_models_alone(everyone):
    drawn = heat_maps(models(everyone, STATED, TESTS["pooled"]), pairs(everyone, STATED, TESTS["pooled"]))
    apart, alone = drawn.axes[:2]
    assert [each.get_text() for each in apart.texts] == ["1.00", "0.75", "0.00", "1.00"]
    assert [each.get_text() for each in alone.texts] == ["1.00", "-1.00", "1.00"]
