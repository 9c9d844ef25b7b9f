"""``attest doctor``: everything has a line, and what would stop a run is named and makes the exit code 1."""

import pytest

from attest.app.cli import doctor
from attest.app.cli.main import main
from attest.core import errors


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    monkeypatch.setattr(doctor, "_within_reach", lambda url: False)
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def diagnosed(capsys, *arguments) -> tuple[int, str]:
    code = main(["doctor", *map(str, arguments)])
    return code, capsys.readouterr().out


def test_a_healthy_machine_stops_nothing(tmp_path, capsys):
    code, said = diagnosed(capsys, "--root", tmp_path / "runs")
    assert code == 0
    for line in ("python", "torch", "devices", "OMP_WAIT_POLICY", "DATA=imdb", "DATA=planted", "Weights & Biases", "runs"):
        assert line in said
    assert "nothing that can be seen from here" in said
    assert not (tmp_path / "runs").exists(), "looking leaves nothing behind"


def test_a_corpus_out_of_reach_stops_those_who_want_it(tmp_path, capsys):
    code, said = diagnosed(capsys, "imdb", "--root", tmp_path)
    assert code == 1
    assert "What would stop a run: DATA=imdb." in said


def test_a_folder_of_corpora_is_looked_into(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb" / "train.parquet").touch()
    assert diagnosed(capsys, "imdb", "--root", tmp_path)[0] == 1
    (tmp_path / "imdb" / "test.parquet").touch()
    code, said = diagnosed(capsys, "imdb", "--root", tmp_path)
    assert code == 0
    assert f"{tmp_path / 'sst'} lacks train.parquet, validation.parquet, test.parquet" in said


def test_a_folder_that_cannot_be_written_stops_runs(tmp_path, capsys):
    (tmp_path / "file").touch()
    code, said = diagnosed(capsys, "--root", tmp_path / "file" / "runs")
    assert code == 1
    assert "cannot be written" in said


def test_a_full_disk_stops_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "LEAST_DISK_GIB", 1e9)
    code, said = diagnosed(capsys, "--root", tmp_path)
    assert code == 1
    assert "What would stop a run: runs." in said


def test_an_old_package_stops_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(errors, "requires", lambda name: ["torch>=99", "tensorboard>=99; extra == 'tensorboard'", "numpy>=2"])
    code, said = diagnosed(capsys, "--root", tmp_path)
    assert code == 1
    assert "expected torch>=99" in said
    assert "tensorboard" not in said, "an extra is nobody's need"


def test_the_key_of_wandb_is_never_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.setenv("WANDB_API_KEY", "a-secret-key")
    said = diagnosed(capsys, "--root", tmp_path)[1]
    assert "logged in" in said
    assert "a-secret-key" not in said


def test_an_unknown_corpus_is_named(capsys):
    assert main(["doctor", "imbd"]) == 2
    assert "attest doctor imdb" in capsys.readouterr().err
