"""A sample of the architectures that transformers has for classifying texts: itself, a sentence, and never a traceback."""

import pytest

from benchmarks.architectures import main, outcome


@pytest.mark.whole("many models, each tried as a whole")
@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("xmod", "agrees", "from its own probabilities"),
        ("biogpt", "agrees", "from its own probabilities"),
        ("ctrl", "agrees", "from its own probabilities"),
        ("perceiver", "refused by name", "is not supported"),
        ("minimax", "refused by name", "attention 1 times"),
        ("diffllama", "refused by name", "computes attention 4 times"),
        ("bart", "agrees", "from its own probabilities"),
        ("t5", "agrees", "from its own probabilities"),
        ("mvp", "refused by name", "Attest finds no attention from its decoder to the text"),
        ("squeezebert", "agrees", "from its own probabilities"),
        ("longformer", "refused by name", "none of its softmax calls returns, for each token, attention weights"),
        ("fnet", "refused by name", "is not supported"),
    ],
)
def test_a_model_is_itself_or_gets_a_sentence(name, kind, found):
    outcome_of, said = outcome(name)
    assert outcome_of == kind
    assert found in said


def test_counts_are_told(capsys):
    assert main(["deberta", "longformer"]) == 0
    assert "agrees 1, refused by name 1" in capsys.readouterr().out.splitlines()[-1]
