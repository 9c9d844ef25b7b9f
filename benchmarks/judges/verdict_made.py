"""Try the population of networks, make the rule of the verdict on it, and measure its errors."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any, TypeVar

import pandas as pd
import torch

from attest.experiments.verdict import IN_PART, NO, YES, Rule
from benchmarks.judges.fitting import as_for_a_stranger, errors, networks_of, rules_of
from benchmarks.judges.training import Asked, rows_of_trained
from benchmarks.judges.witnesses import about_of, recipes, rows_of_recipe

T = TypeVar("T")
PLACES = 4
"""Decimals of the evidence that are kept, so that the table of all texts is small; the rule is made from what is kept."""
KINDS_INSIDE = ("layered", "decoder", "transformer")
"""Kinds of networks whose attention is inside layers alone; the trained decoder has the kind ``decoder``, too."""
STRANGERS = ("mechanism", "value", "look", "kind")
"""What is left out, as a network of a stranger would be."""


def trained_asked(stated: Mapping[str, Any]) -> list[Asked]:
    """Return every network that must be trained: its network, projection, rule, seed and guide."""
    return [
        (network, projection, rule, seed, guide)
        for rules, networks, projections, seeds, guides in stated["trained"]["trained"]
        for rule, seed, network, projection, guide in product(rules, seeds, networks, projections, guides)
    ]


def constructed_rows(stated: Mapping[str, Any], processes: int) -> Iterator[pd.DataFrame | str]:
    """Yield the rows of each constructed network, or why it does not count."""
    yield from _shared(partial(rows_of_recipe, stated=stated), list(enumerate(recipes(stated))), processes)


def trained_rows(stated: Mapping[str, Any], trained: Mapping[str, Any], processes: int) -> Iterator[pd.DataFrame | str]:
    """Yield the rows of each trained network, or why it does not count."""
    yield from _shared(partial(rows_of_trained, stated=trained, population=stated), trained_asked(stated), processes)


def _shared(task: Callable[[T], pd.DataFrame | str], asked: list[T], processes: int) -> Iterator[pd.DataFrame | str]:
    torch.set_num_threads(1)
    with ProcessPoolExecutor(processes, get_context("fork")) as shared:
        yield from shared.map(task, asked)


def joined(parts: list[pd.DataFrame | str], source: str) -> tuple[pd.DataFrame, Counter[str]]:
    """Return the rows of all networks that count, and how many do not, by reason."""
    refused = Counter(part for part in parts if isinstance(part, str))
    rows = pd.concat([pd.DataFrame(), *(part for part in parts if not isinstance(part, str))], ignore_index=True).round(PLACES)
    return (rows.assign(source=source, network=source + "/" + rows.network.astype(str)) if len(rows) else rows), refused


def made(rows: pd.DataFrame, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules, and their errors on mechanisms that were used for nothing else.

    Returns:
        As ``verdict.json`` holds it: ``stated``, ``endpoints``, ``rules``, ``errors`` by what they are about, side and group,
        and ``said``, by what they are about and by family, the answers that are given: those that met their goal.
    """
    inside = rows.kind.isin(KINDS_INSIDE)
    rules = {
        "tokens": rules_of(rows, "tokens", "tokens", stated),
        "states": rules_of(rows[~inside], "states", "states", stated),
        "layers": rules_of(rows[inside], "states", "layers", stated),
    }
    found: dict[str, Any] = {}
    for about in ("tokens", "states"):
        networks = networks_about(rows, about, rules)
        found[about] = {
            side: {name: errors(some, stated) for name, some in groups(networks[networks.side == side]) if len(some)}
            for side in ("fresh", "error")
        }
    goals = stated["endpoints"]
    plain = {
        of: {names: rule._asdict() | _held_to_account(rows, of, rule, stated) for names, rule in each.items()}
        for of, each in rules.items()
    }
    said = {about: {name: _said(found[about]["fresh"][name], goals) for name in ("pooled", "inside")} for about in found}
    return {
        "stated": str(stated["stated"]),
        "endpoints": goals,
        "rules": plain,
        "errors": found,
        "said": said,
    }


def _held_to_account(rows: pd.DataFrame, of: str, rule: Rule, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors of a rule on fresh mechanisms, and the answers of it that are given, by family."""
    right = "right_tokens" if of == "tokens" else "right_states"
    fresh = rows[rows.side == "fresh"].dropna(subset=right)
    inside = fresh.kind.isin(KINDS_INSIDE)
    families = {"pooled": fresh[~inside], "inside": fresh[inside]}
    found = {
        name: errors(networks_of(some, right, rule), stated)
        for name, some in families.items()
        if len(some) and of != {"pooled": "layers", "inside": "states"}[name]
    }
    return {"errors": found, "said": {name: _said(each, stated["endpoints"]) for name, each in found.items()}}


def _said(found: Mapping[str, Any], goals: Mapping[str, float]) -> list[str]:
    """Return the answers that were given on mechanisms that the rule had never seen, and met their goal there."""
    given = [each for each in (YES, IN_PART, NO) if any(found["answers"][truth][each] for truth in found["answers"])]
    missed = [each for each, goal in ((YES, "false_yes"), (NO, "false_no")) if (found[goal] or [1.0])[0] > goals[goal]]
    return [each for each in given if each not in missed]


def networks_about(rows: pd.DataFrame, about: str, rules: Mapping[str, Mapping[str, Rule]]) -> pd.DataFrame:
    """Return one row a network whose truth is known, with the answer of the best rule."""
    right = f"right_{about}"
    parts = []
    for within, some in rows.dropna(subset=right).groupby(rows.kind.isin(KINDS_INSIDE)):
        rule = largest(rules[about_of(bool(within))[about]])
        parts.append(networks_of(some, right, rule))
    return pd.concat(parts, ignore_index=True)


def groups(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the groups of networks whose errors are told apart, by name: one row a network."""
    inside, constructed = rows.kind.isin(KINDS_INSIDE), rows.source == "constructed"
    yield "all", rows
    yield "constructed", rows[constructed]
    yield "trained", rows[~constructed]
    yield "pooled", rows[~inside]
    yield "inside", rows[inside]
    for source, some in rows.groupby("source", sort=False):
        for kind, each in some.groupby("kind", sort=False):
            yield f"{source} {kind}", each


def largest(rules: Mapping[str, T]) -> T:
    """Return the rule that reads the most experiments."""
    return rules[max(rules, key=lambda names: names.count(","))]


def strangers(rows: pd.DataFrame, rules: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the errors about tokens of rules made without one mechanism, or one family, and tried on it."""
    constructed = rows[rows.source == "constructed"]
    features = list(largest(rules["tokens"])["weights"])
    return {by: as_for_a_stranger(constructed, "tokens", features, by, stated) for by in STRANGERS}
