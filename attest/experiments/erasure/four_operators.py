"""E14: does erasing the tokens that an explanation ranks first change the prediction, by each of four ways to erase?

Legend: B batch, K sizes, T tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import torch
from torch import Tensor

from attest.core.memory import longest_quadratic
from attest.core.rounding import compared, rounding
from attest.experiments.erasure.limits import beam_limits, exact_limits, has_exact_limits
from attest.experiments.erasure.operators import Background, Operator, attention, delete, operators
from attest.experiments.erasure.outcomes import (
    Columns,
    area,
    between_limits,
    on_part,
    outcomes_of,
    outcomes_of_draws,
    random_ranks,
    ranked_by,
    sizes,
    win_rate,
)
from attest.experiments.erasure.read_anew import controlled_shares_of, shares_of, soft_scores_of_each, tau_randomised
from attest.experiments.erasure.until_clear import until_clear
from attest.experiments.sampling import Everyone, in_sample
from attest.experiments.spec import MOVES, Column, Drawing, Means, OfNumbers, Says, Spec
from attest.models.observation import Observation
from attest.models.variants import attends_within

KINDS = ("comprehensiveness", "sufficiency")
OperatorName = Literal["attention", "delete", "mask", "resample"]
OPERATORS: tuple[OperatorName, ...] = get_args(OperatorName)
STAY = "Special tokens, and the token at which a Transformer decides, are neither ranked nor erased."
NO_OTHERS = f"{STAY} They are in no random set, and k is a share of the other tokens. Without other tokens, numbers are NaN."
"""A sentence for reports: which tokens are never erased, such as special tokens, and what this means for the numbers."""


def erasure(
    observation: Observation,
    everyone: Everyone,
    texts: int = 12,
    sets: int = 20,
    lead: int = 0,
    beam_texts: int = 0,
    background: Background | None = None,
    erase_by: Sequence[OperatorName] = OPERATORS,
    extras: bool = True,
    seed: int = 0,
) -> Columns:
    """Erase the tokens that an explanation ranks highest, or all others; compare this with erasing random tokens.

    Spared tokens are special tokens and the token at which a Transformer decides (``spared_by``). They are neither ranked nor
    erased and are in no random set. k is a share of the other tokens. Spared tokens also stay when only the first k tokens are
    kept.

    Args:
        texts: size of the random sample of texts that are read again. The operator ``attention`` needs no such reading and
            measures all texts, unless tokens attend to one another.
        sets: random sets of each size.
        lead: for operators that read texts again: no more sets are drawn for a text once its explanation has ``lead`` more
            wins than losses, or the reverse. ``win_…`` is then an unbiased estimate, and ``random_…`` is from the first
            ``lead`` sets. 0 draws all sets.
        beam_texts: how many texts of a batch get limits by beam search if there are no exact limits; 0 for none.
        background: texts that ``resample`` draws tokens from; None leaves that operator out.
        erase_by: some of ``OPERATORS``.
        extras: False leaves out soft scores, ferret's numbers and networks with random parameters, which cost most.
        seed: chooses the sample and, with an instance's id, ties, random sets and draws.
    Returns:
        The columns of ``SPEC``, ``(B,)``. NaN for a text of one token or of spared tokens alone; except for ``attention``,
        also NaN for texts outside the sample. ``<either>`` is ``comprehensiveness`` or ``sufficiency``.
    """
    several = observation.several
    read = in_sample(seed, observation.ids, everyone, texts) & several & (observation.lengths <= longest_quadratic())
    columns: Columns = {}
    asked = {name: draws for name, draws in operators(background, seed).items() if name in erase_by}
    if not attends_within(observation.network) and "attention" in asked:  # it reads nothing anew
        of_attention = {"attention": asked.pop("attention")}
        columns |= on_part(lambda part: _under_each(part, of_attention, seed, sets, 0), observation, several)
    if asked:
        columns |= on_part(lambda part: _under_each(part, asked, seed, sets, lead), observation, read)
    columns |= on_part(lambda part: _limits(part, seed, beam_texts), observation, several)
    if extras:
        columns |= on_part(lambda part: _read_anew(part, seed), observation, read)
    return columns | {f"eraser_{kind}": columns[f"{kind}_delete"] for kind in KINDS if f"{kind}_delete" in columns}


def _under_each(
    observation: Observation, asked: Mapping[str, tuple[Operator, ...]], seed: int, sets: int, lead: int
) -> Columns:
    """Compute comprehensiveness and sufficiency of an explanation and of random tokens, for each way to erase tokens."""
    explained = ranked_by(observation, observation.explanation.unsqueeze(1), seed)
    random = random_ranks(observation.ids, observation.ranked, sets, seed)
    columns: Columns = {}
    for name, draws in asked.items():
        columns |= _under(observation, explained, random, name, draws, lead)
    return columns


def _under(
    observation: Observation, explained: Tensor, random: Tensor, name: str, draws: tuple[Operator, ...], lead: int
) -> Columns:
    """Compute comprehensiveness and sufficiency for one way to erase tokens.

    Args:
        explained, random: int64 ``(B, 1, T)`` and ``(B, D, T)``, the ranks of the tokens by the explanation and in D random
            orders.
    """
    before, counts, sets = observation.confidence, sizes(observation.erasable), random.shape[1]
    with_first = torch.cat([torch.ones_like(counts[:, :1]), counts], dim=1)  # the first token alone, then all sizes
    rises, own, scores = [], [], []
    of_draws = [torch.cat([explained, random[:, place :: len(draws)]], dim=1) for place in range(min(len(draws), sets))]
    ranks = [explained] * len(of_draws) if lead else of_draws
    for outcomes in outcomes_of_draws(observation, ranks, with_first, draws[:sets]):
        rises.append(compared(outcomes[:, 0, 0, 0], before, observation.within).clamp(min=0))
        own.append(outcomes[:, :, 0, 1:].double().mean(dim=-1))
        if not lead:
            areas = area(before, outcomes[..., 1:])
            aopc, drawn = areas[..., :1], areas[..., 1:]
            scores.append((aopc, drawn.mean(dim=-1, keepdim=True), win_rate(aopc, drawn, observation.within)))
    if lead:
        left, wins = until_clear(observation, torch.stack(own, dim=-1), random, counts, draws[:sets], lead)
        found = {"": before.unsqueeze(-1) - torch.stack(own).mean(dim=0), "random_": before.unsqueeze(-1) - left, "win_": wins}
    else:
        means = (torch.stack(each).double().mean(dim=0)[..., 0] for each in zip(*scores, strict=True))
        found = dict(zip(("", "random_", "win_"), means, strict=True))
    columns = {f"{prefix}{kind}_{name}": rows[:, place] for prefix, rows in found.items() for place, kind in enumerate(KINDS)}
    return columns | {f"violation_{name}": torch.stack(rises).mean(dim=0)}


def _limits(observation: Observation, seed: int, beam_texts: int) -> Columns:
    def place(part: Observation) -> Columns:
        return {name: rows[:, 0] for name, rows in naopc(part, part.explanation.unsqueeze(1), seed).items()}

    if has_exact_limits(observation):
        return place(observation)
    return on_part(place, observation, torch.arange(len(observation.ids), device=observation.ids.device) < beam_texts)


def naopc(observation: Observation, explanations: Tensor, seed: int) -> Columns:
    """Return the least and greatest possible AOPC, and each explanation's NAOPC: its AOPC scaled by these limits.

    Args:
        explanations: ``(B, R, T)``.
        seed: with an instance's id it breaks ties.
    Returns:
        ``(B, R)`` for each column.
    """
    ranks, counts = ranked_by(observation, explanations, seed), sizes(observation.erasable)
    if has_exact_limits(observation):
        lower, upper = (each.mean(dim=-1) for each in exact_limits(observation, counts))
        within = rounding(torch.float64)
    else:
        lower, upper = (each.double() for each in beam_limits(observation, counts))
        within = observation.within
    aopc = area(observation.confidence.double(), outcomes_of(observation, ranks, counts, attention).double())
    lower, upper = lower.unsqueeze(-1), upper.unsqueeze(-1)
    columns = {}
    for place, kind in enumerate(KINDS):
        columns[f"lowest_{kind}"] = lower[:, place].expand_as(aopc[:, place])
        columns[f"highest_{kind}"] = upper[:, place].expand_as(aopc[:, place])
        columns[f"naopc_{kind}"] = between_limits(aopc, lower, upper, within)[:, place]
    return columns


def _read_anew(observation: Observation, seed: int) -> Columns:
    shares = {
        "soft": shares_of(observation, observation.explanation),
        "soft_controlled": controlled_shares_of(observation, observation.explanation),
        "soft_even": controlled_shares_of(observation, torch.ones_like(observation.explanation)),
    }
    found = dict(zip(shares, soft_scores_of_each(observation, [*shares.values()], seed), strict=True))
    columns = {f"{name}_{kind}": rows.double()[:, place] for name, rows in found.items() for place, kind in enumerate(KINDS)}
    ferret = _ferret(observation, seed)
    columns |= {f"ferret_{kind}": ferret[:, place] for place, kind in enumerate(KINDS)}
    return columns | {f"tau_randomised_{part}": tau for part, tau in tau_randomised(observation, seed).items()}


def _ferret(observation: Observation, seed: int) -> Tensor:
    """Compute comprehensiveness and sufficiency as the library ferret does, averaged over all k, ``(B, 2)``."""
    lengths = observation.erasable
    counts = torch.arange(1, observation.mask.shape[-1] + 1, device=lengths.device).expand(len(lengths), -1)
    ranks = ranked_by(observation, observation.explanation.unsqueeze(1), seed)
    outcomes = outcomes_of(observation, ranks, counts, delete)[:, :, 0].double()
    falls = observation.confidence.double()[:, None, None] - outcomes
    return falls.masked_fill((counts > lengths.unsqueeze(-1)).unsqueeze(1), 0).sum(dim=-1) / lengths.unsqueeze(-1)


def _answer(mean: Means) -> str | None:
    found = {name: mean(f"E14/win_comprehensiveness_{name}") for name in OPERATORS}
    known = {name: value for name, value in found.items() if value is not None}
    if not known:
        return None
    shares = ", ".join(f"{mean.share(f'E14/win_comprehensiveness_{name}')} (method “{name}”)" for name in known)
    agree = len({value > 0.5 for value in known.values()}) == 1
    agreed = "The ways of erasing agree." if agree else "The ways of erasing disagree, so do not trust one of them alone."
    only = "Only one way of erasing was used."
    return (
        "Erasing the most attended tokens moves the prediction further than erasing random tokens in this share of "
        f"comparisons: {shares}. {agreed if len(known) > 1 else only}"
    )


FALL = (-1.0, 1.0)


WIN = Column.share("win_<either>_<operator>", "share of random token sets that the explanation beats; ties: ½")


def _win(operator: str, without: str) -> Column:
    return replace(
        WIN,
        name=f"win_comprehensiveness_{operator}",
        means="Share of 20 random sets of tokens whose erasure moves the prediction less than erasing the tokens ranked "
        f"first. Erased tokens: {without}. 50 %: no better than chance.",
        title=f"random sets beaten, {operator}",
        misread="Beating random sets of tokens shows only that a ranking is better than chance; NAOPC (AOPC scaled to its "
        "limits) shows how good the ranking is.",
        suspicious="low",
    )


FALLS = (
    Column("comprehensiveness_<operator>", FALL, "AOPC: mean fall of the prediction without the top tokens"),
    Column("sufficiency_<operator>", FALL, "AOPC if only the top tokens are left; a low value means that they suffice"),
    Column("random_<either>_<operator>", FALL, "mean comprehensiveness or sufficiency of random sets of tokens"),
    Column("lowest_<either>", FALL, "smallest possible AOPC if tokens get no attention (operator `attention`)"),
    Column("highest_<either>", FALL, "largest possible AOPC if tokens get no attention (operator `attention`)"),
)

SPEC = Spec(
    id="E14",
    name="erased tokens",
    question="Does erasing its top tokens change the prediction, whichever way they are erased?",
    does="Erases the top 1, 5, 10, 20 and 50 % of tokens by four operators, and compares with 20 random sets",
    source="DeYoung et al. 2020; Edin et al. 2024",
    about="tokens",
    cost="linear in T; a sample of texts is read again",
    says=Says(
        "Erasing tokens",
        "that tokens ranked first change the prediction more than equally many random tokens",
        "what the model does on whole texts, so compare several operators",
    ),
    about_columns=NO_OTHERS,
    columns=(
        *FALLS[:3],
        WIN,
        _win("attention", "nothing attends to them"),
        _win("delete", "they are deleted from the text"),
        _win("mask", "the unknown token replaces them"),
        _win("resample", "tokens of other texts replace them"),
        *FALLS[3:],
        Column.unbounded("naopc_<either>", "AOPC on a scale from `lowest_<either>` (0) to `highest_<either>` (1)"),
        Column.unbounded(
            "naopc_comprehensiveness",
            "Effect of erasing the tokens that attention ranks first, on a scale from 0 (the least possible effect) to 1 "
            "(the greatest possible effect). To erase a token means here that nothing attends to it.",
            title="NAOPC, comprehensiveness",
            misread="The best sets of different sizes need not belong to one ranking of tokens, so perhaps no ranking "
            "reaches 1. The limits of AOPC are exact only for two classes and a linear decoder.",
            suspicious="low",
        ),
        Column.unbounded(
            "naopc_sufficiency",
            "Fall of the prediction if only the tokens that attention ranks first are kept, on a scale from 0 (the least "
            "possible fall) to 1 (the greatest possible fall). If the prediction falls little, the tokens that attention "
            "ranks first suffice for the prediction.",
            title="NAOPC, sufficiency",
            misread="The best sets of different sizes need not belong to one ranking of tokens, so perhaps no ranking "
            "reaches 0.",
            suspicious="high",
        ),
        Column.share("violation_<operator>", "share of erasures of the top token that raise the prediction"),
        Column.share(
            "violation_attention",
            "Share of texts for which the model becomes more confident if nothing attends to the top-ranked token.",
            title="higher predictions without top token",
            misread="A token may be important because it lowers the probability of the predicted class.",
            suspicious="high",
        ),
        Column.unbounded("soft_<either>", "soft score by Zhao & Aletras, who drop elements of embeddings; higher is better"),
        Column.unbounded(
            "soft_controlled_<either>", "mean soft score if 10, 30, 50, 70 and 90 % of embedding elements are kept"
        ),
        Column.unbounded("soft_even_<either>", "soft score if each token keeps the same share of its embedding"),
        Column("eraser_<either>", FALL, "score of the benchmark ERASER: 1, 5, 10, 20 and 50 % of tokens are deleted"),
        Column("ferret_<either>", FALL, "score of the library ferret: the mean if the top 1, 2, … or all tokens are deleted"),
        Column.correlation(
            "tau_randomised_<part>",
            "τ-b of attention with and without random parameters from the output down to this part",
        ),
        *(each.moved() for each in FALLS),
        Column.at_least_0("token", "position of the token whose tag is explained, from 0", type="int", only="taggers"),
    ),
    answer=_answer,
    drawings=(
        Drawing(
            "operators",
            "Erasure by four operators",
            "Fall of the prediction without the tokens ranked first (left, more is better) and with them alone (right, less "
            f"is better), compared with random tokens. Bars: 95 % intervals over texts. {STAY}",
            "erasure_by_operator",
            ("comprehensiveness_attention",),
        ),
    ),
    run=erasure,
    reads=("everyone", "background", "seed"),
    samples=True,
    any_reading=True,
    of_tokens=True,
    of_numbers=OfNumbers(
        f"the prediction moves up or down, {MOVES}; no prediction is surer than another, and libraries that count "
        "probabilities have no number for it",
        (
            (r"((?:comprehensiveness|sufficiency|random|lowest|highest)_.+)", r"moved_\1"),
            (r"(violation|eraser|ferret)_.+", ""),
        ),
    ),
)
