"""What the package says of wrong answers is what the table of trained networks says."""

import json

import pandas as pd
import pytest

from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, YES
from attest.experiments.verdict_errors import SHIPPED, AnswerError, error_sentence, verdict_errors
from benchmarks.deciding.errors import errors, measured

ALIKE = {"accuracy": 1.0, "true_texts": 40, "kind": "cnn", "projection": "softmax", "guide": "free"}


def networks(*answers: tuple[str, float]) -> pd.DataFrame:
    """Networks of a mechanism each, with their answer and the true share of texts."""
    return pd.DataFrame(
        [ALIKE | {"rule": f"{place}", "answer": answer, "truth": truth} for place, (answer, truth) in enumerate(answers)]
    )


def test_the_shipped_counts_are_those_of_the_table():
    assert json.loads(SHIPPED.read_text()) == measured(), "type: python -m benchmarks.deciding.errors"


def test_an_answer_is_wrong_where_the_truth_is_another_and_opposite_at_the_other_end():
    found = errors(networks((YES, 0.95), (YES, 0.8), (YES, 0.2), (NO, 0.1), (NO, 0.6), (IN_PART, 0.95), (CANNOT_TELL, 0.95)))
    assert {answer: each[:3] for answer, each in found.items()} == {YES: (2, 1, 3), IN_PART: (1, 0, 1), NO: (1, 0, 2)}
    assert 0 < found[YES].low < 2 / 3 < found[YES].high < 1


def test_networks_of_one_mechanism_count_as_one():
    alike = networks(*[(NO, 0.1)] * 40).assign(rule="0")
    assert errors(alike)[NO].high > errors(networks(*[(NO, 0.1)] * 40))[NO].high


def test_the_sentence_has_share_interval_and_number_and_other_answers_have_none(monkeypatch):
    found = verdict_errors("all")[NO]
    said = error_sentence(NO, "my scores").replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith(f"“No” was wrong in {100 * found.wrong / found.networks:.0f} % [")
    assert f"of the {found.networks} small networks that got this answer and whose truth is known" in said
    assert [error_sentence(answer, "attention") for answer in (CANNOT_TELL, NOT_LEARNED)] == [None, None]


def test_the_networks_count_that_were_asked_about_the_same_explanation():
    pooled, layers, every = (verdict_errors(name)[YES] for name in ("attention", "rollout", "all"))
    assert pooled.networks + layers.networks == every.networks
    assert pooled.wrong + layers.wrong == every.wrong
    assert f"{layers.networks} small Transformers that got this answer" in error_sentence(YES, "rollout")
    assert f"{pooled.networks} small networks with pooled attention that got this answer" in error_sentence(YES, "attention")


@pytest.mark.parametrize(
    ("counts", "end"),
    [
        ((2, 0, 9, 0.0, 1.0), "is known, each by one step of yes, in part, no."),
        ((2, 1, 9, 0.0, 1.0), ", 1 of them with the opposite truth."),
    ],
)
def test_the_sentence_says_how_far_wrong(monkeypatch, counts, end):
    made = {YES: AnswerError(*counts)}
    monkeypatch.setattr("attest.experiments.verdict_errors.verdict_errors", lambda networks: made)
    assert error_sentence(YES, "attention").endswith(end)
