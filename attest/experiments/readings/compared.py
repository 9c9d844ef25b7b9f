"""E15: which explanation may be shown instead of the attention? All are scored in the same way on the same texts.

Legend: B batch, R readings, T tokens.
"""

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import torch
from torch import Tensor

from attest.core.measures import tau_b
from attest.core.measures.numbers import percent
from attest.core.rounding import in_steps
from attest.experiments.erasure.four_operators import FALL, KINDS, NO_OTHERS, STAY, naopc
from attest.experiments.erasure.limits import has_exact_limits
from attest.experiments.erasure.operators import attention, delete
from attest.experiments.erasure.outcomes import Columns, area, on_part, outcomes_of, random_ranks, ranked_by, sizes, win_rate
from attest.experiments.readings.formulas import completeness_gap, relevance_gap
from attest.experiments.readings.kinds import RANDOM, READINGS, Reading, asked_readings, random_reading
from attest.experiments.readings.rationales import against_marks
from attest.experiments.readings.truth import hangs_on, scores_against
from attest.experiments.sampling import Everyone, in_sample
from attest.experiments.says import AGREEMENT
from attest.experiments.spec import MOVES, Column, Drawing, Means, OfNumbers, Row, Spec, TokenWeights
from attest.experiments.words import first_of_words, over_words, ranked_words
from attest.models.observation import Observation, observe_again

ORACLE = "oracle"
"""The name of a perfect explanation: it marks exactly the tokens that decide according to the corpus. Its scores show how high
an explanation can score."""


@dataclass
class Clock:
    """The seconds that each reading has taken, and the number of texts on which it took them."""

    seconds: dict[str, float] = field(default_factory=dict)
    texts: int = 0

    def a_text(self) -> dict[str, float]:
        """Return the mean seconds of each reading for a text; empty before the first text."""
        return {name: seconds / self.texts for name, seconds in self.seconds.items()} if self.texts else {}


def side_by_side(
    observation: Observation,
    everyone: Everyone,
    texts: int = 12,
    sets: int = 20,
    seed: int = 0,
    weights: bool = False,
    truth: Tensor | None = None,
    clock: Clock | None = None,
    readings: Sequence[str] | None = None,
) -> Columns:
    """Compute explanations for a random sample of texts, and score them and the user's own explanations.

    Args:
        texts: size of the sample.
        sets: random sets of each size.
        seed: chooses the sample and, with an instance's id, ties, random sets and the random reading.
        weights: whether the readings themselves are returned too, as absolute values, ``(B, T)``, for all texts.
        truth: bool ``(B, T)``, the tokens that decide, where they are known.
        clock: the seconds that each reading takes are added to it, and the texts of the sample; None to count nothing.
        readings: the names of the readings to compute, besides attention and random; None for all that suit the network.
    Returns:
        The columns of ``SPEC``, ``(B,)``. NaN outside the sample, for texts of one token and for texts of spared tokens alone;
        spared tokens are treated as in ``erasure``. ``<reading>`` has underscores for hyphens. A signed reading ranks tokens
        by magnitude, and, as ``<reading>_signed``, by how much they speak for the predicted class. If texts are in subwords,
        ``tau_words_…`` is τ-b over words. Scores against the truth are NaN if the decision does not depend on the truth
        (``hangs_on``).
    """
    shown = {name: values.abs() for name, values in readings_of(observation, seed, names=readings).items()} if weights else {}
    chosen = in_sample(seed, observation.ids, everyone, texts) & observation.several

    def measured(part: Observation) -> Columns:
        known = None if truth is None else truth[torch.isin(observation.ids, part.ids), : part.mask.shape[-1]]
        return _measured(part, seed, sets, known, clock, readings)

    return shown | on_part(measured, observation, chosen)


def readings_of(
    observation: Observation, seed: int = 0, clock: Clock | None = None, names: Sequence[str] | None = None
) -> dict[str, Tensor]:
    """Compute the explanations that suit the network, and the user's, ``(B, T)`` each, by column name.

    Args:
        observation: the batch, with its autograd graph.
        clock: the seconds that each explanation takes are added to it; None to count nothing.
        names: as ``readings`` in ``side_by_side``.
    """
    values = {}
    for reading in asked_readings(observation, names):
        started = time.perf_counter()
        found = random_reading(observation, seed) if reading.name == RANDOM else reading.of(observation)
        values[column_of(reading.name)] = found.detach().masked_fill(~observation.mask, 0)
        if clock is not None:
            clock.seconds[reading.name] = clock.seconds.get(reading.name, 0.0) + time.perf_counter() - started
    return values


