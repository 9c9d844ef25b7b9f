"""Figures of attention inside Transformers: functions of their data alone."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from attest.report.figures import CLASS_COLOURS
from attest.report.intervals import whiskers
from attest.report.panels import Panels

TICKS = 30
"""Tokens named along an axis at the most; of longer texts every n-th is."""
INCHES = 2.6


def attention_map_grid(maps: Mapping[str, Sequence[np.ndarray]], tokens: Sequence[str]) -> Figure:
    """Attention maps side by side: one column a condition, one row a layer, darker where there is more.

    Args:
        maps: of each condition the maps ``(T, T)`` of its layers, first to last; a row attends, a column is attended to.
            All share one scale, in which the square root of a weight decides, so that small ones are seen.
        tokens: T, in order.
    """
    layers = len(next(iter(maps.values())))
    figure = Figure(figsize=(INCHES * len(maps) + 1.4, INCHES * layers + 1.2), layout="constrained")
    grid = figure.subplots(layers, len(maps), squeeze=False, sharex=True, sharey=True)
    scale = PowerNorm(0.5, 0, max(float(layer.max()) for condition in maps.values() for layer in condition))
    for column, (name, condition) in enumerate(maps.items()):
        for row, weights in enumerate(condition):
            image = grid[row][column].imshow(weights, cmap="Blues", norm=scale, interpolation="nearest", aspect="equal")
        grid[0][column].set_title(name, fontsize=10)
    for row in range(layers):
        grid[row][0].set_ylabel(f"layer {row + 1}")
    _name_tokens(grid[-1][0], tokens)
    figure.colorbar(image, ax=grid, shrink=0.6, label="weight, mean over heads")
    return figure


def _name_tokens(axes: Axes, tokens: Sequence[str]) -> None:
    places = range(0, len(tokens), -(-len(tokens) // TICKS))
    names = [tokens[place].replace("$", r"\$") for place in places]
    axes.set_xticks(places, names, rotation=90, fontsize=6)
    axes.set_yticks(places, names, fontsize=6)
    for other in axes.figure.axes:
        other.tick_params(axis="x", labelrotation=90, labelsize=6)
        other.tick_params(axis="y", labelsize=6)


def accuracy_by_layer(swapped: pd.DataFrame | None, shuffled: pd.DataFrame | None) -> Figure:
    """Accuracy with one layer tampered with, and with all.

    Args:
        swapped, shuffled: tables of E8 and E9; None where one is missing. Whiskers: 95 % of the mean over instances. Dashed:
            the model as it is.
    """
    figure = Figure(figsize=(8, 3), layout=Panels())
    axes = figure.subplots()
    series = [*_series(swapped, "under "), *_series(shuffled, "keys ")]
    for colour, (label, means, margins) in zip(CLASS_COLOURS, series, strict=False):
        axes.errorbar(range(len(means)), means, yerr=margins, marker="o", ms=4, lw=1, capsize=2, color=colour, label=label)
    table = swapped if swapped is not None else shuffled
    assert table is not None
    axes.axhline(table["correct"].mean(), color="black", linestyle="--", linewidth=0.8)
    layers = max((len(means) for _, means, _ in series), default=1) - 1
    axes.set_xticks(range(layers + 1), [*(f"layer {place}" for place in range(1, layers + 1)), "all layers"])
    axes.set_ylabel("accuracy")
    axes.legend(frameon=False, fontsize=8)
    return figure


def _series(table: pd.DataFrame | None, prefix: str) -> list[tuple[str, list[float], np.ndarray]]:
    """Of each kind of tampering its label, and mean and margin for every layer alone and then for all."""
    if table is None:
        return []
    kinds = [name for name in table.columns if name.startswith("correct_") and "_layer" not in name]
    series = []
    for kind in kinds:
        alone = [name for name in table.columns if name.startswith(f"{kind}_layer")]  # as written, first layer to last
        columns = [table[name].astype(float) for name in (*alone, kind)]
        margins = np.transpose([whiskers(column) for column in columns])
        series.append((f"{prefix}{kind.removeprefix('correct_')}", [float(column.mean()) for column in columns], margins))
    return series
