"""W&B runs of their own start without a warning, and offline where nobody is logged in."""

import pytest
import wandb
from jsonargparse import Namespace

from attest.report.tracking.loggers import point_loggers
from attest.report.tracking.wandb_report import started
from attest.runs.folder import RunFolder


@pytest.fixture(autouse=True)
def forgotten():
    """W&B remembers the mode of a process: later tests have their own."""
    yield
    wandb.teardown()


def test_a_run_starts_offline_and_warns_of_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setattr(wandb, "login", lambda **_: False)
    with started("trial", "some", tmp_path) as run:
        assert run.settings.mode == "offline"
    printed = "".join(capfd.readouterr()).lower()
    assert "deprecated" not in printed
    assert "warning" not in printed


def test_a_key_that_is_none_leaves_a_run_offline(tmp_path, monkeypatch, capfd):
    """As a placeholder in a continuous integration does."""

    def refuse(**_: object) -> bool:
        raise wandb.errors.AuthenticationError("WANDB_API_KEY invalid: API key must have 40+ characters, has 11.")

    monkeypatch.setattr(wandb, "login", refuse)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    options = Namespace(save_dir=".", offline=False)
    logger = Namespace(class_path="WandbLogger", init_args=options)
    point_loggers(logger, RunFolder(tmp_path), "a run", "12345678", {})
    assert (options.offline, options.mode) == (True, "offline")
    with started("trial", "some", tmp_path) as run:
        assert run.settings.mode == "offline"
    assert "W&B cannot be used (WANDB_API_KEY invalid" in capfd.readouterr().out


def test_what_the_terminal_shows_is_no_part_of_a_run_that_may_have_no_texts(tmp_path):
    for texts, expected in ((True, None), (False, {"console": "off"})):
        options = Namespace(save_dir=".", offline=True)
        logger = Namespace(class_path="WandbLogger", init_args=options)
        point_loggers(logger, RunFolder(tmp_path), "a run", "12345678", {}, texts)
        assert options.get("settings") == expected
