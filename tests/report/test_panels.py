"""Panels are of one size, and their words have room: nothing runs into another word nor out of the figure."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from attest.report.figures import Panels, settle


def panels(rows=1, columns=2, scale=1.0, title="predicted: a class", size=(8, 2.8)):
    figure = Figure(figsize=size, layout=Panels())
    for axes in figure.subplots(rows, columns, squeeze=False).flat:
        axes.plot([0, 1], [0, scale], label="a line")
        axes.set_title(title, fontsize=10)
        axes.set_ylabel("up")
        axes.set_xlabel("across")
    return figure


def drawn(figure, dpi=100.0):
    settle(figure)
    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def words(axes):
    known = [axes.title, axes.xaxis.label, axes.yaxis.label, axes.yaxis.get_offset_text()]
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        known += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [text for text in known if text.get_text()]


@pytest.mark.parametrize("dpi", [72, 100, 150])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 123456.0])
@pytest.mark.parametrize("title", ["short", "a title that is too\nlong for a line and\nhas three of them", "W" * 13])
def test_words_run_into_nothing_at_any_resolution(dpi, scale, title):
    figure = panels(2, 3, scale, title, size=(9, 6))
    renderer = drawn(figure, dpi)
    boxes = [text.get_window_extent(renderer) for axes in figure.axes for text in words(axes)]
    page = figure.bbox.padded(1)
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)
    frames = [axes.bbox.padded(-1) for axes in figure.axes]
    assert not [pair for pair in combinations([*boxes, *frames], 2) if pair[0].padded(-1).overlaps(pair[1].padded(-1))]


def test_panels_are_of_one_size_and_use_the_whole_figure():
    figure = panels(2, 3, size=(9, 6))
    figure.axes[0].set_ylabel("two\nlines")
    renderer = drawn(figure)
    sizes = np.array([axes.bbox.size for axes in figure.axes])
    np.testing.assert_allclose(sizes, np.broadcast_to(sizes[0], sizes.shape))
    assert 0 <= figure.axes[0].yaxis.label.get_window_extent(renderer).x0 < 10
    assert figure.axes[-1].xaxis.label.get_window_extent(renderer).y0 < 10
    assert figure.axes[0].title.get_window_extent(renderer).y1 > figure.bbox.height - 10


def test_words_of_the_figure_stand_below_those_of_its_panels():
    figure = panels()
    below = figure.supxlabel("what all panels share", fontsize=10)
    renderer = drawn(figure)
    assert below.get_window_extent(renderer).y1 < min(axes.xaxis.label.get_window_extent(renderer).y0 for axes in figure.axes)


def test_the_words_of_each_axis_are_measured_once_and_never_again(monkeypatch):
    seen = []
    measure = Axis.get_tightbbox
    monkeypatch.setattr(Axis, "get_tightbbox", lambda self, *_, **options: seen.append(self) or measure(self, *_, **options))
    figure = panels(title="")
    drawn(figure)
    assert len(seen) == len({*seen}) == 4
    axes = figure.axes[0]
    ticks, label = [*axes.get_yticks()], axes.yaxis.label.get_window_extent().x0
    figure.set_size_inches(8, 1)
    drawn(figure)
    assert [*axes.get_yticks()] == ticks
    axes.set_yticks([0], ["a far longer name than any tick had"])
    drawn(figure)
    assert axes.yaxis.label.get_window_extent().x0 == label


def test_panels_without_room_stay_where_they_are():
    figure = panels(1, 3, size=(1, 1))
    before = [axes.get_position().bounds for axes in figure.axes]
    drawn(figure)
    assert [axes.get_position().bounds for axes in figure.axes] == before
