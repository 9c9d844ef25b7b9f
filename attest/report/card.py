"""Write the section of a model card that says what a run or a trial has found, as Markdown.

Start at ``section``; ``put_into`` puts it into a card, whose other lines stay as they are.
"""

import shlex
from collections.abc import Sequence

from attest.core.errors import AttestError
from attest.core.measures.numbers import interval
from attest.experiments.registry import EXPERIMENTS, measures
from attest.report.collection import PARTS, leading
from attest.report.findings import Findings
from attest.report.gate import ACCURACY, SUBJECTS, VERDICT, verdict_of
from attest.report.run_tables import markdown_table
from attest.report.summary import label_of
from attest.runs.belonging import versions_of
from attest.runs.choices import are_plain
from attest.runs.folder import TRIAL, RunFolder, read_table
from attest.runs.identity import identity_of, table_of, typed_of

BEGIN, END = "<!-- attest card: begin -->", "<!-- attest card: end -->"
"""Around the section, which is found and replaced by them."""
INSTALL = "To do it again, `pip install attest-attention`"


def section(folder: RunFolder) -> str:
    """Return the section of a model card that gives the verdict on a run or a trial."""
    verdict_of(folder)
    found = Findings(folder)
    verdicts = [found.summary[VERDICT][about] for about in SUBJECTS if about in found.summary[VERDICT]]
    said = [" ".join(filter(None, [f"**{each['sentence']}**", each.get("advice")])) for each in verdicts]
    rows = [("", "mean over texts [95 % interval]")]
    for key, mean in _numbers(found).items():
        low, high = (found.summary.get(f"{key}/{end}") for end in PARTS[1:])
        rows.append((label_of(key), interval(mean, low, high)))
    table = [markdown_table(rows)] if len(rows) > 1 else []
    parts = ["## May its attention be read as an explanation?", *said, *table, _run(found), _again(found)]
    return "\n\n".join([BEGIN, *parts, END]) + "\n"


def put_into(card: str, folder: RunFolder) -> str:
    """Add the section about a run or a trial to a model card, or replace an earlier one; return the card."""
    begins, ends = card.count(BEGIN), card.count(END)
    if (begins, ends) not in ((0, 0), (1, 1)) or card.find(BEGIN) > card.find(END):
        raise AttestError(
            f"in the model card, the lines {BEGIN} (found: {begins}) and {END} (found: {ends}) do not enclose one section; "
            "expected each line once, in this order, or no such line. Remove these lines and the text between them."
        )
    ending = "\r\n" if "\r\n" in card else "\n"
    written = section(folder).replace("\n", ending)
    if begins:
        return card[: card.index(BEGIN)] + written.removesuffix(ending) + card[card.index(END) + len(END) :]
    apart = "" if not card or card.endswith(ending * 2) else ending if card.endswith(ending) else ending * 2
    return card + apart + written


def _numbers(found: Findings) -> dict[str, float]:
    summary = found.summary
    means = {key: mean for key in measures() if (mean := summary.get(f"{key}/mean")) is not None}
    shown = [key for key in means if key.startswith("E19/")] or leading([*means], of_each=1)
    carrying = {key: means[key] for key in shown}
    score = summary.get(ACCURACY)
    return ({} if score is None else {ACCURACY: score}) | carrying


def _run(found: Findings) -> str:
    path, settings = table_of(found.folder), found.settings
    texts = 0 if path is None else len(read_table(path, ["id"]))
    made = versions_of(found.folder, found.experiments)
    asked = ", ".join(name for name in EXPERIMENTS if name in found.experiments)
    of = "" if TRIAL in settings else f" of the test split of {settings['run']['data']}"
    return f"Experiments {asked} on {texts:,} texts{of}, by {' and '.join(made)}."


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
    typed = typed_of(found.folder)
    if typed is None or not are_plain(typed) or identity_of(found.folder).kind:
        return "The file `config.yaml` of the run has all its settings."
    words = shlex.join(word for word in typed if not word.startswith("FORCE="))
    return f"{INSTALL} and type:\n\n```bash\nattest fit {words}\n```"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}".replace("_", " ")
