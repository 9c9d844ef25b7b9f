"""How many cores there are: no more than the process is bound to, and than its container has time for."""

import os

import pytest

from attest.core.memory import cores


@pytest.mark.parametrize(
    ("said", "expected"), [("max 100000", 4), ("200000 100000", 2), ("50000 100000", 1), ("900000 100000", 4), ("", 4)]
)
def test_a_container_has_a_share_of_the_cores(tmp_path, monkeypatch, said, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 4, 6}, raising=False)
    (tmp_path / "cpu.max").write_text(said)
    assert cores(tmp_path / "cpu.max") == expected


def test_without_a_container_all_that_the_process_is_bound_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 3, 5}, raising=False)
    assert cores(tmp_path / "cpu.max") == 3
