"""Mistyped options are found without Lightning, by names that are the parser's own, and in the parser's words."""

from typing import Literal

import pytest

from attest.cli.main import main
from attest.errors import AttestError
from attest.runs import option_names
from attest.runs.beforehand import import_for
from attest.runs.choices import expand
from attest.runs.configured import ConfiguredRun
from attest.runs.option_names import FILE, file_content, require_known
from attest.runs.parser_errors import unmarked
from attest.runs.typed_values import kinds_of

MISTAKES = (
    "--model.init_args.nettwork=1",
    "--data.init_args.batchsize=1",
    "--model.init_args.network.init_args.encoder.init_args.hidden=3",
    "--experiments.E2.init_args.permutation=3",
    "--run.forse=true",
    "--trainr.max_epochs=3",
    "--trainer.max_epochz",
    "--modell.init_args.lr=1",
    "--xyz",
    "--trainer.max_epochs=three",
    "--trainer.max_epochs=1.5",
    "--trainer.max_epochs=3.0",
    "--trainer.gradient_clip_val=nan",
    "--trainer.benchmark=1",
    "--run.force=maybe",
    "--run.memory_gib=much",
    "--seed_everything=mine",
    "--data.init_args.texts=many",
    "--model.init_args.learning_rate_scale=fast",
    "--model.init_args.network.init_args.encoder.init_args.hidden_size=big",
    "--analyses.E3.init_args.epsilon=small",
    "--data.init_args.protocol=jw-papr",
    "--data.init_args.protocol=Plain",
    "--data.init_args.protocol=plain-",
    "--data.init_args.protocol=12",
    "--data.init_args.protocol=1.5",
    "--data.init_args.unseen=zero",
    "--model.init_args.loss_reduction=foo",
    "--model.init_args.masking=unifrm",
    "--run.mode=maxi",
    "--trainer.deterministic=wran",
    "--trainer.deterministic=1",
    "--trainer.logger.init_args.resume=maybe",
    "--experiments.E14.init_args.explanation=atention",
    "PROTOCOL=jw-papr",
    "PROTOCOL=2",
)
OF_CHOICES = (
    ("DATA=planted", "PROTOCOL=plain"),
    ("DATA=planted", "--data.init_args.protocol=plain"),
    ("DATA=planted", "--data.init_args.rule=tok"),
    ("DATA=conll2000", "MODEL=tagger", "PROTOCOL=jw-paper"),
    ("DATA=imdb", "MODEL=han", "RECIPE=ss", "--model.init_args.scheduler.init_args.mode=mni"),
    ("DATA=sst", "LOGGER=wandb", "--trainer.logger.init_args.mode=ofline"),
)


def test_the_names_are_those_of_the_parser():
    assert FILE.read_text(encoding="utf-8") == file_content(), "make docs"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_sentence_of_the_parser(mistake):
    with pytest.raises(AttestError) as ours:
        require_known(["DATA=sst", mistake])
    with pytest.raises(AttestError) as theirs:
        ConfiguredRun(["fit", *expand(["DATA=sst", mistake])])
    assert str(ours.value) == unmarked(str(theirs.value))


@pytest.mark.parametrize("typed", OF_CHOICES, ids=" ".join)
def test_a_value_that_the_chosen_class_does_not_take_gets_the_sentence_of_the_parser(typed):
    with pytest.raises(AttestError) as ours:
        require_known(typed)
    with pytest.raises(AttestError) as theirs:
        ConfiguredRun(["fit", *expand([*typed])])
    assert str(ours.value) == unmarked(str(theirs.value))


@pytest.mark.parametrize("choice", ["mini|max", "a, b", "a or b", "2", "", "é!"])
def test_choices_that_are_no_plain_words_are_left_to_the_parser(choice):
    assert kinds_of(Literal["a", "b-c"] | None) == "one of a|b-c or null"
    assert kinds_of(Literal["a", choice]) == ""
    assert kinds_of(Literal["a", None]) == kinds_of(Literal[32] | None) == ""


