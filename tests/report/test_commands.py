"""The command that is printed for controls, read back as a shell and make read it, names the very run it was printed for."""

import shlex
from pathlib import Path

import pytest
import yaml

from attest.report.commands import control_commands
from attest.runs import remembered
from attest.runs.choices import expand
from attest.runs.configured import resolve
from attest.runs.folder import RunFolder
from attest.runs.identity import identity_of
from attest.runs.naming import run_path, without_machine_keys

FILES = (
    "DATA=files",
    "--data.init_args.train=my texts.csv",
    "--data.init_args.test=it's $5.csv",
    "--data.init_args.text_column=null",
)


@pytest.fixture(autouse=True)
def nothing_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


def unable_to_resolve(arguments):
    raise RuntimeError(f"{arguments} was resolved")


def finished(root, *arguments):
    """The folder of a run with these choices and options, with its configuration alone."""
    settings = resolve(expand([*arguments, f"--run.root={root}"]))
    named = [f"{name.upper()}={settings['run'][name]}" for name in ("data", "model", "scoring", "projection", "recipe")]
    reference = None if "MODEL=mine" in named else resolve(expand(named))
    folder = RunFolder(run_path(settings, reference))
    folder.path.mkdir(parents=True)
    folder.config.write_text(yaml.safe_dump(settings))
    return folder, settings


def typed(command):
    """What attest gets: the words of the shell, and those in ARGS once more, a doubled dollar being make's."""
    make, target, *words = shlex.split(command)
    assert make == "make"
    args = [word.removeprefix("ARGS=").replace("$$", "$") for word in words if word.startswith("ARGS=")]
    return (
        target,
        [word for word in words if not word.startswith("ARGS=")],
        [each for text in args for each in shlex.split(text)],
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("DATA=planted",),
        ("DATA=planted", "SEED=3", "RECIPE=me", "PROJECTION=entmax:1.3"),
        ("DATA=planted", "EXPERIMENTS=weights", "--trainer.max_epochs=3", "--experiments.E3=null"),
        ("DATA=planted", "--model.init_args.network.init_args.encoder.init_args.hidden_size=8", "--run.threads=2"),
        FILES,
        ("DATA=files", "MODEL=tagger", "--data.init_args.train=a.jsonl", "--model.init_args.optimizer.init_args.lr=0.01"),
    ],
)
def test_it_names_the_run_itself(tmp_path, arguments):
    folder, settings = finished(tmp_path, *arguments)
    commands = control_commands(folder, settings)
    target, choices, options = typed(commands["uniform"])
    assert target == "controls"
    assert commands["seeds"] == commands["uniform"]
    again = resolve(expand([*choices, *options]))
    assert without_machine_keys(again) == without_machine_keys(settings)
    assert (again["seed_everything"], again["run"]["root"]) == (settings["seed_everything"], str(tmp_path))


@pytest.mark.parametrize("choice", ["PROJECTION=uniform", "MODEL=average"])
def test_a_control_has_other_seeds_alone(tmp_path, choice):
    folder, settings = finished(tmp_path, "DATA=planted", choice, "SEED=4")
    commands = control_commands(folder, settings)
    target, choices, _ = typed(commands["seeds"])
    assert [*commands] == ["seeds"]
    assert (target, choices[-1]) == ("train", "SEED=5")
    assert choice in choices


def test_a_configuration_of_ones_own_is_given_as_it_is(tmp_path):
    folder, settings = finished(tmp_path / "my runs", "DATA=planted", "--run.model=mine")
    commands = control_commands(folder, settings)
    again = resolve(expand(shlex.split(commands["uniform"])[2:]))
    assert again["run"]["projection"] == "uniform"
    assert again["model"]["init_args"]["network"]["init_args"]["projection"]["class_path"] == "attest.attention.Uniform"
    again = resolve(expand(shlex.split(commands["seeds"])[2:]))
    assert again["seed_everything"] == 1
    assert without_machine_keys(again) == without_machine_keys(settings)


