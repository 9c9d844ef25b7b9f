"""The bench of trained networks: who is trained, when the asking ends, and what the page tells of it."""

from itertools import groupby

import pandas as pd
import pytest
import torch
import yaml

from attest.core.measures.numbers import percent
from attest.judges.texts import _labels, draw_texts
from benchmarks.deciding import trained
from benchmarks.deciding.looks import CANNOT_TELL, IN_PART, NO, YES, answer_of, interval
from benchmarks.deciding.page import OTHERS, OTHERS_STATED, SECOND, SETTING, STATED, _trained, endpoints, judged_of, stated_of
from benchmarks.judges.training import Enough, _network

TOLD = yaml.safe_load(STATED.read_text(encoding="utf-8"))
FEWER = TOLD | {"rules": ["token"], "free": ["cnn"], "guided": ["cnn"], "projections": ["softmax"], "least": 4}


def test_every_mechanism_is_asked_for_with_each_seed_and_the_last_seed_comes_last():
    asked = trained.asked_for(TOLD)
    assert len({*asked}) == len(asked) == 3 * 252
    assert [seed for seed, _ in groupby(network[3] == TOLD["seeds"][-1] for network in asked)] == [False, True]
    assert {kind for kind, *_, guide in asked if guide != "free"} == {"bilstm", "average", "cnn"}
    assert trained.asked_for(TOLD) == asked


def done(networks, accuracy=1.0) -> pd.DataFrame:
    return pd.DataFrame([dict(zip(SETTING, network, strict=True), accuracy=accuracy) for network in networks])


def test_a_run_that_was_stopped_goes_on_until_enough_have_learned(monkeypatch):
    monkeypatch.setattr(trained, "row_of", lambda asked, stated: {"asked": asked, "accuracy": 1.0})
    asked = trained.asked_for(FEWER)
    assert len(asked) == 9
    assert [row["asked"] for row in trained.results(FEWER, done([]))] == asked[:6], "both seeds, although four would do"
    assert [row["asked"] for row in trained.results(FEWER, done(asked[:2]))] == asked[2:6]
    more = FEWER | {"least": 8}
    assert [row["asked"] for row in trained.results(more, done(asked[:4]))] == asked[4:8]
    assert [row["asked"] for row in trained.results(more, done(asked[:4], accuracy=0.6))] == asked[4:]


@pytest.mark.parametrize(
    ("right", "texts", "last", "answer"),
    [
        (20, 20, False, None),
        (40, 40, False, YES),
        (0, 20, False, NO),
        (10, 20, False, None),
        (60, 80, False, IN_PART),
        (75, 80, True, YES),
        (18, 20, True, CANNOT_TELL),
        (9, 20, True, CANNOT_TELL),
        (30, 80, True, NO),
        (0, 0, True, CANNOT_TELL),
    ],
)
def test_looks_end_when_the_interval_decides(right, texts, last, answer):
    assert answer_of(right, texts, last, TOLD["level"]) == answer


def test_intervals_are_those_of_clopper_and_pearson():
    from scipy.stats import binomtest

    for hits, count in ((0, 20), (3, 20), (20, 20)):
        known = binomtest(hits, count).proportion_ci(0.95, "exact")
        assert interval(hits, count, 0.05) == pytest.approx((known.low, known.high))
    assert interval(0, 73, 0.05)[1] < 0.05 < interval(0, 71, 0.05)[1]


def row(rule, seed, answer, truth, kind="cnn", **other):
    counted = {"accuracy": 1.0, "true_texts": 80, "both": 40, "false_right": 0, "false_wrong": 0, "passes": 200.0}
    named = {"kind": kind, "projection": "softmax", "rule": rule, "seed": seed, "guide": "free"}
    return named | counted | {"answer": answer, "truth": truth} | other


def test_a_mechanism_errs_if_one_of_its_networks_does():
    rows = [row("token", 0, YES, 0.2), row("token", 1, NO, 0.2), row("order", 0, NO, 0.1), row("order", 1, NO, 0.95)]
    rows += [row("order", 2, YES, 0.3, accuracy=0.9), row("token", 2, YES, 0.3, true_texts=4)]
    learned, judged = judged_of(pd.DataFrame(rows), TOLD)
    assert (len(learned), len(judged)) == (5, 4)
    assert judged.true.tolist() == [NO, NO, NO, YES]
    found = endpoints(judged, TOLD, bounds=True)
    high = interval(1, 2, 0.05)[1]
    assert found.said["false yes"] == f"{percent(1 / 3, 1)} (1 of 3 networks, 2 mechanisms, upper bound {percent(high, 1)})"
    assert found.said["false no"].startswith(f"{percent(1, 1)} (1 of 1")
    assert [missed.split(" of ")[0] for missed in found.missed if "bound" in missed] == ["upper bound"] * 2
    assert len(endpoints(judged, TOLD).missed) == 2, "families are not judged by their bounds"


