"""A training by the Trainer of transformers, with and without trials in between, in as many processes as torchrun starts.

torchrun --nproc-per-node 2 -m tests.app.api.hf_training <folder with vocab.txt>
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import BertTokenizerFast, Trainer, TrainerCallback, TrainingArguments, set_seed

from attest.hf import AttentionTrial
from tests.models.pretrained.tiny import TEXTS, WORDS, tiny

EVALUATED, LABELS = [*TEXTS, "a very dull film", "not very fine"], [1, 0, 0, 0, 1, 0, 0]
EXPERIMENTS = {"E2": {"permutations": 2}, "E9": {"draws": 1}}


class Heard(TrainerCallback):
    """What a logger is told."""

    def __init__(self):
        self.logs = []

    def on_log(self, args, state, control, logs=None, **_):
        self.logs.append((state.global_step, dict(logs)))


def trained(tokenizer, place, every=None, report_to="none", **arguments):
    """A model after two epochs of two steps, with its callback and what was logged.

    Args:
        every: when trials are made; None for never.
    """
    set_seed(0)
    model = tiny("bert", vocab_size=len(WORDS), num_labels=2, hidden_dropout_prob=0.1)
    rows = [dict(tokenizer(text), labels=len(text) % 2) for text in TEXTS[:4]]
    settings = TrainingArguments(
        str(place), num_train_epochs=2, per_device_train_batch_size=2, report_to=report_to, use_cpu=True, save_strategy="no",
        logging_strategy="epoch", disable_tqdm=True, seed=0, **arguments,
    )  # fmt: skip
    heard = Heard()
    trainer = Trainer(model, settings, train_dataset=rows, eval_dataset=rows, processing_class=tokenizer, callbacks=[heard])
    callback = AttentionTrial(EVALUATED, EXPERIMENTS, every or "epoch", labels=LABELS, batch_size=2)
    if every is not None:
        callback.attach(trainer)
    trainer.train()
    drawn = (torch.rand(1).item(), random.random(), np.random.rand())
    return trainer, callback, heard.logs, drawn


def main(place):
    tokenizer = BertTokenizerFast(str(place / "vocab.txt"), model_max_length=64)
    plain, _, _, drawn = trained(tokenizer, place / "plain")
    trainer, callback, logs, drawn_after = trained(tokenizer, place / "tried", "epoch")
    equal = all(torch.equal(*each) for each in zip(plain.model.parameters(), trainer.model.parameters(), strict=True))
    told = {"world": trainer.args.world_size, "equal": equal, "drawn": drawn == drawn_after, "logs": logs}
    if trainer.is_world_process_zero():
        callback.last.save(place / "trial")
        trainer.save_model(place / "model")
        (place / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
