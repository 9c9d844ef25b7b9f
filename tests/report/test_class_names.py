"""Names of classes that the font of the figures cannot draw."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attest.report import evidence_figures
from attest.report.figures import to_svg
from attest.report.illustrations import evidence_illustrations
from attest.report.panels import drawable, legend, most_predicted

NAMES = ["🔥 hot", "rec.sport.baseball and other sports that are played", "你好"]
ROWS = pd.DataFrame(
    {
        "predicted": np.arange(90) % 3,
        "length": 20,
        **{name: np.linspace(0, 0.6, 90) for name in ("max_attention", "tvd_median", "jsd_search", "jsd_exact", "delta_js")},
        **{f"{kind}_gradient_inputs": np.linspace(0, 1, 90) for kind in ("tau", "ceiling")},
        **{f"fraction_{order}": np.linspace(0, 1, 90) for order in evidence_figures.ORDERS},
        **dict.fromkeys(("only_top", "only_random", "both", "neither", "attention_gap", "entropy_attention"), 0.25),
    }
)
DRAWINGS = [
    evidence_figures.permutation_violins,
    evidence_figures.importance_histograms,
    evidence_figures.importance_bars,
    evidence_figures.largest_jsd_violins,
    evidence_figures.exact_against_search,
    evidence_figures.erasure_scatter,
    evidence_figures.erasure_boxes,
    evidence_figures.entropy_bars,
]


def test_names_with_signs_that_the_font_lacks_are_numbers():
    assert drawable(["joy", "é, ß, Ω", "🔥", "🔥 love", "你好"]) == ["joy", "é, ß, Ω", "class 2", "class 3", "class 4"]


def test_the_page_can_say_which_is_which(snapshot):
    assert legend(["joy", "🔥", "你好"]) == snapshot
    assert legend(["joy", "anger"]) == ""


@pytest.mark.whole("figures of all experiments")
@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_no_words_of_three_classes_run_into_one_another_nor_out_of_the_figure(draw):
    """Nor is there a sign without a shape: matplotlib warns of these."""
    figure = draw(ROWS, drawable(NAMES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    words = [text for axes in figure.axes for text in (axes.title, axes.xaxis.label, axes.yaxis.label)] + figure.texts
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in words if text.get_text()]
    assert len(boxes) > 3
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_a_dollar_sign_in_a_name_begins_no_formula():
    svg = to_svg(evidence_figures.entropy_bars(ROWS, ["$x^2$", "b", "c"]))
    assert "predicted: $x^2$</text>" in svg


def test_of_many_classes_those_that_are_predicted_most_are_drawn(snapshot):
    names = [f"c{k}" for k in range(1000)]
    rows = pd.DataFrame({"predicted": [7, 7, 7, 999, 999, 0, *range(100, 140)], "value": range(46)})
    drawn, shown = most_predicted(rows, names)
    assert shown == ["c0", "c7", "c100", "c101", "c102", "c103", "c104", "c999"], "ties: the first classes; in class order"
    assert drawn["predicted"].tolist() == [1, 1, 1, 7, 7, 0, 2, 3, 4, 5, 6]
    assert drawn["value"].tolist() == [*range(11)]
    assert legend(names) == snapshot
    few = rows.assign(predicted=0)
    assert most_predicted(few, names[:8])[0] is few
    assert legend(names[:8]) == ""


def test_figures_of_many_classes_have_few_panels():
    names = [f"c{k}" for k in range(40)]
    rows = pd.DataFrame({"predicted": [*range(40)], "max_attention": 0.5, "tvd_median": 0.1})
    figures = {each.key: each for each in evidence_illustrations({"E2": rows}, names)}
    assert figures
    assert {len(each.drawing.axes) for each in figures.values()} == {8}
