"""The first line of every report: in how many texts an explanation points at the words that decide, in plain sentences."""

from typing import Any, NamedTuple

from attest.core.measures.numbers import percent
from attest.experiments.deciding.neutral import WITHOUT_SINK
from attest.experiments.readings.compared import title_of
from attest.experiments.verdict import CANNOT_TELL, IN_PART, LOOKS, NO, NOT_LEARNED, YES, Share, Verdict

NOT_BETTER = (
    "No answer. The model is not shown to be better than chance on these texts: train it longer, or test it on more texts."
)
TEXTS = "texts that have such words"
SENTENCES = "sentences in which the tag of a word needs other words"
"""What the verdict on a tagger counts, as a phrase for reports. For models that decide about whole texts, ``TEXTS`` is this
phrase."""
SINK = "a token that gets attention whatever the text says"
UNLABELLED = "Without labels, nobody knows whether the model has learned its task."
UNTESTED = "Whether the model has learned its task is not tested for decisions of this kind: read its scores."
UNKEPT = (
    "Nobody knows whether the model has learned its task, because the table {0} is missing: attest evidence --run … {0} makes "
    "it."
)
"""The sentence about a run whose decisions were not kept; the name of the table that would hold them replaces ``{0}``."""
STATES = (
    "About hidden states there is no verdict: a hidden state may speak against the decision, and nobody has settled whether "
    "attention on such a state is right."
)


def in_a_sentence(title: str) -> str:
    """Write a reading's title as it stands inside a sentence: ``leave-one-out``, but ``LRP``."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def within(share: Share) -> str:
    """Write a share of texts with its interval: ``46 % [35 %, 57 %]``."""
    return f"{percent(share.value)} [{percent(share.low)}, {percent(share.high)}]"


def of_texts(share: Share) -> str:
    """Write a share with its interval and what it counts: ``46 % [35 %, 57 %] of the 90 texts that have such words``."""
    return f"{within(share)} of the {share.texts:,} {TEXTS}"


class Headline(NamedTuple):
    """A verdict in the parts that a page sets in different type."""

    word: str
    says: str
    share: Share
    of: str


def headline(found: Verdict, called: str, counted: str = TEXTS) -> Headline | None:
    """Return the parts of the first sentence; None where nothing is known of the share, or it says nothing.

    Args:
        called, counted: as in ``sentence``.
    """
    if found.share is None or found.answer == NOT_LEARNED:
        return None
    says = f"{called[0].upper()}{called[1:]} points at the words that decide in"
    return Headline(f"{found.answer.capitalize()}.", says, found.share, f"of the {found.share.texts:,} {counted}")


def sentence(found: Verdict, called: str, unjudged: str, counted: str = TEXTS) -> str:
    """Return a verdict as a sentence that a reader without knowledge of attention understands.

    Args:
        called: the tested explanation in words, such as ``attention``.
        unjudged: why nobody knows whether the model has learned its task; an empty string where this is known.
        counted: what the share counts: ``TEXTS`` or ``SENTENCES``.
    """
    if found.answer == NOT_LEARNED:
        return NOT_BETTER
    if (first := headline(found, called, counted)) is None:
        return (
            f"Cannot tell. In none of the {found.read:,} texts that were read do words decide: the model says the same of "
            "random neutral words."
        )
    said = f"{first.word} {first.says} {within(first.share)} {first.of}{_chance(found)}."
    return " ".join(filter(None, [said, doubt(found, unjudged)]))


def doubt(found: Verdict, unjudged: str) -> str:
    """Return why there is no answer yet, and why nobody knows what the model has learned; empty where neither is so."""
    why = _why(found) if found.answer == CANNOT_TELL else ""
    return " ".join(filter(None, [why, unjudged]))


def _chance(found: Verdict) -> str:
    return "" if found.random is None else f"; a random order does in {within(found.random)}"


def _why(found: Verdict) -> str:
    if found.disagree:
        return "But two sets of neutral words give different shares, and no answer fits both."
    if found.share is not None and found.share.texts < LOOKS[0]:
        return f"An answer needs at least {LOOKS[0]} texts in which words decide: give more texts."
    more = "more texts" if found.more is None else f"about {found.more:,} more texts in which words decide"
    return f"Most likely it is “{found.guess}”; {more} would tell."


def instead(found: Verdict, called: str) -> str | None:
    """Return a sentence on what to read instead of an explanation; None where this is not asked."""
    if found.answer not in (NO, IN_PART) or not found.compared:
        return None
    if found.instead is None:
        return "No other reading that was measured surely points at them more often."
    name, share = found.instead
    if name == WITHOUT_SINK:
        return f"{called[0].upper()}{called[1:]} without its sink, {SINK}, does in {of_texts(share)}: leave the sink out."
    return f"{title_of(name)} points at them in {within(share)}: show it instead."


def advised(found: Verdict, called: str) -> str | None:
    """Return what to show a reader, as a sentence; None where no answer is known."""
    if found.answer == YES:
        return f"You may show {called} as the explanation of a text."
    if found.answer not in (NO, IN_PART):
        return None
    if found.instead is None:
        return f"Show {called} only together with the words that decide."
    name, _ = found.instead
    return (
        f"Show {called} without its sink, {SINK}."
        if name == WITHOUT_SINK
        else f"Show {in_a_sentence(title_of(name))} in place of {called}."
    )


NEEDS_E19 = "No answer. An answer needs the experiment E19."
WHY_NO_WORDS = "What decides is measured for texts in words, and this model attends to whole sentences."
NO_WORDS = f"No answer. {WHY_NO_WORDS}"


def told(found: Verdict, said: str, advice: str | None = None) -> dict[str, Any]:
    """Return a verdict as plain values for ``summary.json``.

    Args:
        said: its sentence.
        advice: the sentence of ``instead``.
    """
    reading = None if found.instead is None else {"reading": found.instead[0], **_plain(found.instead[1])}
    share = dict.fromkeys(Share._fields) if found.share is None else _plain(found.share)
    return {
        "answer": found.answer,
        "sentence": said,
        "share": share.pop("value"),
        **share,
        "read": found.read,
        "random": None if found.random is None else _plain(found.random),
        "instead": reading,
        "advice": advice,
        "guess": found.guess,
        "more": found.more,
    }


def _plain(share: Share) -> dict[str, float]:
    return {"value": share.value, "low": share.low, "high": share.high, "texts": share.texts}
