"""Hold the measure of what decides against small trained networks, whose rule is known.

    python -m benchmarks.deciding.trained

configs/judges/deciding.yaml states the networks, the endpoints and the goals. Each network that is done is a row of
docs/results/deciding/trained.csv; a run that was stopped goes on behind the last one. With ``--texts long`` or another name of
configs/judges/deciding-others.yaml, texts have another length, few of them have one of the labels, or they have a shortcut.

The truth is found by replacement, without the search: every subset of the words of the rule is tried, with the generator's own
fillers in all other places. A text needs words if the way from fillers alone to the whole text is long enough, as in the
measure. An explanation is right in it if all words of some least deciding subset have more weight than every word that is in
no such subset and moves nothing.

Legend: B texts, T tokens, S subsets, D fillings, W words of the rule.
"""

import argparse
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
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
from attest.experiments.deciding import Game, deciding_words, neutral_words, pointing
from attest.experiments.deciding import Texts as Asked
from attest.experiments.deciding.filling import DECIDES
from attest.experiments.deciding.neutral import FEW_WORDS, least_way
from attest.experiments.deciding.pointing import MATTERS, TIE
from attest.experiments.deciding.search import LONG
from attest.experiments.layers import observe_layers
from attest.experiments.layers.rollout import where_rollout_begins
from attest.judges.texts import FILLERS, LONGEST, MINUS, OTHER_MINUS, OTHER_PLUS, SHORTEST, SPACING, Texts, draw_texts
from benchmarks.deciding.looks import answer_of
from benchmarks.deciding.page import OTHERS_STATED, SETTING, STATED, TABLES, write
from benchmarks.judges.trained import FREE
from benchmarks.judges.training import OTHER_TEXTS, trained
from benchmarks.judges.training import Asked as Network

DRAWS = 16
"""Fillings of each subset."""
AT_A_TIME = 512
"""Texts that a network reads together: few enough to stay near a core."""
OTHERS = 1000
"""Texts that tell whether a network has learned its rule."""
CUES = {"negation": (OTHER_MINUS, OTHER_PLUS), "majority": (OTHER_MINUS, OTHER_PLUS), "order": (OTHER_MINUS, MINUS)}
"""Words that go along with the labels 0 and 1, and that the rule does not read."""


class Truth(NamedTuple):
    """What decides by replacement."""

    needs: Tensor
    """bool ``(B,)``, texts that need words."""
    right: Tensor
    """bool ``(B,)``, whether the explanation is right."""
    deciding: Tensor
    """bool ``(B, T)``, the words of any least deciding subset."""


def asked_for(stated: Mapping[str, Any]) -> list[Network]:
    """Return every network that may be trained, in a fixed random order; the last seed of all mechanisms comes last."""
    free = product(stated["free"], stated["projections"], stated["rules"], stated["seeds"], (FREE,))
    guided = product(stated["guided"], stated["projections"], stated["rules"], stated["seeds"], stated["guides"])
    every = [*free, *guided]
    random.Random(0).shuffle(every)
    return sorted(every, key=lambda network: network[3] == stated["seeds"][-1])


def read_by(network: nn.Module, texts: Texts, decided: Tensor) -> Any:
    """Return the function that gives the probability of each text's decision under other tokens."""

    @torch.no_grad()
    def read(rows: Tensor, tokens: Tensor) -> Tensor:
        parts = zip(tokens.split(AT_A_TIME), texts.mask[rows].split(AT_A_TIME), strict=True)
        found = torch.cat([probabilities(network(*part)) for part in parts])
        return found.gather(1, decided[rows].unsqueeze(1)).squeeze(1)

    return read


def truth_by_replacement(asked: Asked, lowest: float, texts: Texts, attention: Tensor, ranked: Tensor, seed: int) -> Truth:
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
    needs = (way >= lowest) & least.any(dim=1)
    return Truth(needs, needs & leads.any(dim=1), of_least)


