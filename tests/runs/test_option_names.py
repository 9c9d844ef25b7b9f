"""Mistyped options are found without Lightning, by names that are the parser's own, and in the parser's words."""

import pytest

from attest.cli.main import main
from attest.errors import AttestError
from attest.runs import option_names
from attest.runs.configured import ConfiguredRun
from attest.runs.option_names import FILE, file_content, require_known
from attest.runs.parser_errors import unmarked

MISTAKES = (
    "--run.forse=true",
    "--trainr.max_epochs=3",
    "--trainer.max_epochz",
    "--modell.init_args.lr=1",
    "--xyz",
)


def test_the_names_are_those_of_the_parser():
    assert FILE.read_text(encoding="utf-8") == file_content(), "make docs"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_the_sentence_of_the_parser(mistake):
    with pytest.raises(AttestError) as ours:
        require_known(["DATA=sst", mistake])
    with pytest.raises(AttestError) as theirs:
        ConfiguredRun(["fit", mistake])
    assert str(ours.value) == unmarked(str(theirs.value))


@pytest.mark.parametrize(
    "right",
    [
        "--run.force=true",
        "--run.root",
        "--trainer.max_epoch=3",
        "--trainer.callbacks+=attest.callbacks.Instances",
        "--trainer.logger.init_args.group=a",
        "--model.network.encoder.hidden_size=3",
        "--data.init_args.nobody_knows=1",
        "--experiments.E3=null",
        "--analyses.E3=null",
        "--config=a.yaml",
    ],
)
def test_what_may_be_right_is_left_to_the_parser(right):
    require_known([right, "DATA=sst"])


@pytest.mark.parametrize("asked", ["--help", "-h", "--print_config"])
def test_where_help_is_asked_for_nothing_is_refused(asked):
    require_known(["--run.forse=true", asked])


def test_names_of_other_versions_are_not_believed(tmp_path, monkeypatch):
    other = tmp_path / "names.txt"
    other.write_text("# pytorch-lightning 0.1, jsonargparse 0.1\nrun.\n")
    monkeypatch.setattr(option_names, "FILE", other)
    option_names._names.cache_clear()
    require_known(["--run.forse=true"])
    option_names._names.cache_clear()


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
