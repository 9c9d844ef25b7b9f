"""The head of the page of a run: its answer, the texts that show it, and what the page is about.

A part is a function, which returns what its template in ``templates/head`` needs, and an entry of ``HEAD``.
"""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from attest.core.measures.numbers import percent
from attest.datamodules.corpus import told
from attest.report.answer import STATES
from attest.report.controls import Baseline, warnings
from attest.report.findings import Findings
from attest.report.sections import Asked, sentences_shown, texts_shown
from attest.report.shown import next_command
from attest.report.templating import render
from attest.runs.belonging import mixed_versions
from attest.runs.folder import TRIAL


def head(asked: Asked) -> dict[str, Markup]:
    """Return the parts of the head as HTML, by their names."""
    return {name: Markup(render(f"head/{name}.html", **part(asked))) for name, part in HEAD.items()}


def _answer(asked: Asked) -> dict[str, Any]:
    found = asked.found
    return {
        "found": found,
        "name": found.name,
        "path": str(found.folder.path),
        "trial": TRIAL in found.settings,
        "screen": asked.screen,
        "accuracy": None if found.held is None else _accuracy(found.held),
        "warnings": [] if found.held is None else warnings(found.held),
    }


def _accuracy(held: Baseline) -> str:
    return f"{held.accuracy} on {held.of} (always answering “{held.answer}”: {percent(held.majority.share)})"


def _shown(asked: Asked) -> dict[str, Any]:
    command = shlex.join(next_command(str(asked.found.folder.path), asked.found.example)) if asked.beside else None
    return {"screen": asked.screen, "command": command}


def _about(asked: Asked) -> dict[str, Any]:
    found, summary = asked.found, asked.found.summary
    return {
        "found": found,
        "states": STATES,
        "instances": None if (texts := texts_shown(found)) is None else found.kind.counted(texts),
        "tagged": None if (sentences := sentences_shown(found)) is None else len(sentences),
        "epochs": len(found.curves) or None,
        "best_epoch": int(summary["best/epoch"]) + 1 if "best/epoch" in summary else None,
        "stopped": _stopped_early(found),
        "masked": bool(((found.settings.get("model") or {}).get("init_args") or {}).get("masking")),
        "remarks": [*_remarks(found), *filter(None, [mixed_versions(found)])],
    }


def _stopped_early(found: Findings) -> dict[str, int] | None:
    """Return after how many epochs without a better one training stopped, and the most that it might take; None if not so.

    Where training stopped because its last epoch reached a ``stopping_threshold``, the number of such epochs is 0.
    """
    if "best/epoch" not in found.summary or not found.curves:
        return None
    run, trainer = found.settings.get("run") or {}, found.settings.get("trainer") or {}
    callbacks = trainer.get("callbacks") or []
    options = [each.get("init_args") or {} for each in (callbacks if isinstance(callbacks, list) else [callbacks])]
    theirs = [each.get("patience") for each in options if each.get("monitor") == run.get("monitor")]
    patience = next((each for each in (run.get("patience"), *theirs) if each is not None), None)
    epochs, most = len(found.curves), trainer.get("max_epochs") or -1
    waited = epochs - 1 - int(found.summary["best/epoch"])
    goals = [each for each in options if each.get("mode") == "max" and each.get("stopping_threshold") is not None]
    if 0 < epochs < most and any(found.curves[-1].get(each["monitor"], 0) > each["stopping_threshold"] for each in goals):
        return {"patience": 0, "most": most}
    if patience is None or waited < max(patience, 1) or 0 < most <= epochs:
        return None
    return {"patience": waited, "most": max(most, 0)}


def _remarks(found: Findings) -> list[str]:
    if not (record := found.data):
        return list((found.settings.get(TRIAL) or {}).get("remarks", ()))
    cut = ((found.settings.get("data") or {}).get("init_args") or {}).get("texts")
    spaced = f"texts={cut}: rows at equal distances, as this run was made; runs made now take a random sample."
    copies = told(record.get("copies", {}), record.get("counts", {}), found.kind.units)
    return copies + [spaced] * bool(cut and "sampling" not in record)


HEAD: Mapping[str, Callable[[Asked], dict[str, Any]]] = {"answer": _answer, "shown": _shown, "about": _about}
"""The functions that say what the parts of the head are made of, by the name of their template."""
