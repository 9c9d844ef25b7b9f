"""Figures of E17: what is drawn is what the table says, and a square says it on hover."""

import numpy as np
import pandas as pd

from attest.experiments.layers.heads import CURVE, by_head
from attest.report.figures import to_svg
from attest.report.illustrations import evidence_illustrations

KINDS = {"look": 0.5, "write": 1.0, "drop": -2.0, "flipped": 0.25}
HEADS = {
    f"{kind}_layer{layer}_head{head}": [value * layer, value * head]
    for layer in (1, 2, 3)
    for head in (1, 2)
    for kind, value in KINDS.items()
}
CURVES = {f"flipped_{order}_{percentage}": [0.0, 1.0] for order in ("look", "write", "random") for percentage in CURVE}
TABLE = pd.DataFrame({"predicted": [0, 1], "tau_write": [0.1, 0.2]} | HEADS | CURVES)


def test_means_stand_by_layer_and_head():
    heads = by_head(TABLE)
    assert heads[["layer", "head"]].to_numpy().tolist() == [[layer, head] for layer in (1, 2, 3) for head in (1, 2)]
    for kind, value in KINDS.items():
        np.testing.assert_allclose(heads[kind], value * (heads["layer"] + heads["head"]) / 2)


def test_the_report_has_a_map_and_curves(snapshot):
    found = {each.key: each for each in evidence_illustrations({"E17": TABLE}, ["bad", "good"])}
    assert [*found] == ["E17/heads", "E17/curve"]
    svg = to_svg(found["E17/heads"].drawing)
    assert svg.count("<g><title>") == 6
    assert svg.split("<g><title>")[2].split("</title>")[0] == snapshot
    assert found["E17/heads"].caption == snapshot
    (axes,) = found["E17/curve"].drawing.axes
    curves = [line.get_ydata().tolist() for line in axes.get_lines() if len(line.get_xdata()) == len(CURVE)]
    assert curves.count([0.5] * len(CURVE)) == 3
