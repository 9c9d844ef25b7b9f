"""Race ways to leave out each sentence before a decoder's answer, which give the same numbers or name their approximation.

    python -m benchmarks.leaving_out --model smollm2 --documents 4 --tokens 1000

The documents are those of ``benchmarks.sources``. *Plain* reads each shortened prompt whole; *captum* does so, too
(LLMAttribution of FeatureAblation). *Reused* computes what stands before a sentence once, and must agree with plain. The
others approximate: *groups* of sentences first; *attention* × gradient, which leaves nothing out; *preselected*, the eight
sentences that this ranks first are left out. Seconds are CPU seconds of one thread, in turns; τ-b and the first sentence are
held against reused.
"""

import argparse
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau

from attest.app.api.sources import PROMPT
from attest.experiments.sources import by_groups, sentences
from attest.models.pretrained.loading import load
from benchmarks.measuring import timed
from benchmarks.sources import QUESTION, answered, documents, interval

CHECKED = 4
"""Sentences that the plain loop leaves out, evenly spread; all are of one cost."""
PRESELECTED = 8
"""Sentences that are left out of those that attention × gradient ranks highest."""


def captum(model: Any, tokenizer: Any, text: str, answer: str, checked: np.ndarray) -> np.ndarray:
    """Return by how much the answer's log-probability falls without each of some sentences, as captum measures it."""
    from captum.attr import FeatureAblation, LLMAttribution, TextTemplateInput

    spans = sentences(text)
    ends = [0, *(each for place in checked for each in spans[place]), len(text)]
    around = [text[begin:end] for begin, end in pairwise(ends)]  # what stays and what is left out, in turn

    def prompt(*values: str) -> str:
        filled = list(around)
        filled[1::2] = values
        return PROMPT.replace("{context}", "".join(filled)).replace("{question}", QUESTION)

    given = TextTemplateInput(prompt, values=around[1::2])
    explains = LLMAttribution(FeatureAblation(model), tokenizer)
    # its cache gives other numbers: it hands all tokens over, also those that are in the cache
    attributed = explains.attribute(given, target=f" {answer}", use_cached_outputs=False)
    return attributed.seq_attr.double().numpy()


def raced(model: Any, tokenizer: Any, text: str, answer: str, with_captum: bool) -> dict[str, float]:
    """Return seconds and agreement of each way for one document."""
    said, parts = answered(model, tokenizer, text, answer)
    before = said.log_probability()

    def without(groups: Any) -> np.ndarray:
        merged = [(parts[first][0], parts[last - 1][1]) for first, last in groups]
        return (before - said.without_each(merged)).numpy()

    def written() -> np.ndarray:
        sums = said.rows().written
        return np.array([float(sums[begin:end].sum()) for begin, end in parts])

    def preselected() -> np.ndarray:
        chosen, falls = np.argsort(-written())[:PRESELECTED], np.zeros(len(parts))
        falls[chosen] = without([(each, each + 1) for each in chosen])
        return falls

    checked = np.unique(np.linspace(0, len(parts) - 1, CHECKED).round().astype(int))
    plain, seconds = timed(lambda: np.array([before - said._whole(parts[each]) for each in checked]))
    exact, reused = timed(lambda: without([(each, each + 1) for each in range(len(parts))]))
    row = {"sentences": len(parts), "tokens": len(said.tokens), "apart": float(np.abs(plain - exact[checked]).max())}
    if with_captum:
        theirs, spent = timed(lambda: captum(model, tokenizer, text, answer, checked))
        row["captum ×"] = seconds / spent * (len(checked) + 1) / len(checked)  # it reads the whole prompt as well
        row["captum apart"] = float(np.abs(theirs - plain).max())
    seconds *= len(parts) / len(checked)
    row["reused ×"] = seconds / reused
    ways: dict[str, Callable[[], np.ndarray]] = {"groups": lambda: by_groups(without, len(parts))[0]}
    ways |= {"attention": written, "preselected": preselected}
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
    parser.add_argument("--no-captum", action="store_true", help="leave captum out, which takes most of the time")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(typed.model, prompted=True)
    rows = []
    for text, answer, _ in documents(typed.documents, typed.tokens, tokenizer):
        rows.append(raced(model, tokenizer, text, answer, not typed.no_captum))
        print({name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    table = pd.DataFrame(rows)
    print(pd.Series({name: interval(table[name]) for name in table}).to_string())
