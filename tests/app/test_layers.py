"""A small Transformer from training to report, its attention on trial inside the layers; and on two processes."""

import shutil

import pandas as pd
import pytest

from attest.app.cli.main import main
from attest.runs.folder import RunFolder, read_json
from tests.finished_runs import LAYERS, copy_of

pytestmark = pytest.mark.whole("a run from beginning to end")

TABLES = ("instances", "E1", "E2", "E3", "E8", "E9", "E13", "maps")


@pytest.fixture(scope="module")
def run(library) -> RunFolder:
    """Trained for one epoch; read it, do not change it."""
    return library.run("layers")


def test_every_experiment_inside_layers_gets_its_table_and_the_report(run):
    rows = {identity: pd.read_parquet(run.evidence(identity)) for identity in TABLES}
    assert rows["E3"]["max_attention_layer2"].notna().sum() == 32, "as many texts as its option says"
    assert {identity: len(table) for identity, table in rows.items() if len(table) != 77} == {"maps": 3}
    summary = read_json(run.summary)
    assert summary["E8/correct/mean"] == pytest.approx(summary["test/accuracy"])
    assert summary["E8/tvd_softmax/mean"] == 0, "it was trained with softmax"
    assert 0 < summary["E13/rank/mean"] <= 8
    assert rows["instances"]["attention"].map(sum).map(lambda total: abs(total - 1) < 1e-5).all(), "rollout"
    page = run.report.read_text()
    for words in ("accuracy under softmax", "attention matters", "Attention maps, text"):
        assert words in page


@pytest.mark.parametrize("processes", [2, 3])
def test_processes_gather_the_same_bytes(run, tmp_path, processes):
    shared = copy_of(run, tmp_path)
    shutil.rmtree(shared.path / "evidence")
    shared.summary.unlink()
    assert main(["fit", *LAYERS, f"--run.root={tmp_path}", f"--run.processes={processes}"]) == 0
    for identity in TABLES:
        assert shared.evidence(identity).read_bytes() == run.evidence(identity).read_bytes(), identity
    assert shared.summary.read_bytes() == run.summary.read_bytes()


def test_a_text_is_explained_by_rollout_as_in_the_report(run, tmp_path, capsys):
    tables = {name: pd.read_parquet(run.evidence(name)).set_index("id") for name in ("instances", "E1")}
    text = tables["instances"].loc[7]
    page = tmp_path / "page.html"
    assert main(["explain", "--run", str(run.path), "--text", " ".join(text["tokens"]), "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert f"{text['probability_praise']:.3f}" in said
    assert f"{text['attention'].max():.3g}" in said.split("most: ")[1].splitlines()[0]
    assert f"rollout {tables['E1'].loc[7, 'tau_gradient_inputs']:.3f}".replace("-0", "−0") in said
    assert "Swapped" not in said
    assert "Attention rollout" in page.read_text()


def test_evidence_inside_layers_can_be_had_later(run, tmp_path):
    """On the tables that ship for its model, under a configuration of its own."""
    out = tmp_path / "later"
    arguments = ["--run", str(run.path), "--out", str(out), "E9", "--trainer.enable_progress_bar=false"]
    assert main(["evidence", *arguments]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out / "evidence/E9.parquet"), pd.read_parquet(run.evidence("E9")))
