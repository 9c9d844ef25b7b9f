"""The card on the Hub, before a stand-in for it: what is read there, what is written, and what is not."""

from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError, RemoteEntryNotFoundError, RepositoryNotFoundError

from attest.app.api.run import Run
from attest.report.card import put_into
from tests.report.made import VERDICT, decided, made_run


@pytest.fixture
def run(tmp_path) -> Run:
    return Run(made_run(tmp_path / "run", {"verdict": VERDICT}, decided([0, 1], [0, 1])))


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub with one card, which may be an error, and with what was written to it."""
    hub = SimpleNamespace(card=None, written=[], url="https://example.org/commit")

    def download(repo, name, *, force_download):
        assert force_download, "a card that was kept earlier may be another one"
        if isinstance(hub.card, Exception):
            raise hub.card
        path = tmp_path / name
        path.write_bytes(hub.card.encode())
        return str(path)

    def upload(**given):
        hub.written.append(given)
        return SimpleNamespace(commit_url=hub.url, pr_url=f"{hub.url}/pr" if given["create_pr"] else None)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "upload_file", upload)
    return hub


def refused_by(kind):
    """An error of the Hub's library that has a response."""
    return kind("not found", response=SimpleNamespace(headers={}, request=None, status_code=404))


def test_the_section_goes_into_the_card_that_is_there(run, hub):
    hub.card = "# Mine\r\n"
    assert run.push_to_hub("me/mine") == hub.url
    (written,) = hub.written
    assert written["path_or_fileobj"].decode() == put_into("# Mine\r\n", run.folder)
    assert (written["repo_id"], written["path_in_repo"], written["create_pr"]) == ("me/mine", "README.md", False)


def test_a_model_without_card_gets_one_and_a_pull_request_has_its_own_address(run, hub):
    hub.card = refused_by(RemoteEntryNotFoundError)
    assert run.push_to_hub("me/mine", create_pr=True) == f"{hub.url}/pr"
    assert hub.written[0]["path_or_fileobj"].decode() == put_into("", run.folder)


@pytest.mark.parametrize(
    "error",
    [
        LocalEntryNotFoundError("no network, and nothing was kept"),
        refused_by(RepositoryNotFoundError),
        HTTPError("no route"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_nothing_is_written_where_the_card_could_not_be_read(run, hub, error, refusal):
    hub.card = error
    with refusal():
        run.push_to_hub("me/mine")
    assert not hub.written
