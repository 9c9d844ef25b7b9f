"""A metric of somebody else's before networks whose truth is known."""

import pytest
import torch

import attest
from attest.core.errors import AttestError
from attest.experiments import feature_importance

pytestmark = pytest.mark.whole("a population of judges")

PART = {"rules": ["token"], "seeds": [0], "texts": 6}


def agreement(network, batch, attention):
    """Our own E1, as somebody else would write it."""
    seen = attest.observe(network, batch["id"], batch["token_ids"], batch["mask"])
    return feature_importance(seen)["tau_leave_one_out_inputs"]


def test_a_metric_that_is_one_of_our_tests_has_its_auroc():
    judged = attest.judge(agreement, name="theirs", beside=("E1",), **PART)
    pooled = judged[judged.family == "pooled"].set_index(["test", "defendant"])
    for column in ("auroc", "low", "high", "truth", "mass", "tau"):
        theirs, ours = pooled.loc["theirs"][column], pooled.loc["E1 leave-one-out"][column]
        assert theirs.tolist() == pytest.approx(ours.tolist(), nan_ok=True) if column != "truth" else (theirs == ours).all()
    wrong = pooled.loc["theirs"].query("truth == 'wrong'")
    assert (wrong["auroc"] > 0.9).any()
    assert {"layered", "pooled"} == {*judged.family}
    assert "E2 shuffling" not in {*judged.test}


@torch.no_grad()
def drop_of_the_first(network, batch, attention):
    """How far the prediction falls without the token with the most attention."""
    first = attention.argmax(dim=-1, keepdim=True)
    clean = network(batch["token_ids"], batch["mask"]).softmax(-1)
    without = network(batch["token_ids"].scatter(-1, first, 1), batch["mask"]).softmax(-1)
    predicted = clean.argmax(dim=-1, keepdim=True)
    return (clean - without).gather(-1, predicted).squeeze(-1)


def test_a_metric_gets_numbers_about_pooled_networks_and_transformers():
    judged = attest.judge(drop_of_the_first, name="drop", **PART).query("test == 'drop'")
    assert judged.set_index(["family", "defendant"]).loc[("pooled", "honest"), "truth"] == "right"
    assert judged.auroc.dropna().between(0, 1).all()
    turned = attest.judge(drop_of_the_first, name="drop", larger="wrong", **PART).query("test == 'drop'")
    both = (judged.auroc + turned.auroc).dropna()
    assert both.tolist() == pytest.approx([1] * (len(judged) - 1)), "one right Transformer has no other beside it"


def test_a_constant_tells_nobody_apart():
    judged = attest.judge(lambda _network, batch, _attention: torch.ones(len(batch["id"])), **PART)
    assert (judged[judged.test == "metric"].auroc.dropna() == 0.5).all()


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (lambda *_: torch.ones(3, 2), {}),
        (lambda *_: 1 / 0, {}),
        (agreement, {"rules": ["luck"]}),
    ],
)
def test_what_is_no_metric_is_refused_in_a_sentence(metric, options, refusal):
    with refusal():
        attest.judge(metric, **(PART | options))


def test_an_experiment_that_is_not_there_is_named():
    with pytest.raises(AttestError, match="'E99' is not an experiment; expected one or more of: E4, E1"):
        attest.judge(agreement, **(PART | {"beside": ["E99"]}))
