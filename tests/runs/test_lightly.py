"""Libraries without what they can do without, unless somebody else's code may need it; it can be imported later."""

import subprocess
import sys

import pytest

from attest.runs.class_paths import strange_class
from tests.conftest import fresh_shell

IMPORTED = """
import sys
from importlib.metadata import version
from attest.runs.lightly import import_lightly
import_lightly(sys.argv[1:])
print(*(package for package in ("torchmetrics", "transformers", "scipy", "matplotlib") if package in sys.modules))
"""
LATER = """
assert version("transformers") and version("scipy")
import pytorch_lightning, transformers, scipy.signal, matplotlib.pyplot
"""


def after(*arguments: str, then: str = "") -> str:
    """What a fresh process has imported; then it goes on."""
    program = [sys.executable, "-c", IMPORTED + then, *arguments]
    return subprocess.run(program, env=fresh_shell(), capture_output=True, text=True, check=True, timeout=120).stdout.strip()


@pytest.fixture(autouse=True)
def installed():
    """Where transformers is not, there is nothing to leave out."""
    pytest.importorskip("transformers")


@pytest.mark.slow
def test_torchmetrics_comes_alone_and_the_others_when_they_are_imported():
    ours = ("DATA=sst", "PROJECTION=entmax:1.5", "--run.root=a/b", "--trainer.max_epochs=3")
    assert after(*ours, then=LATER) == "torchmetrics"


ALONE = """
import sys
{before}
from attest.runs.lightly import import_spacy_without_torch
import_spacy_without_torch()
import_spacy_without_torch()
import spacy, thinc.compat
print("torch" in sys.modules, thinc.compat.has_torch, [str(word) for word in spacy.blank("en")("It isn't.")])
import torch
print(torch.ones(1).item())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("before", "has_torch"), [("", False), ("import torch", True), ("import spacy", True)])
def test_spacy_comes_without_torch_unless_either_is_there(before, has_torch):
    program = [sys.executable, "-c", ALONE.format(before=before)]
    said = subprocess.run(program, env=fresh_shell(), capture_output=True, text=True, check=True, timeout=120).stdout
    assert said == f"{has_torch} {has_torch} ['It', 'is', \"n't\", '.']\n1.0\n"


@pytest.mark.parametrize(
    ("settings", "known"),
    [
        (
            {"model": {"class_path": "attest.networks.BiLSTM", "init_args": {"parts": [{"class_path": "torch.optim.Adam"}]}}},
            True,
        ),
        ({"model": {"class_path": "attest.networks.BiLSTM", "init_args": {"parts": [{"class_path": "mine.Adam"}]}}}, False),
        ({"trainer": {"callbacks": [{"class_path": "torchmetrics.text.BERTScore"}]}}, False),
    ],
)
def test_classes_of_others_are_found_at_any_depth(settings, known):
    assert (strange_class(settings) is None) is known


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["--config=mine.yaml", "--model=mine.Network", "--config"])
def test_nothing_is_left_out_where_code_from_elsewhere_may_run(typed):
    assert after("DATA=sst", typed) == ""


def test_a_module_is_trusted_by_its_whole_name():
    settings = {"model": {"class_path": "mine.parts.Network"}}
    assert strange_class(settings, ["mine"]) is None
    assert strange_class(settings, ["mine.parts"]) is None
    assert strange_class(settings, [""]) is None
    assert strange_class(settings, ["min", "mine.part", "m", "parts"]) == "mine.parts.Network"
