"""E19: which words decide, and does an explanation point at them? Each text is measured by itself.

Legend: B texts, T tokens, W words of the longest text, R readings.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attest.core.measures.numbers import percent
from attest.core.randomness import random_bits, stream
from attest.experiments.deciding.filling import FEW, MORE, Game, Texts
from attest.experiments.deciding.neutral import (
    ROUGH,
    WITHOUT_SINK,
    Neutral,
    first_tokens,
    kinds_of_words,
    neutral_words,
    single_effects,
    sink_of,
)
from attest.experiments.deciding.observed import texts_about_a_tag, texts_of
from attest.experiments.deciding.pointing import pointing
from attest.experiments.deciding.search import deciding_words, is_long, places_in
from attest.experiments.erasure.tags import about_one_token
from attest.experiments.readings.compared import column_of, title_of
from attest.experiments.readings.kinds import RANDOM, READINGS, Reading, random_reading, reading_of
from attest.experiments.sampling import Everyone, among_first, sample_of_ids
from attest.experiments.spec import MOVES, Column, Inside, Means, OfNumbers, Row, Says, Spec, TokenWeights
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation, observe_again
from attest.models.prediction import says_number

Columns = dict[str, Tensor]
Pools = tuple[Neutral, Neutral]
"""Two pools of neutral words (words that hardly move the model), found in different texts. Each text is measured with words
from one of them, so that the results of both pools can be compared."""
ASKED = ("last-layer", "gradient-input", "leave-one-out", RANDOM)
"""The names of the explanations that are tested in addition to the explanation on trial, for comparison; those that do not
suit the network are left out."""
POOL_TEXTS = 32
"""The number of texts in which neutral words (words that hardly move the model) are searched for. Half of these texts give one
pool of such words, the other half a second one."""


def texts_for_pools(ids: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Return the ids of the texts in which each of two pools of neutral words is searched for, from all ids ``(N,)``."""
    drawn = sample_of_ids(stream(seed, "texts of pools"), ids, POOL_TEXTS)
    return (drawn[::2], drawn[1::2]) if len(drawn) > 1 else (drawn, drawn)


def neutral_in(observation: Observation | LayerObservation, seed: int) -> Neutral:
    """Find neutral words in the texts of a batch: those that move the model least, or a tagger's tag of one token.

    Which token the tested explanation puts first in each text is kept as well: ``sink_of`` asks for it.
    """
    if isinstance(observation, LayerObservation):
        view, _ = about_one_token(observation, seed)
        texts = texts_about_a_tag(view)
    else:
        view, texts = observation, texts_of(observation)
    neutral, falls, rises = neutral_words(texts, view.prediction, seed)
    game, moved = Game(texts, neutral.pool, seed), torch.maximum(falls.abs(), rises.abs())
    return neutral._replace(firsts=first_tokens(game, texts.of_words(view.explanation), moved, neutral.least_way))


def tokens_that_decide(observation: Observation, seed: int = 0) -> Tensor:
    """Search in each text of a batch for a small set of words that decides; neutral words come from the same batch.

    Returns:
        bool ``(B, T)``, True at the tokens of the set; all False in a text that needs no words.
    """
    texts, neutral = texts_of(observation), neutral_in(observation, seed)
    game = Game(texts, neutral.pool, seed)
    needs = game.way >= neutral.least_way
    falls, rises = single_effects(game, ROUGH, needs)
    best = deciding_words(game, [falls + rises, falls], needs)
    return best.gather(1, texts.words.clamp(min=0)) & (texts.words >= 0)


