"""Two runs text by text: which of the two decides the same test texts better?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attest.measures import Paired, mcnemar, signed_rank
from attest.measures.majority import mean_of_each
from attest.measures.numbers import p_value
from attest.runs.folder import TAGGED, RunFolder, read_table
from attest.runs.same_texts import Texts, table_of, texts_of

LEVEL = 0.05
"""Of a test, below which a difference is more than chance."""


@dataclass(frozen=True)
class Pairing:
    """Two runs compared on the texts of the test split."""

    same: bool | None
    """Whether they were tested on the same texts; None where their folders do not tell."""
    instances: int = 0
    tagging: bool = False
    """Whether the instances are sentences whose tokens are tagged."""
    test: Paired | None = None
    """None where the texts are not the same, or a run has kept no table of them."""

    @property
    def better(self) -> int:
        """1 where the first is better by more than chance, -1 where the second is; 0 where neither is shown to be."""
        return 0 if self.test is None or self.test.p_value >= LEVEL else self.test.favours

    @property
    def tested(self) -> str:
        """The test that was made, with its p-value; empty where none was."""
        if self.test is None:
            return ""
        name = "Wilcoxon's signed-rank test over sentences" if self.tagging else "McNemar's exact test"
        return f"{name}: {p_value(self.test.p_value)}"


@dataclass(frozen=True)
class Decided:
    """What a run was tested on and how it decided, read once for all the runs that it is compared with."""

    texts: Texts
    rightly: pd.Series | None
    """As ``rightly`` has it; None where the run has kept no table."""
    tagging: bool

    @classmethod
    def by(cls, run: RunFolder) -> "Decided":
        """From the files in the folder of a run."""
        path = table_of(run)
        return cls(texts_of(run), None if path is None else rightly(run), path is not None and path.stem == TAGGED)


def pairing(first: RunFolder, second: RunFolder) -> Pairing:
    """Compare two runs: texts by McNemar's exact test, tagged sentences by Wilcoxon's on the share of their tokens."""
    return paired(Decided.by(first), Decided.by(second))


def paired(first: Decided, second: Decided) -> Pairing:
    """The same of runs that were read already."""
    same = first.texts.same_as(second.texts)
    if not same or first.rightly is None or second.rightly is None:
        return Pairing(same)
    tagging = first.tagging or second.tagging
    test = signed_rank if tagging else mcnemar
    return Pairing(same, len(first.rightly), tagging, test(first.rightly.to_numpy(), second.rightly.to_numpy()))


def rightly(run: RunFolder) -> pd.Series:
    """Whether each test text is decided rightly, bool by id; of a tagger the share of each sentence's tokens; maybe empty."""
    path = table_of(run)
    if path is None:
        return pd.Series(dtype=bool)
    if path.stem != TAGGED:
        rows = read_table(path, ["id", "label", "predicted"]).set_index("id")
        return rows["label"] == rows["predicted"]
    rows = read_table(path, ["id", "tags", "predicted_tags"])
    gold, predicted, tagged = tagged_tokens(rows)
    return pd.Series(mean_of_each(gold == predicted, tagged), rows["id"])


def tagged_tokens(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold and predicted tags of all tokens that have a gold one, ``(N,)`` each, and how many each sentence has.

    Of a word in subwords that is the first alone.
    """
    gold, predicted = (np.concatenate(rows[column].to_numpy()) for column in ("tags", "predicted_tags"))
    tagged = rows["tags"].map(lambda tags: int((tags >= 0).sum())).to_numpy()
    return gold[gold >= 0], predicted[gold >= 0], tagged
