"""Which reading survived best, in a sentence."""

import re

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from attest.core.measures.numbers import p_value
from attest.report.evidence_figures import agreement_of_readings, erasure_by_operator, readings_side_by_side
from attest.report.readings import survival_lines, survival_sentence


def table(better: float, texts: int = 60) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    rows = {}
    for name, mean in (
        ("attention", 0.5),
        ("norm", 0.5),
        ("gradient_input_signed", 0.5 + better),
        ("random", 0.9),
        ("oracle", 1),
    ):
        for prefix in ("win_comprehensiveness", "win_deleted_comprehensiveness"):
            rows[f"{prefix}_{name}"] = mean + 0.05 * draw.standard_normal(texts)
    return pd.concat([pd.DataFrame(rows), pd.DataFrame({name: [np.nan] * 40 for name in rows})])


def test_a_clear_winner_is_named_with_its_lead_and_its_p_value():
    said = survival_sentence(table(0.3))
    assert said.startswith("On 60 of 100 texts, 3 readings were compared. Gradient × input (signed) survived best")
    said = said.replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(r"beat 80 % \[\d+ %, \d+ %\] of random sets of the same size", said)
    assert re.search(r"the first tokens of Attention α beat 50 % \[\d+ %, \d+ %\]", said)
    assert "That is more than chance" in said
    assert "the choice among 2 readings" in said


def test_labels_of_one_text_are_no_texts_of_their_own():
    once = table(0.02)
    once["text"] = range(len(once))
    asked = pd.concat([once.assign(asked=label) for label in ("joy", "anger", "fear", "love")])
    assert survival_sentence(asked) == survival_sentence(once)


def test_a_small_lead_may_be_chance():
    assert "That may be chance" in survival_sentence(table(0.01))


def test_a_lead_that_is_chance_among_so_many_readings_is_called_so():
    """By scipy, times the number of readings that the best was chosen from: .03 alone is more than chance, .06 of two not."""
    rows = table(0.0)
    scores = {name: (rows[f"win_comprehensiveness_{name}"] + rows[f"win_deleted_comprehensiveness_{name}"]) / 2
              for name in ("attention", "norm", "gradient_input_signed")}  # fmt: skip
    lead = (scores["attention"] - scores["norm"]).dropna()
    for more in np.linspace(0, 0.05, 500):
        alone = wilcoxon(more - lead, method="approx").pvalue
        if 0.028 < alone < 0.032 and (more - lead).mean() > 0:
            break
    for column in ("win_comprehensiveness_norm", "win_deleted_comprehensiveness_norm"):
        rows[column] += more
    said = survival_sentence(rows)
    assert "Norm-weighted ‖αh‖ survived best" in said
    assert "That may be chance" in said
    assert p_value(2 * alone) in said


def test_attention_may_win_itself():
    rows = table(-0.3)
    rows["win_comprehensiveness_attention"] += 0.2
    assert "Attention α itself survived best" in survival_sentence(rows)


def test_without_an_attention_there_is_nothing_to_hold_against():
    rows = table(0.3)
    assert survival_sentence(rows[[name for name in rows if "attention" not in name]]) is None


def test_figures_show_every_reading_and_operator():
    rows = table(0.3).assign(tau_attention_and_norm=0.4)
    labels = [text.get_text() for text in readings_side_by_side(rows, ["a", "b"]).axes[0].get_yticklabels()]
    assert labels[-1] == "oracle"
    assert {"Attention α", "Gradient × input (signed)", "Random"} < {*labels}
    square = agreement_of_readings(rows, ["a", "b"]).axes[0]
    assert [text.get_text() for text in square.texts] == ["1.00", "0.40", "0.40", "1.00"]
    erased = {
        f"{prefix}{kind}_{name}": [0.1, 0.2]
        for prefix in ("", "random_")
        for kind in ("comprehensiveness", "sufficiency")
        for name in ("attention", "mask")
    }
    left, right = erasure_by_operator(pd.DataFrame(erased), ["a", "b"]).axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["attention (n=2)", "mask (n=2)"]
    assert right.get_xlabel() == "sufficiency"


def test_what_is_drawn_is_what_the_sentence_says(snapshot):
    attention, best = survival_lines(table(0.3))
    assert [attention.name, best.name] == snapshot
    assert [round(each.value, 2) for each in (attention, best)] == [0.5, 0.8], "as in the sentence: the mean of both operators"
    assert best.place(best.controls[0].value) == 50, "chance"
    rows = table(-0.3)
    rows["win_comprehensiveness_attention"] += 0.2
    assert [each.name for each in survival_lines(rows)] == snapshot
    assert survival_lines(table(0.3).iloc[:0]) == []


def test_agreement_has_readings_and_not_their_kinds():
    names = ("attention", "norm")
    rows = pd.DataFrame(
        {
            "tau_attention_and_norm": [0.3],
            "tau_words_attention_and_norm": [0.6],
            "tau_without_special_attention_and_norm": [1.0],
        }
    )
    (axes,) = agreement_of_readings(rows, ["a", "b"]).axes
    assert len(axes.get_xticks()) == len(names)
    assert {text.get_text() for text in axes.texts} == {"1.00", "0.30"}
