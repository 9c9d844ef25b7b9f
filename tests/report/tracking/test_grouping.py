"""Seeds share a group; a job says whether a run is a base, an adversary, a guide or a control."""

from dataclasses import replace

import pytest

from attest.report.tracking.loggers import grouping
from attest.runs.asked import RunSettings
from attest.runs.identity import RunIdentity

IDENTITY = RunIdentity("sst", "jw-bilstm-additive-softmax", 0)
RUN = RunSettings(data="sst", model="bilstm", projection="softmax")


def test_seeds_share_a_group_and_other_settings_have_their_own():
    assert grouping(IDENTITY, RUN) == grouping(replace(IDENTITY, seed=7), RUN)
    assert grouping(IDENTITY, RUN)["group"] != grouping(replace(IDENTITY, variant="0123abcd"), RUN)["group"]
    assert grouping(IDENTITY, RUN)["tags"] == ["sst", "bilstm"]


@pytest.mark.parametrize(
    ("kind", "job"),
    [("", "base"), ("adversarial", "adversary"), ("keys", "adversary"), ("guides", "guide"), ("roar", "control")],
)
def test_the_job_of_a_run_that_depends_on_another(kind, job):
    assert grouping(IDENTITY.with_dependent(kind, "some"), RUN)["job_type"] == job


@pytest.mark.parametrize("without", [{"projection": "uniform"}, {"model": "average"}])
def test_a_run_without_learned_attention_is_a_control(without):
    assert grouping(IDENTITY, replace(RUN, **without))["job_type"] == "control"
