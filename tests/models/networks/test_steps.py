"""The seam: forward is nothing but its named steps, and each step is what its formula says."""

import pytest
import torch
from torch.nn import functional

from attest.core.attention import DotScoring, MultiHeadAttention, Softmax, Sparsemax
from attest.core.attention.interventions import Intervention, intervene, to_itself
from attest.core.errors import AttestError
from attest.models.networks import (
    Average,
    BiLSTM,
    Cnn,
    PoolingClassifier,
    TransformerClassifier,
    TransformerEncoder,
    WeightedStatesTagger,
)
from attest.models.networks.tokens import between_boundaries, reversal, reverse
from attest.models.networks.transformer import sinusoids

MASK = torch.arange(6) < torch.tensor([6, 3, 1]).unsqueeze(-1)
TOKENS = torch.randint(1, 20, (3, 6), generator=torch.Generator().manual_seed(0)) * MASK


@pytest.mark.parametrize("make", [PoolingClassifier, TransformerClassifier])
def test_forward_is_its_four_steps(make):
    network = make(20, 2).double().eval()
    hidden = network.encode(TOKENS, MASK)
    weights = network.project(network.score(hidden, MASK), MASK)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3).double())
    assert (weights[~MASK] == 0).all()
    assert torch.equal(network.decode(hidden, weights), network(TOKENS, MASK))
    by_token = (weights.unsqueeze(1) @ network.token_logits(hidden)).squeeze(1)
    torch.testing.assert_close(by_token, network(TOKENS, MASK), atol=1e-12, rtol=0)


def test_the_mean_of_a_transformer_is_the_mean_of_real_tokens():
    network = TransformerClassifier(20, 1, projection=Sparsemax()).double().eval()
    hidden = network.encode(TOKENS, MASK)
    for row, length in enumerate((6, 3, 1)):
        expected = network.decoder(hidden[row, :length].mean(dim=0))
        torch.testing.assert_close(network(TOKENS, MASK)[row], expected, atol=1e-12, rtol=0)


def test_bilstm_is_torchs_packed_bidirectional_lstm_between_boundaries():
    ours = BiLSTM(20, 8, 5).double()
    theirs = torch.nn.LSTM(8, 5, batch_first=True, bidirectional=True, dtype=torch.float64)
    onward = dict(ours.forward_lstm.state_dict())
    backward = {f"{name}_reverse": value for name, value in ours.backward_lstm.state_dict().items()}
    theirs.load_state_dict(onward | backward)
    start, end = ours.boundaries
    texts = [torch.cat([start[None], ours.embedding(row[real]), end[None]]) for row, real in zip(TOKENS, MASK, strict=True)]
    packed = torch.nn.utils.rnn.pack_sequence(texts, enforce_sorted=False)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    torch.testing.assert_close(ours(TOKENS, MASK)[MASK], expected[:, 1:-1][MASK], atol=1e-12, rtol=0)


def test_a_convolution_sees_boundaries_and_then_nothing():
    encoder = Cnn(20, 4, kernel_sizes=(3,), channels=2).double()
    (convolution,) = encoder.convolutions
    hidden = encoder(TOKENS, MASK)
    start, end = encoder.boundaries
    for row, length in enumerate((6, 3, 1)):
        text = [start, *encoder.embedding(TOKENS[row, :length]), end]
        for place in range(length):
            window = torch.stack(text[place : place + 3], dim=1)
            expected = functional.relu((convolution.weight * window).sum(dim=(1, 2)) + convolution.bias)
            torch.testing.assert_close(hidden[row, place], expected, atol=1e-12, rtol=0)


def test_windows_without_a_middle_are_refused():
    with pytest.raises(AttestError, match=r"kernel_sizes=\[2, 3\] contain an even width, which has no middle"):
        Cnn(20, kernel_sizes=(2, 3))


def test_the_average_encoder_knows_no_context():
    encoder = Average(20, 4, 3)
    order = torch.randperm(6)
    assert torch.equal(encoder(TOKENS, MASK)[:, order], encoder(TOKENS[:, order], MASK[:, order]))


def test_weighted_states_are_tagged_from_the_contexts_of_all_heads_and_layers():
    network = WeightedStatesTagger(20, 3, size=5, layers=2, heads=2, embedding_size=4).double().eval()
    names = [f"encoder.layers.{layer}.attention" for layer in range(2)]
    given = [torch.rand(3, 2, 6, 6).double() for _ in names]
    with intervene(network, *(Intervention("weights", each, layers=[name]) for name, each in zip(names, given, strict=True))):
        found = network(TOKENS, MASK)
    encoder = network.encoder
    states = functional.relu(encoder.feedforward(encoder.embedding(TOKENS)))
    contexts = [weights[:, head] @ states for weights in given for head in range(2)]
    torch.testing.assert_close(found, network.decoder(torch.cat(contexts, dim=-1)), atol=1e-12, rtol=0)


