"""The crash script in short: a few moments, one in each kind of danger."""

import signal

import pytest

from benchmarks.crashes import Laboratory, Moment, moments, table
from tests.forking import attest_command


def test_moments_visit_every_phase_under_both_signals():
    chosen = moments(50, seed=0)
    assert len({(moment.phase, moment.how) for moment in chosen}) == 24
    assert chosen == moments(50, seed=0) != moments(50, seed=1)


@pytest.mark.whole("commands that are killed")
def test_a_run_stopped_at_the_worst_moments_ends_as_if_undisturbed(tmp_path):
    laboratory = Laboratory(tmp_path, attest_command(), attest_command("benchmarks.ambush"))
    worst = [
        Moment("half a checkpoint", signal.SIGKILL, 0.5),
        Moment("half a table", signal.SIGKILL, 0.3),
        Moment("training", signal.SIGTERM, 0.6),
    ]
    tried = [(moment, laboratory.try_out(number, moment)) for number, moment in enumerate(worst)]
    for moment, outcome in tried:
        assert all((outcome.completed, outcome.weights, outcome.evidence, outcome.summary, outcome.wandb_id, outcome.tidy)), (
            moment
        )
    assert all(outcome.stopped for _, outcome in tried)
    assert "| half a table | SIGKILL | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |" in table(tried)
