"""The description of a kind of decision."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

Bounds = dict[str, tuple[float, float]]
"""The ends (low, high) of the 95 % confidence interval of each score; the keys are the keys of the scores, such as
``test/f1``."""


class Scored(NamedTuple):
    """What the scores of a run are over, and their intervals."""

    texts: int
    """The number of texts, or of sentences if the model is a tagger."""
    bounds: Bounds


OF_TEXTS = "ForSequenceClassification"
"""The end of the names of the classes of transformers whose models decide about a whole text."""


def share_told(key: str, summary: Mapping[str, float], found: Scored | None) -> str:
    """Return a score that is a share, with its interval where one is known: ``80.0 % [78.1 %, 81.9 %]``."""
    from attest.core.measures.numbers import percent

    ends, said = None if found is None else found.bounds.get(key), percent(summary[key], 1)
    return said if ends is None else f"{said} [{', '.join(percent(end, 1) for end in ends)}]"


def number_told(key: str, summary: Mapping[str, float], found: Scored | None) -> str:
    """Return a score that is no share, with its interval where one is known: ``0.801 [0.781, 0.819]``."""
    from attest.core.measures.numbers import interval, number

    ends = None if found is None else found.bounds.get(key)
    return number(summary[key]) if ends is None else interval(summary[key], *ends)


def any_configuration(_config: Any) -> bool:
    """Return that a kind does not ask for a configuration."""
    return True


@dataclass(frozen=True, repr=False)
class Kind:
    """A description of what models decide, of their table in a run folder, and of what is said of them.

    Args:
        name: as settings name it.
        bounds: a function that takes the rows of the table with truth and decisions, and the names of the classes. It returns
            what the scores are over, and their intervals by their names (``f1``).
        told: a function that takes the summary of a run and what ``bounds`` returns, if it is known. It returns what is said
            of how well the model decides where no constant answer is held against it; None if one is always held.
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
        head: the end of the names of the classes of transformers whose models decide so; None if there are none.
        configured: a function that takes the configuration of such a model and returns whether it decides so, because several
            kinds can have one class.
        loaded_as: the key in ``KINDS`` of ``attest.models.pretrained.loading`` that says how such a model is loaded.
        names: how many classes or labels the configuration of such a model must name; 0 if nothing is named there.
        beside: the columns that such a model reads beside the tokens of a text.
        own: whether a module of one's own, which has no configuration, can decide so.
        named: whether the labels of texts are names of what the model can decide, which a user can call otherwise.
    """

    name: str
    bounds: Callable[["pd.DataFrame", Sequence[str]], Scored]
    told: Callable[[Mapping[str, float], Scored | None], str] | None = None
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
    head: str | None = None
    configured: Callable[[Any], bool] = any_configuration
    loaded_as: str = "texts"
    names: int = 0
    beside: tuple[str, ...] = ()
    own: bool = False
    named: bool = True

    def __repr__(self) -> str:
        """Return how the description is called: ``attest.core.kinds.CLASSES``."""
        return f"attest.core.kinds.{self.name.upper()}"

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
