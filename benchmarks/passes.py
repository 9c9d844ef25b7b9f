"""Count what evidence about other people's Transformers costs: passes, tokens, and the share of the speed of matrix products.

    python -m benchmarks.passes --model sst=minilm-sst --model "llm=SmolLM2-135M" --texts 64 --out docs/results/passes.md

For each experiment: the tokens of all texts that its definition reads, one text after the other and each whole; the tokens
that pass the layers, padding among them; and the arithmetic of all products, backward ones too, in a second of CPU time,
beside the speed of one product of the model's own size, measured in turns. One process, one thread. A model that does not
classify texts is asked by a prompt.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from attest.app.api.batches import batches_of
from attest.app.api.foreign import read_by
from attest.app.api.measuring import Measuring
from attest.core.attention.interventions import attending
from attest.datamodules.labelled import labelled
from attest.experiments.erasure import Background
from attest.experiments.registry import askable, chosen
from attest.models.pretrained.prompted import Prompt
from attest.report.run_tables import markdown_table
from benchmarks.measuring import timed

PROMPT, ANSWERS = "Review: {text}\nSentiment:", {"negative": " negative", "positive": " positive"}
ROWS = 2048
"""Of the product that is timed: so many tokens are read at once."""
HEAD = ["experiment", "passes", "tokens of the definition", "tokens that pass", "ratio", "CPU s", "GFLOP/s", "of a product"]


class Counted:
    """The passes of a model as long as a block lasts: ``needed`` and ``run`` tokens, and arithmetic."""

    def __init__(self, model: nn.Module, layers: nn.ModuleList) -> None:
        self.model, self.layers = model, layers
        self.passes = self.needed = self.token_layers = self.flops = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count, until the block ends."""
        firsts = [next(part for part in layer.modules() if isinstance(part, nn.Linear)) for layer in self.layers]
        hooks = [self.model.register_forward_pre_hook(self._pass, with_kwargs=True)]
        hooks += [first.register_forward_pre_hook(self._layer) for first in firsts]
        try:
            with FlopCounterMode(display=False) as counter:
                yield
        finally:
            for hook in hooks:
                hook.remove()
        self.flops += counter.get_total_flops()

    def _pass(self, _model: nn.Module, _arguments: Any, told: dict[str, Any]) -> None:
        self.passes += 1
        if "position_ids" in told:  # the last token of a text alone
            self.needed += int((told["position_ids"] + 1).sum())
        else:
            self.needed += int((told["attention_mask"] > 0).sum())

    def _layer(self, _first: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self.token_layers += inputs[0].shape[:-1].numel()

    @property
    def run(self) -> int:
        """Return how many tokens passed all layers, or as many that passed some."""
        return round(self.token_layers / len(self.layers))


def speed_of_products(size: int, rounds: int = 5) -> float:
    """Return the arithmetic of a product ``(ROWS, size) @ (size, 4 size)`` in a second of CPU time, the median of rounds."""
    left, right, seconds = torch.randn(ROWS, size), torch.randn(4 * size, size), []
    for _ in range(rounds):
        seconds.append(timed(partial(nn.functional.linear, left, right))[1])
    return 2 * ROWS * size * 4 * size / statistics.median(seconds)


def counted(model: Any, tokenizer: Any, texts: Sequence[str], names: Sequence[str] | None) -> list[list[str]]:
    """Return a row for each experiment that suits a model of transformers."""
    classifies = type(model).__name__.endswith("ForSequenceClassification")
    prompt = None if classifies else Prompt(PROMPT, ANSWERS)
    network, encode, *_ = read_by(model, tokenizer, None, None, None, prompt=prompt)
    batches = list(batches_of(list(texts), encode))
    background = Background.of([torch.tensor(encode(text)) for text in texts])
    count = len(attending(network))
    layers = next(each for each in model.modules() if isinstance(each, nn.ModuleList) and len(each) == count)
    size, rows = model.get_input_embeddings().embedding_dim, []
    for name in names or askable(inside=True):
        seen = Counted(model, layers)
        measuring = Measuring(network, chosen((name,), inside=True), (), 0, background)
        products = [speed_of_products(size)]
        with seen.counting():
            _, seconds = timed(partial(measuring.all_of, batches, progress=False))
        products.append(speed_of_products(size))
        speed = seen.flops / seconds
        rows.append([
            name, f"{seen.passes:,}", f"{seen.needed:,}", f"{seen.run:,}", f"{seen.run / seen.needed:.2f}", f"{seconds:.1f}",
            f"{speed / 1e9:.1f}", f"{speed / statistics.mean(products):.0%}",
        ])  # fmt: skip
        print(*rows[-1], sep="\t", flush=True)
    return rows


def main() -> None:
    """Write a table for each model."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", required=True, help="a name, =, and a folder or an id on the Hub")
    parser.add_argument("--data", default="sst", help="a corpus by name, or a file")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--experiments", nargs="+", help="ids; by default all that suit")
    parser.add_argument("--out", type=Path, help="the page; printed if none is named")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    tables = []
    for named in typed.model:
        name, _, place = named.partition("=")
        kinds: tuple[Callable[..., Any], ...] = (
            AutoModelForCausalLM.from_pretrained,
            AutoModelForSequenceClassification.from_pretrained,
        )
        classifies = any("Classification" in each for each in AutoConfig.from_pretrained(place).architectures or [])
        model = kinds[classifies](place, dtype=torch.float32).eval()
        texts = labelled(typed.data, "test", typed.texts).texts
        tables += [
            f"## {name}",
            markdown_table([HEAD, *counted(model, AutoTokenizer.from_pretrained(place), texts, typed.experiments)]),
        ]
    page = "\n\n".join(tables)
    typed.out.write_text(page + "\n", encoding="utf-8") if typed.out else print(page)


if __name__ == "__main__":
    main()
