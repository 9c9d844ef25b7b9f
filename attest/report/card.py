"""The section of a model card that says what a run or a trial has found, as Markdown, and as metadata of the Hugging Face Hub.

Start at ``section`` and ``results``; ``put_into`` puts both into a card, whose other lines stay as they are.
"""

import re
import shlex
from collections.abc import Iterator
from itertools import islice
from typing import Any

import yaml

from attest.core.bounded_yaml import bounded
from attest.core.errors import AttestError
from attest.core.measures.numbers import interval
from attest.datamodules.sources import CATALOGUE
from attest.experiments.registry import EXPERIMENTS
from attest.report.answer import error
from attest.report.collection import PARTS
from attest.report.findings import Findings
from attest.report.gate import ACCURACY, SUBJECTS, VERDICT, verdict_of
from attest.report.run_tables import markdown_table
from attest.report.summary import label_of
from attest.runs.belonging import version_of
from attest.runs.choices import are_plain
from attest.runs.folder import TAGGED, TRIAL, YAML, RunFolder, made_from, read_table
from attest.runs.identity import identity_of, table_of, typed_of

BEGIN, END = "<!-- attest card: begin -->", "<!-- attest card: end -->"
"""Around the section, which is found and replaced by them."""
FRONT = re.compile(r"\A---(\r?\n)(.*?\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
"""The metadata at the top of a card: the end of its first line, and what is between the two lines of dashes."""
INDEX = "model-index"
"""The entry of the metadata that holds results of models."""
OURS = "attest/"
"""The beginning of the type of every metric of ours."""
INSTALL = "To do it again, `pip install attest-attention`"
TASKS = {True: ("token-classification", "Token Classification"), False: ("text-classification", "Text Classification")}
"""The Hub's type and name of a task, by whether the model decides each token."""


def section(folder: RunFolder) -> str:
    """Return the section about a run or a trial: verdict, error, numbers, what was run on what, and how to do it again."""
    verdict_of(folder)
    found = Findings(folder)
    verdicts = [found.summary[VERDICT][about] for about in SUBJECTS if about in found.summary[VERDICT]]
    said = [f"**{each['sentence']}** {error(each.get('wrong'))}".rstrip() for each in verdicts]
    rows = [(label_of(key), _number(found.summary, key, value)) for key, value in _numbers(found).items()]
    table = [markdown_table([("", "mean over texts [95 % interval]"), *rows])] if rows else []
    parts = ["## May its attention be read as an explanation?", *said, *table, _run(found), _again(found)]
    return "\n\n".join([BEGIN, *parts, END]) + "\n"


def results(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the results of a run or a trial as they stand below ``results`` in the Hub's ``model-index``."""
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    found = Findings(folder)
    data = found.settings["run"]["data"]
    source = CATALOGUE.get(data)
    kind, task = TASKS[folder.evidence(TAGGED).is_file()]
    about = {
        "task_type": kind,
        "task_name": task,
        "dataset_type": source.hub if source is not None and source.hub else data,
        "dataset_name": data,
        "dataset_split": None if TRIAL in found.settings else "test",
    }
    metrics = list(_answers(found.summary[VERDICT]))
    metrics += [(f"{OURS}{key}", label_of(key), value) for key, value in _numbers(found).items() if key != ACCURACY]
    listed = [EvalResult(**about, metric_type=type, metric_name=name, metric_value=value) for type, name, value in metrics]
    (entry,) = eval_results_to_model_index("", listed)
    return list(entry["results"])


def put_into(card: str, folder: RunFolder, model: str) -> str:
    """Return a model card with the section and the metadata of a run or a trial, in place of earlier ones of ours.

    Args:
        card: the text of the card; empty for a new one.
    """
    ending = "\r\n" if "\r\n" in card else "\n"
    return _with_metadata(_with_section(card, section(folder), ending), results(folder), model, ending)


def name_of(folder: RunFolder) -> str:
    """Return the name of the model of a run or a trial for the metadata of its card."""
    settings = Findings(folder).settings
    return settings["run"]["model"] if TRIAL in settings else identity_of(folder).full_name


def _with_section(card: str, written: str, ending: str) -> str:
    begins, ends = card.count(BEGIN), card.count(END)
    if (begins, ends) not in ((0, 0), (1, 1)) or card.find(BEGIN) > card.find(END):
        raise AttestError(
            f"the card has {begins} lines {BEGIN} and {ends} lines {END}; expected one of each around the section, or none. "
            "Remove them and what is between them."
        )
    written = written.replace("\n", ending)
    if begins:
        return card[: card.index(BEGIN)] + written.removesuffix(ending) + card[card.index(END) + len(END) :]
    apart = "" if not card or card.endswith(ending * 2) else ending if card.endswith(ending) else ending * 2
    return card + apart + written


def _with_metadata(card: str, ours: list[dict[str, Any]], model: str, ending: str) -> str:
    """Return a card whose metadata hold these results; all lines but those of other results stay as they are."""
    front = FRONT.match(card)
    known = "" if front is None else front[2]
    start, end, entries = _index_in(known)
    entries = entries or [{"name": model, "results": []}]
    entries[0]["results"] = [each for each in entries[0].get("results") or [] if not _is_ours(each)] + ours
    written = yaml.safe_dump({INDEX: entries}, sort_keys=False, allow_unicode=True).replace("\n", ending)
    metadata = known[:start] + (written.removesuffix(ending) if start < end else written) + known[end:]
    return f"---{ending}{metadata}---{ending}" + (ending + card if front is None else card[front.end() :])


def _index_in(metadata: str) -> tuple[int, int, list[dict[str, Any]]]:
    """Return where the results of models begin and end in metadata, and what they are; the end of it if nowhere."""
    try:
        read = yaml.load(bounded(metadata), YAML) or {}
        root = yaml.compose(metadata, yaml.SafeLoader)
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())[:200]
        raise AttestError(f"the metadata at the top of the card are no YAML ({said}); expected YAML. Mend them.") from error
    entries = read.get(INDEX, []) if isinstance(read, dict) else None
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise AttestError(
            f"the metadata at the top of the card are no entries by name with a list as {INDEX}; expected those of the Hub. "
            "Mend them."
        )
    for key, value in root.value if root is not None else ():
        if key.value == INDEX:
            return key.start_mark.index, _end_of_line(metadata, _end_of(value)), entries
    return len(metadata), len(metadata), []


def _end_of_line(text: str, place: int) -> int:
    """Return where the line at a place ends, before its own end of line."""
    end = text.index("\n", place)
    return end - (text[end - 1] == "\r")


def _end_of(node: Any) -> int:
    """Return where the last scalar of a node ends; comments in the lines below it are no part of it."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return int(node.end_mark.index)


def _is_ours(result: dict[str, Any]) -> bool:
    metrics = result.get("metrics") or []
    return bool(metrics) and all(str(metric.get("type")).startswith(OURS) for metric in metrics)


def _answers(verdicts: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield type, name and value of the metrics that hold the verdict."""
    for about in SUBJECTS:
        verdict = verdicts.get(about)
        if verdict:
            yield f"{OURS}{about}", f"May attention be read as an explanation: {about}", verdict["answer"]
        if verdict and verdict.get("share") is not None:
            name = f"Share of texts in which attention points at the {about} that decide"
            yield f"{OURS}{about}/share", name, verdict["share"]


def _numbers(found: Findings) -> dict[str, float]:
    """Return accuracy and the numbers that carry the verdict, by key; if it names none, the first of each experiment."""
    summary = found.summary
    carrying = {key: value for each in summary[VERDICT].values() for key, value in (each.get("because") or {}).items()}
    for spec in () if carrying else EXPERIMENTS.values():
        means = {f"{spec.id}/{measure.column}": summary.get(f"{spec.id}/{measure.column}/mean") for measure in spec.measures}
        carrying |= dict(islice(((key, mean) for key, mean in means.items() if mean is not None), 1))
    score = summary.get(ACCURACY)
    return ({} if score is None else {ACCURACY: score}) | carrying


def _number(summary: dict[str, Any], key: str, value: float) -> str:
    low, high = (summary.get(f"{key}/{part}") for part in PARTS[1:])
    return interval(value, low, high)


def _run(found: Findings) -> str:
    path, settings = table_of(found.folder), found.settings
    texts = 0 if path is None else len(read_table(path, ["id"]))
    made = sorted({version_of(made_from(found.folder.evidence(name))) for name in found.experiments})
    asked = ", ".join(name for name in EXPERIMENTS if name in found.experiments)
    of = "" if TRIAL in settings else f" of the test split of {settings['run']['data']}"
    return f"Experiments {asked} on {texts:,} texts{of}, by {' and '.join(made)}."


def _again(found: Findings) -> str:
    """Return how to do the same again: a call for a trial, the command for a run if it is known."""
    settings = found.settings
    if TRIAL in settings:
        tried = settings[TRIAL]
        given = tried["experiments"] if any(tried["experiments"].values()) else tuple(tried["experiments"])
        options = {"experiments": given, "seed": settings["seed_everything"]}
        options |= {name: tried[name] for name in ("max_tokens", "until") if name in tried}
        call = ", ".join(["model", "texts", *(f"{name}={value!r}" for name, value in options.items())])
        return f"{INSTALL} and call, with the same model and texts:\n\n```python\nattest.trial({call})\n```"
    typed = typed_of(found.folder)
    if typed is None or not are_plain(typed) or identity_of(found.folder).kind:
        return "The file `config.yaml` of the run has all its settings."
    words = shlex.join(word for word in typed if not word.startswith("FORCE="))
    return f"{INSTALL} and type:\n\n```bash\nattest fit {words}\n```"