def test_the_page_says_that_a_run_has_not_ended():
    rows = pd.DataFrame([row("token", 0, YES, 1.0), row("order", 0, NO, 0.1)])
    assert f"**This run has not ended**: 2 of {2 * 252} networks are done" in "".join(_trained(rows))
    assert "has not ended" not in "".join(_trained(pd.concat([rows] * 252)))


def test_goals_that_are_missed_are_named():
    rows = [row("token", 0, YES, 1.0, false_wrong=2), row("order", 0, CANNOT_TELL, 1.0)]
    found = endpoints(judged_of(pd.DataFrame(rows), TOLD)[1], TOLD)
    assert found.missed == [f"answered {percent(0.5, 1)}"]
    assert found.said["agreement"].startswith(percent(0.975, 1))
    rows[0]["false_right"] = 1
    assert f"agreement {percent(0.9625, 1)}" in endpoints(judged_of(pd.DataFrame(rows), TOLD)[1], TOLD).missed


def test_a_network_that_is_done_has_every_column_that_is_kept():
    """A quick one: few texts of training, and whatever it has learned counts."""
    stated = TOLD | {"train_texts": 400, "epochs": 4, "learned": 0.0, "drawn": [8, 8], "looks": [4, 4], "truth": 8}
    found = trained.row_of(("cnn", "softmax", "token", 5, "truth"), stated)
    assert {*found} == {*trained.COLUMNS}
    assert found["drawn"] in (8, 16)
    assert found["texts"] <= 4 * found["drawn"] / 8


def test_texts_of_a_block_are_those_of_the_whole():
    texts = draw_texts("order", 12, 3)
    part = trained.part_of(texts, 4, 5)
    assert part.ids.tolist() == [4, 5, 6, 7, 8]
    assert torch.equal(part.tokens, texts.tokens[4:9])
    assert torch.equal(part.deciding, texts.deciding[4:9])


@pytest.mark.parametrize(("name", "layers"), [("transformer", 2), ("transformer-4", 4), ("decoder-1", 1)])
def test_a_name_may_say_how_many_layers(name, layers):
    assert len(_network(name, "softmax", 8, 26, 1).encoder.layers) == layers


def test_training_ends_after_an_epoch_whose_mean_loss_is_small():
    class Going:
        should_stop = False

    enough, trainer = Enough(0.02), Going()
    for losses, stops in (((0.5, 0.01), False), ((0.03, 0.01), True)):
        for loss in losses:
            enough.on_train_batch_end(trainer, None, {"loss": loss}, None, 0)
        enough.on_train_epoch_end(trainer, None)
        assert trainer.should_stop is stops


def test_texts_of_a_rare_label_stand_among_the_others():
    texts = trained.drawn_as({"few": 0.1, "lengths": [24, 36]}, "token", 320, 7)
    parts = texts.labels.split(80)
    assert [len(part) for part in parts] == [80] * 4
    assert int(texts.labels.sum()) == 32
    assert all(part.sum() >= 3 for part in parts)
    assert len({*texts.ids.tolist()}) == 320


@pytest.mark.parametrize("rule", trained.CUES)
def test_a_cue_goes_along_with_the_label_and_is_no_word_of_the_rule(rule):
    plain = draw_texts(rule, 200, 3)
    texts, drawn = trained.with_cue(plain, 3), trained.with_cue(plain, 3, drawn=True)
    for some in (texts, drawn):
        written = some.tokens != plain.tokens
        assert written.sum(dim=1).tolist() == [1] * 200
        assert not (written & plain.deciding).any()
        assert some.mask[written].all()
        assert some.tokens[written].tolist() == [trained.CUES[rule][label] for label in some.labels]
        assert torch.equal(_labels(rule, some.tokens), plain.labels), "the rule does not read it"
        assert torch.equal(trained.reading_the_cue(some).deciding, plain.deciding | written)
    assert torch.equal(texts.labels, plain.labels)
    assert 60 < (drawn.labels == plain.labels).sum() < 140


def test_the_page_has_every_kind_of_texts_that_is_stated():
    assert [*yaml.safe_load(OTHERS_STATED.read_text(encoding="utf-8"))["texts"]] == [*OTHERS, *SECOND]
    for texts, words in (SECOND | {"short": "12 to 16 words", "long": "100 to 200 words"}).items():
        low, high = stated_of(texts)["lengths"]
        assert f"{low} to {high} words" == words
    second = stated_of("second-40")
    assert (str(second["stated"]), second["guides"], second["looks"]) == ("2026-11-29", ["decoy"], TOLD["looks"])
    assert len(trained.asked_for(second)) == second["least"] == 72
