"""The errors of each experiment: which wrong attention it misses, and which right attention it accuses.

``experiment_errors.json`` contains the findings of ``python -m benchmarks.judges constructed``; reports quote it.
"""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

SHIPPED = Path(str(files("attest.experiments"))) / "experiment_errors.json"


def sentence_about(experiment_id: str) -> str | None:
    """Return a text on the attention that an experiment judges wrongly; None if this was not measured."""
    return None if experiment_id not in _shipped() else sentence(_shipped()[experiment_id])


@cache
def _shipped() -> dict[str, Any]:
    return dict(json.loads(SHIPPED.read_text(encoding="utf-8"))) if SHIPPED.is_file() else {}


PLAIN = {
    "smuggled": "on a word into which the model has moved the decision",
    "broadcast": "on some word, while every state holds the decision",
    "shadow": "on a word that says nothing, while the rest decides",
    "shifted": "one place after the deciding words, at the tokens that hold their states",
    "silent": "spread evenly, while one state alone says something",
    "partial": "on one of two needed words, where the decision stands",
    "one_word": "on one of two needed words, while every state holds the decision",
    **dict.fromkeys(("sink_first", "sink_middle", "sink_end", "sink_word"), "mostly on a token that says nothing"),
    **dict.fromkeys(("sink_pair", "sink_and_decoy"), "mostly on two tokens that say nothing"),
    "absent": "on all words but the deciding ones",
    "saturated": "right, of a model that is very sure",
    "diffuse": "right by half, the other half spread",
    "sparse": "right, with exact zeros",
    "either": "on one of two words with the same meaning",
    "noisy": "right, with states full of what means nothing",
    "honest": "right",
}
"""For readers of reports: where the attention of each constructed network lies, as a phrase, by the name of the network."""


def sentence(found: dict[str, list[str]]) -> str:
    """Return two sentences: which wrong attention an experiment misses, and which right attention it calls wrong."""
    misses = (
        f"misses attention that lies {_plain(found['misses'])}"
        if found["misses"]
        else "misses no wrong attention that was tried"
    )
    accuses = f"accuses attention that lies {_plain(found['accuses'])}" if found["accuses"] else "accuses no right attention"
    return f"It {misses}. It {accuses}."


def _plain(names: list[str]) -> str:
    return ", or ".join(dict.fromkeys(PLAIN.get(name, name) for name in names))
