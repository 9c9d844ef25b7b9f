"""Commands that read their own options say in one sentence what was wrong with them."""

import pytest

from attest.app.cli.main import main


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["report"], "the following arguments are required: runs. Type for example:\n    attest report runs/"),
        (["table", "runs", "--format=word"], "invalid choice: 'word' (choose from 'markdown', 'latex', 'csv')"),
        (
            ["explain", "--text=fine"],
            "the following arguments are required: --run. Type for example:\n    attest explain --run",
        ),
        (["explain", "--ckpt=a.ckpt", "--text=fine"], "are required: --run. Type for example:\n    attest explain --run"),
        (["doctor", "--modle=x"], "unrecognized arguments: --modle=x. The nearest: --model."),
        (["trial"], "are required: --model, --data. Type for example:\n    attest trial --model my-model --data reviews.csv"),
        (["doctor", "--all"], "unrecognized arguments: --all."),
    ],
)
def test_a_mistake_gets_a_sentence_and_examples(typed, sentence, capsys):
    assert main(typed) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("attest: ")
    assert 3 <= said.count("\n") <= 7
    assert said.endswith(f"attest {typed[0]} --help lists all options.\n")
