"""Race the attention and the gradients of a language model that answers a prompt against inseq.

    pip install inseq
    python -m benchmarks.beside_inseq --model <folder> --texts 32

Both sides are asked about the same prompts and about the answer that the model prefers: which weights its last token gives to
each token, in each layer and head; and gradient × input of that answer's probability among the answers. Their numbers must be
equal. A side pays for its passes and for turning texts into tokens; what it does once, before the first batch, is not counted.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attest.app.api.batches import Batch, batches_of
from attest.app.api.foreign import read_by
from attest.datamodules.labelled import labelled
from attest.experiments.readings.kinds import READINGS
from attest.models.layers_observed import observe_layers
from attest.models.observation import observe
from attest.models.pretrained.prompted import Prompt
from benchmarks.measuring import Cost

PROMPT = Prompt("Review: {text}\nSentiment:", {"bad": " bad", "good": " good"})
NAMES = ("attention of the last token", "gradient × input")


class Inseq:
    """The same by inseq.

    Args:
        model, tokenizer: of transformers, a causal language model.
        answers: the ids of the answers, in class order.
    """

    def __init__(self, model: Any, tokenizer: Any, answers: list[int]) -> None:
        import inseq

        def among_answers(args: Any) -> Tensor:
            logits = args.attribution_model.output2logits(args.forward_output)[:, answers]
            chosen = (args.target_ids.view(-1, 1) == torch.tensor(answers)).int().argmax(dim=1, keepdim=True)
            return logits.softmax(dim=-1).gather(1, chosen).squeeze(1)

        inseq.register_step_function(among_answers, "among_answers", overwrite=True)
        methods = {NAMES[0]: "attention", NAMES[1]: "input_x_gradient"}
        self.models = {name: inseq.load_model(model, method, tokenizer=tokenizer) for name, method in methods.items()}

    def of(self, name: str, texts: list[str], answers: list[str]) -> list[Tensor]:
        """Return of each text the numbers of its tokens: ``(T, layers, heads)``, or ``(T,)``."""
        asked = [PROMPT.about(text) for text in texts]
        written = [prompt + answer for prompt, answer in zip(asked, answers, strict=True)]
        more = {} if name == NAMES[0] else {"attributed_fn": "among_answers"}
        found = self.models[name].attribute(asked, written, batch_size=len(texts), show_progress=False, **more)
        values = [each.target_attributions[: each.attr_pos_start, 0].detach() for each in found.sequence_attributions]
        return values if name == NAMES[0] else [each.sum(dim=-1) for each in values]


def ours(network: Any, encode: Any, name: str, texts: list[str]) -> tuple[list[Tensor], list[int]]:
    """Return the same from Attest, and the number of each text's answer."""
    found: list[Tensor] = [torch.empty(0)] * len(texts)
    predicted = [0] * len(texts)
    for batch in batches_of(texts, encode, batch_size=len(texts)):
        values, answers = (_attention if name == NAMES[0] else _gradients)(network, batch)
        for place, each, answer in zip(batch["id"].tolist(), values, answers.tolist(), strict=True):  # type: ignore[union-attr]
            found[place], predicted[place] = each, answer
    return found, predicted


def _attention(network: Any, batch: Batch) -> tuple[list[Tensor], Tensor]:
    seen = observe_layers(network, batch["id"], batch["token_ids"], batch["mask"])  # type: ignore[arg-type]
    counts = batch["mask"].sum(dim=1).tolist()  # type: ignore[union-attr]
    last = [[maps[row, :, count - 1, :count].T for maps in seen.attention.values()] for row, count in enumerate(counts)]
    return [torch.stack(each, dim=1) for each in last], seen.predicted


def _gradients(network: Any, batch: Batch) -> tuple[list[Tensor], Tensor]:
    seen = observe(network, batch["id"], batch["token_ids"], batch["mask"])  # type: ignore[arg-type]
    values = READINGS["gradient-input"].of(seen).detach()
    return [each[mask] for each, mask in zip(values, batch["mask"], strict=True)], seen.predicted


def race(model: Any, tokenizer: Any, texts: list[str], batch_size: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield a name, the CPU seconds of inseq and of Attest, and the largest difference between their numbers."""
    network, encode, *_ = read_by(model, tokenizer, None, None, None, PROMPT)
    others, answers = Inseq(model, tokenizer, PROMPT.first_tokens(tokenizer)), [*PROMPT.answers.values()]
    network.eval()
    for name in NAMES:
        theirs, mine, apart = Cost(), Cost(), 0.0
        for start in range(0, len(texts), batch_size):
            some = texts[start : start + batch_size]
            if start == 0:  # what each side does once is not counted
                others.of(name, some, [answers[each] for each in ours(network, encode, name, some)[1]])
            found, predicted = mine.of(partial(ours, network, encode, name, some))
            expected = theirs.of(partial(others.of, name, some, [answers[each] for each in predicted]))
            apart = max([apart, *(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))])
        yield name, theirs.seconds, mine.seconds, apart


def main() -> None:
    """Print a line for each kind of numbers."""
    from attest.models.pretrained.loading import load

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a folder that save_pretrained wrote, or an id on the Hub")
    parser.add_argument("--texts", type=int, default=32, help="test sentences of SST")
    parser.add_argument("--batch-size", type=int, default=8)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    model, tokenizer = load(typed.model, prompted=True)
    model.set_attn_implementation("eager")  # inseq reads the weights that the model returns
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    print(f"{'':<28}{'inseq s':>10}{'ours s':>10}{'ratio':>8}{'apart':>10}")
    for name, theirs, mine, apart in race(model, tokenizer, labelled("sst", "test", typed.texts).texts, typed.batch_size):
        print(f"{name:<28}{theirs:>10.2f}{mine:>10.2f}{theirs / mine:>6.1f} ×{apart:>10.1e}")


if __name__ == "__main__":
    main()
