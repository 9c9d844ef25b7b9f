"""Race ways to leave out each sentence before a decoder's answer, which give the same numbers or name their approximation.

    python -m benchmarks.leaving_out --model smollm2 --documents 4 --tokens 1000

The documents are those of ``benchmarks.sources``. *Plain* reads each shortened prompt whole. *Reused* computes what stands
before a sentence once, and must agree with plain. *Groups* and *gradient* approximate: groups of sentences first, and those
that gradient × input ranks highest. Seconds are CPU seconds of one thread, in turns; τ-b and the first sentence are held
against reused.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau

from attest.experiments.sources import by_groups
from attest.models.pretrained.loading import load
from benchmarks.sources import answered, documents, interval

CHECKED = 4
"""Sentences that the plain loop leaves out, evenly spread; all are of one cost."""
PRESELECTED = 8
"""Sentences that are left out of those that the gradient ranks highest."""


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work returns, and its CPU seconds."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def raced(model: Any, tokenizer: Any, text: str, answer: str) -> dict[str, float]:
    """Return seconds and agreement of each way for one document."""
    said, parts = answered(model, tokenizer, text, answer)
    before = said.log_probability()

    def without(groups: Any) -> np.ndarray:
        merged = [(parts[first][0], parts[last - 1][1]) for first, last in groups]
        return (before - said.without_each(merged)).numpy()

    def by_gradient() -> np.ndarray:
        gradient = said.gradient_times_input()
        sums = np.array([float(gradient[begin:end].sum()) for begin, end in parts])
        chosen, falls = np.argsort(-sums)[:PRESELECTED], np.zeros(len(parts))
        falls[chosen] = without([(each, each + 1) for each in chosen])
        return falls

    checked = np.unique(np.linspace(0, len(parts) - 1, CHECKED).round().astype(int))
    plain, seconds = timed(lambda: np.array([before - said._whole(parts[each]) for each in checked]))
    exact, reused = timed(lambda: without([(each, each + 1) for each in range(len(parts))]))
    row = {"sentences": len(parts), "tokens": len(said.tokens), "apart": float(np.abs(plain - exact[checked]).max())}
    seconds *= len(parts) / len(checked)
    row["reused ×"] = seconds / reused
    ways: dict[str, Callable[[], np.ndarray]] = {"groups": lambda: by_groups(without, len(parts))[0], "gradient": by_gradient}
    for name, way in ways.items():
        found, spent = timed(way)
        row[f"{name} ×"] = seconds / spent
        row[f"{name} τ-b"] = float(kendalltau(found, exact).statistic)
        row[f"{name} first"] = float(found.argmax() == exact.argmax())
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--documents", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=1000)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(typed.model, prompted=True)
    rows = []
    for text, answer, _ in documents(typed.documents, typed.tokens, tokenizer):
        rows.append(raced(model, tokenizer, text, answer))
        print({name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    table = pd.DataFrame(rows)
    print(pd.Series({name: interval(table[name]) for name in table}).to_string())
