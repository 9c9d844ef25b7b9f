"""Experiments that run on the test split alone unless asked run at validation end where they are asked for."""

import pytest

from attest.app.cli.main import main
from attest.runs.folder import read_json
from tests.finished_runs import LAYERS, SMALL_TRAINING, only_folder, without

ASKED = ("E3", "E13", "E14", "E15")


@pytest.mark.whole("a run from beginning to end")
def test_experiments_inside_layers_run_at_validation_end_where_they_are_asked_for(tmp_path):
    schedule = [f"--experiments.{name}.init_args.every_n_epochs=1" for name in ASKED]
    left_out = without("E1", "E2", "E8", "E9", "E10", "E17", "E19", "maps")
    assert main(["fit", *LAYERS, *left_out, *schedule, f"--run.root={tmp_path}"]) == 0
    (epoch,) = read_json(only_folder(tmp_path).curves)
    assert {name for name in ASKED if any(key.startswith(f"{name}/validation/") for key in epoch)} == {*ASKED}


@pytest.mark.whole("a run from beginning to end")
def test_an_experiment_over_its_seconds_is_measured_once_and_stays_in_the_test(tmp_path):
    assert main(["fit", *SMALL_TRAINING, "LOGGER=csv", "--run.validation_seconds=1e-9", f"--run.root={tmp_path}"]) == 0
    run = only_folder(tmp_path)
    first, *later = read_json(run.curves)
    measured = {key.split("/")[0] for key in first if key.startswith("E")}
    assert measured
    assert later
    assert not any(key.startswith("E") for epoch in later for key in epoch)
    assert measured <= {table.stem for table in run.evidence("E2").parent.iterdir()}
