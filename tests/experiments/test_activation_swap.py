"""E8 against the other projection written plainly, text by text, through entmax's own functions."""

import numpy as np
import pytest
import torch
from entmax import entmax15, sparsemax
from scipy.spatial.distance import jensenshannon

from attest.core.attention import Entmax15, Softmax, Sparsemax
from attest.experiments import activation_swap
from tests.experiments.networks import DeepDecoder, FourSteps, observation_of, pooling_classifier

LENGTHS = [6, 1, 9, 3]
PLAIN = {"softmax": torch.softmax, "sparsemax": sparsemax, "entmax15": entmax15}
PROJECTIONS = {"softmax": Softmax(), "sparsemax": Sparsemax(), "entmax15": Entmax15()}
LABELS = torch.tensor([0, 1, 1, 0])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("wrap", [lambda n: n, FourSteps, DeepDecoder])
@pytest.mark.parametrize("trained", ["softmax", "sparsemax"])
def test_equals_running_each_text_under_the_other_projection(trained, wrap, outputs):
    network = wrap(pooling_classifier(outputs, PROJECTIONS[trained]))
    observation = observation_of(network, LENGTHS)
    columns = activation_swap(observation, PROJECTIONS, LABELS)
    for row, n in enumerate(LENGTHS):
        text = observation.tokens[row : row + 1, :n]
        hidden = network.encode(text, text > 0)
        scores = network.score(hidden, text > 0)
        seen = {name: project(scores, dim=-1) for name, project in PLAIN.items()}
        outcomes = {name: _outcome(network.decode(hidden, weights)[0]) for name, weights in seen.items()}
        for name, weights in seen.items():
            assert columns[f"correct_{name}"][row] == (outcomes[name].argmax() == LABELS[row])
            moved = 0.5 * np.abs(outcomes[name] - outcomes[trained]).sum()
            apart = jensenshannon(weights[0].detach(), seen[trained][0].detach()) ** 2
            np.testing.assert_allclose(columns[f"tvd_{name}"][row], moved, atol=1e-9)
            np.testing.assert_allclose(columns[f"jsd_{name}"][row], np.nan_to_num(apart), atol=1e-9)
            np.testing.assert_allclose(columns[f"support_{name}"][row], (weights > 0).double().mean().item(), atol=1e-6)
        assert columns["correct"][row] == columns[f"correct_{trained}"][row]
        assert columns["support"][row] == columns[f"support_{trained}"][row]


def _outcome(logits):
    """Class probabilities of one text, in numpy."""
    logits = logits.detach().numpy()
    logits = np.array([0.0, logits[0]]) if len(logits) == 1 else logits
    return np.exp(logits) / np.exp(logits).sum()


def test_its_own_projection_moves_nothing_and_another_one_does():
    columns = activation_swap(observation_of(pooling_classifier(), [8] * 12), PROJECTIONS, torch.zeros(12))
    assert max(columns["tvd_softmax"].max(), columns["jsd_softmax"].max()) < 1e-15
    assert columns["tvd_sparsemax"].max() > 0.01
    assert columns["jsd_sparsemax"].max() > 0.01
    assert (columns["support_sparsemax"] <= columns["support_entmax15"]).all()
    assert columns["support_sparsemax"].min() < columns["support_softmax"].min() == 1
