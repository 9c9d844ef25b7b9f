"""Self-attention against torch's own, and padding against absence."""

import pytest
import torch
from torch import nn

from attest.core.attention import Entmax, MultiHeadAttention, Softmax, Sparsemax
from attest.core.errors import AttestError

LENGTHS = torch.tensor([7, 1, 4])
MASK = torch.arange(7) < LENGTHS.unsqueeze(-1)


def torchs_own(ours):
    """torch.nn.MultiheadAttention with the same parameters."""
    theirs = nn.MultiheadAttention(12, ours.heads, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        theirs.out_proj.bias.copy_(ours.output.bias)
    return theirs


@pytest.mark.parametrize("heads", [1, 3, 4])
def test_softmax_heads_equal_torchs(heads):
    ours = MultiHeadAttention(12, heads, Softmax()).double()
    hidden = torch.randn(3, 7, 12, dtype=torch.float64)
    expected, _ = torchs_own(ours)(hidden, hidden, hidden, key_padding_mask=~MASK)
    torch.testing.assert_close(ours(hidden, MASK)[MASK], expected[MASK], atol=1e-12, rtol=0)


def test_padding_is_as_if_it_were_not_there():
    ours = MultiHeadAttention(12, 3, Sparsemax()).double()
    hidden = torch.randn(3, 7, 12, dtype=torch.float64)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = ours(hidden[row : row + 1, :length], MASK[row : row + 1, :length])[0]
        torch.testing.assert_close(ours(hidden, MASK)[row, :length], alone, atol=1e-12, rtol=0)


def test_layers_share_no_learned_alpha():
    projection = Entmax(1.5, learned=True)
    first, second = MultiHeadAttention(12, 3, projection), MultiHeadAttention(12, 4, projection)
    assert first.projection.alpha.shape == (3, 1, 1)
    assert second.projection.alpha.shape == (4, 1, 1)
    assert not set(first.parameters()) & {*second.parameters(), *projection.parameters()}


def test_heads_that_do_not_divide_the_size_are_refused():
    with pytest.raises(AttestError, match="size=12 is not a multiple of heads=5"):
        MultiHeadAttention(12, 5)
