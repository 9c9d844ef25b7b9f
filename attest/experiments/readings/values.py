"""Explanations from attention inside layers that also use the values, not only the weights.

For each layer, a matrix says how much each token contributes to each other token. The matrices of all layers are combined,
as in attention rollout, into one number for each input token.

Legend: B batch, N heads, T tokens (the last of two T is attended to), V tokens whose value is zeroed, D dimensions a head,
H hidden.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.core.attention.rollout import attention_rollout
from attest.core.measures.divergences import cosine_distance
from attest.core.memory import by_rows
from attest.core.rounding import rounding
from attest.experiments.layers.rollout import where_rollout_begins
from attest.models.layers_observed import blocks_in, entering, layers_of, observe_layers
from attest.models.observation import Observation, cached_per_batch, hooked, skips_long_texts
from attest.models.offers import offers_of


@skips_long_texts
@torch.no_grad()
def value_zeroing(observation: Observation) -> Tensor:
    """Compute value zeroing (Mohebbi et al. 2023) in each layer, and combine all layers, ``(B, T)``.

    In each layer, a matrix of cosine distances replaces attention; its rows are scaled to sum 1. Each layer gets its unchanged
    input. The distances already include the effect of the residual connection, so no residual term is added.
    """
    network = observation.module
    with entering(blocks_in(network)) as inputs:
        observation.texts.read_by(network)
    turned = (_turned_by_each(observation, place, *each) for place, each in enumerate(inputs.items()))
    return _multiplied(observation, list(turned))


def _multiplied(observation: Observation, matrices: list[Tensor]) -> Tensor:
    """Multiply the pooling weights by the matrix ``(B, T, T)`` of each layer, from last to first, ``(B, T)``."""
    reading = where_rollout_begins(observation).unsqueeze(1)
    for matrix in reversed(matrices):
        reading = reading.to(matrix) @ matrix
    return reading.squeeze(1)


def _turned_by_each(observation: Observation, place: int, layer: str, hidden: Tensor) -> Tensor:
    """Return the cosine distance that zeroing a value causes in each output, ``(B, T, V)``, scaled to rows of sum 1."""
    network, mask = observation.module, observation.mask
    size, through = mask.shape[-1], offers_of(network).through

    def outputs(rows: Tensor) -> Tensor:
        if through is not None:
            return observation.texts.rows(rows).read_by(through, place, hidden[rows])
        return blocks_in(network)[layer](hidden[rows], mask[rows])

    text, zeroed = mask.nonzero().unbind(dim=-1)
    clean = outputs(torch.arange(len(mask), device=mask.device))

    def of_variants(text: Tensor, zeroed: Tensor) -> Tensor:
        column = functional.one_hot(zeroed, size).bool()[:, None, None]
        with intervene(network, Intervention("weights", lambda weights, _: weights.masked_fill(column, 0), [layer])):
            return cosine_distance(outputs(text), clean[text])

    per_variant = 8 * hidden[0].nbytes + 4 * (attending(network)[layer].heads or 1) * size**2 * hidden.element_size()
    turned = hidden.new_zeros(len(mask), size, size)
    turned[text, zeroed] = by_rows(of_variants, per_variant, text, zeroed)
    return _of_sum_1(turned.mT.masked_fill(~mask.unsqueeze(1), 0))


def norms(observation: Observation) -> Tensor:
    r"""Compute the length of the vectors that each token adds to the outputs (Kobayashi et al. 2020), ``(B, T)``.

    Token j adds a vector of length :math:`\lVert \sum_h \alpha^h_{ij} v^h_j W_O^h \rVert` to token i, the sum over heads h.
    Rows are scaled to sum 1 and combined by attention rollout, in which the residual connection has half of the weight.
    """
    return _rolled_out(observation, _norms_in_layer)


def contributions(observation: Observation) -> Tensor:
    r"""Compute contribution weights, combined over layers: weight times value length times alignment, ``(B, T)``.

    In a head with output :math:`o_i = \sum_j \alpha_{ij} v_j`, the weight of token j is the projection of its term on the
    output, :math:`\langle \alpha_{ij} v_j, o_i \rangle / \lVert o_i \rVert^2`, below 0 if the term works against the output.
    Rows sum to 1 and are combined by attention rollout; absolute values are returned. Cunningham & Cirone (2026) name weight,
    length and alignment; that they mean this projection, in each head, is our reading of their abstract.
    """
    return _rolled_out(observation, _contributions_in_layer).abs()


@torch.no_grad()
def alti(observation: Observation) -> Tensor:
    r"""Compute ALTI (Ferrando et al. 2022), ``(B, T)``: how close each token's part is to the output of an attention block.

    Let :math:`y_i` be the block's output, and :math:`T_{ij}` what token j adds to token i, for j = i with the residual
    connection. A layer norm that follows is applied to each part with its deviation held fixed. The closeness is
    :math:`\lVert y_i \rVert_1 - \lVert y_i - T_{ij} \rVert_1`, at least 0; rows are scaled to sum 1. The layers' matrices are
    multiplied without a further residual term, because they contain the residual connection.
    """
    network = observation.module
    with entering(blocks_in(network)) as inputs:
        observation.texts.read_by(network)
    matrices = []
    for layer, weights, values, reader in _terms(observation):
        written, bias = _written(values, reader)
        hidden = inputs[layer]
        whole = hidden + torch.einsum("bnij,bjnh->bih", weights, written) + bias
        norm = _norms_after(observation)[layer]
        text, row = observation.mask.nonzero().unbind(dim=-1)
        of_rows = partial(_alti_of_rows, weights, written, hidden, whole, norm)
        matrix = torch.zeros_like(weights[:, 0])
        matrix[text, row] = by_rows(of_rows, 4 * written[0].nbytes, text, row)
        matrices.append(matrix)
    return _multiplied(observation, matrices)


def _alti_of_rows(
    weights: Tensor, written: Tensor, hidden: Tensor, whole: Tensor, norm: nn.LayerNorm | None, text: Tensor, row: Tensor
) -> Tensor:
    parts = torch.einsum("rnj,rjnh->rjh", weights[text, :, row], written[text])
    places = torch.arange(len(row), device=row.device)
    parts[places, row] += hidden[text, row]
    sums = whole[text, row]
    if norm is not None:
        deviation = (sums.var(dim=-1, correction=0) + norm.eps).sqrt()[:, None, None]
        centred = (parts - parts.mean(dim=-1, keepdim=True)) / deviation
        parts, sums = centred if norm.weight is None else centred * norm.weight, norm(sums)
    left = (sums.unsqueeze(1) - parts).abs().sum(dim=-1)
    return _of_sum_1((sums.abs().sum(dim=-1, keepdim=True) - left).clamp(min=0) * (weights[text, :, row] > 0).any(dim=1))


@cached_per_batch
@torch.no_grad()
def _norms_after(observation: Observation) -> dict[str, nn.LayerNorm | None]:
    """Return for each layer the layer norm that follows the sum of input and attention output.

    The value is None if the sum reaches the end of the layer without a layer norm. A layer with neither case is left out.
    """
    network = observation.module
    readers, blocks = readers_of(observation), blocks_in(network)
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def note(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        given, handed_on = inputs[0] if inputs else None, output[0] if isinstance(output, tuple) else output
        if isinstance(given, Tensor) and isinstance(handed_on, Tensor) and given.ndim == handed_on.ndim == 3:
            seen[module] = given, handed_on

    with hooked(network.modules(), note):
        observation.texts.rows(slice(1)).read_by(network)
    found: dict[str, nn.LayerNorm | None] = {}
    for layer, reader in readers.items():
        if not {reader, blocks.get(layer)} <= seen.keys():
            continue
        inner = {each: seen[each] for each in blocks[layer].modules() if each in seen and each is not blocks[layer]}
        hidden, end = seen[blocks[layer]]
        added = [output for _, output in inner.values() if output.shape == hidden.shape]
        whole = hidden + seen[reader][1]

        def goes_on(total: Tensor, part: Tensor, added: list[Tensor] = added) -> bool:
            return total.shape == part.shape and any(_close(part + each, total) for each in added)

        norms = {
            each: output for each, (given, output) in inner.items() if isinstance(each, nn.LayerNorm) and _close(given, whole)
        }
        if goes_on(end, whole):
            found[layer] = None
        elif after := [norm for norm, output in norms.items() if any(goes_on(given, output) for given, _ in inner.values())]:
            found[layer] = after[0]
    return found


def adds_up(observation: Observation) -> bool:
    """Return whether every layer is known to add the outputs of its heads to its input."""
    return len(_norms_after(observation)) == len(attending(observation.module))


InLayer = Callable[..., Tensor]
"""A function from attention weights ``(B, N, T, T)``, values ``(B, N, T, D)`` and ``reader``, the linear module that reads the
outputs of all heads, to a matrix that says how much each token contributes to each other token in this layer,
``(B, 1 or N, T, T)``."""


@torch.no_grad()
def _rolled_out(observation: Observation, matrix: InLayer) -> Tensor:
    matrices = {}
    for layer, weights, values, reader in _terms(observation):
        matrices[layer] = by_rows(partial(matrix, reader=reader), 4 * weights[0].nbytes, weights, values)
    return attention_rollout(matrices, where_rollout_begins(observation))


def _terms(observation: Observation) -> Iterator[tuple[str, Tensor, Tensor, nn.Module]]:
    seen = layers_of(observation)
    values, readers = seen.values(), readers_of(observation)
    for layer, weights in seen.attention.items():
        yield layer, weights, values[layer], readers[layer]


def _written(values: Tensor, reader: nn.Module) -> tuple[Tensor, Tensor]:
    """Return what each head's value adds to the layer's output, ``(B, T, N, H)``, and what the bias adds."""
    heads = torch.eye(values.shape[1]).to(values)
    apart = torch.einsum("bntd,nm->bntmd", values, heads).flatten(3).contiguous()  # a head alone, 0 beside it
    bias = reader(torch.zeros_like(apart[:1, :1, :1]))
    return (reader(apart) - bias).transpose(1, 2), bias.squeeze(1)


def _norms_in_layer(weights: Tensor, values: Tensor, reader: nn.Module) -> Tensor:
    written = _written(values, reader)[0].double()
    products = (written @ written.mT).to(weights)  # (B, T, N, N): no vector for every pair of tokens is needed
    squares = (weights * torch.einsum("bmij,bjnm->bnij", weights, products)).sum(dim=1, keepdim=True)
    return _of_sum_1(squares.clamp(min=0).sqrt())


def _contributions_in_layer(weights: Tensor, values: Tensor, reader: nn.Module) -> Tensor:
    outputs = weights @ values
    lengths = outputs.square().sum(dim=-1, keepdim=True)
    return weights * (outputs @ values.mT) / torch.where(lengths > 0, lengths, 1)


def _of_sum_1(rows: Tensor) -> Tensor:
    total = rows.sum(dim=-1, keepdim=True)
    return rows / torch.where(total > 0, total, 1)


@cached_per_batch
@torch.no_grad()
def readers_of(observation: Observation) -> dict[str, nn.Module]:
    """Return for each layer the linear module whose input is the joined outputs of all heads.

    A layer without such a module, or with heads whose outputs are not weights times values, is left out.
    """
    network, first = observation.module, observation.texts.rows(slice(1))
    readers: dict[str, nn.Module] = {}

    def compare(module: nn.Module, inputs: tuple[Any, ...], _output: Any) -> None:
        given = inputs[0] if len(inputs) == 1 else None
        for layer, heads in outputs.items():
            together = _side_by_side(heads)
            if isinstance(given, Tensor) and given.shape == together.shape and torch.equal(given, together):
                readers[layer] = module  # the outermost, which has what adapters add

    with recorded(network, "outputs") as outputs, hooked(network.modules(), compare):
        first.read_by(network)
    seen = observe_layers(network, None, first.tokens, first.mask, beside=first.beside)
    values = seen.values() if readers else {}
    return {
        layer: reader
        for layer, reader in readers.items()
        if _is_linear(reader, _side_by_side(outputs[layer])) and _close(seen.attention[layer] @ values[layer], outputs[layer])
    }


def _side_by_side(outputs: Tensor) -> Tensor:
    return outputs.transpose(1, 2).flatten(2).contiguous()


def _is_linear(module: nn.Module, given: Tensor) -> bool:
    nothing = module(torch.zeros_like(given))
    return _close(module(2 * given) - nothing, 2 * (module(given) - nothing))


def _close(found: Tensor, expected: Tensor) -> bool:
    within = rounding(expected.dtype)
    return found.shape == expected.shape and torch.allclose(found, expected, rtol=within, atol=within)
