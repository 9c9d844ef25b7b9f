"""The library of finished runs makes each once, and notices who changes one."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import finished_runs
from tests.finished_runs import Library, Made, copy_of, typed, written


@pytest.fixture
def made(monkeypatch) -> list[list[str]]:
    """The commands that are run to make runs: each leaves a configuration and a table."""
    commands: list[list[str]] = []

    def main(words: list[str]) -> int:
        commands.append(words)
        (root,) = (Path(word.partition("=")[2]) for word in words if word.startswith("--run.root="))
        run = root / "planted" / "a-name" / "seed0"
        run.mkdir(parents=True, exist_ok=True)
        (run / "config.yaml").write_text("run: {}")
        (run / f"{words[0]}.txt").touch()
        return 0

    monkeypatch.setattr(finished_runs, "main", main)
    first = Made(("fit", "DATA=planted"), files=lambda folder: (f"--data.file={folder}/train.csv",))
    monkeypatch.setattr(
        finished_runs, "RUNS", {"first": first, "second": Made(("roar", "--", "--more=1"), begins_with="first")}
    )
    return commands


def test_workers_that_ask_at_once_get_one_run(made, tmp_path):
    with ThreadPoolExecutor() as workers:
        roots = {*workers.map(lambda _: Library(tmp_path).root("second"), range(4))}
    assert [words[0] for words in made] == ["fit", "roar"], "each once, the one that it begins with first"
    (root,) = roots
    assert {path.name for path in root.rglob("*.*")} == {"config.yaml", "fit.txt", "roar.txt"}
    assert made[1] == ["roar", f"--run.root={root}", "--", "--more=1"]


def test_the_command_of_a_run_names_the_files_that_it_read(made, tmp_path):
    command = Library(tmp_path).command("first", "--run.root=elsewhere")
    assert command == [
        "fit",
        "DATA=planted",
        f"--data.file={tmp_path / 'library-first-files'}/train.csv",
        "--run.root=elsewhere",
    ]


def test_what_a_test_changed_is_named_and_a_copy_may_be_changed(made, tmp_path):
    lent = Library(tmp_path)
    run = lent.run("first")
    copy = copy_of(run, tmp_path / "copy")
    (copy.path / "fit.txt").unlink()
    assert lent.changed() == []
    (run.path / "another.txt").touch()
    (run.path / "fit.txt").unlink()
    where = "first: planted/a-name/seed0"
    assert lent.changed() == [f"{where}/another.txt", f"{where}/fit.txt"]
    assert written(copy.path).keys() == {"config.yaml"}


def test_options_stand_before_those_of_a_dependent_run():
    assert typed(("roar", "A=1", "--", "--b=2"), "--c=3") == ["roar", "A=1", "--c=3", "--", "--b=2"]
    assert typed(("fit",), "--c=3") == ["fit", "--c=3"]
