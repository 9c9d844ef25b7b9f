"""Add the section about a run or a trial to the card of a model on the Hugging Face Hub."""

import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, HFValidationError, HTTPError, LocalEntryNotFoundError

from attest.core.errors import AttestError, said_by
from attest.report.card import put_into
from attest.runs.folder import RunFolder

CARD = "README.md"


def push_card(folder: RunFolder, repo: str, create_pr: bool = False) -> str:
    """Put the section about a run or a trial into the card of a model on the Hub, and return the address of the change."""
    try:
        card = put_into(_card(repo), folder)
        done = huggingface_hub.upload_file(
            path_or_fileobj=card.encode(),
            path_in_repo=CARD,
            repo_id=repo,
            commit_message="What Attest says of the attention",
            create_pr=create_pr,
        )
    except (HTTPError, HFValidationError, OSError) as error:  # OSError: offline by HF_HUB_OFFLINE, among others
        raise AttestError(
            f"the card of {repo} could not be read or written ({said_by(error)}); expected a model on the Hub, a network "
            "and a login that may write there. Type: hf auth login"
        ) from error
    return done.pr_url or done.commit_url


def _card(repo: str) -> str:
    """Return the text of the current card on the Hub; an empty text if the model has no card."""
    try:
        path = huggingface_hub.hf_hub_download(repo, CARD, force_download=True)
    except LocalEntryNotFoundError:  # nobody knows whether there is one
        raise
    except EntryNotFoundError:
        return ""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
