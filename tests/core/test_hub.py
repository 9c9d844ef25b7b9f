"""A machine without network: what is not there is named at once."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from huggingface_hub import constants

from attest.app.cli import fit
from attest.app.cli.main import main
from attest.core import catalogue, hub
from attest.core.errors import AttestError
from attest.core.hub import SECONDS, hub_answers, within_reach
from attest.datamodules import sources
from attest.models.pretrained import loading
from attest.runs.asked import AskedRun
from tests.conftest import fresh_shell
from tests.forking import attest_command

CLOSED = "http://127.0.0.1:9"
"""The port of a service that no machine runs any more."""


@pytest.fixture
def unreachable(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", CLOSED)
    hub._answered.cache_clear()


def test_a_server_that_is_not_there_is_asked_once(unreachable, monkeypatch):
    asked = []
    ask = hub._ask
    monkeypatch.setattr(hub, "_ask", lambda url: asked.append(url) or ask(url))
    assert [hub_answers(), hub_answers()] == [False, False]
    assert asked == [CLOSED]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert not hub_answers()


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(hub, "SECONDS", 0.05)
    monkeypatch.setattr(hub, "_ask", lambda url: hub.threading.Event().wait(60))
    started = time.monotonic()
    assert not within_reach(CLOSED)
    assert time.monotonic() - started < 10
    assert SECONDS < 10


def test_a_model_is_looked_for_on_this_machine_alone(unreachable, tmp_path, monkeypatch):
    where, written = [], tmp_path / "config.json"
    written.write_text("{}")

    def cached(name, file, **options):
        where.append(options)
        return str(written) if file == written.name else None

    monkeypatch.setattr(loading.AutoConfig, "from_pretrained", lambda name, **options: where.append(options))
    monkeypatch.setattr(loading, "cached_file", cached)
    loading.config_of("nobody/none")
    assert [options["local_files_only"] for options in where] == [True, True, True]
    assert loading._looked_for(str(tmp_path)) == {}
    monkeypatch.setattr(loading, "hub_answers", lambda: True)
    assert loading._looked_for("nobody/none") == {"local_files_only": False}


def test_a_corpus_is_not_asked_for(unreachable, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", lambda *asked, **options: pytest.fail("asked"))
    with pytest.raises(AttestError, match=r"nobody/nothing is not on this machine, and the Hugging Face Hub cannot be"):
        sources.load_hub_split("nobody/nothing", "test")


@pytest.mark.whole("commands in processes of their own")
@pytest.mark.parametrize(
    "command",
    [
        ["trial", "--model", "nobody/none", "--data", "reviews.csv"],
        ["fit", "DATA=sst", "--run.root=runs"],
        ["fit", "DATA=files", "--data.init_args.train=nobody/nothing", "--data.init_args.test=nobody/nothing"],
        ["fit", "DATA=planted", "MODEL=pretrained", "--model.init_args.pretrained=nobody/none", "--run.root=runs"],
    ],
    ids=["model", "corpus", "data set", "model to start from"],
)
@pytest.mark.parametrize("offline", ["0", "1"])
def test_no_command_asks_again_and_again(command, offline, tmp_path):
    (tmp_path / "reviews.csv").write_text("text,label\ngood,1\nbad,0\n")
    shell = fresh_shell() | {"HF_HUB_OFFLINE": offline, "HF_ENDPOINT": CLOSED, "HF_HOME": str(tmp_path / "home")}
    shell.pop("ATTEST_DATA", None)
    done = subprocess.run([*attest_command(), *command], env=shell, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("attest: ")
    assert "Retry" not in done.stderr


MODEL = ["trial", "--model", "nobody/none", "--data", "sst"]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        (
            MODEL,
            "nobody/none is neither a local folder nor a model that can be loaded from the Hub (it was not downloaded, and",
        ),
        (["trial", "--model", ".", "--data", "sst"], "SetFit/sst5 is not on this machine, and the Hugging Face Hub"),
        (["fit", "DATA=imdb"], "stanfordnlp/imdb is not on this machine, and the Hugging Face Hub"),
        (["validate", "DATA=sst"], "SetFit/sst5 is not on this machine, and the Hugging Face Hub"),
    ],
)
@pytest.mark.parametrize("offline", [False, True])
def test_what_cannot_be_had_is_told_before_libraries_are_imported(
    command, found, offline, unreachable, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "nothing"))
    for library in ("attest.app.configured", "attest.models.pretrained.loading"):
        monkeypatch.setitem(sys.modules, library, None)  # importing it would fail
    if offline:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(command) == 2
    said = capsys.readouterr().err
    assert found in said
    assert ("HF_HUB_OFFLINE is set" in said) is offline
    assert ("cannot be reached" in said) is not offline
    assert said.count("\n") == 1


def test_the_hub_is_not_asked_for_what_is_here(unreachable, tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_ask", lambda url: pytest.fail("asked"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--nobody--none").mkdir()
    assert hub.missing_model("nobody/none") is hub.missing_model(str(tmp_path)) is None
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    monkeypatch.delenv("ATTEST_DATA", raising=False)
    (tmp_path / "stanfordnlp___imdb").mkdir()
    catalogue.require_source("imdb")
    catalogue.require_source("planted")
    monkeypatch.setenv("ATTEST_DATA", str(tmp_path))
    catalogue.require_source("sst")


def test_a_run_that_is_there_may_need_no_corpus(unreachable, tmp_path, monkeypatch):
    monkeypatch.setattr("attest.app.cli.fit.require_source", lambda corpus: pytest.fail("asked"))
    (tmp_path / "sst").mkdir()
    fit._require_source(AskedRun.of(["DATA=sst", f"--run.root={tmp_path}"]))


def test_downloads_are_looked_for_where_the_library_keeps_them(monkeypatch):
    import datasets

    monkeypatch.delenv("HF_DATASETS_CACHE", raising=False)
    assert Path(constants.HF_HOME, "datasets") == datasets.config.HF_DATASETS_CACHE
