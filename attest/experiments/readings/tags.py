"""E15 for taggers: explanations of one tag in each sentence are compared with one another and with marked words.

The tag is that of the token to which the marks refer, or of a random token. As in E14, this token and special tokens are
neither ranked nor erased.

Legend: B batch, T tokens, A annotators.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from attest.core.errors import AttestError
from attest.core.measures import probabilities
from attest.experiments.erasure.outcomes import on_part
from attest.experiments.erasure.tags import about_one_token
from attest.experiments.importance import leave_one_out_inputs
from attest.experiments.readings.compared import column_of, scores_of
from attest.experiments.readings.kinds import RANDOM, random_reading
from attest.experiments.sampling import Everyone, in_sample
from attest.experiments.spec import Inside
from attest.models.layers_observed import LayerObservation
from attest.models.observation import Observation, hooked, tables_of


def tags_side_by_side(
    observation: LayerObservation,
    everyone: Everyone,
    seed: int,
    texts: int = 12,
    sets: int = 20,
    readings: Sequence[str] | None = None,
    place: Tensor | None = None,
    marks: Tensor | None = None,
    words: Tensor | None = None,
) -> dict[str, Tensor]:
    """Compute and compare explanations of a tagger, for the tag of one token in each sentence.

    Args:
        seed: chooses the sample and, with an instance's id, the token, ties, random sets and the random reading.
        texts: size of the sample.
        sets: number of random sets of each size.
        readings: names of the explanations to compute beside rollout and random; None for all.
        place: int64 ``(B,)``, the token whose tag is explained, from 0; if it is below 0 or None, a token is drawn at random.
        marks: as in ``Observation``: the tokens that annotators marked as explaining this tag.
        words: int64 ``(B, T)``, the word of each token; if given, the word of the explained token is not ranked.
    Returns:
        Columns as in ``side_by_side``, NaN outside the sample; and ``token``, int64 ``(B,)``, that token's place, from 0.
    Raises:
        AttestError: one of ``readings`` does not suit taggers.
    """
    if unknown := [name for name in readings or () if name not in OF_TAG]:
        raise AttestError(f"the reading {unknown[0]!r} does not suit taggers; expected one or more of: {', '.join(OF_TAG)}.")
    asked, place = about_one_token(observation, seed, place)
    spared = cast(Tensor, asked.spared)
    if words is not None:
        spared = spared | ((words == words.gather(-1, place.unsqueeze(-1))) & (words >= 0))
    asked = replace(asked, words=words, marks=marks, spared=spared)
    wanted = {name: of for name, of in OF_TAG.items() if readings is None or name in (*readings, "rollout", RANDOM)}

    def measured(part: Observation) -> dict[str, Tensor]:
        found = {column_of(name): of(part, seed) for name, of in wanted.items()}
        return scores_of(part, found, ["gradient_input"], seed, sets)

    chosen = in_sample(seed, observation.ids, everyone, texts) & asked.several
    return on_part(measured, asked, chosen) | {"token": place}


@torch.enable_grad()
def _gradient_times_input(asked: Observation) -> Tensor:
    """Compute gradient × input for the probability of one token's tag, ``(B, T)``, signed."""
    network: Any = asked.network
    rows = len(asked.ids)
    texts = asked.texts.repeated(1 + (rows == 1))  # of one text, positions may be looked up in the shape of its tokens
    mask, embedded = texts.mask, dict[nn.Module, Tensor]()

    def cut(table: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor | None:
        if inputs[0].shape != mask.shape or table in embedded:  # positions; or a model that is given its embeddings again
            return None
        embedded[table] = output.detach().requires_grad_()
        return embedded[table]

    with hooked(tables_of(network.tagger), cut):
        logits = network.decode(texts.read_by(network.encode), mask, **texts.beside)[:rows]
    if len(embedded) != 1:
        raise AttestError(
            f"{type(network.tagger).__name__} reads its tokens with {len(embedded)} nn.Embedding layers; expected exactly "
            "one such layer. Leave gradient-input out: readings=['leave-one-out']"
        )
    (leaf,) = embedded.values()
    (gradient,) = torch.autograd.grad(asked.of_predicted(probabilities(logits)).sum(), leaf)
    return (gradient * leaf.detach()).sum(dim=-1)[:rows].masked_fill(~asked.mask, 0)


OF_TAG: dict[str, Callable[[Observation, int], Tensor]] = {
    "gradient-input": lambda asked, seed: _gradient_times_input(asked),
    "leave-one-out": lambda asked, seed: leave_one_out_inputs(asked),
    "rollout": lambda asked, seed: asked.explanation,
    RANDOM: random_reading,
}

INSIDE = Inside(
    "E15", tags_side_by_side, reads=("everyone", "seed", "place", "marks", "words"), samples=True, of_tags=True, by_name=True
)