@pytest.mark.parametrize(
    "right",
    [
        "--run.force=true",
        "--run.root",
        "--trainer.max_epoch=3",
        "--trainer.callbacks+=attest.callbacks.Instances",
        "--trainer.logger.init_args.group=a",
        "--model.network.encoder.hidden_size=3",
        "--data=mine.Data --data.init_args.nobody_knows=1",
        "--config=a.yaml --data.init_args.nobody_knows=1",
        "--config=a --data.init_args.nobody_knows=1",
        "--model.init_args.scheduler.init_args.nobody_knows=1",
        "-- --model.init_args.distance=norm",
        "--run.memory_gib=0.5",
        "--trainer.max_epochs=1.50",
        "--trainer.max_epochs=null",
        "--trainer.max_epochs=1_000",
        "--trainer.max_epochs=1e3",
        "--trainer.max_epochs=three-fold",
        "--trainer.benchmark=yes",
        "--trainer.gradient_clip_val=1",
        "--trainer.val_check_interval=x",
        "--data.init_args.subwords=x",
        "--data=mine.Data --data.init_args.texts=many",
        "--experiments.E3=null",
        "--analyses.E3=null",
        "--config=a.yaml",
        "--data.init_args.protocol=plain",
        "--data.init_args.protocol=null",
        "--data.init_args.protocol=NULL",
        "--data.init_args.protocol='plain'",
        "--data.init_args.protocol=",
        "--data.init_args.protocol=~",
        "--model.init_args.masking=null",
        "--model.init_args.masking=uniform",
        "--model.init_args.masking=None",
        "--trainer.deterministic=warn",
        "--trainer.deterministic=yes",
        "--trainer.precision=16-mixed",
        "--trainer.precision=half",
        "--trainer.accelerator=cdu",
        "--run.mode=min",
        "--data=mine.Data --data.init_args.protocol=of-mine",
        "--data=FilesDataModule --data.init_args.on_bad_rows=skip",
        "--data.class_path=AgNewsDataModule --data.init_args.split_seed=1",
        "--experiments.E14=Identifiability --experiments.E14.init_args.nobody_knows=1",
        "--model.init_args.network.init_args.encoder=Cnn --model.init_args.network.init_args.encoder.init_args.channels=3",
        "--model.network.encoder=Cnn --model.init_args.network.init_args.encoder.init_args.channels=3",
        "--config=a.yaml --data.init_args.protocol=of-mine",
        "--model=mine.Model --model.init_args.loss_reduction=max",
        "PROTOCOL=plain",
        "PROTOCOL=null",
        "PROTOCOL=",
        "PROTOCOL=jw-papr PROTOCOL=plain",
        "--config=a.yaml PROTOCOL=of-mine",
        "SEED=3 FORCE=1",
        "-- PROTOCOL=of-mine",
    ],
)
def test_what_may_be_right_is_left_to_the_parser(right):
    require_known(["DATA=sst", *right.split(" ")])


def test_what_a_class_takes_is_that_of_the_class_that_was_chosen():
    require_known(["MODEL=cnn", "--model.init_args.network.init_args.encoder.init_args.channels=3"])
    with pytest.raises(AttestError, match="option channels is not known; expected embedding_size, embedding_std, hidden_size"):
        require_known(["MODEL=bilstm", "--model.init_args.network.init_args.encoder.init_args.channels=3"])
    require_known(["MODEL=transformer-dr", "--trainer.callbacks.init_args.patience=3"])


def test_options_of_runs_that_depend_on_another_are_checked_by_name_alone():
    import_for(["DATA=sst"], ["FORCE=1", "--model.init_args.distance=norm"])
    with pytest.raises(AttestError, match=r"--run\.forse=1 is not known"):
        import_for(["DATA=sst"], ["--run.forse=1"])


@pytest.mark.parametrize("asked", ["--help", "-h", "--print_config"])
def test_where_help_is_asked_for_nothing_is_refused(asked):
    require_known(["--run.forse=true", asked])


def test_names_of_other_versions_are_not_believed(tmp_path, monkeypatch):
    other = tmp_path / "names.txt"
    other.write_text("# pytorch-lightning 0.1, jsonargparse 0.1\nrun.\n")
    monkeypatch.setattr(option_names, "FILE", other)
    option_names._known.cache_clear()
    require_known(["--run.forse=true"])
    option_names._known.cache_clear()


def test_help_begins_with_the_choices_and_goes_on_with_the_options(capsys):
    with pytest.raises(SystemExit) as end:
        main(["fit", "--help"])
    assert end.value.code == 0
    said = capsys.readouterr().out
    in_order = ("usage: attest fit", "  DATA ", "  MODEL ", "  PROJECTION ", "--trainer.max_epochs", "--run.root")
    places = [said.index(word) for word in in_order]
    assert places == sorted(places)
    assert "entmax:<number>" in said
    assert "transformer-dr" in said.split("SCORING")[0]
