"""Race the evidence inside Transformers against a plain loop: ``python -m benchmarks.layers --batches N --steps N``.

The plain side takes one text, one set of layers, one draw and one head at a time, and runs the network from its tokens. Both
sides must give the same numbers. The floor is the time of the matrix products that cannot be left out: of every layer from the
first tampered one on, timed here, on the longest text's length. A layer whose attention is put in needs no queries and keys.
Of E13 it is the time of a QR decomposition a head and of comparing all pairs of weights, as τ asks. Freed memory
stays in the process, as in ``attest evidence``.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import Tensor, nn

from attest.core.attention import Entmax15, Sparsemax, Uniform
from attest.core.attention.interventions import Intervention, attending, intervene, recorded
from attest.core.measures import jensen_shannon, probabilities, total_variation
from attest.core.randomness import random_bits, random_permutations
from attest.experiments import observe
from attest.experiments.importance import leave_one_out_inputs
from attest.experiments.layers import (
    LayerObservation,
    clean_keys,
    key_shuffle,
    layer_activation_swap,
    layer_adversarial_attention,
    layer_identifiability,
    layer_permutation,
    observe_layers,
    replacing_keys,
)
from attest.experiments.layers.adversarial_search import _starting_points
from attest.experiments.layers.permutation import _order
from attest.models.networks import TransformerClassifier
from attest.runs.versions import environment
from benchmarks.evidence import Stage
from benchmarks.measuring import timed
from benchmarks.texts import batches

PERMUTATIONS, SHUFFLES, RESTARTS, STEPS, SEED = 10, 5, 2, 200, 0
PROJECTIONS = {"sparsemax": Sparsemax(), "entmax15": Entmax15(), "uniform": Uniform()}
LAYERS, SIZE, FEEDFORWARD, HEADS = 4, 128, 512, 8
BACK = 2
"""A gradient step costs a pass forward and as many products backward: those of the inputs alone."""


class Race:
    """One row a stage: what both sides cost, how far apart they are, and the floor in seconds."""

    def __init__(self, network: nn.Module, steps: int) -> None:
        self.network, self.steps = network, steps
        self.stages = {name: Stage() for name in ("E1", "E2", "E3", "E8", "E9", "E13")}
        self.floors = dict.fromkeys(self.stages, 0.0)

    def batch(self, ids: Tensor, tokens: Tensor, mask: Tensor) -> None:
        """Race over one batch."""
        labels, lengths = torch.zeros_like(ids), mask.sum(dim=-1)
        steps = observe(self.network, ids, tokens, mask)
        with torch.no_grad():
            seen = observe_layers(self.network, ids, tokens, mask)
        plain, count, floor = Plain(seen, self.steps), int(lengths.sum()), Floor(tokens.shape[1])

        def search() -> dict[str, Tensor]:
            return layer_adversarial_attention(
                seen, seen.ids, SEED, len(seen.ids), restarts=RESTARTS, steps=self.steps, each_layer=True
            )

        def swap() -> Tensor:
            found = layer_activation_swap(seen, labels, PROJECTIONS)
            return torch.cat([_columns(found, f"tvd_{name}") for name in PROJECTIONS])

        def permute() -> Tensor:
            return _columns(layer_permutation(seen, labels, SEED, PERMUTATIONS), "tvd_max")

        def shuffle() -> Tensor:
            return _columns(key_shuffle(seen, labels, SEED, SHUFFLES), "tvd_shuffled")

        def identify() -> Tensor:
            columns = layer_identifiability(seen)
            return torch.stack([_columns(columns, "l1"), _columns(columns, "tau_strict")])

        variants = int((lengths * (lengths - 1)).sum())
        self._race("E1", plain.without_each, lambda: leave_one_out_inputs(steps)[mask], variants * LAYERS * floor.whole)
        self._race("E2", plain.permuted, permute, PERMUTATIONS * count * floor.first_known)
        searched = BACK * RESTARTS * self.steps * count * floor.tampered_known
        self._race("E3", plain.searched, lambda: _columns(search(), "jsd_search"), searched)
        self._race("E8", plain.swapped, swap, len(PROJECTIONS) * count * floor.none_known)
        self._race("E9", plain.shuffled, shuffle, SHUFFLES * count * floor.none_known)
        self._race("E13", plain.identified, identify, LAYERS * count * floor.identified)

    def _race(self, name: str, theirs: Callable[[], Tensor], ours: Callable[[], Tensor], floor: float) -> None:
        self.stages[name].race(theirs, ours)
        self.floors[name] += floor


class Floor:
    """Seconds a token of the products, over all scopes: all layers, then each alone, from the first tampered one on.

    Args:
        length: T.
    """

    def __init__(self, length: int) -> None:
        self.whole, known = seconds_a_token(length, weights_known=False), seconds_a_token(length, weights_known=True)
        above = [LAYERS, *range(LAYERS, 0, -1)]
        self.none_known = sum(above) * self.whole
        self.first_known = self.none_known - len(above) * (self.whole - known)
        self.tampered_known = self.none_known - 2 * LAYERS * (self.whole - known)
        self.identified = seconds_of_decomposing(length) + seconds_of_comparing(length)


def seconds_a_token(length: int, weights_known: bool) -> float:
    """Time of one layer's matrix products, a token: the best of five passes over about 1,024 tokens."""
    rows = max(1, 1024 // length)
    hidden, wide = torch.randn(rows * length, SIZE), torch.randn(rows * length, FEEDFORWARD)
    heads, maps = torch.randn(rows * HEADS, length, SIZE // HEADS), torch.randn(rows * HEADS, length, length)
    square, widen = torch.randn(SIZE, SIZE), torch.randn(SIZE, FEEDFORWARD)

    def multiply() -> None:
        for _ in range(2 if weights_known else 4):
            hidden @ square
        hidden @ widen, wide @ widen.T, maps @ heads
        if not weights_known:
            heads @ heads.mT

    multiply()
    best = min(timed(lambda: [multiply() for _ in range(10)])[1] for _ in range(5)) / 10
    return best / (rows * length)


def seconds_of_decomposing(length: int) -> float:
    """Time of a layer's QR decompositions, one a head, a token: the best of five."""
    heads = torch.randn(max(1, 1024 // length) * HEADS, length, SIZE // HEADS).double()
    best = min(timed(lambda: torch.linalg.qr(heads))[1] for _ in range(5))
    return best * HEADS / (len(heads) * length)


def seconds_of_comparing(length: int) -> float:
    """Time of a layer's pairs of weights, a token: every pair of a row, of raw attention and of both effective ones."""
    rows = torch.randn(max(1, 2**18 // length**2), 3, length).double()

    def compare() -> None:
        raw, *effective = (rows.unsqueeze(-1) - rows.unsqueeze(-2)).flatten(2).unbind(dim=1)
        [torch.linalg.vecdot(raw, each) for each in effective]

    compare()
    return min(timed(compare)[1] for _ in range(5)) * HEADS / len(rows)


class Plain:
    """One text, one scope, one draw and one head at a time, from the tokens on; orders and starting points are given."""

    def __init__(self, seen: LayerObservation, steps: int) -> None:
        self.seen, self.steps, self.network = seen, steps, seen.network
        self.layers = seen.scopes[""]
        self.keys = clean_keys(self.network, self.layers, seen.texts).detach()
        lengths = seen.mask.sum(dim=-1).tolist()
        self.texts = [(row, seen.tokens[row : row + 1, :length]) for row, length in enumerate(lengths)]
        self.orders = [self._orders(draw) for draw in range(PERMUTATIONS)]
        self.shuffles = [self._shuffles(draw) for draw in range(SHUFFLES)]
        everyone = torch.arange(len(seen.ids)).repeat_interleave(RESTARTS)
        self.starts = dict(zip(self.layers, _starting_points(seen.rows(everyone), self.layers, RESTARTS, SEED), strict=True))

    def _orders(self, draw: int) -> dict[str, Tensor]:
        keys = random_bits(SEED, self.seen.ids, torch.tensor(draw))
        drawn = {layer: random_bits(SEED, keys, torch.tensor(place)) for place, layer in enumerate(self.layers)}
        return {layer: _order(self.seen, self.seen.attention[layer], drawn[layer], SEED, None) for layer in self.layers}

    def _shuffles(self, draw: int) -> Tensor:
        return random_permutations(SEED, random_bits(SEED, self.seen.ids, torch.tensor(draw)), LAYERS, self.seen.mask)

    @torch.no_grad()
    def without_each(self) -> Tensor:
        """E1, of every real token."""
        moved = []
        for row, text in self.texts:
            for removed in range(text.shape[1]):
                kept = torch.cat([text[:, :removed], text[:, removed + 1 :]], dim=1)
                moved.append(self._moved(row, self._run(kept)) if kept.numel() else torch.tensor([torch.nan]))
        return torch.cat(moved)

    @torch.no_grad()
    def permuted(self) -> Tensor:
        """E2, the largest movement."""
        return self._scopes(lambda row, text, layers: max(self._permuted(row, text, layers)))

    def _permuted(self, row: int, text: Tensor, layers: list[str]) -> Iterator[Tensor]:
        size = text.shape[1]
        for orders in self.orders:
            changes = [
                Intervention("weights", _within(orders[layer][row : row + 1, head : head + 1, :size, :size]), [layer], [head])
                for layer in layers
                for head in range(HEADS)
            ]
            yield self._moved(row, self._run(text, *changes))

    @torch.no_grad()
    def swapped(self) -> Tensor:
        """E8, under each projection."""
        return torch.cat([self._swapped(projection) for projection in PROJECTIONS.values()])

    def _swapped(self, projection: nn.Module) -> Tensor:
        return self._scopes(
            lambda row, text, layers: self._moved(row, self._run(text, Intervention("projection", projection, layers)))
        )

    @torch.no_grad()
    def shuffled(self) -> Tensor:
        """E9, the mean movement."""
        return self._scopes(
            lambda row, text, layers: torch.stack(list(self._shuffled(row, text, layers))).double().mean(dim=0)
        )

    def _shuffled(self, row: int, text: Tensor, layers: list[str]) -> Iterator[Tensor]:
        chosen = [self.layers.index(layer) for layer in layers]
        for shuffle in self.shuffles:
            keys = [self.keys[row, place, shuffle[row, place, : text.shape[1]]] for place in chosen]
            changes = replacing_keys(self.network, layers, torch.stack(keys).unsqueeze(0))
            yield self._moved(row, self._run(text, *changes))

    def searched(self) -> Tensor:
        """E3, the largest JSD within epsilon."""
        return self._scopes(self._search)

    def _search(self, row: int, text: Tensor, layers: list[str]) -> Tensor:
        size = text.shape[1]
        rows = slice(row * RESTARTS, (row + 1) * RESTARTS)
        logits = [self.starts[layer][rows, :, :size, :size].clone().requires_grad_() for layer in layers]
        original = [self.seen.attention[layer][row, :, :size, :size] for layer in layers]
        adam = torch.optim.Adam(logits, lr=0.01, amsgrad=True, fused=True)
        for _ in range(self.steps):
            weights, moved = self._put_in(row, text, layers, logits)
            apart = [jensen_shannon(each, old) for each, old in zip(weights, original, strict=True)]
            among = [jensen_shannon(each[0], each[1]) for each in weights]
            loss = 500 * (moved - 0.01).relu().sum() - sum(a.sum() + b.sum() / 2 for a, b in zip(apart, among, strict=True))
            for each, gradient in zip(logits, torch.autograd.grad(loss, logits), strict=True):
                each.grad = gradient
            adam.step()
        with torch.no_grad():
            weights, moved = self._put_in(row, text, layers, logits)
            apart = [jensen_shannon(each, old).mean(dim=(1, 2)) for each, old in zip(weights, original, strict=True)]
            return torch.where(moved <= 0.01, torch.stack(apart).mean(dim=0), 0).amax().unsqueeze(0)

    def _put_in(self, row: int, text: Tensor, layers: list[str], logits: list[Tensor]) -> tuple[list[Tensor], Tensor]:
        weights = [each.softmax(dim=-1) for each in logits]
        outcomes = [
            self._run(
                text, *(Intervention("weights", each[k : k + 1], [at]) for at, each in zip(layers, weights, strict=True))
            )
            for k in range(RESTARTS)
        ]
        return weights, torch.cat([self._moved(row, outcome) for outcome in outcomes])

    @torch.no_grad()
    def identified(self) -> Tensor:
        """E13: the L1 distance without ones, then τ-b with ones."""
        with recorded(self.network, "values") as values:
            self.network(self.seen.tokens, self.seen.mask)
        of_layers = {
            layer: np.stack([self._identified(layer, values[layer], *text) for text in self.texts]) for layer in values
        }
        scopes = [np.mean([of_layers[layer] for layer in layers], axis=0) for layers in self.seen.scopes.values()]
        return torch.from_numpy(np.concatenate(scopes)).T

    def _identified(self, layer: str, values: Tensor, row: int, text: Tensor) -> np.ndarray:
        size, weights = text.shape[1], self.seen.attention[layer][row].double().numpy()
        outputs = attending(self.network)[layer].output.weight.double().split(SIZE // HEADS, dim=1)
        heads = [(values[row, head, :size].double() @ output.T).numpy() for head, output in enumerate(outputs)]
        found = [_effective(each, weights[head, :size, :size]) for head, each in enumerate(heads)]
        return np.mean(found, axis=0)

    def _scopes(self, measure: Callable[[int, Tensor, list[str]], Tensor]) -> Tensor:
        found = [measure(row, text, layers) for layers in self.seen.scopes.values() for row, text in self.texts]
        return torch.cat(found).double()

    def _run(self, text: Tensor, *changes: Intervention) -> Tensor:
        with intervene(self.network, *changes):
            return self.network(text, torch.ones_like(text, dtype=torch.bool))

    def _moved(self, row: int, logits: Tensor) -> Tensor:
        return total_variation(probabilities(logits), self.seen.probabilities[row : row + 1])


def _effective(outputs: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """How far effective attention is from the raw one without ones (L1), and τ-b of both with ones; means over rows."""
    effective = weights @ _kept(outputs)
    strict = weights @ _kept(np.hstack([outputs, np.ones((len(outputs), 1))]))
    taus = [kendalltau(raw, row).statistic for raw, row in zip(weights, strict, strict=True)]
    return float(np.abs(weights - effective).sum(axis=1).mean()), float(np.mean(taus))


def _kept(matrix: np.ndarray) -> np.ndarray:
    """What projects onto its column space."""
    basis, values, _ = np.linalg.svd(matrix, full_matrices=False)
    basis = basis[:, values > max(matrix.shape) * np.finfo(np.float32).eps * values.max()]
    return basis @ basis.T


def _within(order: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda weights, mask: weights.gather(-1, order)


def _columns(columns: dict[str, Tensor], name: str) -> Tensor:
    """Of all layers, then of each alone."""
    return torch.cat([columns[f"{name}{suffix}"].double() for suffix in ("", *(f"_layer{n}" for n in range(1, LAYERS + 1)))])


def race(texts: Sequence[tuple[Tensor, Tensor]], vocabulary: int, steps: int = STEPS) -> Race:
    """All stages over all batches, with an untrained network of the default size."""
    torch.manual_seed(SEED)
    network = TransformerClassifier(vocabulary, 1, SIZE, LAYERS, HEADS, FEEDFORWARD).eval()
    nn.init.normal_(network.decoder.weight, std=0.5)
    racing = Race(network, steps)
    for number, (tokens, lengths) in enumerate(texts):
        ids = torch.arange(number * 1000, number * 1000 + len(tokens))
        racing.batch(ids, tokens, torch.arange(tokens.shape[1]) < lengths.unsqueeze(-1))
    return racing


def table(racing: Race) -> str:
    """The result as text, one row a stage."""
    lines = [f"{'stage':<8}{'plain s':>10}{'ours s':>10}{'ratio':>9}{'floor s':>10}{'of floor':>10}{'apart':>10}"]
    for name, stage in racing.stages.items():
        theirs, ours, floor = stage.theirs.seconds, stage.ours.seconds, racing.floors[name]
        costs = f"{theirs:>10.2f}{ours:>10.2f}{theirs / ours:>7.1f} ×{floor:>10.2f}{floor / ours:>9.0%}"
        lines.append(f"{name:<8}{costs} {stage.apart:>9.1e}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, race, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description=__doc__)
    parser.add_argument(
        "--batches", type=int, default=3, help="of 32 SST texts of like length, evenly spread over the lengths"
    )
    parser.add_argument("--steps", type=int, default=20, help=f"of the search; {STEPS} in evidence")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    everything, vocabulary = batches("sst", 0)
    texts = [everything[(2 * number + 1) * len(everything) // (2 * chosen.batches)] for number in range(chosen.batches)]
    torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()  # its first use imports a great deal
    print(f"{sum(len(lengths) for _, lengths in texts)} texts of SST; one thread, CPU seconds; {environment()}")
    print(table(race(texts, vocabulary, chosen.steps)))


if __name__ == "__main__":
    main()
