"""A planted corpus whose model can learn from the marked rationales alone: chance draws all other words of training texts.

    PYTHONPATH=. attest fit DATA=planted --data=benchmarks.deciding.marked.MarkedRationales --run.data=marked EXPERIMENTS=none
    python -m benchmarks.deciding.planted runs/marked/jw-bilstm-additive-softmax-84324eb9/seed0 --name marked

A network that is trained on whole reviews learns more than their rule, such as that “is” comes before an opinion. The marked
words are then the truth of the data, and not of the network. Here words of the corpus, by chance, stand in the place of all
other words of each training text, so that nothing but the rationale tells the label.
"""

import random
from dataclasses import replace

from attest.datamodules import PlantedDataModule
from attest.datamodules.corpus import Corpus
from attest.datamodules.planted import BLAME, PRAISE, documents


class MarkedRationales(PlantedDataModule):
    """The planted corpus; in its training texts, words by chance stand for all words that are not marked."""

    def read(self) -> Corpus:
        corpus = super().read()
        rows = corpus.train.table.select(["tokens", "rationale", "label"]).to_pylist()
        others = [
            word
            for row in rows
            for word, decides in zip(row["tokens"], row["rationale"], strict=True)
            if not decides and word not in (*PRAISE, *BLAME)
        ]
        draw = random.Random(f"marked {self.seed}")
        texts = [(filled(row["tokens"], row["rationale"], others, draw), row["label"]) for row in rows]
        return replace(corpus, train=documents(texts))


def filled(words: list[str], marked: list[bool], others: list[str], draw: random.Random) -> list[tuple[str, bool]]:
    """Return a text whose words that are not marked were exchanged; none of them is “not” right before a marked word."""
    text = []
    for place, (word, decides) in enumerate(zip(words, marked, strict=True)):
        before = place + 1 < len(words) and marked[place + 1]
        while not decides and (word := draw.choice(others)) == "not" and before:
            pass
        text.append((word, decides))
    return text