def column_of(name: str) -> str:
    """Return an explanation's name as in column names, with underscores in place of hyphens."""
    return name.replace("-", "_")


def _measured(
    part: Observation, seed: int, sets: int, truth: Tensor | None, clock: Clock | None, names: Sequence[str] | None
) -> Columns:
    observation = observe_again(part)  # gradients need the graph
    readings = readings_of(observation, seed, clock, names)
    if clock is not None:
        clock.texts += len(observation.ids)
    signed = [column_of(each.name) for each in asked_readings(observation, names) if each.signed]
    columns: Columns = {}
    if column_of("integrated-gradients") in readings:
        columns["gap_integrated_gradients"] = completeness_gap(observation).double()
    if "lrp" in readings:
        columns["gap_lrp"] = relevance_gap(observation, readings["lrp"]).double()
    return columns | scores_of(observation, readings, signed, seed, sets, truth)


def scores_of(
    observation: Observation,
    readings: dict[str, Tensor],
    signed: Sequence[str],
    seed: int,
    sets: int,
    truth: Tensor | None = None,
) -> Columns:
    """Return table columns that score explanations and compare them with one another, ``(B,)`` each.

    Args:
        readings: ``(B, T)``, by column name.
        signed: names of those that also rank tokens by how much they speak for the predicted class.
        seed, sets, truth: as in ``side_by_side``.
    """
    rankings = _rankings(readings, signed)
    if truth is not None:
        rankings[ORACLE] = truth.to(observation.attention)
    columns = _erased(observation, rankings, seed, sets) | _agreement("tau", readings, observation.ranked, observation.within)
    if observation.words is not None:
        words = ranked_words(observation)
        of_words = {name: over_words(values, words) for name, values in readings.items()}
        columns |= _agreement("tau_words", of_words, first_of_words(words), observation.within)
    if observation.marks is not None:
        columns |= against_marks(observation, {name: ranking for name, ranking in rankings.items() if name != ORACLE}, seed)
    return columns if truth is None else columns | _against(observation, rankings, truth, seed)


def _rankings(readings: dict[str, Tensor], signed: Sequence[str]) -> dict[str, Tensor]:
    rankings = {name: values.abs() for name, values in readings.items()}
    return rankings | {f"{name}_signed": readings[name] for name in signed if name in readings}


def _erased(observation: Observation, rankings: dict[str, Tensor], seed: int, sets: int) -> Columns:
    """Score each ranking by erasing its first tokens, always in comparison with the same random sets of tokens."""
    counts, before = sizes(observation.erasable), observation.confidence
    explanations = _stacked(rankings)
    random = random_ranks(observation.ids, observation.ranked, sets, seed)
    ranks = torch.cat([ranked_by(observation, explanations, seed), random], dim=1)
    columns: Columns = {}
    for prefix, operator in (("", attention), ("deleted_", delete)):
        areas = area(before, outcomes_of(observation, ranks, counts, operator))
        aopc, drawn = areas[..., : len(rankings)], areas[..., len(rankings) :]
        won = win_rate(aopc, drawn, observation.within)
        for place, kind in enumerate(KINDS):
            columns |= _named(f"{prefix}{kind}", rankings, aopc[:, place])
            columns |= _named(f"win_{prefix}{kind}", rankings, won[:, place])
    if has_exact_limits(observation):
        placed = naopc(observation, explanations, seed)
        for kind in KINDS:
            columns |= _named(f"naopc_{kind}", rankings, placed[f"naopc_{kind}"])
    return columns


def _stacked(rankings: dict[str, Tensor]) -> Tensor:
    return torch.stack([values.double().nan_to_num() for values in rankings.values()], dim=1)


def _named(prefix: str, rankings: dict[str, Tensor], scores_BR: Tensor) -> Columns:
    """Return one column of scores ``(B,)`` for each ranking; NaN for texts whose ranking contains a NaN."""
    undefined_BR = torch.stack([*rankings.values()], dim=1).isnan().any(dim=-1)
    columns = scores_BR.double().masked_fill(undefined_BR, torch.nan).unbind(dim=1)
    return {f"{prefix}_{name}": scores for name, scores in zip(rankings, columns, strict=True)}


def _agreement(prefix: str, readings: dict[str, Tensor], mask: Tensor, within: float) -> Columns:
    """Return Kendall's τ-b for every pair of explanations.

    Leave-one-out is a difference of predictions, so differences within their rounding count as ties, as in E1.
    """
    if (name := column_of("leave-one-out")) in readings:
        readings = {**readings, name: in_steps(readings[name], within)}
    pairs = list(combinations(readings, 2))
    sizes = {name: values.abs().double() for name, values in readings.items()}
    first, second = (torch.cat([sizes[pair[side]] for pair in pairs]) for side in (0, 1))
    taus = tau_b(first, second.unsqueeze(1), mask.repeat(len(pairs), 1)).squeeze(1).chunk(len(pairs))
    return {f"{prefix}_{a}_and_{b}": tau for (a, b), tau in zip(pairs, taus, strict=True)}


