"""Race attributions of a Transformer against captum and ICE.

    python -m benchmarks.attributions --model <folder> --texts 64
    python -m benchmarks.attributions --model <folder> --data imdb --texts 2 --tokens 380 420 --batch-size 1

Integrated gradients from embeddings of 0, 20 points by Gauss-Legendre quadrature, and leave-one-out with the mask token
in the place of each token: what both libraries do. Captum has all tokens of a text in one pass. Both sides must give the same
numbers. Where ice-faithfulness is installed, its randomisation test (k of 20 %, tokens deleted and masked) runs on the same
texts, and Attest reads as many sets of that size: seconds a set, for the sets are drawn otherwise.
"""

import argparse
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from attest.app.api.batches import Batch, batches_of
from attest.app.api.foreign import read_by
from attest.datamodules.labelled import labelled
from attest.experiments.erasure.operators import delete, mask_tokens
from attest.experiments.erasure.outcomes import outcomes_of, random_ranks, sizes
from attest.experiments.readings.formulas import STEPS, along_the_path
from attest.models.observation import Observation, observe
from benchmarks.evidence import Stage

DRAWS = 20
NAMES = ("integrated gradients", "leave-one-out")


def race(model: Any, tokenizer: Any, texts: list[str], batch_size: int = 16) -> dict[str, Stage]:
    """Compute both attributions of every text, by either library.

    Args:
        model, tokenizer: of transformers, a classifier of texts in evaluation mode.
        texts: to be attributed.
        batch_size: largest batch.
    Returns:
        What both sides cost in CPU seconds, and how far apart their numbers are, by name.
    """
    network, encode = _read_by(model, tokenizer)
    stages = {name: Stage() for name in NAMES}
    for batch in batches_of(texts, encode, batch_size=batch_size):
        seen: Observation = observe(network, batch["id"], batch["token_ids"], batch["mask"])
        captum, mask = Captum(model, int(network.masked or 0), seen.predicted), batch["mask"]
        ours = partial(along_the_path, seen, torch.arange(len(mask)), STEPS[0])
        stages[NAMES[0]].race(partial(captum.integrated_gradients, batch), ours, mask)
        stages[NAMES[1]].race(partial(captum.leave_one_out, batch), partial(_leave_one_out, seen), mask)
    return stages


