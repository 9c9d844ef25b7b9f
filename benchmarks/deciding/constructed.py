"""Count the errors of the measure of what decides on networks with hand-set parameters (configs/judges/population.yaml).

    python -m benchmarks.deciding.constructed --processes 2
    python -m benchmarks.deciding.constructed --networks 20     # at most 20 more

Nothing was chosen on these networks: the measure and its bounds were fixed before the first of them was asked. The truth is
that of ``trained`` beside this file: every subset of the words of the rule is tried, with the generator's own fillers in all
other places. Attention is what pools states, or rollout where attention is inside layers alone.

A network is a row of docs/results/deciding/constructed.csv as soon as it has been tried; what is there is not tried again.

Legend: B texts, T tokens.
"""

import argparse
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml
from torch import Tensor, nn

from attest.core.measures import probabilities
from attest.core.randomness import random_bits
from attest.experiments.deciding import Game, deciding_words, neutral_words, pointing
from attest.experiments.deciding import Texts as Asked
from attest.judges.judging import GAIN_SEED
from attest.judges.population import Recipe, made
from attest.judges.texts import Texts, draw_texts
from attest.judges.truth import moved_by_fillers, moved_by_states
from attest.runs.folder import write_text
from benchmarks.deciding.page import TABLES, write
from benchmarks.deciding.trained import explained, read_by, truth_by_replacement

STATED = Path("configs/judges/population.yaml")
TABLE = TABLES / "constructed.csv"
TEXT_SEED = 7
KINDS = ("pooled", "layered", "decoder")
FIELDS = ("rules", "shares", "projections", "noises", "margins", "residuals", "depths", "idle_heads", "mixtures", "looks")


def recipes(stated: Mapping[str, Any]) -> Iterator[Recipe]:
    """Yield the recipe of each network, mechanism by mechanism; mechanisms with an added place have counts of their own."""
    added = stated["added"]
    for value in (*stated["values"], *added["values"]):
        for look in (*stated["looks"], *added["looks"]):
            fresh = value in added["values"] or look in added["looks"]
            for kind, count in (added if fresh else stated)["kinds"].items():
                if kind != "decoder" or value in stated["decoder_values"]:
                    yield from (_drawn(stated, kind, value, look, number) for number in range(count))


def _drawn(stated: Mapping[str, Any], kind: str, value: str, look: str, number: int) -> Recipe:
    values, looks = ([*stated[name], *stated["added"][name]] for name in ("values", "looks"))
    coordinates = values.index(value), looks.index(look), KINDS.index(kind), number
    key = [torch.tensor(each) for each in coordinates]
    bits = random_bits(stated["seed"], *key, torch.arange(len(FIELDS))).tolist()
    rule, share, projection, noise, margin, residual, depth, idle, mixture, other = (
        stated[name][drawn % len(stated[name])] for name, drawn in zip(FIELDS, bits, strict=True)
    )
    return Recipe(kind, value, look, rule, share, projection, noise, margin, residual, depth, idle, mixture, other)


def refused(network: nn.Module | None, texts: Texts, stated: Mapping[str, Any]) -> str:
    """Return why a network does not count; an empty string if it does."""
    if network is None:
        return "no gain lets it decide every text by its rule"
    with torch.no_grad():
        if bool((network(texts.tokens, texts.mask).argmax(dim=-1) != texts.labels).any()):
            return "it decides a text against its rule"
        if bool((network(texts.exchanged, texts.mask).argmax(dim=-1) == texts.labels).any()):
            return "it keeps a decision when the words are exchanged"
        if moved_by_fillers(network, texts, stated["replaced"]) > stated["delta"]:
            return "it moves when a token that does not decide is replaced"
        moved, kept = moved_by_states(network, texts, stated["replaced"])
        if moved > stated["delta"]:
            return "it moves when a state that carries nothing is replaced"
        return "it keeps a decision when the carrying states are exchanged" if kept else ""


def row_of(numbered: tuple[int, Recipe], stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a network of the population.

    Returns:
        ``network``, its number; ``value``, ``look``, ``kind``, ``rule``; ``refused``, why it does not count, or an empty
        string; and if it counts, what ``compared`` returns.
    """
    number, recipe = numbered
    named: dict[str, Any] = {
        "network": number,
        "value": recipe.value,
        "look": recipe.look,
        "kind": recipe.kind,
        "rule": recipe.rule,
    }
    network = made(recipe, draw_texts(recipe.rule, stated["gain_texts"], GAIN_SEED))
    texts = draw_texts(recipe.rule, stated["texts"], TEXT_SEED)
    named["refused"] = refused(network, texts, stated)
    if network is None or named["refused"]:
        return named
    attention, ranked = explained(network, texts)
    return named | compared(network, texts, attention, ranked, stated["seed"])


def compared(network: nn.Module, texts: Texts, attention: Tensor, ranked: Tensor, seed: int) -> dict[str, Any]:
    """Ask the measure and the truth of each text whether an explanation is right, and count.

    Args:
        attention: ``(B, T)``, the explanation.
        ranked: bool ``(B, T)``, the tokens that count.
        seed: of fillings.
    Returns:
        ``texts``, and how many of them need words: by the measure (``needs``), in truth (``needs_truth``), by both (``both``);
        ``measured`` and ``truth``, the share of texts that need words in which the explanation is right, NaN where none needs
        words; of texts that need words by both, those that ``agree``, and those that are ``false_right``.
    """
    with torch.no_grad():
        said = probabilities(network(texts.tokens, texts.mask))
    places = torch.arange(texts.tokens.shape[1]).expand_as(texts.tokens)
    asked = Asked(read_by(network, texts, said.argmax(dim=1)), texts.ids, texts.tokens, places.masked_fill(~ranked, -1))
    neutral, falls, rises = neutral_words(asked, said, seed)
    game = Game(asked, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    best = deciding_words(game, [falls + rises, falls], needs)
    right = pointing(game, best, asked.of_words(attention), needs).right
    truth = truth_by_replacement(asked, neutral.least_way, texts, attention, ranked, seed)
    both = needs & truth.needs
    return {
        "texts": len(needs),
        "needs": int(needs.sum()),
        "needs_truth": int(truth.needs.sum()),
        "both": int(both.sum()),
        "measured": float(right[needs].double().mean()),
        "truth": float(truth.right[truth.needs].double().mean()),
        "agree": int((right == truth.right)[both].sum()),
        "false_right": int((right & ~truth.right)[both].sum()),
    }


def main() -> None:
    """Try networks that have no row yet, keep the row of each, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, help="how many are tried at most; by default all that are left")
    parser.add_argument("--processes", type=int, default=2)
    typed = parser.parse_args()
    torch.set_num_threads(1)
    stated = yaml.safe_load(STATED.read_text(encoding="utf-8"))
    table = pd.read_csv(TABLE) if TABLE.is_file() else pd.DataFrame({"network": []})
    asked = [each for each in enumerate(recipes(stated)) if each[0] not in {*table["network"]}][: typed.networks]
    with ProcessPoolExecutor(typed.processes, get_context("fork")) as shared:
        for row in shared.map(partial(row_of, stated=stated), asked):
            table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
            write_text(TABLE, table.round(4).convert_dtypes().to_csv(index=False, lineterminator="\n"))
            print(*row.values(), flush=True)
    write()


if __name__ == "__main__":
    main()
