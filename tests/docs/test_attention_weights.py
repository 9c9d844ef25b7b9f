"""The page on attention weights runs as it stands, and what it says of each number is so."""

import re
from pathlib import Path

import pytest
import torch

PAGE = Path(__file__).parents[2] / "docs" / "attention-weights.md"


@pytest.fixture(scope="module")
def names():
    known: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), known)
    return known


def test_sdpa_returns_nothing_and_eager_returns_the_weights(names):
    assert names["nothing"] == ()
    assert [weights.shape for weights in names["told"].attentions] == [(2, 4, 5, 5)] * 2


def test_the_recorded_weights_are_those_of_eager_attention_to_the_bit(names):
    assert [*names["weights"]] == ["calls.0", "calls.1"]
    assert all(map(torch.equal, names["weights"].values(), names["told"].attentions))
    assert torch.equal(names["logits"], names["told"].logits)


def test_the_model_keeps_its_implementation_and_other_weights_move_it(names):
    assert names["model"].config._attn_implementation == "sdpa"
    assert not torch.equal(names["changed"], names["logits"])
