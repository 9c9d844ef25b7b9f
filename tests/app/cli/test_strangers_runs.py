"""A run's folder from a stranger: nothing in it is run, and nothing outside it is written."""

import shutil
import subprocess
import sys
from copy import deepcopy

import pytest
import torch
import yaml

import attest
from attest.app.cli.main import main
from attest.core.errors import AttestError
from attest.runs.belonging import DIGESTS, TRAINED_WITH
from attest.runs.folder import RunFolder, read_json, write_json
from tests.conftest import fresh_shell, without_places

CODE = """
from pathlib import Path
from attest.models.networks import PoolingClassifier

Path(__file__).with_name("ran").touch()


class Own(PoolingClassifier):
    pass
"""


@pytest.fixture
def sent(small_run, tmp_path, monkeypatch):
    """Changes the configuration of a copy of a run; beside it lies a module that leaves a file when it is imported."""
    run = RunFolder(tmp_path / "data" / "jw-bilstm-additive-softmax" / "seed0")
    shutil.copytree(small_run.path, run.path, ignore=shutil.ignore_patterns("wandb"))
    (tmp_path / "evil_module.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "evil_module", raising=False)
    settings = yaml.safe_load(run.config.read_text())
    write_json(run.identity, {name: value for name, value in read_json(run.identity).items() if name != DIGESTS})

    def change(place: str, value: object) -> RunFolder:
        changed = deepcopy(settings)
        *path, last = place.split("/")
        part = changed
        for name in path:
            part = part[name]
        part[last] = value
        run.config.write_text(yaml.safe_dump(changed, sort_keys=False))
        return run

    return change


EVIL = {"class_path": "evil_module.Own", "init_args": {}}
NETWORK = "model/init_args/network"
PLACES = [
    ("model", EVIL),
    ("model", "evil_module.Own"),
    ("data", EVIL),
    ("data", {"class_path": "torch.utils.data.Dataset", "init_args": {"x": "evil_module.Own"}}),
    (NETWORK, EVIL),
    (NETWORK, "evil_module.Own"),
    (f"{NETWORK}/init_args/encoder", {"class_path": "evil_module.Own"}),
    (f"{NETWORK}/init_args/encoder", "{class_path: evil_module.Own}"),
    (f"{NETWORK}/init_args/scoring", {"class_path": "torch.nn.Sequential", "init_args": {"args": ["evil_module.Own"]}}),
    ("model/init_args/optimizer", EVIL),
    ("model/init_args/scheduler", EVIL),
    ("experiments/E3", EVIL),
    ("experiments/E99", EVIL),
    ("experiments/evil_module.Own", {"class_path": "attest.callbacks.Instances"}),
    ("trainer/strategy", "evil_module.Own"),
    ("trainer/accelerator", "evil_module.Own"),
]


@pytest.mark.parametrize(("place", "value"), PLACES)
def test_a_class_of_a_stranger_is_refused_by_name_and_not_imported(sent, tmp_path, capsys, place, value):
    run = sent(place, value)
    for command in (["explain", "--text", "good"], ["evidence", "E1"]):
        assert main([*command, "--run", str(run.path)]) == 2
        said = capsys.readouterr().err
        assert "add --trust evil_module" in said or "is not the configuration of a run" in said
    with pytest.raises(AttestError, match=r"evil_module|is not the configuration"):
        _ = attest.open_run(run.path).model
    assert not (tmp_path / "ran").exists()


@pytest.mark.whole("commands on copies of a run")
@pytest.mark.parametrize(("place", "value"), [PLACES[4], PLACES[9], ("trainer/callbacks", [EVIL])])
def test_a_report_imports_none_either(sent, tmp_path, place, value):
    run = sent(place, value)
    run.identity.unlink()  # it is then read from the settings, and a variant
    assert main(["report", str(run.path)]) == 0
    assert main(["table", str(run.path)]) == 0
    assert not (tmp_path / "ran").exists()


SHAPELESS = [
    *(("run", value) for value in ([], "x", {}, {"projection": ["softmax"]}, None)),
    *((place, value) for place in ("model", "model/init_args", NETWORK, f"{NETWORK}/init_args") for value in ("x", [1], 3)),
    *((place, value) for place in ("data", "data/init_args", "experiments", "trainer") for value in ("x", [1])),
    *(("seed_everything", value) for value in ("x", None)),
]


@pytest.mark.parametrize(
    "command", ["report", "table", pytest.param("report of its twin", marks=pytest.mark.whole("a report of each spoilt file"))]
)
def test_a_configuration_of_another_shape_is_a_sentence(sent, capsys, command):
    run = sent("seed_everything", 0)
    asked = [command.split()[0], str(run.path)]
    twin = RunFolder(run.path.parents[1] / "jw-bilstm-additive-uniform" / "seed0")
    if command == "report of its twin":
        shutil.copytree(run.path, twin.path)
    for place, value in SHAPELESS:
        spoilt = sent(place, value)
        if twin.path.is_dir():
            shutil.copy(spoilt.config, twin.config)
            spoilt = twin
            sent("seed_everything", 0)
        code, said = main(asked), capsys.readouterr().err
        assert f"{spoilt.config} is not the configuration of a run" in said if code else not said, (place, value)


@pytest.mark.whole("commands on copies of a run")
def test_a_class_of_ones_own_is_built_where_its_module_is_trusted(sent, tmp_path, capsys):
    whole = yaml.safe_load((sent("seed_everything", 0)).config.read_text())
    run = sent(NETWORK, whole["model"]["init_args"]["network"] | {"class_path": "evil_module.Own"})
    assert main(["explain", "--run", str(run.path), "--text", "good", "--trust", "another"]) == 2
    assert "would run the code of evil_module.Own" in capsys.readouterr().err
    state = torch.load(run.best, weights_only=True)  # of a run that was trained with this class
    with run.best.open("wb") as file:  # as it was written, so that its tensors keep their digest
        torch.save({name: value for name, value in state.items() if name != TRAINED_WITH}, file)
    assert main(["explain", "--run", str(run.path), "--text", "good", "--trust", "evil_module"]) == 0
    assert (tmp_path / "ran").exists()
    assert type(attest.open_run(run.path, trust=["evil_module"]).model.network).__name__ == "Own"


@pytest.mark.whole("a training of its own")
def test_of_the_trainer_nothing_is_built_that_writes_elsewhere(sent, tmp_path):
    mine = tmp_path / "mine"
    written = {"dirpath": str(mine), "filename": "x"}
    profiler = {"class_path": "pytorch_lightning.profilers.SimpleProfiler", "init_args": written}
    logger = {"class_path": "pytorch_lightning.loggers.CSVLogger", "init_args": {"save_dir": str(mine)}}
    for place, value in (("profiler", profiler), ("logger", logger), ("callbacks", [EVIL]), ("default_root_dir", str(mine))):
        run = sent(f"trainer/{place}", value)
        assert main(["explain", "--run", str(run.path), "--text", "good"]) == 0
    run = sent("trainer/profiler", profiler)
    assert main(["evidence", "--run", str(run.path), "E1", "FORCE=1"]) == 0
    assert not mine.exists()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["../../../mine", "/tmp/mine", "a b"])
