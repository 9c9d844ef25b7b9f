"""The command line that a W&B agent would issue for every sweep that ships is one that Attest takes."""

import pytest
import yaml
from wandb.sdk.launch.sweeps.utils import create_sweep_command, create_sweep_command_args

from attest.app.cli.main import main
from attest.core.places import configs_folder
from attest.runs.asked import folder_of_words
from attest.runs.dependent_names import take_adversaries
from attest.runs.folder import read_json
from tests.finished_runs import SMALL_TRAINING, only_folder

SWEEPS = {file.stem: yaml.safe_load(file.read_text()) for file in (configs_folder() / "sweeps").glob("*.yaml")}


def issued(sweep, pick) -> list[str]:
    """What an agent runs for one point of a sweep, by W&B's own code: ``/usr/bin/env attest …``."""
    values = {
        name: {"value": pick(given["values"]) if "values" in given else given["max"]}
        for name, given in sweep["parameters"].items()
    }
    variables = create_sweep_command_args({"args": values}) | {"env": ["/usr/bin/env"]}
    parts = ([part] if not part.startswith("${") else variables[part[2:-1]] for part in create_sweep_command(sweep["command"]))
    return [word for part in parts for word in part]


def test_the_sweeps_of_the_issue_ship():
    assert {"lambda", "learning-rate", "projection"} <= set(SWEEPS)


@pytest.mark.parametrize("name", ["learning-rate", "projection"])
def test_every_point_of_a_sweep_of_base_runs_has_a_folder_of_its_own(name):
    folders = []
    for pick in (min, max):
        env, attest, command, *arguments = issued(SWEEPS[name], pick)
        assert (env, attest, command) == ("/usr/bin/env", "attest", "fit")
        folders.append(folder_of_words(arguments))
    assert len(set(folders)) == 2
    assert all(folder.parts[1] == "sst" for folder in folders)


@pytest.mark.whole("another process")
def test_a_sweep_runs_as_an_agent_starts_it(tmp_path):
    sweep = SWEEPS["learning-rate"]
    arguments = issued(sweep, max)[2:]
    small = [argument for argument in SMALL_TRAINING if not argument.startswith("DATA=")]
    arguments[arguments.index("DATA=sst")] = "DATA=planted"
    assert main([*arguments, *small, "--trainer.max_epochs=1", "EXPERIMENTS=none", f"--run.root={tmp_path}"]) == 0
    run = only_folder(tmp_path)
    assert yaml.safe_load(run.config.read_text())["model"]["init_args"]["optimizer"]["init_args"]["lr"] == 1e-2
    assert sweep["metric"]["name"] in read_json(run.curves)[0]


def test_every_point_of_the_sweep_over_lambda_is_an_adversary_of_its_own():
    names = []
    for pick in (min, max):
        env, attest, command, *arguments = issued(SWEEPS["lambda"], pick)
        assert (env, attest, command) == ("/usr/bin/env", "attest", "adversarial")
        choices, rest = take_adversaries(arguments)
        (lam,) = choices.lambdas
        names.append((choices.name(lam), rest[-1]))
    assert names == [("unfrozen-kl-0.0001", "SEED=0"), ("unfrozen-kl-0.3", "SEED=2")]
