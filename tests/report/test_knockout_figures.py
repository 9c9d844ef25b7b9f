"""Figures of E16: what is drawn is what the table says."""

import numpy as np
import pandas as pd

from attest.report.evidence_figures import knockout_by_window, sink_map
from attest.report.figures import to_svg
from attest.report.illustrations import evidence_illustrations

HEADS = {f"sink_layer{layer}_head{head}": [0.1 * layer, 0.1 * head] for layer in range(1, 4) for head in range(1, 3)}
SCOPES = ("", "_layers1to9", "_layers10to12")
CUTS = {f"{name}{scope}": [place, place + 2] for place, scope in enumerate(SCOPES) for name in ("drop", "drop_random")}
TABLE = pd.DataFrame(
    {"predicted": [0, 1]} | HEADS | CUTS | {f"drop_sink{scope}": [-1.0, np.nan] for scope in SCOPES} | {"sink_layer1": [9, 9]}
)


def test_sinks_are_drawn_by_layer_and_head():
    figure = sink_map(TABLE, ["bad", "good"])
    expected = [[(0.1 * layer + 0.1 * head) / 2 for head in (1, 2)] for layer in (1, 2, 3)]
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), expected)
    assert to_svg(figure).startswith("<svg")


def test_windows_are_drawn_in_their_order_then_all_layers():
    axes = knockout_by_window(TABLE, ["bad", "good"]).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1 to 9", "10 to 12", "all layers"]
    assert [container.get_label() for container in axes.containers] == ["most attended", "random", "first token"]
    assert axes.containers[0][0].get_ydata().tolist() == [2, 3, 1]
    assert axes.containers[2][0].get_ydata().tolist() == [-1, -1, -1]


def test_the_report_has_both():
    found = list(evidence_illustrations({"E16": TABLE}, ["bad", "good"]))
    assert [each.key for each in found] == ["E16/sinks", "E16/knockout_by_window"]
    assert all(to_svg(each.drawing).startswith("<svg") for each in found)
