"""The card on the Hub, before a stand-in for it: what is read there, what is written, and what is not."""

from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError, RemoteEntryNotFoundError, RepositoryNotFoundError

from attest.app.api.run import Run
from attest.report.card import PICTURE, put_into
from attest.report.findings import Findings
from attest.runs.folder import write_table
from tests.report.made import READ, VERDICT, decided, made_run


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

    def commit(**given):
        hub.written.append(given | {each.path_in_repo: each.path_or_fileobj.decode() for each in given["operations"]})
        return SimpleNamespace(commit_url=hub.url, pr_url=f"{hub.url}/pr" if given["create_pr"] else None)

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "create_commit", commit)
    return hub


def refused_by(kind):
    """An error of the Hub's library that has a response."""
    return kind("not found", response=SimpleNamespace(headers={}, request=None, status_code=404))


def test_the_section_goes_into_the_card_that_is_there(run, hub):
    hub.card = "# Mine\r\n"
    assert run.push_to_hub("me/mine") == hub.url
    (written,) = hub.written
    assert written["README.md"] == put_into("# Mine\r\n", Findings(run.folder))
    assert (written["repo_id"], len(written["operations"]), written["create_pr"]) == ("me/mine", 1, False)


def test_the_picture_of_all_readings_goes_with_the_card_in_one_commit(run, hub):
    hub.card = ""
    write_table(run.folder.evidence("instances"), decided([0, 1] * 15, [0, 1] * 15))
    write_table(run.folder.evidence("E19"), READ)
    run.push_to_hub("me/mine")
    (written,) = hub.written
    assert f"]({PICTURE})" in written["README.md"]
    assert written[PICTURE].startswith("<svg")


def test_a_model_without_card_gets_one_and_a_pull_request_has_its_own_address(run, hub):
    hub.card = refused_by(RemoteEntryNotFoundError)
    assert run.push_to_hub("me/mine", create_pr=True) == f"{hub.url}/pr"
    assert hub.written[0]["README.md"] == put_into("", Findings(run.folder))


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
