"""No figure is drawn twice, nor before somebody looks at it."""

import gc
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from attest.cli import report as command
from attest.cli.main import main
from attest.report import illustrations
from attest.report.figures import save_png_of_all_colours, to_svg
from attest.report.illustration import Illustration
from attest.report.saved_figures import figure_file, save_figures
from attest.runs.folder import RunFolder, write_json, write_table
from tests.conftest import EXPENSIVE, SMALL_RUN, only_folder, without


@pytest.fixture
def draws(monkeypatch):
    """The figures whose whole drawing ran, in order."""
    seen = []
    draw = Figure.draw
    monkeypatch.setattr(Figure, "draw", lambda self, renderer: (seen.append(self), draw(self, renderer))[1])
    return seen


def labelled():
    figure = Figure(figsize=(4, 2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.set_ylabel("a long label of an axis")
    left.set_title("left")
    right.plot(np.arange(5), label="a line")
    right.set_xlabel("below")
    right.legend()
    return figure


def test_each_format_draws_a_figure_once(tmp_path, draws):
    figure = Illustration("E0/labelled", "title", "caption", labelled)
    ((_, svg),) = save_figures(RunFolder(tmp_path), [figure])
    assert len(draws) == 2  # one for the SVG, one for the PNG
    assert [text for text in ("a long label of an axis", "left", "below", "a line") if text not in svg] == []
    with Image.open(figure_file(RunFolder(tmp_path), figure, "png")) as png:
        assert png.size == (600, 300), "4 × 2 inches at 150 dpi"
    assert figure.drawing.dpi == 100, "as it was"


def test_a_png_keeps_every_colour_of_a_map(tmp_path):
    colours = np.stack([np.arange(400) // 2, np.arange(400) % 200, np.full(400, 99)], axis=-1).astype(np.uint8)
    figure = Figure(figsize=(4, 2))
    figure.subplots().imshow(colours.reshape(20, 20, 3), interpolation="nearest")
    save_png_of_all_colours(figure, tmp_path / "map.png", 150)
    with Image.open(tmp_path / "map.png") as png:
        assert {*map(tuple, colours.tolist())} <= {colour for _, colour in png.convert("RGB").getcolors(10_000)}


def test_a_figure_is_drawn_again_only_where_its_files_changed(tmp_path, draws):
    run = RunFolder(tmp_path / "sst" / "a-setting" / "seed0")
    write_json(run.curves, [{"epoch": 0}])

    def save() -> str:
        ((_, svg),) = save_figures(run, [Illustration("E0/labelled", "title", "caption", labelled)])
        return svg

    first = save()
    assert save() == first
    assert len(draws) == 2, "once a format"
    write_table(run.evidence("E1"), pd.DataFrame({"id": [0]}))
    assert save() == first
    assert len(draws) == 4, "evidence changed"
    figure_file(run, Illustration("E0/labelled", "", "", labelled), "png").unlink()
    assert save() == first
    assert len(draws) == 6, "one of its files is gone"
    write_json(run.summary, {"test/accuracy": 1.0})
    save()
    assert len(draws) == 6, "no figure shows the summary"


def test_a_figure_that_is_only_named_is_not_drawn(small_run, monkeypatch):
    monkeypatch.setattr(Figure, "subplots", lambda *_, **__: pytest.fail("drew a figure that nobody looked at"))
    assert len([figure.key for figure in illustrations(small_run)]) > 3


def test_all_that_is_written_lies_within_the_figure(small_run):
    for each in illustrations(small_run):
        to_svg(each.drawing)
        page = each.drawing.bbox.padded(1)
        for axes in each.drawing.axes:
            box = axes.get_tightbbox(for_layout_only=False)
            assert min(box.x0 - page.x0, box.y0 - page.y0, page.x1 - box.x1, page.y1 - box.y1) >= 0, each.key
            assert axes.get_window_extent().width > 50, each.key


def test_from_training_to_loggers_and_a_second_page_each_format_draws_a_figure_once(tmp_path, draws):
    assert main(["fit", *SMALL_RUN, *without(*EXPENSIVE), f"--run.root={tmp_path}"]) == 0
    run = only_folder(tmp_path)
    figures = [*run.figures.glob("*.svg")]
    assert len(figures) > 1
    assert next(run.path.glob("wandb/*/*.wandb"), None) is not None, "W&B was told, too"
    run.report.unlink()
    assert main(["report", str(run.path)]) == 0
    assert run.report.is_file()
    assert [*Counter(map(id, draws)).values()] == [2] * len(figures), "one for the SVG, one for the PNG"


def test_no_garbage_is_looked_for_while_a_page_is_made_and_then_it_is_again(tmp_path, monkeypatch):
    searched = []
    monkeypatch.setattr("attest.report.write_report", lambda run: searched.append(gc.isenabled()))
    for seed in (0, 1):
        command._write(RunFolder(tmp_path / f"seed{seed}"))
        assert gc.isenabled()
    assert searched == [False, False]
    monkeypatch.setattr("attest.report.write_report", lambda run: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        command._write(RunFolder(tmp_path))
    assert gc.isenabled()
