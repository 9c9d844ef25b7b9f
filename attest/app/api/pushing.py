"""Add the section about a run or a trial to the card of a model on the Hugging Face Hub."""

from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import EntryNotFoundError, HFValidationError, HTTPError, LocalEntryNotFoundError

from attest.core.errors import AttestError, said_by
from attest.report.card import put_into
from attest.runs.folder import RunFolder

CARD = "README.md"


def push_card(folder: RunFolder, repo: str, create_pr: bool = False) -> str:
    """Put the section about a run or a trial into the card of a model on the Hub, and return the address of the change."""
    try:
        try:
            path = huggingface_hub.hf_hub_download(repo, CARD, force_download=True)
            card = Path(path).read_bytes().decode()  # with its line endings
        except LocalEntryNotFoundError:  # nobody knows whether there is one
            raise
        except EntryNotFoundError:
            card = ""
        done = huggingface_hub.upload_file(
            path_or_fileobj=put_into(card, folder).encode(),
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
