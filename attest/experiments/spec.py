"""The description of an experiment: its question, its columns, what its numbers mean, and its answer in a sentence.

Reports, pages, W&B and commands take every word about an experiment from its spec, the ``SPEC`` of its file, which
``registry.py`` finds.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import Tensor

from attest.core.measures.numbers import interval, percent
from attest.models.traits import traits_of


class Means:
    """The means of a run's table columns over the test texts, by key such as ``E1/tau_gradient_inputs``.

    Args:
        summary: numbers of a run, as in ``summary.json``.
        instances: test texts; None if that is not known.
        called: what the means are over: ``texts``, or ``sentences`` of taggers.
        within: takes a key and the ends of its interval, and cuts them at the least and the greatest value of the column.
    """

    def __init__(
        self,
        summary: dict[str, Any],
        instances: int | None,
        called: str = "texts",
        within: Callable[[str, float, float], tuple[float, float]] = lambda _, low, high: (low, high),
    ) -> None:
        self.summary, self.instances, self.called, self.within = summary, instances, called, within

    @property
    def called_one(self) -> str:
        """Return the singular of ``called``: ``text`` or ``sentence``."""
        return self.called.removesuffix("s")

    @property
    def unit(self) -> str:
        """Return the unit of changes in the prediction, in words; an empty string for probabilities."""
        return " standard deviations" if DEVIATION in self.summary else ""

    def __call__(self, key: str) -> float | None:
        """Return the mean of a column by its key, such as ``E1/tau_gradient_inputs``; None if unknown or undefined."""
        value = self.summary.get(f"{key}/mean")
        return None if value is None or math.isnan(value) else float(value)

    def number(self, key: str) -> str | None:
        """Return the mean of a column with its 95 % interval, ``0.118 [0.096, 0.139]``; None if undefined."""
        value = self(key)
        return None if value is None else interval(value, *self.bounds(key))

    def share(self, key: str, of: float = 1.0) -> str | None:
        """Return the mean of a column as a percentage with its 95 % interval, ``41 % [31 %, 51 %]``; None if undefined.

        Args:
            of: what counts as 100 %.
        """
        value = self(key)
        if value is None:
            return None
        low, high = self.bounds(key)
        bounds = "" if low is None or high is None else f" [{percent(low / of)}, {percent(high / of)}]"
        return f"{percent(value / of)}{bounds}"

    def bounds(self, key: str) -> tuple[float | None, float | None]:
        """Return the ends of a mean's 95 % interval; None, twice, where there is no interval."""
        low, high = (self.summary.get(f"{key}/ci_{end}") for end in ("low", "high"))
        return (None, None) if low is None or high is None or math.isnan(low) else self.within(key, low, high)

    def __contains__(self, key: str) -> bool:
        """Return whether a column was measured, even if its mean is undefined."""
        return f"{key}/nan" in self.summary

    def defined(self, key: str) -> int | None:
        """Return the number of texts on which a measure is defined; None if the number of all texts is unknown."""
        return None if self.instances is None else self.instances - int(self.summary[f"{key}/nan"])


DEVIATION = "number/deviation"
"""The key of a summary under which the standard deviation σ of the predictions stands, if the model predicts one number for
each text."""
LN2 = math.log(2)
SHARE, CORRELATION, NATS, AT_LEAST_0 = (0.0, 1.0), (-1.0, 1.0), (0.0, LN2), (0.0, math.inf)
ANY = (-math.inf, math.inf)
"""The range (lowest, highest) of a column whose values have no bounds. The line above has the other ranges: of shares,
correlations, JSDs in nats, and numbers of at least 0."""

About = Literal["tokens", "states", "layers", "predictions"]
"""What an experiment gives evidence about: tokens of the text, hidden states that attention weights, attention inside layers,
or predictions."""
Suspicious = Literal["low", "high"]
"""Which values of a measure speak against reading the attention as an explanation: low or high ones."""
Row = Mapping[str, Any]
"""The measured values of one text. The keys are an experiment's id and a column of its table, such as
``E1/tau_gradient_inputs``."""