def _read_by(model: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Return the network and what encodes its texts; in evaluation mode, as in a trial: else each batch is read once more."""
    network, encode, *_ = read_by(model, tokenizer, None, None, None)
    return network.eval(), encode


def _leave_one_out(observation: Observation) -> Tensor:
    """Return how far the predicted class's probability falls when a token is masked, ``(B, T)``."""
    kept = ~torch.eye(observation.mask.shape[1], dtype=torch.bool).expand(len(observation.mask), -1, -1)
    predicted = observation.probabilities.gather(-1, observation.predicted.unsqueeze(-1))
    return predicted - mask_tokens(observation, kept)


def seconds_a_set(model: Any, tokenizer: Any, texts: list[str]) -> tuple[float, float]:
    """Return the CPU seconds of ICE and of Attest for each set of tokens that is erased, or left alone."""
    from ice import ICEConfig, ICEEvaluator

    network, encode = _read_by(model, tokenizer)
    evaluator = ICEEvaluator(model, tokenizer, ICEConfig(device="cpu", n_permutations=DRAWS))
    began = time.process_time()
    for text in texts:
        given = tokenizer(text, return_tensors="pt", truncation=True)
        ids, mask = given["input_ids"][0], given["attention_mask"][0]
        evaluator.evaluate_single(ids, mask, torch.rand(len(ids)), int(model(**given).logits.argmax()))
    theirs = time.process_time() - began
    began, sets = time.process_time(), 0
    for batch in batches_of(texts, encode, batch_size=64):
        seen: Observation = observe(network, batch["id"], batch["token_ids"], batch["mask"])
        ranks, counts = random_ranks(seen.ids, seen.ranked, DRAWS + 1, 0), sizes(seen.erasable, (0.2,))
        for operator in (delete, mask_tokens):  # both scores of the explanation, sufficiency of random sets
            sets += outcomes_of(seen, ranks[:, :1], counts, operator, kinds=slice(0, 1)).numel()
            sets += outcomes_of(seen, ranks, counts, operator, kinds=slice(1, 2)).numel()
    return theirs / sets, (time.process_time() - began) / sets


class Captum:
    """The same by captum.

    Args:
        model: of transformers.
        masked: id of the mask token.
        predicted: int64 ``(B,)``, the classes whose probability is attributed.
    """

    def __init__(self, model: Any, masked: int, predicted: Tensor) -> None:
        self.model, self.masked, self.predicted = model, masked, predicted

    def integrated_gradients(self, batch: Batch) -> Tensor:
        """``(B, T)``."""
        from captum.attr import IntegratedGradients

        embedded = self.model.get_input_embeddings()(batch["token_ids"]).detach()
        attributed = IntegratedGradients(lambda inputs, mask: self._probabilities(mask, inputs_embeds=inputs)).attribute(
            embedded,
            target=self.predicted,
            additional_forward_args=batch["mask"].long(),
            n_steps=STEPS[0],
            method="gausslegendre",
        )
        return attributed.sum(dim=-1)

    @torch.no_grad()
    def leave_one_out(self, batch: Batch) -> Tensor:
        """``(B, T)``."""
        from captum.attr import FeatureAblation

        return FeatureAblation(lambda tokens, mask: self._probabilities(mask, input_ids=tokens)).attribute(
            batch["token_ids"],
            baselines=self.masked,
            target=self.predicted,
            additional_forward_args=batch["mask"].long(),
            perturbations_per_eval=batch["mask"].shape[1],
        )

    def _probabilities(self, mask: Tensor, **inputs: Tensor) -> Tensor:
        return self.model(attention_mask=mask, **inputs).logits.softmax(dim=-1)


def asked(parser: argparse.ArgumentParser) -> tuple[Any, Any, list[str], argparse.Namespace]:
    """Add options that name a model and texts; return the model, its tokenizer, the texts, and all that was typed."""
    from attest.models.pretrained.loading import load

    parser.add_argument("--model", required=True, help="a folder that save_pretrained wrote, or an id on the Hub")
    parser.add_argument("--data", default="sst", help="a corpus by name, or a file")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--tokens", type=int, nargs=2, help="of each text: the least and the most; by default any")
    typed = parser.parse_args()
    model, tokenizer = load(typed.model)
    texts = labelled(typed.data, "test", 100 * typed.texts if typed.tokens else typed.texts).texts
    if typed.tokens:
        least, most = typed.tokens
        texts = [text for text in texts if least <= len(tokenizer(text)["input_ids"]) <= most]
    return model, tokenizer, texts[: typed.texts], typed


def main() -> None:
    """Print a line for each attribution."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=16, help="captum has all tokens of a batch of texts in one pass")
    torch.set_num_threads(1)
    model, tokenizer, texts, typed = asked(parser)
    stages = race(model, tokenizer, texts, typed.batch_size)
    print(f"{'':<22}{'captum s':>10}{'ours s':>10}{'ratio':>8}{'apart':>10}")
    for name, stage in stages.items():
        ratio = stage.theirs.seconds / stage.ours.seconds
        print(f"{name:<22}{stage.theirs.seconds:>10.2f}{stage.ours.seconds:>10.2f}{ratio:>6.1f} ×{stage.apart:>10.1e}")
    if find_spec("ice"):
        theirs, ours = seconds_a_set(model, tokenizer, texts)
        print(f"{'ICE, ms a set':<22}{1000 * theirs:>10.2f}{1000 * ours:>10.2f}{theirs / ours:>6.1f} ×")


if __name__ == "__main__":
    main()
