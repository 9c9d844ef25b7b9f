"""Everything in ``bad_inputs.yaml`` gets its sentence and exit code 2, and nothing on the disk changes."""

import json
from pathlib import Path

import pytest
import torch
import yaml

from attest.app.cli.main import main
from tests.finished_runs import SMALL_RUN

TABLE = yaml.safe_load(Path(__file__).with_suffix("").with_name("bad_inputs.yaml").read_text(encoding="utf-8"))
CASES = [(room, number, case) for room, cases in TABLE.items() for number, case in enumerate(cases)]
EVERY = 4
"""Of so many cases of a room, one is tried in ``make test``; each is a whole command."""
TEST_FILE = "text,label\ngood,1\nbad,0\n"


class Bomb:
    """Unpickled, it would run a command."""

    def __reduce__(self):
        return Path.touch, (Path("exploded"),)


def prepared(case: dict, folder: Path) -> list[str]:
    """Write the files of a case; returns the whole command line."""
    for name, content in (case.get("files", {}) | case.get("train", {})).items():
        if content is not None:
            (folder / name).write_text(content, encoding="utf-8")
    if "command" in case:
        return case["command"]
    arguments = list(case.get("arguments", []))
    if "vectors" in case:
        (folder / "a.vec").write_text(case["vectors"], encoding="utf-8")
        arguments.append("--data.init_args.embeddings={folder}/a.vec")
    if "train" in case:
        (folder / "test.csv").write_text(TEST_FILE)
        data = [f"--data.init_args.train={{folder}}/{next(iter(case['train']))}", "--data.init_args.test={folder}/test.csv"]
        return ["fit", "DATA=files", "--run.root={folder}/runs", *data, *arguments]
    return ["fit", *SMALL_RUN, "--run.root={folder}/runs", *arguments]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("room", "number", "case"),
    [
        pytest.param(*each, id=f"{each[0]} {each[1]}", marks=[pytest.mark.whole("a whole command")] if each[1] % EVERY else [])
        for each in CASES
    ],
)
def test_a_sentence_and_nothing_lost(room, number, case, small_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.save({"a": torch.zeros(2)}, tmp_path / "tensors.ckpt")
    torch.save([1, 2], tmp_path / "list.ckpt")
    torch.save({"state_dict": Bomb()}, tmp_path / "bomb.ckpt")
    command = [argument.format(folder=tmp_path, run=small_run.path) for argument in prepared(case, tmp_path)]
    before = contents(tmp_path)
    code = main(command)
    errors = capsys.readouterr().err
    assert case["says"] in errors
    assert code == 2, errors
    assert case.get("parser") or errors.count("\n") == 1, errors
    assert errors.startswith("attest: ")
    assert case.get("leaves") or contents(tmp_path) == before, "neither files nor folders of a run appear"


def test_the_table_is_long_enough_and_says_everything_once():
    assert len(CASES) >= 60
    assert len({json.dumps(case, sort_keys=True) for _, _, case in CASES}) == len(CASES)
