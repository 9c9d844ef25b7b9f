"""The literature's own way, written plainly from its descriptions (Jain & Wallace 2019): the side that is raced against.

One packed bidirectional LSTM; one run of the attention decoder a permutation; one reading of a batch of 32 for every position
left out; 500 steps of Adam over contexts (B, k, T, H); one call of scipy a text. Parameters are those of the network on trial,
so both sides must give the same numbers.
"""

import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attest.models.networks import PoolingClassifier


class PublishedClassifier(nn.Module):
    """A packed BiLSTM over ``<SOS> text <EOS>``, additive attention masked at both, a linear decoder and a sigmoid."""

    def __init__(self, network: PoolingClassifier) -> None:
        super().__init__()
        encoder = network.encoder
        words, self.start, self.end = (
            encoder.embedding.weight,
            len(encoder.embedding.weight),
            len(encoder.embedding.weight) + 1,
        )
        self.embedding = nn.Embedding.from_pretrained(torch.cat([words, encoder.boundaries]).detach().clone(), freeze=False)
        self.lstm = nn.LSTM(words.shape[1], encoder.forward_lstm.hidden_size, batch_first=True, bidirectional=True)
        both = encoder.forward_lstm.state_dict()
        both |= {f"{name}_reverse": value for name, value in encoder.backward_lstm.state_dict().items()}
        self.lstm.load_state_dict(both)
        self.score, self.decoder = network.score, network.decoder

    def wrap(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Put ``<SOS>`` before and ``<EOS>`` after every text."""
        ended = torch.cat([tokens, torch.zeros_like(tokens[:, :1])], dim=1).scatter(1, lengths[:, None], self.end)
        return torch.cat([torch.full_like(tokens[:, :1], self.start), ended], dim=1)

    def read(self, wrapped: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return embedded input, hidden states and attention of wrapped texts; ``lengths`` count the words alone."""
        embedded = self.embedding(wrapped)
        packed = pack_padded_sequence(embedded, lengths + 2, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return embedded, hidden, self.attend(hidden, lengths)

    def attend(self, hidden: Tensor, lengths: Tensor) -> Tensor:
        """Return attention ``(B, T + 2)``, none on ``<SOS>`` and ``<EOS>``."""
        position = torch.arange(hidden.shape[1])
        words = (position >= 1) & (position <= lengths[:, None])
        return self.score(hidden, words).masked_fill(~words, -torch.inf).softmax(dim=-1)

    def decide(self, hidden: Tensor, attention: Tensor) -> Tensor:
        """Return the probability of the positive class, ``(B,)``."""
        context = (attention.unsqueeze(-1) * hidden).sum(dim=1)
        return torch.sigmoid(self.decoder(context)).squeeze(-1)


class PublishedEvidence:
    """The literature's evidence, every stage for one batch of texts.

    Args:
        model: with the parameters on trial.
        tokens, lengths: int64 ``(B, T)`` and ``(B,)``.
    """

    def __init__(self, model: PublishedClassifier, tokens: Tensor, lengths: Tensor) -> None:
        self.model, self.tokens, self.lengths = model, tokens, lengths
        self.wrapped = model.wrap(tokens, lengths)

    @property
    def words(self) -> Tensor:
        """Return attention without the boundaries, ``(B, T)``, once evaluated."""
        return self.attention[:, 1:-1]

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        """Return predictions, and keep hidden states and attention for the stages that need them."""
        _, self.hidden, self.attention = self.model.read(self.wrapped, self.lengths)
        self.predicted = self.model.decide(self.hidden, self.attention)
        return self.predicted

    def gradients(self) -> Tensor:
        """Return the absolute gradient times input with attention constant, ``(B, T)``."""
        self.model.zero_grad()
        embedded, hidden, attention = self.model.read(self.wrapped, self.lengths)
        embedded.retain_grad()
        self.model.decide(hidden, attention.detach()).sum().backward()
        assert embedded.grad is not None
        return (embedded.grad * embedded).sum(dim=-1).abs().detach()[:, 1:-1]

    @torch.no_grad()
    def permutation(self, keys: Tensor) -> Tensor:
        """Return the median change of the prediction under permuted attention; each shuffle of a text runs the decoder.

        The decoder begins with the hidden states: every run scores them anew, then shuffles, pools and decides.

        Args:
            keys: int64 ``(B, 100, T)``, random numbers whose order shuffles.
        """
        shuffled = keys.numpy()
        changes = []
        for draw in range(keys.shape[1]):
            attention = self.model.attend(self.hidden, self.lengths)
            permuted = attention.clone()
            for row, n in enumerate(self.lengths.tolist()):
                permuted[row, 1 : n + 1] = attention[row, 1 + shuffled[row, draw, :n].argsort()]
            changes.append((self.model.decide(self.hidden, permuted) - self.predicted).abs())
        return torch.stack(changes, dim=-1).quantile(0.5, dim=-1)

    @torch.no_grad()
    def leave_one_out(self) -> Tensor:
        """Return the change of the prediction without each word, one reading of the batch a position, ``(B, T)``."""
        changes = torch.zeros(self.tokens.shape)
        for position in range(self.tokens.shape[1]):
            rows = (position < self.lengths) & (self.lengths > 1)
            if rows.any():
                shorter = torch.cat([self.wrapped[rows, : position + 1], self.wrapped[rows, position + 2 :]], dim=1)
                _, hidden, attention = self.model.read(shorter, self.lengths[rows] - 1)
                changes[rows, position] = (self.model.decide(hidden, attention) - self.predicted[rows]).abs()
        return changes

    def search(self, starts: Tensor, steps: int, epsilon: float) -> Tensor:
        """Return the largest JSD within epsilon that the adversarial search finds, ``(B,)``.

        Args:
            starts: ``(B, k, T)``, logits to start from.
        """
        logits, restarts = starts.clone().requires_grad_(), starts.shape[1]
        optimizer = torch.optim.Adam([logits], lr=0.01, amsgrad=True)
        for _ in range(steps):
            weights, change, apart = self._adversaries(logits)
            among = sum(_jsd(weights[:, i], weights[:, j]).sum() for i in range(restarts) for j in range(i))
            loss = (-apart + 500 * (change - epsilon).relu()).sum() - among / (restarts * (restarts - 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        _, change, apart = self._adversaries(logits.detach())
        return torch.where(change <= epsilon, apart, 0).amax(dim=-1)

    def _adversaries(self, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return attention ``(B, k, T)``, change of the prediction and JSD to the original ``(B, k)``."""
        original = self.words.unsqueeze(1)
        weights = logits.masked_fill(original == 0, -torch.inf).softmax(dim=-1)
        context = (weights.unsqueeze(-1) * self.hidden[:, 1:-1].unsqueeze(1)).sum(dim=2)  # (B, k, T, H) summed over T
        change = (torch.sigmoid(self.model.decoder(context)).squeeze(-1) - self.predicted.unsqueeze(-1)).abs()
        return weights, change, _jsd(weights, original)

    def correlation(self, importance: Tensor) -> Tensor:
        """Return Kendall's tau-b of attention and importance, scipy text by text, ``(B,)``."""
        pairs = zip(self.words.numpy(), importance.numpy(), self.lengths.tolist(), strict=True)
        return torch.tensor([stats.kendalltau(a[:n], b[:n]).statistic for a, b, n in pairs])


def _jsd(p: Tensor, q: Tensor) -> Tensor:
    mean = (p + q) / 2 + 1e-30
    return 0.5 * ((p * ((p + 1e-30) / mean).log()).sum(dim=-1) + (q * ((q + 1e-30) / mean).log()).sum(dim=-1))
