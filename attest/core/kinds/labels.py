"""Several labels of a text, each decided by itself."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attest.core.kinds.kind import OF_TEXTS, Kind, Scored, share_told

if TYPE_CHECKING:
    import pandas as pd


def of_labels(rows: "pd.DataFrame", _names: Sequence[str]) -> Scored:
    """Compute the interval of F1 over all decisions, over texts: those about one text may be alike."""
    from attest.core.measures.score_intervals import f1_interval

    each = rows.assign(both=rows["label"] & rows["predicted"], either=rows["label"] + rows["predicted"])
    of_text = each.groupby("text")[["both", "either"]].sum().to_numpy()
    return Scored(len(of_text), {"f1_micro": f1_interval(of_text[:, :1], of_text[:, 1:])})


def told(summary: Mapping[str, float], found: Scored | None) -> str:
    """Say how many labels, and how many texts, are decided rightly."""
    over = "all decisions" if found is None else f"all decisions about {found.texts:,} texts"
    return (
        f"The model decides each label by itself: F1 is {share_told('test/f1_micro', summary, found)} over {over}, and "
        f"{share_told('test/exact_match', summary, found)} of texts have all labels right and no other. No constant answer is "
        "held against it."
    )


def configured(config: Any) -> bool:
    """Return whether a configuration says that a text can have several labels."""
    return config.problem_type == "multi_label_classification"


LABELS = Kind(
    "labels", of_labels, told, score="f1_micro", asks=True, right=False, constant=False,
    head=OF_TEXTS, configured=configured, names=1, beside=("asked",),
)  # fmt: skip
