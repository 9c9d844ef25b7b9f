"""What DataModules and readers say is said once."""

import pytest
from lightning_utilities.core.rank_zero import rank_zero_only

from attest.datamodules.notice import say


@pytest.mark.parametrize(("rank", "said"), [(0, "a sentence\n"), (1, "")])
def test_the_first_process_alone_says_it(rank, said, capsys, monkeypatch):
    monkeypatch.setattr(rank_zero_only, "rank", rank, raising=False)
    say("a sentence")
    assert capsys.readouterr().out == said


def test_without_lightning_there_is_one_process(capsys, monkeypatch):
    monkeypatch.delattr(rank_zero_only, "rank", raising=False)
    say("a sentence")
    assert capsys.readouterr().out == "a sentence\n"