@dataclass(frozen=True)
class Column:
    """A column of an experiment's table, or several columns whose names follow one pattern.

    Args:
        name: its name; a pattern such as ``tau_<importance>`` describes one column for each importance.
        range: least and greatest value; None if values are not ordered.
        means: what its values mean.
        unit: ``nats``, ``tokens``, ``0 or 1``, …; empty for a pure number.
        type: ``float``, ``bool``, ``list of float``, …; a list has one value a token.
        only: whose tables alone have it, such as ``decoders``; empty if all have it.
        title: the heading of its mean over the texts in the report; empty if the report does not show the column.
        misread: how the mean is easily misread.
        suspicious: which end of the mean speaks against reading the attention as an explanation; None if neither does.
        beside: another number of the run to compare it with: a name, and the column.
        short: a heading in the report's table of texts, and what the number means there; None if that table does not show it.
        of_texts: the column that the table of texts shows; empty for this one.
    """

    name: str
    range: tuple[float, float] | None
    means: str
    unit: str = ""
    type: str = "float"
    only: str = ""
    title: str = ""
    misread: str = ""
    suspicious: Suspicious | None = None
    beside: tuple[str, str] | None = None
    short: tuple[str, str] | None = None
    of_texts: str = ""

    def fits(self, name: str) -> bool:
        """Return whether ``name`` is the column's name or matches the column's pattern."""
        return re.fullmatch(re.sub(r"<\w+>", r"\\w+", self.name), name) is not None

    def untitled(self, name: str, means: str) -> "Column":
        """Return a copy with another name and meaning, which the report does not show."""
        return Column(name, self.range, means, self.unit, self.type, self.only)

    def moved(self, name: str = "") -> "Column":
        """Return a column for the change of the predicted number, for models that return one number per text."""
        name = name or f"moved_{self.name.removeprefix('tvd_')}"
        if not self.title:
            return Column.at_least_0(name, f"replaces `{self.name}`: how far the number moves", "σ", only=ONE_NUMBER)
        return replace(
            self,
            name=name,
            range=AT_LEAST_0,
            means=f"As “{self.title}”, for a model that returns one number: how far the number moves, {MOVES}.",
            unit="σ",
            only=ONE_NUMBER,
            title=f"{self.title}, in σ",
            short=self.short and (self.short[0], "How far the number moves when attention is changed, in σ."),
        )

    @classmethod
    def share(cls, name: str, means: str, unit: str = "", type: str = "float", **shown: Any) -> "Column":
        """Return a column with numbers from 0 to 1."""
        return cls(name, SHARE, means, unit, type, **shown)

    @classmethod
    def yes_or_no(cls, name: str, means: str, type: str = "float", **shown: Any) -> "Column":
        """Return a column of yes-or-no answers, coded as 1 and 0."""
        return cls(name, SHARE, means, "0 or 1", type, **shown)

    @classmethod
    def correlation(cls, name: str, means: str, **shown: Any) -> "Column":
        """Return a column with numbers from -1 to 1."""
        return cls(name, CORRELATION, means, **shown)

    @classmethod
    def nats(cls, name: str, means: str, **shown: Any) -> "Column":
        """Return a column with Jensen-Shannon divergences, from 0 to ln 2."""
        return cls(name, NATS, means, "nats", **shown)

    @classmethod
    def at_least_0(cls, name: str, means: str, unit: str = "", type: str = "float", **shown: Any) -> "Column":
        """Return a column with numbers that are at least 0."""
        return cls(name, AT_LEAST_0, means, unit, type, **shown)

    @classmethod
    def unbounded(cls, name: str, means: str, unit: str = "", **shown: Any) -> "Column":
        """Return a column with numbers without bounds."""
        return cls(name, ANY, means, unit, **shown)


