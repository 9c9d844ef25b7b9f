"""E10: do a few input tokens have most of the influence, or many? (Meister et al. 2021, Figure 2 and Table 1.)

Sparse attention concentrates weights on few hidden states; whether few inputs then decide is another question.

Legend: B batch, P sampled positions, T tokens, E embedding, H hidden.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from attest.core.measures import normalised_entropy
from attest.core.memory import by_rows
from attest.core.modes import without_cudnn
from attest.core.randomness import random_order
from attest.experiments.importance import gradient_norm_inputs, leave_one_out_inputs
from attest.experiments.sampling import Everyone, in_sample
from attest.experiments.sink import LEFT_OUT, columns_of_decoders, has_sinks, tokens_that_are_sinks
from attest.experiments.spec import Column, Drawing, Means, OfNumbers, Says, Spec
from attest.models.observation import Observation, observe
from attest.models.traits import traits_of

ACTIVATIONS = 24
"""To estimate memory: how many tensors of the size of the hidden states the whole network keeps from a forward pass for its
backward pass."""


def importance_entropy(
    observation: Observation,
    everyone: Everyone,
    seed: int = 0,
    texts: int = 200,
    positions: int = 16,
    leave_one_out: bool = True,
    facets: bool = False,
) -> dict[str, Tensor]:
    """Compute the normalised entropy of token importance, and of token influence on sampled hidden states.

    Args:
        seed: chooses the sample and, with an instance's id, its positions.
        texts: size of the sample; 0 leaves hidden states out.
        positions: P, random hidden states of each sampled text, all if there are fewer; each costs a backward pass.
        leave_one_out: False for the entropy of gradients alone.
        facets: whether the influence on each of the H facets (components) of a hidden state is measured, too, beside that on
            its norm (Meister et al., appendix A). It costs H backward passes for each state in place of one.
    Returns:
        The columns of ``SPEC``, ``(B,)`` in [0, 1], NaN if undefined; ``entropy_hidden`` (Table 1) and, if asked for,
        ``entropy_hidden_facets`` only if the network shows hidden states, NaN outside the sample.
    """
    spread = {"gradient": gradient_norm_inputs(observation), "attention": observation.explanation}
    if leave_one_out:
        spread["leave_one_out"] = leave_one_out_inputs(observation)
    columns = {f"entropy_{name}": normalised_entropy(values, observation.mask) for name, values in spread.items()}
    if has_sinks(observation.network):
        others = observation.mask & ~tokens_that_are_sinks(observation)
        columns |= {f"entropy_{name}_without_sink": normalised_entropy(values, others) for name, values in spread.items()}
    if texts and not traits_of(observation.network).reads_in_decode:
        rows = in_sample(seed, observation.ids, everyone, texts).nonzero().flatten()
        for name, influence in (INFLUENCES if facets else {"entropy_hidden": _on_norm}).items():
            columns[name] = observation.attention.new_full(observation.ids.shape, torch.nan)
            if len(rows):
                columns[name][rows] = _entropy_over_positions(observation, rows, positions, seed, influence)
    return columns


Influence = Callable[[Tensor, Tensor], Tensor]
"""A function from N hidden states ``(N, H)``, and the embedded texts ``(N, T, E)`` that they were computed from, to the
influence of each token on its text's state, ``(N, T)``."""


def _on_norm(states: Tensor, embedded: Tensor) -> Tensor:
    r"""Return token influence on the norm of a state: :math:`\lVert \partial \lVert h_p \rVert / \partial X_i \rVert`."""
    (gradient,) = torch.autograd.grad(states.norm(dim=-1).sum(), embedded)
    return gradient.flatten(2).norm(dim=-1)


def _on_facets(states: Tensor, embedded: Tensor) -> Tensor:
    r"""Return each token's influence on all facets: :math:`\sqrt{\sum_f \lVert \partial h_{pf} / \partial X_i \rVert^2}`."""
    gradients = (torch.autograd.grad(facet.sum(), embedded, retain_graph=True)[0] for facet in states.unbind(dim=-1))
    return torch.stack([gradient.flatten(2).square().sum(dim=-1) for gradient in gradients]).sum(dim=0).sqrt()


INFLUENCES: dict[str, Influence] = {"entropy_hidden": _on_norm, "entropy_hidden_facets": _on_facets}


