"""Networks with hand-set parameters whose carrying heads and sources are known: do E17 and E18 name them first?

    python -m benchmarks.carriers

An encoder says at its first token whether a good or a bad word stands in the text. One head carries that word; another one
looks at it as well and writes nothing. A decoder of two layers reads facts and a name, and copies what stood behind this name
(an induction head, Elhage et al. 2021): a head of the first layer tells each token what stands before it, one of the second
finds the token behind the name and writes it. Another one looks there as well and writes nothing; all others park their
attention on the first token. E17 and E18 are no part of the verdict, so neither are these networks.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import attest
from attest.core.attention import MultiHeadAttention
from attest.report.run_tables import markdown_table

CLS, GOOD, BAD, WORDS, LENGTH = 1, 2, 3, 20, 9
CARRIES, COPIES = {"layer1_head1"}, {"layer1_head1", "layer2_head1"}
"""The heads that carry, of the encoder and of the decoder."""
NOISE = 1e-6
"""Differences that tie."""


class Encoder(nn.Module):
    """An encoder that says at its first token whether a good or a bad word stands in the text.

    Both first heads of the first layer look from the first token at that word. One writes what it says into the feature that
    decides; what the other reads is written nowhere. All other heads look about and write into features that nothing reads.
    """

    pools_by_attention, attends_within, decides_by = False, True, "first"

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(WORDS, 16, padding_idx=0)
        self.layers = nn.ModuleList(MultiHeadAttention(16, 4) for _ in range(2))
        self.decider = nn.Linear(16, 2)
        with torch.no_grad():
            self.embedding.weight[1:, :3] = 0
            self.embedding.weight[1:, 8:] = 0
            self.embedding.weight[CLS, 2] = 1
            self.embedding.weight[GOOD, :2] = torch.tensor([1.0, 1.0])
            self.embedding.weight[BAD, :2] = torch.tensor([1.0, -1.0])
            for layer in self.layers:
                layer.output.weight[8] = 0
                layer.output.bias.zero_()
            first = self.layers[0]
            for head in (0, 1):
                own = slice(4 * head, 4 * head + 4)
                for linear in (first.query, first.key, first.value):
                    linear.weight[own] = 0
                    linear.bias[own] = 0
                first.query.weight[4 * head, 2] = 10
                first.key.weight[4 * head, 0] = 4
                first.value.weight[4 * head, 1] = 1
                first.output.weight[:, own] = 0
            first.output.weight[8, 0] = 1
            self.decider.weight.zero_()
            self.decider.bias.zero_()
            self.decider.weight[:, 8] = torch.tensor([-3.0, 3.0])
        self.eval()

    def encode(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to states ``(B, T, H)``."""
        hidden = self.embedding(tokens)
        for layer in self.layers:
            hidden = hidden + layer(hidden, mask)
        return hidden

    def score(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return scores of which the first token has all the weight, ``(B, T)``."""
        return torch.where(torch.arange(mask.shape[-1]) == 0, 0.0, -torch.inf).expand(mask.shape)

    def project(self, scores: Tensor, mask: Tensor) -> Tensor:
        """Return all weight on the first token, ``(B, T)``."""
        return self.deciding(mask)

    def decode(self, hidden: Tensor, weights: Tensor) -> Tensor:
        """Map states pooled by weights ``(B, T)`` to logits ``(B, 2)``."""
        return self.decider((hidden * weights.unsqueeze(-1)).sum(dim=1))

    def deciding(self, mask: Tensor) -> Tensor:
        """Return 1 at the first token, ``(B, T)``."""
        return nn.functional.one_hot(torch.zeros(len(mask), dtype=torch.long), mask.shape[-1]).float()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Map token ids and mask ``(B, T)`` to logits ``(B, 2)``."""
        return self.decode(self.encode(tokens, mask), self.deciding(mask))


def spoken(count: int) -> tuple[Tensor, dict[int, list[int]]]:
    """Return texts of fillers with a good or a bad word somewhere, ``(N, T)``, and where it stands, by text."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, WORDS, (count, LENGTH), generator=generator)
    places = torch.randint(1, LENGTH, (count,), generator=generator)
    tokens[:, 0] = CLS
    tokens[torch.arange(count), places] = torch.arange(count) % 2 + GOOD
    return tokens, {row: [place] for row, place in enumerate(places.tolist())}


NAMES = ("Ann", "Ben", "Cid", "Dot", "Eve", "Flo")
CITIES = ("Rome", "Oslo", "Bonn", "Cork", "Lima", "Kyiv")
KNOWN = ("<pad>", "<unk>", ".", *NAMES, *CITIES)
HEAD, SHARP = 32, 60.0
"""Dimensions of a head: one for each word or place, the last one for the first token. Factor of the scores of attention."""
TOKEN, PLACE, BEFORE, ANSWER = (slice(HEAD * part, HEAD * (part + 1)) for part in range(4))
"""Parts of the hidden states: the word itself, its place, the word before it, and what is answered."""


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are the words of the facts."""
    words = Tokenizer(WordLevel({word: number for number, word in enumerate(KNOWN)}, unk_token="<unk>"))
    words.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", model_max_length=HEAD)


@torch.no_grad()
def decoder() -> GPT2LMHeadModel:
    """Return a decoder that writes the word which stood behind its last word before.

    Layer norms are undone: a state has a 1 in each part that is written by then, so that its mean and deviation are known.
    """
    sizes = {"vocab_size": HEAD, "n_positions": HEAD, "n_embd": 4 * HEAD, "n_layer": 2, "n_head": 4}
    model = GPT2LMHeadModel(GPT2Config(**sizes, tie_word_embeddings=False, bos_token_id=0, eos_token_id=0)).eval()
    for parameter in model.parameters():
        parameter.zero_()
    unit, last = torch.eye(HEAD), HEAD - 1
    model.transformer.wte.weight[:, TOKEN], model.transformer.wpe.weight[:, PLACE] = unit, unit
    model.lm_head.weight[:, ANSWER] = 3 * unit
    model.transformer.ln_f.weight.fill_(1)
    for layer, block in enumerate(model.transformer.h):
        parts = 2 + layer
        mean = parts / (4 * HEAD)
        block.ln_1.weight.fill_((parts / (4 * HEAD) - mean**2) ** 0.5)
        block.ln_1.bias.fill_(mean)
        queries, keys, values = block.attn.c_attn.weight.split(4 * HEAD, dim=-1)
        asked = block.attn.c_attn.bias
        for head in range(4):
            own = slice(HEAD * head, HEAD * (head + 1))
            if layer == 0 and head == 0:
                queries[PLACE, own], keys[PLACE, own] = SHARP * unit.roll(-1, dims=1), unit  # the place before one's own
                queries[PLACE, own][0] = 0
            elif layer == 1 and head < 2:
                queries[TOKEN, own], keys[BEFORE, own] = SHARP * unit, unit
                asked[own][last], keys[PLACE, own][0, last] = SHARP, -1  # nothing stands before the first token
            else:
                asked[own][last], keys[PLACE, own][0, last] = SHARP, 1
            values[TOKEN, own] = unit
        block.attn.c_proj.weight[:HEAD, BEFORE if layer == 0 else ANSWER] = unit
    return model


def facts(count: int) -> pd.DataFrame:
    """Return sentences of a name and its city, a name to ask for, its city, and which sentence says it, from 0.

    The first two cities answer in turn; each is in one sentence alone.
    """
    generator, rows = np.random.default_rng(0), []
    for number in range(count):
        names, cities = generator.permutation(NAMES), generator.permutation(CITIES)
        place = int(np.flatnonzero(cities == CITIES[number % 2])[0])
        text = " ".join(f"{name} {city} ." for name, city in zip(names, cities, strict=True))
        rows.append({"text": text, "asked": names[place], "label": CITIES[number % 2], "place": place})
    return pd.DataFrame(rows)


def first_heads(table: pd.DataFrame, carrying: set[str]) -> dict[str, str]:
    """Return, by what heads are ranked by, in how many texts the first ones are those that carry; ties are not first.

    By the fall these are all that carry. By what is written and by look it is one of them: one that another head reads writes
    nothing to first order, and does not look at the answer.
    """
    heads = [name.removeprefix("drop_") for name in table if name.startswith("drop_layer")]
    own = np.isin(heads, [*carrying])
    found = {}
    for kind, what in (("drop", "fall without the head"), ("write", "what it writes"), ("look", "where it looks")):
        values = table[[f"{kind}_{head}" for head in heads]].to_numpy(float)
        least = values[:, own].min(axis=1) if kind == "drop" else values[:, own].max(axis=1)
        found[what] = f"{int((least > values[:, ~own].max(axis=1) + NOISE).sum())} of {len(values)}"
    return found


def of_encoder(count: int = 24) -> dict[str, str]:
    """Return what E17 names first in the encoder."""
    tokens, spans = spoken(count)
    batches = [{"token_ids": each, "mask": torch.ones_like(each, dtype=torch.bool)} for each in tokens.split(8)]
    tried = attest.trial(Encoder(), batches, {"E17": {"spans": spans}}, progress=False)
    return first_heads(tried.table("E17"), CARRIES)


def of_decoder(count: int = 24) -> dict[str, str]:
    """Return what E17 names first in the decoder, which decides between two cities."""
    known = facts(count)
    texts = [f"{row.text} {row.asked}" for row in known.itertuples()]
    answers = {city: f" {city}" for city in CITIES[:2]}
    spans = {number: [3 * place + 1] for number, place in enumerate(known["place"])}
    tried = attest.trial(
        decoder(), texts, {"E17": {"spans": spans}}, labels=[*known["label"]], tokenizer=tokenizer(), prompt="{text}",
        answers=answers, progress=False,
    )  # fmt: skip
    assert tried.summary["test/accuracy"] == 1
    return first_heads(tried.table("E17"), COPIES)


def of_sources(count: int = 24) -> dict[str, str]:
    """Return which reading of E18 names the sentence that holds the answer first; the decoder writes the answer itself."""
    model, words, found = decoder(), tokenizer(), []
    for row in facts(count).itertuples():
        said = attest.sources(
            model, row.text, row.asked, tokenizer=words, prompt="{context} {question}", new_tokens=1, truth=[row.place]
        )
        assert said.answer == row.label
        found.append(said)
    learned = [each.learning_from([other for other in found if other is not each]) for each in found]
    named = {name: sum(each.scores["precision"][name] for each in learned) for name in learned[0].scores.index}
    return {name: f"{int(times)} of {count}" for name, times in named.items()}


def table(named: Mapping[str, Mapping[str, str]]) -> str:
    """Return what was named first, by network and experiment, as Markdown."""
    rows = [[where, what, times] for where, each in named.items() for what, times in each.items()]
    return markdown_table([["network", "ranked by", "what carries comes first"], *rows])


if __name__ == "__main__":
    torch.set_num_threads(1)
    named = {"E17, encoder": of_encoder(), "E17, decoder that copies": of_decoder(), "E18, decoder that copies": of_sources()}
    print(table(named))
