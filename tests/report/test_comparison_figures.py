"""Figures of runs beside their base, drawn from tables with gaps."""

import numpy as np
import pandas as pd

from attest.report.evidence_figures import divergence_against_distance, divergence_violins
from attest.report.figures import to_svg

SWEEP = pd.DataFrame(
    {"lambda": [0.1, 1.0, 10.0], "tvd": [0.0, 0.1, 0.5], "jsd": [0.1, 0.4, 0.5], "knee": [False, True, False]}
)


def test_the_curve_marks_its_knee_and_every_baseline_that_has_both_numbers():
    baselines = pd.DataFrame(
        {"experiment": ["E3", "E4", "E5"], "name": ["each text", "uniform", "seed 1"], "tvd": [0.01, 0.2, np.nan], "jsd": 0.3}
    )
    (axes,) = divergence_against_distance(SWEEP, baselines, "tvd", "jsd").axes
    labels = [line.get_label() for line in axes.lines]
    reached = "the most that was reached at this cost"
    assert labels == ["adversaries (E7), by λ", reached, "knee", "E3, each text", "E4, uniform"]
    assert [text.get_text() for text in axes.texts] == ["0.1", "1", "10"]
    assert axes.lines[2].get_xydata().tolist() == [[0.1, 0.4]]


def test_the_curve_is_the_trade_off_and_never_turns_back():
    """Joined by λ, points of training that came out otherwise made a zigzag."""
    sweep = pd.DataFrame(
        {"lambda": [1, 2, 3, 4], "tvd": [0.0, 0.09, 0.03, 0.08], "jsd": [0.5, 0.6, 0.69, 0.68], "knee": False}
    )
    (axes,) = divergence_against_distance(sweep, pd.DataFrame(), "tvd", "jsd").axes
    x, y = axes.lines[1].get_xydata().T
    assert (x.tolist(), y.tolist()) == ([0.0, 0.03, 0.08, 0.09], [0.5, 0.69, 0.69, 0.69])
    assert axes.lines[0].get_linestyle() == "None"


def test_seeds_are_one_entry_of_the_legend():
    seeds = pd.DataFrame({"experiment": "E5", "name": ["seed 1", "seed 2"], "tvd": [0.1, 0.2], "jsd": [0.3, 0.4]})
    (axes,) = divergence_against_distance(SWEEP, seeds, "tvd", "jsd").axes
    assert axes.lines[-1].get_label() == "E5, 2 other seeds"
    assert axes.lines[-1].get_xydata().tolist() == [[0.1, 0.3], [0.2, 0.4]]


def test_points_in_one_place_are_labelled_once():
    crowded = pd.concat([SWEEP, SWEEP[2:].assign(**{"lambda": 30.0, "tvd": 0.501})], ignore_index=True)
    (axes,) = divergence_against_distance(crowded, pd.DataFrame(), "tvd", "jsd").axes
    assert [text.get_text() for text in axes.texts] == ["0.1", "1", "10"]


def test_without_baselines_the_curve_stands_alone():
    figure = divergence_against_distance(SWEEP, pd.DataFrame(), "tvd", "jsd")
    assert to_svg(figure).startswith("<svg")


def test_violins_have_a_panel_a_class_and_one_for_taggers():
    rows = pd.DataFrame({"jsd": np.linspace(0, 0.6, 40), "max_attention": np.linspace(0, 1, 40), "predicted": [0, 1] * 20})
    assert [axes.get_title() for axes in divergence_violins(rows, ["a", "b"]).axes] == ["predicted: a", "predicted: b"]
    assert len(divergence_violins(rows.drop(columns="predicted"), ["a", "b"]).axes) == 1