def _entropy_over_positions(observation: Observation, rows: Tensor, positions: int, seed: int, influence: Influence) -> Tensor:
    """Return the entropy of the tokens' influence on a hidden state, averaged over sampled states, ``(rows,)``."""
    tokens, mask = observation.tokens[rows], observation.mask[rows]
    keys_RT = random_order(seed, observation.ids[rows], 1, mask)[:, 0]
    position_RP = keys_RT.argsort(dim=-1, descending=True)[:, :positions]
    real_RP = mask.gather(-1, position_RP)
    count = position_RP.shape[1]
    per_reading = observation.embedded[0].nbytes + ACTIVATIONS * observation.hidden[0].nbytes

    def of_readings(tokens: Tensor, mask: Tensor, position: Tensor) -> Tensor:
        return normalised_entropy(_influence_on_hidden(observation, tokens, mask, position, influence), mask)

    readings = (each.repeat_interleave(count, dim=0) for each in (tokens, mask))
    entropy_RP = by_rows(of_readings, per_reading, *readings, position_RP.flatten()).view(-1, count)
    return entropy_RP.where(real_RP, torch.nan).nanmean(dim=-1)


@torch.enable_grad()
def _influence_on_hidden(
    observation: Observation, tokens: Tensor, mask: Tensor, position: Tensor, influence: Influence
) -> Tensor:
    """Return the influence of each token on the hidden state at one position of each reading, ``(readings, T)``."""
    again = observe(observation.network, position, tokens, mask)
    with without_cudnn():
        return influence(again.hidden[torch.arange(len(position), device=position.device), position], again.embedded)


def _answer(mean: Means) -> str | None:
    influence, attention = mean.number("E10/entropy_gradient"), mean.number("E10/entropy_attention")
    if influence is None or attention is None:
        return None
    return (
        f"The influence of the input tokens has a spread of {influence}, and attention has a spread of "
        f"{attention} (0: all on one token, 1: equal on all tokens)."
    )


ENTROPIES = (
    Column.share(
        "entropy_gradient",
        "Normalised entropy of the gradient norms of the inputs; 1: influence is spread evenly over the tokens.",
        title="entropy of the inputs' influence",
        misread="Influence and attention may be concentrated on different tokens: entropy does not say on which tokens.",
        beside=("of the attention itself", "entropy_attention"),
    ),
    Column.share("entropy_attention", "normalised entropy of attention"),
    Column.share("entropy_leave_one_out", "normalised entropy of the inputs' importance by leave-one-out"),
)

SPEC = Spec(
    id="E10",
    name="spread of influence",
    question="How concentrated is the influence of the inputs?",
    does="Computes the entropy of gradients and leave-one-out, for inputs and hidden states",
    source="Meister et al. 2021",
    about="tokens",
    cost="T forward passes for each text for leave-one-out, a backward pass for each sampled state",
    says=Says(
        "Concentration",
        "whether few inputs have most of the influence",
        "that these inputs are the inputs with most attention",
    ),
    columns=(
        *ENTROPIES,
        Column.share(
            "entropy_hidden",
            "Normalised entropy of the inputs' influence on single hidden states, on a sample of texts. Near 1: a hidden "
            "state depends on all inputs alike.",
            title="entropy of inputs' influence on hidden states",
            misread="The influence on a hidden state is measured by the gradient of its norm; other measures exist.",
            suspicious="high",
        ),
        Column.share(
            "entropy_hidden_facets",
            "with `facets=true`: mean normalised entropy of the inputs' influence on all facets (components) of sampled "
            "hidden states, the Frobenius norm of ∂h/∂X; `entropy_hidden` is about the states' norm",
        ),
        *columns_of_decoders(ENTROPIES, LEFT_OUT),
    ),
    answer=_answer,
    drawings=(
        Drawing(
            "entropies",
            "How concentrated is influence?",
            "Normalised entropy of influence, from 0 (all influence comes from one token) to 1 (all tokens have equal "
            "influence), as in Meister et al. 2021, Fig. 2 and Table 1. The influence on hidden states is measured on a "
            "sample of the texts.",
            "entropy_bars",
        ),
    ),
    run=importance_entropy,
    reads=("everyone", "seed"),
    samples=True,
    at_validation={"leave_one_out": False, "texts": 0},
    quadratic="the entropy of leave-one-out",
    of_tokens=True,
    of_numbers=OfNumbers("gradients are of the number itself, and leave-one-out is how far it moves"),
)
