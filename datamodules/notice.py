"""What a DataModule tells the user: one sentence a line, once, however many processes there are."""

from lightning_utilities.core.rank_zero import rank_zero_only


@rank_zero_only
def say(sentence: str) -> None:
    """Print a sentence from the first process."""
    print(sentence, flush=True)
