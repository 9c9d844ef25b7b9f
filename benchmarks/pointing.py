"""Can one train attention that points at the words that decide? On SST, with the BiLSTM of Jain & Wallace.

    python -m benchmarks.pointing --seeds 3 --root runs   # trains what is missing, keeps what each text says, writes the page
    python -m benchmarks.pointing                         # writes the page from what is kept

Stated on 2026-11-28, before the first of these runs; of the softmax base, seeds 0 and 1 of the table ``sparse`` were known.

* Settings: 1.5-entmax whose α is learned; random masking of training texts (``masking=uniform``); and a penalty of 1 and of
  10 on attention outside the words that decide. For the penalty, the trained base is asked which words decide (E19) in a
  quarter of the training texts, chosen by id; then a new network is trained from the base's initialisation, and the loss of
  each of these texts has a second term, the penalty times its attention outside these words. Nothing else differs.
* Endpoints: E19 on at most 160 test texts of each run, as in the table ``sparse``. Of each setting it is claimed that
  attention is right in more texts than the base's, and that the accuracy is the same within 3 points. Both families of four
  claims are judged by ``RULES`` and ``FAMILIES`` (at 0.05 / 4), over three seeds and, for the first, over the texts of every
  seed.
* A setting *raises the share at equal accuracy* if both of its claims hold. No setting is tried beside these, and none is
  left out for its result.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attest.app.dependent import Base, Dependent, train_base, train_dependent
from attest.core.attention.interventions import recorded
from attest.core.memory import in_evaluation_mode
from attest.core.randomness import random_uniforms, stream
from attest.experiments.deciding.experiment import tokens_that_decide
from attest.lightning_modules import Classifier
from attest.lightning_modules.base_network import DependentModule, MakeNetwork
from attest.lightning_modules.classifier import attended
from attest.lightning_modules.text_module import Batch
from attest.models.observation import observe
from attest.runs.asked import AskedRun
from attest.runs.folder import RunFolder
from benchmarks.beside_base import Settings
from benchmarks.sparse import RESULTS

PAGE = RESULTS / "pointing-attention.md"
BASE = "softmax"
SETTINGS: dict[str, tuple[str, ...]] = {
    BASE: ("PROJECTION=softmax",),
    "learned α": ("PROJECTION=entmax-learned",),
    "masking": ("PROJECTION=softmax", "--model.init_args.masking=uniform"),
}
"""The settings that are base runs themselves, and what is typed for each."""
PENALTIES = {"penalty 1": 1.0, "penalty 10": 10.0}
"""The settings that depend on the run with ``BASE``."""
TRIED = {
    "learned α": "1.5-entmax whose α is learned",
    "masking": "random tokens of training texts are masked",
    "penalty 1": "attention outside the words that decide costs its share, in a quarter of the training texts",
    "penalty 10": "the same, ten times as much",
}
"""What is compared with ``BASE``, in words."""
COMPARED = Settings(
    RESULTS / "pointing",
    BASE,
    TRIED,
    {"right": "attention is right", "right_random": "random order", "right_leave_one_out": "leave-one-out"},
)
TYPED = ("DATA=sst", "MODEL=bilstm", "SCORING=additive", "RECIPE=jw", "EXPERIMENTS=verdict", "LOGGER=csv")
"""What is typed for every run."""


class PointingClassifier(DependentModule, Classifier):
    """A classifier that is trained with a penalty on attention outside the words that decide in its base run's network.

    The base's network is asked about each text once, when the text is first met. Logs ``train/outside``, the mean attention
    outside the deciding words, over the texts of a batch in which they are known.

    Args:
        penalty: weight of that attention, a share in [0, 1], in the loss of a text.
        share: the share of training texts about which the base's network is asked; ids choose them.
        options: as in ``Classifier``.
    """

    def __init__(self, base_network: MakeNetwork, penalty: float = 1.0, share: float = 0.25, **options: Any) -> None:
        super().__init__(base_network, **options)
        self.penalty, self.share = penalty, share
        self.known: dict[int, Tensor] = {}
        """By id, which tokens of a text decide, bool ``(T,)``; none of a text that needs no words."""

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        with recorded(self.network, "weights") as weights:
            logits = self(self.training_tokens(batch), attended(batch))
        losses = self.instance_losses(logits, batch["label"])
        decide = self.deciding(batch)
        outside = (weights["attention"] * ~decide).sum(dim=1) * decide.any(dim=1)
        self.log("train/loss", losses.detach().mean(), batch_size=len(losses))
        self.log("train/outside", outside.detach().sum() / decide.any(dim=1).sum().clamp(min=1), batch_size=len(losses))
        losses = losses + self.penalty * outside
        return losses.sum() if self.loss_reduction == "sum" else losses.mean()

    def deciding(self, batch: Batch) -> Tensor:
        """Return which tokens decide in the base's network, bool ``(B, T)``; none in texts about which it is not asked."""
        chosen = random_uniforms(stream(0, "texts that are asked"), batch["id"]) < self.share
        ids = batch["id"].tolist()
        new = torch.tensor([row for row, each in enumerate(ids) if chosen[row] and each not in self.known], dtype=torch.long)
        if len(new):
            network = self.base.network.to(batch["mask"].device)
            with torch.no_grad(), in_evaluation_mode(network):
                asked = observe(network, batch["id"][new], batch["token_ids"][new], batch["mask"][new])
                found = tokens_that_decide(asked)
            self.known |= {ids[row]: found[place][batch["mask"][row]] for place, row in enumerate(new.tolist())}
        decide = torch.zeros_like(batch["mask"])
        for row in chosen.nonzero().flatten().tolist():
            decide[row, : len(self.known[ids[row]])] = self.known[ids[row]]
        return decide


