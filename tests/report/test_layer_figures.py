"""Figures of attention inside layers: what is drawn is what the tables say."""

import numpy as np
import pandas as pd
import pytest

from attest.report import illustrations
from attest.report.evidence_figures import TICKS, accuracy_by_layer, attention_map_grid
from attest.report.figures import to_svg
from attest.report.findings import Findings
from attest.runs.folder import RunFolder, write_table
from attest.runs.identity import RunIdentity


def maps(size, layers=2):
    return [np.random.default_rng(layer).dirichlet(np.ones(size), size) for layer in range(layers)]


@pytest.mark.whole("figures of all experiments")
@pytest.mark.parametrize("size", [1, 7, 200])
def test_maps_stand_side_by_side_on_one_scale_with_few_enough_names(size):
    tokens = [f"word{place}" for place in range(size - 1)] + ["$<b>"]
    figure = attention_map_grid({"as trained": maps(size), "keys shuffled": maps(size)}, tokens)
    panels = figure.axes[:4]
    assert [axes.get_title() for axes in panels[:2]] == ["as trained", "keys shuffled"]
    np.testing.assert_array_equal(panels[2].images[0].get_array(), maps(size)[1])
    assert len({axes.images[0].get_clim() for axes in panels}) == 1
    names = [label.get_text() for label in panels[2].get_xticklabels()]
    assert len(names) == min(size, len(range(0, size, -(-size // TICKS))))
    assert to_svg(figure).startswith("<svg")


def test_accuracy_is_drawn_by_layer_then_for_all():
    shuffled = pd.DataFrame(
        {"correct": [1, 1], "correct_shuffled": [0, 0], "correct_shuffled_layer1": [0, 1], "correct_shuffled_layer2": [1, 1]}
    )
    axes = accuracy_by_layer(None, shuffled).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [0.5, 1, 0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["layer 1", "layer 2", "all layers"]


def test_layers_stand_in_their_order_where_there_are_ten_and_more():
    alone = {f"correct_shuffled_layer{place}": [place / 12] for place in range(1, 13)}
    axes = accuracy_by_layer(None, pd.DataFrame({"correct": [1], "correct_shuffled": [0]} | alone)).axes[0]
    assert axes.lines[0].get_ydata().tolist() == [*(place / 12 for place in range(1, 13)), 0]


def test_a_folder_is_drawn_as_far_as_its_tables_go(tmp_path):
    folder = RunFolder(tmp_path)
    RunIdentity("sst", "dr-transformer-dr-none-softmax", 0).store(folder)
    assert list(illustrations.layer_illustrations(Findings(folder))) == []
    tables = {"original": maps(3), "attacked": maps(3)}
    columns = {f"{name}_layer{place + 1}": [each.ravel()] for name, both in tables.items() for place, each in enumerate(both)}
    write_table(folder.evidence("maps"), pd.DataFrame({"id": [5], "tokens": [["a", "b", "c"]]} | columns))
    write_table(folder.evidence("E8"), pd.DataFrame({"correct": [True], "correct_softmax": [True]}))
    (drawn,) = illustrations.layer_illustrations(Findings(folder))
    assert drawn.key == "maps/text_5", "pooled E8 has no layers to draw"
    np.testing.assert_array_equal(drawn.drawing.axes[0].images[0].get_array(), tables["original"][0])
    assert [axes.get_title() for axes in drawn.drawing.axes[:2]] == ["as trained", "keys attacked"]


def test_a_run_with_another_projection_is_drawn_beside(tmp_path):
    mine, other = (RunFolder(tmp_path / f"dr-transformer-dr-none-{name}" / "seed0") for name in ("softmax", "entmax15"))
    for shift, folder in enumerate((mine, other)):
        RunIdentity("sst", folder.path.parent.name, 0).store(folder)
        columns = {"original_layer1": [maps(3, layers=2)[shift].ravel()]}
        write_table(folder.evidence("maps"), pd.DataFrame({"id": [5], "tokens": [["a", "b", "c"]]} | columns))
    (drawn,) = illustrations.layer_illustrations(Findings(mine))
    assert [axes.get_title() for axes in drawn.drawing.axes[:2]] == ["as trained", "trained with entmax15"]
    np.testing.assert_array_equal(drawn.drawing.axes[1].images[0].get_array(), maps(3, layers=2)[1])
