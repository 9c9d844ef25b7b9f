"""W&B runs of their own start without a warning, and offline where nobody is logged in."""

import wandb

from attest.tracking.offline import started


def test_a_run_starts_offline_and_warns_of_nothing(tmp_path, monkeypatch, capfd):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setattr(wandb, "login", lambda **_: False)
    with started("judges", "some", tmp_path) as run:
        assert run.settings.mode == "offline"
    printed = "".join(capfd.readouterr()).lower()
    assert "deprecated" not in printed
    assert "warning" not in printed
