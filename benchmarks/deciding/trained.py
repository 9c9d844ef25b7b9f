"""Hold the measure of what decides against small trained networks, whose rule is known.

    python -m benchmarks.deciding.trained --networks 24 --processes 2

The truth is found by replacement, without the search: every subset of the words of the rule is tried, with the generator's own
fillers in all other places. A text needs words if the way from fillers alone to the whole text is long enough, as in the
measure. An explanation is right in it if all words of some least deciding subset have more weight than every word that is in
no such subset and moves nothing.

Legend: B texts, T tokens, S subsets, D fillings, W words of the rule.
"""

import argparse
import random
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
import yaml
from torch import Tensor, nn

from attest.core.attention.rollout import attention_rollout
from attest.core.measures import probabilities
from attest.core.randomness import random_bits, stream
from attest.experiments import observe
from attest.experiments.deciding import Game, Neutral, deciding_words, neutral_words, pointing
from attest.experiments.deciding import Texts as Asked
from attest.experiments.deciding.filling import DECIDES
from attest.experiments.deciding.pointing import MATTERS, TIE
from attest.experiments.judges.texts import FILLERS, RULES, Texts, draw_texts
from attest.experiments.layers import observe_layers
from attest.experiments.layers.rollout import where_rollout_begins
from benchmarks.deciding.page import SETTING, kept
from benchmarks.judges.trained import DECOY, FREE, TRUTH
from benchmarks.judges.training import trained

STATED = Path("configs/judges/trained.yaml")
DRAWS = 16
"""Fillings of each subset."""
SIZE = 32
"""Texts of a network."""
LEARNED = 0.98


class Truth(NamedTuple):
    """What decides by replacement."""

    needs: Tensor
    """bool ``(B,)``, texts that need words."""
    right: Tensor
    """bool ``(B,)``, whether the explanation is right."""
    deciding: Tensor
    """bool ``(B, T)``, the words of any least deciding subset."""


def asked_for() -> list[tuple[str, str, str, int, str]]:
    """Return every network that can be trained, in a fixed random order: network, projection, rule, seed, guide."""
    free = product(("bilstm", "average", "cnn", "transformer", "decoder"), ("softmax", "entmax15"), RULES, (0, 1), (FREE,))
    guided = product(("bilstm", "average", "cnn"), ("softmax",), RULES, (0, 1), (TRUTH, DECOY))
    every = [*free, *guided]
    random.Random(0).shuffle(every)
    return every


def read_by(network: nn.Module, texts: Texts, decided: Tensor) -> Any:
    """Return the function that gives the probability of each text's decision under other tokens."""

    @torch.no_grad()
    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        found = probabilities(network(tokens, texts.mask[rows]))
        return found.gather(1, decided[rows].unsqueeze(1)).squeeze(1)

    return read


def truth_by_replacement(asked: Asked, neutral: Neutral, texts: Texts, attention: Tensor, ranked: Tensor, seed: int) -> Truth:
    """Find what decides among the words of the rule by trying all their subsets."""
    rule = texts.deciding & ranked
    most = int(rule.sum(dim=1).max())
    subsets = torch.tensor([*product((False, True), repeat=most)])
    number = (rule.cumsum(dim=1) - 1).clamp(min=0)
    kept = subsets.T[number.clamp(max=most - 1)].permute(0, 2, 1) & rule.unsqueeze(1)  # (B, S, T)
    always = texts.mask & ~ranked
    draws = torch.arange(DRAWS)[:, None]
    drawn = random_bits(stream(seed, "truth"), texts.ids[:, None, None], draws, torch.arange(rule.shape[1]))
    fillings = drawn.remainder(len(FILLERS)) + FILLERS[0]
    written = torch.where((kept | always.unsqueeze(1)).unsqueeze(2), texts.tokens[:, None, None], fillings.unsqueeze(1))
    rows = torch.arange(len(rule)).repeat_interleave(len(subsets) * DRAWS)
    values = asked.read(rows, written.flatten(0, 2)).double().unflatten(0, (len(rule), len(subsets), DRAWS)).mean(dim=-1)
    nothing = values[:, 0]
    way = asked.whole - nothing
    decides = values >= (nothing + DECIDES * way).unsqueeze(1)
    smaller = (subsets.unsqueeze(1) | ~subsets.unsqueeze(0)).all(dim=-1) & ~torch.eye(len(subsets), dtype=torch.bool)
    there = (subsets.unsqueeze(0) <= (torch.arange(most) < rule.sum(dim=1, keepdim=True)).unsqueeze(1)).all(dim=-1)
    decides &= there
    least = decides & ~(decides.unsqueeze(1) & smaller.unsqueeze(0)).any(dim=-1)
    of_least = (kept & least.unsqueeze(2)).any(dim=1)
    with_word = subsets.T.unsqueeze(0) & there.unsqueeze(1)  # (1, W, S)
    partner = torch.arange(len(subsets)) ^ (1 << torch.arange(most - 1, -1, -1)).unsqueeze(1)
    moved = (values[:, partner] - values.unsqueeze(1)).abs().masked_fill(~with_word, 0).amax(dim=-1)  # (B, W)
    matters = rule & (moved >= (MATTERS * way).unsqueeze(1)).gather(1, number.clamp(max=most - 1))
    others = attention.masked_fill(~ranked | of_least | matters, 0).amax(dim=1, keepdim=True)
    of_subset = attention.unsqueeze(1).masked_fill(~kept, torch.inf).amin(dim=-1)
    leads = least & (of_subset >= TIE * others) & (of_subset > 0) & kept.any(dim=-1)
    needs = (way >= neutral.least_way) & least.any(dim=1)
    return Truth(needs, needs & leads.any(dim=1), of_least)


