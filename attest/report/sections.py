"""The sections of the page of a run. A new section is a function and an entry of ``SECTIONS``, which gives the order of the
page and of its navigation. What ``_plain`` cannot show has a template in ``templates/sections``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd
import yaml
from markupsafe import Markup

from attest.core.kinds import TAGS
from attest.report import readings
from attest.report.explained import contents, joined, said_of
from attest.report.figures import Illustration, embedded
from attest.report.findings import SHOWN_AS, Findings
from attest.report.instance_table import as_script_data, evenly, instance_table, sentence_table, shown_sentences
from attest.report.panels import legend
from attest.report.score_bounds import classes_in
from attest.report.shown import first_screen, with_judged
from attest.report.templating import render


class Section(NamedTuple):
    """A section of the page."""

    key: str
    """The id of the section: its anchor in the page (after ``#``), and the name of its template if it has its own."""
    name: str
    """The name of the section in the page's navigation."""
    body: Markup


@dataclass(frozen=True)
class Asked:
    """What the head and the sections of a page are made of."""

    found: Findings
    figures: Sequence[Illustration]
    beside: bool
    """Whether the page is written into the folder of the run, so that it can link to the files of figures and tables there."""

    @cached_property
    def screen(self) -> dict[str, Any]:
        """Return what the first screen shows."""
        return first_screen(self.found)

    @property
    def unit(self) -> str:
        """Return what a row of the page is: ``text`` or ``sentence``."""
        return "text" if sentences_shown(self.found) is None else "sentence"


def sections(asked: Asked) -> list[Section]:
    """Return the sections that the contents of a run folder allow, in the order of the page."""
    return [section for make in SECTIONS if (section := make(asked)) is not None]


def _section(key: str, name: str, **content: Any) -> Section:
    return Section(key, name, Markup(render(f"sections/{key}.html", **content)))


def _plain(
    key: str,
    name: str,
    title: str,
    words: Sequence[str] = (),
    table: readings.ReadingTable | None = None,
    heading: str = "",
    said: str | None = None,
) -> Section:
    """Return a section of paragraphs, a table and a conclusion; what is not given is left out.

    Args:
        title: its heading on the page.
        heading: the heading of the table.
        said: the conclusion.
    """
    shown = {"words": words, "table": table, "heading": heading, "said": said}
    return Section(key, name, Markup(render("sections/plain.html", key=key, title=title, **shown)))


def _glance(asked: Asked) -> Section:
    verdict = asked.found.verdict
    shares_drawn = verdict is not None and verdict.share is not None
    return _section("glance", "At a glance", found=asked.found, shares_drawn=shares_drawn, first_question=readings.QUESTION)


def _questions(asked: Asked) -> Section:
    return _section("questions", "Questions", found=asked.found, unit=asked.unit, path=str(asked.found.folder.path))


def _first_tokens(asked: Asked) -> Section | None:
    if (found := asked.found.first_tokens) is None:
        return None
    title = "Do others rank the same tokens first as attention?"
    return _plain("first", "First tokens", title, table=found.table, heading="Attention beside importance")


def _figures(asked: Asked) -> Section | None:
    if not asked.figures:
        return None
    where = {"path": str(asked.found.folder.path), "beside": asked.beside}
    names = legend(asked.found.class_names)
    return _section("figures", "Figures", figures=embedded(asked.figures), drawn_names=names, **where)


def texts_shown(found: Findings) -> pd.DataFrame | None:
    """Return the table of the texts; None if it has no weights to show, or if sentences are shown."""
    there = found.instances is not None and "attention" in found.instances and sentences_shown(found) is None
    return found.instances if there else None


TOKENS_SHOWN, TEXTS_SHOWN = 3000, 12
"""The approximate number of tokens, and the largest number of texts, that the page shows at once; the table opens other
texts."""


def _texts(asked: Asked) -> Section | None:
    found = asked.found
    if (rows := texts_shown(found)) is None:
        return None
    texts = _shown_texts(joined(found.tables, _attention_name(found)), found)
    red = any(each.kind == "adversary" for text in texts for each in text["explanations"])
    of = {"order": found.kind.order, "instances": found.kind.counted(rows)}
    return _section("texts", "Texts", texts=texts, red=red, **of) if texts else None


def _attention_name(found: Findings) -> str:
    return SHOWN_AS.get(found.explanation, found.explanation)


def _shown_texts(rows: pd.DataFrame, found: Findings) -> list[dict[str, Any]]:
    """Return some texts to show on the page, with all explanations; the verdict's example comes first."""
    if found.kind.chooses:
        rows = rows.assign(confidence=rows.filter(regex="^probability_").max(axis=1)).sort_values("confidence")
    else:
        rows = rows.assign(confidence=None).sort_values(found.kind.predicted)
    shows_verdict = rows["id"] == found.example
    count = min(TEXTS_SHOWN, max(4, int(TOKENS_SHOWN / rows["tokens"].map(len).mean())))
    chosen = pd.concat([rows[shows_verdict], evenly(rows[~shows_verdict], count)])
    return [_shown_text(row, found) for row in chosen.to_dict("records")]


def _shown_text(row: Mapping[str, Any], found: Findings) -> dict[str, Any]:
    named = {"id": row["id"], "title": found.kind.titled(row), "confidence": row["confidence"]}
    return named | said_of(row, found.class_names, found.kind) | contents(row)


def sentences_shown(found: Findings) -> pd.DataFrame | None:
    """Return the table of a tagger's sentences; None if there is none, or the model is no tagger."""
    return found.tagged if found.kind == TAGS else None


def _sentences(asked: Asked) -> Section | None:
    rows = sentences_shown(asked.found)
    shown = [] if rows is None else shown_sentences(asked.found, rows)
    return None if rows is None or not shown else _section("sentences", "Sentences", sentences=shown, tagged=len(rows))


def _instances(asked: Asked) -> Section | None:
    found, rows = asked.found, sentences_shown(asked.found)
    if rows is not None:
        table = sentence_table(rows, found.tables, classes_in(found))
    elif texts_shown(found) is not None:
        table = instance_table(found.tables, found.class_names, _attention_name(found), found.kind)
    else:
        return None
    table = with_judged(table, found)
    shown = {"data": as_script_data(table), "empty": table["empty"], "unit": asked.unit, "beside": asked.beside}
    return _section("instances", f"Every {asked.unit}", **shown)


def _readings(asked: Asked) -> Section | None:
    rows, seconds = asked.found.table("E15"), asked.found.timing.get("seconds_a_text")
    table = None if rows is None else readings.readings_of_run(rows, seconds)
    if table is None:
        return None
    said = asked.found.answers.get("E15")
    return _plain("readings", "Readings", "What may be shown instead", table=table, heading="Readings side by side", said=said)


def _made(asked: Asked) -> Section:
    timing = asked.found.timing
    longest = max(timing.get("seconds", {}).values(), default=1.0) or 1.0
    config = yaml.safe_dump(asked.found.settings, sort_keys=False)
    return _section("made", "How it was computed", found=asked.found, timing=timing, longest=longest, config=config)


SECTIONS = (_glance, _questions, _first_tokens, _figures, _texts, _sentences, _instances, _readings, _made)
"""The functions that make the sections of the page, in their order. A function returns None if the page needs no such
section."""