OF_A_VARIANT = ("DATA=planted", "--trainer.max_epochs=3")


def test_the_same_setting_is_not_resolved_again(tmp_path, monkeypatch):
    folder, settings = finished(tmp_path, *OF_A_VARIANT)
    first = control_commands(folder, settings)
    elsewhere, other_seed = finished(tmp_path / "elsewhere", *OF_A_VARIANT, "SEED=2")
    monkeypatch.setattr("attest.runs.configured.resolve", unable_to_resolve)
    assert control_commands(folder, settings) == first
    assert "SEED=2" in control_commands(elsewhere, other_seed)["seeds"]
    assert "--trainer.max_epochs=3" in control_commands(elsewhere, other_seed)["seeds"]
    assert str(tmp_path / "elsewhere") in control_commands(elsewhere, other_seed)["seeds"]


def test_what_no_choice_gives_is_remembered_too(tmp_path, monkeypatch):
    folder, settings = finished(tmp_path, "DATA=planted", "--run.model=mine")
    first = control_commands(folder, settings)
    monkeypatch.setattr("attest.runs.configured.resolve", unable_to_resolve)
    assert control_commands(folder, settings) == first


def test_another_setting_and_other_code_are_resolved(tmp_path, monkeypatch):
    folder, settings = finished(tmp_path, *OF_A_VARIANT)
    control_commands(folder, settings)
    another, its_settings = finished(tmp_path, "DATA=planted", "--trainer.max_epochs=4")
    monkeypatch.setattr("attest.runs.configured.resolve", unable_to_resolve)
    with pytest.raises(RuntimeError, match="was resolved"):
        control_commands(another, its_settings)
    monkeypatch.setattr(remembered, "_fingerprint", lambda: "of other code")
    with pytest.raises(RuntimeError, match="was resolved"):
        control_commands(folder, settings)


def test_settings_with_a_class_from_elsewhere_are_not_resolved_which_would_import_it(tmp_path, monkeypatch):
    folder, settings = finished(tmp_path, *OF_A_VARIANT)
    settings["trainer"]["callbacks"] = [{"class_path": "mine.Callback"}]
    monkeypatch.setattr("attest.runs.configured.resolve", unable_to_resolve)
    assert control_commands(folder, settings)["seeds"] == f"attest fit --config={folder.config} --seed_everything=1"


@pytest.mark.parametrize("part", ["data", "recipe"])
def test_no_word_of_a_stranger_is_put_into_a_command(tmp_path, part):
    folder, settings = finished(tmp_path, "DATA=planted")
    settings["run"][part] = "$(shell touch ran)"
    assert "touch" not in "".join(control_commands(folder, settings).values())


@pytest.mark.parametrize("inside", [True, False])
def test_a_run_that_was_copied_elsewhere_names_where_it_was_made(tmp_path, monkeypatch, inside):
    folder, settings = finished(tmp_path / "made here", "DATA=planted")
    identity_of(folder).store(folder)
    copied = folder.path.rename(tmp_path / "copied")
    monkeypatch.chdir(copied if inside else tmp_path)
    command = control_commands(RunFolder(Path(".") if inside else Path("copied")), settings)["seeds"]
    assert typed(command)[2] == [f"--run.root={tmp_path / 'made here'}"]


@pytest.mark.parametrize("above", range(5))
def test_a_run_is_named_by_where_it_lies_from_whatever_folder(tmp_path, monkeypatch, above):
    folder, settings = finished(tmp_path / "root", "DATA=planted")
    place = [folder.path, *folder.path.parents][above]
    monkeypatch.chdir(place)
    (option,) = typed(control_commands(RunFolder(folder.path.relative_to(place)), settings)["seeds"])[2]
    assert (place / option.removeprefix("--run.root=")).resolve() == tmp_path / "root"
