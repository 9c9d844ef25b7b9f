"""Names of classes that the font of the figures cannot draw."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attest.report import evidence_figures, figures
from attest.report.class_names import drawable, legend
from attest.report.figures import settle, to_svg

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
    figures.permutation_violins,
    evidence_figures.importance_histograms,
    evidence_figures.importance_bars,
    evidence_figures.largest_jsd_violins,
    evidence_figures.exact_against_search,
    evidence_figures.erasure_scatter,
    evidence_figures.erasure_boxes,
    evidence_figures.entropy_bars,
]


def test_emoji_have_their_names_and_other_scripts_their_number():
    assert drawable(["joy", "é, ß, Ω", "🔥", "❤️‍🔥 love", "你好"]) == ["joy", "é, ß, Ω", "[fire]", "❤[fire] love", "class 4"]


def test_names_that_differ_are_drawn_differently():
    assert drawable(["[fire]", "🔥", "🔥\N{VARIATION SELECTOR-16}"]) == ["[fire]", "class 1", "class 2"]


def test_the_page_can_say_which_is_which():
    assert legend(["joy", "🔥", "你好"]) == "Figures have no signs for some names of classes: [fire] is 🔥; class 2 is 你好."
    assert legend(["joy", "anger"]) == ""


@pytest.mark.parametrize("draw", DRAWINGS, ids=lambda draw: draw.__name__)
def test_no_words_of_three_classes_run_into_one_another_nor_out_of_the_figure(draw):
    """Nor is there a sign without a shape: matplotlib warns of these."""
    figure = draw(ROWS, drawable(NAMES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settle(figure)
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
