"""Figures of E16, edges cut in decoders: functions of its table alone."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from attest.report.figures import CLASS_COLOURS
from attest.report.panels import Panels

CUT = {"drop": "most attended", "drop_random": "random", "drop_sink": "first token"}
HEAD = re.compile(r"sink_layer(\d+)_head(\d+)")


def sink_map(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Attention on the first token, a row a layer and a column a head, mean over texts, on one scale from 0 to 1.

    Args:
        rows: ``sink_layer<l>_head<h>`` of each instance.
        class_names: of no use here.
    """
    places = {name: tuple(map(int, found.groups())) for name in rows.columns if (found := HEAD.fullmatch(name))}
    layers, heads = (max(place[axis] for place in places.values()) for axis in (0, 1))
    shares = np.full((layers, heads), np.nan)
    for name, (layer, head) in places.items():
        shares[layer - 1, head - 1] = rows[name].mean()
    figure = Figure(figsize=(1.8 + 0.35 * heads, 1.4 + 0.22 * layers), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(shares, vmin=0, vmax=1, cmap="Blues", interpolation="nearest", aspect="auto")
    step = -(-layers // 15)
    axes.set_xticks(range(heads), [str(head) for head in range(1, heads + 1)])
    axes.set_yticks(range(0, layers, step), [str(layer) for layer in range(1, layers + 1, step)])
    axes.set_xlabel("head")
    axes.set_ylabel("layer")
    figure.colorbar(image, ax=axes, label="share of attention")
    return figure


def knockout_by_window(rows: pd.DataFrame, class_names: Sequence[str]) -> Figure:
    """Mean fall of the logit difference by window of layers and by what was cut; whiskers 95 % of the mean over texts.

    Args:
        rows: ``drop``, ``drop_random`` and ``drop_sink`` of each instance, of all layers and of windows.
        class_names: of no use here.
    """
    suffixes = [name.removeprefix("drop") for name in rows.columns if re.fullmatch(r"drop(_layers\w+)?", name)]
    windows = [*suffixes[1:], suffixes[0]]
    figure = Figure(figsize=(8, 3), layout=Panels())
    axes = figure.subplots()
    for place, (colour, (name, label)) in enumerate(zip(CLASS_COLOURS, CUT.items(), strict=False)):
        columns = [rows[f"{name}{suffix}"] for suffix in windows]
        means, margins = [column.mean() for column in columns], [1.96 * column.sem() for column in columns]
        at = np.arange(len(windows)) + 0.12 * (place - 1)
        axes.errorbar(at, means, yerr=margins, fmt="o", ms=4, capsize=2, color=colour, label=label)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(windows)), [_named(suffix) for suffix in windows])
    axes.set_ylabel("fall of the logit difference")
    axes.legend(frameon=False, fontsize=8)
    return figure


def _named(suffix: str) -> str:
    return suffix.removeprefix("_layers").replace("to", " to ") if suffix else "all layers"
