"""A model that has never heard of Attest, trained with plain PyTorch, and its attention on trial.

    python examples/trial_of_your_own_model.py

It needs no download and takes about a minute on a laptop; the report is left in trial.html, where you are.
"""

import random

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

import attest

PRAISE, BLAME = ("wonderful", "superb", "witty"), ("dreadful", "tedious", "dull")
PARTS = ("plot", "cast", "score", "ending", "script")
TIMES = ("again", "yesterday", "at home", "twice")
WORDS = sorted({word for phrase in (*PRAISE, *BLAME, *PARTS, *TIMES, "the", "is", "i saw it", ".") for word in phrase.split()})
VOCABULARY = {word: number for number, word in enumerate(WORDS, start=1)}  # 0 is padding


def review(draw: random.Random) -> tuple[str, int]:
    """A text and its label; a single word decides."""
    label = draw.randrange(2)
    opinion = f"the {draw.choice(PARTS)} is {draw.choice(PRAISE if label else BLAME)} ."
    padding = [f"i saw it {draw.choice(TIMES)} ." for _ in range(draw.randrange(1, 4))]
    sentences = [opinion, *padding]
    draw.shuffle(sentences)
    return " ".join(sentences), label


def encode(text: str) -> list[int]:
    """The token ids of a text."""
    return [VOCABULARY[word] for word in text.split()]


class Pooled(nn.Module):
    """A GRU whose hidden states are pooled by attention. ``forward`` is four steps, and these are all that Attest needs."""

    def __init__(self, vocabulary: int, size: int = 24) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size, padding_idx=0)
        self.encoder = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.scorer = nn.Linear(2 * size, 1)
        self.decoder = nn.Linear(2 * size, 1)

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        lengths = mask.sum(dim=-1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=mask.shape[1])
        return hidden

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        return self.scorer(hidden.tanh()).squeeze(-1)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        return self.decoder((weights.unsqueeze(1) @ hidden).squeeze(1))

    def token_logits(self, hidden: Tensor) -> Tensor:
        """Optional: what each token alone would decide. The decoder is linear, so E3 and E12 get exact answers."""
        return self.decoder(hidden)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        hidden = self.encode(tokens, mask)
        return self.decode(hidden, self.project(self.score(hidden, mask), mask))


def trained(texts: list[str], labels: list[int], steps: int = 120) -> Pooled:
    """The model after a few steps over all texts."""
    model = Pooled(len(VOCABULARY) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    tokens = pad_sequence([torch.tensor(encode(text)) for text in texts], batch_first=True)
    wanted = torch.tensor(labels, dtype=torch.float32)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(tokens, tokens > 0).squeeze(-1), wanted)
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    draw = random.Random(0)
    training, testing = ([review(draw) for _ in range(count)] for count in (200, 60))
    model = trained(*map(list, zip(*training, strict=True)))

    texts, labels = map(list, zip(*testing, strict=True))
    trial = attest.trial(
        model,
        texts,
        experiments={"E1": {}, "E2": {}, "E3": {"restarts": 0}, "E8": {}, "E11": {}, "E12": {}},
        encode=encode,
        labels=labels,
        label_names=["blame", "praise"],
    )
    print(trial)
    print(f"accuracy: {trial.summary['test/accuracy']:.3f}")
    print(trial.explain(0))
    print(f"report: {trial.report('trial.html')}")