def test_an_experiment_cannot_be_called_as_a_file_elsewhere(sent, name, capsys):
    run = sent("experiments", {name: {"class_path": "attest.callbacks.Instances"}})
    assert main(["evidence", "--run", str(run.path)]) == 2
    assert "names an experiment" in capsys.readouterr().err


def test_no_choice_leads_out_of_the_shipped_files(tmp_path, capsys):
    (tmp_path / "evil.yaml").write_text("model: {class_path: evil_module.Own}\n")
    assert main(["fit", f"RECIPE=../../../../../../../../../../..{tmp_path}/evil"]) == 2
    assert "RECIPE=" in capsys.readouterr().err


@pytest.mark.parametrize("linked", ["evidence", "checkpoints", "figures"])
def test_nothing_is_written_through_a_link(sent, tmp_path, capsys, linked, snapshot):
    run = sent("seed_everything", 0)
    elsewhere = (run.path / linked).rename(tmp_path / "mine")
    (run.path / linked).symlink_to(elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.iterdir()}
    assert main(["report", str(run.path)]) == 2
    assert without_places(capsys.readouterr().err) == snapshot
    assert {path: path.read_bytes() for path in elsewhere.iterdir()} == before


@pytest.mark.whole("a command in a process of its own")
def test_a_module_that_lies_in_a_run_is_not_imported_for_one_of_ours(sent):
    run = sent("seed_everything", 0)
    for name in ("yaml", "pandas", "jsonargparse", "torch"):
        (run.path / f"{name}.py").write_text("open('ran', 'w').close()\n")
    command = [sys.executable, "-m", "attest", "table", "."]
    assert subprocess.run(command, cwd=run.path, env=fresh_shell(), timeout=120, check=False).returncode == 0
    assert not (run.path / "ran").exists()