def explained(network: Any, texts: Texts) -> tuple[Tensor, Tensor]:
    """Return pooled attention, or rollout where attention is inside layers alone, and the tokens that count, ``(B, T)``."""
    observation = observe(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    if getattr(network, "pools_by_attention", True):
        return observation.attention, observation.ranked
    with torch.no_grad():
        layers = observe_layers(network, texts.ids, texts.tokens, texts.mask, texts.labels)
    return attention_rollout(layers.attention, where_rollout_begins(observation)).detach(), observation.ranked


def part_of(texts: Texts, first: int, count: int) -> Texts:
    """Return some of the texts, which keep their ids."""
    return rows_of(texts, slice(first, first + count))


def rows_of(texts: Texts, rows: slice | Tensor) -> Texts:
    """Return the texts of some rows."""
    named = ("ids", "tokens", "mask", "labels", "deciding", "exchanged")
    return replace(texts, **{name: getattr(texts, name)[rows] for name in named})


def drawn_as(stated: Mapping[str, Any], rule: str, count: int, seed: int) -> Texts:
    """Draw texts as long as is stated; with the label 1 are half of them, or the share ``few``, where it is stated.

    The few stand among the others at random: each part of the texts has some of them.
    """
    lengths = tuple(stated.get("lengths", (SHORTEST, LONGEST)))
    if "few" not in stated:
        return draw_texts(rule, count, seed, lengths)
    texts = draw_texts(rule, 3 * count, seed, lengths)
    few = round(stated["few"] * count)
    rows = torch.cat([(texts.labels == label).nonzero()[:most, 0] for label, most in ((0, count - few), (1, few))])
    return rows_of(texts, rows[random_bits(stream(seed, "uneven"), rows).argsort()])


def with_cue(texts: Texts, seed: int, drawn: bool = False) -> Texts:
    """Write the word that goes along with its label into each text, behind the words of the rule.

    Args:
        texts: they have at least ``SHORTEST`` tokens; the word stands in one of the last places that every text has.
        drawn: whether a label is drawn for this word; the returned texts have this label, which the rule does not give.
    """
    place, chance = (random_bits(stream(seed, name), texts.ids) for name in ("place of the cue", "label of the cue"))
    labels = chance.remainder(2) if drawn else texts.labels
    place = SHORTEST - SPACING + place.remainder(SPACING).unsqueeze(1)
    words = torch.tensor(CUES[texts.rule])[labels].unsqueeze(1)
    return replace(texts, tokens=texts.tokens.scatter(1, place, words), labels=labels)


def reading_the_cue(texts: Texts) -> Texts:
    """Return texts with a cue, which counts as a word of their rule."""
    return replace(texts, deciding=texts.deciding | torch.isin(texts.tokens, torch.tensor(CUES[texts.rule])))


def block_of(network: Any, texts: Texts, most: int, seed: int) -> pd.DataFrame:
    """Return a row for each text of a block: the truth, and what is measured in the first ``most`` texts that need words."""
    with torch.no_grad():
        said = probabilities(network(texts.tokens, texts.mask))
    attention, ranked = explained(network, texts)
    places = torch.arange(texts.tokens.shape[1]).expand_as(texts.tokens)
    asked = Asked(read_by(network, texts, said.argmax(dim=1)), texts.ids, texts.tokens, places.masked_fill(~ranked, -1))
    truth = truth_by_replacement(asked, least_way(said), texts, attention, ranked, seed)
    known = pd.DataFrame({"needs_truth": truth.needs.numpy(), "right_truth": truth.right.numpy(), "tried": False})
    if not most:
        return known
    neutral, falls, rises = neutral_words(asked, said, seed)
    sizes = asked.there.sum(dim=1)
    singles = int((4 * sizes.where(sizes <= LONG, torch.tensor(FEW_WORDS)) + 2).sum())  # passes of neutral_words
    game = Game(asked, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    tried = needs & (needs.cumsum(dim=0) <= most)
    best = deciding_words(game, [falls + rises, falls], tried)
    searched = game.passes
    found = pointing(game, best, asked.of_words(attention), tried)
    shown = asked.of_words(truth.deciding.double())[:, : best.shape[1]] > 0
    count = max(1, int(tried.sum()))
    return known.assign(
        tried=tried.numpy(),
        needs=needs.double().numpy(),
        right=found.right.numpy(),
        foreign=(best & ~shown).any(dim=1).numpy(),
        words=best.sum(dim=1).numpy(),
        search=(singles + searched) / count,
        pointing=(game.passes - searched) / count,
    )


def row_of(asked: Network, stated: Mapping[str, Any]) -> dict[str, Any]:
    """Train a network, and return what is measured and what is true; less, if it has not learned its rule."""
    started = time.process_time()
    _, _, rule, seed, _ = asked
    learned_from = drawn_as(stated, rule, stated["train_texts"], seed + OTHER_TEXTS)
    others = drawn_as(stated, rule, OTHERS, seed + 2 * OTHERS)
    texts = drawn_as(stated, rule, sum(stated["drawn"]), seed)
    if stated.get("cue"):
        learned_from, others = with_cue(learned_from, seed), with_cue(others, seed, drawn=True)
        texts = reading_the_cue(with_cue(texts, seed))
    network = trained(asked, stated, learned_from)
    with torch.no_grad():
        rightly = ((network(others.tokens, others.mask)[:, 0] > 0).long() == others.labels).double()
    learned = float(rightly.mean())
    if "few" in stated:
        learned = min(float(rightly[others.labels == label].mean()) for label in (0, 1))
    named = dict(zip(SETTING, asked, strict=True)) | {"accuracy": learned, "training": time.process_time() - started}
    if learned < stated["learned"]:
        return named
    blocks: list[pd.DataFrame] = []
    answer, drawn = None, 0
    for block, (count, most) in enumerate(zip(stated["drawn"], stated["looks"], strict=True)):
        if answer is not None and drawn >= stated["truth"]:
            break
        rows = block_of(network, part_of(texts, drawn, count), 0 if answer else most, seed + block)
        drawn, blocks = drawn + count, [*blocks, rows]
        if answer is None:
            tried = pd.concat(blocks)[lambda rows: rows.tried]
            answer = answer_of(int(tried.right.sum()), len(tried), drawn == sum(stated["drawn"]), stated["level"])
    return named | {"answer": answer} | _in_one_row(pd.concat(blocks)) | {"seconds": time.process_time() - started}


def _in_one_row(rows: pd.DataFrame) -> dict[str, Any]:
    tried, true = rows[rows.tried].astype({"right": bool}), rows[rows.needs_truth]
    both = tried[tried.needs_truth]
    return {
        "drawn": len(rows),
        "texts": len(tried),
        "measured": tried.right.mean(),
        "true_texts": len(true),
        "truth": true.right_truth.mean(),
        "needs": rows.needs.mean(),
        "needs_truth": rows.needs_truth.mean(),
        "both": len(both),
        "false_right": int((both.right & ~both.right_truth).sum()),
        "false_wrong": int((~both.right & both.right_truth).sum()),
        "foreign": both.foreign.mean(),
        "words": both.words.mean(),
        "passes": (tried.search + tried.pointing).mean(),
        "pointing": tried.pointing.mean(),
    }


def results(stated: Mapping[str, Any], done: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each network that is not done, until enough have learned their rule.

    Args:
        done: the rows of an earlier run.
    """
    known = {*done[SETTING].itertuples(index=False, name=None)} if len(done) else set()
    learned = int((done.accuracy >= stated["learned"]).sum()) if len(done) else 0
    for asked in asked_for(stated):
        if asked[3] == stated["seeds"][-1] and learned >= stated["least"]:
            return
        if asked not in known:
            row = row_of(asked, stated)
            learned += row["accuracy"] >= stated["learned"]
            yield row


COLUMNS = (
    *SETTING,
    *("accuracy", "training", "answer", "drawn", "texts", "measured", "true_texts", "truth", "needs", "needs_truth"),
    *("both", "false_right", "false_wrong", "foreign", "words", "passes", "pointing", "seconds"),
)


def main() -> None:
    """Train and measure all networks that are stated, print a line for each, and write the page."""
    stated, others = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in (STATED, OTHERS_STATED))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", choices=others["texts"], help="texts of another length, or few texts of one label")
    parser.add_argument("--table", type=Path, help="rows are added to it; trained.csv, or that of other texts")
    typed = parser.parse_args()
    torch.set_num_threads(1)
    typed.table = typed.table or TABLES / (f"trained-{typed.texts}.csv" if typed.texts else "trained.csv")
    if typed.texts:
        stated |= others["every"] | others["texts"][typed.texts]
    if not typed.table.is_file():
        typed.table.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(columns=COLUMNS).to_csv(typed.table, index=False, lineterminator="\n")
    for row in results(stated, pd.read_csv(typed.table)):
        line = pd.DataFrame([row]).reindex(columns=COLUMNS).round(4)
        line.to_csv(typed.table, mode="a", header=False, index=False, lineterminator="\n")
        print(*row.values(), flush=True)
    write()


if __name__ == "__main__":
    main()
