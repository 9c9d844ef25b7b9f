"""What ``attest fit`` makes of its configuration before it builds anything."""

import pytest

from attest.runs.choices import expand
from attest.runs.configured import only_parsing, write_whole_numbers
from attest.tables.locate import RunLocator


@pytest.fixture(scope="module")
def parsed():
    """From choices to the parsed configuration."""
    parser = only_parsing().parser
    return lambda *typed: parser.parse_args(["fit", *expand(list(typed))]).fit


@pytest.mark.parametrize("model", ["bilstm", "transformer-dr"])
def test_a_smoke_run_searches_as_little_as_it_trains(parsed, model):
    smoke = parsed("CUT=smoke", f"MODEL={model}").experiments
    whole = parsed(f"MODEL={model}").experiments
    assert smoke["E3"].init_args.steps == 2
    assert whole["E3"].init_args.steps >= 200
    assert smoke["E2"] == whole["E2"], "what does not search is as it was"


def test_a_limit_beyond_what_is_searched_changes_nothing(parsed):
    assert parsed("--run.max_search_steps=9000").experiments == parsed().experiments


def test_the_limit_is_named_by_the_experiments_alone(parsed):
    """So that folders of runs without a limit are called as they always were."""
    locate = RunLocator()
    assert locate([]).parts[-2:] == ("jw-bilstm-additive-softmax", "seed0")
    assert locate(["--run.max_search_steps=9000"]) == locate([])
    assert locate(["--run.max_search_steps=3"]) == locate(["--experiments.E3.init_args.steps=3"]) != locate([])


def test_how_many_processes_share_it_is_no_part_of_a_name():
    locate = RunLocator()
    plain = locate(["DATA=sst"])
    assert locate(["DATA=sst", "--run.processes=3"]) == plain
    assert locate(["DATA=sst", "--run.processes=3", "--trainer.max_epochs=1"]) == locate(
        ["DATA=sst", "--trainer.max_epochs=1"]
    )
    assert locate(["DATA=sst", "--run.processes=3", "--trainer.max_epochs=1"]) != plain


def test_numbers_of_batches_are_whole_whatever_was_imported_before(parsed):
    """Python's typing may read Lightning's ``int | float`` as ``float | int``; the name of a run must not hang on that."""
    settings = parsed("--trainer.limit_val_batches=0.5")
    settings.trainer.limit_train_batches, settings.trainer.val_check_interval = 2.0, 1.0
    write_whole_numbers(settings)
    assert repr(settings.trainer.limit_train_batches) == "2"
    assert repr(settings.trainer.val_check_interval) == "1.0", "a share"
    assert settings.trainer.limit_val_batches == 0.5


def test_a_run_with_clipped_gradients_keeps_the_name_that_it_was_archived_under():
    named = RunLocator()(["DATA=imdb", "MODEL=han", "RECIPE=ss", "EXPERIMENTS=erasure"])
    assert named.parent.name == "ss-han-additive-softmax-a63c40d0"
