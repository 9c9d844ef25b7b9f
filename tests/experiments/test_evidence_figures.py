"""Figures are pure functions of their tables: one panel a class, equal data give equal pictures, odd tables are survived."""

import numpy as np
import pandas as pd
import pytest

from attest.report import evidence_figures as draw
from attest.report.figures import to_svg
from attest.report.illustrations import evidence_illustrations

CLASSES = ["bad", "so-so", "good"]


def table(columns, instances=60, seed=0):
    """Random numbers in [0, 0.6] under the given names, three classes, a few undefined values."""
    generator = np.random.default_rng(seed)
    rows = pd.DataFrame(generator.uniform(0, 0.6, (instances, len(columns))), columns=list(columns))
    rows.iloc[0] = np.nan
    return rows.assign(predicted=generator.integers(3, size=instances), length=20)


TABLES = {
    "E1": [f"{kind}_{name}" for kind in ("tau", "ceiling") for name in draw.IMPORTANCES],
    "E3": ["jsd_search", "jsd_search_filter", "jsd_exact", "max_attention"],
    "E10": ["entropy_attention", "entropy_gradient", "entropy_leave_one_out", "entropy_hidden"],
    "E11": ["attention_gap", "delta_js", "only_top", "only_random", "both", "neither"],
    "E12": [f"fraction_{order}" for order in draw.ORDERS],
}


def illustrations(tables):
    return list(evidence_illustrations(tables, CLASSES))


def tables(**changes):
    built = {name: table(columns) for name, columns in TABLES.items()} | changes
    built["E3"] = built["E3"].assign(max_attention=built["E3"]["max_attention"].fillna(0.1))
    return built


@pytest.mark.whole("figures of all experiments")
def test_every_experiment_is_drawn_with_a_panel_a_class():
    drawn = illustrations(tables())
    assert [figure.key.split("/")[0] for figure in drawn] == ["E1", "E1", "E3", "E3", "E3", "E10", "E11", "E12"]
    for figure in drawn:
        assert len(figure.drawing.axes) % len(CLASSES) == 0
        titles = [axes.get_title() for axes in figure.drawing.axes[-3:]]
        assert all(name in title for name, title in zip(CLASSES, titles, strict=True))


def shown(axes):
    """The coordinates of all that a panel shows."""
    bars = [patch.get_patch_transform().transform(patch.get_path().vertices) for patch in axes.patches]
    shapes = [path.vertices for collection in axes.collections for path in collection.get_paths()]
    points = [collection.get_offsets() for collection in axes.collections]
    return [np.asarray(each) for each in (*bars, *shapes, *points, *(line.get_xydata() for line in axes.lines))]


@pytest.mark.whole("figures of all experiments")
@pytest.mark.parametrize("number", range(len(CLASSES)))
def test_a_panel_shows_the_texts_of_its_class_alone(number):
    every = tables()
    alone = {name: rows[rows["predicted"] == number] for name, rows in every.items()}
    for one, among_others in zip(illustrations(alone), illustrations(every), strict=True):
        panels, all_panels = (each.draw().axes for each in (one, among_others))  # data alone: nothing is laid out
        for panel in range(number, len(panels), len(CLASSES)):
            ours, theirs = shown(panels[panel]), shown(all_panels[panel])
            assert ours
            assert len(ours) == len(theirs), one.key
            assert all(np.array_equal(mine, other, equal_nan=True) for mine, other in zip(ours, theirs, strict=True)), one.key


def test_the_caption_counts_the_texts_that_are_drawn():
    rows = table(TABLES["E12"])
    rows.loc[[3, 7], "fraction_random"] = np.nan
    (boxes,) = illustrations({"E12": rows})
    assert "The figure shows only the 57 of 60 texts that flip in every order." in boxes.caption


@pytest.mark.whole("every figure is drawn twice")
def test_equal_tables_give_equal_pictures():
    few = {name: rows for name, rows in tables().items() if name in ("E3", "E12")}  # marks, lines, bars, boxes, a legend
    first, second = ([to_svg(figure.drawing) for figure in illustrations(few)] for _ in range(2))
    assert first == second


@pytest.mark.whole("figures of all experiments")
@pytest.mark.parametrize("experiment", TABLES)
def test_a_class_that_is_never_predicted_and_a_single_text_are_survived(experiment):
    one = table(TABLES[experiment], instances=2).iloc[1:].assign(predicted=1)
    for figure in illustrations({experiment: one}):
        assert to_svg(figure.drawing).startswith("<svg")


def test_without_an_exact_answer_the_search_speaks_and_says_so():
    rows = table(["jsd_search", "jsd_search_filter", "max_attention"]).fillna(0.1)
    violins, histograms = illustrations({"E3": rows})
    assert "By search" in violins.caption
    assert "exact_against_search" not in histograms.key
    assert len(histograms.drawing.axes[0].get_legend().get_texts()) == 2


ROWS = {
    "E1": draw.importance_bars,
    "E3": draw.largest_jsd_violins,
    "E10": draw.entropy_bars,
    "E12": draw.erasure_boxes,
}


@pytest.mark.parametrize("experiment", ROWS)
def test_rows_lie_at_the_same_height_in_a_panel_without_texts(experiment):
    """The names of the rows stand beside the first panel, whose class may never be predicted."""
    rows = tables()[experiment]
    first, *others = ROWS[experiment](rows[rows["predicted"] != 0], CLASSES).axes
    for axes in others:
        assert axes.get_ylim() == first.get_ylim()
        assert axes.get_yticks().tolist() == first.get_yticks().tolist()


def test_a_class_without_texts_has_no_share_of_flips():
    rows = tables()["E11"]
    panels = draw.erasure_scatter(rows[rows["predicted"] != 0], CLASSES).axes
    assert [panel.texts[0].get_text().splitlines()[0] for panel in panels] == ["no texts", "decision flips", "decision flips"]