def what_decides(
    observation: Observation,
    everyone: Everyone,
    texts: int = 160,
    seed: int = 0,
    readings: Sequence[str] = ASKED,
    neutral: Pools | None = None,
) -> Columns:
    """Search in a random sample of texts for the words that decide, and ask of explanations whether they point at them.

    Args:
        texts: size of the sample; its texts are the first of ``reading_order``.
        seed: chooses the sample and, with an instance's id, the fillings and the pool.
        readings: the readings that are asked as well, where they suit the network; so are explanations of the user.
        neutral: two pools of neutral words; None to search for them in this batch.
    Returns:
        The columns of ``SPEC``, ``(B,)``, NaN outside the sample; and ``decides``, ``first`` and ``matter``, ``(B, T)``, 1 at
        tokens of the set of words that was found, of the explanation's first words, and of those that matter.
    """
    chosen = among_first(seed, observation.ids, everyone, texts) & (observation.erasable > 0)
    pools = (neutral_in(observation, seed),) * 2 if neutral is None else neutral
    return _of_chosen(observation, chosen, pools, seed, lambda part: _others(part, seed, readings), texts_of)


def what_decides_of_tags(
    observation: LayerObservation, everyone: Everyone, texts: int = 160, seed: int = 0, neutral: Pools | None = None
) -> Columns:
    """Ask in a random sample of sentences which other words decide the tag of one random word.

    The explanation is attention rollout from that word; a random order is held beside it.

    Args:
        texts, seed, neutral: as in ``what_decides``.
    Returns:
        As ``what_decides``; and ``token``, ``(B,)``, the place of the word, from 0.
    """
    view, place = about_one_token(observation, seed)
    chosen = among_first(seed, observation.ids, everyone, texts) & texts_about_a_tag(view).there.any(dim=1)
    pools = (neutral_in(observation, seed),) * 2 if neutral is None else neutral

    def others(part: Observation) -> Columns:
        return {RANDOM: random_reading(part, seed)}

    return _of_chosen(view, chosen, pools, seed, others, texts_about_a_tag) | {"token": place}


def _of_chosen(
    observation: Observation,
    chosen: Tensor,
    neutral: Pools,
    seed: int,
    others: Callable[[Observation], Columns],
    read: Callable[[Observation], Texts],
) -> Columns:
    """Measure the chosen texts, bool ``(B,)``, each with one of two pools."""
    rows = chosen.nonzero().squeeze(-1)
    if not len(rows):
        return {}
    part = observation.part(rows)
    pool = random_bits(stream(seed, "pools"), part.ids).remainder(2)
    found = _measured(part, neutral, pool, seed, others, read) | {"pool": pool}
    columns: Columns = {}
    for name, values in found.items():
        whole = columns[name] = _empty(observation.mask, of_tokens=values.ndim == 2)
        whole[(rows, slice(values.shape[1])) if values.ndim == 2 else rows] = values.double()
    return columns


def _empty(mask: Tensor, of_tokens: bool) -> Tensor:
    """Return 0 for each token ``(B, T)``, or NaN for each text ``(B,)``."""
    if of_tokens:
        return torch.zeros_like(mask, dtype=torch.float64)
    return torch.full(mask.shape[:1], torch.nan, dtype=torch.float64, device=mask.device)


def _measured(
    part: Observation,
    neutral: Pools,
    pool: Tensor,
    seed: int,
    others: Callable[[Observation], Columns],
    read: Callable[[Observation], Texts],
) -> Columns:
    texts = read(part)
    words = pad_sequence([each.pool for each in neutral], batch_first=True, padding_value=-1)
    game = Game(texts, words[pool], seed)
    needs = game.way >= game.way.new_tensor([each.least_way for each in neutral])[pool]
    falls, rises = single_effects(game, ROUGH, needs)
    beside = {name: texts.of_words(each.double()) for name, each in others(part).items()}
    gradient = beside.get("gradient_input_signed", torch.full_like(falls, torch.nan))  # in long texts it saves passes
    rankings = [falls + rises, falls, gradient.masked_fill(~is_long(game).unsqueeze(1), torch.nan)]
    best = deciding_words(game, rankings, needs)
    everyone, sizes = torch.arange(len(best), device=best.device), best.sum(dim=1)
    weights = texts.of_words(part.explanation)
    explanations = {"": weights} | {f"_{name}": each for name, each in beside.items()}
    if (sink := sink_of(neutral)) is not None:
        explanations[f"_{WITHOUT_SINK}"] = weights.masked_fill(kinds_of_words(texts) == sink, 0)
    right, first, matter = _pointing(game, best, [*explanations.values()], needs)
    searched = {f"with_{name}": game.value(everyone, each, FEW + MORE) for name, each in (("words", best), ("first", first))}
    if says_number(part.network):
        searched = {name: -values for name, values in searched.items()}
    known = {"words": sizes} | searched | dict(zip((f"right{name}" for name in explanations), right, strict=True))
    of_needing = {name: values.double().masked_fill(~needs, torch.nan) for name, values in known.items()}
    sets = {"decides": best, "first": first, "matter": matter}
    of_tokens = {name: each.gather(1, texts.words.clamp(min=0)) & (texts.words >= 0) for name, each in sets.items()}
    nothing = -game.nothing if says_number(part.network) else game.nothing
    places = {} if sink is None else {"sink": _place_of(sink, texts)}
    return {"needs_words": needs, "without_words": nothing} | of_needing | places | of_tokens


