"""Scores and evidence on a terminal: by the names that the report gives them, in its order."""

from attest.report.measured import COLUMNS, scored


def test_scores_stand_in_a_line_under_their_names():
    assert list(scored("test", {"test/loss": 0.25, "test/roc_auc": 0.75, "test/accuracy": 0.5})) == [
        *("Test:       accuracy 0.5000, ROC-AUC 0.7500", "Also:       loss 0.2500")
    ]
    assert next(scored("validation", {"validation/chunk_f1": 0.9, "test/accuracy": 0.5})) == "Validation: chunk F1 0.9000"


def test_evidence_stands_by_question_measures_of_the_verdict_first_and_none_is_left_out():
    means = {
        "E2/validation/a_column/mean": 0.25,
        "E2/validation/tvd_median/mean": 0.5,
        "E1/validation/tau_gradient_inputs/mean": -0.00001,
        "EX/validation/mine/mean": 1.0,
    }
    lines = list(scored("validation", means))
    assert [" ".join(line.split()) for line in lines] == [
        "E1 Does attention rank tokens as their importance does?",
        "τ-b of attention and gradient × input > −0.001",
        "E2 Does the prediction depend on where attention lies?",
        "Δŷ under permuted attention 0.500",
        "a_column 0.250",
        "EX",
        "mine 1.000",
        COLUMNS,
    ]
