"""Small networks on trial: the shipped one, and two of other people's making that offer the four steps and nothing else."""

import torch
from torch import Tensor, nn

from attest.core.attention import Projection, Softmax
from attest.experiments import Observation, observe
from attest.models.networks import BiLSTM, PoolingClassifier

VOCABULARY = 50


class FourSteps(nn.Module):
    """A network seen through the seam alone: none of its shortcuts can be found."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.network.encode(tokens, mask)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.network.score(hidden, mask)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.network.project(scores, mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.network.decode(hidden, weights)


class DeepDecoder(FourSteps):
    """Decides by a network with a hidden layer, so that no token has a logit of its own."""

    def __init__(self, network: PoolingClassifier) -> None:
        super().__init__(network)
        size = network.decoder.in_features
        self.decoder = nn.Sequential(nn.Linear(size, size), nn.Tanh(), nn.Linear(size, network.decoder.out_features))
        self.decoder.to(network.decoder.weight.dtype)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder((weights.unsqueeze(1) @ hidden).squeeze(1))


class Sentences(nn.Module):
    """Attends to sentences, each the sum of its words: token ids ``(B, S, W)``, mask ``(B, S)``."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCABULARY, 8, padding_idx=0)
        self.query, self.decoder = nn.Linear(8, 1), nn.Linear(8, 1)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.embedding(tokens).sum(dim=2).tanh()

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.query(hidden).squeeze(-1)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder((weights.unsqueeze(1) @ hidden).squeeze(1))


class Given(nn.Module):
    """One text of T tokens whose attention and margins are given, float64: token i has weight i and decides by margin i."""

    def __init__(self, attention: list[float], margins: list[float]) -> None:
        super().__init__()
        self.attention = torch.tensor([attention], dtype=torch.float64)
        self.embedding = nn.Embedding.from_pretrained(torch.tensor(margins, dtype=torch.float64).unsqueeze(-1))

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.embedding(tokens)

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return hidden.squeeze(-1)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return self.attention

    def token_logits(self, hidden: Tensor) -> Tensor:
        return hidden

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return (weights.unsqueeze(1) @ hidden).squeeze(1)

    def observed(self) -> Observation:
        tokens = torch.arange(self.attention.shape[-1]).unsqueeze(0)
        return observe(self, torch.tensor([7]), tokens, torch.ones_like(tokens, dtype=torch.bool))


def pooling_classifier(
    outputs: int = 1, projection: Projection | None = None, dtype: torch.dtype = torch.float64, seed: int = 0
) -> PoolingClassifier:
    """An untrained BiLSTM with attention whose predictions are spread over their range."""
    torch.manual_seed(seed)
    network = PoolingClassifier(VOCABULARY, outputs, lambda size: BiLSTM(size, 12, 8), projection=projection or Softmax())
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.7)
    return network.to(dtype).eval()


def ragged_batch(lengths: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, tokens and mask of random texts."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(-1)
    tokens = torch.randint(2, VOCABULARY, mask.shape, generator=generator) * mask
    return torch.arange(100, 100 + len(lengths)), tokens, mask


def observation_of(network: nn.Module, lengths: list[int], seed: int = 0) -> Observation:
    """Random texts, observed."""
    return observe(network, *ragged_batch(lengths, seed))
