"""A text decides for itself: the same logits alone and inside any padded batch."""

from functools import partial

import pytest
import torch

from attest.core.attention import AdditiveScoring, DotScoring, Entmax, Entmax15, Softmax, Sparsegen, Sparsemax, Uniform
from attest.models.networks import (
    Average,
    BiGRU,
    BiLSTM,
    Cnn,
    Embedded,
    Hierarchical,
    PoolingClassifier,
    TransformerClassifier,
    TransformerEncoder,
    TransformerTagger,
    WeightedStatesTagger,
    Windows,
)

VOCABULARY = 40
PROJECTIONS = {
    "softmax": Softmax(),
    "sparsemax": Sparsemax(),
    "entmax15": Entmax15(),
    "entmax": Entmax(1.3),
    "entmax-learned": Entmax(1.5, learned=True),
    "sparsegen": Sparsegen(0.5),
    "uniform": Uniform(),
}
ENCODERS = {
    "bilstm": BiLSTM,
    "cnn": Cnn,
    "average": Average,
    "transformer-me": TransformerEncoder,
    "flan": BiGRU,
    "flan-cnn": partial(Cnn, wrapped=False),
    "flan-none": Embedded,
}
NETWORKS = {
    **{
        name: lambda projection, encoder=encoder: PoolingClassifier(VOCABULARY, 3, encoder, AdditiveScoring, projection)
        for name, encoder in ENCODERS.items()
    },
    "bilstm dot": lambda projection: PoolingClassifier(VOCABULARY, 3, BiLSTM, DotScoring, projection),
    "transformer-dr": lambda projection: TransformerClassifier(VOCABULARY, 3, projection=projection),
    "tagger": lambda projection: TransformerTagger(VOCABULARY, 3, projection=projection),
    "weighted states": lambda projection: WeightedStatesTagger(VOCABULARY, 3),
}
every_network = pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
every_projection = pytest.mark.parametrize("projection", PROJECTIONS.values(), ids=PROJECTIONS)


def batch(padding=0):
    lengths = torch.tensor([11, 1, 6, 11, 2])
    mask = torch.arange(11 + padding) < lengths.unsqueeze(-1)
    return torch.randint(1, VOCABULARY, mask.shape) * mask, mask


@every_projection
@every_network
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"])
def test_logits_are_the_same_alone_and_in_a_padded_batch(make, projection, dtype, tolerance):
    network = make(projection).to(dtype).eval()
    tokens, mask = batch(padding=4)
    together = network(tokens, mask)
    for row, length in enumerate(mask.sum(dim=-1).tolist()):
        alone = network(tokens[row : row + 1, :length], mask[row : row + 1, :length])[0]
        inside = together[row] if together.ndim == 2 else together[row, :length]
        torch.testing.assert_close(inside, alone, atol=tolerance, rtol=0)


@every_projection
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"])
@pytest.mark.parametrize("encoder", [None, Windows], ids=["recurrent", "convolutions"])
def test_a_document_decides_for_itself_in_a_batch_of_sentences(projection, dtype, tolerance, encoder):
    made = partial(Hierarchical, encoder=encoder)
    network = PoolingClassifier(VOCABULARY, 3, made, AdditiveScoring, projection).to(dtype).eval()
    words = torch.tensor([[5, 1, 3, 0], [2, 0, 0, 0], [7, 7, 1, 4]])
    token_mask = torch.arange(9) < words.unsqueeze(-1)
    tokens, mask = torch.randint(1, VOCABULARY, token_mask.shape) * token_mask, words > 0
    together = network(tokens, mask)
    for row in range(3):
        sentences, longest = int(mask[row].sum()), int(words[row].max())
        alone = network(tokens[row : row + 1, :sentences, :longest], mask[row : row + 1, :sentences])[0]
        torch.testing.assert_close(together[row], alone, atol=tolerance, rtol=0)


@every_network
def test_gradients_ignore_padding(make):
    network = make(Sparsemax()).double().eval()
    tokens, mask = batch(padding=3)
    real = mask if isinstance(network, (TransformerTagger, WeightedStatesTagger)) else slice(None)
    network(tokens, mask)[real].square().sum().backward()
    padded = {name: parameter.grad.clone() for name, parameter in network.named_parameters() if parameter.grad is not None}
    network.zero_grad()
    for row, length in enumerate(mask.sum(dim=-1).tolist()):
        network(tokens[row : row + 1, :length], mask[row : row + 1, :length]).square().sum().backward()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, padded[name], atol=1e-9, rtol=1e-9, msg=name)


@pytest.mark.parametrize("make", [NETWORKS["bilstm"], NETWORKS["cnn"], NETWORKS["tagger"]], ids=["bilstm", "cnn", "tagger"])
def test_a_text_of_nothing_but_padding_is_refused(make):
    tokens, mask = batch()
    mask[2] = False
    if make is NETWORKS["tagger"]:
        expected = r"rows \[\[2, 0, 0\]\] of the mask \(5, 1, 1, 11\) are all padding"
    else:
        expected = r"rows \[\[2\]\] of the mask \(5, 11\) are all padding"
    with pytest.raises(ValueError, match=expected):
        make(Softmax())(tokens, mask)


def test_windows_do_not_see_padding():
    windows = Windows(6, (3, 5), 4)
    mask = torch.arange(7) < torch.tensor([[7], [4]])
    sequences = torch.randn(2, 7, 6)
    other = sequences.masked_fill(~mask.unsqueeze(-1), 9.0)
    torch.testing.assert_close(windows(sequences, mask)[mask], windows(other, mask)[mask])
    without, without_other = (windows.read_without_each(each, mask, lambda states: states) for each in (sequences, other))
    torch.testing.assert_close(without[1, :4, :4], without_other[1, :4, :4])
