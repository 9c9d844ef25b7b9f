"""How much does the share of texts hang on the neutral words, on their fillings, and on the texts? Whole measurements of a
finished classifier are repeated.

    python -m benchmarks.deciding.noise runs/planted/jw-bilstm-additive-softmax/seed0

Each repetition searches for two new pools of neutral words in other training texts, draws other fillings, and asks the same
160 test texts, or 160 others.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

import attest
from attest.experiments import observe
from attest.experiments.deciding.experiment import neutral_in, texts_for_pools, what_decides
from attest.experiments.sampling import reading_order
from attest.experiments.verdict import share_of
from benchmarks.deciding.page import kept

TEXTS, BATCH = 160, 32
READINGS = ("leave-one-out", "random")


def observed(network: Any, texts: dict[int, dict[str, Any]], ids: Tensor) -> Any:
    """Observe the texts with these ids, padded to the longest."""
    chosen = [texts[each] for each in ids.tolist()]
    tokens, mask = (torch.nn.utils.rnn.pad_sequence([each[name] for each in chosen], True) for name in ("token_ids", "mask"))
    return observe(network, ids, tokens, mask)


def by_id(split: Any) -> dict[int, dict[str, Any]]:
    """Return the tokens and the mask of each text of a split, by its id."""
    return {
        identity: {"token_ids": batch["token_ids"][row], "mask": batch["mask"][row]}
        for batch in split
        for row, identity in enumerate(batch["id"].tolist())
    }


def share(network: Any, test: dict[int, Any], train: dict[int, Any], seed: int, same: bool) -> list[dict[str, Any]]:
    """Measure the share of texts once, and return it for each explanation."""
    ids = reading_order(torch.tensor([*test]), 0 if same else seed)[:TEXTS]
    ids = torch.tensor(sorted(ids.tolist(), key=lambda each: int(test[each]["mask"].sum())))
    first, second = (observed(network, train, each) for each in texts_for_pools(torch.tensor([*train]), seed))
    pools = neutral_in(first, seed), neutral_in(second, seed)
    parts = [
        what_decides(observed(network, test, part), ids, seed=seed, readings=READINGS, neutral=pools)
        for part in ids.split(BATCH)
    ]
    found = []
    for name in ("right", "right_leave_one_out", "right_random"):
        known = share_of(pd.Series(torch.cat([part[name] for part in parts]).numpy()))
        if known is not None:
            found.append({"explanation": name.removeprefix("right").strip("_") or "attention", **known._asdict()})
    return found


def main() -> None:
    """Repeat the measurement, and keep a row for each repetition and explanation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+")
    parser.add_argument("--repetitions", type=int, default=12)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, Any]] = []
    for folder in typed.run:
        run = attest.open_run(folder)
        network, test, train = run.model.network, by_id(run.split("test")), by_id(run.split("train"))
        for same in (True, False):
            for seed in range(typed.repetitions):
                started = time.process_time()
                found = share(network, test, train, seed, same)
                named = {"run": folder.parent.parent.name, "asked": "same" if same else "other", "seed": seed}
                rows += [named | each for each in found]
                print(named, found[0], f"{time.process_time() - started:.0f} s", flush=True)
    kept("noise", pd.DataFrame(rows))


if __name__ == "__main__":
    main()