def _place_of(token: int, texts: Texts) -> Tensor:
    """Return the place of the first word that consists of a token, in tokens from 0, ``(B,)``; NaN where there is none."""
    of_token = (texts.words >= 0) & (kinds_of_words(texts).gather(1, texts.words.clamp(min=0)) == token)
    return of_token.double().argmax(dim=1).double().masked_fill(~of_token.any(dim=1), torch.nan)


def _pointing(game: Game, best: Tensor, weights: Sequence[Tensor], needs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ask whether each of R explanations points at words that decide, and about the words of the first explanation.

    Returns:
        ``(R, B)``, whether it does, NaN where it is undefined; and bool ``(B, W)`` each, the first words that were asked, and
        those of them that are known to matter. Where no first words decide, as many as decide were asked.
    """
    times, every, count = len(weights), torch.cat([*weights]), len(best)
    found = pointing(game.repeated(times), best.repeat(times, 1), every, needs.repeat(times))
    undefined = (every.isnan() & game.texts.there.repeat(times, 1)).any(dim=1)
    right = found.right.double().masked_fill(undefined, torch.nan).unflatten(0, (times, count))
    some = (places_in(game, weights[0]) < best.sum(dim=1, keepdim=True)) & game.texts.there & (weights[0] > 0)
    first = torch.where(found.first[:count].any(dim=1, keepdim=True), found.first[:count], some)
    return right, first, found.matter[:count]


def _others(part: Observation, seed: int, names: Sequence[str]) -> Columns:
    """Return the weights of the readings that are held beside the tested one, by column name, ``(B, T)`` each."""
    seen = observe_again(part)  # gradients need the graph
    asked: list[Reading] = [READINGS[name] for name in names if READINGS[name].suits(seen)]
    asked += [reading_of(name, seen) for name in seen.given]
    found = {}
    for reading in asked:
        values = random_reading(seen, seed) if reading.name == RANDOM else reading.of(seen)
        signed = "_signed" if reading.signed else ""
        found[f"{column_of(reading.name)}{signed}"] = values.detach()
    return found


def _answer(mean: Means) -> str | None:
    """Return a sentence with the share of texts in which the explanation is right; None where no text needs words."""
    share, needing = mean.share("E19/right"), mean.share("E19/needs_words")
    if share is None or needing is None:
        return None
    random = mean.share(f"E19/right_{RANDOM}")
    chance = "" if random is None else f"; a random order does in {random}"
    return (
        f"The explanation points at the words that decide in {share} of the {mean.called} that need words{chance}. Of all "
        f"{mean.called} that were read, {needing} need words: in the others the model says the same of neutral words."
    )


def _shown(row: Row) -> str:
    """Return how sure the model is with the deciding words alone, and without any word; of a number, nothing."""
    alone, nothing = row.get("E19/with_words"), row.get("E19/without_words")
    if alone is None or nothing is None:
        return ""
    return f"a set that is enough: alone {percent(alone)}, without any word {percent(nothing)}"


def _right(name: str, only: str = "") -> Column:
    title = title_of(name)
    return Column.yes_or_no(
        f"right_{name}",
        f"Share of the texts that need words in which {title} points at words that decide.",
        only=only,
        title=f"deciding words found by {title}",
        suspicious="low",
    )


IN_PROBABILITY = (
    Column.share("without_words", "probability of the decision if all words are neutral"),
    Column.share("with_words", "probability of the decision if the words of the found set alone are kept"),
    Column.share("with_first", "probability of the decision if the explanation's first words alone are kept"),
)
INSIDE = Inside("E19", what_decides_of_tags, reads=("everyone", "seed", "neutral"), samples=True, of_tags=True)
SPEC = Spec(
    id="E19",
    name="the verdict",
    question="Which words decide, and does the explanation point at them?",
    does="Searches each text for a small set of words that decides, and asks whether the explanation's own first words do",
    source="Carter et al. 2019; Ribeiro et al. 2018; here with neutral fillings, and asked of the explanation's own words",
    about="tokens",
    cost="about 4 T passes and 100 more for a text, on a sample of texts",
    says=Says(
        "Keeping words among neutral ones",
        "in how many texts an explanation points at words that suffice for the decision",
        "that the model has used these words, if others say the same; anything about words that are missing",
    ),
    about_columns="Words that are not kept are replaced by random neutral words of the corpus; special tokens stay. “What "
    "decides in a text” in the documentation defines the terms.",
    columns=(
        Column.yes_or_no(
            "right",
            "Share of the texts that need words in which the explanation's own first words decide, and most of them matter.",
            title="deciding words found",
            misread="It is asked what suffices among neutral words. If several words say the same, each of them is right.",
            suspicious="low",
            beside=("random order", f"right_{RANDOM}"),
        ),
        Column.yes_or_no(
            f"right_{WITHOUT_SINK}",
            "Share of the texts that need words in which the explanation points at words that decide if its sink gets no "
            "weight. A sink is a token that hardly moves the model, and that the explanation puts first in at least half of "
            "the texts in which neutral words were searched for.",
            only="explanations with a sink",
            title="deciding words found without the sink",
            suspicious="low",
        ),
        Column.yes_or_no("right_<reading>", "the same of another reading; `_signed`: words that speak for the decision"),
        _right("last_layer", only="Transformers"),
        _right("gradient_input_signed"),
        _right("leave_one_out"),
        Column.yes_or_no(
            "needs_words",
            "Share of texts of which the model is surer than of neutral words alone, by a tenth of its range.",
            title="texts that need words",
            misread="Where a model has a default class, texts of this class need no words.",
        ),
        Column.at_least_0(
            "words",
            "Number of words in the smallest set that was found to decide; undefined where none is needed.",
            unit="words",
            title="words that decide",
        ),
        *IN_PROBABILITY,
        *(each.moved(f"moved_{each.name}") for each in IN_PROBABILITY),
        Column.at_least_0(
            "sink", "its place in the text, from 0; undefined where it is not there", only="explanations with a sink"
        ),
        Column.yes_or_no("decides", "1 at the tokens of the set that was found", type="list of float"),
        Column.yes_or_no("first", "1 at the tokens of the explanation's first words, which were asked", type="list of float"),
        Column.yes_or_no("matter", "1 at those of them that are known to matter", type="list of float"),
        Column.share("pool", "which of two pools of neutral words was used, 0 or 1"),
        Column.at_least_0("token", "the place of the word whose tag is asked about, from 0", only="taggers"),
    ),
    answer=_answer,
    weights=(
        TokenWeights(
            "decides",
            "What decides",
            "importance",
            _shown,
            ("words", "with_words", "without_words"),
            is_shown=lambda row: row["E19/words"] > 0,
        ),
    ),
    run=what_decides,
    reads=("everyone", "seed", "neutral"),
    samples=True,
    any_reading=True,
    of_numbers=OfNumbers(
        f"the columns of probabilities say how far the number moves, {MOVES}, if the other words are neutral",
        ((r"(without_words|with_words|with_first)", r"moved_\1"),),
    ),
    at_validation={"texts": 1_000_000},
    when_explaining={"texts": 1},
    of_tokens=True,
)