def explained(network: Any, texts: Texts) -> tuple[Tensor, Tensor]:
    """Return pooled attention, or rollout where attention is inside layers alone, and the tokens that count, ``(B, T)``."""
    observation = observe(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    if getattr(network, "pools_by_attention", True):
        return observation.attention, observation.ranked
    with torch.no_grad():
        layers = observe_layers(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    return attention_rollout(layers.attention, where_rollout_begins(observation)).detach(), observation.ranked


def rows_of(asked_for: tuple[str, str, str, int, str], stated: Mapping[str, Any]) -> pd.DataFrame:
    """Train a network, and return a row for each of its texts; no row if it has not learned its rule."""
    started = time.process_time()
    network, (kind, projection, rule, seed, guide) = trained(asked_for, stated), asked_for
    others = draw_texts(rule, 1000, seed + 2000)
    with torch.no_grad():
        learned = float(((network(others.tokens, others.mask)[:, 0] > 0).long() == others.labels).double().mean())
    named = {"kind": kind, "projection": projection, "rule": rule, "seed": seed, "guide": guide, "accuracy": learned}
    if learned < LEARNED:
        return pd.DataFrame([named])
    texts = draw_texts(rule, SIZE, seed)
    with torch.no_grad():
        said = probabilities(network(texts.tokens, texts.mask))
    attention, ranked = explained(network, texts)
    places = torch.arange(texts.tokens.shape[1]).expand_as(texts.tokens)
    asked = Asked(read_by(network, texts, said.argmax(dim=1)), texts.ids, texts.tokens, places.masked_fill(~ranked, -1))
    trained_in = time.process_time() - started
    neutral, falls, rises = neutral_words(asked, said, seed)
    game = Game(asked, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    best = deciding_words(game, [falls + rises, falls], needs)
    searched = game.passes
    found = pointing(game, best, asked.of_words(attention), needs)
    truth = truth_by_replacement(asked, neutral, texts, attention, ranked, seed)
    shown = asked.of_words(truth.deciding.double())[:, : best.shape[1]] > 0
    return pd.DataFrame(
        {
            "needs": needs.numpy(),
            "right": found.right.numpy(),
            "needs_truth": truth.needs.numpy(),
            "right_truth": truth.right.numpy(),
            "foreign": (best & ~shown).any(dim=1).numpy(),
            "words": best.sum(dim=1).numpy(),
        }
    ).assign(
        **named,
        search=searched / SIZE,
        passes=game.passes / SIZE,
        trained=trained_in,
        seconds=time.process_time() - started - trained_in,
    )


def main() -> None:
    """Print a line for each network, and the errors of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=24)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    stated = yaml.safe_load(STATED.read_text(encoding="utf-8"))
    asked, parts = asked_for()[typed.skip : typed.skip + typed.networks], []
    with ProcessPoolExecutor(typed.processes, get_context("fork")) as shared:
        for name, rows in zip(asked, shared.map(partial(rows_of, stated=stated), asked), strict=True):
            parts.append(_in_one_row(rows))
            print(*name, *(f"{key} {value:.2f}" for key, value in parts[-1].items() if isinstance(value, float)), flush=True)
    kept("trained", pd.DataFrame(parts))


def _in_one_row(rows: pd.DataFrame) -> dict[str, Any]:
    named = {name: rows[name].iloc[0] for name in (*SETTING, "accuracy")}
    if "needs" not in rows:
        return named
    both = rows[rows.needs & rows.needs_truth]
    return named | {
        "texts": len(rows),
        "needs": rows.needs.mean(),
        "needs_truth": rows.needs_truth.mean(),
        "measured": rows[rows.needs].right.mean(),
        "truth": rows[rows.needs_truth].right_truth.mean(),
        "both": len(both),
        "agree": (both.right == both.right_truth).mean(),
        "false_right": int((both.right & ~both.right_truth).sum()),
        "foreign": both.foreign.mean(),
        "words": both.words.mean(),
        "passes": rows.passes.mean(),
    }


if __name__ == "__main__":
    main()
