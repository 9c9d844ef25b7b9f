"""Write the section of a model card that says what a run or a trial has found, as Markdown.

Start at ``section``; ``put_into`` puts it into a card, whose other lines stay as they are.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from attest.core.errors import AttestError
from attest.core.measures.numbers import percent
from attest.core.measures.summary import share_interval
from attest.experiments.verdict import NOT_LEARNED
from attest.experiments.verdict_errors import error_sentence
from attest.report.findings import Findings
from attest.report.gate import SUBJECTS, VERDICT, verdict_of
from attest.report.pictures import Picture, readings_picture
from attest.runs.asked import AskedRun
from attest.runs.belonging import versions_of
from attest.runs.choices import are_plain
from attest.runs.folder import TRIAL
from attest.runs.identity import identity_of, typed_of

BEGIN, END = "<!-- attest card: begin -->", "<!-- attest card: end -->"
"""The lines that enclose Attest's section in a model card; a later call replaces what is between them."""
PICTURE = "attest-readings.svg"
"""The file name of the picture that compares all explanations, saved beside the model card."""
INTERVALS = "Intervals in brackets hold with 95 %, those of the shares for all looks at the texts together."
INSTALL = "To do it again, `pip install .` in the folder of a clone of Attest"


def section(found: Findings, picture: str | None = None) -> str:
    """Return the section of a model card that gives the verdict on a run or a trial, in sentences.

    All numbers are of the texts that the verdict has read.

    Args:
        picture: the file of the picture of all readings, as the card names it; None for a card without picture.
    """
    verdict_of(found)
    verdicts = [found.summary[VERDICT][about] for about in SUBJECTS if about in found.summary[VERDICT]]
    said = [" ".join(filter(None, [f"**{each['sentence']}**", each.get("advice")])) for each in verdicts]
    drawn = None if picture is None else picture_of(found)
    shown = [] if drawn is None else [f"![{drawn.title} {drawn.description}]({picture})"]
    errors = filter(None, [error_sentence(each["answer"], found.explanation) for each in verdicts])
    about = [*map(_texts, [found] * len(verdicts), verdicts), *errors, INTERVALS]
    parts = ["## May its attention be read as an explanation?", *said, *shown, " ".join(about), _again(found)]
    return "\n\n".join([BEGIN, *parts, END]) + "\n"


def picture_of(found: Findings) -> Picture | None:
    """Return the picture of all readings for a card; None where nothing was measured, or the model has not learned."""
    return None if found.verdict is None or found.verdict.answer == NOT_LEARNED else readings_picture(found)


def put_into(card: str, found: Findings, picture: str | None = None) -> str:
    """Add the section about a run or a trial to a model card, or replace an earlier one; return the card.

    Args:
        picture: as in ``section``.
    """
    begins, ends = card.count(BEGIN), card.count(END)
    if (begins, ends) not in ((0, 0), (1, 1)) or card.find(BEGIN) > card.find(END):
        raise AttestError(
            f"in the model card, the lines {BEGIN} (found: {begins}) and {END} (found: {ends}) do not enclose one section; "
            "expected each line once, in this order, or no such line. Remove these lines and the text between them."
        )
    ending = "\r\n" if "\r\n" in card else "\n"
    written = section(found, picture).replace("\n", ending)
    if begins:
        return card[: card.index(BEGIN)] + written.removesuffix(ending) + card[card.index(END) + len(END) :]
    apart = "" if not card or card.endswith(ending * 2) else ending if card.endswith(ending) else ending * 2
    return card + apart + written


def _texts(found: Findings, verdict: Mapping[str, Any]) -> str:
    """Say of which model and texts a verdict is, and how many of these texts the model decides rightly."""
    texts, settings = None if found.decided is None else len(found.decided), found.settings
    name = "".join(each for each in found.name if each.isprintable() and each != "`")
    of = "" if TRIAL in settings else f" of the test split of {settings['run']['data']}"
    read, needing = verdict["read"], verdict["texts"] or 0
    rest = "; of the others, the model is as sure without their words" if needing < read else ""
    made = " and ".join(versions_of(found, found.experiments))
    read_of = f"{read:,} texts{of} were" if texts is None else f"of {texts:,} texts{of}, {read:,} were"
    said = f"This is about `{name}`: {read_of} read in random order by {made}, and in {needing:,} of these words decide{rest}."
    return " ".join(filter(None, [said, _rightly(found)]))


def _rightly(found: Findings) -> str:
    """Say how many of the texts that were read the model decides rightly; nothing where this is no count of texts."""
    measured, texts, kind = found.table("E19"), found.instances, found.kind
    if measured is None or texts is None or not kind.right or kind.label not in texts:
        return ""
    read = texts[texts["id"].isin(measured["id"][measured["needs_words"].notna()])]
    right = (read[kind.label] == read[kind.predicted]).to_numpy(float)
    if not len(right):
        return ""
    low, high = share_interval(right)
    share = f"{percent(right.mean())} [{percent(low)}, {percent(high)}]"
    return f"The model decides {share} of the texts that were read as their labels say."


def _again(found: Findings) -> str:
    """Return the Python call that repeats a trial, or the command that repeats a run if the command is known."""
    settings = found.settings
    if TRIAL in settings:
        tried = settings[TRIAL]
        experiments = tried["experiments"] if any(tried["experiments"].values()) else tuple(tried["experiments"])
        options = {"experiments": experiments, "seed": settings["seed_everything"]}
        options |= {name: tried[name] for name in ("max_tokens", "until") if name in tried} | tried.get("asked", {})
        same = ["model", "texts", *tried.get("given", [])]
        if not all(name.isidentifier() for name in (*same, *options)):  # a stranger may have written it
            return "The file `config.yaml` of the trial has all its settings."
        told = [f"{name}={name}" for name in same[2:]] + [f"{name}={value!r}" for name, value in options.items()]
        call = ", ".join([*same[:2], *told])
        return f"{INSTALL} and call, with the same {_listed(same)}:\n\n```python\nattest.trial({call})\n```"
    typed = typed_of(found)
    if typed is None or not are_plain(typed) or identity_of(found).kind or not _gives_verdict(typed):
        return "The file `config.yaml` of the run has all its settings."
    words = shlex.join(word for word in typed if not word.startswith("FORCE="))
    return f"{INSTALL} and type:\n\n```bash\n{f'attest fit {words}'.strip()}\n```"


def _gives_verdict(typed: Sequence[str]) -> bool:
    """Return whether a command makes a run with a verdict; a later command may have added the verdict of this one."""
    try:
        experiments = AskedRun.of(typed).settings.get("experiments") or {}
    except AttestError:  # a file that the command names is gone
        return False
    return experiments.get("E19") is not None


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}".replace("_", " ")
