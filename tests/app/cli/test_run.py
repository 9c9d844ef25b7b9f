"""What ``attest fit`` makes of its configuration before it builds anything."""

import pytest

from attest.app.configured import ConfiguredRun, write_whole_numbers
from attest.runs.asked import AskedRun


@pytest.fixture
def parsed():
    """From choices to the parsed configuration."""
    return lambda *typed: ConfiguredRun("fit", AskedRun.of(typed)).config.fit


@pytest.mark.whole("two trainings")
@pytest.mark.parametrize("model", ["bilstm", "transformer-dr"])
def test_a_smoke_run_searches_as_little_as_it_trains(parsed, model):
    smoke = parsed("CUT=smoke", f"MODEL={model}").experiments
    whole = parsed(f"MODEL={model}").experiments
    assert smoke["E3"]["steps"] == 2
    assert whole["E3"]["steps"] >= 200
    assert smoke["E2"] == whole["E2"], "what does not search is as it was"


@pytest.mark.whole("two trainings")
def test_a_limit_beyond_what_is_searched_changes_nothing(parsed):
    assert parsed("--run.max_search_steps=9000").experiments == parsed().experiments


def test_numbers_of_batches_are_whole_whatever_was_imported_before(parsed):
    """Python's typing may read Lightning's ``int | float`` as ``float | int``; the name of a run must not hang on that."""
    settings = parsed("--trainer.limit_val_batches=0.5")
    settings.trainer.limit_train_batches, settings.trainer.val_check_interval = 2.0, 1.0
    write_whole_numbers(settings)
    assert repr(settings.trainer.limit_train_batches) == "2"
    assert repr(settings.trainer.val_check_interval) == "1.0", "a share"
    assert settings.trainer.limit_val_batches == 0.5


@pytest.mark.parametrize(("typed", "batches"), [("1", "1"), ("1.0", "1.0"), ("2", "2"), ("0.5", "0.5")])
def test_one_is_a_batch_and_one_point_nought_are_all_of_them(typed, batches):
    name = "limit_test_batches"
    run = ConfiguredRun("fit", AskedRun.of(["DATA=planted", f"--trainer.{name}={typed}"]))
    assert repr(run.config["fit"].trainer[name]) == repr(run.resolved(run.config)["trainer"][name]) == batches
