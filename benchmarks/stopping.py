"""What the stopping rule keeps and what it saves.

    python -m benchmarks.stopping                                    # 10,000 simulated corpora
    python -m benchmarks.stopping --run runs/sst/…/seed0             # the evidence of a run, read in random order
    python -m benchmarks.stopping --lead 5                           # random sets of E14 that a text needs
    python -m benchmarks.stopping --lead 5 --rates …/E14.parquet     # the same with the win rates of a trial that drew all

Simulated: of five shapes of data in [0, 1], how many runs ever left their mean out, at any look, and after how many texts
the median run knew it to ± 0.05, 0.02 and 0.01. Of a run: after how many texts each experiment would have stopped.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from attest.core.measures.betting import MeanByBetting
from attest.experiments.erasure.until_clear import unbiased
from attest.experiments.stopping import STEPS, Stopping, looks
from attest.runs.folder import RunFolder

PRECISIONS = (0.05, 0.02, 0.01)
SHAPES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "skewed, Beta(2, 5)": lambda draw, size: draw.beta(2, 5, size),
    "uniform": lambda draw, size: draw.random(size),
    "yes or no, 1 in 20": lambda draw, size: (draw.random(size) < 0.05).astype(float),
    "yes or no, even": lambda draw, size: (draw.random(size) < 0.5).astype(float),
    "narrow, Beta(200, 200)": lambda draw, size: draw.beta(200, 200, size),
}


def simulated(shape: Callable[[np.random.Generator, int], np.ndarray], runs: int, size: int) -> tuple[int, list[float]]:
    """Return how many runs left their mean out at any look, and the median number of texts by precision."""
    draw, missed = np.random.default_rng(0), 0
    needed = np.full((runs, len(PRECISIONS)), float(size))
    for run in range(runs):
        values = shape(draw, size)
        found = MeanByBetting(np.zeros(1), np.ones(1), size, min(PRECISIONS) / STEPS * 4)
        inside, start = True, 0
        for after in looks(size):
            found.update(values[start:after, None])
            start = after
            ((low, high),) = found.intervals
            inside &= low <= values.mean() <= high
            for place, precision in enumerate(PRECISIONS):
                if (high - low) / 2 <= precision:
                    needed[run, place] = min(needed[run, place], after)
        missed += not inside
    return missed, np.median(needed, axis=0).tolist()


def saved(run: RunFolder, orders: int = 20) -> pd.DataFrame:
    """Return the median number of texts, over random orders, after which each experiment of a run would have stopped."""
    lines = []
    for path in sorted(run.evidence("E1").parent.glob("E*.parquet")):
        rows = pd.read_parquet(path)
        for precision in PRECISIONS:
            needed = [_texts_until(path.stem, rows.sample(frac=1, random_state=seed), precision) for seed in range(orders)]
            line = {"experiment": path.stem, "precision": precision, "texts": np.median(needed), "of": len(rows)}
            lines.append(line)
    return pd.DataFrame(lines)


def _texts_until(experiment: str, rows: pd.DataFrame, precision: float) -> int:
    rule, start = Stopping(experiment, precision, len(rows)), 0
    for after in looks(len(rows)):
        if rule.after(rows.iloc[start:after]):
            return after
        start = after
    return len(rows)


def _needed(comparisons: np.ndarray, lead: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where each row of comparisons ``(N, D)``, in {0, 0.5, 1}, stops, its estimate, and whether all decide alike."""
    sets = comparisons.shape[1]
    wins, losses = ((comparisons == value).cumsum(axis=1) for value in (1, 0))
    clear = np.abs(wins - losses) >= lead
    last = np.where(clear.any(axis=1), clear.argmax(axis=1), sets - 1)
    rows = np.arange(len(comparisons))
    wins, losses = wins[rows, last], losses[rows, last]
    return last + 1, unbiased(sets, lead)[last, wins, losses], (wins > losses) == (comparisons.mean(axis=1) > 0.5)


def simulated_sets(lead: int, sets: int = 20, texts: int = 100_000) -> pd.DataFrame:
    """Return, by true win rate, the sets that a text needs, the mean estimate, and the share decided as by all sets."""
    draw, lines = np.random.default_rng(0), []
    for rate in (0.02, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 0.98):
        made, estimates, same = _needed((draw.random((texts, sets)) < rate).astype(float), lead)
        lines.append({"win rate": rate, "sets": made.mean(), "estimate": estimates.mean(), "same decision": same.mean()})
    return pd.DataFrame(lines)


def sets_saved(rows: pd.DataFrame, lead: int, sets: int = 20, orders: int = 200) -> pd.DataFrame:
    """Return the same for win rates that all sets gave: their comparisons in random orders, which are equally likely."""
    draw, lines = np.random.default_rng(0), []
    for name in (name for name in rows if name.startswith("win_")):
        twice = (rows[name].dropna().to_numpy() * 2 * sets).round().astype(int).repeat(orders)[:, None]
        place = np.arange(sets)  # as few ties as the rate allows
        comparisons = draw.permuted(np.where(place < twice // 2, 1, np.where(2 * place < twice, 0.5, 0)), axis=1)
        made, estimates, same = _needed(comparisons, lead)
        lines.append({
            "column": name, "texts": len(made) // orders, "sets": made.mean(), "rate": comparisons.mean(),
            "estimate": estimates.mean(), "same decision": same.mean(),
        })  # fmt: skip
    return pd.DataFrame(lines)


def main() -> None:
    """Print one of both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--lead", type=int, help="of comparisons won over lost, or the reverse")
    parser.add_argument("--rates", type=Path, help="E14.parquet of a trial")
    parser.add_argument("--runs", type=int, default=2000, help="simulated, of each shape")
    parser.add_argument("--texts", type=int, default=4356)
    typed = parser.parse_args()
    if typed.run is not None:
        print(saved(RunFolder(typed.run)).to_string(index=False))
        return
    if typed.lead is not None:
        shown = simulated_sets(typed.lead) if typed.rates is None else sets_saved(pd.read_parquet(typed.rates), typed.lead)
        print(shown.round(3).to_string(index=False))
        return
    print(f"{'shape':24} {'missed':>12} " + " ".join(f"{f'± {precision}':>8}" for precision in PRECISIONS))
    for name, shape in SHAPES.items():
        missed, needed = simulated(shape, typed.runs, typed.texts)
        texts = " ".join(f"{count:8.0f}" for count in needed)
        print(f"{name:24} {missed:4} of {typed.runs} {texts}", flush=True)


if __name__ == "__main__":
    main()
