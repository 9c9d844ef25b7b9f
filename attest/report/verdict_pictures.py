"""Pictures of a verdict: its sentence over the share of texts, and the kinds of texts in which the explanation is right."""

from attest.experiments.verdict import LEVEL, NO_BELOW, YES_FROM
from attest.report.answer import headline, within
from attest.report.findings import Findings
from attest.report.pictures import AXIS, MARGIN, Picture, Piece, draw_strip, row_name, shares_in_words, width_of
from attest.report.shown import Row, first_screen, strip_of

BOUNDS = AXIS | {YES_FROM: f"{100 * YES_FROM:.0f}"}
"""The labels below the axis of a verdict, by the share of texts at which each stands: those of ``AXIS``, and the share from
which the answer is *yes*."""
ANSWERS = {NO_BELOW / 2: "no", (NO_BELOW + YES_FROM) / 2: "in part", (YES_FROM + 1) / 2: "yes"}
"""The answers that are written above the axis of a verdict; the keys are the positions, each in the middle of the answer's
range of shares."""


class PicturedSentence(str):
    """A sentence that a notebook shows as a picture. Elsewhere it is a string like any other.

    Args:
        sentence: the sentence.
        picture: its picture; None for a sentence without one.
    """

    picture: Picture | None

    def __new__(cls, sentence: str, picture: Picture | None = None) -> "PicturedSentence":
        made = super().__new__(cls, sentence)
        made.picture = picture
        return made

    def _repr_svg_(self) -> str | None:
        return None if self.picture is None else self.picture._repr_svg_()


def verdict_picture(found: Findings) -> Picture | None:
    """Return the picture of a verdict: its sentence, and the share of texts beside a random order; None without a share."""
    rows, verdict = found.deciding, found.verdict
    said = None if verdict is None else headline(verdict, found.called, found.counted)
    if rows is None or verdict is None or said is None:
        return None
    strip = [row for row in strip_of(verdict, rows, row_name(found)) if row.tested or row.random or row.shown]
    share = within(said.share).replace(" ", "\N{NO-BREAK SPACE}")
    sentence = [Piece(said.word, "marked"), Piece(said.says), Piece(share, "marked"), Piece(f"{said.of}.")]
    picture = Picture(" ".join(each.text for each in sentence), shares_in_words(strip))
    top = picture.sentence(sentence, 70, (32, 28, 24)) + 34
    bottom = draw_strip(picture, strip, top, below=BOUNDS, above=ANSWERS)
    picture.foot(f"{found.name}. {_level()}. Grey: random order.", bottom + 78)
    return picture


def groups_picture(found: Findings) -> Picture | None:
    """Return the picture of the kinds of texts in which an explanation is right; None where no kind has enough texts."""
    screen, called = first_screen(found), row_name(found)
    if not screen["groupings"]:
        return None
    title = f"In which {screen['unit']}s is {called} right?"
    groups = {
        each.question: [Row(group.name, group.share, True, False, False) for group in each.groups]
        for each in screen["groupings"]
    }
    picture = Picture(title, " ".join(f"{question} {shares_in_words(rows)}." for question, rows in groups.items()))
    picture.label(MARGIN, 66, title, 30, "ink", True)
    left, y = MARGIN + 28 + max(width_of(row.name, 26, True) for rows in groups.values() for row in rows), 66.0
    for question, rows in groups.items():
        picture.label(MARGIN, y + 54, question, 26)
        y = draw_strip(picture, rows, y + 66, left, unit=screen["unit"]) + 34
    picture.foot(
        f"{found.name}. {len(groups)} of {screen['tried']} groupings, those that differ most: a hint. {_level()}.", y + 46
    )
    return picture


def _level() -> str:
    return f"{100 * LEVEL:.4g}\N{NO-BREAK SPACE}% intervals"
