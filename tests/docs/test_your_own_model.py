"""The page says what works: its code runs, in order, and its promises hold."""

import re
from pathlib import Path

import pytest
import torch

from attest.lightning_modules import Classifier

PAGE = Path(__file__).parents[2] / "docs" / "your-own-model.md"


@pytest.fixture(scope="module")
def page():
    """The names that the page's code leaves behind."""
    torch.manual_seed(0)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    return names


def test_every_experiment_has_one_row_an_instance(page):
    for columns in page["evidence"].values():
        for column in columns.values():
            assert len(column) == 2
            assert column.ndim <= 2


def test_four_steps_give_numbers_and_no_exact_answers(page):
    evidence = page["evidence"]
    assert not evidence["E1"]["tau_leave_one_out_inputs"].isnan().any()
    assert (evidence["E2"]["tvd_median"] > 0).all()
    assert (evidence["E3"]["jsd_search"] >= 0).all()
    assert "jsd_exact" not in evidence["E3"]
    assert not evidence["E10"]["entropy_hidden"].isnan().any()


def test_the_trainable_network_can_be_trained(page):
    module = Classifier(page["Trainable"], vocab_size=100, num_classes=3)
    tokens = torch.tensor([[5, 17, 3], [61, 2, 0]])
    losses = module.instance_losses(module(tokens, tokens > 0), torch.tensor([0, 2]))
    losses.mean().backward()
    assert module.network.query.grad.abs().sum() > 0
    module.configure_optimizers()


def test_a_linear_decoder_brings_the_exact_answers(page):
    assert (page["exact"] >= 0).all()
    assert page["least"].shape == (2,)
