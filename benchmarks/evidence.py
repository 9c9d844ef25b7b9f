"""Race the evidence against the literature's own way: ``python -m benchmarks.evidence --data sst|imdb --texts N``.

Both sides read the same texts with the same parameters in batches of 32, on one thread, and must give the same numbers. The
search starts from the same points on both sides; it is an iteration through kinks, so its ends are compared in the mean.

A stage is held to its target, a ratio, or to a share of its floor (``benchmarks.floors``): the command names the stages that
reach neither. *Noise* is the plain side raced against itself on every eighth batch: how many seconds more or fewer it took
the second time. Targets and shares are missed only by more than that.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from attest.core.measures import kendall_tau_b
from attest.core.randomness import random_permutations
from attest.experiments import Observation, attention_permutation, observe
from attest.experiments.adversarial_search import SearchObjective, largest_jsd, search_adversaries
from attest.experiments.exact_adversary import exact_adversary
from attest.experiments.importance import gradient_times_input, leave_one_out_inputs
from attest.models.networks import PoolingClassifier
from attest.runs.versions import environment
from benchmarks.floors import floors
from benchmarks.measuring import Cost
from benchmarks.published import PublishedClassifier, PublishedEvidence
from benchmarks.texts import batches

PERMUTATIONS, RESTARTS, STEPS, EPSILON, SEED = 100, 5, 500, 0.01, 0
TARGETS = {"gradients": 3, "permutation × 100": 100, "leave-one-out": 5, "search": 10, "exact adversary": 1000, "τ": 20}
EVERYTHING = 30
SHARES = {
    "sst": {
        "gradients": 0.25,
        "permutation × 100": 0.2,
        "leave-one-out": 0.4,
        "search": 0.04,
        "exact adversary": 0.08,
        "τ": 0.01,
    },
    "imdb": {
        "gradients": 0.25,
        "permutation × 100": 0.3,
        "leave-one-out": 0.4,
        "search": 0.15,
        "exact adversary": 0.15,
        "τ": 0.04,
    },
}
"""Of its floor that a stage must reach where it does not reach its target: what was measured, rounded down."""


@dataclass
class Stage:
    """One row of the table: what both sides cost and how far their numbers are apart."""

    theirs: Cost = field(default_factory=Cost)
    ours: Cost = field(default_factory=Cost)
    apart: float = 0.0
    floor: float = 0.0
    """CPU seconds."""

    first: float = 0.0
    second: float = 0.0
    """CPU seconds of theirs on the batches that it reads twice."""

    memory: bool = False
    """Whether the batch at hand is watched: the last, which has the longest texts."""

    twice: bool = False
    """Whether theirs reads the batch at hand twice."""

    def race(self, theirs: Callable[[], Tensor], ours: Callable[[], Tensor], mask: Tensor | None = None) -> Tensor:
        """Let both work on a batch and note the largest difference; returns theirs."""
        expected, found = self.plain(theirs), self.ours.of(ours, memory=self.memory)
        difference = (expected - found).abs() if mask is None else (expected - found).abs()[mask]
        self.apart = max(self.apart, float(difference.nan_to_num().max()))
        return expected

    def plain(self, work: Callable[[], Tensor]) -> Tensor:
        """Let theirs work on a batch, and once more where it reads the batch twice."""
        before = self.theirs.seconds
        result = self.theirs.of(work, memory=self.memory)
        if self.twice:
            again = Cost()
            again.of(work)
            self.first += self.theirs.seconds - before
            self.second += again.seconds
        return result

    @property
    def noise(self) -> float:
        """By which share theirs took more or less time when it read the same batches again."""
        return abs(self.second / self.first - 1) if self.first else 0.0

    @property
    def ratio(self) -> float:
        """How many times as fast as theirs ours is."""
        return self.theirs.seconds / max(self.ours.seconds, 1e-9)

    @property
    def share(self) -> float:
        """Of the floor that ours reaches, at most about 1."""
        return self.floor / max(self.ours.seconds, 1e-9)


def race(texts: Sequence[tuple[Tensor, Tensor]], vocabulary: int, steps: int = STEPS) -> dict[str, Stage]:
    """All stages over all batches."""
    network = untrained(vocabulary)
    published = PublishedClassifier(network)
    stages = {name: Stage() for name in ("evaluation", *TARGETS)}
    for number, (tokens, lengths) in enumerate(texts):
        ids = torch.arange(number * 1000, number * 1000 + len(tokens))
        mask = torch.arange(tokens.shape[1]) < lengths.unsqueeze(-1)
        for stage in stages.values():
            stage.memory = number == len(texts) - 1
            stage.twice = number % 8 == 1
        for name, seconds in floors(lengths, PERMUTATIONS, RESTARTS, steps).items():
            stages[name].floor += seconds
        _race_batch(stages, network, PublishedEvidence(published, tokens, lengths), ids, mask, steps)
    return stages


def _race_batch(
    stages: dict[str, Stage], network: PoolingClassifier, plain: PublishedEvidence, ids: Tensor, mask: Tensor, steps: int
) -> None:
    seen: list[Observation] = []

    def evaluate() -> Tensor:
        seen.append(observe(network, ids, plain.tokens, mask))
        return seen[0].probabilities[:, 1]

    stages["evaluation"].race(plain.evaluate, evaluate)
    observation = seen[0]
    importance = stages["gradients"].race(plain.gradients, lambda: gradient_times_input(observation), mask)
    keys = random_permutations(SEED, ids, PERMUTATIONS, mask).argsort(dim=-1)  # sorting these gives our shuffles
    stages["permutation × 100"].race(
        lambda: plain.permutation(keys), lambda: attention_permutation(observation, PERMUTATIONS, SEED)["tvd_median"]
    )
    removal = stages["leave-one-out"].race(plain.leave_one_out, lambda: leave_one_out_inputs(observation), mask)
    both, words = torch.cat([importance, removal]), plain.words

    def correlate() -> Tensor:
        return kendall_tau_b(words.repeat(2, 1), both, mask.repeat(2, 1)).tau

    stages["τ"].race(lambda: torch.cat([plain.correlation(importance), plain.correlation(removal)]), correlate)
    _race_adversaries(stages, plain, observation, steps)


def _race_adversaries(stages: dict[str, Stage], plain: PublishedEvidence, observation: Observation, steps: int) -> None:
    rows = torch.arange(len(observation.ids))
    starts = SearchObjective(observation, rows, RESTARTS, EPSILON).starting_points(SEED)

    def search() -> Tensor:
        return largest_jsd(observation, search_adversaries(observation, RESTARTS, steps, EPSILON, SEED), (EPSILON,))[0]

    def solve() -> Tensor:
        assert observation.margins is not None
        problem = observation.margins, observation.attention, observation.probabilities[:, 1], observation.mask
        return exact_adversary(*problem, EPSILON).jsd

    before = stages["search"].apart
    found = stages["search"].plain(lambda: plain.search(starts, steps, EPSILON))
    ours = stages["search"].ours.of(search, memory=stages["search"].memory)
    stages["search"].apart = max(before, float((found.mean() - ours.mean()).abs()))
    exact = stages["exact adversary"].ours.of(solve, memory=stages["search"].memory)
    shortfall = torch.maximum(found, ours).double() - exact
    stages["exact adversary"].apart = max(stages["exact adversary"].apart, float(shortfall.max()))
    for name in ("theirs", "first", "second"):
        setattr(stages["exact adversary"], name, getattr(stages["search"], name))


def untrained(vocabulary: int) -> PoolingClassifier:
    """The network of Jain & Wallace with random parameters, large enough that predictions differ."""
    torch.manual_seed(SEED)
    network = PoolingClassifier(vocabulary, 1).eval()
    for parameter in (*network.attention_parameters(), *network.decoder.parameters()):
        nn.init.normal_(parameter, std=0.5)
    return network


def targets(data: str) -> dict[str, int]:
    """Return the ratio that each stage should reach on a corpus."""
    return TARGETS | {"leave-one-out": 10 if data == "imdb" else 5}


def missed(stages: dict[str, Stage], data: str) -> list[str]:
    """Return the stages that reach neither their target nor their share of the floor, by more than their noise."""
    held = [(name, stages[name], target, SHARES[data][name]) for name, target in targets(data).items()]
    return [
        name for name, stage, target, share in held if max(stage.ratio / target, stage.share / share) * (1 + stage.noise) < 1
    ]


def table(stages: dict[str, Stage], data: str) -> str:
    """Return the result as text, one row a stage and one for everything with the exact adversary in place of the search."""
    heads = ("theirs s", "ours s", "ratio", "target", "floor s", "of floor", "theirs MB", "ours MB", "noise", "apart")
    lines = [f"{'stage':<20}" + "".join(f"{head:>10}" for head in heads)]
    for name, stage in stages.items():
        lines.append(_row(name, stage, targets(data).get(name)) + f"{stage.noise:>10.0%}{stage.apart:>10.1e}")
    lines.append(_row("everything", _everything(stages), EVERYTHING))
    return "\n".join(lines)


def _everything(stages: dict[str, Stage]) -> Stage:
    alone = [stage for name, stage in stages.items() if name not in ("search", "exact adversary")]
    theirs, ours = [*alone, stages["search"]], [*alone, stages["exact adversary"]]
    return Stage(
        Cost(sum(s.theirs.seconds for s in theirs), max(s.theirs.peak for s in theirs)),
        Cost(sum(s.ours.seconds for s in ours), max(s.ours.peak for s in ours)),
        floor=sum(s.floor for s in ours),
    )


def _row(name: str, stage: Stage, target: int | None) -> str:
    goal = "" if target is None else f"{target} ×"
    costs = f"{stage.theirs.seconds:>10.2f}{stage.ours.seconds:>10.3f}{stage.ratio:>8.1f} ×{goal:>10}"
    reached = f"{stage.floor:>10.3f}{stage.share:>10.0%}"
    return f"{name:<20}{costs}{reached}{stage.theirs.peak / 2**20:>10.0f}{stage.ours.peak / 2**20:>10.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, race, print; also which stages reach neither their target nor their share of the floor."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("--data", choices=["sst", "imdb"], default="sst")
    parser.add_argument("--texts", type=int, default=0, help="test texts, evenly spread over the lengths; 0 for all")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the search; 500 in the paper")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    texts, vocabulary = batches(chosen.data, chosen.texts)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()  # its first use imports a great deal
    count, mean = sum(len(lengths) for _, lengths in texts), torch.cat([lengths for _, lengths in texts]).float().mean()
    print(f"{chosen.data}: {count} texts of {mean:.0f} tokens in the mean; one thread, CPU seconds; {environment()}")
    stages = race(texts, vocabulary, chosen.steps)
    print(table(stages, chosen.data))
    below = missed(stages, chosen.data)
    if below:
        print(f"Neither the target nor the share of the floor: {', '.join(below)}.")


if __name__ == "__main__":
    main()