@dataclass(frozen=True)
class OfNumbers:
    """The part of an experiment's description for models that return one number per text, such as regressions.

    Args:
        means: what the experiment's columns mean for such models, in a sentence.
        columns: patterns of column names, each with the new name for such models; an empty name leaves the columns out.
    """

    means: str
    columns: tuple[tuple[str, str], ...] = ()

    @classmethod
    def moves(cls, end: str) -> "OfNumbers":
        """Return the description of an experiment whose TVD columns become changes of the number; no class is decided.

        Args:
            end: the end of the sentence that says what the columns mean.
        """
        return cls(f"columns say how far the number moves, {MOVES}, {end}", ((r"tvd_(.+)", r"moved_\1"), NO_DECISION))

    def named(self, columns: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Rename columns for models that return one number per text; drop the columns whose new name is empty."""
        named = {self._name(name): values for name, values in columns.items()}
        return {name: values for name, values in named.items() if name}

    def _name(self, name: str) -> str:
        found = ((re.fullmatch(pattern, name), called) for pattern, called in self.columns)
        return next((match.expand(called) for match, called in found if match), name)


NO_DECISION = (r"(correct|flipped)(_.+)?", "")
"""An entry of ``OfNumbers.columns``: a pattern for names of columns, and the new name, which is empty. So the columns about
decided classes are dropped for models that predict a number."""
MOVES = "in standard deviations of the predictions over all texts (σ)"
ONE_NUMBER = "models that return one number"


@dataclass(frozen=True)
class TokenWeights:
    """A column whose cells are lists with one weight for each token, such as an explanation or a permuted attention.

    Args:
        title: the name of the weights beside the text.
        kind: ``importance``, ``attention`` (for example after another projection) or ``adversary``.
        note: takes the row of a text; returns a few words to show below the weights.
        quotes: columns with one number a text that the note needs.
        in_detail: True to show the weights only where a single text is explained, not where many are.
        is_shown: takes the row of a text; returns False if the weights say nothing new about it.
    """

    column: str
    title: str
    kind: Literal["attention", "importance", "adversary"]
    note: Callable[[Row], str] = lambda row: ""
    quotes: tuple[str, ...] = ()
    in_detail: bool = False
    is_shown: Callable[[Row], bool] = lambda row: True


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn from an experiment's table.

    Args:
        name: the name of its file.
        title: the text above the figure.
        caption: a text that says how to read the figure; or a function that takes the table and returns this text.
        draw: takes the table and the names of the classes; or the name of such a function in
            ``attest.report.evidence_figures``.
        needs: the columns without which the figure is not drawn.
    """

    name: str
    title: str
    caption: str | Callable[[Any], str]
    draw: str | Callable[..., Any]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inside:
    """An experiment on the attention inside the layers of a Transformer.

    Args:
        run: takes a ``LayerObservation``; its other arguments are as in ``Spec.run``.
        reads, samples: as in ``Spec``.
        needs: a trait that the network must have, see ``attest.models.traits``. ``attends_everywhere``: the experiment makes
            tokens attend to later ones, which a decoder never does. ``looks_back``: it is about the last token of a decoder.
            ``moves_keys``, ``shows_values``, ``shows_outputs``: it changes keys, reads values or replaces the outputs of
            heads, which not every model allows. Empty for none.
        of_tags: whether it is only for models that decide each token.
        by_name: whether it runs only if the user names its id or asks for all experiments.
    """

    id: str
    run: Callable[..., dict[str, Tensor]]
    reads: tuple[str, ...] = ()
    samples: bool = False
    needs: Literal["", "attends_everywhere", "looks_back", "moves_keys", "shows_values", "shows_outputs"] = ""
    of_tags: bool = False
    by_name: bool = False

    def suits(self, network: Any) -> bool:
        """Return whether the network has what the experiment needs."""
        return not self.needs or getattr(traits_of(network), self.needs)


@dataclass(frozen=True)
class Says:
    """What evidence of one sort can say, and what it cannot. Experiments of the same sort share it.

    Args:
        name: the name of the sort, such as ``Algebra``.
        can, cannot: the ends of the sentences “It can say …” and “It cannot say …”.
    """

    name: str
    can: str
    cannot: str


@dataclass(frozen=True)
class Spec:
    """The description of an experiment: everything that reports and commands need to know about it.

    Args:
        id: ``E1``, …: file name, prefix of its numbers, section of the report.
        name: what stands beside the id where it is first said, such as ``permuted attention``.
        question: the question that the experiment answers, as in the report.
        does: how the experiment answers the question, in a line.
        source: the authors who published the experiment.
        cost: what the experiment costs, such as the number of passes, and how this grows with the length T of a text.
        says: what it can say, and what it cannot; shared with experiments that give evidence of the same sort.
        columns: the columns of its table, besides those that identify the text; those with a title in the report's order.
        answer: takes the means; returns the sentence that answers the question, or None if the means do not suffice.
        weights: the token weights that can be shown on a text.
        drawings: its figures.
        run: the experiment on one observed batch; takes the observation, what it ``reads``, and the settings with their
            defaults. None if it needs more than one model, or runs inside layers alone.
        reads: the attributes of ``Context`` that ``run`` is given, as arguments of the same names.
        samples: whether some columns come from a sample of the texts; ``run`` draws it from ``everyone``.
        any_reading: whether any reading can replace attention.
        at_validation: settings at the end of validation, where the usual settings would take too long.
        when_explaining: settings for a single text, where the usual settings would take too long.
        quadratic: the part that compares every token with every other, and so leaves out very long texts; empty for none.
        of_tokens: whether it only asks an explanation which tokens matter. Attention rollout can then be this explanation, if
            a Transformer attends only inside its layers, and attention over sentences cannot.
        needs: what it needs besides one trained run: other runs to compare with, or trained adversaries; empty for nothing.
        of_numbers: its description for models that return one number; None if it is not for such models.
        about_columns: a sentence above the reference of its columns.
        place: its place among the experiments; None for the number in its id.
    """

    id: str
    name: str
    question: str
    does: str
    source: str
    about: About
    cost: str
    says: Says
    columns: tuple[Column, ...] = ()
    answer: Callable[[Means], str | None] | None = None
    weights: tuple[TokenWeights, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    run: Callable[..., dict[str, Tensor]] | None = None
    reads: tuple[str, ...] = ()
    samples: bool = False
    any_reading: bool = False
    at_validation: Mapping[str, Any] = field(default_factory=dict)
    quadratic: str = ""
    when_explaining: Mapping[str, Any] = field(default_factory=dict)
    of_tokens: bool = False
    needs: Literal["", "controls", "adversaries", "attacks"] = ""
    of_numbers: OfNumbers | None = None
    about_columns: str = ""
    place: float | None = None

    @property
    def order(self) -> float:
        """Return the number by which experiments are sorted: 12 for E12."""
        return float(re.sub(r"\D", "", self.id) or math.inf) if self.place is None else self.place

    @property
    def measures(self) -> tuple[Column, ...]:
        """Return the columns whose means the report shows, in its order."""
        return tuple(column for column in self.columns if column.title)

    def column(self, name: str) -> Column | None:
        """Return the description of a column by its name; the most specific one if several fit, None if none fits."""
        fitting = [column for column in self.columns if column.fits(name)]
        return max(fitting, key=lambda column: len(re.sub(r"<\w+>", "", column.name)), default=None)
