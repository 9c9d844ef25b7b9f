"""The verdict on a model: which rule is taken, what is withheld, and when nothing is said."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from attest.experiments import verdict
from attest.experiments.verdict import CANNOT_TELL, IN_PART, NO, NOT_LEARNED, YES, judged, rule_of, shipped

LIMITS = {"yes_low": 0.8, "part_low": 0.4, "part_high": 0.75, "no_high": 0.3}
ERRORS = {"wrong": {YES: [0.02, 0.0, 0.1], NO: [0.0, 0.0, 0.1], IN_PART: None}, "mechanisms": 9}
OF_THE_SMALLER = {"wrong": {YES: [0.1, 0.0, 0.3], NO: [0.0, 0.0, 0.1], IN_PART: None}, "mechanisms": 9}
SMALL = {
    "rules": {
        "tokens": {
            "E1,E14": {
                "weights": {"E1/leads_leave_one_out_inputs": [4.0, 1.0], "E14/win_sufficiency_delete": [4.0, 0.0]},
                "intercept": -4.0,
                "limits": LIMITS,
                "shares": [(0.0, 0.0), (1.0, 1.0)],
                "within": 0.1,
                "said": {"pooled": [YES, IN_PART, NO]},
                "errors": {"pooled": ERRORS},
            },
            "E1": {
                "weights": {"E1/leads_leave_one_out_inputs": [8.0, 2.0]},
                "intercept": -4.0,
                "limits": LIMITS,
                "shares": [(0.0, 0.0), (1.0, 1.0)],
                "within": 0.2,
                "said": {"pooled": [YES, IN_PART, NO]},
                "errors": {"pooled": OF_THE_SMALLER},
            },
        },
        "states": {},
        "layers": {},
    },
    "said": {"tokens": {"pooled": [YES, IN_PART, NO], "inside": []}},
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "shipped", lambda: SMALL)


def tables(leads: list[float], sampled: int = 0) -> dict[str, pd.DataFrame]:
    ids = np.arange(len(leads))
    found = {"E1": pd.DataFrame({"id": ids, "leads_leave_one_out_inputs": leads})}
    if sampled:
        read = np.where(ids < sampled, leads, np.nan)
        found["E14"] = pd.DataFrame({"id": ids, "win_sufficiency_delete": read})
    return found


def about_tokens(*given: object, learned: bool | None = True) -> verdict.Verdict:
    found = judged(tables(*given), "tokens", False, learned)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_attention_that_leads_everywhere_is_right_and_one_that_never_does_is_wrong() -> None:
    assert about_tokens([1.0] * 40).answer == YES
    assert about_tokens([0.0] * 40).answer == NO
    half = about_tokens([1.0, 0.0] * 20)
    assert (half.answer, half.share) == (IN_PART, pytest.approx(0.5))


def test_the_error_of_the_answer_stands_beside_it() -> None:
    found = about_tokens([1.0] * 40)
    assert found.wrong == [0.1, 0.0, 0.3]
    assert found.tried_on == 9
    assert found.because == {"E1/leads_leave_one_out_inputs": 1.0}


def test_between_the_thresholds_nothing_is_said() -> None:
    found = about_tokens([1.0] * 32 + [0.0] * 8)
    assert found.share == pytest.approx(0.79, abs=0.01)
    assert (found.answer, found.wrong) == (CANNOT_TELL, None)


def test_a_model_that_has_not_learned_its_task_gets_no_answer() -> None:
    assert about_tokens([1.0] * 40, learned=False).answer == NOT_LEARNED


def test_without_labels_it_is_never_yes_but_may_be_no() -> None:
    assert about_tokens([1.0] * 40, learned=None).answer == CANNOT_TELL
    assert about_tokens([0.0] * 40, learned=None).answer == NO


def test_few_texts_give_no_answer() -> None:
    assert about_tokens([0.0] * 19).answer == CANNOT_TELL


def test_a_sample_of_enough_texts_is_read_by_the_larger_rule() -> None:
    found = about_tokens([1.0] * 40, 25)
    assert (found.texts, found.within, found.lacking) == (25, 0.1, [])
    assert found.wrong == [0.02, 0.0, 0.1], "of the rule that was read, not of another"
    fewer = about_tokens([1.0] * 40, 19)
    assert (fewer.texts, fewer.within, fewer.lacking) == (40, 0.2, ["E14"])


def test_the_example_shows_the_answer() -> None:
    assert about_tokens([0.0] * 39 + [-1.0]).example == 39
    assert about_tokens([1.0] * 39 + [2.0]).example == 39


def test_what_is_withheld_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = deepcopy(SMALL)
    changed["rules"]["tokens"]["E1"]["said"] = {"pooled": [NO]}  # type: ignore[index]
    monkeypatch.setattr(verdict, "shipped", lambda: changed)
    assert about_tokens([1.0] * 40).answer == CANNOT_TELL
    assert about_tokens([0.0] * 40).answer == NO


def test_evidence_of_an_older_version_says_nothing() -> None:
    old = {"E1": pd.DataFrame({"id": range(40), "tau_gradient_inputs": 0.3})}
    assert judged(old, "tokens", False, True) is None


def test_the_shipped_rules_read_known_columns_and_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    from attest.experiments.registry import EXPERIMENTS

    for rules in shipped()["rules"].values():
        for rule in rules.values():
            for key in rule_of(rule).weights:
                experiment, column = key.split("/")
                assert EXPERIMENTS[experiment].column(column) is not None
