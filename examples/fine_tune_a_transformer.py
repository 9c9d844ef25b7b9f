"""Fine-tune a Transformer of the library transformers to classify texts, for a trial of it afterwards.

    python examples/fine_tune_a_transformer.py <folder or Hub id> train.csv my-model
    attest trial --model my-model --data test.csv

The file has a column `text` and a column `label`. AdamW at 5e-5 with a warm-up of a tenth, batches of 32 texts of like length,
one epoch.
"""

import csv
import random
import sys
from pathlib import Path

import torch
from torch.nn.utils import clip_grad_norm_
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

BATCH, RATE, WARM_UP = 32, 5e-5, 0.1


def fine_tune(base: str, train: Path, out: Path, seed: int = 0) -> None:
    """Train for an epoch and save model and tokenizer."""
    torch.manual_seed(seed)
    with train.open(encoding="utf-8", newline="") as file:
        rows = [(row["text"], row["label"]) for row in csv.DictReader(file)]
    names = sorted({label for _, label in rows})
    tokenizer = AutoTokenizer.from_pretrained(base)
    numbered = {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=len(names), **numbered).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    batches = batches_of_like_length(rows, seed)
    schedule = get_linear_schedule_with_warmup(optimizer, int(WARM_UP * len(batches)), len(batches))
    for number, batch in enumerate(batches, start=1):
        texts, labels = zip(*batch, strict=True)
        inputs = tokenizer(list(texts), padding=True, truncation=True, max_length=128, return_tensors="pt")
        loss = model(**inputs, labels=torch.tensor([names.index(label) for label in labels])).loss
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if number % 20 == 0 or number == len(batches):
            print(f"batch {number} of {len(batches)}: loss {loss.item():.3f}", flush=True)
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)


def batches_of_like_length(rows: list[tuple[str, str]], seed: int) -> list[list[tuple[str, str]]]:
    """Texts of like length side by side, batches in random order."""
    dice = random.Random(seed)
    ordered = sorted(rows, key=lambda row: len(row[0]) * dice.uniform(0.9, 1.1))
    batches = [ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH)]
    dice.shuffle(batches)
    return batches


if __name__ == "__main__":
    fine_tune(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
