"""The formulas of explanations: from attention that pools a text, from gradients, and from attention inside layers.

Gradients are those of the predicted class's probability with respect to the embedded input, signed. Attention inside the
layers of Transformers is followed down to the tokens.

Legend: B batch, N heads, T tokens, E embedding, H hidden, C classes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from attest.core.attention.interventions import Intervention, intervene
from attest.core.measures.divergences import cosine_distance
from attest.core.memory import by_rows
from attest.core.modes import without_cudnn
from attest.experiments.erasure.read_anew import logits_of, reading_embedded
from attest.experiments.erasure_until_flip import attention_gradient
from attest.experiments.importance import gradients_through_attention
from attest.experiments.layers.rollout import read_from_layers, where_rollout_begins
from attest.models.inputs import like
from attest.models.layers_observed import layers_of
from attest.models.observation import Observation, cached_per_batch, hooked
from attest.models.prediction import logits_of_classes, predictions_of
from attest.models.variants import ACTIVATIONS


def norm_weighted(observation: Observation) -> Tensor:
    r"""Compute the norm of each weighted hidden state, :math:`\lVert \alpha_i h_i \rVert` (Kobayashi et al.), ``(B, T)``."""
    return observation.attention * observation.hidden.detach().norm(dim=-1)


def margin(observation: Observation) -> Tensor:
    """Return each token's part of the logit margin (predicted class minus mean of the others), ``(B, T)``, signed.

    For linear decoders; of two classes the parts add up to the log-odds.
    """
    assert observation.class_logits is not None
    return observation.attention * _over_others(observation, observation.class_logits)


def _over_others(observation: Observation, logits: Tensor) -> Tensor:
    predicted = observation.of_predicted(logits)
    return predicted - (logits.sum(dim=-1) - predicted) / max(1, logits.shape[-1] - 1)


def attention_times_gradient(observation: Observation) -> Tensor:
    """Return attention weight times gradient (of the predicted class's probability), ``(B, T)``, signed."""
    return observation.attention * attention_gradient(observation)


def value_zeroing_pooled(observation: Observation) -> Tensor:
    """Return value zeroing: the cosine distance between the context vectors with and without each token, ``(B, T)``.

    Source: Mohebbi et al. 2023.
    """
    terms = observation.attention.unsqueeze(-1) * observation.hidden.detach()
    context = terms.sum(dim=1, keepdim=True)
    return cosine_distance(context - terms, context)


STEPS, MOST = (20, 40, 80, 160), 0.01
"""The first: the numbers of points, on the path of integrated gradients, that are tried. A text gets more points while its
error is above a tenth of the second number and still shrinks. The second: the largest accepted difference between the sum of
the gradients and the change of the prediction."""


def gradient_times_input(observation: Observation) -> Tensor:
    r"""Compute :math:`\langle \partial \hat y / \partial e_t, e_t \rangle` with the gradient through attention, ``(B, T)``."""
    gradient = gradients_through_attention(observation)[0]
    return (gradient * observation.embedded.detach()).flatten(2).sum(dim=-1)


def integrated_gradients(observation: Observation) -> Tensor:
    """Compute integrated gradients (Sundararajan et al. 2017) from embeddings of 0, by Gauss-Legendre quadrature, ``(B, T)``.

    They sum to the prediction minus that of the baseline. The boundaries of a text are no tokens, so they stay in the
    baseline. NaN for texts whose sum is wrong by more than 0.01. This happens if the network jumps at embeddings of 0, as all
    networks do that first scale each embedding to one length (RMSNorm); more points do not help.
    """
    values, gap = _integrated(observation)
    return values.masked_fill((gap > MOST).unsqueeze(-1), torch.nan).masked_fill(~observation.mask, 0)


def completeness_gap(observation: Observation) -> Tensor:
    """Return how far the sum of integrated gradients is from the probability change that it should equal, ``(B,)``."""
    return _integrated(observation)[1]


@cached_per_batch
def _integrated(observation: Observation) -> tuple[Tensor, Tensor]:
    without = reading_embedded(observation, torch.zeros_like(observation.embedded))
    expected = observation.of_predicted(observation.prediction - without)
    values = torch.zeros_like(observation.embedded.detach().flatten(2).sum(dim=-1))
    gap = torch.full_like(expected, torch.inf)
    rows = torch.arange(len(expected), device=expected.device)
    for steps in STEPS:
        values[rows] = along_the_path(observation, rows, steps)
        last, now = gap[rows], (expected - values.sum(dim=-1)).abs()[rows]
        gap[rows] = now
        rows = rows[(now > MOST / 10) & ((now - last).abs() > now / 10)]
        if not len(rows):
            break
    return values, gap


def along_the_path(observation: Observation, texts: Tensor, steps: int) -> Tensor:
    """Compute integrated gradients for N texts of the batch from ``steps`` points of the path, ``(N, T)``."""
    embedded = observation.embedded.detach()
    nodes, weights = np.polynomial.legendre.leggauss(steps)  # of the integral from -1 to 1
    points, shares = (torch.tensor(each.tolist()).to(embedded) for each in ((nodes + 1) / 2, weights / 2))

    @torch.enable_grad()
    def of_points(rows: Tensor, point: Tensor) -> Tensor:
        size = min(int(observation.lengths[rows].max()), observation.reach)
        texts = observation.texts.rows(rows).of_tokens(lambda column: observation.narrowed(column, size))
        inputs = observation.narrowed(embedded[rows], size)
        at_point = (like(point, inputs) * inputs).requires_grad_()
        with without_cudnn():
            logits = logits_of(observation.network, texts, at_point)
            predicted = predictions_of(observation.network, logits).gather(-1, observation.predicted[rows].unsqueeze(-1))
            (gradient,) = torch.autograd.grad(predicted.sum(), at_point)
        slopes = (gradient * inputs).flatten(2).sum(dim=-1)
        left_out = slopes.new_zeros(len(rows), observation.reach - size)
        return torch.cat([slopes[:, :size], left_out, slopes[:, size:]], dim=1)

    per_point = embedded[0].nbytes * 4 + ACTIVATIONS * observation.hidden[0].nbytes * 2
    order = observation.lengths[texts].argsort(descending=True, stable=True)  # those of like length share a pass
    slopes = by_rows(of_points, per_point, texts[order].repeat_interleave(steps), points.repeat(len(texts)))
    found = (slopes.unflatten(0, (-1, steps)) * shares[:, None]).sum(dim=1)
    return found[order.argsort()]


FLOW_TOKENS = 24
"""The largest number of tokens of a text for which attention flow is computed: it needs a maximum flow for each token, which
takes long."""
CAPACITY = 1_000_000
"""The capacity in a flow graph that stands for an attention weight of 1; the maximum-flow algorithm needs whole numbers."""


def rollout(observation: Observation) -> Tensor:
    """Compute attention rollout (Abnar & Zuidema 2020), one weight for each token, ``(B, T)``.

    For an encoder-decoder network it is the cross-attention of the deciding step, as a mean over heads and layers.
    """
    return read_from_layers(observation, _layers(observation))


def last_layer(observation: Observation) -> Tensor:
    """Return the attention of the deciding token in the last layer, as a mean over heads, ``(B, T)``.

    Where no single token decides, it is the mean over tokens, weighted as the network pools them.
    """
    last = list(_layers(observation).values())[-1].mean(dim=1)
    return (where_rollout_begins(observation).unsqueeze(1).to(last) @ last).squeeze(1)


def flow(observation: Observation) -> Tensor:
    """Compute attention flow (Abnar & Zuidema 2020): the maximum flow from each text's output to each token, ``(B, T)``.

    Capacities are those of rollout. NaN for texts of over 24 tokens.
    """
    layers = [weights.mean(dim=1).cpu() for weights in _layers(observation).values()]
    begins = where_rollout_begins(observation)
    flows = torch.full(observation.mask.shape, torch.nan).masked_fill(~observation.mask.cpu(), 0)
    for row, length in enumerate(observation.lengths.tolist()):
        if length <= FLOW_TOKENS:
            mixed = [0.5 * (each[row, :length, :length] + torch.eye(length)).double().numpy() for each in layers]
            flows[row, :length] = torch.tensor(_flows(mixed, begins[row, :length].double().cpu().numpy()))
    return flows.to(observation.attention)


def relevance_propagation(observation: Observation) -> Tensor:
    """Compute layer-wise relevance propagation, with attention and the denominators of norms held fixed, ``(B, T)``, signed.

    Source: Ali et al. 2022. A layer norm keeps its standard deviation, an RMSNorm its root mean square (the identity rule of
    Achtibat et al. 2024). The activation of a gated layer is held fixed, so that the product passes all its relevance to the
    other factor (Arras et al. 2017, who call it signal-take-all). Other activations keep their gradient.

    It explains the margin, which is the predicted class's logit minus the mean of the others: gradient × input of the
    linearised network. The parts of biases and positions belong to no token, so the tokens sum to the margin only in a network
    without them. NaN for texts on which the linearised network gives another prediction than the network.
    """
    embedded = observation.embedded.detach().requires_grad_()
    network = observation.module
    norms = [part for part in network.modules() if isinstance(part, nn.LayerNorm)]
    scales = [part for part in network.modules() if is_rms_norm(part)]
    constant = Intervention("weights", lambda weights, mask: weights.detach())
    with (
        torch.enable_grad(),
        intervene(network, constant),
        hooked(norms, _with_constant_deviation),
        hooked(scales, _scaled),
        gates_held(network),
    ):
        logits = logits_of(observation.network, observation.texts, embedded)
        margins = _over_others(observation, logits_of_classes(observation.network, logits))
        (gradient,) = torch.autograd.grad(margins.sum(), embedded)
    relevance = (gradient * embedded.detach()).sum(dim=-1)
    apart = (predictions_of(observation.network, logits) - observation.prediction).abs().amax(dim=-1)
    other = apart > observation.within
    return relevance.masked_fill(other.unsqueeze(-1), torch.nan).masked_fill(~observation.mask, 0)


def relevance_gap(observation: Observation, relevance: Tensor) -> Tensor:
    """Return how far the summed relevance is from the logit margin that it should explain, ``(B,)``."""
    logits = logits_of_classes(observation.network, observation.logits.detach())
    return (_over_others(observation, logits) - relevance.sum(dim=-1)).abs()


def _layers(observation: Observation) -> dict[str, Tensor]:
    with torch.no_grad():
        return dict(layers_of(observation).attention)


def _flows(mixed: list[np.ndarray], pooling: np.ndarray) -> list[float]:
    """Return the largest flow through all layers from the text's output to each token."""
    from scipy.sparse import coo_array  # which no report of what was measured waits for
    from scipy.sparse.csgraph import maximum_flow

    length = len(pooling)
    start = 1 + length * np.arange(len(mixed) + 1)
    edges = [(np.zeros(length, dtype=int), start[0] + np.arange(length), pooling)]
    for depth, weights in enumerate(reversed(mixed)):
        source, target = np.indices(weights.shape)
        edges.append((start[depth] + source.ravel(), start[depth + 1] + target.ravel(), weights.ravel()))
    sources, targets, capacities = (np.concatenate(parts) for parts in zip(*edges, strict=True))
    nodes = int(start[-1]) + length
    counted = np.round(capacities * CAPACITY).astype(np.int32)
    graph = coo_array((counted, (sources.astype(np.int32), targets.astype(np.int32))), shape=(nodes, nodes)).tocsr()
    return [maximum_flow(graph, 0, int(start[-1]) + token).flow_value / CAPACITY for token in range(length)]


def is_rms_norm(part: nn.Module) -> bool:
    """Return whether a module is an RMS norm, by the name of its class."""
    return type(part).__name__.endswith("RMSNorm")


OF_ACTIVATIONS = ("torch.nn.modules.activation", "transformers.activations")
"""The Python modules whose classes count as the activation functions of a network."""


@contextmanager
def gates_held(network: nn.Module) -> Iterator[None]:
    """Hold the activations of gated feed-forward layers (SwiGLU, GEGLU) fixed while the ``with`` block runs.

    A layer is gated if, beside the linear layer that its activation reads and the one that reads its activation, it has a
    third of the same width, or computes both factors by one linear layer of twice the width.
    """

    def hold(linear: Sequence[nn.Linear]) -> Callable[..., Tensor | None]:
        def hook(_activation: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
            width = inputs[0].shape[-1]
            three = sum(width in (part.in_features, part.out_features) for part in linear) > 2
            twice = any(part.out_features == 2 * width and part.in_features != width for part in linear)
            return output.detach() if three or twice else None

        return hook

    with ExitStack() as held:
        for parent in network.modules():
            parts = [*parent.children()]
            linear = [part for part in parts if isinstance(part, nn.Linear)]
            activations = [part for part in parts if type(part).__module__ in OF_ACTIVATIONS]
            if len(linear) > 1:
                held.enter_context(hooked(activations, hold(linear)))
        yield


def _scaled(norm: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    given = inputs[0].detach()
    return inputs[0] * torch.where(given == 0, 0, output.detach() / torch.where(given == 0, 1, given))


def _with_constant_deviation(norm: nn.LayerNorm, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    centred = inputs[0] - inputs[0].mean(dim=-1, keepdim=True)
    deviation = (centred.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt().detach()
    scaled = centred / deviation if norm.weight is None else centred / deviation * norm.weight
    return scaled if norm.bias is None else scaled + norm.bias