def _against(observation: Observation, rankings: dict[str, Tensor], truth: Tensor, seed: int) -> Columns:
    hangs = hangs_on(observation, truth, seed)
    ranks = ranked_by(observation, _stacked(rankings), seed)
    columns: Columns = {"hangs_on_truth": hangs.double()}
    for name, scores_BR in scores_against(ranks, truth, observation.ranked).items():
        columns |= _named(name, rankings, scores_BR.masked_fill(~hangs.unsqueeze(-1), torch.nan))
    return columns


SURVIVAL = ("win_comprehensiveness", "win_deleted_comprehensiveness")
"""The prefixes of two columns, by which the sentence in the report ranks explanations: the share of random sets of tokens
whose erasure moves the prediction less than erasing the explanation's first tokens. In the first column nothing attends to
erased tokens; in the second they are deleted from the text."""


def _answer(mean: Means) -> str | None:
    """Return a sentence that names the explanation with the best mean score; None if no score is known."""
    names = [found[1] for key in mean.summary if (found := re.fullmatch(f"E15/{SURVIVAL[0]}_(.+)/mean", key))]
    known = {}
    for name in (name for name in names if name not in (RANDOM, ORACLE)):
        shares = {key: share for key in (f"E15/{column}_{name}" for column in SURVIVAL) if (share := mean(key)) is not None}
        if len(shares) == len(SURVIVAL):
            known[name] = min(shares, key=lambda key: shares[key])
    if not known:
        return None
    best = max(known, key=lambda name: mean(known[name]) or 0.0)
    beside = f"; attention beats {mean.share(known['attention'])}" if "attention" in known and best != "attention" else ""
    return (
        f"Of {len(known)} readings, {title_of(best)} did best: by the stricter of two ways to erase, its first tokens beat "
        f"{mean.share(known[best])} of random sets{beside}."
    )


def title_of(column: str) -> str:
    """Convert an explanation's name in columns, such as ``rollout``, to its title, “Attention rollout”."""
    titles = {column_of(name): reading.title for name, reading in READINGS.items()}
    plain = column.removesuffix("_signed")
    return titles.get(plain, plain) + (" (signed)" if column.endswith("_signed") else "")


def _shown_where_explained(reading: Reading) -> TokenWeights:
    column = column_of(reading.name)

    def note(row: Row) -> str:
        shares = [row.get(f"E15/{survival}_{column}", math.nan) for survival in SURVIVAL]
        if any(map(math.isnan, shares)):
            return ""
        return f"random sets beaten: {percent(shares[0])}; shortened: {percent(shares[1])}"

    return TokenWeights(column, reading.title, "importance", note, in_detail=True)


IN_PROBABILITY = (
    Column("comprehensiveness_<reading>", FALL, "AOPC if nothing attends to the top tokens"),
    Column("sufficiency_<reading>", FALL, "AOPC if only the top tokens get attention; a low value means that they suffice"),
    Column("deleted_<either>_<reading>", FALL, "comprehensiveness or sufficiency if tokens are deleted from the text"),
    Column.at_least_0(
        "gap_integrated_gradients",
        "Integrated gradients should add up to the difference between the prediction for the text and that for zero "
        "embeddings. The error of the sum of integrated gradients is in units of probability; above 0.01, integrated "
        "gradients count as undefined.",
        title="error of integrated gradients",
        misread="A network that begins with RMSNorm is discontinuous at zero embeddings. If RMSNorm comes first, more "
        "integration steps do not make the error of integrated gradients small.",
    ),
    Column.at_least_0(
        "gap_lrp",
        "error of LRP's relevance sum (biases, position vectors, activations)",
        unit="logits",
        only="Transformers",
    ),
)

