"""Run folders made by hand: a configuration, a summary, and maybe a table of texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from attest.report.summary import VERSION
from attest.runs.folder import RunFolder, write_json, write_table
from attest.runs.identity import RunIdentity

RUN = {"data": "mine", "recipe": "jw", "model": "bilstm", "scoring": "additive", "projection": "softmax"}


def made_run(path: Path, summary: dict[str, Any], rows: pd.DataFrame | None = None, **run: str) -> RunFolder:
    """A run with these numbers; ``rows`` as in ``decided`` or ``tagged``; other words of its choices by name."""
    folder = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    folder.config.write_text(yaml.safe_dump({"run": RUN | run, "seed_everything": 0, "model": {}}), encoding="utf-8")
    if path.name.startswith("seed"):
        RunIdentity(path.parents[1].name, path.parent.name, int(path.name.removeprefix("seed"))).store(folder)
    write_json(folder.summary, {"version": VERSION} | summary)
    if rows is not None:
        write_table(folder.evidence("tagged" if "tags" in rows else "instances"), rows)
    return folder


def decided(labels: list[int], predicted: list[int]) -> pd.DataFrame:
    """Texts of three tokens, of the classes ``bad``, ``good`` and ``odd``."""
    sure = np.where(np.asarray(predicted)[:, None] == np.arange(3), 0.6, 0.2).astype(np.float32)
    columns = {f"probability_{name}": sure[:, place] for place, name in enumerate(("bad", "good", "odd"))}
    ids = np.arange(len(labels))
    return pd.DataFrame({"id": ids, "label": labels, "predicted": predicted, "length": 3} | columns)


def tagged(tags: list[list[int]], predicted: list[list[int]]) -> pd.DataFrame:
    """Sentences with tags ``N`` and ``V``."""
    columns = {f"probability_{name}": [np.full(len(each), 0.5) for each in tags] for name in "NV"}
    lengths = [len(each) for each in tags]
    return pd.DataFrame({"id": range(len(tags)), "length": lengths, "tags": tags, "predicted_tags": predicted} | columns)


READ = pd.DataFrame({"id": range(30), "needs_words": [1.0] * 25 + [0.0] * 3 + [np.nan] * 2})
READ["right"] = np.where(READ["needs_words"] == 1, READ["id"] < 20, np.nan)
READ = READ.assign(pool=0, right_random=READ["id"] % 10 == 0.0, with_words=0.9, without_words=0.5)
"""A table of E19 on 30 texts: 28 were read, 25 need words, and in 20 of these the explanation is right."""
VERDICT = {
    "tokens": {
        "answer": "in part",
        "sentence": "In part. Attention points at the words that decide in 62 % [48 %, 75 %] of the 80 texts that have such "
        "words.",
        "share": 0.62,
        "low": 0.48,
        "high": 0.75,
        "texts": 80,
        "read": 100,
        "random": {"value": 0.06, "low": 0.02, "high": 0.13, "texts": 80},
        "instead": None,
        "advice": "No other reading that was measured surely points at them more often.",
        "guess": None,
        "more": None,
    }
}
"""The first entry of a summary."""