def test_weighted_states_know_of_other_tokens_by_attention_alone():
    network = WeightedStatesTagger(20, 3, size=5, embedding_size=4).eval()
    changed = TOKENS.clone()
    changed[0, 1] = TOKENS[0, 1] % 19 + 1
    others = torch.arange(6) != 1
    with intervene(network, Intervention("weights", to_itself)):
        before, after = network(TOKENS, MASK)[0], network(changed, MASK)[0]
    assert torch.equal(before[others], after[others])
    assert not torch.equal(before[1], after[1])
    assert not torch.equal(network(TOKENS, MASK)[0, others], network(changed, MASK)[0, others]), "uniform attention mixes them"


def test_boundaries_wrap_each_text_in_its_own_length():
    embedded = torch.tensor([[[1.0], [2.0], [3.0]], [[4.0], [0.0], [0.0]]])
    wrapped = between_boundaries(embedded, torch.tensor([[8.0], [9.0]]), torch.tensor([3, 1]))
    assert wrapped.squeeze(-1).tolist() == [[8, 1, 2, 3, 9], [8, 4, 9, 0, 0]]


def test_reversing_twice_is_nothing_and_gradients_reverse_too():
    sequences = torch.randn(3, 6, 4, dtype=torch.float64, requires_grad=True)
    order = reversal(MASK.sum(dim=-1), 6)
    reversed_ = reverse(sequences, order)
    assert torch.equal(reversed_[0], sequences[0].flip(0))
    assert torch.equal(reversed_[1], torch.cat([sequences[1, :3].flip(0), sequences[1, 3:]]))
    assert torch.equal(reverse(reversed_, order), sequences)
    assert torch.autograd.gradcheck(lambda s: reverse(s, order), sequences)
    assert torch.autograd.gradgradcheck(lambda s: reverse(s, order) ** 2, sequences)


def test_a_transformer_is_torchs_own_with_the_same_parameters():
    ours = TransformerEncoder(20, size=8, layers=2, heads=2, feedforward_size=10, projection=Softmax()).double().eval()
    layers = [torch.nn.TransformerEncoderLayer(8, 2, 10, batch_first=True, dtype=torch.float64).eval() for _ in range(2)]
    hidden = ours.embedding(TOKENS) * 8**0.5 + sinusoids(6, 8)
    for mine, theirs in zip(ours.layers, layers, strict=True):
        attention = mine.attention
        parts = (attention.query, attention.key, attention.value)
        theirs.load_state_dict(
            {
                "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
                "self_attn.in_proj_bias": torch.cat([part.bias for part in parts]),
                **{f"self_attn.out_proj.{name}": value for name, value in attention.output.state_dict().items()},
                **{f"linear1.{name}": value for name, value in mine.widen.state_dict().items()},
                **{f"linear2.{name}": value for name, value in mine.narrow.state_dict().items()},
                **{f"norm1.{name}": value for name, value in mine.attention_norm.state_dict().items()},
                **{f"norm2.{name}": value for name, value in mine.feedforward_norm.state_dict().items()},
            }
        )
        hidden = theirs(hidden, src_key_padding_mask=~MASK)
    torch.testing.assert_close(ours(TOKENS, MASK)[MASK], hidden[MASK], atol=1e-10, rtol=0)


def test_sinusoids_are_those_of_the_paper():
    table = sinusoids(50, 6)
    for position in (0, 1, 49):
        for i in range(3):
            angle = torch.tensor(position / 10_000 ** (2 * i / 6), dtype=torch.float64)
            torch.testing.assert_close(table[position, 2 * i : 2 * i + 2], torch.stack([angle.sin(), angle.cos()]))


def test_a_projection_for_each_layer(refusal):
    each = [Sparsemax(), Softmax()]
    encoder = TransformerEncoder(20, size=8, layers=2, projection=each)
    assert [type(layer.attention.projection) for layer in encoder.layers] == [Sparsemax, Softmax]
    with refusal():
        TransformerEncoder(20, size=8, layers=3, projection=each)


def test_attention_parameters_are_scoring_and_projection_or_queries_and_keys():
    pooled = PoolingClassifier(20, 1, Average, DotScoring)
    assert [id(p) for p in pooled.attention_parameters()] == [id(pooled.attention.scoring.query.weight)]
    transformer = TransformerClassifier(20, 1, size=8, layers=2, heads=2)
    theirs = {id(p) for p in transformer.attention_parameters()}
    layers = [module for module in transformer.modules() if isinstance(module, MultiHeadAttention)]
    assert theirs == {id(p) for layer in layers for part in (layer.query, layer.key) for p in part.parameters()}
