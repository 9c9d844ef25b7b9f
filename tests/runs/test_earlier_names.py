"""What earlier versions wrote and people typed is read as if written today."""

import hashlib
import json

import yaml

from attest.runs.choices import choice_arguments, expand
from attest.runs.earlier_names import current, earlier
from attest.runs.naming import variant

EARLIER = """
seed_everything: 0
model: {class_path: lightning_modules.Classifier}
analyses:
  E3:
    class_path: callbacks.AdversarialAttention
    init_args: {steps: 3, of: [callbacks.Instances]}
run: {notes: "no analyses: none"}
"""


def test_a_kept_configuration_is_read_by_the_names_of_today():
    settings = yaml.safe_load(current(EARLIER))
    assert settings["model"]["class_path"] == "attest.lightning_modules.Classifier"
    assert settings["experiments"]["E3"]["class_path"] == "attest.callbacks.AdversarialAttention"
    assert settings["run"]["notes"] == "no analyses: none"


def test_a_run_keeps_the_name_of_its_folder():
    then, now = yaml.safe_load(EARLIER), yaml.safe_load(current(EARLIER))
    assert earlier(now) == then
    del then["seed_everything"]
    assert variant(now) == hashlib.sha256(json.dumps(then, sort_keys=True).encode()).hexdigest()[:8]


def test_options_and_choices_of_earlier_commands_still_do():
    assert current("--analyses.E3=null") == "--experiments.E3=null"
    assert current("--analyses={}") == "--experiments={}"
    assert choice_arguments({"ANALYSES": "weights"}) == choice_arguments({"EXPERIMENTS": "weights"})
    assert expand(["ANALYSES=none"]) == expand(["EXPERIMENTS=none"])