def trained(seed: int, root: Path, more: Sequence[str] = ()) -> Iterator[tuple[str, RunFolder]]:
    """Train what is missing of all settings with one seed; yield the name and the folder of each run.

    Args:
        more: words that are typed for every run as well.
    """
    own = [f"--run.root={root}", "--run.evidence_while_training=false", *more]
    bases: dict[str, Base] = {}
    for name, words in SETTINGS.items():
        bases[name] = train_base(AskedRun.of([*TYPED, *words, f"SEED={seed}", *own]))
        yield name, bases[name].folder
    for name, penalty in PENALTIES.items():
        changes: dict[str, Any] = {
            "model": {"class_path": "benchmarks.pointing.PointingClassifier", "init_args": {"penalty": penalty}},
            "experiments": bases[BASE].settings["experiments"],
        }
        yield name, train_dependent(bases[BASE], Dependent("pointing", f"penalty-{penalty:g}", changes))


ABOUT = (
    "[Sparse attention](sparse-attention.md) is not shown to make a BiLSTM attend to the [words that decide](../deciding.md). "
    "Can training do it? Each setting is compared with the softmax base (Jain & Wallace's BiLSTM on SST), with the same seeds "
    "and on the same texts. Settings, claims and tests were stated on 2026-11-28 in `benchmarks/pointing.py`, before the "
    "first run; the claims of a column are judged together, each at 0.05 / 4. Intervals are of 95 %. All numbers: "
    "`python -m benchmarks.pointing --seeds 3`."
)
LIMITS = (
    "One corpus, one architecture, random embeddings, three seeds, at most 160 texts of each run. The words that decide are "
    "those of the network at hand: of the base for the penalty, and of each network for its own share. A network whose "
    "attention is trained to point can decide otherwise than the base does, so that the share says nothing of the base. With "
    "three seeds a difference of accuracy is seldom shown to lie within 3 points."
)


def main() -> None:
    """Train what is missing and keep what each text says, if seeds are given; write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many seeds are trained")
    parser.add_argument("--root", type=Path, default=Path("runs"), help="the folder of all runs")
    typed = parser.parse_args()
    if typed.seeds:
        COMPARED.keep((name, seed, run) for seed in range(typed.seeds) for name, run in trained(seed, typed.root))
    COMPARED.write(PAGE, "Training attention to point", ABOUT, LIMITS)
    print(PAGE)


if __name__ == "__main__":
    main()
