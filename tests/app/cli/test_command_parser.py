"""Commands that read their own options say in one sentence what was wrong with them."""

import pytest

from attest.app.cli.main import COMMANDS, main


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["table", "runs", "--format=word"], "invalid choice: 'word' (choose from 'markdown', 'latex', 'csv')"),
        (["explain", "--text=fine"], "attest explain lacks --run (a run folder; "),
        (["explain", "--ckpt=a.ckpt", "--text=fine"], "attest explain lacks --run (a run folder; "),
        (["doctor", "--modle=x"], "unrecognized arguments: --modle=x. The nearest: --model."),
        (["doctor", "--all"], "unrecognized arguments: --all."),
    ],
)
def test_a_mistake_gets_a_sentence_and_examples(typed, sentence, capsys):
    assert main(typed) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("attest: ")
    assert 2 <= said.count("\n") <= 4
    assert said.endswith(f"attest {typed[0]} --help lists all options.\n")


ALONE = {
    "evidence": "--run (a run folder; the experiments run on its best checkpoint) or --ckpt (a checkpoint file; ",
    "explain": "--run (a run folder; ",
    "report": "<runs> (run folders, or folders that contain run folders).",
    "gate": '<folder> (the folder of a run or of a trial) and --require ("tokens=yes|in part", ',
    "card": "<folder> (the folder of a run or of a trial).",
    "table": "<runs> (run folders, or folders that contain run folders).",
    "reproduce": "TABLE=<a published table>; expected one of: all, dr-1, ",
    "trial": "--model (a folder that save_pretrained wrote, or an id on the Hub) and --data (a CSV, TSV, ",
    "sources": "--model (a folder that save_pretrained wrote, or an id on the Hub) and --context (text files in UTF-8, ",
    "sync": "<folder> (the folder of a run or of a trial, or one with several of them).",
}
"""The commands that can do nothing when they are typed alone, and what each lacks."""


@pytest.mark.parametrize("command", ALONE)
def test_a_command_typed_alone_says_what_it_lacks_with_two_examples(command, capsys):
    assert main([command]) == COMMANDS[command].mistaken
    first, *examples, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"attest: attest {command} lacks {ALONE[command]}")
    assert first.endswith(" Type for example:")
    assert len(examples) == 2
    assert all(example.startswith(f"    attest {command} ") for example in examples)
    assert last == f"attest {command} --help lists all options."


def test_a_text_to_explain_is_missed_like_an_option(small_run, capsys):
    assert main(["explain", "--run", str(small_run.path)]) == 2
    assert "attest explain lacks --text (a text to explain; may be given several times) or --file (" in capsys.readouterr().err
