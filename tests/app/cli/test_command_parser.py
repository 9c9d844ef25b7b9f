"""Commands that read their own options say in one sentence what was wrong with them."""

import pytest

from attest.app.cli.main import main


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["report"], "the following arguments are required: runs; expected: attest report [-h]"),
        (["table", "runs", "--format=word"], "invalid choice: 'word' (choose from 'markdown', 'latex', 'csv')"),
        (["explain", "--text=fine"], "the following arguments are required: --run; expected: attest explain"),
        (["explain", "--ckpt=a.ckpt", "--text=fine"], "are required: --run; expected: attest explain"),
        (["doctor", "--all"], "unrecognized arguments: --all; expected: attest doctor"),
    ],
)
def test_a_mistake_gets_one_sentence(typed, sentence, capsys):
    assert main(typed) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert (said.count("\n"), said.startswith("attest: ")) == (1, True)
