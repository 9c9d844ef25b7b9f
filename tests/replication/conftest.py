"""A small table of invented numbers, and run folders that hold invented results."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from attest.runs.folder import RunFolder, write_json, write_table, write_text
from attest.runs.published_tables import PublishedTable, parse_published

TABLE = """
title: Invented
paper: Nobody 2019, Table 1
data: [sst, imdb]
sources:
  paper: {cite: Nobody 2019}
  recalled: {cite: Somebody 2018, why: other embeddings there, memory: true}
  again: {cite: their code, own: true}
columns:
  accuracy: {key: test/accuracy, margin: 0.03, neutral: 0.5}
  τ: {key: E1/tau/mean, margin: 0.1}
  above: {table: E1, value: tau > 0.25, where: predicted == 1}
  trend: {key: test/accuracy, along: kendall, margin: 0.5}
rows:
  - name: dense
    run: {MODEL: bilstm, SCORING: additive, PROJECTION: softmax, RECIPE: jw}
    paper: {sst: {accuracy: 0.800, τ: 0.35 ± 0.21}}
    recalled: {sst: {accuracy: 0.70}}
    again: {sst: {accuracy: 0.81}}
  - name: sparse
    run: {MODEL: bilstm, SCORING: additive, PROJECTION: sparsemax, RECIPE: jw}
    paper: {sst: {accuracy: 0.790}}
  - name: swept
    data: [sst]
    run: {MODEL: bilstm, SCORING: additive, RECIPE: jw}
    sweep: {choice: PROJECTION, form: "sparsegen:{}", values: [-10, 0, 0.5]}
claims:
  - {that: dense beats sparse, column: accuracy, rows: [dense, sparse], expect: greater}
  - {that: they agree alike, column: τ, rows: [dense, sparse], expect: equal}
"""


def parse(text: str) -> PublishedTable:
    """A table as its file would give it."""
    return parse_published("invented", yaml.load(text, yaml.BaseLoader), Path("invented.yaml"))


@pytest.fixture
def invented() -> PublishedTable:
    return parse(TABLE)


def finished_run(folder: Path, accuracy: float = 0.8, right: Any = (), tau: Any = (), seconds: float = 60.0) -> Path:
    """A run folder that says it has been finished."""
    run = RunFolder(folder)
    write_text(run.config, "data: {init_args: {}}\ntrainer: {}\n")
    write_json(run.summary, {"test/accuracy": accuracy, "E1/tau/mean": float(np.mean(tau)) if len(tau) else None})
    write_json(run.timing, {"seconds": {"train": seconds}, "environment": {"torch": "9.9", "commit": "abc"}})
    if len(right):
        write_table(run.evidence("instances"), instances(label=1, predicted=np.asarray(right).astype(int)))
    if len(tau):
        write_table(run.evidence("E1"), instances(label=1, predicted=1, tau=tau))
    return folder


def instances(**columns: Any) -> pd.DataFrame:
    size = max(len(values) for values in columns.values() if hasattr(values, "__len__"))
    return pd.DataFrame({"id": range(size), **columns})
