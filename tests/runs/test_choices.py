"""DATA=…, MODEL=… and the files they stand for."""

import pytest
import yaml

from attest.core.errors import AttestError
from attest.core.places import configs_folder
from attest.runs.choices import ORDER, config_file, expand, stray_word


def stems(arguments):
    return [argument.rsplit("/", 1)[-1].removesuffix(".yaml") for argument in arguments if argument.startswith("--config=")]


def test_choices_become_files_and_defaults_fill_the_rest():
    assert stems(expand(["PROJECTION=sparsemax"])) == [
        "default", "wandb", "planted", "bilstm", "additive", "sparsemax", "jw", "pooled",
    ]  # fmt: skip


def test_what_is_typed_as_an_option_comes_last_and_wins():
    assert expand(["--trainer.max_epochs=3", "SEED=4", "FORCE=1"])[-3:] == [
        "--seed_everything=4", "--run.force=true", "--trainer.max_epochs=3",
    ]  # fmt: skip


def test_epochs_batch_and_rate_are_choices_that_options_override():
    assert expand(["EPOCHS=3", "BATCH=16", "LR=1e-4", "--trainer.max_epochs=2"])[-4:] == [
        "--trainer.max_epochs=3",
        "--data.init_args.batch_size=16",
        "--model.init_args.optimizer.init_args.lr=1e-4",
        "--trainer.max_epochs=2",
    ]


def test_a_family_of_transformers_leads_to_fine_tuning_and_to_a_trial():
    with pytest.raises(AttestError, match=r"MODEL=pretrained .* attest trial --model"):
        expand(["MODEL=bert"])


def test_the_nearest_choice_is_named():
    with pytest.raises(AttestError, match="The nearest: MODEL=…"):
        expand(["MODLE=cnn"])


def test_an_empty_choice_is_not_typed():
    assert expand(["DATA="]) == expand([])


def test_a_config_without_choices_stands_alone():
    assert expand(["--config=mine.yaml", "--seed_everything=1"]) == ["--config=mine.yaml", "--seed_everything=1"]


@pytest.mark.parametrize(
    "typed",
    [
        "DATA=sts",
        "PROJECTION=sparsmax",
        "COLOUR=blue",
        "DATA=PLANTED",
        "FORCE=no",
        "SEED=one",
        "EPOCHS=0",
        "EPOCHS=three",
        "BATCH=-1",
        "LR=0",
        "LR=fast",
        "MODEL=RoBERTa",
    ],
)
def test_a_mistyped_choice_says_what_was_expected(typed, refusal):
    with refusal():
        expand([typed])


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("data=planted", "Type DATA=planted"),
        ("epochs=3", "Type EPOCHS=3"),
        ("colour=3", "`attest fit --help` lists the choices."),
        ("sst", "Type DATA=sst"),
    ],
)
def test_a_word_that_is_no_choice_says_how_choices_are_typed(typed, hint):
    said = str(stray_word(typed))
    assert said.startswith(f"{typed} is not known; expected a choice in capitals, such as DATA=sst")
    assert said.endswith(hint)


def test_every_shipped_choice_is_a_mapping_with_a_comment_on_top():
    files = [file for name in ORDER for file in (configs_folder() / name.lower()).glob("*.yaml")]
    assert len(files) >= len(ORDER)
    for file in files:
        text = file.read_text()
        assert text.startswith("#"), f"{file.name} does not introduce itself"
        assert isinstance(yaml.safe_load(text), dict)


def test_the_defaults_exist():
    assert stems(expand([])) == stems(expand(["DATA=planted"]))
    assert config_file("DATA", "planted").name == "planted.yaml"
