"""Readings of the sources of an answer (E18) on documents with a planted sentence that alone holds the answer.

    python -m benchmarks.sources --model smollm2 --documents 8 --tokens 1000 --ablations 16
    python -m benchmarks.sources --model smollm2 --documents 8 --tokens 1000 --named   # does attention name it?

The documents are reviews of IMDb's test split, cut after a sentence; of eight the planted one stands after another eighth in
each. The answer is given, so that every document has the same one to explain.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats

import attest
from attest.app.api import sources as api
from attest.experiments.sources import sentences
from attest.models.pretrained.answering import Answer
from attest.models.pretrained.loading import load
from attest.report.sources import Sources

QUESTION = "What is the secret code of the vault?"


def documents(count: int, tokens: int, tokenizer: Any) -> list[tuple[str, str, int]]:
    """Return texts of at most so many tokens with the planted sentence, its answer, and the number of that sentence."""
    reviews = pd.read_parquet(Path(os.environ["ATTEST_DATA"]) / "imdb" / "test.parquet")["text"]
    found = []
    for text in reviews.str.replace("<br />", " "):
        parts = [text[begin:end].strip() for begin, end in sentences(text)]
        lengths = np.cumsum([len(tokenizer(part)["input_ids"]) for part in parts])
        if lengths[-1] < tokens:
            continue
        parts = parts[: int((lengths <= tokens).sum())]
        place, code = len(parts) * (5 * len(found) % count) // count, str(1000 + 787 * len(found))  # early and late in turn
        text = " ".join([*parts[:place], f"The secret code of the vault is {code}.", *parts[place:]])
        (planted,) = (at for at, (begin, end) in enumerate(sentences(text)) if code in text[begin:end])
        found.append((text, code, planted))
        if len(found) == count:
            break
    return found


def answered(model: Any, tokenizer: Any, text: str, answer: str) -> tuple[Answer, list[tuple[int, int]]]:
    """Return the given answer to the question about a text, and the tokens of each sentence of the text."""
    whole, spans = api._sources(text, "sentences")
    asked, begins = api._asked(api.PROMPT, whole, QUESTION)
    read = tokenizer(asked, return_offsets_mapping=True)
    ids = torch.tensor(read["input_ids"])
    parts = api._in_tokens(spans, begins, read["offset_mapping"])
    return Answer(model, ids, api._tokens_of(answer, asked, ids, tokenizer)), parts


def named(model: Any, tokenizer: Any, text: str, answer: str, planted: int) -> dict[str, float]:
    """Return whether each reading that needs no source left out names the planted sentence first."""
    said, parts = answered(model, tokenizer, text, answer)
    rows = said.rows()
    by_token = {"attention": rows.attention, "without the first token": rows.without_first}
    by_token |= {"attention × gradient": rows.written, "rollout": said.rollout()}
    sums = {name: [float(values[begin:end].sum()) for begin, end in parts] for name, values in by_token.items()}
    return {name: float(np.argmax(each) == planted) for name, each in sums.items()}


def interval(values: pd.Series) -> str:
    """Return the mean and its 95 % by Student's t; of values that are 0 or 1 their count, by Clopper and Pearson."""
    if values.isin([0, 1]).all():
        low, high = stats.binomtest(int(values.sum()), len(values)).proportion_ci()
        return f"{int(values.sum())} of {len(values)} ({low:.2f} to {high:.2f})"
    half = stats.t.ppf(0.975, len(values) - 1) * values.sem() if len(values) > 1 else float("nan")
    return f"{values.mean():.2f} ({values.mean() - half:.2f} to {values.mean() + half:.2f})"


def over(found: list[Sources]) -> str:
    """Return the readings over documents; heads are weighed by what the other documents say, never by the one itself."""
    learned = [each.learning_from([other for other in found if other is not each]) for each in found]
    scores = pd.concat([each.scores for each in learned])
    columns = ("tau", "same", "drop", "seconds")
    table = {name: {column: interval(scores.loc[[name], column]) for column in columns} for name in learned[0].scores.index}
    planted = pd.Series([each.table["share"][next(iter(each.truth))] for each in found])
    return f"{pd.DataFrame(table).T.to_string()}\nshare of the planted sentence: {interval(planted)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--ablations", type=int, default=32)
    parser.add_argument("--named", action="store_true")
    typed = parser.parse_args()
    model, tokenizer = load(typed.model, prompted=True)
    if typed.named:
        each = [named(model, tokenizer, *one) for one in documents(typed.documents, typed.tokens, tokenizer)]
        print(pd.DataFrame(each).agg(["sum", "count"]).to_string())
        sys.exit()
    found: list[Sources] = []
    for number, (text, answer, planted) in enumerate(documents(typed.documents, typed.tokens, tokenizer), start=1):
        found.append(
            attest.sources(model, text, QUESTION, answer, tokenizer=tokenizer, ablations=typed.ablations, truth=[planted])
        )
        share = found[-1].table["share"][planted]
        print(f"document {number}: {len(found[-1].table)} sentences, planted {planted + 1}, its share {share:.2f}", flush=True)
        print(found[-1].scores.round(2).to_string(), flush=True)
        if number > 1:
            print(f"{number} documents:\n{over(found)}", flush=True)
