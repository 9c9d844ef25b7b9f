"""``import attest`` costs next to nothing, and what it offers is imported when it is first asked for."""

import subprocess
import sys

import pytest

import attest

HEAVY = (
    "lightning",
    "lightning_fabric",
    "pytorch_lightning",
    "torchmetrics",
    "wandb",
    "datasets",
    "spacy",
    "matplotlib",
    "rich",
)
LOADED = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
OBSERVED = """
import attest, torch
from torch import nn

class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
    def encode(self, tokens, mask):
        return self.embedding(tokens)
    def score(self, hidden, mask):
        return hidden.sum(dim=-1)
    def project(self, scores, mask):
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    def decode(self, hidden, weights):
        return (weights.unsqueeze(1) @ hidden).squeeze(1)

tokens = torch.tensor([[1, 2, 3]])
print(attest.observe(Mean().eval(), torch.arange(1), tokens, tokens > 0).weights.shape, file=__import__("sys").stderr)
"""


def loaded_after(code: str) -> set[str]:
    """Top-level packages of a fresh process that has run some code."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_attest_loads_no_library():
    assert not loaded_after("import attest; dir(attest); attest.AttestError") & {*HEAVY, "torch", "numpy", "pandas", "scipy"}


@pytest.mark.whole("an interpreter of its own")
def test_observing_loads_nothing_of_training_tracking_data_and_drawing():
    loaded = loaded_after(OBSERVED)
    assert "torch" in loaded
    assert not loaded & {*HEAVY}


@pytest.mark.whole("an interpreter of its own")
def test_a_trial_of_a_file_waits_for_no_training_and_no_tracking():
    code = "import attest; attest.trial; import attest.app.cli.trial, attest.datamodules.labelled"
    assert loaded_after(code) & {*HEAVY} == {"matplotlib", "rich"}


def test_every_public_name_is_there():
    for name in attest.__all__:
        assert getattr(getattr(attest, name), "__name__", name) == name
        assert name in dir(attest)


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="module 'attest' has no attribute 'tria'"):
        _ = attest.tria