SPEC = Spec(
    id="E15",
    name="compared readings",
    question="Which reading of this model may be shown in place of its attention?",
    does="Compares readings on the same texts: random sets beaten, NAOPC, agreement, and the truth if it is known",
    source="Kobayashi et al. 2020; Abnar & Zuidema 2020; Sundararajan et al. 2017; Mohebbi et al. 2023",
    about="tokens",
    cost="linear in T, on a sample of texts",
    says=AGREEMENT,
    about_columns=NO_OTHERS,
    columns=(
        *IN_PROBABILITY[:3],
        Column.share("win_<either>_<reading>", "share of random token sets of the same size that the explanation beats"),
        Column.share(
            "win_comprehensiveness_attention",
            "Share of 20 random sets of tokens whose erasure moves the prediction less than erasing the tokens that "
            "attention ranks first. To erase a token means here that nothing attends to it. The comparison with random sets "
            "of tokens uses a sample of the texts.",
            title="token sets beaten by attention",
            misread="All explanations of a text are compared with the same random sets of tokens; other random sets give "
            "other numbers.",
            suspicious="low",
        ),
        Column.share(
            "win_comprehensiveness_integrated_gradients_signed",
            "Share of 20 random sets of tokens whose erasure moves the prediction less than erasing the tokens with the "
            "largest integrated gradients.",
            title="token sets beaten by integrated gradients",
            misread="Integrated gradients and erasure both measure effects on the predicted probability: it is no surprise "
            "if they agree.",
        ),
        Column.share(
            "win_deleted_<either>_<reading>",
            "share of random sets of tokens that the explanation beats if tokens are deleted",
        ),
        Column.unbounded(
            "naopc_<either>_<reading>", "AOPC of the explanation, scaled so that its exact limits become 0 and 1"
        ),
        *IN_PROBABILITY[3:],
        *(each.untitled(each.name, each.means).moved() for each in IN_PROBABILITY),
        Column.correlation("tau_<reading>_and_<other>", "τ-b of two explanations, compared by their absolute values"),
        Column.correlation(
            "tau_attention_and_integrated_gradients",
            "Do attention and the absolute values of integrated gradients rank the tokens alike?",
            title="τ-b of attention and integrated gradients",
            misread="Agreement shows that two explanations are alike, not that one of them is right.",
            suspicious="low",
        ),
        Column.yes_or_no(
            "hangs_on_truth", "whether erasing deciding tokens lowers the prediction more than any random token set"
        ),
        Column.share(
            "precision_<reading>",
            "share of the n known deciding tokens among the n top tokens, if `hangs_on_truth` is 1",
        ),
        Column.share(
            "precision_attention",
            "Share of true tokens (tokens known to decide the label) among the n tokens that attention ranks first; n: "
            "number of true tokens. A text is left out if the model does not use the tokens known to decide the label.",
            title="deciding tokens found by attention",
            misread="Here, a model uses the tokens known to decide the label if erasing them lowers the prediction more than "
            "erasing random tokens.",
            suspicious="low",
        ),
        Column.share("depth_<reading>", "rank of the last deciding token / number of ranks"),
        Column.share("auprc_<reading>", "average precision in finding tokens known to decide the label"),
        Column.share(
            "plausible_f1_<reading>", "token F1 of the n top-ranked words, if people marked n words", only="marked texts"
        ),
        Column.share(
            "plausible_iou_precision_<reading>",
            "share of spans of top-ranked words that match a marked span",
            only="marked texts",
        ),
        Column.share(
            "plausible_iou_recall_<reading>",
            "share of marked spans that match a span of top-ranked words",
            only="marked texts",
        ),
        Column.share(
            "plausible_auprc_<reading>",
            "area under the precision-recall curve for finding the marked words",
            only="marked texts",
        ),
        Column.correlation("kappa_human", "mean Cohen's κ of all pairs of annotators", only="marked texts"),
    ),
    answer=_answer,
    weights=tuple(_shown_where_explained(each) for name, each in READINGS.items() if name not in ("attention", RANDOM)),
    drawings=(
        Drawing(
            "readings",
            "Readings side by side",
            "Share of random sets that each reading's first tokens beat, if nothing attends to them or if they are deleted. "
            "Dashed: no better than chance. Bars: 95 % intervals over texts. Signed readings rank tokens by how much they "
            f"speak for the predicted class, others by magnitude. {STAY}",
            "readings_side_by_side",
            ("win_comprehensiveness_random",),
        ),
        Drawing(
            "agreement",
            "Agreement of the readings",
            "Mean τ-b of each pair of explanations, compared by the absolute values of their weights. 1: the same order of "
            "tokens; 0: unrelated orders.",
            "agreement_of_readings",
            ("win_comprehensiveness_random",),
        ),
    ),
    run=side_by_side,
    reads=("everyone", "seed", "truth", "clock"),
    samples=True,
    of_numbers=OfNumbers(
        f"predictions and gaps are {MOVES}; signed readings rank tokens by magnitude alone, because tokens move the number up "
        "or down",
        ((r".+_signed", ""), (r"((?:comprehensiveness|sufficiency|deleted|gap)_.+)", r"moved_\1")),
    ),
    when_explaining={"texts": 1, "weights": True},
    of_tokens=True,
)
