"""Figures of tables show their numbers."""

import numpy as np
import pandas as pd
import pytest

from attest.replication.figures import against_sweep, each_run, one_against_another, ours_and_published, side_by_side
from attest.replication.table import table_numbers
from tests.replication.conftest import TABLE, finished_run, parse


@pytest.fixture
def numbers(invented, tmp_path):
    folders = {("dense", "sst", None): {seed: finished_run(tmp_path / f"d{seed}", 0.8 + 0.02 * seed) for seed in (0, 1)}}
    folders |= {("swept", "sst", at): {0: finished_run(tmp_path / f"s{at}", 0.7 + at / 10, tau=[at / 2])} for at in (0.0, 0.5)}
    return table_numbers(invented, folders)


def test_ours_stand_beside_the_published(numbers):
    published = numbers[(numbers["verdict"] != "") & (numbers["seeds"] > 0)]
    (axes,) = ours_and_published(published, "Invented").axes
    labels = dict(zip(axes.get_legend_handles_labels()[1], axes.get_legend_handles_labels()[0], strict=True))
    assert labels["published"].get_xdata() == pytest.approx([0.8])
    assert labels["published, another setting"].get_xdata() == pytest.approx([0.7])
    assert labels["ours"].lines[0].get_xdata() == pytest.approx([0.81, 0.81])


def drawn(draw, table, numbers, **options):
    ((_, figure),) = draw(table, numbers, {}, options)
    return figure.axes


def test_a_sweep_is_drawn_in_the_order_of_its_values(invented, numbers):
    swept = numbers[numbers["row"] == "swept"]
    (axes,) = drawn(against_sweep, invented, swept.iloc[::-1], columns=["accuracy"])
    assert axes.lines[0].get_ydata() == pytest.approx([0.7, 0.75])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "0.5"]


def test_one_quantity_against_another_joins_the_points_of_a_sweep(numbers):
    (axes,) = drawn(one_against_another, None, numbers[numbers["row"] == "swept"], x="accuracy", y="τ")
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[0.7, 0.0], [0.75, 0.25]])
    assert [text.get_text() for text in axes.texts] == ["0", "0.5"]


def test_a_row_that_lacks_a_quantity_is_not_drawn():
    def values(row: str, column: str) -> pd.DataFrame:
        return pd.DataFrame({"row": row, "data": "sst", "at": [1.0, 2], "column": column, "ours": [0.1, 0.2], "std": np.nan})

    numbers = pd.concat([values("both", "x"), values("both", "y"), values("one", "y")])
    (axes,) = drawn(one_against_another, None, numbers, x="x", y="y")
    assert axes.get_legend_handles_labels()[1] == ["both"]
    alone = numbers[numbers["row"] == "one"]
    assert list(one_against_another(None, alone, {}, {"x": "x", "y": "y"})) == []


@pytest.mark.parametrize("gained", ["x", "y"])
def test_the_knee_of_a_sweep_is_circled_and_named(gained):
    cheap, dear = [0.1, 0.2, 0.3, 0.9], [0.0, 0.1, 0.8, 1.0]
    columns = dict(zip((gained, {"x": "y", "y": "x"}[gained]), (dear, cheap), strict=True))
    numbers = pd.concat(
        pd.DataFrame({"row": "swept", "data": "sst", "at": [1.0, 2, 3, 4], "column": name, "ours": values, "std": np.nan})
        for name, values in columns.items()
    )
    (axes,) = drawn(one_against_another, None, numbers, x="x", y="y", gained=gained)
    circled = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))["knee, 3"]
    np.testing.assert_allclose(circled.get_xydata(), [[columns["x"][2], columns["y"][2]]])


def test_each_run_is_a_point_in_the_colour_and_with_the_marker_of_its_choices(tmp_path):
    table = parse(TABLE[: TABLE.index("  - name: swept")])
    folders = {
        (row, "sst", None): {
            seed: finished_run(tmp_path / f"{row}{seed}", at + seed / 100, tau=[seed / 10]) for seed in (0, 1)
        }
        for row, at in (("dense", 0.8), ("sparse", 0.7))
    }
    ((name, figure),) = each_run(
        table, pd.DataFrame(), folders, {"x": "accuracy", "y": "τ", "colour": "PROJECTION", "marker": "MODEL"}
    )
    (axes,) = figure.axes
    dense, sparse = axes.lines
    assert name == "sst-each-run"
    np.testing.assert_allclose(dense.get_xydata(), [[0.8, 0.0], [0.81, 0.1]])
    np.testing.assert_allclose(sparse.get_xydata(), [[0.7, 0.0], [0.71, 0.1]])
    assert dense.get_color() != sparse.get_color()
    assert dense.get_marker() == sparse.get_marker(), "both are BiLSTMs"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["softmax", "sparsemax", "bilstm"]


def test_the_legend_of_a_corpus_names_what_runs_on_it(tmp_path):
    elsewhere = "  - {name: elsewhere, data: [imdb], run: {MODEL: cnn, PROJECTION: uniform}}\n"
    table = parse(TABLE[: TABLE.index("  - name: swept")] + elsewhere)
    folders = {("dense", "sst", None): {0: finished_run(tmp_path / "run", 0.8, tau=[0.1])}}
    asked = {"x": "accuracy", "y": "τ", "colour": "PROJECTION", "marker": "MODEL"}
    ((_, figure),) = each_run(table, pd.DataFrame(), folders, asked)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["softmax", "sparsemax", "bilstm"]


def test_more_values_than_colours_are_refused(monkeypatch, refusal):
    monkeypatch.setattr("attest.replication.figures.CLASS_COLOURS", ("black",))
    table = parse(TABLE[: TABLE.index("  - name: swept")])
    asked = {"x": "accuracy", "y": "τ", "colour": "PROJECTION", "marker": "MODEL"}
    with refusal():
        [*each_run(table, pd.DataFrame(), {}, asked)]


def test_models_stand_beside_one_another_under_each_condition(invented, numbers, refusal):
    conditions = {"trained": {"a": ["dense", "accuracy"], "b": ["swept", "accuracy"]}, "tampered": {"a": ["dense", "τ"]}}
    (axes,) = drawn(side_by_side, invented, numbers, x="accuracy", conditions=conditions)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["trained", "tampered"]
    drawn_of = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    tau = numbers.set_index(["row", "column"]).loc[("dense", "τ"), "ours"]
    np.testing.assert_allclose(drawn_of["a"].lines[0].get_xydata(), [[0.81, 0], [tau, 1]])
    np.testing.assert_allclose(drawn_of["a, published"].get_xydata()[0], [0.8, 0])
    assert drawn_of["b"].lines[0].get_ydata() == pytest.approx([0.2]), "beside the first, and nothing where it has no number"
    with refusal():
        drawn(side_by_side, invented, numbers, x="accuracy", conditions={"trained": {"a": ["dens", "accuracy"]}})
