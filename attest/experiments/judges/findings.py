"""Which wrong attention each experiment misses and which right one it accuses: from ``attest judges``, for reports."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from attest.experiments.judges.judging import CALIBRATIONS, over_rules

SHIPPED = Path(str(files("attest.experiments.judges"))) / "findings.json"


def findings(judged: pd.DataFrame, experiments: dict[str, str], sees: float) -> dict[str, dict[str, list[str]]]:
    """By experiment, of pooled attention.

    Args:
        judged: as ``attest.experiments.judges.judging.judge`` returns it.
        experiments: the experiment of each test.
        sees: AUROC from which a test sees a defendant.
    Returns:
        ``sees``, wrong defendants that one of its tests sees on every rule, ``misses``, those that none does; ``accuses``,
        right defendants that one of its tests takes for wrong on some rule.
    """
    pooled = judged[(judged.family == "pooled") & ~judged.test.isin(CALIBRATIONS)]
    wrong, right = (_by_experiment(over_rules(pooled, truth), experiments) for truth in ("wrong", "right"))
    best = wrong.groupby(["experiment", "defendant"], sort=False).least.max()
    worst = right.groupby(["experiment", "defendant"], sort=False).most.max()
    names = dict.fromkeys(experiments[test] for test in pooled.test)
    told = {"sees": best[best >= sees], "misses": best[best < sees], "accuses": worst[worst >= sees]}
    return {name: {what: _names(cells, name) for what, cells in told.items()} for name in names}


def _by_experiment(cells: pd.DataFrame, experiments: dict[str, str]) -> pd.DataFrame:
    return cells.assign(experiment=cells.test.map(experiments))


def _names(cells: pd.Series, experiment: str) -> list[str]:
    return [str(defendant) for of, defendant in cells.index if of == experiment]


def of(experiment_id: str) -> str | None:
    """A sentence on what an experiment has been shown to miss and whom it falsely accuses; None where it was not tried."""
    return None if experiment_id not in _shipped() else sentence(_shipped()[experiment_id])


@cache
def _shipped() -> dict[str, Any]:
    return dict(json.loads(SHIPPED.read_text(encoding="utf-8"))) if SHIPPED.is_file() else {}


def sentence(found: dict[str, list[str]]) -> str:
    """One experiment's findings in words."""
    everyone = f"Sees {', '.join(found['sees'])}, all wrong ones that were tried."
    misses = f"Cannot see: {', '.join(found['misses'])}." if found["misses"] else everyone
    accuses = (
        f"Falsely accuses: {', '.join(found['accuses'])}." if found["accuses"] else "Falsely accuses none that was tried."
    )
    return f"{misses} {accuses}"
