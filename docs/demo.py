"""Train the model of ``attest demo``, and write it with its texts into the package: python -m docs.demo

It is a BERT of two layers that reads the planted reviews (attest/datamodules/planted.py), in which "not" reverses the opinion.
The texts of the demo are none of those that it was trained on.
"""

import csv

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from attest.app.cli.demo import MODEL, TEXTS
from attest.datamodules.planted import planted_texts

LENGTHS = (8, 24)
STEPS, BATCH, RATE, WARM_UP = 1500, 64, 2e-3, 100
SHOWN = 100
NAMES = ("blame", "praise")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def texts(seed: int, count: int) -> list[tuple[str, int]]:
    """Return reviews and their labels, 0 for blame and 1 for praise."""
    drawn = planted_texts("negation", seed, LENGTHS)
    return [(" ".join(word for word, _ in words), label) for (words, label), _ in zip(drawn, range(count), strict=False)]


def tokenizer_of(reviews: list[tuple[str, int]]) -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token for each word."""
    words = sorted({word for review, _ in reviews for word in review.split()})
    own = Tokenizer(models.WordLevel({word: place for place, word in enumerate((*SPECIAL, *words))}, unk_token="[UNK]"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=None, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=own, model_max_length=64, **named)


def main() -> None:
    """Train, say the accuracy on the texts of the demo, and write."""
    torch.manual_seed(0)
    train, others = texts(1, STEPS * BATCH), texts(0, 2 * SHOWN)
    tokenizer = tokenizer_of(train)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(NAMES)),
        label2id={name: place for place, name in enumerate(NAMES)},
    )
    model = BertForSequenceClassification(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / WARM_UP, (STEPS - step) / STEPS * 1.2)
    )
    for step in range(STEPS):
        reviews, labels = zip(*train[step * BATCH : (step + 1) * BATCH], strict=True)
        encoded = tokenizer(list(reviews), padding=True, return_tensors="pt", return_token_type_ids=False)
        loss = model(**encoded, labels=torch.tensor(labels)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 100 == 0 or step == STEPS - 1:
            print(f"step {step + 1} of {STEPS}: loss {loss.item():.4f}", flush=True)
    seen = {review for review, _ in train}
    shown = [(review, label) for review, label in others if review not in seen][:SHOWN]
    model.eval().save_pretrained(MODEL)
    tokenizer.save_pretrained(MODEL)
    with torch.no_grad():
        encoded = tokenizer([review for review, _ in shown], padding=True, return_tensors="pt", return_token_type_ids=False)
        right = model(**encoded).logits.argmax(dim=1) == torch.tensor([label for _, label in shown])
    with TEXTS.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("text", "label"))
        rows.writerows((review, NAMES[label]) for review, label in shown)
    print(f"{int(right.sum())} of {len(shown)} new texts are classified right")


if __name__ == "__main__":
    main()
