"""Readings of the sources of an answer (E18) on documents with a planted sentence that alone holds the answer.

    python -m benchmarks.sources --model smollm2 --documents 8 --tokens 300 --ablations 16

The documents are reviews of IMDb's test split, cut after a sentence; the planted one stands after each eighth of a document in
turn. The answer is given, so that every document has the same one to explain.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import attest
from attest.experiments.sources import sentences
from attest.models.pretrained.loading import load

QUESTION = "What is the secret code of the vault?"


def documents(count: int, tokens: int, tokenizer: object) -> list[tuple[str, str, int]]:
    """Return texts of at most so many tokens with the planted sentence, its answer, and the number of that sentence."""
    reviews = pd.read_parquet(Path(os.environ["ATTEST_DATA"]) / "imdb" / "test.parquet")["text"]
    found = []
    for text in reviews.str.replace("<br />", " "):
        parts = [text[begin:end].strip() for begin, end in sentences(text)]
        lengths = np.cumsum([len(tokenizer(part)["input_ids"]) for part in parts])  # type: ignore[operator]
        if lengths[-1] < tokens:
            continue
        parts = parts[: int((lengths <= tokens).sum())]
        place, code = len(parts) * len(found) // count, str(1000 + 787 * len(found))
        text = " ".join([*parts[:place], f"The secret code of the vault is {code}.", *parts[place:]])
        (planted,) = (at for at, (begin, end) in enumerate(sentences(text)) if code in text[begin:end])
        found.append((text, code, planted))
        if len(found) == count:
            break
    return found


def interval(values: pd.Series) -> str:
    """Return the mean and its 95 % by Student's t."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.sem() if len(values) > 1 else float("nan")
    return f"{values.mean():.2f} ± {half:.2f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--documents", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--ablations", type=int, default=32)
    typed = parser.parse_args()
    model, tokenizer = load(typed.model, prompted=True)
    rows = []
    for number, (text, answer, planted) in enumerate(documents(typed.documents, typed.tokens, tokenizer), start=1):
        found = attest.sources(model, text, QUESTION, answer, tokenizer=tokenizer, ablations=typed.ablations, truth=[planted])
        share = found.table["share"][planted]
        rows.append(found.scores.assign(share=share))
        print(f"document {number}: {len(found.table)} sentences, planted {planted + 1}, its share {share:.2f}", flush=True)
        print(found.scores.round(2).to_string(), flush=True)
    scores = pd.concat(rows)
    names = rows[0].index
    table = {
        name: {column: interval(scores.loc[[name], column]) for column in ("tau", "same", "precision", "seconds")}
        for name in names
    }
    print(pd.DataFrame(table).T.to_string())
    print(f"share of the planted sentence: {interval(pd.Series([each['share'].iloc[0] for each in rows]))}")
