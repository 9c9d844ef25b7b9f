"""Whether the attention is right, where the corpus knows which tokens decide: generated corpora do."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attest.core.measures.numbers import percent
from attest.report.controls import Control
from attest.report.verdict import Line, share

RIGHT, WRONG = 0.9, 0.1
"""Share of its mass on the deciding tokens from which attention is right, and up to which it is wrong."""
IMPORTANCES = {"gradient_inputs": "gradient × input", "leave_one_out_inputs": "leave-one-out"}
"""Columns of E1 that are held against the same truth, and what a reader calls them."""
MEANS = "Share of texts in which the token ranked first is one that decides; tokens that tie share the place."


def sentence(instances: pd.DataFrame | None, importances: pd.DataFrame | None = None) -> str | None:
    """How often attention finds a deciding token, and how much of it lies on them; None where these are not known.

    Args:
        instances: one row a text; ``attention`` and ``rationale`` hold one value a token.
        importances: the table of E1, whose readings are named beside attention; None where E1 did not run.
    """
    if instances is None or not _known(instances):
        return None
    pairs = zip(instances["attention"], instances["rationale"], strict=True)
    mass = np.array([np.asarray(weights)[np.asarray(decides, dtype=bool)].sum() for weights, decides in pairs])
    right, wrong = percent((mass >= RIGHT).mean()), percent((mass <= WRONG).mean())
    part = _part(" (over the ", read_of(instances, importances), instances)
    first = f"{_first(lines(instances, importances))}{part and f'{part} that E1 read)'}"
    return (
        f"Here the tokens that decide the label are known. {first}. In the average text "
        f"{percent(mass.mean())} of the attention lies on them. Attention is right (at least {percent(RIGHT)} on them) in "
        f"{right} of texts and wrong (at most {percent(WRONG)}) in {wrong}."
    )


def lines(instances: pd.DataFrame | None, importances: pd.DataFrame | None = None) -> list[Line]:
    """Attention first, then each importance: how often the token ranked first decides; empty where that is not known.

    Args:
        instances: as in ``sentence``.
        importances: as in ``sentence``; its texts are found by ``id``. Where E1 read only some, all are compared on these.
    """
    if instances is None or not _known(instances):
        return []
    read = read_of(instances, importances)
    rankings = {"attention": read["attention"]} | _of_importances(read, importances)
    decides = [np.asarray(each, dtype=bool) for each in read["rationale"]]
    chance = float(np.mean([each.mean() for each in decides]))
    random = Control(f"random token{_part(', ', read, instances)}", percent(chance, 1), chance)
    hits = {name: pd.Series(_hits(weights, decides)) for name, weights in rankings.items()}
    return [share("truth/first", name, each, MEANS, random) for name, each in hits.items()]


def read_of(instances: pd.DataFrame, importances: pd.DataFrame | None) -> pd.DataFrame:
    """The texts that E1 read; all where it read none of them.

    Args:
        instances: one row a text.
        importances: the table of E1, which has fewer texts where it stopped early; None where it did not run.
    """
    if importances is None or "id" not in instances:
        return instances
    read = instances[instances["id"].isin(importances["id"])]
    return read if len(read) else instances


def _part(before: str, read: pd.DataFrame, instances: pd.DataFrame) -> str:
    """How many of how many texts, where these are not all."""
    return "" if len(read) == len(instances) else f"{before}{len(read):,} of {len(instances):,} texts"


def _known(instances: pd.DataFrame) -> bool:
    return {"attention", "rationale"} <= {*instances.columns}


def of_same_texts(instances: pd.DataFrame | None, importances: pd.DataFrame | None) -> pd.DataFrame | None:
    """The importances of the texts of a run, in their order; None where a text lacks them.

    Args:
        instances: one row a text, with ``id``.
        importances: one row a text, with ``id``, in any order; maybe of more texts.
    """
    if instances is None or importances is None or "id" not in instances or not importances["id"].is_unique:
        return None
    return None if {*instances["id"]} - {*importances["id"]} else importances.set_index("id").loc[instances["id"]]


def _of_importances(instances: pd.DataFrame, importances: pd.DataFrame | None) -> dict[str, Iterable[np.ndarray]]:
    rows = of_same_texts(instances, importances)
    return {} if rows is None else {name: rows[column] for column, name in IMPORTANCES.items() if column in rows}


def _hits(weights: Iterable[np.ndarray], decides: Iterable[np.ndarray]) -> np.ndarray:
    """Of each text, the share of deciding tokens among those that tie for the first place."""
    pairs = ((np.asarray(each, dtype=float), truth) for each, truth in zip(weights, decides, strict=True))
    return np.array(
        [truth[each == each.max()].mean() if len(each) and not np.isnan(each).any() else np.nan for each, truth in pairs]
    )


def _first(found: list[Line]) -> str:
    """The readings in a sentence, with chance."""
    attention, *others = ((line.name, percent(line.value or 0.0, 1)) for line in found)
    said = "".join(f"{share} for {name}, " for name, share in others)
    (random,) = found[0].controls
    ours = f"The top token is a deciding word in {attention[1]} of texts for attention"
    return f"{ours}, {said}and {random.text} for a random token"
