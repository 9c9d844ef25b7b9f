"""``report.html``: one self-contained page that opens from disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from attest.datamodules.overlap import told
from attest.datamodules.sampling import SPACED
from attest.experiments.registry import EXPERIMENTS
from attest.report import first_tokens, readings
from attest.report.baseline import warnings
from attest.report.class_names import drawable, legend
from attest.report.comparison_illustrations import comparison_illustrations
from attest.report.controls import NAMES
from attest.report.evidence_illustrations import evidence_illustrations
from attest.report.explanations import explanations, joined
from attest.report.findings import Findings, pools
from attest.report.illustration import Illustration, drawn_by
from attest.report.instance_table import as_script_data, evenly, instance_table, question
from attest.report.layer_illustrations import layer_illustrations
from attest.report.saved_figures import as_svg, embedded, save_figures
from attest.report.sentence_table import sentence_table
from attest.report.sentences import shown_sentences, tag_names, tagged_sentences
from attest.report.templating import render
from attest.runs.belonging import mixed_versions
from attest.runs.folder import INSTANCES, TAGGED, TRIAL, RunFolder, read_json, read_table, write_text
from attest.runs.identity import identity_of

TOKENS_SHOWN = 3000
"""Texts that stand open in the page hold about so many tokens together …"""
TEXTS_SHOWN = 12
"""… and are no more than this; any other can be opened from the table."""


def write_report(folder: RunFolder, figures: Sequence[Illustration] | None = None, alone: Path | None = None) -> None:
    """Write the report of one run, and its figures as files, from what is in its folder.

    Args:
        folder: of the run.
        figures: what ``illustrations`` returns, if that was asked already.
        alone: where the page goes by itself, its figures in it and not beside it; None for the run's own folder.
    """
    found = Findings(folder)
    settings, summary = found.settings, found.summary
    timing = read_json(folder.timing) if folder.timing.is_file() else {}
    drawn = illustrations(folder) if figures is None else figures
    tables = {name: read_table(folder.evidence(name)) for name in found.experiments if name != TAGGED}
    tagged = tagged_sentences(folder.evidence(TAGGED))
    page = {
        "name": shown_name(folder, settings),
        "path": str(folder.path),
        "epochs": len(read_json(folder.curves)) if folder.curves.is_file() else None,
        "best_epoch": int(summary["best/epoch"]) + 1 if "best/epoch" in summary else None,
        "verdict": found.verdict,
        "answers": found.answers,
        "truth": found.truth,
        "warnings": [] if found.held is None else warnings(found.held),
        "pictures": found.pictures,
        "judged": found.judged,
        "first_tokens": found.first_tokens,
        "first_question": first_tokens.QUESTION,
        "not_run": {kind: NAMES[kind] for kind in found.controls.not_run},
        "commands": found.controls.commands,
        "masked": _was_masked(settings),
        "remarks": [*_remarks(folder, settings), *filter(None, [mixed_versions(folder)])],
        "readings": _readings(found, timing),
        "sentences": [] if tagged is None else shown_sentences(folder.evidence(TAGGED), tagged),
        "tagged": None if tagged is None else len(tagged),
        "figures": embedded(save_figures(folder, drawn) if alone is None else as_svg(drawn)),
        "drawn_names": legend(found.class_names),
        "beside": alone is None,
        "config": yaml.safe_dump(settings, sort_keys=False),
        "timing": timing,
        "longest": max(timing.get("seconds", {}).values(), default=1.0) or 1.0,
    }
    texts = (
        _sentences(folder, tagged, tables)
        if tagged is not None
        else _texts(tables, found.class_names, "Attention" if pools(settings) else "Attention rollout")
    )
    write_text(
        folder.report if alone is None else alone,
        render("report.html", **page, **texts),
    )


def shown_name(folder: RunFolder, settings: Mapping[str, Any]) -> str:
    """What the page is about: a run as people say it, or the class of a model that was trained elsewhere."""
    if TRIAL in settings:
        return f"{settings[TRIAL]['model'].rpartition('.')[2]} on trial"
    return str(identity_of(folder))


def _was_masked(settings: Mapping[str, Any]) -> bool:
    """Whether the model was trained on texts with masked tokens."""
    return bool(((settings.get("model") or {}).get("init_args") or {}).get("masking"))


def _remarks(folder: RunFolder, settings: Mapping[str, Any]) -> list[str]:
    """What is to be known of the texts: copies of others among them, and a cut of the kind that is no longer made."""
    if not folder.data.is_file():
        return []
    record = read_json(folder.data)
    cut = ((settings.get("data") or {}).get("init_args") or {}).get("texts")
    old = [SPACED.format(texts=cut)] if cut and record.get("sampling", "spaced") == "spaced" else []
    return told(record.get("copies", {}), record.get("counts", {})) + old


def _readings(found: Findings, timing: Mapping[str, Any]) -> readings.Table | None:
    """All readings of the model side by side, where E15 was asked."""
    rows = found.table("E15")
    return None if rows is None else readings.of_run(rows, timing.get("seconds_a_text"))


def _sentences(folder: RunFolder, tagged: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """The part of the page that is about all sentences of a tagger."""
    table = sentence_table(tagged, tables, tag_names(folder.evidence(TAGGED)))
    return {"texts": [], "instances": None, "data": as_script_data(table), "empty": table["empty"]}


def _texts(tables: Mapping[str, pd.DataFrame], class_names: Sequence[str], attention_name: str) -> dict[str, Any]:
    """The part of the page that is about single texts; empty where attention was not over the tokens of a text."""
    instances = tables.get(INSTANCES)
    if instances is None or "attention" not in instances:
        return {"texts": [], "instances": None, "data": None}
    table = instance_table(tables, class_names, attention_name)
    shown = {"texts": shown_texts(tables, class_names, attention_name), "shown_tokens": f"{TOKENS_SHOWN:,}"}
    return {"instances": len(instances), "data": as_script_data(table), "empty": table["empty"]} | shown


def shown_texts(
    tables: Mapping[str, pd.DataFrame], class_names: Sequence[str], attention_name: str = "Attention"
) -> list[dict[str, Any]]:
    """Texts with all their explanations, evenly spread over the confidence of the prediction.

    Args:
        tables: one row an instance, by experiment; ``instances`` among them.
        class_names: in class order.
        attention_name: as in ``joined``.
    """
    rows = joined(tables, attention_name)
    rows = rows.assign(confidence=rows.filter(regex="^probability_").max(axis=1)).sort_values("confidence")
    count = min(TEXTS_SHOWN, max(4, int(TOKENS_SHOWN / rows["tokens"].map(len).mean())))
    return [_shown(row, class_names) for row in evenly(rows, count).to_dict("records")]


def _shown(row: dict[str, Any], class_names: Sequence[str]) -> dict[str, Any]:
    rationale = row.get("rationale")
    return {
        "id": row["id"],
        "title": f"text {row['id']}",
        "label": class_names[row["label"]] if "label" in row else None,
        "predicted": class_names[row["predicted"]],
        "confidence": row["confidence"],
        "question": question(row),
        "tokens": list(row["tokens"]),
        "decides": None if rationale is None else list(rationale),
        "explanations": explanations(row),
    }


def illustrations(folder: RunFolder) -> list[Illustration]:
    """Every figure that the files in a run folder allow, in the order of the report."""
    found = Findings(folder)
    class_names = drawable(found.class_names)
    figures = []
    if folder.curves.is_file():
        figures.append(
            Illustration(
                "curves/learning",
                "Learning curves",
                "Loss and validation scores by epoch; the best epoch by validation is the one on trial.",
                drawn_by("figures.learning_curves", read_json(folder.curves)),
            )
        )
    tables = {experiment: found.table(experiment) for experiment in EXPERIMENTS}
    figures += evidence_illustrations({name: rows for name, rows in tables.items() if rows is not None}, class_names)
    figures += comparison_illustrations(found.table("E7"), class_names)
    return [*figures, *layer_illustrations(found.folder)]
