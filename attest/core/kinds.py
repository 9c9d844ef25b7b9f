"""What a model decides: a class, a tag for each word, one of several texts, a span, several labels, or a number.

A network says its kind once, in its attribute ``kind``, and the settings of a trial name it. What is done or said differently
for a kind asks these descriptions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Kind:
    """A description of what models decide, of their table in a run folder, and of what its rows are called.

    Args:
        name: as settings name it.
        table: the table of what was tested, by the name of its file.
        unit: what a row of this table holds: a ``text`` or a ``sentence``.
        label: the column with the truth, if it is known.
        predicted: the column with what the model decides.
        chooses: whether a class is chosen, so that there are names and probabilities of classes.
        asks: whether each row asks about one label (``asked``) of a text (``text``), so that a text can have several rows.
        right: whether each row is decided rightly or wrongly, so that there is an accuracy with an interval over rows.
        score: the score without which nothing is said of how well the model decides.
        constant: whether always giving the most frequent answer is a fair comparison.
        order: the order in which a page shows some of the texts.
    """

    name: str
    table: str = "instances"
    unit: str = "text"
    label: str = "label"
    predicted: str = "predicted"
    chooses: bool = True
    asks: bool = False
    right: bool = True
    score: str = "accuracy"
    constant: bool = True
    order: str = "the least to the most confident prediction"

    @property
    def units(self) -> str:
        """Return what the rows of the table hold: ``texts`` or ``sentences``."""
        return f"{self.unit}s"

    def worded(self, said: str) -> str:
        """Return words that are written of texts, such as a caption, as words of what the rows hold: of ``sentences``."""
        return re.sub(r"\btext(?=s?\b)", self.unit, said)

    def counted(self, rows: "pd.DataFrame") -> str:
        """Return how many rows a table has, as it stands before “texts”: ``120``, or ``120 labels of 40``."""
        return f"{len(rows):,} labels of {rows['text'].nunique():,}" if self.asks else f"{len(rows):,}"

    def titled(self, row: Mapping[str, Any]) -> str:
        """Return what a row is called: ``text 3``, or ``text 3, label joy``."""
        return f"text {row['text']}, label {row['asked']}" if self.asks else f"text {row['id']}"


CLASSES = Kind("classes")
TAGS = Kind("tags", table="tagged", unit="sentence", label="tags", predicted="predicted_tags", right=False)
CHOICE = Kind("choice")
SPANS = Kind("spans", score="answer_exact_match", constant=False)
LABELS = Kind("labels", score="f1_micro", asks=True, right=False, constant=False)
NUMBER = Kind(
    "number", predicted="prediction", chooses=False, right=False, score="rmse", constant=False,
    order="the smallest to the largest number",
)  # fmt: skip
KINDS = {kind.name: kind for kind in (CLASSES, TAGS, CHOICE, SPANS, LABELS, NUMBER)}
"""The description of each kind of decision, by its name: ``classes``, ``tags``, ``choice``, ``spans``, ``labels`` or
``number``."""
