"""``report.html``: one self-contained page that opens from disk."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from attest import __version__
from attest.report.figures import learning_curves, permutation_violins, tau_histograms, to_svg
from attest.report.verdict import verdict
from attest.run_folder import RunFolder, read_json, write_text

TEXTS_SHOWN = 40


def write_report(folder: RunFolder) -> None:
    """Write the report of one run from the files in its folder."""
    settings = yaml.safe_load(folder.config.read_text(encoding="utf-8"))
    summary = read_json(folder.summary)
    instances = _table(folder, "instances")
    page = _template().render(
        name=f"{settings['run']['data']} / {folder.path.parent.name} / {folder.path.name}",
        version=__version__,
        verdict=verdict(folder, settings, summary),
        epochs=len(read_json(folder.curves)),
        best_epoch=int(summary["best/epoch"]) + 1,
        figures=_figures(folder, _class_names(instances)),
        texts=[] if instances is None else heat(instances, TEXTS_SHOWN),
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
    columns = [] if instances is None else [name for name in instances.columns if name.startswith("probability_")]
    return [name.removeprefix("probability_") for name in columns] or ["0", "1"]


def _figures(folder: RunFolder, class_names: Sequence[str]) -> list[dict[str, str]]:
    figures = [
        {
            "title": "Learning curves",
            "caption": "Loss and validation scores by epoch; the best epoch by validation is the one on trial.",
            "svg": to_svg(learning_curves(read_json(folder.curves))),
        }
    ]
    if (rows := _table(folder, "E2")) is not None:
        figures.append(
            {
                "title": "E2  Permuting attention",
                "caption": "Median change of the prediction over random permutations of the attention, by the largest attention "
                "weight of the text and by predicted class (Jain & Wallace 2019, Fig. 3). Mass near 0 where the largest weight "
                "is high means: attention was concentrated, and where it lay did not matter.",
                "svg": to_svg(permutation_violins(rows, class_names)),
            }
        )
    if (rows := _table(folder, "E1")) is not None:
        figures.append(
            {
                "title": "E1  Attention and gradients",
                "caption": "Kendall's τ-b of attention and gradient × input over the test texts, by predicted class (Jain & Wallace "
                "2019, Fig. 2). Dashed: the mean.",
                "svg": to_svg(tau_histograms(rows, "tau_gradient_inputs", class_names)),
            }
        )
    return figures


def heat(instances: pd.DataFrame, count: int) -> list[dict[str, Any]]:
    """Texts with their attention as heat: evenly spread over the confidence of the prediction.

    Args:
        instances: ``id``, ``label``, ``predicted``, ``probability_<class>``, ``tokens``, ``attention`` and, where known,
            ``rationale`` of each text.
        count: how many at the most.
    """
    confidence = instances.filter(like="probability_").max(axis=1)
    order = confidence.sort_values(kind="stable").index
    chosen = instances.loc[order[:: max(1, len(order) // count)][:count]]
    return [_heat_of(row, confidence[row["id"] == instances["id"]].iloc[0]) for _, row in chosen.iterrows()]


def _heat_of(row: pd.Series, confidence: float) -> dict[str, Any]:
    attention = row["attention"]
    rationale = row.get("rationale")
    decides = [False] * len(attention) if rationale is None else [bool(bit) for bit in rationale]
    words = zip(row["tokens"], attention, attention / attention.max(), decides, strict=True)
    return {
        "id": int(row["id"]),
        "label": int(row["label"]),
        "predicted": int(row["predicted"]),
        "confidence": float(confidence),
        "words": [{"text": t, "weight": float(w), "heat": float(h), "decides": d} for t, w, h, d in words],
    }
