"""A tiny Llama, trained to answer prompts by a planted span: `` good`` where two certain words stand, else `` bad``."""

from dataclasses import dataclass
from functools import cache

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from tests.models.pretrained.speaking import ANSWERS, FILLERS, TEMPLATE, speaking_tokenizer

SPAN = "very fine"
WORDS, BEFORE = 10, 2
"""Words of a text, and tokens of the prompt before it."""
STEPS, TEXTS = 120, 64


@dataclass(frozen=True)
class Planted:
    """The model, and texts that it has not seen."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    texts: list[str]
    labels: list[int]
    spans: dict[int, list[int]]
    """Tokens of the prompt that were planted, by the number of the text."""


def planted(generator: torch.Generator, count: int) -> tuple[list[str], list[int], dict[int, list[int]]]:
    """Texts of fillers, every second one with the span somewhere, their classes, and where it stands."""
    drawn = torch.randint(len(FILLERS), (count, WORDS), generator=generator)
    places = torch.randint(WORDS - 1, (count,), generator=generator).tolist()
    words = [[FILLERS[word] for word in row] for row in drawn.tolist()]
    for number in range(0, count, 2):
        words[number][places[number] : places[number] + 2] = SPAN.split()
    spans = {number: [BEFORE + places[number], BEFORE + places[number] + 1] for number in range(0, count, 2)}
    return [" ".join(row) for row in words], [1 - number % 2 for number in range(count)], spans


@cache
def trained() -> Planted:
    """A few CPU seconds, the same every time."""
    torch.manual_seed(0)
    tokenizer = speaking_tokenizer()
    config = AutoConfig.for_model(
        "llama", vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=3,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(1)
    both = torch.tensor(tokenizer.convert_tokens_to_ids([f"Ġ{answer.strip()}" for answer in ANSWERS.values()]))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        texts, labels, _ = planted(generator, TEXTS)
        ids = tokenizer([TEMPLATE.replace("{text}", text) for text in texts], return_tensors="pt")["input_ids"]
        loss = torch.nn.functional.cross_entropy(model(input_ids=ids).logits[:, -1], both[torch.tensor(labels)])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return Planted(model.eval(), tokenizer, *planted(generator, TEXTS))
