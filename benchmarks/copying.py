"""Two encoder–decoders whose cross-attention is known to tell the truth, or nothing: tiny T5 models that copy a planted word.

    python -m benchmarks.copying [folder]        # trains both and puts them on trial; two minutes on one core

Each text has four words that could be copied: one is written large (``GOOD``), and only this one counts. The encoder has no
layer, so that tokens meet in the cross-attention of the decoder's one step and nowhere else: the decision hangs on the
planted word, whose place is known. The first model is trained freely. In the second the queries are 0 from the beginning and
stay so: its cross-attention is uniform, whatever decides.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForSeq2SeqLM, PreTrainedTokenizerFast, T5ForConditionalGeneration

import attest
from attest.models.layers_observed import observe_layers
from attest.models.pretrained.crossing import CrossingNetwork
from attest.report.run_tables import markdown_table

ANSWERS = ("good", "bad", "fine", "dull", "long", "slow", "warm", "cold")
FILLERS = ("the", "plot", "and", "its", "songs", "are", "as", "of", "there", "is", "some", "talk")
FRAME = ("<pad>", "</s>", "<unk>")
LENGTH, OF_TEXT, BATCH, LEARNING_RATE, STEPS, TEXTS = 12, 4, 64, 2e-3, 300, 128
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "E1": {}, "E2": {}, "E3": {"texts": 32}, "E8": {}, "E9": {}, "E14": {"texts": 64}, "E15": {"texts": 64},
}  # fmt: skip
SHOWN = {
    "test/accuracy": "accuracy",
    "E2/flipped": "E2: decisions changed by shuffled weights",
    "E9/correct_shuffled": "E9: accuracy with keys shuffled",
    "E8/correct_sparsemax": "E8: accuracy under sparsemax",
    "E3/jsd_search": "E3: JSD of another attention with the same prediction, nats",
    "E14/win_comprehensiveness_attention": "E14: random sets beaten, nothing attends to them",
    "E14/win_comprehensiveness_mask": "E14: random sets beaten, masked",
    "E15/win_comprehensiveness_cross_attention": "E15: the same of cross-attention",
    "E15/win_comprehensiveness_leave_one_out": "E15: the same of leave-one-out",
}


class Models(NamedTuple):
    """A trained model and its tokenizer."""

    model: T5ForConditionalGeneration
    tokenizer: PreTrainedTokenizerFast


def tokenizer_of_words() -> PreTrainedTokenizerFast:
    """Return a tokenizer in which every word is one token, and a text ends with ``</s>``."""
    words = [*FRAME, *ANSWERS, *map(str.upper, ANSWERS), *FILLERS]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    named = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **named)


def planted(count: int, generator: torch.Generator) -> tuple[list[str], list[int], Tensor]:
    """Return texts, the number of the answer of each, and the place of the planted word, int64 ``(count,)``."""
    texts, labels, places = [], [], []
    for _ in range(count):
        words = [FILLERS[word] for word in torch.randint(len(FILLERS), (LENGTH,), generator=generator).tolist()]
        order = torch.randperm(len(ANSWERS), generator=generator).tolist()
        where = torch.randperm(LENGTH, generator=generator)[:OF_TEXT].tolist()
        for answer, place in zip(order, where, strict=False):
            words[place] = ANSWERS[answer]
        words[where[0]] = words[where[0]].upper()
        texts.append(" ".join(words))
        labels.append(order[0])
        places.append(where[0])
    return texts, labels, torch.tensor(places)


def trained(uniform: bool = False, steps: int = STEPS, seed: int = 0) -> Models:
    """Return a T5 that was trained to generate the planted word in small letters.

    Args:
        uniform: whether its cross-attention is uniform, and stays so.
        steps: of training.
        seed: of parameters and texts.
    """
    torch.manual_seed(seed)
    tokenizer = tokenizer_of_words()
    model = AutoModelForSeq2SeqLM.from_config(
        AutoConfig.for_model(
            "t5", vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=64, num_layers=0, num_decoder_layers=1, num_heads=2,
            dropout_rate=0.0, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )
    )  # fmt: skip
    if uniform:
        queries = model.decoder.block[0].layer[1].EncDecAttention.q.weight
        nn.init.zeros_(queries).requires_grad_(False)
    generator = torch.Generator().manual_seed(seed + 1)
    answers = torch.tensor(tokenizer.convert_tokens_to_ids(list(ANSWERS)))
    begin = torch.zeros(BATCH, 1, dtype=torch.int64)
    optimizer = torch.optim.Adam([each for each in model.parameters() if each.requires_grad], lr=LEARNING_RATE)
    for _ in range(steps):
        texts, labels, _ = planted(BATCH, generator)
        logits = model(input_ids=tokenizer(texts, return_tensors="pt")["input_ids"], decoder_input_ids=begin).logits[:, -1]
        nn.functional.cross_entropy(logits, answers[torch.tensor(labels)]).backward()
        optimizer.step()
        optimizer.zero_grad()
    return Models(model.eval(), tokenizer)


@torch.no_grad()
def weights_of(found: Models, texts: Sequence[str]) -> Tensor:
    """Return the cross-attention of the deciding step, mean over heads and layers, ``(B, T)``."""
    answers: Any = found.tokenizer.convert_tokens_to_ids(list(ANSWERS))
    network = CrossingNetwork(found.model, 0, 2, answers=answers).eval()
    tokens = found.tokenizer(list(texts), return_tensors="pt")["input_ids"]
    layers = observe_layers(network, None, tokens, torch.ones_like(tokens, dtype=torch.bool))
    return network.explained(layers.attention, layers.texts, layers.predicted)


def tried(found: Models, texts: Sequence[str], labels: Sequence[int], experiments: Any = EXPERIMENTS) -> attest.Trial:
    """Return the trial of a model that answers with the word it copies."""
    return attest.trial(
        found.model, texts, experiments, tokenizer=found.tokenizer, labels=labels, label_names=ANSWERS, prompt="{text}",
        answers={answer: answer for answer in ANSWERS}, progress=False,
    )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Train both models, put them on trial, and print a table; with a folder, keep their reports there."""
    torch.set_num_threads(1)
    texts, labels, places = planted(TEXTS, torch.Generator().manual_seed(99))
    columns = []
    for uniform in (False, True):
        started = time.perf_counter()
        found = trained(uniform)
        print(f"trained in {time.perf_counter() - started:.0f} s", flush=True)
        started, trial = time.perf_counter(), tried(found, texts, labels)
        print(f"{len(texts)} texts tried in {time.perf_counter() - started:.0f} s", flush=True)
        weights = weights_of(found, texts)
        own = weights.gather(-1, places.unsqueeze(-1)).mean(), (weights.argmax(dim=-1) == places).double().mean()
        numbers = [trial.summary.get(f"{key}/mean", trial.summary.get(key)) for key in SHOWN]
        columns.append([*map(float, own), *numbers])
        if arguments:
            trial.save(Path(arguments[0]) / ("uniform" if uniform else "free"))
    named = ("weight of the planted word", "texts in which it has the largest weight", *SHOWN.values())
    rows = [[name, *(f"{value:.3f}" for value in values)] for name, *values in zip(named, *columns, strict=True)]
    print(markdown_table([["", "free", "uniform"], *rows]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
