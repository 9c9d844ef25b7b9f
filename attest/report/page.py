"""``report.html``: one self-contained page that opens from disk."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from attest import __version__
from attest.report.evidence_illustrations import evidence_illustrations
from attest.report.figures import learning_curves, permutation_violins, to_svg
from attest.report.illustration import Illustration
from attest.report.layer_illustrations import layer_illustrations
from attest.report.verdict import verdict
from attest.run_folder import INSTANCES, RunFolder, read_json, write_text

TEXTS_SHOWN = 40


def write_report(folder: RunFolder) -> None:
    """Write the report of one run from the files in its folder."""
    settings = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    summary = read_json(folder.summary)
    instances = _table(folder, INSTANCES)
    class_names = _class_names(instances)
    page = _template().render(
        name=f"{settings['run']['data']} / {folder.path.parent.name} / {folder.path.name}",
        version=__version__,
        verdict=verdict(folder, settings, summary, class_names),
        epochs=len(read_json(folder.curves)),
        best_epoch=int(summary["best/epoch"]) + 1,
        figures=[(figure, to_svg(figure.drawing)) for figure in illustrations(folder)],
        texts=[] if instances is None else heat(instances, class_names, TEXTS_SHOWN),
        config=yaml.safe_dump(settings, sort_keys=False),
        timing=read_json(folder.timing),
    )
    write_text(folder.report, page)


def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("attest.report"), autoescape=select_autoescape(["html"]), undefined=StrictUndefined
    )
    return environment.get_template("report.html")


def _table(folder: RunFolder, identity: str) -> pd.DataFrame | None:
    path = folder.evidence(identity)
    return pd.read_parquet(path) if path.is_file() else None


def _class_names(instances: pd.DataFrame | None) -> list[str]:
    columns = [] if instances is None else instances.filter(regex="^probability_").columns
    return [name.removeprefix("probability_") for name in columns] or ["0", "1"]


def illustrations(folder: RunFolder) -> list[Illustration]:
    """Every figure that the files in a run folder allow, in the order of the report."""
    class_names = _class_names(_table(folder, INSTANCES))
    figures = [
        Illustration(
            "curves/learning",
            "Learning curves",
            "Loss and validation scores by epoch; the best epoch by validation is the one on trial.",
            learning_curves(read_json(folder.curves)),
        )
    ]
    if (rows := _table(folder, "E2")) is not None and "predicted" in rows:
        figures.append(
            Illustration(
                "E2/permutation_by_max_attention",
                "E2  Permuting attention",
                "Median change of the prediction over random permutations of the attention, by the largest weight of "
                "the text and by predicted class (Jain & Wallace 2019, Fig. 3). Mass near 0 where the largest weight is high "
                "means: attention was concentrated, and where it lay did not matter.",
                permutation_violins(rows, class_names),
            )
        )
    tables = {identity: _table(folder, identity) for identity in ("E1", "E3", "E10", "E11", "E12")}
    figures += evidence_illustrations({name: rows for name, rows in tables.items() if rows is not None}, class_names)
    return [*figures, *layer_illustrations(folder)]


def heat(instances: pd.DataFrame, class_names: Sequence[str], count: int) -> list[dict[str, Any]]:
    """Texts with their attention as heat: evenly spread over the confidence of the prediction.

    Args:
        instances: ``id``, ``label``, ``predicted``, ``probability_<class name>``, ``tokens``, ``attention`` and, where known,
            ``rationale`` of each text.
        class_names: in class order.
        count: how many at the most.
    """
    ordered = instances.assign(confidence=instances.filter(regex="^probability_").max(axis=1)).sort_values("confidence")
    chosen = ordered.iloc[:: max(1, -(-len(ordered) // count))]
    return [_heat_of(row, class_names) for row in chosen.to_dict("records")]


def _heat_of(row: dict[str, Any], class_names: Sequence[str]) -> dict[str, Any]:
    attention = row["attention"]
    decides = row.get("rationale", [False] * len(attention))
    words = zip(row["tokens"], attention, attention / attention.max(), decides, strict=True)
    return {
        "id": row["id"],
        "label": class_names[row["label"]],
        "predicted": class_names[row["predicted"]],
        "confidence": row["confidence"],
        "words": [{"text": t, "weight": float(w), "heat": float(h), "decides": bool(d)} for t, w, h, d in words],
    }
