"""``attest controls``: the uniform twin, other seeds and guides in one table."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from attest.app.adversaries import controls, guide, require_controls, require_guides, train_guide
from attest.app.cli.main import main
from attest.app.dependent import Base
from attest.core.errors import AttestError
from attest.runs.dependent_names import AdversaryChoices, ControlChoices, guide_name, take_controls
from attest.runs.folder import RunFolder, read_json
from tests.conftest import without_places
from tests.finished_runs import CONTROLS, SMALL_RUN, typed


@pytest.fixture(scope="module")
def controlled(library) -> RunFolder:
    (found,) = library.root("controls").glob("planted/jw-bilstm-*/seed0/controls")
    return RunFolder(found)


@pytest.mark.whole("nine trainings in a row")
def test_the_table_has_a_row_a_control(controlled):
    summary = read_json(controlled.summary)
    rows = {(row["experiment"], row["name"]): row for row in summary["rows"]}
    assert [experiment for experiment, _ in rows] == ["", "E4", "E4", "E5", "E5", "E6", "E6", "E6", "E6"]
    assert all({"f1", "accuracy"} <= row.keys() for row in rows.values())
    seeds = [row["jsd"] for (experiment, _), row in rows.items() if experiment == "E5"]
    assert summary["E5/jsd/mean"] == pytest.approx(sum(seeds) / 2)
    assert rows["E6", "guide: base's attention"]["jsd"] == pytest.approx(0, abs=1e-9), "it attends as the base does"
    assert rows["E6", "guide: uniform attention"]["jsd"] == pytest.approx(rows["E4", "uniform attention"]["jsd"], abs=1e-6)


@pytest.mark.whole("nine trainings in a row")
def test_what_is_left_out_of_the_base_is_left_out_of_every_control(controlled):
    runs = [folder for folder in controlled.path.parents[3].rglob("evidence") if (folder.parent / "checkpoints").is_dir()]
    assert len([run for run in runs if "average" in str(run)]) == 2
    assert {table.stem for run in runs for table in run.glob("*.parquet")} <= {"instances", "E6", "E7"}


@pytest.mark.whole("nine trainings in a row")
def test_seeds_share_the_corpus_and_tables_have_each_text_once(controlled):
    rows = pd.read_parquet(controlled.evidence("E5"))
    assert rows["id"].tolist() == list(range(77))
    assert {"jsd", "jsd/seed 1", "jsd/seed 2", "tvd/seed 1"} <= set(rows.columns)


@pytest.mark.whole("nine trainings in a row")
def test_nothing_is_trained_twice(controlled, tmp_path, capsys):
    root = controlled.path.parents[3]
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    checkpoints = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("best.ckpt")}
    assert main(typed(CONTROLS, f"--run.root={tmp_path}")) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("best.ckpt")} == checkpoints
    assert capsys.readouterr().out.count("complete: ") == len(checkpoints)


def test_a_classifier_has_a_twin_seeds_and_guides(tmp_path):
    run = {"root": str(tmp_path), "data": "mine", "recipe": "jw", "model": "bilstm"}
    model = {
        "class_path": "attest.lightning_modules.Classifier",
        "init_args": {"network": {"class_path": "attest.models.networks.PoolingClassifier"}},
    }
    settings = {"run": run, "model": model, "data": {"init_args": {}}, "seed_everything": 4}
    planned = controls(Base(RunFolder(tmp_path), settings), [], [], 2, AdversaryChoices())
    assert [(experiment, name) for experiment, name, _ in planned] == [
        ("E4", "uniform attention"),
        ("E4", "attention on the last state alone"),
        ("E5", "seed 5"),
        ("E5", "seed 6"),
        ("E6", "guide: uniform attention"),
        ("E6", "guide: attention learned with it"),
        ("E6", "guide: base's attention"),
        ("E6", "guide: adversary's attention, λ = 0.001"),
    ]


def test_a_guide_that_is_none_is_refused_before_anything_is_trained(tmp_path, capsys, snapshot):
    assert main(["controls", *SMALL_RUN, "GUIDE=foo", f"--run.root={tmp_path}"]) == 2
    assert without_places(capsys.readouterr().err) == snapshot
    assert not list(tmp_path.iterdir())


def test_seeds_are_a_number():
    assert take_controls(["DATA=sst", "SEEDS=5", "GUIDE=base"]) == (ControlChoices(5, "base"), ["DATA=sst"])
    assert take_controls([]) == (ControlChoices(3, None, "attention"), [])
    with pytest.raises(AttestError, match="SEEDS=0 is not a valid number"):
        take_controls(["SEEDS=0"])


def test_controls_have_no_controls():
    run = {"model": "bilstm", "projection": "uniform"}
    with pytest.raises(AttestError, match="is itself a control"):
        require_controls({"model": {"class_path": "attest.lightning_modules.Classifier"}, "run": run})


def test_one_guide_may_be_asked_for_alone(refusal):
    assert take_controls(["DATA=sst", "GUIDE=unfrozen-kl-0.2"])[0].guide == "unfrozen-kl-0.2"
    with refusal():
        train_guide(Base(RunFolder(Path("nowhere")), {}), [], "bass")


@pytest.mark.parametrize("typed", [["PROBE=state", "GUIDE=base"], ["PROBE=states"]])
def test_a_probe_is_known_and_knows_whose_attention_it_reads(typed, refusal):
    with refusal():
        take_controls(typed)


def test_a_probe_by_weighted_states_has_a_folder_and_a_network_of_its_own(tmp_path, refusal):
    network = {"class_path": "attest.models.networks.TransformerTagger", "init_args": {"heads": 2, "feedforward_size": 9}}
    settings = {"model": {"class_path": "attest.lightning_modules.Tagger", "init_args": {"network": network}}}
    base = Base(RunFolder(tmp_path), settings | {"run": {"model": "tagger", "projection": "softmax"}})
    first, second = (guide("base", base, probe=probe) for probe in ("attention", "states"))
    assert (first.name, first.network) == ("base", None)
    assert second.name == guide_name("base", "states") == "states-base"
    assert second.network == {
        "class_path": "attest.models.networks.WeightedStatesTagger",
        "init_args": {"heads": 2},
    }
    settings["model"]["init_args"]["network"] = network | {"class_path": "mine.Network"}
    settings |= {
        "experiments": {"tagged": {}},
        "run": {"model": "mine", "projection": "softmax"},
    }
    with refusal():
        require_guides(settings, "states")
