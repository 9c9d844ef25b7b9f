"""Heads of a Transformer by look and by write against what switching them off costs (E17).

    python -m benchmarks.heads bert             # three layers, trained on words with a sign, three seeds
    python -m benchmarks.heads deberta          # the same with DeBERTa-v2's disentangled attention, one seed, fewer texts
    python -m benchmarks.heads runs/trial/my-model/reviews  # the heads of a trial that has E17, over its texts

A text of the toy has one to four words that speak for or against, and words before them that turn them round; the sum of signs
is its class, and the words that speak are what matters.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.stats import kendalltau
from torch import Tensor
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    PreTrainedModel,
)

import attest
from attest.experiments.layers.heads import HEAD

WORDS, LENGTH, CLS = 300, 24, 2
FOR, AGAINST, TURNING = range(4, 14), range(14, 24), range(24, 29)
TRAINING, EPOCHS, TOP, DRAWS = 6000, 10, 4, 1000
SEEDS, TEST = {"bert": 3, "deberta": 1}, {"bert": 300, "deberta": 100}


def texts(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor, dict[int, list[int]]]:
    """Return token ids ``(N, T)``, classes ``(N,)`` and the places of the words that speak, by text."""
    tokens = torch.randint(40, WORDS, (3 * count, LENGTH), generator=generator)
    order = torch.rand(tokens.shape, generator=generator).argsort(dim=-1)
    speaks = (order < torch.randint(1, 5, (len(tokens), 1), generator=generator)) & (torch.arange(LENGTH) > 0)
    turned = torch.rand(tokens.shape, generator=generator) < 0.3
    signs = torch.randint(0, 2, tokens.shape, generator=generator)
    said = torch.randint(FOR.start, FOR.stop, tokens.shape, generator=generator) + (AGAINST.start - FOR.start) * (1 - signs)
    tokens = torch.where(speaks, said, tokens)
    before = (speaks & turned).roll(-1, dims=1) & ~speaks
    tokens = torch.where(before, torch.randint(TURNING.start, TURNING.stop, tokens.shape, generator=generator), tokens)
    flips = 1 - 2 * before.roll(1, dims=1).long()
    total = ((2 * signs - 1) * flips * speaks).sum(dim=-1)
    kept = (total != 0).nonzero().squeeze(-1)[:count]
    tokens = torch.cat([torch.full((count, 1), CLS), tokens[kept]], dim=1)
    places = {row: (each.nonzero().squeeze(-1) + 1).tolist() for row, each in enumerate(speaks[kept])}
    return tokens, (total[kept] > 0).long(), places


SIZES = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128}
PLAIN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "vocab_size": WORDS, "max_position_embeddings": 32}
DISENTANGLED = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "share_att_key": True, "position_buckets": 16}
MODELS = {
    "bert": lambda: BertForSequenceClassification(BertConfig(**SIZES, **PLAIN)),
    "deberta": lambda: DebertaV2ForSequenceClassification(DebertaV2Config(**SIZES, **PLAIN, **DISENTANGLED)),
}


def trained(kind: str, seed: int) -> PreTrainedModel:
    """Return a Transformer of three layers with four heads each that has learned the toy."""
    torch.manual_seed(seed)
    tokens, classes, _ = texts(TRAINING, torch.Generator().manual_seed(seed))
    model = MODELS[kind]()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(tokens)).split(64):
            model(input_ids=tokens[rows], labels=classes[rows]).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return model.eval()


def rates(table: pd.DataFrame, names: list[str], kind: str) -> np.ndarray:
    """Return a column of every head, ``(texts, heads)``."""
    return table[[f"{kind}_{name}" for name in names]].to_numpy(float)


def toy(kind: str, seed: int) -> str:
    """Return what E17 says of one seed of the toy."""
    model = trained(kind, seed)
    tokens, classes, places = texts(TEST[kind], torch.Generator().manual_seed(100 + seed))
    batches = [
        {"token_ids": part, "mask": torch.ones_like(part, dtype=torch.bool), "label": labels}
        for part, labels in zip(tokens.split(50), classes.split(50), strict=True)
    ]
    settings = {"spans": places, "draws": 5}
    tried = attest.trial(model, batches, {"E17": settings}, progress=False)
    table, names = tried.table("E17"), heads_of(tried.table("E17"))
    flips = rates(table, names, "flipped").mean(0)
    orders = {"look": rates(table, names, "look").mean(0), "write": np.abs(rates(table, names, "write")).mean(0)}
    lines = [f"{kind}, seed {seed}: accuracy {tried.summary['test/accuracy']:.3f}"]
    for kind, order in orders.items():
        first = [names[place] for place in np.argsort(-order)[:TOP]]
        heads = [tuple(int(part.strip("layerhd")) for part in name.split("_")) for name in first]
        chosen = attest.trial(model, batches, {"E17": settings | {"heads": heads}}, progress=False).summary
        lines.append(
            f"  {kind}: τ-b with flips of single heads {kendalltau(order, flips).statistic:+.2f}; the first {TOP} flip "
            f"{chosen['E17/flipped_chosen/mean']:.2f}, as many random heads of these layers "
            f"{chosen['E17/flipped_random_chosen/mean']:.2f}; in the average text τ-b with the fall "
            f"{tried.summary[f'E17/tau_{kind}/mean']:+.2f}"
        )
    return "\n".join(lines)


def heads_of(table: pd.DataFrame) -> list[str]:
    """Return the names of all heads, ``layer1_head1`` first."""
    return [name.removeprefix("drop_") for name in table.columns if HEAD.fullmatch(name)]


def of_trial(folder: Path) -> str:
    """Return τ-b over heads of means over texts, with 95 % by drawing texts anew, and the measures with their intervals."""
    table = pd.read_parquet(folder / "evidence" / "E17.parquet")
    names, generator = heads_of(table), np.random.default_rng(0)
    drop = rates(table, names, "drop")
    lines = [f"{len(table)} texts, {len(names)} heads"]
    for kind in ("look", "write"):
        values = rates(table, names, kind)
        known = np.flatnonzero(~np.isnan(values).any(axis=1))

        def tau(rows: np.ndarray, values: np.ndarray = values) -> float:
            return float(kendalltau(values[rows].mean(0), drop[rows].mean(0)).statistic)

        drawn = [tau(generator.choice(known, len(known))) for _ in range(DRAWS)]
        low, high = np.quantile(drawn, [0.025, 0.975])
        lines.append(f"  {kind}: τ-b over heads of means {tau(known):+.2f} ({low:+.2f} to {high:+.2f})")
    summary = attest.open_run(folder).summary
    for name in (key.removesuffix("/mean") for key in summary if key.startswith("E17/") and key.endswith("/mean")):
        if "_layer" not in name:
            low, high = (summary[f"{name}/ci_{end}"] for end in ("low", "high"))
            lines.append(f"  {name}: {summary[f'{name}/mean']:.3f} ({low:.3f} to {high:.3f})")
    return "\n".join(lines)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for typed in sys.argv[1:]:
        for line in (toy(typed, seed) for seed in range(SEEDS[typed])) if typed in MODELS else [of_trial(Path(typed))]:
            print(line, flush=True)
