"""Write ``report.html``, a self-contained page that opens from disk."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from attest.core.measures.numbers import percent
from attest.datamodules.corpus import told
from attest.report.answer import STATES
from attest.report.controls import Baseline, warnings
from attest.report.figures import Illustration, save_figures
from attest.report.findings import Findings
from attest.report.illustrations import illustrations
from attest.report.pictures import strip_file
from attest.report.sections import sections, sentences_shown, texts_shown
from attest.report.shown import first_screen, next_command
from attest.report.templating import render
from attest.runs.belonging import mixed_versions
from attest.runs.folder import TRIAL, write_text


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


def write_report(found: Findings, figures: Sequence[Illustration] | None = None, alone: Path | None = None) -> None:
    """Write the report of one run and its figures from the contents of its folder.

    Args:
        figures: the result of ``illustrations``; None to compute it here.
        alone: the path of a page that is written without figure files; None to write page and figures into the run folder.
    """
    folder, settings, summary = found.folder, found.settings, found.summary
    drawn = illustrations(found) if figures is None else figures
    if alone is None:
        save_figures(folder, drawn, strip_file(found))
    page = {
        "found": found,
        "name": found.name,
        "path": str(folder.path),
        "trial": TRIAL in settings,
        "states": STATES,
        "screen": first_screen(found),
        "accuracy": None if found.held is None else _accuracy(found.held),
        "command": None if alone is not None else shlex.join(next_command(str(folder.path), found.example)),
        "epochs": len(found.curves) or None,
        "best_epoch": int(summary["best/epoch"]) + 1 if "best/epoch" in summary else None,
        "stopped": _stopped_early(found),
        "warnings": [] if found.held is None else warnings(found.held),
        "masked": bool(((settings.get("model") or {}).get("init_args") or {}).get("masking")),
        "remarks": [*_remarks(found), *filter(None, [mixed_versions(found)])],
        "instances": None if (texts := texts_shown(found)) is None else found.kind.counted(texts),
        "tagged": None if (sentences := sentences_shown(found)) is None else len(sentences),
        "sections": sections(found, drawn, beside=alone is None),
    }
    write_text(folder.report if alone is None else alone, render("report.html", **page))


def _accuracy(held: Baseline) -> str:
    return f"{held.accuracy} on {held.of} (always answering “{held.answer}”: {percent(held.majority.share)})"


def _remarks(found: Findings) -> list[str]:
    if not (record := found.data):
        return list((found.settings.get(TRIAL) or {}).get("remarks", ()))
    cut = ((found.settings.get("data") or {}).get("init_args") or {}).get("texts")
    spaced = f"texts={cut}: rows at equal distances, as this run was made; runs made now take a random sample."
    copies = told(record.get("copies", {}), record.get("counts", {}), found.kind.units)
    return copies + [spaced] * bool(cut and "sampling" not in record)
